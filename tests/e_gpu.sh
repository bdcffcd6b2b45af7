#!/bin/sh
# Where a GPU's driver answers, each rank names its GPU, and the pool tells such ranks apart; ranks
# beyond one for each GPU, or as many as the deck says, have none; a program that cannot compute on
# it says so and stays a CPU rank.
. "$srcdir/tests/lib.sh"
. "$srcdir/tests/data.sh"
census

cc -shared -fPIC -o libcuda.so.1 "$srcdir/tests/fake_gpu.c" || skip 'no compiler at hand'
LD_LIBRARY_PATH=$HPS_TMP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
train 2 census.yaml --set train.steps=2
grep -q '"gpu": *"Fake GPU 0"' runs/census/pool.json || fail 'rank 0 has not found its GPU'
grep -q '"gpu": *"Fake GPU 1"' runs/census/pool.json || fail 'rank 1 has not found its GPU'
grep -q '"gpu_memory_bytes": *2147483648' runs/census/pool.json || fail 'its memory is not known'
! grep -q '"kind": *"gpu"' runs/census/pool.json || fail 'a CPU rank calls itself a GPU'
echo '-- more ranks than GPUs'
gpus() { grep -c '"gpu": *"Fake GPU' runs/census/pool.json; }
train 3 census.yaml --set train.steps=2
[ "$(gpus)" -eq 2 ] || fail "$(gpus) types with a GPU instead of 2"
grep -q 'resources: 3 ranks of 3 types' out || fail 'the third rank has a GPU too'
train 3 census.yaml --set train.steps=2 --set run.ranks_per_gpu=2
grep -q 'resources: 3 ranks of 2 types' out || fail 'the third rank has no GPU'
grep -q '"gpu_memory_bytes": *536870912' runs/census/pool.json || fail 'two do not share memory'
train 2 census.yaml --set train.steps=2 --set run.ranks_per_gpu=0
[ "$(gpus)" -eq 0 ] || fail 'a rank has a GPU that none may have'
verdict
