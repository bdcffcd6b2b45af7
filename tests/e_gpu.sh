#!/bin/sh
# Where a GPU's driver answers, each rank names its GPU, and the pool tells such ranks apart; a
# program that cannot compute on it says so and stays a CPU rank.
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
verdict
