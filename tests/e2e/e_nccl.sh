#!/bin/sh
# GPUs that have a card each sum and exchange rows by NCCL, inside a stage and where two stages read
# one table, to the loss of one CPU rank; the planner's seconds of both are measured so. Where NCCL
# cannot - two ranks on one card, no library - the host carries them, and why is said once. What
# fails in NCCL is named; a peer that never comes is a stall, not a hang. Cards and NCCL are
# stand-ins.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
folder=$(dirname "$HETERPS")/tests/cuda
[ -f "$folder/libnccl.so.2" ] || skip 'no C++ compiler: no stand-in for CUDA'
cc -shared -fPIC -o libcuda.so.1 "$srcdir/tests/lib/fake_gpu.c" || skip 'no compiler at hand'
cc -shared -fPIC -o libnvidia-ml.so.1 "$srcdir/tests/lib/fake_nvml.c"
census
plan_file 8 '' 2 >two.json
plan_file 8 '' 3 >three.json
set -- census.yaml --set train.epochs=0 --set train.steps=5

train 1 "$@" --set run.directory=runs/cpu --set schedule.method=single:cpu
set -- "$@" --set schedule.method=file --set schedule.plan=two.json
loss=$(number runs/cpu/report.json train_loss)
LD_LIBRARY_PATH=$HPS_TMP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
HETERPS_LIBDIR=$folder HPS_FAKE_GPUS=3 HPS_FAKE_ALIKE=1 HPS_SHIM_STRICT=1
export LD_LIBRARY_PATH HETERPS_LIBDIR HPS_FAKE_GPUS HPS_FAKE_ALIKE HPS_SHIM_STRICT

on() { # N NAME ARGUMENT...: trains on N GPU ranks in runs/NAME to the CPU's loss
    n=$1 name=$2
    shift 2
    train "$n" "$@" --set "run.directory=runs/$name"
    close "$(number "runs/$name/report.json" train_loss)" "$loss" 1e-5
}
says() { # TEXT: the last run's standard error has it once
    [ "$(grep -c "$1" err)" -eq 1 ] || fail "'$1' is said $(grep -c "$1" err) times"
}

echo '-- a card each'
export HPS_SHIM_GUARD=1         # it takes its time: not again for the same operations
on 2 two "$@"
unset HPS_SHIM_GUARD
says '2 GPUs sum and exchange rows by NCCL 2\.28\.9'
set -- "$@" --set schedule.profile=runs/two/profile.json   # the same for all: it is not measured
export HPS_SHIM_SEED=7
on 3 three "$@" --set data.microbatches=3 --set schedule.plan=three.json
says '3 GPUs sum and exchange rows by NCCL'
close "$(number runs/three/report.json gpu_joules)" 21 1e-12   # 5, 7 and 9: a card each
shift
echo '-- two stages read one table'
line() {
    printf '  - {name: %s, type: embedding, slots: all, dim: 1, combine: sum, table: t}\n' "$1"
}
sed -e '/name: wide/d; s/inputs: \[deep, wide\]/inputs: [deep, wide, late]/' \
    "$srcdir/inputs/census.yaml" | while IFS= read -r text; do
    case $text in *'name: nums'*) line wide ;; *'name: out'*) line late ;; esac
    printf '%s\n' "$text"
done >late.yaml
plan_file 9 4 '2 1' >plan.json
late() { # N NAME ARGUMENT...
    n=$1 name=$2
    shift 2
    expect 0 '' ranks "$n" train late.yaml --set train.epochs=0 --set train.steps=5 \
        --set "run.directory=runs/$name" "$@"
}
HETERPS_LIBDIR=/nowhere
late 1 late_cpu --set schedule.method=single:cpu
HETERPS_LIBDIR=$folder
loss=$(number runs/late_cpu/report.json train_loss)
late 3 late --set schedule.method=file --set schedule.plan=plan.json
close "$(number runs/late/report.json train_loss)" "$loss" 1e-5
says '2 GPUs sum and exchange rows by NCCL'
says '3 GPUs sum and exchange rows by NCCL'
loss=$(number runs/cpu/report.json train_loss)
echo '-- where NCCL cannot'
HPS_FAKE_GPUS=1
on 2 one census.yaml "$@" --set run.ranks_per_gpu=2
HPS_FAKE_GPUS=3
says '2 GPUs do without NCCL.*: ranks 0 and 1 are on one GPU, 0000:01:00.0 of '
mkdir lib
cp "$folder/heterps-cuda.so" lib/
: >lib/libnccl.so.2
HETERPS_LIBDIR=$HPS_TMP/lib
on 2 none census.yaml "$@"
HETERPS_LIBDIR=$folder
says '2 GPUs do without NCCL.*: rank 0 on .*libnccl.so.2: file too short'
echo '-- what fails is named'
fails() { # FAILURE PATTERN ARGUMENT...
    export HPS_NCCL_FAIL="$1"
    pattern=$2
    shift 2
    expect 70 "error: $pattern" ranks 2 train "$srcdir/inputs/census.yaml" "$@" \
        --set run.directory=runs/fails
}
fails ncclAllReduce:4 'ncclAllReduce.*: an error of .*\(NCCL error 2\): it was asked for' "$@"
fails ncclCommInitRank 'ncclCommInitRank.*NCCL error 2' "$@"
fails async:3 'ncclCommGetAsyncError.*remote process exited' "$@"
echo '-- measured as it is done; on one card, or where it is forbidden, between the hosts'
check() { # CODE PATTERN FAILURE ARGUMENT...: plans alone, with a failure of NCCL's
    code=$1 pattern=$2
    export HPS_NCCL_FAIL="$3"
    shift 3
    expect "$code" "$pattern" ranks 2 train --check "$srcdir/inputs/census.yaml" \
        --set schedule.method=single:cpu "$@"
}
check 70 'ncclCommInitRank.*NCCL error 2' ncclCommInitRank
check 70 'ncclAllReduce.*NCCL error 2' ncclAllReduce:2      # the first is its greeting
check 70 'ncclSend.*NCCL error 2' ncclSend:2
HPS_FAKE_GPUS=1
check 0 '' ncclCommInitRank --set run.ranks_per_gpu=2
HPS_FAKE_GPUS=3 HETERPS_NCCL=0
export HETERPS_NCCL
check 0 '' ncclCommInitRank
unset HETERPS_NCCL
check 0 '' none
! grep -q NCCL err || fail 'of the measurement something is said'
echo '-- a peer that never comes'
fails hang:4 'stall: no progress for [0-9]* s' "$@" --set run.stall_seconds=2
verdict
