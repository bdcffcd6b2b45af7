#!/bin/sh
# object.sh - what a rank without a GPU pays for the CUDA backend: seconds to the first step and the
# most memory, with heterps-cuda.so beside the program and without it, in turn; medians of ten.
# perf/scripts/gpu.sh measures the backend itself.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
starts=10

# run_once WHAT: adds its seconds and bytes to the files WHAT.s, WHAT.bytes
run_once() {
    rm -rf runs
    quiet mpirun -n 2 build/heterps train inputs/census.yaml --set train.steps=4 \
        --set schedule.profile=profile.json
    grep -q '"kind": *"gpu"' runs/census/pool.json && give_up 'a rank has a GPU here'
    number runs/census/report.json start_seconds >>"$1.s"
    number runs/census/report.json peak_bytes >>"$1.bytes"
}

# figure WHAT TEXT: its row
figure() {
    row "$2" "$(digits 4 "$(median <"$1.s")")" \
        "$(awk -v x="$(median <"$1.bytes")" 'BEGIN { printf "%.1f\n", x / 1048576 }')"
}
over() { awk -v a="$(median <"$1")" -v b="$(median <"$2")" 'BEGIN { printf "%.3f\n", a / b }'; }

[ -f "$HPS_BUILD/heterps-cuda.so" ] || give_up 'this build has no heterps-cuda.so'
mkdir without
title 'The CUDA backend on ranks without a GPU'
import_census
said mpirun -n 2 build/heterps train inputs/census.yaml --set train.steps=4
cp runs/census/profile.json .
for _ in $(seq $starts); do
    unset HETERPS_LIBDIR
    run_once with
    export HETERPS_LIBDIR="$HPS_TMP/without"
    run_once without
done
header heterps-cuda.so 'seconds to the first step' 'most memory of a rank, MiB'
figure with "beside the program, $(($(stat -L -c %s "$HPS_BUILD/heterps-cuda.so") >> 20)) MiB"
figure without 'not there'
seconds=$(over with.s without.s) bytes=$(over with.bytes without.bytes)
commands
printf '\n'
goal "the same seconds within a tenth ($seconds)" at_most "$seconds" 1.1
goal "the same memory within a hundredth ($bytes)" at_most "$bytes" 1.01
the_end
