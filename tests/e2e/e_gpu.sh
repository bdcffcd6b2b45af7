#!/bin/sh
# Where a GPU's driver answers, each rank names its GPU, and the pool tells such ranks apart; ranks
# beyond one for each GPU, or as many as the deck says, have none; a program that cannot compute on
# it says so and stays a CPU rank. What the management library tells of it is told too, where there
# is one.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census

cc -shared -fPIC -o libcuda.so.1 "$srcdir/tests/lib/fake_gpu.c" || skip 'no compiler at hand'
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
echo '-- what the management library tells'
told() { # NAME: a run in runs/NAME
    run=runs/$1
    train 2 census.yaml --set train.steps=2 --set "run.directory=$run"
    ! grep -i -E 'nvml|nvidia' err || fail 'a word of what nobody needs'
}
has() { # KEY VALUE VALUE [FILE]: of the two types
    value=$(sed -n "s/.*\"$1\": *\([^,]*\).*/\1/p" "$run/${4:-pool.json}" | xargs)
    [ "$value" = "$2 $3" ] || fail "$1 is $value instead of $2 $3"
}
nothing() { # but the driver
    for fact in sm_mhz memory_mhz pcie_generation pcie_width power_limit_w ecc; do
        has "gpu_$fact" null null
    done
}
told no_library
has gpu_driver null null
nothing
cc -shared -fPIC -o libnvidia-ml.so.1 "$srcdir/tests/lib/fake_nvml.c"
told all
has gpu_driver 580.65.06 580.65.06
has gpu_sm_mhz 1980 1980
has gpu_memory_mhz 3201 3201
has gpu_pcie_generation 5 5
has gpu_pcie_width 16 16
has gpu_power_limit_w 700.5 700.5
has gpu_ecc true false
shows 'driver 580.65.06, SMs to 1980 MHz, memory to 3201 MHz, PCIe 5 x16, at most 700.5 W, ECC on$'
has gpu_ecc true false report.json
grep -q '"gpu_joules": null' "$run/report.json" || fail 'energy of a GPU that no rank computes on'
HPS_FAKE_NVML=deaf told deaf
has gpu_driver 580.65.06 580.65.06
nothing
HPS_FAKE_NVML=blind told blind
has gpu_driver null null
nothing
cc -DOLD -shared -fPIC -o libnvidia-ml.so.1 "$srcdir/tests/lib/fake_nvml.c"
told old
has gpu_sm_mhz 1980 1980
has gpu_power_limit_w null null
has gpu_ecc null null
shows 'driver 580.65.06, SMs to 1980 MHz, memory to 3201 MHz$'
verdict
