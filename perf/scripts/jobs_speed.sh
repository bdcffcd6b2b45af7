#!/bin/sh
# jobs_speed.sh - seconds that each policy takes to decide over 10,000 jobs and 64 types of units.
# HETERPS must stand in its build folder: perf/bin/job_decisions is made there. HPS_JOBS, HPS_TYPES,
# HPS_UNITS (of each type): another size.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
title 'Seconds of a decision'
make -C "$HPS_BUILD" perf/bin/job_decisions >out 2>&1 || {
    cat out >&2
    give_up "make -C $HPS_BUILD perf/bin/job_decisions failed"
}
mkdir -p build/perf/bin
ln -s "$HPS_BUILD/perf/bin/job_decisions" build/perf/bin/job_decisions
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
jobs=${HPS_JOBS:-10000} types=${HPS_TYPES:-64} units=${HPS_UNITS:-64}
echo "$jobs jobs, $types types of $units units, $((4 * types)) configurations a job; seconds of one"
echo 'core of a first decision, in which all jobs are new, and of the next:'
echo
header policy first next
said build/perf/bin/job_decisions "$jobs" "$types" "$units"
awk '{ print "| " $1 " | " $2 " | " $3 " |" }' out
commands
the_end
