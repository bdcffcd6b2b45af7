#!/bin/sh
# A trial takes some steps of the training before it: the run learns what it learns without one, its
# promise is what was measured, and of several plans one is taken and all are shown. Nothing is
# tried where nothing is run, where a plan is kept, or where it would take too long. A request to
# stop ends it; bad values are refused. Without a trial, layers are fitted to whole steps, where the
# run has enough of them. Asynchronous workers are tried as they train.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census

# learn RANKS NAME ARGUMENT...: 40 steps of census; its loss is in $loss
learn() {
    n=$1 name=$2
    shift 2
    train "$n" census.yaml --set train.steps=40 --set run.threads=1 --set "run.directory=$name" \
        --set run.name=trial "$@"
    loss=$(number "$name/report.json" train_loss)
}

echo '-- the same losses'
learn 2 without
plain=$loss
learn 2 with --set schedule.trial_steps=7
[ "$loss" = "$plain" ] || fail "after a trial the loss is $loss, not $plain"
shows '^trial of 7 steps, discarded '
shows '^taken '
grep -q '"trial": ' with/profile.json || fail 'the profile does not have what was measured'
! grep -q '"trial": ' without/profile.json || fail 'a profile has a trial that was not made'

echo '-- the promise is what was measured'
close "$(awk -v s="$(number with/report.json predicted_step_s)" 'BEGIN { print 256 / s }')" \
    "$(awk '$1 == "taken" { print $3 }' out)" 2e-5

# In an order that is drawn the bits are the same each time; a trial leaves none of its clocks,
# versions, cached rows, held gradients or events.
for how in 'asp' 'asp --set train.aggregate=3' 'hybrid --set train.staleness=2' \
    'ssp --set train.staleness=4 --set train.cache_clocks=1'; do
    echo "-- the same losses of asynchronous workers, $how"
    set -- --set storage.servers=1 --set train.workers=2 --set train.interleaving=7 \
        --set train.record=true
    # shellcheck disable=SC2086 # words
    learn 3 plain_async "$@" --set train.synchronization=$how
    plain=$loss
    # shellcheck disable=SC2086 # words
    learn 3 async "$@" --set train.synchronization=$how --set schedule.trial_steps=7
    [ "$loss" = "$plain" ] || fail "after a trial the loss is $loss, not $plain"
    shows '^trial of 7 steps, discarded '
    shows '^taken '
    close "$(awk -v s="$(number async/report.json predicted_step_s)" 'BEGIN { print 512 / s }')" \
        "$(awk '$1 == "taken" { print $3 }' out)" 2e-5
    # shellcheck disable=SC2086 # words
    learn 3 again "$@" --set train.synchronization=$how --set train.interleaving=0 \
        --set schedule.trial_steps=0 --replay async
    [ "$loss" = "$plain" ] || fail "a replay behind a trial has the loss $loss, not $plain"
    rm -rf plain_async async again
done

echo '-- whole steps are measured, but not for a run that has fewer'
unsure() { awk '/"unsure"/ { getline; print $1 + 0 }' "$1/profile.json"; }
learn 2 few --set train.steps=15
[ "$(unsure few)" = 0 ] || fail 'a run of 15 steps has been measured in whole steps'
[ "$(unsure without)" != 0 ] || fail 'a run of 40 steps has not been measured in whole steps'

echo '-- other plans are tried beside it, but not where the plan is named'
cat >types.yaml <<'END'
resources:
  - {name: slow, price_usd_hour: 0.013, price_per: unit, emulate: {ranks: "1", slow: 3}}
  - {name: fast, match: "*", price_usd_hour: 0.04, price_per: unit}
END
awk '/^resources:/ { skip = 1; next } skip && /^ / { next } { skip = 0; print }' \
    "$srcdir/inputs/census.yaml" | cat - types.yaml >two.yaml
expect 0 '' ranks 2 train two.yaml --set train.steps=16 --set run.directory=two \
    --set run.threads=1 --set schedule.trial_steps=3 --set schedule.throughput_limit=0
awk '/^trial of / { on = 1; next } on && NF == 0 { exit } on && / x [0-9]/ { n++ }
    END { exit !(n > 1) }' out || fail 'no other plan was tried'
expect 0 '' ranks 2 train two.yaml --set train.steps=16 --set run.directory=one \
    --set run.threads=1 --set schedule.trial_steps=3 --set schedule.throughput_limit=0 \
    --set schedule.method=single:fast
[ "$(awk '/^trial of / { on = 1; next } on && / x [0-9]/ { n++ } END { print n + 0 }' out)" = 1 ] ||
    fail 'another plan was tried beside the one that was named'

echo '-- auto'
learn 1 short --set schedule.trial_steps=auto
grep -q 'schedule.trial_steps auto: no trial, it would take ' err || fail 'auto says nothing'
[ "$(awk '/^trial of/' out)" = '' ] || fail 'a trial of a short run'
expect 75 '' ranks 1 train "$srcdir/inputs/census.yaml" --set schedule.trial_steps=auto \
    --set run.directory=long --set run.threads=1 --set train.steps=5000000 --set train.epochs=0 \
    --set run.max_seconds=2
steps=$(awk '/^trial of [0-9]* steps, discarded/ { print $3 }' out)
[ "${steps:-0}" -ge 20 ] || fail "auto takes ${steps:-no} steps"

echo '-- nothing is tried where nothing is run, or where the plan is kept'
expect 0 '' heterps train "$srcdir/inputs/census.yaml" --check --set schedule.trial_steps=5
[ "$(awk '/^trial of/' out)" = '' ] || fail 'a check tried a plan'
learn 2 with --set schedule.trial_steps=7 --set train.steps=50
grep -q 'the plan is kept' err || fail 'the plan is not kept'
[ "$(awk '/^trial of/' out)" = '' ] || fail 'a plan that is kept was tried again'

echo '-- a request to stop'
expect 75 'step 1/' ranks 2 train "$srcdir/inputs/census.yaml" --set schedule.trial_steps=10000 \
    --set run.directory=stopped --set run.threads=1 --set data.batch=4096 --set run.max_seconds=3
[ "$(awk '/^trial of/' out)" = '' ] || fail 'a trial that was cut short has a table'

echo '-- bad values'
for bad in -1 1.5 some 10001; do
    expect 65 'trial_steps' heterps train "$srcdir/inputs/census.yaml" --check \
        --set schedule.trial_steps=$bad
done
verdict
