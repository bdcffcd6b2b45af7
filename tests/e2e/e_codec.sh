#!/bin/sh
# Numbers that travel in half the bytes: each kind of message changes the loss, by no more than its
# rounding can, on one layout to the same bits each time; where nothing travels, nothing changes.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

# A rounding is of 2^-8 (bf16) or 2^-11 (fp16) of a number at most. What it does to a loss depends
# on the network; of this one, after 6 steps, half of that.
bf16=2e-3 fp16=2.5e-4

small_ctrdnn

echo '-- activations'
cut=$((layers - 4)) key=storage.messages.activations
learn 0 '' 3 "$cut" '2 1' fp32
fp32=$loss
learn 0 '' 3 "$cut" '2 1' bf16 --set $key=bf16
rounded=$loss cut_loss=$loss
differ "$rounded" "$fp32"
close "$rounded" "$fp32" $bf16
learn 0 '' 3 "$cut" '2 1' again --set $key=bf16
equal "$loss" "$rounded"
learn 0 '' 2 "$cut" '1 1' two --set $key=bf16
close "$loss" "$rounded" $bf16
learn 0 '' 3 "$cut" '2 1' fp16 --set $key=fp16
differ "$loss" "$fp32"
differ "$loss" "$rounded"
close "$loss" "$fp32" $fp16
learn 0 '' 2 '' 2 uncut
uncut=$loss
learn 0 '' 2 '' 2 uncut_bf16 --set $key=bf16
equal "$loss" "$uncut"

# Between the last sum t and the logistic loss log(1 + e^t): a change of t by u |t| at most changes
# that of an example by u |t| / (1 + e^-t), at most u of the loss where t > 0, u 0.28 elsewhere.
echo '-- the bound, right before the loss'
learn 0 '' 2 $((layers - 1)) '1 1' last --set train.steps=1
exact=$loss
for codec in bf16 fp16; do
    learn 0 '' 2 $((layers - 1)) '1 1' last_$codec --set train.steps=1 --set $key=$codec
    awk -v x="$loss" -v y="$exact" -v u="$([ $codec = bf16 ] && echo 256 || echo 2048)" '
        BEGIN { d = x - y; exit !((d < 0 ? -d : d) <= (y + 0.28) / u + 1e-7) }' ||
        fail "$codec: $loss is too far from $exact"
done

# has NAME KIND KEY: a number of a kind of messages in a report
has() {
    sed -n '/^ "messages": \[/,/^ \]/p' "$1/report.json" |
        awk -v kind="\"$2\"," -v key="\"$3\":" '
            $1 == "\"kind\":" { on = $2 == kind } on && $1 == key { print $2 + 0 }'
}
# halved NAME KIND: it travelled in half of the bytes, off by no more than its encoding says
halved() {
    awk -v bytes="$(has "$1" "$2" bytes)" -v plain="$(has "$1" "$2" plain_bytes)" \
        -v error="$(has "$1" "$2" error)" \
        'BEGIN { exit !(bytes > 0 && plain == 2 * bytes && error > 0 && error < 1 / 256) }' ||
        fail "$1: $2 are not halved"
    grep -q "^messages: $2 " out || fail "$1: the table lacks $2"
}

echo '-- rows and their gradients, between ranks that share no memory'
set -- --set storage.messages.rows=bf16 --set storage.messages.gradients=bf16
learn 0 '' 2 '' 2 shared "$@"
equal "$loss" "$uncut"
[ "$(has shared rows bytes)" = 0 ] || fail 'rows are encoded in shared memory'
export HETERPS_SHARED_MEMORY=0
learn 0 '' 2 '' 2 apart
apart=$loss
learn 0 '' 2 '' 2 apart_bf16 "$@"
rounded=$loss
halved apart_bf16 rows
halved apart_bf16 gradients
differ "$rounded" "$apart"
close "$rounded" "$apart" $bf16
learn 0 '' 2 '' 2 apart_again "$@"
equal "$loss" "$rounded"
learn 0 '' 2 '' 2 apart_fp16 --set storage.messages.rows=fp16 --set storage.messages.gradients=fp16
close "$loss" "$apart" $fp16
learn 0 '' 2 '' 2 apart_delta --set storage.messages.ids=delta
equal "$loss" "$apart"
awk -v bytes="$(has apart_delta ids bytes)" -v plain="$(has apart_delta ids plain_bytes)" \
    'BEGIN { exit !(bytes > 0 && 2 * bytes < plain) }' || fail 'ids are as large as before'
awk -v less="$(number apart_bf16/report.json net_bytes)" \
    -v all="$(number apart/report.json net_bytes)" \
    -v rows="$(has apart_bf16 rows bytes)" -v gradients="$(has apart_bf16 gradients bytes)" '
    BEGIN { d = all - less - rows - gradients; exit !(d > -1 && d < 1) }' ||
    fail 'what was saved is missing in net_bytes'
unset HETERPS_SHARED_MEMORY
for hosts in 2 3; do
    HETERPS_SHARED_RANKS=$hosts
    export HETERPS_SHARED_RANKS
    learn 0 '' 4 '' 4 "hosts_of_$hosts" "$@" --set storage.messages.dense=bf16
    unset HETERPS_SHARED_RANKS
    close "$loss" "$apart" $bf16
    halved "hosts_of_$hosts" dense
done

echo '-- servers; workers that do not wait for each other'
export HETERPS_SHARED_MEMORY=0
served='--set storage.servers=1'
# shellcheck disable=SC2086 # words
{
    learn 0 '' 3 '' 2 served $served
    close "$loss" "$apart" 1e-4
    served_loss=$loss
    learn 0 '' 3 '' 2 served_bf16 $served "$@"
    close "$loss" "$served_loss" $bf16
    halved served_bf16 rows
    for how in ssp asp hybrid; do
        async="$served --set train.synchronization=$how"
        [ $how = asp ] || async="$async --set train.staleness=1"
        learn 0 '' 2 '' 1 $how $async
        exact=$loss
        learn 0 '' 2 '' 1 ${how}_bf16 $async "$@" --set storage.messages.dense=bf16
        close "$loss" "$exact" $bf16
        differ "$loss" "$exact"
        for kind in rows gradients $([ $how = hybrid ] || echo dense); do
            halved ${how}_bf16 $kind
        done
    done
    learn 0 '' 2 '' 1 cached $served --set train.synchronization=ssp --set train.staleness=2 \
        --set train.cache_clocks=1 --set storage.messages.ids=delta
    close "$loss" "$exact" 2e-3         # rows are a clock old
    [ "$(has cached ids bytes)" -gt 0 ] || fail 'no ids are sent'
}
unset HETERPS_SHARED_MEMORY

echo '-- refused'
learn 65 "$key=fp8: .*fp32" 1 '' 1 none --set $key=fp8
learn 65 'storage.messages.rows=int8: .*fp32' 1 '' 1 none --set storage.messages.rows=int8
learn 65 'storage.messages.ids=varint: .*plain' 1 '' 1 none --set storage.messages.ids=varint
learn 65 "'idz'" 1 '' 1 none --set storage.messages.idz=delta
echo '-- GPUs: the host encodes; what travels by NCCL is refused'
folder=$(dirname "$HETERPS")/tests/cuda
if [ -f "$folder/libnccl.so.2" ] && cc -shared -fPIC -o libcuda.so.1 "$srcdir/tests/lib/fake_gpu.c"
then
    LD_LIBRARY_PATH=$HPS_TMP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} HETERPS_LIBDIR=$folder
    export LD_LIBRARY_PATH HETERPS_LIBDIR HPS_FAKE_GPUS=2 HPS_FAKE_ALIKE=1
    learn 0 '' 2 "$cut" '1 1' gpu --set $key=bf16
    grep -q '"kind": *"gpu"' gpu/pool.json || fail 'no rank is a GPU rank'
    close "$loss" "$cut_loss" $bf16
    differ "$loss" "$fp32"
    halved gpu activations
    learn 65 'rows bf16, gradients bf16: GPUs that exchange rows by NCCL send fp32' 2 '' 2 none "$@"
    [ "$(grep -c 'error: ' err)" -eq 1 ] || fail 'not one error'
    export HETERPS_NCCL=0
    learn 0 '' 2 '' 2 gpu_rows "$@" --set storage.messages.ids=delta
    close "$loss" "$apart" $bf16
    halved gpu_rows rows
fi
verdict
