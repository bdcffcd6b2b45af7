#!/bin/sh
# A run that was stopped and goes on ends as if never stopped: the same bits on the same layout, to
# rounding on another. A damaged checkpoint gives way to the one before; a finished run trains
# nothing.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census
ckpt=runs/census/checkpoint

# part RANKS "CUTS" "UNITS" STEPS [ARGUMENT...]
part() {
    plan_file 8 "$2" "$3" >plan.json
    hps_n=$1 hps_steps=$4
    shift 4
    train "$hps_n" census.yaml --set schedule.method=file --set schedule.plan=plan.json \
        --set "train.steps=$hps_steps" "$@"
    loss=$(number runs/census/report.json train_loss)
}
quality() {
    heterps eval "$srcdir/inputs/census.yaml" --checkpoint "$1" --json - 2>err
}

part 2 '4' '1 1' 200
whole=$loss
quality $ckpt/step_000000200.h5 >whole.json
rm -rf runs
part 2 '4' '1 1' 100
cp -r runs half
part 2 '4' '1 1' 200
grep -q 'step 100' err || fail 'it did not say that it goes on from step 100'
grep -q 'another layout' err && fail 'the layout is the same'
[ "$loss" = "$whole" ] || fail "$loss is not bit for bit $whole"
quality $ckpt/step_000000200.h5 >parts.json
cmp whole.json parts.json || fail 'the networks differ'
[ "$(number runs/census/report.json steps)" = 200 ] || fail 'the steps do not add up'

echo '-- a finished run, killed as it wrote its report'
touch runs/census/perf.h5.part
part 2 '4' '1 1' 200
[ ! -e runs/census/perf.h5.part ] || fail 'half a file stays'
grep -q 'finished' err || fail 'it did not see that the run is finished'
grep -q 'examples/s' err && fail 'it has a rate, and trained nothing'
[ "$loss" = "$whole" ] || fail 'a finished run reports another loss'

echo '-- a changed deck'
deck=$srcdir/inputs/census.yaml
changed() {
    hps_says=$1
    shift
    expect 65 "the deck was changed: the run began with $hps_says" heterps train "$deck" "$@"
}
changed 'train.learning_rate 0.05, now it is 0.7;' --set train.learning_rate=0.7
changed 'model.h1.activation relu, now it is tanh' --set model.h1.activation=tanh
changed 'model.ids.init_std nothing, now it is 0.5' --set model.ids.init_std=0.5
changed 'data.microbatches 4, now it is 2' --set data.microbatches=2
expect 0 '' heterps train "$deck" --restart $ckpt/step_000000200.h5 --set train.learning_rate=0.7 \
    --set train.steps=201
expect 0 'going on' heterps train "$deck" --set train.steps=202 \
    --set train.learning_rate=7e-1 --set train.l2=0.0 \
    --set data.prefetch=3 --set checkpoint.keep=3 --set schedule.seed=7 --set train.epochs=9 \
    --set model.h1.width=+064 --set model.wide.dim=01

echo '-- on other ranks, on another plan'
for layout in '1||1' '3||3' '3|5|2 1' '4|1 6|1 2 1'; do
    rm -rf runs
    cp -r half runs
    part "${layout%%|*}" "$(echo "$layout" | cut -d'|' -f2)" "${layout##*|}" 200
    close "$loss" "$whole" 1e-4
    grep -q 'another layout than until step 100: layers 0-3 on 1 cpu .*; layers 4-7 on 1 cpu' err ||
        fail 'it does not say that the layout is another'
    grep -q '^until step 100 planned by file, in another layout' out ||
        fail 'the report does not say that the layout was another'
done

echo '-- a damaged newest file'
rm -rf runs
part 2 '' 2 100 --set checkpoint.interval_steps=50
[ -f $ckpt/step_000000050.h5 ] || fail 'no checkpoint at step 50'
for how in truncate flip; do
    cp $ckpt/step_000000100.h5 keep.h5
    size=$(wc -c <keep.h5)
    if [ $how = truncate ]; then
        head -c $((size / 2)) keep.h5 >$ckpt/step_000000100.h5
    else
        printf 'XXXXXXXX' |
            dd of=$ckpt/step_000000100.h5 bs=1 seek=$((size - 64)) conv=notrunc 2>dd.log
    fi
    part 2 '' 2 100 --set checkpoint.interval_steps=50
    grep -q 'step_000000100.h5.*damaged' err || fail "the damaged file ($how) is not named"
    grep -q 'going on from .*step_000000050' err || fail "the one before was not used ($how)"
done
for f in "$ckpt"/*.h5; do echo damaged >"$f"; done
expect 65 'no whole checkpoint' ranks 2 train "$srcdir/inputs/census.yaml" --set train.steps=100

echo '-- one that is named'
expect 66 'none.h5: it is neither auto nor never' ranks 2 train "$srcdir/inputs/census.yaml" \
    --restart none.h5
expect 65 'step_000000100.h5' ranks 2 train "$srcdir/inputs/census.yaml" \
    --restart $ckpt/step_000000100.h5
grep -q 'before it' err && fail 'another than the named one was wanted'
rm -rf runs
part 2 '' 2 110 --restart half/census/checkpoint/step_000000100.h5
grep -q 'going on from half/.*step_000000100.h5' err || fail 'the named one was not used'

echo '-- half a file of a run that was killed'
echo half >$ckpt/step_000000070.h5.part
part 2 '' 2 112
[ -z "$(find $ckpt -name '*.part')" ] || fail 'half a file stayed'

echo '-- never: from step 0; the old files go once the first new one is whole'
part 2 '' 2 20 --restart never
[ "$(ls $ckpt)" = step_000000020.h5 ] || fail "old checkpoints stayed: $(ls $ckpt)"

echo '-- ranks of a host update a share of the dense weights each, with their states'
rm -rf runs
part 3 '' 3 60 --set train.optimizer=adam
whole=$loss
quality $ckpt/step_000000060.h5 >whole.json
rm -rf runs
part 3 '' 3 30 --set train.optimizer=adam
part 3 '' 3 60 --set train.optimizer=adam
[ "$loss" = "$whole" ] || fail "$loss is not bit for bit $whole"
quality $ckpt/step_000000060.h5 >parts.json
cmp whole.json parts.json || fail 'the networks differ'

echo '-- the plan of a start on other ranks, which had nothing left to do, is not that of the run'
rm -rf runs
for n in 2 3 2; do
    expect 0 '' ranks $n train "$srcdir/inputs/census.yaml" --set train.steps=20
    grep -q 'the plan is kept' err && fail "on $n ranks the plan of others was kept"
done
expect 0 'the plan is kept' ranks 2 train "$srcdir/inputs/census.yaml" --set train.steps=20

echo '-- a checkpoint of another network is refused, not overwritten'
expect 65 'does not fit the deck' ranks 2 train "$srcdir/inputs/census.yaml" --set model.h1.width=32
verdict
