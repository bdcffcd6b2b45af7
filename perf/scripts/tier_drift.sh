#!/bin/sh
# tier_drift.sh - ids whose hot set drifts: 95 % of them are from a window of 5 % of the rows, which
# moves WINDOWS (4) times its length in STEPS (200) batches, no batch comes again; SHARE (0.25) of the
# rows in memory beside all, in turn. NETWORKS (ctrdnn dlrm), THREADS (2), ROUNDS (3), DIRECTORY.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
. perf/scripts/tiers.sh
steps=${STEPS:-200} windows=${WINDOWS:-4} share=${SHARE:-0.25} threads=${THREADS:-2} rounds=${ROUNDS:-3}

# figure: the row of the network
figure() {
    bytes=$(bytes_of "$share")
    : >all
    : >some
    : >ratios
    for _ in $(seq "$rounds"); do
        ours 1 "$threads" >rate
        mv runs/it/report.json all.json
        ours 1 "$threads" --set "storage.host_memory=$bytes" --set "storage.file=$directory" >rate_some
        per "$(cat rate_some)" "$(cat rate)" >>ratios
        cat rate >>all
        cat rate_some >>some
        [ "$(number all.json train_loss)" = "$(number runs/it/report.json train_loss)" ] ||
            unequal="$unequal $network"
    done
    ratio=$(median <ratios)
    least=$(awk -v a="${least:-9}" -v b="$ratio" 'BEGIN { print a < b ? a : b }')
    row "$network" "$(digits 4 "$(median <all)")" "$(digits 4 "$(median <some)")" "$(digits 3 "$ratio")" \
        "$(awk -v h="$(tiers hits)" -v a="$(tiers asked)" 'BEGIN { printf "%.1f %%\n", 100 * h / a }')" \
        "$(digits 5 "$(per "$(tiers asked)" "$steps")")" "$(digits 5 "$(per "$(tiers made)" "$steps")")" \
        "$(digits 5 "$(per "$(tiers read)" "$steps")")" \
        "$(digits 5 "$(per "$(tiers written)" "$steps")")"
}

title 'Rows in memory and in a file, ids that drift'
header network 'examples/s, all in memory' "$share in memory" ratio 'rows there' 'rows a step' made read \
    written
unequal=''
for name in ${NETWORKS:-ctrdnn dlrm}; do
    network "$name"
    mkdir -p data
    said build/heterps generate "inputs/$network.yaml" --rows $((batch * steps)) \
        --set generate.drift=$((batch * steps / windows)) --set generate.alike=true \
        --output "data/${network}_train.h5"
    figure
done
echo
goal "at least 0.9 of all in memory ($(digits 3 "$least"))" at_most 0.9 "$least"
goal "the same loss, bit for bit, not of:${unequal:- none}" [ -z "$unequal" ]
commands
the_end
