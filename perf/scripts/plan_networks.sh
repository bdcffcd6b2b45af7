#!/bin/sh
# plan_networks.sh - the cost of every method's plan for the HeterPS paper's four networks on a pool
# like its testbed, at three throughput limits. perf/scripts/networks.awk has the shapes and the GPU's
# stated roofline; the CPU's rates are measured here, on layers of ctrdnn (the fastest of three runs).
#   HPS_PLANS=N   plans that a searching method may price (default 1000)
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
plans=${HPS_PLANS:-1000}

# least KEY LAYER: the least `oct` of a layer over the runs
least() {
    for profile in profile_*.json; do
        awk -v layer="\"$1\"" '
        index($0, "\"name\": " layer) { here = 1 }
        here && /"oct"/ { getline; gsub(/[^0-9.e+-]/, ""); print; exit }' "$profile"
    done | sort -g | head -n 1
}

title "The paper's networks: the cost of every method's plan"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
mkdir data
quiet build/heterps generate inputs/ctrdnn.yaml --rows 4000 --output data/ctrdnn_train.h5
for i in 1 2 3; do
    quiet ranks 1 train inputs/ctrdnn.yaml --restart never --set train.steps=2
    cp runs/ctrdnn/profile.json profile_$i.json
done
rates=$(awk -v h="$(least h2)" -v both="$(least both)" -v ids="$(least ids)" 'BEGIN {
    printf "-v flops=%.4g -v bytes=%.4g -v id=%.4g", 250 * 6 * 160400 / h,
        250 * 12 * 546 / both, ids / (250 * 26) }')
echo "One CPU core, measured on ctrdnn's layers: \`$rates\` (flop/s, byte/s, seconds an id)."
echo 'Pool: 480 CPU cores at 0.04 USD/h, 32 GPUs of the V100 class at 2.42 USD/h; GPU column and'
echo 'links are the stated roofline of `perf/scripts/networks.awk`. USD for 1e9 examples; in brackets times'
echo "the cost of the first column; searches price $plans plans. Limits are shares of the pool's most."
echo

# cost METHOD: of the last table of all methods, "-" where there is no plan
cost() { awk -v m="$1" '$1 == m { c = $2 } END { print (c + 0 > 0 ? c : "-") }' table; }

# cell METHOD: its cost, and times the first's
cell() {
    awk -v c="$(cost "$1")" -v r="$(cost "$first")" 'BEGIN {
        if (c == "-") print "none"
        else if (r == "-") printf "%.4g\n", c
        else printf "%.4g (%.3g)\n", c, c / r }'
}

known=$(build/heterps deck | sed -n 's/^  method:.*(\(.*\))$/\1/p' | tr '|' ' ')
first=exact others='ils bayes genetic greedy heuristic single:cpu single:gpu'
case " $known " in
*' rl '*) first=rl others="rl-rnn exact $others" ;;
esac
# shellcheck disable=SC2086 # one word a method
header network limit 'examples/s' $first $others
: >ratios
for net in ctrdnn matchnet 2emb nce; do
    # shellcheck disable=SC2086
    awk -v net=$net $rates -f perf/scripts/networks.awk >$net.json
    echo "    awk -v net=$net $rates -f perf/scripts/networks.awk >$net.json" >>commands
    quiet build/heterps plan --profile $net.json --method exact --set schedule.throughput_limit=max
    most=$(sed -n 's/^plan by exact: \([0-9.e+]*\) examples.*/\1/p' out)
    for share in 0.1 0.5 0.9; do
        limit=$(awk -v m="$most" -v s=$share 'BEGIN { printf "%.6g", m * s }')
        said build/heterps plan --profile $net.json --method all \
            --set schedule.throughput_limit="$limit" --set schedule.seconds=0 \
            --set schedule.evaluations="$plans"
        cp out table
        set -- "$(cell $first)"
        for method in $others; do set -- "$@" "$(cell "$method")"; done
        row "$net" $share "$limit" "$@"
        awk -v h="$(cost heuristic)" -v c="$(cost $first)" -v at="$net at $share" 'BEGIN {
            if (h != "-" && c != "-") printf "%.4g %s\n", h / c, at }' >>ratios
    done
done
echo
echo "The heuristic costs $(sort -g ratios | tail -n 1 | awk '{ printf "%.3g", $1 }') times $first" \
    "at most ($(sort -g ratios | tail -n 1 | cut -d ' ' -f 2-)), the median is" \
    "$(cut -d ' ' -f 1 ratios | median | xargs printf '%.3g'); the paper claims 4.12 times RL-LSTM."
commands
the_end
