#!/bin/sh
# tier_largest.sh [GB] - as large a table as the disk takes: dlrm with 26 tables of GB of rows in all (a
# fifth of what is free on the disk of DIRECTORY: two checkpoints of them, for the last one stays
# until the next is whole, and the file of rows with its room to be cleaned), MEMORY (a quarter of
# them) in memory, on RANKS (2). It starts, trains STEPS (50), writes its checkpoint, starts again
# from it and trains as many more.
size=${1:-}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
. perf/scripts/tiers.sh
steps=${STEPS:-50} n=${RANKS:-2}
network dlrm
free=$(df -P "$directory" | awk 'NR == 2 { printf "%.9g\n", $4 * 1024 }')
size=${size:-$(awk -v f="$free" 'BEGIN { printf "%.3g\n", f / 5e9 }')}
buckets=$(awk -v g="$size" -v r="$row" 'BEGIN { printf "%d\n", g * 1e9 / 26 / (4 * r) }')
rows=$((26 * buckets))
memory=${MEMORY:-$(bytes_of 0.25)}

# part STEPS: trains up to STEPS; its row
part() {
    said mpirun -n "$n" build/heterps train inputs/dlrm.yaml --set data.test= \
        --set data.train=data/dlrm_train.h5 --set train.epochs=0 --set "train.steps=$1" \
        --set data.microbatches=1 --set schedule.method=single:cpu --set run.directory=runs/it \
        --set checkpoint.interval_seconds=0 --set checkpoint.keep=1 --set run.threads=1 \
        --set "storage.host_memory=$((memory / n))" --set "storage.file=$directory"
    file=$(find runs/it/checkpoint -name 'step_*.h5')
    row "$1" "$(digits 4 "$(number runs/it/report.json examples_s)")" "$(tiers made)" "$(tiers read)" \
        "$(tiers written)" "$(digits 4 "$(per "$(number runs/it/report.json peak_bytes)" 1e6)")" \
        "$(digits 4 "$(per "$(stat -c %s "$file")" 1e9)")" \
        "$(sed -n 's/.*checkpoint at step [0-9]* written in \([0-9.]*\) s.*/\1/p' err | tail -n 1)" \
        "$(($(date +%s) - began))"
}
# shellcheck disable=SC2317 # called by goal
whole() { build/heterps info "$file" >said 2>&1; }

mkdir -p data
said build/heterps generate inputs/dlrm.yaml --set "generate.buckets=$buckets" \
    --rows $((batch * steps)) --output data/dlrm_train.h5
title "dlrm with $size GB of rows, $(digits 3 "$(per "$memory" 1e9)") GB of memory for them"
printf '%s rows of %s bytes; %s GB of the disk are free.\n\n' "$rows" $((4 * row)) "$(digits 4 "$(per "$free" 1e9)")"
header 'up to step' examples/s 'rows made' read written 'most memory of a rank, MB' 'checkpoint, GB' \
    'written in, s' 'all, s'
began=$(date +%s)
part "$steps"
began=$(date +%s)
part $((2 * steps))
echo
goal 'it goes on from its checkpoint' grep -q "going on from .*, step $steps\$" err
goal 'its checkpoint is whole' whole
commands
the_end
