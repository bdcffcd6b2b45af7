#!/bin/bash
# signals.sh [SIGNALS] - 50 signals at random moments, start-up included, to the step or to the batch
# shell of a job on a private Slurm: 50 times exit 75, and a checkpoint that can be loaded. The job
# is a chain, so that each signal meets a new start. HPS_SEED: of chance.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
# shellcheck disable=SC2317 # called by until_true
. "$srcdir/tests/slurm/lib.sh"
signals=${1:-50}
RANDOM=${HPS_SEED:-1}

# the program can hear: it catches SIGTERM and SIGUSR1
hears_them() {
    local pid
    pid=$(pids_in signals | tail -n 1)
    [ -n "$pid" ] && grep -q '^SigCgt:.*4[2367abef]..$' "/proc/$pid/status" 2>/dev/null
}
over() { absent -j "$1"; }
chain() { squeue -h -n signals -o %i; }
next() { [ -n "$(chain)" ]; }

# one signal, after up to three seconds: a line of `sent`: to whom, which, the step, code, eval's
one() {
    local id word name to saved=missing
    until_true 60 'a link of the chain' next && id=$(chain)
    until_true 120 'the program' hears_them || return 1
    sleep "$((RANDOM % 3)).$((RANDOM % 10))"
    word=(TERM INT USR1)
    name=${word[RANDOM % 3]} to=step
    if [ "$name" != INT ] && [ $((RANDOM % 2)) -eq 0 ]; then to=batch; fi
    if [ $to = batch ]; then
        scancel --signal="$name" --batch "$id"
    else
        scancel --signal="$name" "$id"
    fi
    until_true 120 "the end of job $id" over "$id" || return 1
    if heterps eval inputs/census.yaml --json eval.json --checkpoint "$(find runs/signals/checkpoint \
        -name 'step_*.h5' | sort | tail -n 1)" >/dev/null 2>&1; then saved=whole; fi
    echo "$to SIG$name $(number runs/signals/status.json step) $(code_of "$id") $saved" >>sent
}

count() { awk -v a="$1" -v b="$2" -v c="$3" -v d="$4" \
    '$1 ~ a && $2 ~ b && $4 ~ c && $5 ~ d { n++ } END { print n + 0 }' sent; }

CLUSTER_KILL_WAIT=10 cluster n1:cpu:2:0
trap 'hps_stop; rm -rf "$HPS_TMP"' EXIT
import_census >&2
plan_file 8 4 '1 1' >plan.json
: >sent
quiet "$hps_jobs/chain.sh" -J signals -o signals.out --open-mode=append --no-requeue -N1 -p cpu \
    "$hps_jobs/cpu.sh" inputs/census.yaml --set run.directory=runs/signals --set train.epochs=0 \
    --set train.steps=100000000 --set schedule.method=file --set schedule.plan=plan.json
for ((n = 1; n <= signals; n++)); do
    one || break
    [ $((n % 10)) -ne 0 ] || note "$n signals, $(date +%T)"
done

title "Signals: $(wc -l <sent) of them to a job of $(sinfo --version)"
header 'sent to' signal times 'ended with 75' 'checkpoint loaded'
for to in step batch; do
    for name in SIGTERM SIGINT SIGUSR1; do
        [ "$(count $to $name . .)" -gt 0 ] || continue
        row $to $name "$(count $to $name . .)" "$(count $to $name '^75$' .)" \
            "$(count $to $name . whole)"
    done
done
echo
echo "Starts that came to train: $(grep -c 'training: steps' signals.out) of $(wc -l <sent)."
echo
goal "$signals times 75 and a checkpoint that can be loaded" \
    [ "$(count . . '^75$' whole)" -eq "$signals" ]
verdict
