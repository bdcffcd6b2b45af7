#!/bin/sh
# jobs_pollux.sh: what Pollux' authors simulate of Tiresias and Optimus on 8 workloads of 160 jobs,
# 16 nodes of 4 GPUs, 30 s a restart: mean completion time beside theirs. Goal: within 1 % each.
cd "$(dirname "$0")/../.." || exit 1
in=inputs/jobs
HETERPS_DATADIR=$(pwd)
export HETERPS_DATADIR
missed=0
printf '%-16s %8s %12s %12s %8s\n' policy workload 'mean JCT s' 'authors s' '%'
for policy in tiresias optimus; do
    for n in 1 2 3 4 5 6 7 8; do
        got=$("${HETERPS:-build/heterps}" jobs simulate $in/pollux_workload_$n.csv --pool 16x4 \
            --speeds $in/pollux_speeds.csv --policy pollux.$policy --json - |
            awk -F '[:,]' '/"mean_jct_s"/ { print $2 + 0 }')
        awk -F , -v p=$policy -v w=workload-$n -v got="$got" '
            $1 == p && $3 == w {
                off = 100 * (got / $4 - 1)
                printf "pollux.%-9s %8d %12.2f %12.2f %+8.3f\n", p, substr(w, 10), got, $4, off
                exit (off > 1 || off < -1)
            }' $in/pollux_expected.csv || missed=$((missed + 1))
    done
done
[ $missed -eq 0 ] || echo "$missed of 16 are not within 1 %"
[ $missed -eq 0 ]
