#!/bin/sh
# plan_joint.sh - the policy that chooses units too (rl-joint) beside plain rl, and stages that may
# share their units beside stages that may not, on the same random problems, under the paper's model
# and the engine's. HPS_SEEDS=N problems a size (20), HPS_PLANS=N plans, HPS_SECONDS=N seconds.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
seeds=${HPS_SEEDS:-20} plans=${HPS_PLANS:-500} seconds=${HPS_SECONDS:-0.1}
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
make -C "$HPS_BUILD" perf/bin/plan_joint >&2 || give_up 'perf/bin/plan_joint is not built'
mkdir -p build/perf/bin
ln -s "$HPS_BUILD/perf/bin/plan_joint" build/perf/bin/plan_joint

# rows WHAT BUDGET SIZE...: two rows of kinds a size
rows() {
    what=$1 budget=$2
    shift 2
    for size; do
        for kind in loose tight; do
            # shellcheck disable=SC2086 # two words
            said build/perf/bin/plan_joint "$what" $size $kind "$seeds" "$budget"
            cat out
        done
    done
    echo
}
joint() {
    header problem limits objective sharing 'rl-joint over rl, mean' least most \
        'cheaper, same, dearer' 'no plan: rl, rl-joint' 'CPU s: rl, rl-joint'
    rows joint "$@"
}

title 'The policy chooses units too; stages share their units'
echo "Random problems (\`perf/bin/random_profile.h\`), $seeds a row, with what a step costs beside its layers;"
echo 'costs under the objective. The engine'"'"'s throughput limit is as large a part of what the fastest'
echo 'plan has there. Ratios are geometric means over the problems that both have a plan for.'
echo
echo "rl-joint beside rl, $plans plans each:"
echo
joint "$plans" '10 4' '16 16'
echo "The same, $seconds seconds each:"
echo
joint "${seconds}s" '10 4' '16 16' '16 64'
echo "rl with sharing beside rl without, $plans plans each:"
echo
header problem limits objective sharing 'cost, mean' least most 'cheaper, same, dearer' \
    'no plan: off, on' 'plans that share, pairs' 'CPU s: off, on'
rows share "$plans" '10 4' '16 16' '16 64'
commands
the_end
