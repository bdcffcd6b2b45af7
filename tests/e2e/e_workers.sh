#!/bin/sh
# Several workers under bsp: the loss is that of one worker with as large a batch, whatever the
# ranks, stages and servers, for layers that draw, for statistics of a micro-batch and for rates
# that decay; the same layout gives the same bits. A checkpoint goes on with other workers. What
# cannot be shared is refused.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

bags 910
sed -e 's/batch: 60, microbatches: 2/batch: 80, microbatches: 2/' -e '/name: h1/i\
  - {name: norm, type: batch_norm}' -e '/name: deep/i\
  - {name: drop, type: dropout, rate: 0.3}' bags.yaml >norms.yaml
sed -e '/name: wide/d; /name: out/d; /type: logistic/d' -e '/name: deep/a\
  - {name: out, type: fc, width: 4}\
  - {name: loss, type: nce, slot: 4, negatives: 3}' bags.yaml >nce.yaml

# go RANKS ARGUMENT...: trains $deck in runs/bags
go() {
    n=$1
    shift
    ranks "$n" train "$deck" --set train.optimizer=adam --set train.learning_rate=0.01 \
        --set train.warmup_steps=12 --set train.decay=cosine --set train.steps=48 "$@"
}

# run RANKS WORKERS SERVERS "CUTS" "UNITS" [ARGUMENT...]: batch and micro-batches of all together
run() {
    plan_file "$layers" "$4" "$5" '[]' "$2" >plan.json
    n=$1 workers=$2 servers=$3
    shift 5
    # shellcheck disable=SC2046 # words
    expect 0 '' go "$n" --set schedule.method=file --set schedule.plan=plan.json \
        $(profile_of "$deck.json") \
        --set "train.workers=$workers" --set "data.batch=$((batch / workers))" \
        --set "data.microbatches=$((12 / workers))" --set "storage.servers=$servers" \
        --set "train.steps=$((16 * workers))" --set "train.warmup_steps=$((4 * workers))" "$@"
    keep_profile "$deck.json" runs/bags
    loss=$(number runs/bags/report.json train_loss)
    test=$(number runs/bags/report.json test_logloss)
}
# same WHAT RANKS WORKERS SERVERS CUTS UNITS: as one worker, to rounding
same() {
    echo "-- $1"
    shift
    rm -rf runs
    run "$@"
    close "$loss" "$one" 1e-4
    [ "$deck" = nce.yaml ] || close "$test" "$one_test" 1e-4
}
one() {
    rm -rf runs
    run 1 1 0 '' 1 "$@"
    one=$loss one_test=$test
}

deck=bags.yaml layers=8 batch=120
one
same 'two workers of a rank' 2 2 0 '' 2
same 'two workers of two stages' 4 2 0 '1' '2 2'
same 'two workers of two ranks' 4 2 0 '' 4
same 'two workers, a server' 3 2 1 '' 2
same 'two workers, two servers' 4 2 2 '' 2
# the last batches of three workers are fewer than those of an epoch in thirds
one --set train.decay=none
same 'three workers of a rank' 3 3 0 '' 3 --set train.decay=none --set train.steps=46
one --set train.clip=0.05
same 'clipped' 4 2 0 '4' '2 2' --set train.clip=0.05
HETERPS_SHARED_MEMORY=0
export HETERPS_SHARED_MEMORY
same 'by messages' 3 2 1 '' 2 --set train.clip=0.05
unset HETERPS_SHARED_MEMORY

echo '-- statistics of micro-batches, draws'
# whole batches alone: a short one is cut in other ways
deck=norms.yaml layers=10 batch=96
expect 0 '' "$HETERPS" generate bags.yaml --rows 960 --output bags.h5
one
same 'two workers' 2 2 0 '' 2
same 'three workers' 3 3 0 '' 3
same 'two workers of two ranks' 4 2 0 '' 4
same 'two workers of two stages' 4 2 0 '4' '2 2'
deck=nce.yaml layers=7
one
same 'negatives' 4 2 0 '2' '2 2'

echo '-- the same layout twice: the same bits'
deck=norms.yaml layers=10
rm -rf runs
run 4 2 0 '4' '2 2'
first=$loss
rm -rf runs
run 4 2 0 '4' '2 2'
[ "$loss" = "$first" ] || fail "$loss and $first are not the same bits"

echo '-- a stop, and on: the same bits; and with other workers'
rm -rf runs
run 4 2 0 '4' '2 2' --set train.steps=14 --set train.decay_steps=20
run 4 2 0 '4' '2 2' --set train.decay_steps=20
stopped=$loss
rm -rf runs
run 4 2 0 '4' '2 2' --set train.decay_steps=20
[ "$loss" = "$stopped" ] || fail "$loss is not $stopped after a stop"
rm -rf runs
run 4 2 0 '4' '2 2' --set train.steps=14 --set train.decay_steps=20
batch=48
run 2 1 0 '' 2 --set train.steps=20 --set data.microbatches=6 --set train.decay_steps=20 \
    --set train.warmup_steps=8
grep -q 'going on from .*step 14' err || fail 'it did not go on'
grep -q '2 workers until step 14, 1 now' err || fail 'it does not say that the workers changed'

echo '-- refused'
plan_file 10 '4' '2 1' '[]' 2 >plan.json
expect 65 '1 units of stage 1 cannot be divided among 2 workers' go 3 \
    --set schedule.method=file --set schedule.plan=plan.json --set train.workers=2 \
    --set run.directory=runs/no
expect 65 'workers' go 1 --set train.workers=0 --set run.directory=runs/no
expect 65 'no type has a unit for each worker .2.' go 1 --set train.workers=2 \
    --set run.directory=runs/no
verdict
