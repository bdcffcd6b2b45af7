#!/bin/sh
# The loss after 100 steps is the same on any number of ranks and any cut into stages, to rounding;
# two runs on one layout give the same bits. Whatever shape a stage has, it works.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census

# loss RANKS "CUTS" "UNITS" [ARGUMENT...]: trains and prints nothing; the loss is in $loss
loss() {
    plan_file 8 "$2" "$3" >plan.json
    hps_n=$1
    shift 3
    rm -rf runs
    # shellcheck disable=SC2046 # words
    train "$hps_n" census.yaml --set schedule.method=file --set schedule.plan=plan.json \
        --set train.steps=100 $(profile_of profile.json) "$@"
    keep_profile profile.json runs/census
    loss=$(number runs/census/report.json train_loss)
}

# same WHAT RANKS CUTS UNITS: as one rank, to rounding
same() {
    echo "-- $1"
    shift
    loss "$@"
    close "$loss" "$one" 1e-4
}

loss 1 '' 1
one=$loss
same 'two ranks' 2 '' 2
same 'three ranks' 3 '' 3
same 'four ranks' 4 '' 4
same 'an embedding-only stage of one rank, a stage of two' 3 '1' '1 2'
same 'two ranks, then one' 3 '5' '2 1'
same 'a stage without weights between two others' 3 '1 3' '1 1 1'
same 'three stages, the middle one of two ranks' 4 '2 6' '1 2 1'
same 'the loss alone on three ranks' 4 '7' '1 3'
same 'a rank left out' 4 '3' '1 2'
grep -q 'left out' out || fail 'the report does not name the rank that is left out'

echo '-- the same layout twice: the same bits'
loss 3 '5' '2 1'
first=$loss
heterps eval "$srcdir/inputs/census.yaml" --checkpoint runs/census/checkpoint/step_000000100.h5 \
    --json - >first.json 2>err
loss 3 '5' '2 1'
heterps eval "$srcdir/inputs/census.yaml" --checkpoint runs/census/checkpoint/step_000000100.h5 \
    --json - >second.json 2>err
[ "$first" = "$loss" ] || fail "$first and $loss are not the same bits"
cmp first.json second.json || fail 'the two networks are not the same'

echo '-- fewer rows than ranks; a last batch of one example'
odd='--set data.batch=3 --set data.microbatches=2'
# shellcheck disable=SC2086
loss 1 '' 1 $odd
one=$loss
# shellcheck disable=SC2086
same 'three rows in two parts on two ranks' 2 '' 2 $odd
# shellcheck disable=SC2086
same 'three rows in two stages' 2 '4' '1 1' $odd
last='--set data.batch=26048 --set data.microbatches=3 --set train.steps=2'
# shellcheck disable=SC2086
loss 1 '' 1 $last
one=$loss
# shellcheck disable=SC2086
same 'an epoch whose last batch is one example' 3 '3' '1 2' $last
verdict
