#!/bin/sh
# jobs_dl2.sh - the policy `dl2`, which learns, beside drf, which teaches it, and optimus, on
# Pollux' 8 workloads of 160 jobs, 16 nodes of 4 GPUs, batch fixed, 30 s a restart. Its paper has
# 44.1 % less mean completion time than DRF and 17.5 % less than Optimus, by a table of speeds that
# has no licence. It learns on jobs and gaps between arrivals that are drawn from the workload's.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/jobs.sh
: >means

# mean_jct WORKLOAD POLICY ARGUMENT...: in out.json
mean_jct() {
    workload=$1 policy=$2
    shift 2
    quiet build/heterps jobs simulate $in/pollux_workload_"$workload".csv --json out.json \
        --speeds $in/pollux_speeds.csv --pool 16x4 --restart 30 --policy "$policy" "$@"
    number out.json mean_jct_s
}
# less THAN OF: by how many per cent of THAN OF is less
less() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f\n", 100 * (1 - b / a) }'; }

title 'Many jobs on one pool: a policy that learns'
header workload drf optimus dl2 prices 'no schedule below' 'dl2 below drf, %' \
    'below optimus, %' 'seconds of dl2'
for n in 1 2 3 4 5 6 7 8; do
    drf=$(mean_jct $n drf) optimus=$(mean_jct $n optimus)
    prices=$(mean_jct $n prices --bound) bound=$(number out.json lower_bound)
    began=$(date +%s)
    dl2=$(mean_jct $n dl2)
    took=$(($(date +%s) - began))
    echo "$drf $optimus $dl2 $prices $bound $took" >>means
    # shellcheck disable=SC2046 # numbers
    row "$n" $(awk 'END { printf "%.1f %.1f %.1f %.1f %.1f\n", $1, $2, $3, $4, $5 }' means) \
        "$(less "$drf" "$dl2")" "$(less "$optimus" "$dl2")" "$took"
done
drf=$(mean_of 1) optimus=$(mean_of 2) dl2=$(mean_of 3) bound=$(mean_of 5)
row mean "$drf" "$optimus" "$dl2" "$(mean_of 4)" "$bound" "$(less "$drf" "$dl2")" \
    "$(less "$optimus" "$dl2")" "$(mean_of 6)"
echo
echo "Any schedule at all: $(less "$drf" "$bound") % below drf at most, $(less "$optimus" "$bound")" \
    "% below optimus."
echo
goal "44.1 % below drf, as its paper has it ($(less "$drf" "$dl2"))" at_most 44.1 \
    "$(less "$drf" "$dl2")"
goal "17.5 % below optimus, as its paper has it ($(less "$optimus" "$dl2"))" at_most 17.5 \
    "$(less "$optimus" "$dl2")"
goal "it learns in at most 60 s ($(awk '$6 > s { s = $6 } END { print s }' means))" at_most \
    "$(awk '$6 > s { s = $6 } END { print s }' means)" 60
printf '\nCommands:\n\n    %s\n' "build/heterps jobs simulate $in/pollux_workload_1.csv \\
        --speeds $in/pollux_speeds.csv --pool 16x4 --restart 30 --policy dl2 --json out.json"
the_end
