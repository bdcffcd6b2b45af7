#!/bin/sh
# Every deck that ships trains on data of its own shape, and cut in the middle it has the loss of
# one rank; so has a network whose layers look at the whole micro-batch, on any ranks, also where
# some have no row of it, and over a restart.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

# data NAME ROWS: data/NAME_train.h5 of the deck's shape, with few ids a slot
data() {
    mkdir -p data
    buckets=300
    [ "$1" != din ] || buckets='[300, 20, 300, 20]'
    expect 0 '' heterps generate "$srcdir/inputs/$1.yaml" --rows "$2" \
        --output "data/$1_train.h5" --set "generate.buckets=$buckets"
}

# loss NAME RANKS LAYERS "CUTS" "UNITS" [ARGUMENT...]: the loss of the deck's last step is in $loss
loss() {
    plan_file "$3" "$4" "$5" >plan.json
    hps_name=$1 hps_n=$2
    shift 5
    rm -rf "runs/$hps_name"
    train "$hps_n" "$hps_name.yaml" --set schedule.method=file --set schedule.plan=plan.json \
        --set data.batch=96 --set data.microbatches=3 --set train.epochs=0 "$@"
    loss=$(number "runs/$hps_name/report.json" train_loss)
}

# same NAME LAYERS CUT [ARGUMENT...]: on two ranks, cut there, as on one
same() {
    hps_deck_name=$1 hps_layers=$2 hps_cut=$3
    shift 3
    echo "-- $hps_deck_name"
    data "$hps_deck_name" 400
    loss "$hps_deck_name" 1 "$hps_layers" '' 1 --set train.steps=6 "$@"
    one=$loss
    mv "runs/$hps_deck_name/profile.json" profile.json
    loss "$hps_deck_name" 2 "$hps_layers" "$hps_cut" '1 1' --set train.steps=6 \
        --set schedule.profile=profile.json "$@"
    close "$loss" "$one" 1e-5
}

same dlrm 10 5
same dcn 15 7 --set model.ids.dim=8 --set model.b3.width=8 --set model.x1.rank=5 \
    --set model.x2.rank=5 --set model.x3.rank=0
same deepfm 15 6
same wide_deep 10 4
same bags 4 1
# one reader of the table, one micro-batch: gradients are made where they are applied
for clip in 0 0.05; do
    rows="--set train.steps=6 --set train.clip=$clip --set model.ids.exchange=rows"
    # shellcheck disable=SC2086 # several words
    loss bags 1 4 '' 1 $rows
    one=$loss
    # shellcheck disable=SC2086
    loss bags 1 4 '' 1 $rows --set data.microbatches=1
    close "$loss" "$one" 1e-5
done
# its statistics are those of the micro-batch, their averages are tested and saved
test='--set train.steps=8 --set data.test=data/din_train.h5'
# shellcheck disable=SC2086 # several words
same din 12 4 $test
logloss=$(number runs/din/report.json test_logloss)
# shellcheck disable=SC2086
loss din 3 12 '' 3 $test --set train.steps=4 --set schedule.profile=profile.json
plan_file 12 6 '1 1' >plan.json
# shellcheck disable=SC2086
train 2 din.yaml --set schedule.method=file --set schedule.plan=plan.json --set data.batch=96 \
    --set data.microbatches=3 --set train.epochs=0 --set schedule.profile=profile.json $test
grep -q 'step 4' err || fail 'it did not go on from step 4'
close "$(number runs/din/report.json train_loss)" "$one" 1e-5
close "$(number runs/din/report.json test_logloss)" "$logloss" 1e-5
expect 0 '' heterps eval "$srcdir/inputs/din.yaml" --set data.batch=96 --json eval.json \
    --checkpoint runs/din/checkpoint/step_000000008.h5 --set data.test=data/din_train.h5
close "$(number eval.json logloss)" "$logloss" 1e-5

echo '-- micro-batches of two rows on three ranks'
# adagrad's first step goes by the sign of a gradient, also where it is only rounding
few='--set train.steps=8 --set train.optimizer=sgd --set data.batch=5 --set data.microbatches=2'
# shellcheck disable=SC2086
loss din 1 12 '' 1 $few
one=$loss
# shellcheck disable=SC2086
loss din 3 12 '' 3 $few
close "$loss" "$one" 1e-5

echo '-- what attention and batch norm cannot take'
rm -rf runs
expect 65 "layer 'norm' needs micro-batches of at least 2 examples" ranks 2 train \
    "$srcdir/inputs/din.yaml" --set data.batch=5 --set data.microbatches=3
expect 65 "example [0-9]+ has no id in slot .C3.: layer items" ranks 2 train \
    "$srcdir/inputs/din.yaml" --set model.items.empty=refuse --set train.steps=2
verdict
