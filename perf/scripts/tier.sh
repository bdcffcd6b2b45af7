#!/bin/sh
# tier.sh - tables of which memory has a half, a quarter, an eighth of the rows, the others in a file,
# beside all in memory: ctrdnn, dlrm, bags on one rank with THREADS (2) threads. STEPS (200), SHARES
# ('0.5 0.25 0.125'), NETWORKS, DIRECTORY (of the files; the scratch folder), ROUNDS (1), PASSES (1).
# Data are as many batches as steps, so that no batch comes again; or as many as make PASSES passes,
# of whose steps the median is one of the middle, when rows were written before.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
. perf/scripts/tiers.sh
steps=${STEPS:-200} threads=${THREADS:-2} rounds=${ROUNDS:-1} passes=${PASSES:-1}

# figure SHARE: its row; $all: examples/s with all in memory
figure() {
    bytes=$(bytes_of "$1")
    for _ in $(seq "$rounds"); do
        ours 1 "$threads" --set "storage.host_memory=$bytes" --set "storage.file=$directory"
    done | median >rate
    seconds=$(number runs/it/report.json seconds)
    row "$network" "$1" "$(digits 3 "$(awk -v b="$bytes" 'BEGIN { print b / 1e6 }')")" \
        "$(digits 4 "$(cat rate)")" \
        "$(awk -v x="$(cat rate)" -v y="$all" 'BEGIN { printf "%.3f\n", x / y }')" \
        "$(awk -v h="$(tiers hits)" -v a="$(tiers asked)" 'BEGIN { printf "%.1f %%\n", 100 * h / a }')" \
        "$(awk -v x="$(tiers asked)" -v n="$steps" 'BEGIN { printf "%.0f\n", x / n }')" \
        "$(awk -v x="$(tiers made)" -v n="$steps" 'BEGIN { printf "%.0f\n", x / n }')" \
        "$(awk -v x="$(tiers read)" -v n="$steps" 'BEGIN { printf "%.0f\n", x / n }')" \
        "$(awk -v x="$(tiers written)" -v n="$steps" 'BEGIN { printf "%.0f\n", x / n }')" \
        "$(awk -v w="$(tiers waited_s)" -v s="$seconds" 'BEGIN { printf "%.1f %%\n", 100 * w / s }')"
}

title 'rows in memory and in a file'
header network share 'MB of memory' examples/s 'of all in memory' 'rows there' 'rows a step' made read \
    written 'waited, of the time'
for name in ${NETWORKS:-ctrdnn dlrm bags}; do
    network "$name"
    mkdir -p data
    said build/heterps generate "inputs/$network.yaml" --rows $((batch * (steps / passes))) \
        --output "data/${network}_train.h5"
    for _ in $(seq "$rounds"); do ours 1 "$threads"; done | median >rate
    all=$(cat rate)
    row "$network" all "$(digits 3 "$(awk -v n="$rows" -v r="$row" 'BEGIN { print n * r * 4e-6 }')")" \
        "$(digits 4 "$all")" 1 - - - - - -
    for share in ${SHARES:-0.5 0.25 0.125}; do figure "$share"; done
done
echo
echo 'Rows made, read and written, and waited, are means over all steps, the first of which find no row there.'
[ "$passes" -eq 1 ] || echo "The data were passed $passes times."
commands
