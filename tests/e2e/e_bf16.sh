#!/bin/sh
# In bf16 the operands of large products are rounded: the loss is not that of fp32, but near it; on
# one layout it has the same bits each time, on others it is near, by the processor's products, by
# emulated ones and on a GPU. Without bf16 a run is refused in one line, `auto` takes fp32. A run
# may go on at another precision, and says so.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

# On other layouts sums differ by 6e-8 of their terms; an operand that lies so near the middle of
# two numbers of bf16 takes the other one, which is 4e-3 away. 100 steps of ctrdnn: 1.5e-4; the
# law: 2e-3.
near=2e-3

small_ctrdnn

# no_bf16: from now on the ranks in $HPS_WITHOUT have a processor without it
program=$HETERPS
cat >some <<EOF
#!/bin/sh
case " \$HPS_WITHOUT " in
*" \${OMPI_COMM_WORLD_RANK:-0} "*) export DNNL_MAX_CPU_ISA=AVX2 ;;
esac
exec "$program" "\$@"
EOF
chmod +x some
HETERPS=$HPS_TMP/some

echo '-- emulated: any processor'
learn 0 '' 1 '' 1 fp32
fp32=$loss
set -- --set train.precision=bf16 --set run.emulate_bf16=true
learn 0 '' 1 '' 1 emulated "$@"
bf16=$loss
differ "$bf16" "$fp32"
close "$bf16" "$fp32" $near
grep -q '"precision": "bf16"' emulated/report.json || fail 'the report does not say bf16'
learn 0 '' 1 '' 1 again "$@"
[ "$loss" = "$bf16" ] || fail "other bits: $loss is not $bf16"
learn 0 '' 3 '' 3 three "$@"
close "$loss" "$bf16" $near
learn 0 '' 3 "$((layers - 4))" '2 1' cut "$@"
close "$loss" "$bf16" $near
learn 0 '' 1 '' 1 threads "$@" --set run.threads=3
close "$loss" "$bf16" $near
threads=$loss
learn 0 '' 1 '' 1 threads_again "$@" --set run.threads=3
[ "$loss" = "$threads" ] || fail "other bits of three threads: $loss is not $threads"

echo "-- the processor's own"
if heterps --version | grep -q '^bf16 *not here'; then
    rank=0 few='2 of 2'
    learn 0 'precision fp32: 1 of 1 ranks have no bf16' 1 '' 1 auto --set train.precision=auto
    [ "$loss" = "$fp32" ] || fail "auto computes $loss without bf16, not $fp32"
else
    rank=1 few='1 of 2'
    learn 0 'precision bf16: all ranks have it' 1 '' 1 auto --set train.precision=auto
    native=$loss
    differ "$native" "$fp32"
    close "$native" "$bf16" $near
    learn 0 '' 1 '' 1 native --set train.precision=bf16
    [ "$loss" = "$native" ] || fail "other bits: $loss is not $native"
    learn 0 '' 3 "$((layers - 4))" '2 1' native_cut --set train.precision=bf16
    close "$loss" "$bf16" $near
fi

echo '-- one rank has none'
export HPS_WITHOUT=1
learn 65 "train.precision bf16: $few ranks have no bf16, the first is rank $rank on " 2 '' 2 none \
    --set train.precision=bf16
learn 0 "precision fp32: $few ranks have no bf16" 2 '' 2 auto_none --set train.precision=auto
close "$loss" "$fp32" 1e-5
unset HPS_WITHOUT
learn 65 'precision' 1 '' 1 none --set train.precision=fp8

echo '-- a run goes on at another precision'
learn 0 'the run began in fp32, it continues in bf16' 1 '' 1 fp32 "$@" --set train.steps=9
learn 0 'the run began in bf16, it continues in fp32' 1 '' 1 fp32 --set train.steps=12
learn 0 'precision fp32: the run began with it|precision fp32: 1 of 1' 1 '' 1 fp32 \
    --set train.precision=auto --set train.steps=14
expect 0 '' heterps eval small.yaml --set data.train=small.h5 --set data.test=small.h5 \
    --set data.batch=96 --checkpoint emulated/checkpoint/step_000000006.h5 --json fp32.json
expect 0 '' heterps eval small.yaml --set data.train=small.h5 --set data.test=small.h5 "$@" \
    --set data.batch=96 --checkpoint emulated/checkpoint/step_000000006.h5 --json bf16.json
close "$(number bf16.json loss)" "$(number fp32.json loss)" $near

echo '-- dense gradients travel as bf16'
learn 0 '' 2 '' 2 shared
shared=$loss
set -- --set storage.messages.dense=bf16
learn 0 '' 2 '' 2 shared_bf16 "$@"
[ "$loss" = "$shared" ] || fail "in shared memory sums are rounded: $loss is not $shared"
export HETERPS_SHARED_MEMORY=0
learn 0 '' 2 '' 2 apart
apart=$loss
close "$apart" "$shared" 1e-5
learn 0 '' 2 '' 2 apart_bf16 "$@"
bf16_apart=$loss
differ "$bf16_apart" "$apart"
close "$bf16_apart" "$apart" $near
learn 0 '' 2 '' 2 apart_again "$@"
[ "$loss" = "$bf16_apart" ] || fail "other bits: $loss is not $bf16_apart"
awk -v half="$(number apart_bf16/report.json net_bytes)" \
    -v all="$(number apart/report.json net_bytes)" 'BEGIN { exit !(half < 0.75 * all) }' ||
    fail 'bf16 does not save bytes'
unset HETERPS_SHARED_MEMORY
learn 65 "storage.messages.dense=fp8: .*fp32" 1 '' 1 none \
    --set storage.messages.dense=fp8
learn 65 "'row'" 1 '' 1 none --set storage.messages.row=bf16

echo '-- a GPU rounds the same numbers'
object=$(dirname "$program")/tests/cuda/heterps-cuda.so
if [ -f "$object" ] && cc -shared -fPIC -o libcuda.so.1 "$srcdir/tests/lib/fake_gpu.c"; then
    LD_LIBRARY_PATH=$HPS_TMP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH HPS_FAKE_GPUS=1 HETERPS_LIBDIR="$(dirname "$object")"
    learn 0 '' 1 '' 1 gpu --set train.precision=bf16
    grep -q '"kind": *"gpu"' gpu/pool.json || fail 'the rank is no GPU rank'
    close "$loss" "$bf16" $near
    differ "$loss" "$fp32"
    export HPS_FAKE_CAPABILITY=7
    learn 65 '1 of 1 ranks have no bf16, the first is rank 0 on .*GPU' 1 '' 1 none \
        --set train.precision=bf16
fi
verdict
