#!/bin/sh
# Rows that are kept in fewer bytes: rounded by chance at each update, on one layout to the same
# bits each time and after a restart; with servers, workers, other ranks. A table may have its own.
# The plan knows the bytes. GPUs keep fp32.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census
measured=profile.json                   # '': each run measures

# learn CODE PATTERN RANKS NAME ARGUMENT...: some steps of census; the loss is in $loss
learn() {
    code=$1 pattern=$2 n=$3 name=$4
    shift 4
    # shellcheck disable=SC2046,SC2086 # words
    expect "$code" "$pattern" ranks "$n" train "$srcdir/inputs/census.yaml" --set data.test= \
        --set train.epochs=0 --set train.steps=30 --set run.threads=1 --set "run.directory=$name" \
        --set data.batch=128 ${measured:+$(profile_of "$measured")} "$@"
    [ -z "$measured" ] || keep_profile "$measured" "$name"
    loss=$(number "$name/report.json" train_loss)
}

learn 0 '' 1 plain
plain=$loss

# Each update rounds a weight by 2^-7, 2^-10 or a 63rd of the row's largest at most, by chance up or
# down. What that does to a loss depends on the network; of this one, after 30 steps, no more than:
for kind in 'bf16 fp32 5e-3' 'fp16 fp32 5e-3' 'int8 fp32 2e-2' 'fp32 bf16 5e-3' 'bf16 bf16 1e-2'; do
    # shellcheck disable=SC2086 # words
    set -- $kind
    echo "-- rows $1, states $2"
    what=$1_$2 bound=$3
    set -- --set "storage.rows=$1" --set "storage.states=$2"
    learn 0 '' 1 "$what" "$@"
    rounded=$loss
    differ "$rounded" "$plain"
    close "$rounded" "$plain" "$bound"
    grep -q '^rows at rest: ' out || fail 'the table lacks the bytes'
    learn 0 '' 1 "again_$what" "$@"
    equal "$loss" "$rounded"
    learn 0 '' 2 "two_$what" "$@"
    close "$loss" "$rounded" "$bound"
    learn 0 '' 1 "stopped_$what" "$@" --set train.steps=12
    learn 0 '' 1 "stopped_$what" "$@"
    grep -q 'step 12' err || fail 'the run was not restarted'
    equal "$loss" "$rounded"
done

echo '-- servers, workers that do not wait, other ranks and encodings at a restart'
set -- --set storage.rows=bf16
learn 0 '' 3 served "$@" --set storage.servers=1
learn 0 '' 2 asp "$@" --set storage.servers=1 --set train.synchronization=asp
close "$loss" "$plain" 5e-3
learn 0 '' 2 moved "$@" --set train.steps=12
learn 0 '' 3 moved --set storage.rows=int8 --set storage.servers=1
close "$loss" "$plain" 2e-2

echo '-- sums of bags, from one rank and from two'
set -- --set storage.rows=int8 --set model.wide.exchange=bags
learn 0 '' 1 bags "$@"
alone=$loss
learn 0 '' 2 bags_two "$@"
close "$loss" "$alone" 2e-2

echo '-- another encoding is another plan'
measured=
learn 0 '' 1 replanned --set storage.rows=int8 --set train.steps=12
learn 0 '' 1 replanned
! grep -q 'the plan is kept' err || fail 'the plan was kept'

echo '-- a table of its own, and the plan that knows the bytes'
weights() {
    awk '$1 == "\"weight_bytes\":" { sum += $2 } $1 == "\"state_bytes\":" { sum += $2 }
        END { printf "%.0f\n", sum }' "$1/profile.json"
}
learn 0 '' 1 own --set model.ids.rows=bf16 --set model.ids.states=bf16
differ "$loss" "$plain"
[ "$(weights own)" -lt "$(weights plain)" ] || fail 'the profile does not know the bytes'
learn 0 '' 1 no --set storage.rows=int8 --set model.ids.rows=fp32 --set model.wide.rows=fp32
equal "$loss" "$plain"

# Two workers hold gradients of the same rows back, all alike, until the run ends: applied one after
# the other, each is rounded by chances of its own, so that few weights move by two steps of bf16,
# and many by one. By common chances most of those that move would move by two.
if command -v h5dump >/dev/null; then
    echo '-- held gradients are rounded each for itself'
    cat >held.yaml <<'EOT'
run:   {name: held, seed: 1, threads: 1}
data:  {train: held.h5, batch: 4, microbatches: 1, shuffle: false}
model:
  - {name: ids,  type: embedding, slots: all, dim: 64}
  - {name: out,  type: fc, width: 1}
  - {name: loss, type: logistic}
train: {optimizer: sgd, learning_rate: 0, epochs: 0, steps: 20, workers: 2, synchronization: ssp,
  staleness: 16, cache_clocks: 8}
storage: {servers: 1, rows: bf16}
resources: [{name: cpu, match: "*", price_usd_hour: 1}]
schedule: {method: "single:cpu"}
generate: {dense: 0, slots: 26, buckets: 1, positives: 0.999, strength: 0}
EOT
    expect 0 '' heterps generate held.yaml --rows 80 --output held.h5
    for rate in 0 1e-5; do
        expect 0 '' ranks 3 train held.yaml --set train.table_learning_rate=$rate \
            --set run.directory=held$rate
        h5dump -d /tables/ids/rows -y -w 1 -m %.9g held$rate/checkpoint/*.h5 |
            sed -n 's/^ *\(-\{0,1\}[0-9][-0-9.e]*\),\{0,1\}$/\1/p' >held$rate.rows
    done
    paste held0.rows held1e-5.rows | awk '$1 != 0 {
        m = $1 < 0 ? -$1 : $1; d = $2 < $1 ? $1 - $2 : $2 - $1
        for (step = 2 ^ -7; m < 1; m *= 2) step /= 2
        n[int(d / step + 0.5)]++ }
        END { print n[1] + 0, n[2] + 0 > "moves"; exit !(n[1] > 50 && n[2] < n[1] / 2) }' ||
        fail "weights that moved by one step and by two: $(cat moves)"
fi

echo '-- refused'
learn 65 'storage.rows=fp8: .*bf16' 1 none --set storage.rows=fp8
learn 65 'storage.states=int8: .*bf16' 1 none --set storage.states=int8
learn 65 'model.ids.rows=fp8: .*bf16' 1 none --set model.ids.rows=fp8
folder=$(dirname "$HETERPS")/tests/cuda
if [ -d "$folder" ] && cc -shared -fPIC -o libcuda.so.1 "$srcdir/tests/lib/fake_gpu.c"; then
    LD_LIBRARY_PATH=$HPS_TMP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} HETERPS_LIBDIR=$folder
    export LD_LIBRARY_PATH HETERPS_LIBDIR HPS_FAKE_GPUS=1
    learn 0 '' 1 gpu
    exact=$loss
    learn 0 '' 1 gpu_bf16 --set storage.rows=bf16
    grep -q '"kind": *"gpu"' gpu_bf16/pool.json || fail 'no rank is a GPU rank'
    equal "$loss" "$exact"
fi
verdict
