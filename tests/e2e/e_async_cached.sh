#!/bin/sh
# Workers that keep rows and hold gradients back send fewer, lose none, and learn as much as one
# worker by bsp. Each worker clips its own gradient.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
. "$srcdir/tests/lib/async.sh"

as_bsp

# cached KEY: a number of the workers' caches of rows
cached() { number $report "$1"; }
held='--set train.synchronization=ssp --set train.staleness=4 --set train.cache_clocks'
for how in "$held=1" "$held=2 --set train.eval_interval_steps=30" \
    "$held=2 --set train.synchronization=hybrid --set train.staleness_rate=inverse"; do
    fresh "three workers keep rows, $how"
    # shellcheck disable=SC2086 # words
    run 4 3 1 '' 3 $how
    good
    # and a gradient of its own comes between a worker's pull and those that it holds back
    seen 19
    grep -q '^row caches: [3-9][0-9][0-9.]* % of' out || fail 'the table lacks the caches, or hits'
    [ "$(cached hits)" -gt "$(cached returned)" ] || fail 'no row was saved'
    saved=$(cached bytes_saved)
    [ "${saved%.*}" -gt 200000 ] || fail "$saved bytes were saved"
done
fresh 'held gradients all come: for a small rate the loss changes as by bsp, whatever the layout'
small() { # RATE RANKS WORKERS SERVERS UNITS ARGUMENT...
    rm -rf runs
    rate=$1 n=$2 w=$3 sv=$4 units=$5
    shift 5
    run "$n" "$w" "$sv" '' "$units" --set train.optimizer=sgd --set train.learning_rate=0 \
        --set "train.table_learning_rate=$rate" "$@"
    whole
    number $report test_logloss
}
none=$(small 0 2 1 1 1 | tail -n 1)
bsp=$(change "$none" "$(small 1e-5 2 1 1 1 | tail -n 1)")
held='--set train.synchronization=ssp --set train.staleness=8 --set train.cache_clocks=4'
for layout in '2 1 1 1' '4 1 2 2 --set data.microbatches=3' '3 2 1 2' \
    '3 1 2 1 --set train.eval_interval_steps=7'; do
    # shellcheck disable=SC2086 # words
    close "$(change "$none" "$(small 1e-5 $layout $held | tail -n 1)")" "$bsp" 2e-3
done

fresh 'each worker clips its own gradient before the sum: as one worker does batch by batch'
clipped() { # RATE RANKS WORKERS SERVERS UNITS ARGUMENT...
    rm -rf runs
    rate=$1 n=$2 w=$3 sv=$4 units=$5
    shift 5
    run "$n" "$w" "$sv" '' "$units" --set train.optimizer=sgd --set train.clip=0.05 \
        --set data.batch=8 --set train.steps=240 --set "train.learning_rate=$rate" "$@"
    [ "$code" = 0 ] || fail "it ended with $code"
    number $report test_logloss
}
none=$(clipped 0 2 1 1 1 | tail -n 1)
one=$(change "$none" "$(clipped 5e-5 2 1 1 1 | tail -n 1)")
for layout in '3 2 1 2' '6 2 2 4 --set data.microbatches=3'; do
    # shellcheck disable=SC2086 # words
    close "$(change "$none" "$(clipped 1e-4 $layout --set train.synchronization=hybrid \
        --set train.staleness=2 | tail -n 1)")" "$one" 5e-3
done
sum=$(change "$none" "$(clipped 1e-4 3 2 1 2 | tail -n 1)")
awk -v a="$sum" -v b="$one" 'BEGIN { exit !(a < 1.1 * b) }' ||
    fail "the sum of two gradients, clipped, moves by $sum, each clipped by $one"
verdict
