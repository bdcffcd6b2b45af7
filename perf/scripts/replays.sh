#!/bin/sh
# replays.sh - RUNS (20) recorded runs of asynchronous workers on census, two to four of them, one or
# two servers, every third one killed at a moment drawn by chance and gone on with; each is replayed
# and must have its own bits. And as many recordings of one deck: how many of them differ. SEED
# (the time): of the draw. Five minutes.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
runs=${RUNS:-20} seed=${SEED:-$(date +%s)}

draw() { awk -v s="$seed" -v i="$1" -v n="$2" 'BEGIN { srand(s * 1000 + i); rand(); print int(rand() * n) }'; }

# go DIRECTORY ARGUMENT...: $workers, $servers
go() {
    dir=$1
    shift
    mpirun --oversubscribe -n $((workers + servers)) build/heterps train inputs/census.yaml \
        --set "run.directory=$dir" --set "train.epochs=$epochs" --set train.synchronization=asp \
        --set "train.workers=$workers" --set "storage.servers=$servers" --set schedule.method=file \
        --set schedule.plan=plan.json --set run.threads=1 --set checkpoint.interval_steps=100 \
        "$@" >out 2>err
}
must() {
    "$@" || { tail -n 20 err >&2; give_up "$* ended with $?"; }
}
bits() {
    for what in steps examples train_loss test_auc test_logloss; do
        number "$1/report.json" $what
    done
}

title 'Asynchronous runs, recorded and replayed'
import_census
equal=0 killed=0 i=0
while [ $i -lt "$runs" ]; do
    i=$((i + 1))
    workers=$((2 + $(draw $i 3))) servers=$((1 + $(draw $((i + 500)) 2))) epochs=6
    plan_file 8 '' "$workers" '[]' "$workers" >plan.json
    rm -rf a b
    if [ $((i % 3)) = 0 ]; then
        epochs=40
        go a --set train.record=true &
        pid=$!
        until ls a/checkpoint/step_*[0-9].h5 >/dev/null 2>&1; do sleep 0.05; done
        sleep "0.$(draw $((i + 900)) 9)"
        pkill -KILL -P "$(pgrep -P $pid mpirun || echo $pid)" 2>/dev/null && killed=$((killed + 1))
        wait $pid
    fi
    must go a --set train.record=true
    must go b --replay a
    bits a >a.bits
    bits b >b.bits
    cmp -s a.bits b.bits && equal=$((equal + 1))
    note "$i: $workers workers, $servers servers: $(tr '\n' ' ' <a.bits)$(cmp a.bits b.bits)"
done
workers=3 servers=1 epochs=2 i=0
plan_file 8 '' 3 '[]' 3 >plan.json
: >losses
while [ $i -lt "$runs" ]; do
    i=$((i + 1))
    rm -rf a
    must go a --set train.record=true
    number a/report.json train_loss >>losses
done
differ=$(sort -u losses | wc -l)
echo "Of $runs runs, $killed of them killed and gone on with, $equal were replayed to their own bits."
echo "Of $runs recordings of one deck $differ differ."
commands
echo
goal "all $runs replays have the bits of their run" [ "$equal" = "$runs" ]
goal 'three of four recordings of a deck differ' [ "$((differ * 4))" -ge "$((runs * 3))" ]
the_end
