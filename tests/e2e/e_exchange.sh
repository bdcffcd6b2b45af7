#!/bin/sh
# Owners send the sums of bags, or rows, and one alone makes them for itself: the loss is that of
# one rank with rows on any layout, by memory that
# ranks share and by messages, on threads, when going on from a checkpoint and in an evaluation. A
# wish that cannot be met is refused before anything begins.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

bags 900

run() { # N NAME ARGUMENT...: on N ranks in runs/NAME
    n=$1 name=$2
    shift 2
    # shellcheck disable=SC2046 # words
    expect 0 '' ranks "$n" train bags.yaml --set schedule.method=single:cpu \
        --set "run.directory=runs/$name" $(profile_of profile.json) "$@"
    keep_profile profile.json "runs/$name"
}
same() { # NAME: its losses are those of one rank
    close "$(number "runs/$1/report.json" train_loss)" "$loss" 1e-4
    close "$(number "runs/$1/report.json" test_loss)" "$test" 1e-4
}
sends() { # YES|NO: did the last run say that sums are sent?
    if [ "$1" = yes ]; then
        grep -q "table 'rows': its [0-9]* owners send sums of bags" out err || fail 'rows are sent'
        grep -q "table 'ones': its" out err || fail "rows of 'ones' are sent"
    elif grep -q 'owners send sums' out err; then
        fail 'sums are sent'
    fi
    ! grep -q "table 'one'" out err || fail "sums are sent of 'one'"
}
bags='--set model.ids.exchange=bags --set model.wide.exchange=bags'

run 1 alone
sends no
loss=$(number runs/alone/report.json train_loss) test=$(number runs/alone/report.json test_loss)
# shellcheck disable=SC2086 # words
for n in 1 2 3 4; do
    echo "-- sums on $n ranks; by messages; as on hosts of two ranks, the last one may have fewer"
    run "$n" "sums$n" $bags
    same "sums$n"
    [ "$n" -eq 1 ] || sends yes
    HETERPS_SHARED_MEMORY=0
    export HETERPS_SHARED_MEMORY
    run "$n" "sent$n" $bags
    unset HETERPS_SHARED_MEMORY
    same "sent$n"
    HETERPS_SHARED_RANKS=2
    export HETERPS_SHARED_RANKS
    run "$n" "twos$n" $bags
    unset HETERPS_SHARED_RANKS
    same "twos$n"
done
run 3 rows
same rows
sends no

echo '-- threads, a line of stages, an odd batch'
# shellcheck disable=SC2086 # words
{
    run 2 threads $bags --set run.threads=2
    same threads
    large='--set data.batch=900 --set data.microbatches=1'      # ids enough for several parts
    run 1 large1 $large
    for threads in 1 3; do
        run 1 "alone$threads" $large $bags --set run.threads=$threads
        close "$(number runs/alone$threads/report.json train_loss)" \
            "$(number runs/large1/report.json train_loss)" 1e-4
        sends no
    done
    run 2 large2 $large $bags --set run.threads=3
    close "$(number runs/large2/report.json train_loss)" \
        "$(number runs/large1/report.json train_loss)" 1e-4
    plan_file 8 3 '2 1' >plan.json
    expect 0 '' ranks 3 train bags.yaml --set schedule.method=file --set schedule.plan=plan.json \
        --set run.directory=runs/line $bags
    same line
    sends yes
    run 1 odd1 --set data.batch=7 --set data.microbatches=3
    run 3 odd3 --set data.batch=7 --set data.microbatches=3 $bags
    close "$(number runs/odd3/report.json train_loss)" \
        "$(number runs/odd1/report.json train_loss)" 1e-4
}

echo '-- the same layout twice: the same bits; going on; an evaluation'
# shellcheck disable=SC2086 # words
{
    run 2 again $bags
    [ "$(number runs/again/report.json train_loss)" = \
        "$(number runs/sums2/report.json train_loss)" ] || fail 'other bits'
    run 2 half $bags --set train.steps=6
    run 3 half $bags
    same half
    expect 0 '' ranks 2 eval bags.yaml --checkpoint runs/sums3/checkpoint/step_000000012.h5 \
        --json two.json $bags
    expect 0 '' ranks 1 eval bags.yaml --checkpoint runs/sums3/checkpoint/step_000000012.h5 \
        --json one.json
    close "$(number two.json loss)" "$(number one.json loss)" 1e-5
}

echo '-- wishes that cannot be met'
refuse() { # PATTERN ARGUMENT...
    hps_says=$1
    shift
    expect 65 "$hps_says" ranks 2 train bags.yaml --check "$@"
    [ "$(grep -c 'error: ' err)" -eq 1 ] || fail 'not one error'
}
refuse "ids.exchange.*'ids'.*mean" --set model.ids.exchange=bags --set model.ids.pooling=mean
refuse 'exchange.*sums' --set model.ids.exchange=sums
refuse "one.exchange.*'ids'.*'one'.*same table" --set model.ids.exchange=bags \
    --set model.one.table=rows --set model.one.dim=4 --set 'model.one.slots=[3]'
verdict
