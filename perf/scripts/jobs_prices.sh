#!/bin/sh
# jobs_prices.sh - the policy `prices` on Pollux' 8 workloads of 160 jobs, 16 nodes of 4 GPUs, batch
# fixed: mean completion time at 30 s and at 4 s a restart, and the bound of any schedule; the same
# jobs all present at the beginning; jobs whose speed is the square root of their units, for which
# heSRPT is the optimum.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/jobs.sh
: >means

# simulate WORKLOAD RESTART ARGUMENT...: its figures in out.json
simulate() {
    workload=$1 restart=$2
    shift 2
    quiet build/heterps jobs simulate "$workload" --format pollux --restart "$restart" \
        --json out.json "$@"
}
# figure KEY: of the simulation
figure() { number out.json "$1"; }
# gap BOUND MEAN: by what share of the mean it may be too long
gap() { awk -v b="$1" -v m="$2" 'BEGIN { printf "%.4f\n", 1 - b / m }'; }

title 'Many jobs on one pool: prices of units'
header workload 'prices, 30 s a restart' '4 s' 'no schedule below, 4 s' 'all present, 4 s' \
    'no schedule below' gap
for n in 1 2 3 4 5 6 7 8; do
    pool="--pool 16x4 --speeds $in/pollux_speeds.csv"
    awk -F , -v OFS=, 'NR > 1 { $2 = 0 } { print }' $in/pollux_workload_$n.csv >at_once.csv
    # shellcheck disable=SC2086 # words
    {
        simulate $in/pollux_workload_$n.csv 30 $pool
        slow=$(figure mean_jct_s)
        simulate $in/pollux_workload_$n.csv 4 $pool --bound
        fast=$(figure mean_jct_s) bound=$(figure lower_bound)
        simulate at_once.csv 4 $pool --bound
    }
    once=$(figure mean_jct_s) once_bound=$(figure lower_bound)
    echo "$slow $fast $bound $once $once_bound $(gap "$once_bound" "$once")" >>means
    # shellcheck disable=SC2046 # numbers
    row "$n" $(awk 'END { printf "%.1f %.1f %.1f %.1f %.1f %.4f\n", $1, $2, $3, $4, $5, $6 }' means)
done
row mean "$(mean_of 1)" "$(mean_of 2)" "$(mean_of 3)" "$(mean_of 4)" "$(mean_of 5)" "$(mean_of 6 4)"
echo

# heSRPT's case: 12 jobs of 1 to 12 hours on one of 64 units
awk 'BEGIN {
    print "application,batch,gpus,real_batch,seconds_per_step,steps,seconds" >"root.csv"
    print "name,time,application,num_replicas,batch_size" >"roots.csv"
    for (j = 1; j <= 12; j++) {
        print "j" j ",0,size" j ",1,1" >"roots.csv"
        for (k = 1; k <= 64; k++)
            printf "size%d,1,%d,1,%.17g,%d,%.17g\n", j, k, 1 / sqrt(k), 3600 * j, \
                3600 * j / sqrt(k) >"root.csv"
    } }'
header policy 'mean JCT, s' 'no schedule below' gap
for policy in hesrpt prices; do
    simulate roots.csv 0 --speeds root.csv --pool 1x64 --policy $policy --bound
    root=$(gap "$(figure lower_bound)" "$(figure mean_jct_s)")
    row $policy "$(digits 6 "$(figure mean_jct_s)")" "$(digits 6 "$(figure lower_bound)")" "$root"
    [ $policy = prices ] || least=$root
    least=$(awk -v a="$root" -v b="$least" 'BEGIN { print a < b ? a : b }')
done
echo
echo "Pollux itself, which changes the batch: 2751 s at 30 s a restart; Tiresias 4038 s."
echo
goal "at most 2650 s at 30 s a restart ($(mean_of 1))" at_most "$(mean_of 1)" 2650
goal "at most 2450 s at 4 s a restart ($(mean_of 2))" at_most "$(mean_of 2)" 2450
goal "the bound is at least 2060 s ($(mean_of 3))" at_most 2060 "$(mean_of 3)"
goal "all present: gap at most 3 % ($(awk 'END { printf "%s\n", g } $6 > g { g = $6 }' means))" \
    at_most "$(awk '$6 > g { g = $6 } END { print g }' means)" 0.03
goal "speeds by the square root: gap at most 0.1 % ($least)" at_most "$least" 0.001
printf '\nCommands:\n\n    %s\n' "build/heterps jobs simulate $in/pollux_workload_1.csv \\
        --speeds $in/pollux_speeds.csv --pool 16x4 --restart 4 --bound --json out.json"
the_end
