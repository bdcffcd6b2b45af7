#!/bin/sh
# A rank that the plan leaves out takes part in the run's end but does not burn its core.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
[ -r /proc/self/stat ] || skip 'no /proc'
census

# ticks PID: of the CPU, 100 a second
ticks() { cut -d ' ' -f 14,15 "/proc/$1/stat" | awk '{ print $1 + $2 }'; }

plan_file 8 '' 1 >plan.json
# shellcheck disable=SC2086
"$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$HETERPS" train "$srcdir/inputs/census.yaml" \
    --set schedule.method=file --set schedule.plan=plan.json --set train.epochs=0 \
    --set train.steps=100000000 --set train.log_interval_seconds=0.2 >out 2>err &
job=$!
wait_for err 'step [0-9]*/'
for pid in $(pgrep -P $job); do
    if tr '\0' '\n' <"/proc/$pid/environ" | grep -q '^OMPI_COMM_WORLD_RANK=0$'; then
        busy=$pid
    else
        idle=$pid
    fi
done
busy0=$(ticks "$busy") idle0=$(ticks "$idle")
sleep 3
busy_ticks=$(($(ticks "$busy") - busy0)) idle_ticks=$(($(ticks "$idle") - idle0))
echo "in 3 s: rank 0 $busy_ticks ticks, rank 1 $idle_ticks"
[ $((idle_ticks * 3)) -lt $busy_ticks ] || fail 'the idle rank burns its core'
kill -TERM "$idle"
wait $job
rc=$?
[ $rc -eq 75 ] || fail "ended with $rc instead of 75"
grep -q '\[1 .*SIGTERM' err || { fail 'the idle rank did not say why the run stops'; cat err; }
verdict
