#!/bin/sh
# Whoever wishes the run to stop, it ends with 75 and a whole checkpoint, and the next start goes
# on; a rank that is killed ends the others; a run directory is one run's.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census
deck=$srcdir/inputs/census.yaml
long='--set train.epochs=0 --set train.steps=100000000 --set train.log_interval_seconds=0.2'

# begin: a long run in the background; $job is the launcher

begin() {
    rm -f err                   # a line of the run before would be taken for this one's
    # shellcheck disable=SC2086
    "$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$HETERPS" train "$deck" $long >out 2>err &
    job=$!
    wait_for err 'step [0-9]*/'
}

# ended CODE: the run ended so, and left a checkpoint that can be read
ended() {
    wait $job
    hps_rc=$?
    [ $hps_rc -eq "$1" ] || { fail "ended with $hps_rc instead of $1"; tail -n 5 err; }
    [ "$(number runs/census/status.json exit_code)" = 75 ] || fail 'status.json does not say 75'
    set -- runs/census/checkpoint/step_*.h5
    heterps eval "$deck" --checkpoint "$1" --json - >eval.json 2>err2 || {
        fail 'no whole checkpoint'
        cat err2
    }
    [ -z "$(ls runs/census/checkpoint/*.part 2>/dev/null)" ] || fail 'something half-written stayed'
}

echo '-- SIGUSR1 to the launcher'
begin
kill -USR1 $job
ended 75
grep -q 'SIGUSR1' err || fail 'the reason is not said'

echo '-- SIGTERM to every rank, again and again until it is gone'
begin
while pkill -TERM -P $job; do sleep 0.02; done
ended 75

echo '-- SIGTERM as soon as a rank can hear it, long before there is a run'
# shellcheck disable=SC2086
"$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$HETERPS" train "$deck" $long >out 2>err &
job=$!
until pid=$(pgrep -P $job | tail -n 1) && [ -n "$pid" ] &&
    grep -q heterps "/proc/$pid/comm" 2>/dev/null &&
    grep -q '^SigCgt:.*[4567c-f]...$' "/proc/$pid/status" 2>/dev/null; do sleep 0.01; done
grep -q 'training' err && fail 'the run had begun'
kill -TERM "$pid"
ended 75

echo '-- SIGINT to one rank alone'
begin
kill -INT "$(pgrep -P $job | tail -n 1)"
ended 75

echo '-- Ctrl-C: mpirun makes SIGTERM of it, and ends with a code of its own'
(
    export OMPI_MCA_odls_base_sigkill_timeout=20
    begin
    kill -INT $job
    ended 1
    exit $hps_failed
) || fail 'Ctrl-C'

echo '-- while it evaluates: that is cut short'
long_test=data/census_test.h5
for _ in 1 2 3 4 5 6 7; do long_test=$long_test,$long_test; done
rm -f err
# shellcheck disable=SC2086
"$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$HETERPS" train "$deck" $long "--set=data.test=[$long_test]" \
    --set train.eval_interval_steps=2 --restart never >out 2>err &
job=$!
wait_for err 'step [0-9]*/'
kill -USR1 $job
began=$(date +%s)
ended 75
[ $(($(date +%s) - began)) -le 5 ] || fail 'the evaluation was waited for'
rm -rf runs

echo '-- the file stop'
begin
touch runs/census/stop
ended 75
[ ! -e runs/census/stop ] || fail 'the stop file stayed'

echo '-- run.max_seconds, and the time limit of a batch job'
# shellcheck disable=SC2086
expect 75 'run.max_seconds' ranks 2 train "$deck" $long --set run.max_seconds=1
# shellcheck disable=SC2086
expect 75 'time limit' env HETERPS_END_TIME=$(($(date +%s) + 7)) "$MPIEXEC" $MPIEXEC_FLAGS -n 2 \
    "$HETERPS" train "$deck" $long

echo '-- while it plans: the search ends early, and the next start looks anew'
slow='--set schedule.method=genetic --set schedule.seconds=100'
# shellcheck disable=SC2086
expect 75 'the search for a plan was cut short' ranks 2 train "$deck" $long $slow \
    --set run.max_seconds=1 --restart never
[ "$(number runs/census/status.json step)" -eq 1 ] || fail 'not one step'
rm err
# shellcheck disable=SC2086
"$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$HETERPS" train "$deck" $long $slow >out 2>err &
job=$!
wait_for runs/census/status.json starting
kill -USR1 $job
ended 75
grep -q 'was cut short: SIGUSR1' err || { fail 'the search was not cut short'; cat err; }

echo '-- before any plan is found: the makeshift one says whose place it has, then and later'
rm -rf runs
expect 75 'the search for a plan was cut short' heterps train "$deck" --set run.max_seconds=1e-6 \
    --set schedule.method=greedy --set train.steps=2
shows '^plan by heuristic, since greedy was stopped before it found one:'
shows '^no plan of greedy was found before the search was stopped$'
grep -q '"instead_of": "greedy"' runs/census/plan.json || fail 'plan.json does not say it'
expect 0 'the plan until step 1 was made by heuristic in place of greedy, this one by greedy' \
    heterps train "$deck" --set schedule.method=greedy --set train.steps=2
shows '^until step 1 planned by heuristic in place of greedy, in the same layout$'
rm -rf runs

echo '-- signals without end in the middle of products'
cat >wide.yaml <<EOF
run:   {name: wide, seed: 1}
data:  {train: $PWD/data/census_train.h5, test: "", batch: 8192}
model:
  - {name: ids,  type: embedding, slots: all, dim: 8}
  - {name: h1,   type: fc, width: 1024, activation: relu}
  - {name: h2,   type: fc, width: 1024, activation: relu}
  - {name: out,  type: fc, width: 1}
  - {name: loss, type: logistic}
train: {optimizer: adagrad, learning_rate: 0.01, epochs: 0, steps: 1000}
EOF
rm err
"$HETERPS" train wide.yaml --set schedule.method=single:cpu >out 2>err &
job=$!
wait_for err 'training: steps'
while kill -USR1 $job 2>/dev/null; do :; done
wait $job
rc=$?
[ $rc -eq 75 ] || { fail "ended with $rc instead of 75"; cat err; }

echo '-- two runs in one directory'
begin
expect 73 'in use by another run: host [^ ]*, process [0-9]*, since' ranks 1 train "$deck" \
    --set train.steps=1
env SLURMD_NODENAME=elsewhere "$HETERPS" train "$deck" --set train.steps=1 2>err2 >out2
[ $? -eq 73 ] && grep -q 'in use' err2 || { fail 'two hosts'; cat err2; }
kill -USR1 $job
ended 75

echo '-- a directory whose host is gone'
printf 'gone\nhost gone, process 1, since then\n' >runs/census/.lock
expect 0 'left by a run .host gone.*looking' ranks 1 train "$deck" --set train.steps=1 \
    --restart never
[ ! -s runs/census/.lock ] || fail 'the lock still has a holder'

echo '-- a rank is killed: the others end'
begin
kill -KILL "$(pgrep -P $job | head -n 1)"
wait $job
[ $? -ne 0 ] || fail 'a killed rank was not noticed'
verdict
