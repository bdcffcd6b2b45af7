#!/bin/sh
# Whoever watches a run learns where it stands: at most one line an interval, never without a loss,
# and status.json says at the end what was said last and how it ended. What else runs is said.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census
status=runs/census/status.json

echo '-- a line an interval'
train 2 census.yaml --set train.epochs=3 --set train.log_interval_seconds=0.05
grep -o 'step [0-9]*/.*loss [^ ]*' err >lines || fail 'no progress'
grep -q 'nan' lines && fail 'a line has no loss'
[ -z "$(cut -d/ -f1 lines | sort | uniq -d)" ] || fail 'a step was told twice'
awk -v n="$(wc -l <lines)" -v s="$(number runs/census/report.json seconds)" \
    'BEGIN { exit n > s / 0.05 + 2 }' || fail "$(wc -l <lines) lines are too many"

echo '-- the end'
grep -q '"state": "finished"' $status || fail 'the run is not finished'
[ "$(number $status step)" = 306 ] || fail "status.json is at step $(number $status step)"
[ "$(number $status exit_code)" = 0 ] || fail 'status.json does not say 0'
[ "$(number $status checkpoint_step)" = 306 ] || fail 'status.json does not know the checkpoint'
[ "$(number $status checkpoint_time_s)" -gt 1000000000 ] || fail 'nor when it was written'
grep -q '"host": "[^"]*", "job": null' $status || fail 'status.json has no host'
[ "$(number $status loss)" = "$(number runs/census/report.json train_loss)" ] || fail 'another loss'
grep -q '"loss": *\[' runs/census/report.json || fail 'the report has no course of the loss'
grep -A 3 '"loss": *\[' runs/census/report.json | grep -q '[0-9]\.[0-9]' ||
    fail 'the course of the loss is empty'

echo '-- a finished run, started again'
SLURM_JOB_ID=17 train 2 census.yaml --set train.epochs=3 --set run.rank_logs=true
grep -q '"job": "17"' $status || fail 'status.json has no job'
grep -q '^\[1 .*finished' runs/census/log.1 || fail 'rank 1 keeps no log'
[ "$(number $status step)" = 306 ] || fail "status.json is at step $(number $status step)"

echo '-- a run that fails'
rm -rf runs
expect 65 'not finite' ranks 2 train "$srcdir/inputs/census.yaml" --set train.optimizer=sgd \
    --set train.learning_rate=1e6
grep -q '"state": "failed"' $status || fail 'the run has not failed'
[ "$(number $status step)" -gt 0 ] || fail 'it is not known where it failed'
[ "$(number $status exit_code)" = 65 ] || fail 'status.json does not say 65'

echo '-- what else keeps the processors busy is seen'
rm -rf runs
sh -c 'while :; do :; done' &
spins=$!
train 2 census.yaml --set train.epochs=6
kill "$spins"
if [ -r /proc/stat ]; then
    grep -q 'something else kept [0-9.]* cores of .* busy during the training' err ||
        fail "$(number runs/census/report.json other_cores) cores are not said"
fi
verdict
