#!/bin/sh
# quality.sh PEERS_FOLDER [RATINGS [CRITEO_LINES]] - networks trained by this program and once more
# by PyTorch, from the same weights on the same batches with the same rule: do both reach the same
# loss? PEERS_FOLDER: peers/README.md says what it holds. RATINGS: a folder as movielens.sh wants;
# CRITEO_LINES: a file as `heterps import criteo` does. STEPS (200).
if [ $# -lt 1 ] || [ ! -x "$1/fbgemm/bin/python" ]; then
    echo 'usage: perf/scripts/quality.sh PEERS_FOLDER [RATINGS [CRITEO_LINES]]' >&2
    exit 64
fi
python=$(cd "$1" && pwd)/fbgemm/bin/python
ratings=${2:+$(cd "$2" && pwd)} lines=${3:+$(cd "$(dirname "$3")" && pwd)/${3##*/}}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
"$python" -c 'import h5py, torch, yaml' 2>err || give_up "$python has no torch, h5py or yaml"
steps=${STEPS:-200} farthest=0 rough=0

# beside WHAT DATA DECK RANKS ARGUMENT...: a row. The run of one step at rate 0 leaves the weights
# that the other run begins with, in its checkpoint.
beside() {
    what=$1 data=$2 deck=$3 n=$4
    shift 4
    rm -rf runs
    set -- "inputs/$deck.yaml" --set "data.train=data/${data}_train.h5" \
        --set "data.test=data/${data}_test.h5" --set data.shuffle=false --set train.epochs=0 "$@"
    quiet build/heterps train "$@" --set schedule.method=single:cpu --set schedule.plan= \
        --set train.steps=1 --set train.learning_rate=0 --set run.directory=runs/first
    said mpirun -n "$n" build/heterps train "$@" --set train.steps="$steps" \
        --set run.directory=runs/it
    quiet "$python" -W ignore perf/peers/quality_torch.py runs/it \
        runs/first/checkpoint/step_000000001.h5
    read -r _ first last off worst rounding test test_off test_rounding <out
    off_most=$(larger "$off" "$test_off")
    if at_most "$rounding" 1e-3; then
        farthest=$(larger "$farthest" "$off_most")
    else
        rough=$(larger "$rough" "$(awk -v a="$off_most" -v b="$rounding" 'BEGIN { print a / b }')")
    fi
    row "$what" "$n" "$(digits 5 "$first")" "$(digits 5 "$last")" "$(digits 2 "$off")" \
        "$(digits 2 "$worst")" "$(digits 2 "$rounding")" "$(digits 5 "$test")" \
        "$(digits 2 "$test_off")" "$(digits 2 "$test_rounding")"
}

# made DECK RANKS TEXT ARGUMENT...: on generated data of Criteo's shape, batches of 256
made() {
    deck=$1 n=$2 text=$3
    shift 3
    if [ ! -f "data/${deck}_train.h5" ]; then
        said build/heterps generate "inputs/$deck.yaml" --rows $((steps * 275)) \
            --set "generate.buckets=$buckets" --output "data/${deck}_train.h5"
        ln -s "${deck}_train.h5" "data/${deck}_test.h5"
    fi
    beside "$deck, $text" "$deck" "$deck" "$n" --set data.batch=256 --set data.microbatches=2 "$@"
}

title "The same loss as PyTorch after $steps steps"
mkdir data
header network 'ranks' 'first loss' 'last loss, PyTorch' 'ours from it' 'worst of all steps' \
    'rounding alone' 'test loss, PyTorch' 'ours from it' 'rounding alone'

if [ -n "$ratings" ]; then
    import_movielens "$ratings"
    set -- --set model.drop.rate=0
    beside 'movielens, adagrad' movielens movielens 1 "$@"
    beside 'movielens, adagrad from 0.1' movielens movielens 2 "$@" \
        --set train.initial_accumulator=0.1
    beside 'movielens, adam' movielens movielens 1 "$@" --set train.optimizer=adam \
        --set train.learning_rate=0.001
    beside 'movielens, momentum and sgd (rows)' movielens movielens 1 "$@" \
        --set train.optimizer=momentum --set train.table_optimizer=sgd \
        --set train.learning_rate=0.01
    beside 'movielens, rmsprop' movielens movielens 1 "$@" --set train.optimizer=rmsprop \
        --set train.learning_rate=0.001
    beside 'movielens, lamb' movielens movielens 1 "$@" --set train.optimizer=lamb \
        --set train.learning_rate=0.01 --set train.l2=0.01
    beside 'movielens, ftrl with l1 and l2' movielens movielens 1 "$@" --set train.optimizer=ftrl \
        --set train.learning_rate=0.1 --set train.l1=0.0001 --set train.l2=0.001
fi
if [ -n "$lines" ]; then
    ln -s "$lines" lines.txt
    said build/heterps import criteo --buckets 100000 --output data/criteo_train.h5 lines.txt
    ln -s criteo_train.h5 data/criteo_test.h5
    beside 'ctrdnn on the given lines, adam' criteo ctrdnn 1 --set data.batch=64
    beside 'ctrdnn on the given lines, adagrad from 0.1' criteo ctrdnn 1 --set data.batch=64 \
        --set train.optimizer=adagrad --set train.initial_accumulator=0.1 \
        --set train.learning_rate=0.001
fi
buckets=10000
made ctrdnn 1 adam
plan_file 8 4 '1 1' >plan.json
made ctrdnn 2 'adam, cut in the middle' --set schedule.method=file --set schedule.plan=plan.json
acc='--set train.initial_accumulator=0.1'
# shellcheck disable=SC2086 # several words
made dlrm 1 'adagrad from 0.1' $acc
plan_file 10 5 '1 2' >plan.json
# shellcheck disable=SC2086
made dlrm 3 'the same, a rank and two' $acc --set schedule.method=file --set schedule.plan=plan.json
made deepfm 1 adam --set model.d1.rate=0 --set model.d2.rate=0 --set model.d3.rate=0
# shellcheck disable=SC2086
made dcn 1 'adagrad from 0.1, vectors of 16, rank 64' $acc --set model.b3.width=16 \
    --set model.ids.dim=16 --set model.x1.rank=64 --set model.x2.rank=64 --set model.x3.rank=64
# shellcheck disable=SC2086
made wide_deep 1 'adagrad from 0.1, wide too' $acc --set model.wide.optimizer=same
made 2emb 1 'adam, cross entropy'
made matchnet 1 'adam, hinge of pairs' --set model.loss.negatives=127
# shellcheck disable=SC2086
made nce 1 'adagrad from 0.1, noise' $acc
buckets='[6300, 801, 6300, 801]'
# shellcheck disable=SC2086
made din 2 'adagrad from 0.1, attention and batch norm' $acc
cat <<TEXT

Weights of the start are written by one and read by the other (a checkpoint); files are read in
order; dropout is 0. A difference is relative to the larger loss. Rounding alone: the same PyTorch
program in double precision, and in single from weights that were moved in their last bit, six times,
beside itself in single; the farthest. It shows which runs hang on roundings: a ReLU at its
corner, a row's first gradient under Adagrad from 0, which moves it by the whole rate whichever sign it has.
Adam on rows is lazy in both (SparseAdam, with an epsilon that comes to the same as Adam's). PyTorch
has no lamb and ftrl, and no rmsprop on rows: these are written beside it from their papers, and so
are nce, with the same draws of noise, and hinge of pairs, against all others of a micro-batch; that
one has a corner at each of its pairs, so that rounding now and then decides whether one pulls.
The test set of generated data is the whole file; its last $((steps * 19)) rows are not trained on.

TEXT
goal "last loss and test loss apart <= 1e-3 where rounding takes PyTorch itself no farther at any \
step: $(digits 2 "$farthest") at most" at_most "$farthest" 1e-3
goal "elsewhere no farther apart than rounding takes PyTorch: $(digits 2 "$rough") of it at most" \
    at_most "$rough" 1
commands
the_end
