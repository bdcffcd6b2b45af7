#!/bin/bash
# kills.sh [KILLS] - one run on a private Slurm that is killed 200 times: a random rank, or one time
# in five a node of the job, at a random moment, start-up and the writing of checkpoints included.
# It goes on by itself, and ends with the bits of a run that nobody disturbed. HPS_SEED: of chance.
#
# A node that crashed is set down at once: Slurm would see it by itself after its SlurmdTimeout.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
# shellcheck disable=SC2317 # called by until_true
. "$srcdir/tests/slurm/lib.sh"
kills=${1:-200} each=100                 # steps of the run for each kill
RANDOM=${HPS_SEED:-1}

# job NAME: the run, on two nodes, a rank and a stage each
job() {
    submit "$1" -N2 -n2 -p cpu "$hps_jobs/cpu.sh" inputs/census.yaml \
        --set "run.directory=runs/$1" --set train.epochs=0 --set "train.steps=$((kills * each))" \
        --set "checkpoint.interval_steps=$((each / 10))" \
        --set schedule.method=file --set schedule.plan=plan.json
}

over() { absent -j "$id"; }
saved() { # the step of the newest checkpoint
    find runs/kills/checkpoint -name 'step_*.h5' 2>/dev/null | sort | tail -n 1 |
        sed 's/.*step_0*\([0-9]*\).h5/\1/'
}
pids() { pids_in kills; }
started() { [ -n "$(pids)" ] || over; }
reached() { [ "$(saved)" -ge "$1" ] 2>/dev/null || over; }
fell() { ! pids | grep -q -x -F "$1"; }

# moment N: waits for that of the N-th kill: one in eight as soon as there are ranks, or up to two
# seconds later; else up to 0.3 s after the run has come so many steps further
moment() {
    until_true 300 'ranks' started || return 1
    if [ "$1" -gt 1 ] && [ $((RANDOM % 8)) -eq 0 ]; then
        sleep "$((RANDOM % 2)).$((RANDOM % 10))"
    else
        until_true 300 "step of kill $1" reached $(($(saved) + 1 + RANDOM % (each / 4))) ||
            return 1
        sleep "0.$((RANDOM % 10 + 10))"
    fi
    ! over
}

# doing: what the run was at
doing() {
    if [ -n "$(find runs/kills/checkpoint -name '*.part' 2>/dev/null)" ]; then
        echo writing
    elif grep -E 'training: steps|counters:|^job' kills.out | tail -n 1 | grep -q training; then
        echo training
    else
        echo starting
    fi
}

# strike: kills; $what, and of the ranks $all
strike() {
    local nodes node
    all=$(pids)
    [ -n "$all" ] || return 1
    if [ $((RANDOM % 5)) -ne 0 ]; then
        what=rank
        kill -KILL "$(echo "$all" | sed -n "$((RANDOM % $(echo "$all" | wc -l) + 1))p")"
        return 0
    fi
    what=node
    mapfile -t nodes < <(scontrol show hostnames "$(squeue -h -j "$id" -o %N)")
    node=${nodes[RANDOM % ${#nodes[@]}]}
    bash "$srcdir/tests/slurm/cluster.sh" kill "$hps_cluster" "$node"
    scontrol update node="$node" state=down reason=killed
    bash "$srcdir/tests/slurm/cluster.sh" revive "$hps_cluster" "$node"
}

# torment: all kills, or as many as the run has time for; a line of `struck` for each
torment() {
    local n=1
    : >struck
    while [ $n -le "$kills" ]; do
        moment $n || return 0
        was=$(doing) before=$(saved)
        strike 2>/dev/null || continue
        echo "$what $was ${before:-0}" >>struck
        [ $((n % 10)) -ne 0 ] || note "$n kills, step ${before:-0}, $(date +%T)"
        n=$((n + 1))
        until_true 120 'the end of the ranks' fell "$all" || return 0
    done
}

count() { awk -v a="$1" -v b="$2" '$1 ~ a && $2 ~ b { n++ } END { print n + 0 }' struck; }
told() { grep -c -E "$1" kills.out; }
whole() { # are all checkpoints that are left, and the report?
    local f
    for f in runs/kills/checkpoint/*; do heterps info "$f" >/dev/null 2>&1 || return 1; done
    heterps report runs/kills >/dev/null 2>&1
}

CLUSTER_KILL_WAIT=2 cluster n1:cpu:2:0 n2:cpu:2:0 n3:cpu:2:0 n4:cpu:2:0
trap 'hps_stop; rm -rf "$HPS_TMP"' EXIT
import_census >&2
plan_file 8 4 '1 1' >plan.json
job plain
until_true 1800 'the undisturbed run' over
loss=$(number runs/plain/report.json train_loss)
began=$(date +%s)
job kills
torment
until_true 900 'the end of the run' over
took=$(($(date +%s) - began))
end=$(number runs/kills/report.json train_loss)
done=$(wc -l <struck)

title "Kills: one run on two virtual nodes of $(sinfo --version), killed $done times"
header killed starting training 'writing a checkpoint' all
for what in rank node; do
    row $what "$(count $what starting)" "$(count $what training)" "$(count $what writing)" \
        "$(count $what .)"
done
echo
header what undisturbed killed
row 'steps' "$(number runs/plain/report.json steps)" "$(number runs/kills/report.json steps)"
row 'loss of the last step' "$loss" "$end"
row 'starts that trained' 1 "$(told 'training: steps')"
row 'started again on the same nodes, by the script' 0 "$(told '^job .* killed \(')"
row 'started again by Slurm, after a node' 0 "$(told 'the start before was killed')"
row 'checkpoints found damaged' 0 "$(told 'is damaged')"
row 'seconds' '' "$took"
echo
goal 'all kills done' [ "$done" -eq "$kills" ]
goal 'the same loss, bit for bit' [ "$end" = "$loss" ]
goal 'ended by itself with 0, no wait without an end' [ "$(code_of "$id")" = 0 ]
goal 'no file left broken' whole
[ "$hps_failed" -eq 0 ] || tail -n 60 kills.out >&2
verdict
