#!/bin/sh
# plan_sensitivity.sh - which method is best at which size, and what a profile that is off costs.
# HETERPS must stand in its build folder: perf/bin/plan_grid is made there. HPS_SEEDS=N problems a size,
# HPS_PLANS=N plans that a method may price, HPS_SECONDS=N seconds that it may search.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
seeds=${HPS_SEEDS:-10} plans=${HPS_PLANS:-1000} seconds=${HPS_SECONDS:-0.5}
title 'Sensitivity of plans'
make -C "$HPS_BUILD" perf/bin/plan_grid >out 2>&1 || give_up "make -C $HPS_BUILD perf/bin/plan_grid failed"
mkdir -p build/perf/bin
ln -s "$HPS_BUILD/perf/bin/plan_grid" build/perf/bin/plan_grid
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

methods='rl rl-rnn ils genetic bayes greedy heuristic'

# grid BUDGET: a row a size
grid() {
    # shellcheck disable=SC2086 # one word a method
    header size $methods best
    for size in '5 4' '10 4' '16 16' '16 64' '50 16' '100 16'; do
        for kind in loose tight; do
            # shellcheck disable=SC2086
            said build/perf/bin/plan_grid methods $size $kind "$(((seeds + 2) / 3))" "$1" $methods
            cat out
        done
    done
    echo
}
echo 'Random problems (`perf/bin/random_profile.h`), no policy that learned before. Mean gap to the proven'
echo "bound in %; no plan counts as 100. The best is the first of equals. $plans plans priced:"
echo
grid "$plans"
echo "The same methods, $seconds seconds each:"
echo
grid "${seconds}s"
echo 'Every time of the profile off by a factor of its own, from 1 - e to 1 + e; the optimum of that'
echo 'profile, priced on the true one. Loss against the true optimum in % (median / worst), plans'
echo 'that miss the throughput limit, and by how many % at most.'
echo
header size '10 %' missed '20 %' missed '50 %' missed
for size in '10 4' '16 16' '16 64' '50 16'; do
    for kind in loose tight; do
        # shellcheck disable=SC2086
        said build/perf/bin/plan_grid errors $size $kind "$seeds"
        cat out
    done
done
commands
the_end
