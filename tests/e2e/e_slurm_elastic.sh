#!/bin/sh
# A job that goes on may have fewer nodes than before, or more: a job on CPU nodes, one on GPU
# nodes, a task of an array, a chain. The user does nothing: the pool is looked at anew, the plan
# made anew, and the loss is that of a run that nobody disturbed. Nothing is left in his home.
# shellcheck disable=SC2317 # what is called by its name
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
. "$srcdir/tests/slurm/lib.sh"
cluster a1:alpha:1:0 a2:alpha:1:0 b1:beta:1:1 b2:beta:1:1 c1:gamma:1:0 c2:gamma:1:0 \
    d1:delta:1:0 d2:delta:1:0 d3:delta:1:0 e1:plain:1:0
census
paced
# the next link of a chain may start while the last one's node is given back: delta has one more
names='alpha beta gamma delta'
deck=$srcdir/inputs/census.yaml
mkdir home
export HOME="$PWD/home"

# options NAME [SLOW]: one rank a node, slow until told otherwise
options() {
    [ -z "${2-}" ] || echo "$2" >"$1.slow"
    echo "--set run.directory=runs/$1 --set train.epochs=0 --set train.steps=300" \
        "--set checkpoint.interval_steps=10 --set schedule.method=exact"
}

# stopped_so_often NAME TIMES: asks for it until then
stopped_so_often() {
    has_line "$1.out" 'stopping after' "$2" || {
        scancel -n "$1" --signal=USR1 --batch
        false
    }
}

# stop_all TIMES: each as soon as it trains; the second time the last, so that it ends soon
stop_all() {
    for name in $names; do
        hears "$name.out" 'training: steps' "$1"
        until_true 60 "stop $1 of $name" stopped_so_often "$name" "$1"
        [ "$1" -eq 1 ] || rm -f "$name.slow"
    done
}

# shellcheck disable=SC2046 # options without blanks
{
    submit alpha -p alpha -N1-2 "$hps_jobs/cpu.sh" "$deck" $(options alpha 300)
    submit beta -p beta -N1-2 --gpus-per-node=1 "$hps_jobs/gpu.sh" "$deck" $(options beta 300)
    submit gamma -p gamma -N1-2 --array=1 "$hps_jobs/array.sh" "$deck" -- $(options gamma 300)
    "$hps_jobs/chain.sh" -J delta -o delta.out --open-mode=append --no-requeue -p delta -N1-2 \
        "$hps_jobs/cpu.sh" "$deck" $(options delta 300) >out || fail 'the chain was not submitted'
    submit plain -p plain -N1 "$hps_jobs/cpu.sh" "$deck" $(options plain)
}
for name in $names; do hears "$name.out" 'checkpoint at'; done
scontrol update node=a2,b2,c2,d2,d3 state=drain reason=test
stop_all 1
for name in $names; do hears "$name.out" 'training: steps' 2; done
scontrol update node=a2,b2,c2,d2,d3 state=resume
stop_all 2

gone "$id"
for name in $names; do
    until_true 90 "the end of $name" absent -n "$name"
    hps_ranks=$(sed -n 's/^ranks started: \([0-9]*\),.*/\1/p' "$name.out" | xargs)
    [ "$hps_ranks" = '2 1 2' ] ||
        fail "$name: '$hps_ranks' ranks instead of 2, 1 and 2"
    [ "$(number "runs/$name/status.json" exit_code)" = 0 ] || fail "$name is not finished"
    close "$(number "runs/$name/report.json" train_loss)" \
        "$(number runs/plain/report.json train_loss)" 1e-4
done
[ -z "$(ls -A home)" ] || fail "left in the home: $(ls -A home)"
verdict
