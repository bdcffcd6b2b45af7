#!/bin/sh
# Whatever is wrong with what the user gave, the program ends with its own exit code and one clear
# line that names the place, on any number of ranks, and leaves nothing half-written.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census
deck=$srcdir/inputs/census.yaml

# refuse CODE PATTERN ARGUMENT...: train on two ranks says one error and leaves no checkpoint
refuse() {
    rm -rf runs
    hps_want=$1 hps_says=$2
    shift 2
    expect "$hps_want" "$hps_says" ranks 2 train "$@"
    [ "$(grep -c 'error: ' err)" -eq 1 ] || { fail 'not one error'; cat err; }
    [ -z "$(find runs -name '*.h5*' 2>/dev/null)" ] || fail 'something was written'
}

echo '-- the command line'
refuse 64 'operand is missing'
refuse 64 'unknown option .--sets.; did you mean .--set' "$deck" --sets a=b
refuse 64 'KEY=VALUE is wanted' "$deck" --set train.steps
refuse 66 'nowhere.yaml' nowhere.yaml

echo '-- a launcher of another MPI, which starts as many runs of one rank'
expect 64 'MPICH.* started 4 processes .PMI_SIZE.*Open MPI' env PMI_SIZE=4 PMI_RANK=0 \
    "$HETERPS" train "$deck"
expect 64 'srun started 3 processes' env SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0 \
    "$HETERPS" eval "$deck"
# all that makes Open MPI itself give up, with a page about it
bare='SLURM_JOBID=1 SLURM_NODELIST=n1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3'
# shellcheck disable=SC2086 # words
expect 64 'srun started 3 processes' env $bare SLURM_PROCID=0 "$HETERPS" train "$deck"
[ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(head -n 5 err)"
# shellcheck disable=SC2086 # words
expect 64 '' env $bare SLURM_PROCID=2 "$HETERPS" train "$deck"
[ ! -s err ] || fail 'more than one of them speaks'
expect 0 '' env SLURM_NTASKS=4 SLURM_PROCID=0 "$HETERPS" train "$deck" --check
expect 0 '' env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 "$MPIEXEC" $MPIEXEC_FLAGS -n 2 "$HETERPS" \
    train "$deck" --check

echo '-- the deck'
cp "$deck" bad.yaml
sed -i 's/epochs: 6/epoch: 6/' bad.yaml
refuse 65 'bad.yaml:[0-9]+:[0-9]+:.*epoch.*epochs' bad.yaml
refuse 65 'above 512' "$deck" --set run.threads=4096
refuse 65 'train.steps=many' "$deck" --set train.steps=many
refuse 65 'learning_rate' "$deck" --set train.learning_rate=-1
refuse 65 'microbatches' "$deck" --set data.batch=4 --set data.microbatches=5
refuse 65 'epochs' "$deck" --set train.epochs=0 --set train.steps=0
refuse 65 'optimizer.*sgd' "$deck" --set train.optimizer=lion
refuse 65 'nothere' "$deck" --set model.h1.inputs=nothere
refuse 65 'slot.*planet|planet' "$deck" --set 'model.ids.slots=[planet]'
refuse 65 'no plan fits the memory.*layer ids needs 2.56e.17 bytes on each of 2 unit' "$deck" \
    --set model.ids.buckets=1000000000000000
refuse 65 'method' "$deck" --set schedule.method=magic
refuse 65 'no_such_type|single' "$deck" --set schedule.method=single:no_such_type
refuse 65 'servers' "$deck" --set storage.servers=2
printf 'run: {name: x\n' >broken.yaml
refuse 65 'broken.yaml:[0-9]+:[0-9]+' broken.yaml
expect 0 '' ranks 2 train "$deck" --set data.batch=250 --set data.microbatches=7 --set train.steps=2

refuse 65 'run.name' "$deck" --set run.name=..

echo '-- the plan'
refuse 65 '1e\+?12|1000000000000|examples/s' "$deck" --set schedule.throughput_limit=1e12
plan_file 7 '' 2 >plan.json
refuse 65 'plan.json' "$deck" --set schedule.method=file --set schedule.plan=plan.json
plan_file 8 '' 9 >plan.json
refuse 65 'plan.json' "$deck" --set schedule.method=file --set schedule.plan=plan.json
refuse 66 'none.json' "$deck" --set schedule.method=file --set schedule.plan=none.json
refuse 66 'none.json' "$deck" --set schedule.profile=none.json

echo '-- the data'
refuse 66 'none.h5' "$deck" --set data.train=none.h5
head -c 4000 data/census_train.h5 >short.h5
refuse 65 'short.h5' "$deck" --set data.train=short.h5
echo 'I am no HDF5 file' >foreign.h5
refuse 65 'foreign.h5' "$deck" --set data.train=foreign.h5
: >empty.h5
refuse 65 'empty.h5' "$deck" --set data.train=empty.h5
refuse 66 '.' "$deck" --set data.train=.

echo '-- the loss is not finite'
refuse 65 'not finite' "$deck" --set train.learning_rate=1e6 --set train.optimizer=sgd

echo '-- where the run writes'
: >file
refuse 73 'file' "$deck" --set run.directory=file/run
refuse 73 'proc|cannot' "$deck" --set run.directory=/proc/heterps
refuse 73 'checkpoints into .*file/deep' "$deck" --set "checkpoint.directory=$HPS_TMP/file/deep"
grep -q 'training:' err && fail 'it trained before it saw that nothing can be kept'
expect 0 '' ranks 2 train "$deck" --set train.steps=2 --set 'checkpoint.directory=a b/c'

echo '-- a file cannot be closed'
if cc -shared -fPIC -w -o fail_close.so "$srcdir/tests/lib/fail_close.c" 2>/dev/null; then
    # closes PATH CODE PATTERN: train, and no close of that file succeeds
    closes() {
        expect "$2" "$3" env LD_PRELOAD="$HPS_TMP/fail_close.so" FAIL_CLOSE="$1" "$HETERPS" \
            train "$deck" --restart never --set train.steps=2 --set schedule.method=single:cpu
        [ "$(grep -c 'error: ' err)" -eq 1 ] || { fail 'not one error'; cat err; }
    }
    closes data/census_train.h5 66 'census_train.h5: cannot be closed: Input/output error'
    closes perf.h5.part 73 'perf.h5.part: cannot be written: Input/output error'
else
    echo 'not tried: no compiler at hand'
fi

echo '-- no space left'
mkdir small
disk() { mount -t tmpfs -o "size=$1" none small 2>mount.log; }
if disk 64k; then
    echo '-- for the checkpoint'
    expect 73 'step_|checkpoint|space|small' ranks 2 train "$deck" --set train.steps=5 \
        --set model.h1.width=4000 --set run.directory=small/run
    [ -z "$(find small -name '*.part')" ] || fail 'a part of a checkpoint stayed'
    umount small
    lean='--set model.h1.width=16 --set schedule.method=single:cpu --set run.directory=small/run'
    saved=small/run/checkpoint

    echo '-- for anything, and somebody else has it'
    disk 160k
    # shellcheck disable=SC2086 # words
    expect 0 '' heterps train "$deck" $lean --set train.steps=5
    cat /dev/zero >small/fill 2>/dev/null
    # shellcheck disable=SC2086 # words
    expect 73 'small/p.h5' heterps eval "$deck" $lean --checkpoint $saved/step_000000005.h5 \
        --predictions small/p.h5
    [ "$(grep -c 'error: ' err)" -eq 1 ] || { fail 'not one error'; cat err; }
    truncate -s -4096 small/fill    # room for the lock, so that it is a run
    # shellcheck disable=SC2086 # words
    expect 73 'small/run' heterps train "$deck" $lean --set train.steps=9
    grep -q '"state": "failed".*"exit_code": 73' small/run/status.json ||
        fail "the status is $(cat small/run/status.json)"
    expect 0 '' heterps info $saved/step_000000005.h5
    [ -z "$(find small -name '*.part' -o -name 'p.h5*')" ] || fail 'a part of a file stayed'
    umount small

    echo '-- for perf.h5'
    disk 120k
    # shellcheck disable=SC2086 # words
    expect 73 'small/run/perf.h5' ranks 2 train "$deck" $lean --set train.steps=30 \
        --set perf.trace=true
    [ "$(grep -c 'error: ' err)" -eq 1 ] || { fail 'not one error'; cat err; }
    expect 0 '' heterps info $saved/step_000000030.h5
    grep -q '"state": "failed".*"exit_code": 73' small/run/status.json || fail 'the status'
    umount small
else
    echo 'not tried: no tmpfs can be mounted here'
fi
verdict
