#!/bin/bash
# tier_kills.sh [KILLS] - a run on two ranks whose memory has a quarter of the rows, the others in a
# file, that writes a checkpoint every few steps: a rank at random is killed KILLS (100) times at a
# random moment, start-up and the writing of checkpoints included, and the run is started again. It
# ends with the bits of a run that nobody disturbed: losses, evaluation and all rows of the last
# checkpoint. HPS_SEED: of chance.
# shellcheck disable=SC2317 # called by until_true and goal
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/tiers.sh
kills=${1:-100} each=60                 # steps of the run for each kill
RANDOM=${HPS_SEED:-1}

# start NAME: the run, in the background: $job
start() {
    mpirun -n 2 build/heterps train wide.yaml --set "run.directory=runs/$1" --set run.threads=1 \
        --set train.epochs=0 --set "train.steps=$((kills * each))" \
        --set "checkpoint.interval_steps=$((each / 3))" --set checkpoint.interval_seconds=0 \
        --set schedule.method=file --set schedule.plan=plan.json --set storage.host_memory=150000 \
        --set "storage.file=$directory" >>"$1.out" 2>&1 &
    job=$!
}

there() { kill -0 $job 2>/dev/null; }
pids() { pgrep -P $job; }
saved() { # the step of the newest checkpoint
    find runs/kills/checkpoint -name 'step_*.h5' 2>/dev/null | sort | tail -n 1 |
        sed 's/.*step_0*\([0-9]*\).h5/\1/'
}

# until_true COMMAND...: false where the run has ended before
until_true() {
    until "$@"; do
        there || return 1
        sleep 0.02
    done
}
begun() { [ -n "$(pids)" ]; }
reached() { [ "$(saved)" -ge "$1" ] 2>/dev/null; }

# moment: waits for that of a kill: one in eight within a second from when there are ranks, else up to
# 0.1 s after the run has come so many steps further
moment() {
    until_true begun || return 1
    if [ $((RANDOM % 8)) -eq 0 ]; then
        sleep "0.$((RANDOM % 10))"
    else
        until_true reached $(($(saved) + 1 + RANDOM % (each / 4))) || return 1
        sleep "0.0$((RANDOM % 10))"
    fi
    there
}

# doing: what the run was at
doing() {
    if [ -n "$(find runs/kills/checkpoint -name '*.part' 2>/dev/null)" ]; then
        echo writing
    elif tail -n +$((told + 1)) kills.out | grep -q 'training: step'; then
        echo training
    else
        echo starting
    fi
}

# strike: kills a rank; a line of `struck`
strike() {
    local all victim
    mapfile -t all < <(pids)
    [ "${#all[@]}" -gt 0 ] || return 1
    was=$(doing) victim=${all[RANDOM % ${#all[@]}]}
    kill -KILL "$victim" 2>/dev/null || return 1
    echo "$was ${before:-0} $(saved)" >>struck
}

# torment: all kills, or as many as the run has time for; then its end
torment() {
    local n=0
    : >struck
    : >kills.out
    while [ $n -lt "$kills" ]; do
        told=$(wc -l <kills.out) before=$(saved)
        start kills
        if moment && strike; then
            n=$((n + 1))
            [ $((n % 10)) -ne 0 ] || note "$n kills, step $(saved), $(date +%T)"
        fi
        wait $job
        status=$?
        [ $status -ne 0 ] || return 0
    done
    start kills
    wait $job
    status=$?
}

count() { grep -c "^$1" struck; }
rows_of() { # checksums of all rows of the last checkpoint
    for table in rows ones one; do
        h5dump -a "/tables/$table/rows/checksum" \
            "$(find "runs/$1/checkpoint" -name 'step_*.h5' | sort | tail -n 1)" | grep '(0)'
    done
}
of() { for key in train_loss test_loss auc; do number "runs/$1/report.json" "$key"; done; }
same() { [ -n "$(rows_of plain)" ] && [ "$(of plain; rows_of plain)" = "$(of kills; rows_of kills)" ]; }
left() { [ -z "$(ls "$directory")" ]; }
whole() { # are all checkpoints that are left?
    for f in runs/kills/checkpoint/*; do build/heterps info "$f" >/dev/null 2>&1 || return 1; done
}
moved() { # rows, from and to the file
    ln -sfn kills runs/it
    awk -v r="$(tiers read)" -v w="$(tiers written)" 'BEGIN { exit !(r > 0 && w > 0) }'
}

wide_bags 600 >&2
plan_file 8 '' 2 >plan.json
note 'the undisturbed run'
start plain
wait $job || give_up "it ended with $?: $(tail -n 5 plain.out)"
began=$(date +%s)
torment
took=$(($(date +%s) - began)) done=$(wc -l <struck)

title "Rows in a file: one run on two ranks, killed $done times"
header 'killed while' starting training 'writing a checkpoint' all
row times "$(count starting)" "$(count training)" "$(count writing)" "$done"
echo
header what undisturbed killed
row steps "$(number runs/plain/report.json steps)" "$(number runs/kills/report.json steps)"
row 'loss of the last step' "$(number runs/plain/report.json train_loss)" \
    "$(number runs/kills/report.json train_loss)"
row 'checkpoints found damaged' 0 "$(grep -c 'is damaged' kills.out)"
row seconds '' "$took"
echo
goal 'all kills done' [ "$done" -eq "$kills" ]
goal 'ended with 0' [ "$status" -eq 0 ]
goal 'rows were read from the file and written to it' moved
goal 'the same losses, evaluation and rows, bit for bit' same
goal 'no file left of the rows, no checkpoint left broken' eval 'left && whole'
[ "$hps_failed" -eq 0 ] || tail -n 40 kills.out >&2
the_end
