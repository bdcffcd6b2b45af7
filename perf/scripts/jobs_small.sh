#!/bin/sh
# jobs_small.sh - few jobs on few units: the schedule of `prices` and the bound of any, beside
# the best of all schedules that decide where a job arrives or ends (tests/unit/t_small_pools.c).
# HPS_BUILD=FOLDER has the tests.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
HPS_BUILD=${HPS_BUILD:-$srcdir/build-tests/gcc}

make -C "$HPS_BUILD" tests/unit/t_small_pools >out 2>&1 ||
    give_up "make -C $HPS_BUILD tests/unit/t_small_pools failed"
title 'Many jobs on one pool: few jobs, beside the optimum'
"$HPS_BUILD/tests/unit/t_small_pools" 100 5 0.25 >figures 2>out || give_up "$(cat out)"
grep ' cases of ' figures
the_end
