#!/bin/sh
# Whatever happens while a checkpoint is being written behind the training, the one before it stays
# whole and the next start goes on from it, to the same end; data that go away end the run in order.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census
deck=$srcdir/inputs/census.yaml
ckpt=runs/census/checkpoint
often='--set model.h1.width=1000 --set checkpoint.interval_steps=3 --set schedule.method=single:cpu'

# begin ARGUMENT...: two ranks in the background; $job is the launcher
begin() {
    rm -f err
    # shellcheck disable=SC2086
    "$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$HETERPS" train "$deck" $often "$@" >out 2>err &
    job=$!
}

# writing FOLDER: until a checkpoint is there and the next one is half-written
writing() {
    for _ in $(seq 6000); do
        case $(ls "$1" 2>/dev/null) in *.h5?*.part) return 0 ;; esac
        sleep 0.01
    done
    fail 'no checkpoint is written'
}

# whole FOLDER: what has a name there can be read; $newest is the last of them
whole() {
    newest=
    for newest in "$1"/step_*.h5; do
        heterps eval "$deck" --set model.h1.width=1000 --checkpoint "$newest" --json eval.json \
            >out2 2>err2 || { fail "$newest is broken"; cat err2; }
    done
}

echo '-- a rank is killed as it writes'
# shellcheck disable=SC2086
expect 0 '' ranks 2 train "$deck" $often --set train.steps=60
undisturbed=$(number runs/census/report.json train_loss)
rm -rf runs
begin --set train.steps=60
writing $ckpt
kill -KILL "$(pgrep -P $job | tail -n 1)"
wait $job
[ $? -ne 0 ] || fail 'a killed rank was not noticed'
whole $ckpt
# shellcheck disable=SC2086
expect 0 'going on from' ranks 2 train "$deck" $often --set train.steps=60
[ "$(number runs/census/report.json train_loss)" = "$undisturbed" ] || fail 'another end'
[ -z "$(find $ckpt -name '*.part')" ] || fail 'half a file stayed'

echo '-- a signal, twice, as it writes'
rm -rf runs
begin --set train.steps=100000000 --set train.epochs=0
writing $ckpt
kill -USR1 $job
sleep 0.05
kill -USR1 $job
wait $job
rc=$?
[ $rc -eq 75 ] || { fail "ended with $rc instead of 75"; tail -n 5 err; }
[ -z "$(find $ckpt -name '*.part')" ] || fail 'half a file stayed'
whole $ckpt
[ "$newest" = "$(printf '%s/step_%09d.h5' $ckpt "$(number runs/census/status.json step)")" ] ||
    fail 'the last step has no checkpoint'

echo '-- the disk fills up'
rm -rf runs
mkdir small
if mount -t tmpfs -o size=12m none small 2>mount.log; then
    begin --set train.steps=100000000 --set train.epochs=0 --set checkpoint.directory=$PWD/small
    writing small
    until ! kill -0 $job 2>/dev/null || ! head -c 100000 /dev/zero >>small/other 2>full; do :; done
    wait $job
    rc=$?
    [ $rc -eq 73 ] || fail "ended with $rc instead of 73"
    grep 'error: .*[Nn]o space left' err | grep -q small || { fail 'not said'; grep error err; }
    [ "$(grep -c 'error: ' err)" -eq 1 ] || fail 'not one error'
    [ -z "$(find small -name '*.part')" ] || fail 'half a file stayed'
    rm small/other
    whole small
    umount small
else
    echo 'not tried: no tmpfs can be mounted here'
fi
rm -rf runs
expect 73 'checkpoint needs .* a file may have' sh -c 'ulimit -f 40000; exec "$0" "$@"' "$HETERPS" \
    train "$deck" --set model.h1.width=40000 --set train.steps=1 --set schedule.method=single:cpu

echo '-- the run directory goes away'
rm -rf runs
begin --set train.steps=100000000 --set train.epochs=0 --set checkpoint.interval_steps=0 \
    --set train.log_interval_seconds=0.1
wait_for err 'step [0-9]*/'
mv runs gone
wait $job
rc=$?
[ $rc -eq 73 ] || fail "ended with $rc instead of 73"
grep -q 'error: .*the run directory runs/census was removed' err || { fail 'not said'; cat err; }

echo '-- the data are cut off as they are read'
cp data/census_train.h5 data/cut.h5
begin --set data.train=data/cut.h5 --set train.steps=100000000 --set train.epochs=0 \
    --set train.log_interval_seconds=0.1
wait_for err 'step [0-9]*/'
truncate -s 200000 data/cut.h5
wait $job
rc=$?
[ $rc -eq 65 ] || [ $rc -eq 66 ] || fail "ended with $rc instead of 65 or 66"
grep -q 'error: .*data/cut.h5' err || { fail 'the file is not named'; tail -n 5 err; }
whole $ckpt
verdict
