#!/bin/sh
# launch.sh TEST: t_* and scripts once and alone, m_* under the launcher at every size in $HPS_NP.
# Each in a scratch folder of its own (also $HPS_TMP), each under a time limit: a hang is a failure.
test=$(cd "$(dirname "$1")" && pwd)/${1##*/}
srcdir=$(cd "${srcdir:-.}" && pwd)
HPS_TMP=$(mktemp -d "${TMPDIR:-/tmp}/heterps.XXXXXX") || exit 99
began=$(date +%s)
leave() {
    times >"$HPS_TMP.times"     # not in a pipe: that would tell of another shell
    cpu=$(tr ms '  ' <"$HPS_TMP.times" | awk 'NR > 1 { printf "%.0f", 60 * ($1 + $3) + $2 + $4 }')
    cd / && rm -rf "$HPS_TMP" "$HPS_TMP.times"
    echo "took $(($(date +%s) - began)) s, of processors $cpu s: $test"
}
trap leave EXIT
trap 'exit 130' HUP INT TERM

export srcdir HPS_TMP
. "$srcdir/tests/lib/env.sh"
# all ranks are on one host: to look for a fabric takes 0.2 s of each launch
export OMPI_MCA_pml=${OMPI_MCA_pml:-ob1}
# many at a time: who waits gives his core to who works
export OMPI_MCA_mpi_yield_when_idle=1 OMP_WAIT_POLICY=passive
cd "$HPS_TMP" || exit 99

# seconds, for machines that do much else; a script runs the program dozens of times
case $test in
*.sh) limit=${HPS_TEST_SECONDS:-600} ;;
*) limit=${HPS_TEST_SECONDS:-180} ;;
esac

limited() {
    timeout -k 10 "$limit" "$@"
    rc=$?
    [ $rc -ne 124 ] || echo "$test: not done after $limit s" >&2
    return $rc
}

case ${test##*/} in
*.sh) limited "${SHELL:-/bin/sh}" "$test" ;;
m_*)
    if [ -z "$MPIEXEC" ]; then
        echo "no MPI launcher was found" >&2
        exit 77
    fi
    for n in ${HPS_NP:-1 2 3 4}; do
        echo "== ${test##*/} on $n ranks"
        # shellcheck disable=SC2086 # the flags are several words
        limited "$MPIEXEC" $MPIEXEC_FLAGS -n "$n" "$test" || exit $?
    done ;;
*) limited "$test" ;;
esac
