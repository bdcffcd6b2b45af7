#!/bin/sh
# A rank that hangs ends the run soon after run.stall_seconds, with 70 and one line that names it,
# its host, and who waits where for it, though it cannot speak, and though the file system hangs; a
# job that was suspended whole and woken again has not hung; nor is a rank that was killed a failure
# of those that wait for it. What was said of a run before is gone with the next start.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census

hang=
# A file system that hangs for all ranks, beside the rest: the end takes some 15 s.
if cc -shared -fPIC -w -o hang_fs.so "$srcdir/tests/lib/hang_fs.c" 2>/dev/null; then
    mkdir hang
    ln -s "$PWD/data" hang/data
    (
        cd hang || exit
        # shellcheck disable=SC2086
        LD_PRELOAD=$HPS_TMP/hang_fs.so HANG_PATH=runs/census HANG_WHEN=now \
            "$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$HETERPS" train "$srcdir/inputs/census.yaml" \
            --set train.epochs=0 --set train.steps=100000000 --set train.log_interval_seconds=0.2 \
            --set schedule.method=single:cpu --set run.stall_seconds=2 >out 2>err
        echo $? >code
    ) &
    hang=$!
    wait_for hang/err 'step [0-9]*/'
    touch hang/now
    echo '-- a disk that is slow to try'
    expect 0 'training: steps 1 to 50' env LD_PRELOAD="$HPS_TMP/hang_fs.so" SLOW_S=4 \
        "$HETERPS" train "$srcdir/inputs/census.yaml" --set train.epochs=0 \
        --set train.steps=50 --set run.stall_seconds=2 --set run.directory=runs/slow \
        --set checkpoint.interval_seconds=0 --set checkpoint.interval_steps=0
fi

# begin RANKS: a long run in the background; $job is the launcher
begin() {
    rm -f err
    # shellcheck disable=SC2086
    "$MPIEXEC" $MPIEXEC_FLAGS -n "$1" "$HETERPS" train "$srcdir/inputs/census.yaml" \
        --set train.epochs=0 --set train.steps=100000000 --set train.log_interval_seconds=0.2 \
        --set schedule.method=single:cpu --set run.stall_seconds=2 >out 2>err &
    job=$!
    wait_for err 'step [0-9]*/'
}

# pid_of RANK
pid_of() {
    for hps_pid in $(pgrep -P $job); do
        tr '\0' '\n' <"/proc/$hps_pid/environ" | grep -q "^OMPI_COMM_WORLD_RANK=$1\$" &&
            echo "$hps_pid"
    done
}

# gone S: the stopped rank ends within S seconds (as a zombie it waits for nobody but init)
gone() {
    for _ in $(seq $(($1 * 10))); do
        case $(ps -o stat= -p "$rank") in '' | Z*) return 0 ;; esac
        sleep 0.1
    done
    return 1
}

host=${SLURMD_NODENAME:-$(uname -n)}
for layout in 3:2 4:0; do
    n=${layout%:*} bad=${layout#*:}
    echo "-- rank $bad of $n stops"
    begin "$n"
    rank=$(pid_of "$bad")
    kill -STOP "$rank"
    began=$(date +%s)
    wait $job
    rc=$? took=$(($(date +%s) - began))
    gone 5 || fail 'the stopped rank was left'
    [ $rc -eq 70 ] || fail "ended with $rc instead of 70"
    [ $took -ge 2 ] && [ $took -le 9 ] || fail "ended after $took s"
    says="error: stall: no progress for [0-9]* s after step [0-9]*; rank $bad on $host does not"
    waits=$(grep "$says" err | grep -o "rank [0-9] on $host waits in [a-z]* for rank $bad" | wc -l)
    [ "$waits" -eq $((n - 1)) ] || { fail 'no diagnosis'; cat err; }
    [ "$(grep -c 'error: stall' err)" -eq 1 ] || fail 'said more than once'
    [ -d runs/census/.stall ] || fail 'what the ranks said is not kept'
done

echo '-- the whole job is suspended for longer'
begin 2
[ ! -e runs/census/.stall ] || fail 'what ranks of a run before said is still there'
pkill -STOP -P $job
sleep 4
pkill -CONT -P $job
sleep 1
kill -USR1 $job
wait $job
rc=$?
[ $rc -eq 75 ] || { fail "ended with $rc instead of 75"; cat err; }

echo '-- a rank is killed, and the launcher takes longer to end the others than they wait'
export OMPI_MCA_odls_base_sigkill_timeout=5
begin 2
kill -KILL "$(pid_of 1)"
wait $job
rc=$?
[ $rc -eq 137 ] || fail "ended with $rc instead of 137"
grep -q 'error: no progress.*; rank 1 on [^ ]* was killed; rank 0' err || {
    fail 'no diagnosis'
    cat err
}
grep -q '"exit_code": null' runs/census/status.json || fail 'status.json has a code of its own'

if [ -n "$hang" ]; then
    echo '-- the file system hangs'
    wait "$hang"
    [ "$(cat hang/code)" = 70 ] || fail "ended with $(cat hang/code) instead of 70"
    says="error: stall: no progress for .* s after step [0-9]*; rank 0 on $host .*; runs/census/"
    grep -q "$says.stall does not answer" hang/err || { fail 'no diagnosis'; cat hang/err; }
fi
verdict
