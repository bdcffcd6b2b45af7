#!/bin/sh
# workers.sh - what a straggler, and jitter, cost workers under bsp, ssp and asp: ctrdnn with one
# server; workers are emulated ranks that compute 8 times as long as this machine (16 workers: 96
# times), so that the real work is half a core. One is four times slower still, or 5 % of all steps
# last ten times as long. Runs of SECONDS_EACH (30) seconds. Ten minutes.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
seconds=${SECONDS_EACH:-30}

# pool WORKERS SLOW LATE STALLS: resources of the deck
pool() {
    echo "[{name: worker, match: \"*\", price_usd_hour: 1, emulate: {ranks: \"0-$(($1 - 1))\", slow: $2," \
        "late: \"$3\", late_slow: 4, stall_share: $4, stall_slow: 10}}," \
        "{name: server, match: \"*\", price_usd_hour: 1}]"
}

# rate WORKERS SLOW LATE STALLS BATCH ARGUMENT...: examples/s in $rate
rate() {
    plan_file 8 '' "$1" '[]' "$1" >plan.json
    n=$1 slow=$2 late=$3 stalls=$4 batch=$5
    shift 5
    rm -rf runs
    note "$n workers, slow $slow, late '$late', stalls $stalls, batch $batch: $*"
    mpirun --oversubscribe -n $((n + 1)) build/heterps train inputs/ctrdnn.yaml \
        --set "resources=$(pool "$n" "$slow" "$late" "$stalls")" --set "train.workers=$n" \
        --set storage.servers=1 --set storage.server_type=server --set "data.batch=$batch" \
        --set data.microbatches=1 --set train.epochs=1000 --set schedule.method=file \
        --set schedule.plan=plan.json --set run.threads=1 --set "run.max_seconds=$seconds" \
        --set checkpoint.interval_seconds=0 "$@" >out 2>err
    status=$?
    [ $status = 75 ] || { tail -n 20 err >&2; give_up "the run ended with $status"; }
    # between its first line of progress and the last before the stop, at which all wait for all
    rate=$(awk -v batch="$batch" '/\] step [0-9]*\/[0-9]* / {
            sub(/\]/, ""); split($4, step, "/"); time[++n] = $2; steps[n] = step[1]
        }
        END { printf "%.6g", batch * (steps[n - 1] - steps[1]) / (time[n - 1] - time[1]) }' err)
}
over() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }

title 'Workers that wait for each other, and workers that do not'
mkdir -p data
quiet build/heterps generate inputs/ctrdnn.yaml --rows 200000 --output data/ctrdnn_train.h5
asp='--set train.synchronization=asp'
# shellcheck disable=SC2086 # words
{
    rate 1 8 '' 0 512 $asp
    own=$rate
    rate 1 8 0 0 512 $asp
    slow_own=$rate
    rate 4 8 '' 0 512
    even_bsp=$rate
    rate 4 8 '' 0 512 $asp
    even_asp=$rate
    rate 4 8 3 0 512
    late_bsp=$rate
    rate 4 8 3 0 512 $asp
    late_asp=$rate
    rate 4 8 3 0 512 --set train.synchronization=ssp --set train.staleness=8
    late_ssp=$rate
}
sum=$(awk -v a="$own" -v b="$slow_own" 'BEGIN { printf "%.6g", 3 * a + b }')
echo 'Four workers, one of them four times slower; batch 512 each. Examples/s, over the sum of what the'
echo 'workers train alone, one after the other, and over what bsp makes of them:'
echo
header 'workers' 'bsp' 'ssp (8)' 'asp' 'sum of their own' 'asp over the sum' 'asp over bsp'
row 'four alike' "$even_bsp" '' "$even_asp" "$(awk -v a="$own" 'BEGIN { print 4 * a }')" \
    "$(awk -v a="$even_asp" -v b="$own" 'BEGIN { printf "%.3f", a / b / 4 }')" "$(over "$even_asp" "$even_bsp")"
row 'one slower' "$late_bsp" "$late_ssp" "$late_asp" "$sum" "$(over "$late_asp" "$sum")" \
    "$(over "$late_asp" "$late_bsp")"
echo
echo 'A twentieth of all steps ten times as long; batch 128 each. Over bsp, and the ideal of that:'
echo
header workers bsp 'ssp (4)' 'ssp (16)' asp 'over bsp' 'ideal'
# jitter WORKERS SLOW IDEAL IDEAL IDEAL
jitter() {
    rate "$1" "$2" '' 0.05 128
    bsp=$rate
    rate "$1" "$2" '' 0.05 128 --set train.synchronization=ssp --set train.staleness=4
    four=$rate
    rate "$1" "$2" '' 0.05 128 --set train.synchronization=ssp --set train.staleness=16
    sixteen=$rate
    rate "$1" "$2" '' 0.05 128 --set train.synchronization=asp
    row "$1" "$bsp" "$four" "$sixteen" "$rate" \
        "$(over "$four" "$bsp"), $(over "$sixteen" "$bsp"), $(over "$rate" "$bsp")" "$3, $4, $5"
    for pair in "$four $3" "$sixteen $4" "$rate $5"; do
        # shellcheck disable=SC2086 # two words
        set -- "$1" "$2" $pair
        awk -v a="$3" -v b="$bsp" -v i="$4" 'BEGIN { print i / (a / b) }' >>short
    done
}
: >short
jitter 4 8 1.40 1.71 1.86
seconds=$((2 * seconds))
jitter 16 96 2.44 3.49 4.16
echo
goal 'asp is at least 0.95 of the sum of the workers, one of them slower' \
    at_most "$(over "$sum" "$late_asp")" 1.0527
goal 'alike, asp is at least 0.97 of bsp' at_most "$(over "$even_bsp" "$even_asp")" 1.031
goal 'with jitter, at least 0.9 of the ideal over bsp' at_most "$(sort -g short | tail -n 1)" 1.112
the_end
