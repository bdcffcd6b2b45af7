#!/bin/sh
# A plan made from a profile that was wrong is left for a better one at a checkpoint, in the same
# process: the losses are those of a run that kept its plan, the report says which plan was used
# when; a signal amid the change leaves a checkpoint. (How much faster it is:
# perf/scripts/replan.sh.)
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census
report=runs/census_mixed/report.json
mixed=$srcdir/inputs/census_mixed.yaml

# deck SLOW >FILE: census_mixed with these ranks emulated four times slower,
# small steps, and gentle ones, since rounding grows where they are not
deck() {
    sed "s/ranks: \"1-2\"/ranks: \"$1\"/; s/rate: 0.05/rate: 0.01/
        s/batch: 1024, microbatches: 8/batch: 256, microbatches: 4/" "$mixed"
}
deck 1 >two.yaml
deck 1-2 >three.yaml
deck 1-3 >four.yaml
deck 1 | sed '/emulate/d' >one.yaml

of() { plans_of $report "$1"; }
nth() { of "$2" | sed -n "$1p"; }

echo '-- a profile that promises much of all, and most of the slow ranks'
expect 0 '' ranks 2 train two.yaml --set train.steps=2
awk '/"(oct|forward|once|sync|recv|send|unsure)": \[/ {
        print; key = $1; getline; getline
        print key ~ /oct/ ? "1e-7,\n4e-7" : "0,\n0"; next
    }
    { print }' runs/census_mixed/profile.json >wrong.json
rm -rf runs
expect 0 '' ranks 1 train one.yaml --set train.steps=84
loss=$(number $report train_loss)
[ "$(of first_step)" = 1 ] || fail 'one plan is not in the list of plans'

replan='--set schedule.replan=true --set schedule.profile=wrong.json
    --set checkpoint.interval_steps=14'

# changes RANKS DECK ARGUMENT...: it begins badly, changes, and ends as a run that did not
changes() {
    hps_ranks=$1 hps_deck=$2
    shift 2
    rm -rf runs
    # shellcheck disable=SC2086
    expect 0 'the plan changes' ranks "$hps_ranks" train "$hps_deck" $replan "$@" \
        --set train.steps=84
    close "$(number $report train_loss)" "$loss" 1e-4
    last=$(nth 1 last_step)
    [ "$(nth 1 first_step)" = 1 ] && [ $((last % 14)) -eq 0 ] &&
        [ "$(nth 2 first_step)" = $((last + 1)) ] ||
        fail "the report does not say which plan was used when: $(of last_step | xargs)"
    close "$(of seconds | awk '{ s += $1 } END { printf "%.17g", s }')" \
        "$(number $report seconds)" 1e-9
    close "$(of usd | awk '{ s += $1 } END { printf "%.17g", s }')" "$(number $report usd)" 1e-9
    close "$(of examples | awk '{ s += $1 } END { printf "%d", s }')" \
        "$(number $report examples)" 0
    heterps report runs/census_mixed >table 2>err && grep -q '^plans: ' table ||
        fail 'the table does not show the plans'
}

echo '-- on 2, 3, 4 ranks; a rank that was left out comes in'
changes 2 two.yaml --set schedule.throughput_limit=1e6
changes 3 three.yaml
changes 4 four.yaml --set train.eval_interval_steps=14

echo '-- between two clocks of workers that do not wait for each other'
apart() { # RANKS DECK WORKERS
    rm -rf apart
    # shellcheck disable=SC2086
    expect 0 'the plan changes' ranks "$1" train "$2" $replan --set train.steps=84 \
        --set storage.servers=1 --set storage.server_type=fast --set train.synchronization=asp \
        --set "train.workers=$3" --set schedule.throughput_limit=1e6 --set run.directory=apart
    [ "$(number apart/report.json examples)" = 21504 ] || fail 'a batch was lost, or done twice'
    [ "$(plans_of apart/report.json last_step | tail -n 1)" = 84 ] || fail 'plans lack steps'
}
apart 3 two.yaml 1
close "$(number apart/report.json train_loss)" "$loss" 1e-4
apart 5 three.yaml 2
close "$(number apart/report.json test_auc)" "$(number $report test_auc)" 0.01

echo '-- the run goes on from a checkpoint of the second plan'
cp runs/census_mixed/plan.json before.json
rm runs/census_mixed/checkpoint/step_000000084.h5
# shellcheck disable=SC2086
expect 0 'the plan is kept' ranks 4 train four.yaml $replan --set train.steps=84
close "$(number $report train_loss)" "$loss" 1e-4
cmp before.json runs/census_mixed/plan.json || fail 'plan.json is another'
[ "$(of first_step | head -n 1)" = 1 ] || fail 'the plans of the start before are not in the report'

echo '-- a plan that is not worse by the margin stays'
rm -rf runs
# shellcheck disable=SC2086
expect 0 'it stays' ranks 2 train two.yaml $replan --set schedule.replan_margin=1000 \
    --set train.steps=20
[ "$(of first_step)" = 1 ] || fail 'the plan changed'

echo '-- a signal amid the change'
rm -rf runs
: >err
# shellcheck disable=SC2086
"$MPIEXEC" $MPIEXEC_FLAGS -n 3 "$HETERPS" train three.yaml $replan --set train.epochs=0 \
    --set train.steps=1000000 >out 2>err &
job=$!
timeout 60 tail -n +1 -f err --pid=$job | grep -q -m 1 'the plan changes' || fail 'no change'
pkill -TERM -P $job
wait $job
rc=$?
[ "$(number runs/census_mixed/status.json exit_code)" = 75 ] || fail "ended with $rc, not with 75"
# the signal may come many steps behind the line
steps=$(($(number runs/census_mixed/status.json checkpoint_step) + 14))
# shellcheck disable=SC2086
expect 0 'going on from' ranks 3 train three.yaml $replan --set train.epochs=0 \
    --set train.steps=$steps
expect 0 '' ranks 1 train one.yaml --set train.epochs=0 --set train.steps=$steps \
    --set run.directory=runs/undisturbed
close "$(number $report train_loss)" "$(number runs/undisturbed/report.json train_loss)" 1e-4

echo '-- what cannot be'
expect 65 'checkpoint.interval' heterps train one.yaml --set schedule.replan=true --check \
    --set checkpoint.interval_seconds=0
expect 65 'schedule.replan' heterps train one.yaml --set schedule.replan=true \
    --set schedule.method=file --set schedule.plan=before.json --check
verdict
