#!/bin/sh
# jobs_interference.sh [POLICY]... - 20 jobs, half of them memory-bound, on 10 nodes of 2 GPUs, where
# each is slower beside another by Gavel's measured pairs (V100): mean completion time where whoever
# places them knows that, over where he does not; and two jobs on one node, simulated, beside the
# table. Goal: less than 1, and within 5 points.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/jobs.sh
table=$in/gavel_speeds.json

# mean TRACE POOL ARGUMENT...: the mean completion time
mean() {
    trace=$1 pool=$2
    shift 2
    build/heterps jobs simulate "$trace" --format gavel --speeds $table \
        --pool "$pool" --interference $table --json - "$@" 2>err |
        awk -F '[:,]' '/"mean_jct_s"/ { print $2 + 0 }'
}

title 'Jobs that share a node: memory and links in the scheduler'
header policy 'mean JCT with the term, s' without ratio
[ $# -gt 0 ] || set -- fifo srtf las prices
for policy; do
    with=$(mean $in/pairs_20.trace 10x2 --policy "$policy")
    without=$(mean $in/pairs_20.trace 10x2 --policy "$policy" --blind)
    ratio=$(awk -v a="$with" -v b="$without" 'BEGIN { if (b > 0) printf "%.3f\n", a / b }')
    row "$policy" "$with" "$without" "$ratio"
    echo "$ratio" >>ratios
done
echo
sed -n 's/.*\(interference on\)/\1/p' err
echo

# Each kind of the trace beside each: two jobs of an hour alone, which end when their steps are done.
awk -F '\t' '!seen[$1]++ { print $1 }' $in/pairs_20.trace >kinds
worst=$(while read -r a; do
    while read -r b; do
        awk -v a="$a" -v b="$b" '
            /^"v100"/ { v = 1 }
            v && index($0, "\"(\047" a "\047, 1)\":{") == 1 { row = 1 }
            v && row && /^"null":/ { split($0, n, /[:,}]/); alone = n[2] }
            v && row && index($0, "\"(\047" b "\047, 1)\":[") == 1 { own = $0
                sub(/.*\[/, "", own); sub(/,.*/, "", own) }
            v && row && /}/ { print alone, own; exit }' $table >pair
        read -r alone own <pair
        [ "${own:-0}" != 0 ] || continue
        steps=$(awk -v s="$alone" 'BEGIN { printf "%.0f", 3600 * s }')
        # the other is so long that it is there until the end
        { printf '%s\ta\tb\tc\t0\t%s\t1\t1\t-1\t0\n' "$a" "$steps"
          printf '%s\ta\tb\tc\t0\t%s\t1\t1\t-1\t0\n' "$b" 900000000; } >two.trace
        build/heterps jobs simulate two.trace --format gavel \
            --speeds $table --pool 1x2 --interference $table --policy fifo --json - 2>/dev/null |
            awk -F '[:,]' -v own="$own" -v alone="$alone" '/"end"/ {
                share = own / alone > 1 ? 1 : own / alone
                off = 100 * (3600 / $2 - share); print off < 0 ? -off : off; exit }'
    done <kinds
done <kinds | sort -g | tail -n 1)
goal "sooner with the term (the worst ratio $(sort -g ratios | tail -n 1))" \
    at_most "$(sort -g ratios | tail -n 1)" 0.999
goal "two jobs on one node: at most 5 points off the table ($worst)" at_most "$worst" 5
printf '\nCommands:\n\n    %s\n' "build/heterps jobs simulate $in/pairs_20.trace --format gavel \\
        --speeds $table --pool 10x2 --interference $table --policy prices [--blind]"
the_end
