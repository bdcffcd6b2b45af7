#!/bin/sh
# A rank that hangs ends the run within run.stall_seconds, with 70 and a line that says who waits
# where; a job that was suspended whole and woken again has not hung.
. "$srcdir/tests/lib.sh"
. "$srcdir/tests/data.sh"
census

# begin: a long run on 2 ranks in the background; $job is the launcher
begin() {
    rm -f err
    # shellcheck disable=SC2086
    "$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$HETERPS" train "$srcdir/inputs/census.yaml" \
        --set train.epochs=0 --set train.steps=100000000 --set train.log_interval_seconds=0.2 \
        --set run.stall_seconds=2 >out 2>err &
    job=$!
    wait_for err 'step [0-9]*/'
}

echo '-- one rank stops'
begin
rank=$(pgrep -P $job | tail -n 1)
kill -STOP "$rank"
began=$(date +%s)
wait $job
rc=$? took=$(($(date +%s) - began))
# gone S: the stopped rank ends within S seconds (as a zombie it waits for nobody but init)
gone() {
    for _ in $(seq $(($1 * 10))); do
        case $(ps -o stat= -p "$rank") in '' | Z*) return 0 ;; esac
        sleep 0.1
    done
    return 1
}
gone 5 || fail 'the stopped rank was left'
[ $rc -eq 70 ] || fail "ended with $rc instead of 70"
[ $took -ge 2 ] && [ $took -le 8 ] || fail "ended after $took s"
grep -q 'error: stall: rank [01] on .* made no progress for 2 s after step [0-9]*, inside' err ||
    { fail 'no diagnosis'; cat err; }

echo '-- the whole job is suspended for longer'
begin
pkill -STOP -P $job
sleep 4
pkill -CONT -P $job
sleep 1
kill -USR1 $job
wait $job
rc=$?
[ $rc -eq 75 ] || { fail "ended with $rc instead of 75"; cat err; }
verdict
