#!/bin/sh
# jobs_objectives.sh - the objectives makespan and rho on Pollux' 8 workloads of 160 jobs, 16 nodes
# of 4 GPUs, batch fixed, 30 s a restart: `prices` by this objective and by the mean completion
# time, the best of the other policies, and what no schedule is below. Ten minutes.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/jobs.sh
: >means
others='fifo drf srtf las maxmin optimus'

# of WORKLOAD OBJECTIVE KEY POLICY ARGUMENT...: the figure KEY, in out.json
of() {
    workload=$1 objective=$2 key=$3 policy=$4
    shift 4
    quiet build/heterps jobs simulate $in/pollux_workload_"$workload".csv --json out.json \
        --speeds $in/pollux_speeds.csv --pool 16x4 --restart 30 --policy "$policy" \
        --set pool.objective="$objective" "$@"
    number out.json "$key" | awk '{ printf "%.6g\n", $1 }'
}
# best_other WORKLOAD KEY: the least of the others, and whose it is
best_other() {
    for policy in $others; do
        echo "$(of "$1" jct "$2" "$policy") $policy"
    done | sort -g | head -n 1
}

# table OBJECTIVE KEY: a row a workload, their means in `means`
table() {
    echo
    header workload "prices by $1: $1" 'prices by jct' 'the best other' 'its policy' \
        'no schedule below' gap
    : >means
    for n in 1 2 3 4 5 6 7 8; do
        mine=$(of $n "$1" "$2" prices --bound)
        bound=$(number out.json lower_bound | awk '{ printf "%.6g\n", $1 }')
        mean=$(of $n jct "$2" prices) other=$(best_other $n "$2")
        gap=$(awk -v b="$bound" -v m="$mine" 'BEGIN { printf "%.3f", 1 - b / m }')
        echo "$mine $mean ${other% *} $bound $gap" >>means
        row $n "$mine" "$mean" "${other% *}" "${other#* }" "$bound" "$gap"
    done
    row mean "$(mean_of 1 3)" "$(mean_of 2 3)" "$(mean_of 3 3)" '' "$(mean_of 4 3)" "$(mean_of 5 3)"
    echo
    goal "$1: prices by it at most the best other policy's mean ($(mean_of 1 3))" at_most \
        "$(mean_of 1 3)" "$(mean_of 3 3)"
}

title 'Many jobs on one pool: the objectives makespan and rho'
table makespan makespan_s
table rho rho_max
printf '\nCommands:\n\n    %s\n' "build/heterps jobs simulate $in/pollux_workload_1.csv \\
        --speeds $in/pollux_speeds.csv --pool 16x4 --restart 30 --policy prices --bound \\
        --set pool.objective=makespan --json out.json"
the_end
