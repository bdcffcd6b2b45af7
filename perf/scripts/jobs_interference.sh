#!/bin/sh
# jobs_interference.sh [POLICY]...: 20 jobs, half of them memory-bound, on 10 nodes of 2 GPUs, where
# each is slower beside another by Gavel's measured pairs (V100): mean completion time where whoever
# places them knows that, over where he does not; and two jobs on one node, simulated, beside the
# table. Goal: less than 1, and within 5 points.
cd "$(dirname "$0")/../.." || exit 1
in=inputs/jobs
table=$in/gavel_speeds.json
HETERPS_DATADIR=$(pwd)
export HETERPS_DATADIR
scratch=$(mktemp -d "${TMPDIR:-/tmp}/heterps.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
missed=0

# mean TRACE POOL ARGUMENT...: the mean completion time
mean() {
    trace=$1 pool=$2
    shift 2
    "${HETERPS:-build/heterps}" jobs simulate "$trace" --format gavel --speeds $table \
        --pool "$pool" --interference $table --json - "$@" 2>"$scratch/err" |
        awk -F '[:,]' '/"mean_jct_s"/ { print $2 + 0 }'
}

printf '%-12s %14s %14s %8s\n' policy 'with the term' without ratio
[ $# -gt 0 ] || set -- fifo srtf las prices
for policy; do
    with=$(mean $in/pairs_20.trace 10x2 --policy "$policy")
    without=$(mean $in/pairs_20.trace 10x2 --policy "$policy" --blind)
    if [ -z "$with" ] || [ -z "$without" ]; then
        printf '%-12s %s\n' "$policy" "$(tail -n 1 "$scratch/err")"
        missed=$((missed + 1))
        continue
    fi
    awk -v p="$policy" -v a="$with" -v b="$without" 'BEGIN {
        printf "%-12s %14.1f %14.1f %8.3f\n", p, a, b, a / b; exit a >= b }' ||
        missed=$((missed + 1))
done
sed -n 's/.*\(interference on\)/\1/p' "$scratch/err"

# Each kind of the trace beside each: two jobs of an hour alone, which end when their steps are done.
awk -F '\t' '!seen[$1]++ { print $1 }' $in/pairs_20.trace >"$scratch/kinds"
worst=$(while read -r a; do
    while read -r b; do
        awk -v a="$a" -v b="$b" '
            /^"v100"/ { v = 1 }
            v && index($0, "\"(\047" a "\047, 1)\":{") == 1 { row = 1 }
            v && row && /^"null":/ { split($0, n, /[:,}]/); alone = n[2] }
            v && row && index($0, "\"(\047" b "\047, 1)\":[") == 1 { own = $0
                sub(/.*\[/, "", own); sub(/,.*/, "", own) }
            v && row && /}/ { print alone, own; exit }' $table >"$scratch/pair"
        read -r alone own <"$scratch/pair"
        [ "${own:-0}" != 0 ] || continue
        steps=$(awk -v s="$alone" 'BEGIN { printf "%.0f", 3600 * s }')
        # the other is so long that it is there until the end
        { printf '%s\ta\tb\tc\t0\t%s\t1\t1\t-1\t0\n' "$a" "$steps"
          printf '%s\ta\tb\tc\t0\t%s\t1\t1\t-1\t0\n' "$b" 900000000; } >"$scratch/two.trace"
        "${HETERPS:-build/heterps}" jobs simulate "$scratch/two.trace" --format gavel \
            --speeds $table --pool 1x2 --interference $table --policy fifo --json - 2>/dev/null |
            awk -F '[:,]' -v own="$own" -v alone="$alone" '/"end"/ {
                share = own / alone > 1 ? 1 : own / alone
                off = 100 * (3600 / $2 - share); print off < 0 ? -off : off; exit }'
    done <"$scratch/kinds"
done <"$scratch/kinds" | sort -g | tail -n 1)
printf 'two jobs on one node: at most %.2f points off the table\n' "$worst"
awk -v w="$worst" 'BEGIN { exit !(w <= 5) }' || missed=$((missed + 1))
[ $missed -eq 0 ] || echo "$missed goals are missed"
[ $missed -eq 0 ]
