#!/bin/sh
# Two stages on the same units train as if each had its own: the same loss as one rank, to rounding,
# the same bits twice and after a restart; from a checkpoint with shared units to one without, and
# back; units are paid and counted once; the time of a rank counts for the stage it was spent on.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census

# run RANKS "CUTS" "UNITS" SHARE [ARGUMENT...]: 40 steps; the loss is in $loss
run() {
    plan=plan_$(echo "$2$3$4" | tr -c '0-9\n' _).json
    plan_file 8 "$2" "$3" "$4" >"$plan"
    hps_n=$1
    shift 4
    train "$hps_n" census.yaml --set schedule.method=file --set "schedule.plan=$plan" \
        --set "schedule.profile=$profile" --set train.steps=40 --set data.test= "$@"
    loss=$(number runs/census/report.json train_loss)
}

# same WHAT RANKS CUTS UNITS SHARE [ARGUMENT...]: as one rank, to rounding
same() {
    echo "-- $1"
    shift
    rm -rf runs
    run "$@"
    close "$loss" "$one" 1e-4
}

profile=
run 1 '' 1 '[]'
one=$loss
cp runs/census/profile.json .
profile=profile.json
same 'two stages on one rank' 1 4 '1 1' '[[0, 1]]'
same 'neighbours on two ranks' 2 4 '2 2' '[[0, 1]]'
same 'the first and the last on one rank' 2 '3 5' '1 1 1' '[[0, 2]]'
[ "$(number runs/census/report.json units)" = 2 ] || fail 'shared units are counted twice'
whole=$loss
same 'the first and the last on two ranks' 3 '3 5' '2 1 2' '[[0, 2]]'
same 'two pairs, one inside the other' 2 '1 4 6' '1 1 1 1' '[[0, 3], [1, 2]]'
clip='--set train.clip=0.5 --set data.microbatches=6'
rm -rf runs
# shellcheck disable=SC2086
run 1 '' 1 '[]' $clip
straight=$one one=$loss
# shellcheck disable=SC2086
same 'two pairs in turn, a rank of its own' 4 '1 3 4 6' '2 1 2 1 1' '[[0, 2], [1, 3]]' $clip
one=$straight

echo '-- a table that both stages of the pair read'
sed -e 's/name: ids,.*dim: 8/name: ids, type: embedding, slots: all, table: t, dim: 2/' \
    -e 's/name: wide,.*dim: 1/name: wide, type: embedding, slots: all, table: t, dim: 2/' \
    -e 's/inputs: \[deep, wide\]/inputs: [deep, one]/' \
    -e 's/^\( *\)- {name: out,/\1- {name: one, type: fc, width: 1}\n&/' \
    "$srcdir/inputs/census.yaml" >both.yaml
# read_by_both RANKS CUTS UNITS SHARE
read_by_both() {
    plan_file 9 "$2" "$3" "$4" >both.json
    rm -rf runs
    expect 0 '' ranks "$1" train both.yaml --set schedule.method=file \
        --set schedule.plan=both.json --set train.steps=40 --set data.test=
    loss=$(number runs/census/report.json train_loss)
}
read_by_both 1 '' 1 '[]'
one=$loss
read_by_both 3 '3 5' '2 1 2' '[[0, 2]]'
close "$loss" "$one" 1e-4
first=$loss
read_by_both 3 '3 5' '2 1 2' '[[0, 2]]'
[ "$first" = "$loss" ] || fail "$first and $loss are not the same bits"
one=$straight

echo '-- the same layout twice, evaluated amid training and behind: the same bits; as one rank'
# tested RANKS CUTS UNITS SHARE: the results on training and test data are in $both
tested() {
    rm -rf runs
    run "$@" --set data.test=data/census_test.h5 --set train.eval_interval_steps=15 \
        --set perf.trace=true
    logloss=$(number runs/census/report.json test_logloss)
    both="$loss $logloss"
}
tested 1 '' 1 '[]'
alone=$logloss
tested 3 '3 5' '2 1 2' '[[0, 2]]'
first=$both
tested 3 '3 5' '2 1 2' '[[0, 2]]'
[ "$first" = "$both" ] || fail "$first and $both are not the same bits"
close "$loss" "$one" 1e-4
close "$logloss" "$alone" 1e-4

echo '-- the time of shared ranks is told apart'
heterps report runs/census --trace trace.json >out 2>err
for stage in 0 1 2; do
    grep -q "\"forward\".*\"pid\":$stage," trace.json || fail "no forward of stage $stage"
    grep -q "^ *$stage .*[1-9]" out || fail "stage $stage is not in the table"
done

echo '-- from shared units to units of their own and back'
rm -rf runs
run 2 '3 5' '1 1 1' '[[0, 2]]' --set train.steps=20
cp -r runs half
run 2 '3 5' '1 1 1' '[[0, 2]]'
[ "$loss" = "$whole" ] || fail "20 + 20 steps end at $loss, 40 at $whole"
rm -rf runs
mv half runs
run 3 '3 5' '1 1 1' '[]' --set train.steps=30
run 3 '2 5' '1 2 1' '[[0, 2]]'
close "$loss" "$one" 1e-4

echo '-- what cannot be shared'
# wrong PATTERN CUTS UNITS SHARE
wrong() {
    plan_file 8 "$2" "$3" "$4" >plan.json
    expect 65 "$1" ranks 3 train "$srcdir/inputs/census.yaml" --check \
        --set schedule.method=file --set schedule.plan=plan.json
}
wrong 'share' '3 5' '1 1 1' '[[0, 3]]'
wrong 'share' '3 5' '1 1 1' '[[0, 0]]'
wrong 'share.*different units' '3 5' '1 1 2' '[[0, 2]]'
wrong 'share.*already' '3 5' '1 1 1' '[[0, 2], [1, 2]]'
verdict
