#!/bin/sh
# Tables of which memory has a quarter of the rows or less: losses, evaluation and every row of the
# checkpoint are bit for bit those of tables that are all in memory, on any number of ranks, in any
# form in which rows are kept, read and updated, with servers and stages. A run goes on from a
# checkpoint with another memory, from all and to all. What cannot be is refused, by name.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

wide
measured=measured.json          # once: what is measured changes no bit

# run NAME RANKS "CUTS" "UNITS" ARGUMENT...
run() {
    name=$1 n=$2
    plan_file 8 "$3" "$4" >plan.json
    shift 4
    # shellcheck disable=SC2046 # words
    expect 0 '' ranks "$n" train wide.yaml --set schedule.method=file \
        --set schedule.plan=plan.json --set "run.directory=$name" --set run.threads=1 \
        --set train.steps=25 --set checkpoint.keep=9 $(profile_of "$measured") "$@"
    [ -z "$measured" ] || keep_profile "$measured" "$name"
}
# both BYTES RANKS "CUTS" "UNITS" ARGUMENT...: in all memory and in so much
both() {
    bytes=$1
    shift
    rm -rf all some
    run all "$@"
    run some "$@" --set "storage.host_memory=$bytes" --set storage.file=disk
    equals some all
    paged some
}

# two of them have checkpoints and evaluations on the way, below
for n in 1 3 4; do
    echo "-- $n ranks"
    both $((300000 / n)) $n '' $n
done
grep -q '^rows of rows: .* % in memory; .* read, .* written, waited .* s' out ||
    fail 'the table does not say what moved'
[ -z "$(ls disk)" ] || fail 'files are left'

echo '-- rules, codecs, forms'
both 260000 1 '' 1 --set train.optimizer=adam
both 190000 2 '' 2 --set train.optimizer=adam --set train.clip=0.1 --set data.microbatches=5
both 110000 2 '' 2 --set train.table_optimizer=row_adagrad
both 190000 1 '' 1 --set train.table_optimizer=sgd
both 190000 1 '' 1 --set storage.rows=int8
both 90000 3 '' 3 --set storage.rows=bf16 --set storage.states=bf16
sums='--set model.ids.exchange=bags --set model.wide.exchange=bags'
# shellcheck disable=SC2086 # words
{
    both 380000 1 '' 1 $sums
    both 190000 2 '' 2 $sums
    both 90000 3 '' 3 $sums --set storage.rows=fp16
}
HETERPS_SHARED_MEMORY=0
export HETERPS_SHARED_MEMORY
both 150000 2 '' 2
unset HETERPS_SHARED_MEMORY

echo '-- stages, servers'
both 150000 3 1 '2 1'
both 300000 3 '' 2 --set storage.servers=1
both 150000 4 '' 2 --set storage.servers=2 --set train.clip=0.1

echo '-- 2 ranks, with checkpoints and evaluations on the way'
both 150000 2 '' 2 --set checkpoint.interval_steps=4 --set train.eval_interval_steps=5
for step in 4 12 20; do
    equal "$(rows some $step)" "$(rows all $step)"
done

echo '-- killed three times on the way, each start with its own measurements'
measured=
steps=100
# tormented STEP...: a rank is killed when the checkpoint of that step is there, and the run goes on
tormented() {
    rm -rf killed
    for step; do
        # shellcheck disable=SC2086 # several flags
        "$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$HETERPS" train wide.yaml --set schedule.method=file \
            --set schedule.plan=plan.json --set run.directory=killed --set run.threads=1 \
            --set train.steps=$steps --set checkpoint.interval_steps=10 --set storage.file=disk \
            --set storage.host_memory=150000 >out 2>err &
        job=$!
        saved=killed/checkpoint/step_$(printf %09d "$step").h5
        until [ -e "$saved" ] || ! kill -0 $job 2>/dev/null; do sleep 0.02; done
        kill -KILL "$(pgrep -P $job | tail -n 1)"
        wait $job && fail 'it ended before it was killed'
    done
    [ -z "$(ls disk)" ] || fail 'files are left'
}
run plain 2 '' 2 --set train.steps=$steps --set checkpoint.keep=1
tormented 10 30 60
run killed 2 '' 2 --set train.steps=$steps --set checkpoint.keep=1 --set storage.file=disk \
    --set storage.host_memory=150000
grep -q 'going on from killed/checkpoint/step_' err || fail 'it did not go on'
equals killed plain $steps

echo '-- a run goes on with other memory'
measured=measured.json
part='--set storage.file=disk --set storage.host_memory'
# shellcheck disable=SC2086 # words
{
    rm -rf on
    run on 2 '' 2 --set train.steps=8 $part=150000
    run on 2 '' 2 --set train.steps=16
    run on 2 '' 2 $part=110000
    equals on all
    rm -rf on
    run on 1 '' 1 --set train.steps=8
    run on 3 '' 3 --set train.steps=16 $part=90000
    run on 2 '' 2 --set storage.rows=bf16 $part=100000
    cp -r on other && rm -rf on
    run on 1 '' 1 --set train.steps=8
    run on 3 '' 3 --set train.steps=16
    run on 2 '' 2 --set storage.rows=bf16
    equals on other
}

echo '-- refused'
# no CODE PATTERN ARGUMENT...
no() {
    code=$1 pattern=$2
    shift 2
    rm -rf none
    expect "$code" "$pattern" ranks 2 train wide.yaml --set run.directory=none "$@"
}
no 65 'storage.host_memory.*given together' --set storage.host_memory=100000
no 65 'storage.file.*given together' --set storage.file=disk
no 65 'storage.host_memory=much' --set storage.host_memory=much --set storage.file=disk
# shellcheck disable=SC2086 # words
{
    no 65 'a step needs [0-9]* rows of table .rows. at this rank, there is room for' \
        --set data.batch=300 $part=120000
    no 65 'not enough for the index' $part=1000
}
no 73 'storage.file: nowhere: No such file' --set storage.host_memory=1e5 --set storage.file=nowhere
no 73 'storage.file: wide.h5: Not a dir' --set storage.host_memory=1e5 --set storage.file=wide.h5
[ "$(grep -c 'error: ' err)" -eq 1 ] || fail 'not one error'

echo '-- what a check says'
# shellcheck disable=SC2086 # words
expect 0 '' ranks 2 train wide.yaml --check $part=150000
shows '^rows: each of the 2 units of stage 0 has .* GB: 0.00015 in memory, .* in a file'
expect 0 'storage.host_memory: auto is .* GB of each rank' ranks 2 train wide.yaml --check \
    --set storage.host_memory=auto --set storage.file=disk
verdict
