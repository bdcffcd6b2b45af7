#!/bin/sh
# card.sh KIT.tar.gz FOLDER [PHASE...] - on a machine with a GPU that has nothing but its driver,
# cuBLAS and a shell, as root, at the top of the source: unpacks what card_pack.sh packed (libraries
# that the machine lacks go to their places), then the phases, all or those named: look (what is
# there), tests, e2e, check (compute-sanitizer), and the tables of gpu.sh. What each prints is in
# FOLDER/PHASE.txt; a phase that fails or runs past its time does not keep others from running.
# PHASE=SECONDS: another limit than usual.
cd "$(dirname "$0")/../.." || exit 1
srcdir=$(pwd)
export srcdir

phase_look() {
    nvidia-smi
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit --format=csv
    sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | sort | uniq -c
    echo "PyTorch: ${PEERS_PYTHON:-none}"
    ldd "$HPS_KIT/build/heterps-cuda.so" "$HETERPS" | grep -E 'not found|cublas|cudart|libcuda|mpi'
    ls -d /dev/nvidia*
    df -h /dev/shm /tmp
    mpirun -n 1 "$HETERPS" --version
}

# launched TEST...: each by launch.sh, its last lines and its verdict
launched() {
    failed=0
    for test; do
        sh tests/lib/launch.sh "$test" >"$HPS_KIT/out" 2>&1
        rc=$?
        case $rc in 0) verdict=PASS ;; 77) verdict=SKIP ;; *) verdict=FAIL failed=1 ;; esac
        echo "$verdict ${test##*/} ($rc)"
        if [ $rc = 0 ]; then tail -n 1 "$HPS_KIT/out"; else tail -n 60 "$HPS_KIT/out"; fi
    done
    return $failed
}

phase_tests() {
    # shellcheck disable=SC2046 # one word a file
    HPS_TEST_SECONDS=60 HPS_NP='1 2' launched $(find "$HPS_KIT/build/tests" -name '[tm]_card_*' | sort)
}

phase_e2e() { launched tests/e2e/e_card.sh; }

phase_check() {
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer)
    for test in "$HPS_KIT/build"/tests/unit/t_card_*; do
        echo "$test"
        timeout 60 "$sanitizer" --tool memcheck --print-limit 3 "$test" 2>&1 | tail -n 30
    done
}

# a phase of its own, by the loop below
if [ "${HPS_KIT:-}" ]; then
    "phase_$1"
    exit
fi

[ $# -gt 1 ] || {
    sed -n '2,7s/^# //p' "$0" >&2
    exit 64
}
kit=$(readlink -f "$1") && mkdir -p "$2" || exit 66
folder=$(cd "$2" && pwd)
shift 2

unpacked=$(mktemp -d) || exit 1
tar -C "$unpacked" -xzf "$kit" || exit 65
cp -an "$unpacked/kit/root/." /
# where the driver and cuBLAS lie: behind all folders that the machine's own programs look in
find / -xdev \( -name 'libcublas.so.1[0-9]' -o -name libcuda.so.1 \) -not -path '/proc/*' \
    -exec dirname {} + 2>/dev/null | sort -u >/etc/ld.so.conf.d/zz-heterps.conf
find /usr/local/nvidia -name libcuda.so.1 -exec dirname {} + 2>/dev/null >>/etc/ld.so.conf.d/zz-heterps.conf
ldconfig 2>/dev/null
HPS_KIT=$unpacked/kit HETERPS=$unpacked/kit/build/heterps
MPIEXEC=mpirun MPIEXEC_FLAGS=--oversubscribe
OMPI_MCA_plm=isolated PMIX_MCA_pcompress_base_silence_warning=1 # there may be no ssh
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_plm PMIX_MCA_pcompress_base_silence_warning HPS_KIT HETERPS MPIEXEC MPIEXEC_FLAGS OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
for python in "$(command -v python3)" /opt/*/.venv/bin/python /opt/*/bin/python; do
    if [ -x "$python" ] && "$python" -c 'import torch' 2>/dev/null; then
        PEERS_PYTHON=$python
        export PEERS_PYTHON
        break
    fi
done

# usual PHASE: its limit in seconds
usual() {
    case $1 in look) echo 30 ;; networks) echo 590 ;; *) echo 150 ;; esac
}

if [ $# = 0 ]; then set -- look tests e2e check networks graphs ranks rows plan loss; fi
for phase; do
    name=${phase%%=*} limit=${phase#*=}
    [ "$limit" != "$phase" ] || limit=$(usual "$name")
    began=$(date +%s)
    case $name in
    look | tests | e2e | check) program=perf/scripts/card.sh ;;
    *) program=perf/scripts/gpu.sh ;;
    esac
    timeout -k 5 "$limit" "$program" "$name" >"$folder/$name.txt" 2>"$folder/$name.err"
    rc=$?
    [ -s "$folder/$name.err" ] || rm "$folder/$name.err"
    printf '%-10s %3d  %4d s\n' "$name" $rc $(($(date +%s) - began)) | tee -a "$folder/summary.txt"
done
