#!/bin/sh
# On GPU ranks a deck trains as on CPU ranks: the same loss, alone, in data parallel, as a pipeline,
# with tables on CPU ranks and dense layers on a GPU, with room for some of the rows; it goes on
# from there on CPU ranks. In a step no memory is taken and nobody waits but for the one before. The
# energy of a card that several ranks have counts once. The card is a stand-in that runs the same
# kernels and lets the host touch no device memory; with $CARD (e_card.sh) the machine's own.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
CARD=${CARD:-}
object=$(dirname "$HETERPS")/tests/cuda/heterps-cuda.so
[ "$CARD" ] || [ -f "$object" ] || skip 'no C++ compiler: no stand-in for CUDA'
# the real one has all operations and kernels: what it lacks would be noticed on a GPU only
real=$(dirname "$HETERPS")/heterps-cuda.so
if [ -f "$real" ] && nm -D --undefined-only "$real" | grep -E 'hps_(cuda|kern)_'; then
    fail "$real lacks these"
fi
[ "$CARD" ] || cc -shared -fPIC -o libcuda.so.1 "$srcdir/tests/lib/fake_gpu.c" ||
    skip 'no compiler at hand'
census
set -- census.yaml --set train.epochs=0 --set train.steps=8 --set run.ranks_per_gpu=3

# a rank sees a GPU where its number is in $HPS_ON_GPU
cat >ranks <<EOF
#!/bin/sh
case " \$HPS_ON_GPU " in
*" \${OMPI_COMM_WORLD_RANK:-0} "*)
    [ -z "$CARD" ] || exec "$HETERPS" "\$@"
    LD_LIBRARY_PATH=$HPS_TMP\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} HPS_FAKE_GPUS=1
    HETERPS_LIBDIR=$(dirname "$object") HPS_SHIM_GUARD=\$HPS_GUARD HPS_SHIM_STRICT=1
    export LD_LIBRARY_PATH HPS_FAKE_GPUS HETERPS_LIBDIR HPS_SHIM_GUARD HPS_SHIM_STRICT
    [ -z "\$HPS_COUNT" ] || export HPS_SHIM_COUNT="\$HPS_COUNT"
    [ -z "\$HPS_FAIL" ] || export HPS_SHIM_FAIL="\$HPS_FAIL" ;;
*) export CUDA_VISIBLE_DEVICES= ;;
esac
exec "$HETERPS" "\$@"
EOF
cat >cpu <<EOF
#!/bin/sh
CUDA_VISIBLE_DEVICES= exec "$HETERPS" "\$@"
EOF
chmod +x ranks cpu
program=$HETERPS cpu=$HPS_TMP/cpu HETERPS=$HPS_TMP/ranks

on() { # RANKS-WITH-A-GPU N NAME ARGUMENT...: trains on N ranks in runs/NAME
    export HPS_ON_GPU="$1"
    n=$2 name=$3
    shift 3
    train "$n" "$@" --set "run.directory=runs/$name"
}
same() { close "$(number "runs/$1/report.json" train_loss)" "$loss" 1e-5; }

HETERPS=$cpu train 1 "$@" --set run.directory=runs/cpu
loss=$(number runs/cpu/report.json train_loss)
echo '-- one GPU; two and three that share the work'
export HPS_GUARD=1
on 0 1 one "$@"
same one
HPS_GUARD=0                     # it takes its time: not again for the same operations
grep -q '"kind": *"gpu"' runs/one/pool.json || fail 'the rank is no GPU rank'
[ "$CARD" ] || grep -q '"gpu_joules": null' runs/one/report.json ||
    fail 'nobody told the energy'
[ "$CARD" ] || cc -shared -fPIC -o libnvidia-ml.so.1 "$srcdir/tests/lib/fake_nvml.c"
export HPS_SHIM_SEED=3          # in another order among the streams, and not as late as can be
on '0 1' 2 two "$@" --set schedule.method=single:cpu
unset HPS_SHIM_SEED
same two
grep -q '2 ranks share their GPUs' err || fail 'it is not said that they share'
plan_file 8 4 '1 2' >plan.json
on '0 1 2' 3 three "$@" --set schedule.method=file --set schedule.plan=plan.json
same three
[ "$CARD" ] || close "$(number runs/three/report.json gpu_joules)" 5 1e-12
grep -q "^USD so far.*; GPUs used $([ "$CARD" ] && echo '[0-9.]*' || echo 5.000) J\$" out ||
    fail 'the table has no energy'
echo '-- a step takes no memory, copies none that is not pinned, waits for the one before alone'
counted() { # STEPS WHAT: how often, in a run of so many steps
    awk -v what="$2" '{ for (i = 1; i < NF; i += 2) if ($i == what) print $(i + 1) }' "count.$1"
}
counts() { [ "$CARD" ] || [ "$@" ]; }  # nobody counts the calls of a card
for steps in 4 24; do
    export HPS_COUNT="$HPS_TMP/count.$steps"
    [ -z "$CARD" ] || : >"$HPS_COUNT"
    on 0 1 "steps_$steps" "$@" --set schedule.profile=runs/one/profile.json \
        --set "train.steps=$steps"
done
unset HPS_COUNT
for what in taken pinned pageable; do
    counts "$(counted 4 $what)" -gt 0 || fail "nothing is $what"
    counts "$(counted 4 $what)" -eq "$(counted 24 $what)" || fail "a step has something $what"
done
# 20 steps more; how often a wait finds all done is chance
counts "$(($(counted 24 waits) - $(counted 4 waits)))" -le 30 || fail 'a step waits more than once'
counts "$(counted 24 ranges)" -gt "$(counted 4 ranges)" || fail 'a profiler is not told of a step'
counts "$(counted 24 open)" -eq 0 || fail 'ranges are left open'
grep -q 'region .* GPU s' out || fail 'the table has no seconds of the GPU'
awk '/"gpu_s"/ { n++; sum += $2 } END { exit !(n == 11 && sum > 0) }' runs/steps_24/report.json ||
    fail 'the report has no seconds of the GPU'
! grep -q '"gpu_s"' runs/cpu/report.json || fail 'there was no GPU'
echo '-- room for some of the rows: the same bits; it goes on with room for all'
on 0 1 warm "$@" --set storage.gpu_memory=4000
[ "$(number runs/warm/report.json train_loss)" = "$(number runs/one/report.json train_loss)" ] ||
    fail 'other bits'
[ "$(number runs/warm/report.json test_auc)" = "$(number runs/one/report.json test_auc)" ] ||
    fail 'another network'
grep -q 'rows in fast memory .* GB moved' out || fail 'no word of what moved'
on '0 1' 2 warm "$@" --set storage.gpu_memory=10 --set train.steps=12 --restart auto
grep -q 'storage.gpu_memory: a step needs [0-9]* rows of table' err || fail 'no word of more room'
on 0 1 one "$@" --set train.steps=12 --restart auto
close "$(number runs/warm/report.json train_loss)" \
    "$(number runs/one/report.json train_loss)" 1e-5
echo '-- micro-batches as graphs'
export HPS_COUNT="$HPS_TMP/count.graphs" HETERPS_CUDA_GRAPHS=1
[ -z "$CARD" ] || : >"$HPS_COUNT"
on 0 1 graphs "$@" --set schedule.profile=runs/one/profile.json --set train.steps=24
unset HPS_COUNT HETERPS_CUDA_GRAPHS
counts "$(counted graphs graphs)" -gt 50 || fail 'there are no graphs'
[ "$(number runs/graphs/report.json train_loss)" = \
    "$(number runs/steps_24/report.json train_loss)" ] || fail 'other bits'
echo '-- products of rounded operands'
on 0 1 tf32 "$@" --set train.precision=tf32
close "$(number runs/tf32/report.json train_loss)" "$loss" 1e-2
[ "$(number runs/tf32/report.json train_loss)" != "$(number runs/one/report.json train_loss)" ] ||
    fail 'nothing is rounded'
echo '-- tables on CPU ranks, dense layers on a GPU; it goes on from there on CPU ranks alone'
cat >kinds <<EOF
resources:
  - {name: gpu, match: "${CARD:-*Fake GPU*}", price_usd_hour: 1}
  - {name: cpu, match: "*", price_usd_hour: 0.04}
EOF
sed '/^resources:/,/price_per/d' "$srcdir/inputs/census.yaml" | cat - kinds >kinds.yaml
shift
cat >mixed.json <<'EOF'
{"format": "heterps-plan-1", "method": "file", "assignment": [1, 1, 1, 0, 0, 0, 0, 0],
 "stages": [{"first": 0, "last": 2, "type": 1, "units": 2},
            {"first": 3, "last": 7, "type": 0, "units": 1}], "share": []}
EOF
export HPS_ON_GPU=1 HPS_GUARD=1
expect 0 '' ranks 3 train kinds.yaml "$@" \
    --set run.directory=runs/mixed --set schedule.method=file --set schedule.plan=mixed.json
same mixed
HPS_GUARD=0
grep -q 'resources: 3 ranks of 2 types' out || fail 'not one type for each kind'
grep -A 9 '^stage .*type' out | grep -q ' gpu ' || fail 'no stage on the GPU'
echo '-- the whole net on GPUs, its tables on servers, which are CPU ranks; one worker, also by asp'
for how in 'bsp 1' 'bsp 2' 'asp 1' 'asp 2'; do
    servers=${how#* } how=${how% *}
    units=$((3 - servers)) on_gpu=$([ "$servers" -eq 1 ] && echo '0 2' || echo 1)
    plan_file 8 '' "$units" >served.json
    HPS_ON_GPU=$on_gpu
    expect 0 '' ranks 3 train kinds.yaml "$@" --set "run.directory=runs/$how$servers" \
        --set schedule.method=file --set schedule.plan=served.json \
        --set "storage.servers=$servers" --set "train.synchronization=$how"
    same "$how$servers"
    grep -q "parameter servers  *cpu  *$servers " out || fail 'the servers are no CPU ranks'
done
echo '-- a worker on a GPU keeps rows and holds gradients back, in host memory'
hits() { number "runs/$1/report.json" hits; }
plan_file 8 '' 1 >served.json
both() { # NAME ARGUMENT...: a worker and a server, the worker on a CPU, then on a GPU; $loss
    name=$1
    shift
    for kind in cpu gpu; do
        HPS_ON_GPU=$([ $kind = cpu ] || echo 1) HPS_GUARD=1
        expect 0 '' ranks 2 train kinds.yaml "$@" --set "run.directory=runs/${name}_$kind" \
            --set schedule.method=file --set schedule.plan=served.json --set storage.servers=1
    done
    HPS_GUARD=0 loss=$(number "runs/${name}_cpu/report.json" train_loss)
    same "${name}_gpu"
    differ "$loss" "$whole"
}
whole=$loss
both cached "$@" --set train.synchronization=ssp --set train.staleness=4 \
    --set train.cache_clocks=2 --set data.microbatches=3
equal "$(hits cached_gpu)" "$(hits cached_cpu)"
[ "$(hits cached_gpu)" -gt 0 ] || fail 'no row was found in the cache'
echo '-- and clips its own gradient'
both clipped "$@" --set train.synchronization=hybrid --set train.staleness=1 \
    --set train.clip=0.05
loss=$whole
HPS_ON_GPU=1
HETERPS=$cpu train 2 census.yaml "$@" --set run.directory=runs/mixed --set train.steps=12 \
    --restart auto
HETERPS=$cpu train 1 census.yaml "$@" --set run.directory=runs/cpu --set train.steps=12 \
    --restart auto
loss=$(number runs/cpu/report.json train_loss)
same mixed
[ -z "$CARD" ] || verdict
echo '-- a kernel that does something illegal'
export HPS_FAIL=300 HPS_ON_GPU=0
expect 70 'error: .*CUDA error 700' ranks 1 train "$srcdir/inputs/census.yaml" "$@" \
    --set run.directory=runs/illegal
export HETERPS_CUDA_SYNC=1
expect 70 'error: hps_kern_.*CUDA error 700' ranks 1 train "$srcdir/inputs/census.yaml" "$@" \
    --set run.directory=runs/illegal
unset HETERPS_CUDA_SYNC HPS_FAIL
echo '-- too little memory'
export HPS_SHIM_MEMORY=300000
expect 70 'error: no GPU memory for .*: [0-9]* bytes wanted, [0-9]* of 300000 are free' \
    ranks 1 train "$srcdir/inputs/census.yaml" "$@" --set run.directory=runs/small
unset HPS_SHIM_MEMORY
echo '-- a GPU, but no backend'
HETERPS=$program LD_LIBRARY_PATH=$HPS_TMP HETERPS_LIBDIR=/nowhere train 1 census.yaml "$@" \
    --set run.directory=runs/none --set storage.gpu_memory=1000
grep -q 'storage.gpu_memory: no rank computes on a GPU' err || fail 'a wish is passed over'
grep -q 'no GPU for 1 of the 1 ranks that see one' err || fail 'it is not said'
verdict
