#!/bin/sh
# Training on several files is training on the one that they were cut from, bit for bit where they
# come in order; shuffled, as one or each in itself, a restart goes on bit for bit; what does not
# fit together is told by name.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
mkdir data
gzip -dc "$srcdir/inputs/census/adult.csv.gz" >all.csv
schema="--schema $srcdir/inputs/census.schema.yaml"
# shellcheck disable=SC2086 # two words
heterps import csv $schema --output data/census_train.h5 all.csv >out 2>err || fail "$(cat err)"
i=0
for lines in 2,9001 9002,9100 9101,40000; do
    { head -n 1 all.csv && sed -n "${lines}p" all.csv; } >part.csv
    # shellcheck disable=SC2086
    heterps import csv $schema --scaling data/census_train.h5 --output data/day_$i.h5 part.csv \
        >out 2>err || fail "$(cat err)"
    i=$((i + 1))
done

# run DATA SHUFFLE STEPS [ARGUMENT...]: the loss of a short run
run() {
    files=$1 shuffle=$2 steps=$3
    shift 3
    train 2 census.yaml --set "data.train=$files" --set data.test= --set "data.shuffle=$shuffle" \
        --set "train.steps=$steps" --set data.batch=2048 --set schedule.method=single:cpu "$@"
    loss=$(number runs/census/report.json train_loss)
}

run data/census_train.h5 false 20
whole=$loss
rm -rf runs
run '[data/day_0.h5, "data/day_[1-2].h5"]' false 20
[ "$loss" = "$whole" ] || fail "three files in order give $loss, one gives $whole"
rm -rf runs
for how in mixed in_turn; do
    run 'data/day_*.h5' true 20 --set data.files=$how
    whole=$loss
    rm -rf runs
    run 'data/day_*.h5' true 9 --set data.files=$how
    run 'data/day_*.h5' true 20 --set data.files=$how
    grep -q 'step 9' err || fail 'it did not say that it goes on from step 9'
    [ "$loss" = "$whole" ] || fail "$how, with a restart: $loss is not bit for bit $whole"
    [ $how = in_turn ] || rm -rf runs
done
deck=$srcdir/inputs/census.yaml
ckpt=runs/census/checkpoint/step_000000020.h5
expect 65 'data.shuffle' ranks 2 train "$deck" --restart $ckpt --set 'data.train=[data/day_2.h5,
    data/day_1.h5, data/day_0.h5]' --set data.test= --set data.batch=2048 --set data.files=in_turn
expect 0 '' heterps eval "$deck" --checkpoint $ckpt --set 'data.train=data/day_*.h5' \
    --set 'data.test=[data/day_0.h5, data/day_1.h5]' --set data.batch=2048 \
    --set data.files=in_turn --json eval.json
[ "$(number eval.json examples)" = 9099 ] || fail "$(number eval.json examples) were judged"
expect 64 'cannot be written too' heterps eval "$deck" --checkpoint $ckpt --json data/day_1.h5 \
    --set 'data.train=data/day_*.h5' --set 'data.test=data/day_1.h5' --set data.batch=2048 \
    --set data.files=in_turn
expect 0 '' heterps train "$deck" --check --set 'data.train=data/day_*.h5' --set data.test=
shows 'while a checkpoint is written, a unit of stage 0 keeps at most [0-9.e-]* GB of old rows'
expect 65 'train.*names no dataset' heterps train "$deck" --check --set 'data.train=[]'
expect 66 'data/day_7.h5' heterps train "$deck" --check --set 'data.train=[data/day_0.h5,
    data/day_7.h5]'
expect 66 'data/week_\*.h5: no file' heterps train "$deck" --check \
    --set 'data.train=data/week_*.h5'
# shellcheck disable=SC2086
heterps import csv $schema --output data/other.h5 part.csv >out 2>err || fail "$(cat err)"
expect 65 'day_0.h5 and data/other.h5: their dense features are scaled by other constants' \
    heterps train "$deck" --check --set 'data.train=[data/day_0.h5, data/other.h5]'
expect 0 'warning: .* scaled by other constants: import the test file with --scaling' \
    heterps train "$deck" --check --set data.train=data/day_0.h5 --set data.test=data/other.h5
# shellcheck disable=SC2086
heterps import csv $schema --scaling data/day_0.h5 --set 'label.equals=<=50K' \
    --output data/not.h5 part.csv >out 2>err || fail "$(cat err)"
expect 65 'their labels are made in other ways' heterps train "$deck" --check \
    --set 'data.train=[data/day_0.h5, data/not.h5]' --set data.test=
expect 0 'warning: the labels of .* are made in other ways' heterps train "$deck" --check \
    --set data.train=data/day_0.h5 --set data.test=data/not.h5
verdict
