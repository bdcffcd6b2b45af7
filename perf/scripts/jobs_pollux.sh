#!/bin/sh
# jobs_pollux.sh - what Pollux' authors simulate of Tiresias and Optimus on 8 workloads of 160 jobs,
# 16 nodes of 4 GPUs, 30 s a restart: mean completion time beside theirs. Goal: within 1 % each.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/jobs.sh

title "Pollux' simulator: Tiresias and Optimus as its authors have them"
header policy workload 'mean JCT, s' "the authors', s" apart
for policy in tiresias optimus; do
    for n in 1 2 3 4 5 6 7 8; do
        quiet build/heterps jobs simulate $in/pollux_workload_$n.csv --pool 16x4 \
            --speeds $in/pollux_speeds.csv --policy pollux.$policy --json out.json
        got=$(number out.json mean_jct_s)
        theirs=$(awk -F , -v p=$policy -v w=workload-$n '$1 == p && $3 == w { print $4 }' \
            $in/pollux_expected.csv)
        off=$(awk -v a="$got" -v b="$theirs" 'BEGIN { printf "%+.3f %%\n", 100 * (a / b - 1) }')
        row pollux.$policy $n "$(digits 7 "$got")" "$(digits 7 "$theirs")" "$off"
        echo "$off" | tr -d +- >>off
    done
done
echo
within=$(awk '$1 <= 1 { n++ } END { print n + 0 }' off)
goal "within 1 % ($within of 16; the farthest $(sort -g off | tail -n 1))" at_most 16 "$within"
printf '\nCommands:\n\n    %s\n' "build/heterps jobs simulate $in/pollux_workload_1.csv --pool 16x4 \\
        --speeds $in/pollux_speeds.csv --policy pollux.optimus --json out.json"
the_end
