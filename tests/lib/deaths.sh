#!/bin/sh
# deaths.sh - a rank dies at one of its MPI calls: a short run of each verb that works on ranks, in
# which a rank ends at its n-th call (bad_mpi.c), whichever that is. What must hold is in `law`.
# tests/e2e/e_deaths.sh draws a sample, perf/scripts/deaths.sh does all.
#
#   deaths.sh world DIR RANKS...       makes the files that each run begins with, and what each verb
#                                      gives undisturbed on so many ranks
#   deaths.sh count DIR RANKS          its calls: lines "VERB RANKS RANK WHO NUMBER"
#   deaths.sh one DIR VERB RANKS RANK WHO N HOW
#                                      one run with a death, and the next one without; a line
#                                      "VERB RANKS RANK WHO N HOW CODE TENTHS VERDICT WORD...": the
#                                      verdict is `none` (there is no such call), `good` or `bad`
#   deaths.sh delay DIR VERB RANKS SEED
#                                      one run whose calls are delayed; the same line
#
# HPS_LAUNCHER_FLAGS: words for a launcher that ends nobody, whatever becomes of a rank; its code is
# its own then. HPS_DEATH_KEEP=DIR: where runs that went wrong are kept.

# `apart` is `train` on ranks that share no memory, `served` on one that trains, with servers, whose
# messages are of asynchronous workers.
verbs='train apart served check plan eval'
most_s=${HPS_DEATH_SECONDS:-240}    # a run that lasts longer hangs
step=run/checkpoint/step_000000002.h5

# -- verbs -----------------------------------------------------------------------------------------

# program RANKS ARGUMENT...: on ranks that do what $bad says (words of env) in bounded time
program() {
    hps_ranks=$1
    shift
    # shellcheck disable=SC2086 # words
    timeout -k 5 "$most_s" "$MPIEXEC" $MPIEXEC_FLAGS $HPS_LAUNCHER_FLAGS -n "$hps_ranks" \
        env HPS_DEATH="$scratch" HETERPS_START_SECONDS=120 $bad "$HETERPS" "$@"
}

# run_verb VERB RANKS ARGUMENT...: in a folder that looks like the world
run_verb() {
    hps_verb=$1 hps_n=$2 hps_plan=plan.$2.json
    shift 2
    case $hps_verb in
    train) set -- train deck.yaml "$@" ;;
    apart) set -- train deck.yaml "$@" && export HETERPS_SHARED_MEMORY=0 ;;
    served)
        hps_plan=plan.1.json
        set -- train deck.yaml --set storage.servers=$((hps_n - 1)) \
            --set train.synchronization=asp "$@" ;;
    check) set -- train deck.yaml --check "$@" ;;
    plan) set -- plan deck.yaml --json p.json "$@" ;;
    eval) set -- eval deck.yaml --checkpoint $step --predictions told.h5 --json told.json "$@" ;;
    *) echo "deaths.sh: no verb $1" >&2; return 64 ;;
    esac
    program "$hps_n" "$@" --set "schedule.plan=$hps_plan"
}

# results VERB: what must be the same in the end, whatever happened before
results() {
    case $1 in
    train | apart | served)
        for hps_key in steps examples train_loss test_auc test_logloss; do
            number run/report.json $hps_key
        done
        grep -o '"state": *"[a-z]*"' run/status.json
        (cd run/checkpoint && echo ./*) ;;
    check) grep 'nothing was run' out ;;
    plan) number p.json cost_usd ;;
    eval) cksum told.json && h5_bytes told.h5 ;;
    esac 2>&1
}

# h5_bytes FILE: what is in it
h5_bytes() {
    "$HETERPS" info "$1"
    ! command -v h5dump >/dev/null || h5dump "$1"
}

# -- the world -------------------------------------------------------------------------------------

deck() {
    cat <<'D'
run:        {name: deaths, directory: run, threads: 1}
data:       {train: data/train.h5, test: data/test.h5, batch: 16, microbatches: 2}
model:
  - {name: ids,  type: embedding, slots: all, dim: 2}
  - {name: nums, type: dense_input}
  - {name: both, type: concat, inputs: [ids, nums]}
  - {name: h1,   type: fc, width: 4, activation: relu}
  - {name: deep, type: fc, width: 1}
  - {name: wide, type: embedding, slots: all, dim: 1, combine: sum, exchange: bags}
  - {name: out,  type: add, inputs: [deep, wide]}
  - {name: loss, type: logistic}
train:      {epochs: 0, steps: 4}
resources:
  - {name: cpu, match: "*", price_usd_hour: 0.04, price_per: core}
schedule:   {method: file, profile: profile.json}
checkpoint: {interval_steps: 1, keep: 3}
D
}

# made COMMAND...: must succeed
made() {
    "$@" >out 2>err || {
        hps_rc=$?
        cat out err >&2
        echo "deaths.sh: $* ended with $hps_rc" >&2
        exit 1
    }
}

# layout RANKS: one stage, or two where there are enough
layout() {
    case $1 in
    1 | 2) plan_file 8 '' "$1" ;;
    3) plan_file 8 4 '1 2' ;;
    *) plan_file 8 4 '2 2' ;;
    esac
}

# before VERB: whose run to step 2 it goes on from
before() { case $1 in served) echo served ;; *) echo train ;; esac; }

# The files of all runs, and in before.VERB.RANKS those of a run that came to step 2.
make_world() {
    world=$1
    shift
    [ -f "$bad_mpi" ] || { echo "deaths.sh: no $bad_mpi: make tests/lib/bad_mpi.so" >&2; exit 1; }
    mkdir -p "$world/world/data" "$world/ref" "$world/tmp" && cd "$world/world" || exit 1
    scratch=$world bad=
    deck >deck.yaml
    gzip -dc "$srcdir/inputs/census/adult.csv.gz" | head -n 151 >small.csv
    made heterps import csv --schema "$srcdir/inputs/census.schema.yaml" \
        --output data/train.h5 --test-output data/test.h5 small.csv
    made heterps train deck.yaml --set train.steps=1 --set run.directory=first \
        --set schedule.method=single:cpu --set schedule.profile=
    cp first/profile.json profile.json
    rm -r first
    for n in 1 "$@"; do
        layout "$n" >"plan.$n.json"
    done
    for n in "$@"; do
        for verb in train served; do
            made run_verb $verb "$n" --set train.steps=2
            rm out err
            mv run "$world/before.$verb.$n"
        done
    done
    for n in "$@"; do
        for verb in $verbs; do
            (undisturbed) &
        done
        wait
        for verb in $verbs; do
            [ -f "$world/ref/$verb.$n" ] || exit 1
        done
    done
}

undisturbed() {
    enter
    bad="LD_PRELOAD=$bad_mpi BAD_MPI_LOG=$world/ref/calls.$verb.$n"
    made run_verb "$verb" "$n"
    results "$verb" >"$scratch.results"
    mv "$scratch.results" "$world/ref/$verb.$n"
    leave
}

# enter: a scratch copy, and memory that ranks share where it can be seen; leave: away with it
enter() {
    scratch=$(mktemp -d "$world/tmp/XXXXXX") && cp -R "$world/world/." "$scratch" &&
        cp -R "$world/before.$(before "$verb").$n" "$scratch/run" &&
        cd "$scratch" && mkdir shm || exit 1
    export OMPI_MCA_btl_vader_backing_directory="$scratch/shm"
}
leave() {
    cd / || exit 1
    rm -rf "$scratch" "$scratch".*
}

sums() { find data run ./*.json -type f | sort | xargs cksum; }

# counted RANKS
counted() {
    for hps_verb in $verbs; do
        for file in "$world/ref/calls.$hps_verb.$1".*; do
            awk -v what="$hps_verb $1 ${file##*.}" '{ n[$1]++ }
                END { for (who in n) print what, who, n[who] }' "$file"
        done
    done | sort
}

# -- one death -------------------------------------------------------------------------------------

# left: the processes of this run that there are
left() {
    grep -l -z -x -F "HPS_DEATH=$scratch" /proc/[0-9]*/environ 2>/dev/null |
        sed -n 's,/proc/\([0-9]*\)/.*,\1,p' | tr '\n' ' '
}

# gone: soon there are none
gone() {
    for _ in $(seq 300); do            # a disk may be slow
        [ -n "$(left)" ] || return 0
        sleep 0.1
    done
    echo "left behind: $(left)"
    # shellcheck disable=SC2046 # numbers
    kill -KILL $(left) 2>/dev/null
}

# said: what became of whom
said() {
    case $how in
    stop | sleep) grep -q 'error: ' err ;;
    *) grep -q -E "process rank $rank with|,$rank\]|error: " err ;;
    esac || echo 'nothing is said'
}

# harmed: files that were whole before and are not, and new ones that are not
harmed() {
    sums >"$scratch.after"
    cat "$scratch.before" "$scratch.after" | cut -d ' ' -f 3 | sort -u | while read -r file; do
        was=$(grep " $file\$" "$scratch.before")
        now=$(grep " $file\$" "$scratch.after")
        case $file/$was/$now in
        */"$was/$was") ;;
        run/checkpoint/step_000000001.h5/*/) ;;         # older ones go where newer ones are whole
        run/checkpoint/.rate/*) ;;                      # of a measurement; each run makes it anew
        */) echo "lost $file" ;;
        run/"checkpoint/${step##*/}"/* | data/*) echo "changed $file" ;;
        *) whole "$file" || echo "broken $file" ;;
        esac
    done
}

# shared: memory that nobody has any more and that has a name all the same
shared() {
    [ -z "$(ls shm)" ] || echo "shared memory stays: $(ls shm)"
}

# law: what is wrong with this run; nothing: all is well. A death is not hidden by the code of
# others, who find that rank gone.
law() {
    case $how/$rc${HPS_LAUNCHER_FLAGS:+/own} in
    */124) echo 'it hangs' ;;
    */own | kill/137 | abort/134 | exit/[1-9]* | stop/70 | sleep/70)
        [ "$tenths" -lt $((most_s * 10)) ] || echo 'it hangs' ;;
    *) echo "it ended with $rc" ;;
    esac
    gone
    said
    shared
    harmed
}

# next_run: goes on by itself, to the same end
next_run() {
    bad=
    run_verb "$verb" "$n" >out 2>"$scratch.next" ||
        echo "the next run ended with $?: $(grep error: "$scratch.next")"
    case $verb in
    train | apart | served) grep -q 'going on from\|the run is finished' "$scratch.next" ||
        echo 'the next run began anew' ;;
    esac
    results "$verb" | cmp -s - "$world/ref/$verb.$n" || echo 'the next run has another result'
    gone
    shared
    [ -z "$(find . -name '*.part*')" ] || echo "half a file stays: $(find . -name '*.part*')"
}

# keep: the folder of a run that went wrong, under $HPS_DEATH_KEEP where that is set
keep() {
    [ -n "$HPS_DEATH_KEEP" ] || return 0
    hps_kept=$HPS_DEATH_KEEP/$(echo "$case" | tr ' ' .)
    rm -rf "$hps_kept" && mkdir -p "$hps_kept" && cp -R "$scratch/." "$scratch".* "$hps_kept"
}

# judge VERDICT WORD...: `good` is `bad` where something is $wrong
judge() {
    if [ -n "$wrong" ]; then
        echo "$case $rc $tenths bad $wrong"
        keep
    else
        echo "$case $rc $tenths $*"
    fi
    leave
}

# timed ARGUMENT...: the run; its code, and how long it took
timed() {
    hps_began=$(date +%s%N)
    run_verb "$verb" "$n" "$@" >out 2>err
    rc=$?
    tenths=$((($(date +%s%N) - hps_began) / 100000000))
}

one() {
    case=$*
    verb=$1 n=$2 rank=$3 how=$6
    enter
    sums >"$scratch.before"
    bad="LD_PRELOAD=$bad_mpi BAD_MPI_MARK=$scratch.mark BAD_MPI_END=$3:$4:$5:$6"
    case $how in
    stop | sleep) timed --set run.stall_seconds=2 ;;
    *) timed ;;
    esac
    if [ -f "$scratch.mark" ]; then
        wrong=$( (law; next_run) | tr '\n' ';')
        judge good "$(cut -d ' ' -f 3 "$scratch.mark"): $(grep -h -m 1 'error: ' err)"
    else
        wrong=
        [ $rc -eq 0 ] || wrong="it ended so, though nobody died: $(grep error: err);"
        judge none
    fi
}

delay() {
    case="$1 $2 all all $3 delay"
    verb=$1 n=$2
    enter
    bad="LD_PRELOAD=$bad_mpi BAD_MPI_DELAY=$3"
    timed
    wrong=
    [ $rc -eq 0 ] || wrong="it ended so: $(grep error: err);"
    results "$verb" | cmp -s - "$world/ref/$verb.$n" || wrong="${wrong}another result;"
    judge good
}

srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
HPS_TMP=${HPS_TMP:-/tmp}
. "$srcdir/tests/lib/env.sh"
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
. "$srcdir/tests/lib/whole.sh"
export OMP_WAIT_POLICY=passive OMPI_MCA_mpi_yield_when_idle=1
bad_mpi=$(cd "${HETERPS%/*}" && pwd -P)/tests/lib/bad_mpi.so
act=$1 world=$2
shift 2
case $act in
world) make_world "$world" "$@" ;;
count) counted "$1" ;;
one) one "$@" ;;
delay) delay "$@" ;;
*) echo "deaths.sh: no $act" >&2; exit 64 ;;
esac
