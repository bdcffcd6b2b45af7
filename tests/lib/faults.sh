#!/bin/sh
# faults.sh - every call fails once: a short run of each verb, of which the n-th call of a kind
# fails (fail_call.c). What must hold is in `law`. tests/e2e/e_faults_calls.sh draws a sample,
# perf/scripts/faults.sh does all. A verb is a word in `verbs` and a line in `run_verb`, `results`
# and, where it needs one, `prepare`; a kind is a line of `kinds`.
#
#   faults.sh verbs                            their names, VERB or VERB@RANK
#   faults.sh world DIR VERB...                makes the files that each run begins with, the
#                                              shim, and what each verb gives undisturbed
#   faults.sh count DIR VERB...                their calls: lines "VERB KIND FROM MODE NUMBER"
#   faults.sh places DIR VERB KIND FROM        those n that are the first of their place in the
#                                              source
#   faults.sh one DIR VERB KIND FROM MODE N    one run with a fault, and the next one without;
#                                              answers a line, see `answer`
# KIND may be KIND=ERRNO. VERB@RANK: on that rank only.

# shellcheck disable=SC2034 # read by the scripts
verbs='train restart ranks@0 ranks@2 eval import append split plan report info generate deck'

# what to try: kind, whose calls, mode. YAML's library, of whose failures the program hears as a
# result, is held to the same law as its own calls.
# shellcheck disable=SC2034
kinds='memory own once
memory own on
map own once
open own once
read own once
read=4 own once
write own once
write own on
write=4 own once
short own once
stream own once
stream own on
sync own once
size own once
rename own once
close own once
folder own once
facts own once
spawn own once
lock own once
thread own once
thread own on
memory libyaml once
memory library once
map library once
open library once
read library once
write library once
short library once
size library once
sync library once
close library once
thread library once'

# functions that have another way where a call fails, and need not say so: a status is written over
excused='hps_status_write'

# what an error may name: a file or folder, a stream, or what else there was none of
named='(/|\.[a-z0-9]+|standard (in|out)put|memory|thread|run directory'
named="$named|MPI has not started|no progress)"

# what the MPI library writes to its own launcher, which is nothing of a run's
runtime='libevent|libpmix|libopen-'

most_s=${HPS_FAULT_SECONDS:-60}  # no run may last longer: it lasts one second
export HETERPS_START_SECONDS=20  # where MPI does not begin for want of such a write

# -- verbs -----------------------------------------------------------------------------------------

# program ARGUMENT...: with the fault that $fault says (words of env), in bounded time
program() {
    # shellcheck disable=SC2086 # words
    timeout -k 5 "$most_s" env $fault "$HETERPS" "$@"
}

program_ranks() {
    hps_x=
    for hps_word in $fault; do hps_x="$hps_x -x $hps_word"; done
    hps_n=$1
    shift
    # shellcheck disable=SC2086
    timeout -k 5 "$most_s" "$MPIEXEC" $MPIEXEC_FLAGS -n "$hps_n" $hps_x "$HETERPS" "$@"
}

# run_verb VERB: in a folder that looks like the world
run_verb() {
    schema="--schema $srcdir/inputs/census.schema.yaml"
    # shellcheck disable=SC2086
    case $1 in
    train | restart) program train deck.yaml ;;
    ranks) program_ranks 3 train deck.yaml --set schedule.method=file \
        --set schedule.plan=ranks.json ;;
    eval) program eval deck.yaml --checkpoint run/checkpoint/step_000000002.h5 \
        --predictions p.h5 --json e.json ;;
    import) program import csv $schema --output new.h5 --test-output new_test.h5 small.csv.gz ;;
    append) program import csv $schema --append --output data/more.h5 small.csv ;;
    split) program import criteo --split random --test-output new_test.h5 --dense zscore \
        --output new.h5 - <lines.txt ;;
    plan) program plan deck.yaml --json p.json --sbatch p.sh --pareto p.svg --method greedy ;;
    report) program report run --json r.json --html r.html --trace r.trace ;;
    info) program info data/train.h5 run/checkpoint/step_000000002.h5 run/perf.h5 profile.json \
        --json i.json ;;
    generate) program generate deck.yaml --rows 500 --output new.h5 ;;
    deck) program deck ;;
    *) echo "faults.sh: no verb $1" >&2; return 64 ;;
    esac
}

# prepare VERB: what of the world it begins without
prepare() {
    case $1 in
    train) rm -r run ;;
    esac
}

# results VERB: what must be the same in the end, whatever happened before
results() {
    case $1 in
    train | restart | ranks)
        for hps_key in steps examples train_loss test_auc test_logloss; do
            number run/report.json $hps_key
        done
        grep -o '"state": *"[a-z]*"' run/status.json
        (cd run/checkpoint && echo ./*) ;;
    eval) cksum e.json; "$HETERPS" info p.h5; ! command -v h5dump >/dev/null || h5dump p.h5 ;;
    import | split) content new.h5 new_test.h5 ;;
    append) content data/more.h5 ;;
    plan) number p.json cost_usd; cksum p.svg; wc -l <p.sh ;;
    report) cksum r.json r.html r.trace ;;
    info) cksum i.json ;;
    generate) content new.h5 ;;
    deck) cksum out ;;
    esac 2>&1
}

# content FILE...: of datasets, whatever the date in them
content() {
    for hps_file in "$@"; do
        "$HETERPS" info "$hps_file" --json - | grep -E '"(checksum|examples)"'
    done
}

# -- the world -------------------------------------------------------------------------------------

deck() {
    cat <<'D'
run:        {name: faults, seed: 1, directory: run, threads: 1, stall_seconds: 20}
data:       {train: data/train.h5, test: data/test.h5, batch: 64, microbatches: 2}
model:
  - {name: ids,  type: embedding, slots: all, dim: 2}
  - {name: nums, type: dense_input}
  - {name: both, type: concat, inputs: [ids, nums]}
  - {name: h1,   type: fc, width: 4, activation: relu}
  - {name: deep, type: fc, width: 1}
  - {name: wide, type: embedding, slots: all, dim: 1, combine: sum}
  - {name: out,  type: add, inputs: [deep, wide]}
  - {name: loss, type: logistic}
train:      {optimizer: adagrad, learning_rate: 0.05, epochs: 0, steps: 4}
resources:
  - {name: cpu, match: "*", price_usd_hour: 0.04, price_per: core}
schedule:   {method: "single:cpu", profile: profile.json, evaluations: 100}
checkpoint: {interval_steps: 2}
D
}

# made COMMAND...: must succeed
made() {
    "$@" >out 2>err
    hps_rc=$?
    [ $hps_rc -ne 0 ] || return 0
    cat out err >&2
    echo "faults.sh: $* ended with $hps_rc" >&2
    exit 1
}

make_world() {
    mkdir -p "$1/world/data" "$1/ref" "$1/tmp" && cd "$1/world" || exit 1
    cc -O1 -g -shared -fPIC -w -o "$1/fail_call.so" "$srcdir/tests/lib/fail_call.c" || exit 77
    deck >deck.yaml
    gzip -dc "$srcdir/inputs/census/adult.csv.gz" | head -n 601 >small.csv
    gzip -n <small.csv >small.csv.gz
    awk 'BEGIN { for (i = 0; i < 300; i++) {
        o = i % 4 == 0
        for (d = 0; d < 13; d++) o = o "\t" ((i + d) % 5 ? (i * 7 + d) % 300 : "")
        for (c = 0; c < 26; c++) o = o "\t" ((i + c) % 9 ? sprintf("%08x", i * 31 % 97 + c) : "")
        print o } }' >lines.txt
    fault=
    schema="--schema $srcdir/inputs/census.schema.yaml"
    # shellcheck disable=SC2086
    made program import csv $schema --output data/train.h5 --test-output data/test.h5 small.csv
    # shellcheck disable=SC2086
    made program import csv $schema --output data/more.h5 small.csv
    made program train deck.yaml --set train.steps=2 --set perf.trace=true --set schedule.profile=
    cp run/profile.json profile.json
    plan_file 8 3 '2 1' >ranks.json     # two that share memory, and a stage behind them
    rm out err
    world=$1
    shift
    for hps_verb in "$@"; do make_reference "$hps_verb"; done
}

# make_reference VERB: what it gives, and its calls: lines "KIND OBJECT NUMBER"
make_reference() {
    hps_name=${1%@*}
    enter "$world" "$hps_name"
    fault="LD_PRELOAD=$world/fail_call.so FAIL_COUNTS=$world/ref/$1.calls"
    case $1 in *@*) fault="$fault FAIL_RANK=${1#*@}" ;; esac
    made run_verb "$hps_name"
    results "$hps_name" >"$world/ref/$hps_name"
    sums >"$world/ref/$hps_name.sums"
    leave
}

# enter WORLD VERB: a scratch copy, with what the verb begins with; leave: away with it
enter() {
    scratch=$(mktemp -d "$1/tmp/XXXXXX") && cp -R "$1/world/." "$scratch" && cd "$scratch" || exit 1
    prepare "$2"
}
leave() { cd / && rm -rf "$scratch"; }

sums() { find . -type f ! -name out ! -name err | sort | xargs cksum; }

# -- one fault -------------------------------------------------------------------------------------

# fault_of WORLD KIND FROM MODE N RANK
fault_of() {
    fault="LD_PRELOAD=$1/fail_call.so FAIL_KIND=${2%=*} FAIL_FROM=$3 FAIL_MODE=$4 FAIL_N=$5"
    fault="$fault FAIL_LOG=$scratch.failed"
    case $2 in *=*) fault="$fault FAIL_ERRNO=${2#*=}" ;; esac
    [ -z "$6" ] || fault="$fault FAIL_RANK=$6"
}

# harmed VERB: files that were whole before and are not, and new ones that are not. A file outside
# of the run directory is as it was or as it should become; one in it is whole.
harmed() {
    sums >"$scratch.after"
    cat "$scratch.before" "$scratch.after" | cut -d ' ' -f 3 | sort -u | while read -r hps_file; do
        hps_was=$(grep " $hps_file\$" "$scratch.before")
        hps_now=$(grep " $hps_file\$" "$scratch.after")
        [ "$hps_was" != "$hps_now" ] || continue
        case $hps_file/$hps_now in
        *.part/*) ;;                                    # `law` looks for these
        ./run/checkpoint/step_*/) ;;                    # older ones go where newer ones are whole
        */) echo "lost $hps_file" ;;
        ./run/*) grep -q -x -F "$hps_now" "$world/ref/$1.sums" || whole "$hps_file" ||
            echo "broken $hps_file" ;;
        *) if [ -n "$hps_was" ]; then
            results "$1" | cmp -s - "$world/ref/$1" || echo "harmed $hps_file"
        else
            whole "$hps_file" || echo "broken $hps_file"
        fi ;;
        esac
    done
}

# answer VERDICT WORD...: the line of this run; VERDICT is `none` (there is no such call), `good`,
# `crash` (in a library's own failure), `bad`
answer() {
    echo "$verb $kind $from $mode $n $rc $took $*"
}

# place: which of the program's functions made the call that failed
place() {
    hps_frames=$(tr ' ' '\n' <"$scratch.failed" | sed -n 's/^own+//p' | head -n 4)
    # shellcheck disable=SC2086
    addr2line -s -p -f -e "$HETERPS" $hps_frames 2>/dev/null |
        sed 's/ at \([^ ]*\).*/(\1)/; s/hps_mem_[a-z]*([^)]*)//' | tr '\n' ' '
}

# keep: the folder of a run that went wrong, under $HPS_FAULT_KEEP where that is set
keep() {
    [ -n "$HPS_FAULT_KEEP" ] || return 0
    hps_kept=$HPS_FAULT_KEEP/$verb.$kind.$from.$mode.$n
    rm -rf "$hps_kept" && mkdir -p "$hps_kept" && cp -R "$scratch/." "$scratch".* "$hps_kept"
}

# law VERB: what is wrong with this run; nothing: all is well
law() {
    case $rc in
    124 | 137) echo "it hangs"; return ;;
    0 | 64 | 65 | 66 | 70 | 73 | 75) ;;
    *) echo "exit code $rc"; return ;;
    esac
    harmed "$1"
    case $rc in
    0)
        results "$1" | cmp -s - "$world/ref/$1" || echo "0, and another result"
        ! grep -q '\] error: ' err || echo "0, but an error is said"
        # what did not reach the disk must be said; what was not read may be of no use
        case $kind in
        write | stream | rename | folder)
            grep -q 'warning: ' err || place | grep -q -E "$excused" ||
                grep -q -E "$runtime" "$scratch.failed" || echo "0 without a word" ;;
        sync) echo "0, and it may not be on the disk" ;;
        esac ;;
    *) grep -q -E "error: .*$named" err ||
        echo "no error is said that names what failed" ;;
    esac
    # a run that ends in disorder cannot tidy up
    if [ $rc -ne 70 ] && [ -n "$(find . -name '*.part')" ]; then
        echo "left $(find . -name '*.part' | tr '\n' ' ')"
    fi
}

# next_run VERB: goes on by itself, to the same end
next_run() {
    ! results "$1" | cmp -s - "$world/ref/$1" || return 0
    fault=
    run_verb "$1" >out 2>"$scratch.next" || { echo "the next run ended with $?"; return; }
    results "$1" | cmp -s - "$world/ref/$1" || { echo "the next run has another result"; return; }
    [ -z "$(find . -name '*.part')" ] || echo "the next run left $(find . -name '*.part')"
}

one() {
    world=$1 verb=$2 kind=$3 from=$4 mode=$5 n=$6
    name=${verb%@*} rank=
    case $verb in *@*) rank=${verb#*@} ;; esac
    enter "$world" "$name"
    sums >"$scratch.before"
    fault_of "$world" "$kind" "$from" "$mode" "$n" "$rank"
    hps_began=$(date +%s%N)
    run_verb "$name" >out 2>err
    rc=$?
    # Open MPI's launcher can die of SIGPIPE where its programs end at once: their own word counts
    case $name/$rc in ranks/141) rc=70 ;; esac
    took=$((($(date +%s%N) - hps_began) / 1000000))
    # where MPI does not start, which happens on a busy machine, that is said, and nothing can fail
    if [ ! -s "$scratch.failed" ] && { [ $rc -eq 0 ] || grep -q HETERPS_START_SECONDS err; }; then
        answer none
    elif [ ! -s "$scratch.failed" ]; then
        answer bad "no call fails, and it ends so: $(tail -n 1 err)"
        keep
    else
        wrong=$(law "$name" | tr '\n' ';')
        [ -n "$wrong" ] || wrong=$(next_run "$name" | tr '\n' ';')
        said=$(grep -h -E 'error: |warning: ' err | head -n 1)
        case "$wrong/$from/$rc" in
        /*) answer good "$(place)| $said" ;;
        'exit code'*/library/*) answer crash "$(harmed "$name") $(tail -n 1 err)" ;;
        *) answer bad "$wrong $(place)| $said"
            keep ;;
        esac
    fi
    leave
    rm -f "$scratch".*
}

# count_calls WORLD VERB...: for each line of `kinds` how many calls there are
count_calls() {
    world=$1
    shift
    for verb in "$@"; do
        echo "$kinds" | while read -r kind from mode; do
            awk -v verb="$verb" -v kind="$kind" -v from="$from" -v mode="$mode" '
                function is(object) {
                    if (from == "library") return object != "own"
                    return from == "own" ? object == from : index(object, from)
                }
                BEGIN { split(kind, k, "=") }
                $1 == k[1] && is($2) { n += $3 }
                END { if (n) print verb, kind, from, mode, n }' "$world/ref/$verb.calls"
        done
    done
}

# find_places WORLD VERB KIND FROM
find_places() {
    enter "$1" "${2%@*}"
    fault="LD_PRELOAD=$1/fail_call.so FAIL_TRACE=$scratch.calls FAIL_KIND=${3%=*} FAIL_FROM=$4"
    case $2 in *@*) fault="$fault FAIL_RANK=${2#*@}" ;; esac
    run_verb "${2%@*}" >out 2>err
    awk '!seen[$0]++ { print NR }' "$scratch.calls"
    leave
    rm -f "$scratch".*
}

srcdir=${srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
HPS_TMP=${HPS_TMP:-/tmp}
. "$srcdir/tests/lib/env.sh"
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
. "$srcdir/tests/lib/whole.sh"
export OMP_WAIT_POLICY=passive OMPI_MCA_mpi_yield_when_idle=1
hps_task=$1
shift
case $hps_task in
verbs) echo "$verbs" | tr ' ' '\n' ;;
world) make_world "$@" ;;
count) count_calls "$@" ;;
places) find_places "$@" ;;
one) one "$@" ;;
esac
