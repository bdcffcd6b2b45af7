#!/bin/sh
# Of dense gradients between hosts the largest share alone may travel: few bytes, the same bits each
# time, also when a run goes on from its checkpoint, which has what was not sent yet; on another
# number of hosts that is passed on. A share of 1 is the sum as it is. Where it cannot be, it is
# refused by name.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

small_ctrdnn
topk='--set storage.messages.dense=topk'

# has NAME KEY: a number of the dense gradients in a report
has() {
    sed -n '/^ "messages": \[/,/^ \]/p' "$1/report.json" |
        awk -v key="\"$2\":" '
            $1 == "\"kind\":" { on = $2 == "\"dense\"," } on && $1 == key { print $2 + 0 }'
}
# saved NAME SHARE: they took no more than this share of their bytes, and something is left
saved() {
    awk -v bytes="$(has "$1" bytes)" -v plain="$(has "$1" plain_bytes)" -v most="$2" \
        -v error="$(has "$1" error)" -v left="$(has "$1" residual)" \
        'BEGIN { exit !(bytes > 0 && bytes <= most * plain && error > 0 && error < 1 &&
                        left > 0) }' ||
        fail "$1: $(has "$1" bytes) bytes of $(has "$1" plain_bytes), $(has "$1" residual) left"
    grep -q '^messages: dense topk, .* residual ' out || fail "$1: the table lacks it"
}

# resumed NAME RANKS CUTS UNITS ARGUMENT...: the loss of a run is that of one that stops in the
# middle and goes on
resumed() {
    run=$1 ranks=$2 cuts=$3 units=$4
    shift 4
    learn 0 '' "$ranks" "$cuts" "$units" "$run" "$@"
    whole=$loss
    learn 0 '' "$ranks" "$cuts" "$units" "${run}_half" "$@" --set train.steps=3
    learn 0 'going on from' "$ranks" "$cuts" "$units" "${run}_half" "$@"
    equal "$loss" "$whole"
    ! grep -q 'is dropped' err || fail 'a residual is dropped'
    loss=$whole
}

# shellcheck disable=SC2086 # words
{
    echo '-- ranks that share memory send nothing'
    learn 0 '' 2 '' 2 shared
    fp32=$loss
    learn 0 '' 2 '' 2 shared_topk $topk
    equal "$loss" "$fp32"
    [ "$(has shared_topk bytes)" = 0 ] || fail 'something is sent in shared memory'

    echo '-- two hosts'
    export HETERPS_SHARED_MEMORY=0
    learn 0 '' 2 '' 2 apart
    apart=$loss
    resumed topk 2 '' 2 $topk
    differ "$loss" "$apart"
    learn 0 '' 2 '' 2 topk $topk --restart never
    equal "$loss" "$whole"
    saved topk 0.013
    awk -v less="$(number topk/report.json net_bytes)" \
        -v all="$(number apart/report.json net_bytes)" \
        -v bytes="$(has topk bytes)" -v plain="$(has topk plain_bytes)" '
        BEGIN { d = all - less - plain + bytes; exit !(d > -1 && d < 1) }' ||
        fail 'what was saved is missing in net_bytes'
    learn 0 '' 2 '' 2 tenth $topk --set storage.messages.dense_share=0.1
    differ "$loss" "$whole"
    learn 0 '' 2 '' 2 all $topk --set storage.messages.dense_share=1
    close "$loss" "$apart" 1e-6
    [ "$(has all residual)" = 0 ] || fail 'something is left of all'
    learn 0 '' 2 '' 2 clipped $topk --set train.clip=0.01
    differ "$loss" "$whole"
    learn 0 '' 2 '' 2 clipped $topk --set train.clip=0.01 --restart never
    saved clipped 0.013

    echo '-- two stages of two hosts; hybrid'
    resumed cut 4 $((layers - 4)) '2 2' $topk
    saved cut 0.014
    resumed hybrid 3 '' 2 $topk --set storage.servers=1 --set train.synchronization=hybrid \
        --set train.staleness=1
    saved hybrid 0.013
    unset HETERPS_SHARED_MEMORY

    echo '-- two hosts of two ranks, of two and one'
    export HETERPS_SHARED_RANKS=2
    resumed pairs 4 '' 4 $topk
    saved pairs 0.013
    resumed uneven 3 '' 3 $topk
    saved uneven 0.013
    unset HETERPS_SHARED_RANKS
    learn 0 'what was not sent of dense gradients yet is dropped' 4 '' 4 pairs_half $topk \
        --set train.steps=8

    # By small steps of SGD what is lost of a gradient is missing in the loss; gradients themselves
    # hardly change. A run of three hosts goes on with two, which send all.
    echo '-- another number of hosts'
    export HETERPS_SHARED_MEMORY=0
    sgd='--set train.optimizer=sgd --set train.table_optimizer=sgd --set train.learning_rate=1e-3'
    sgd="$sgd --set train.table_learning_rate=1e-9"
    learn 0 '' 3 '' 3 moved $sgd $topk --set train.steps=4
    cp -r moved dropped
    learn 0 '' 2 '' 2 sgd $sgd
    exact=$loss
    learn 0 '' 2 '' 2 moved $sgd $topk --set storage.messages.dense_share=1
    moved=$loss
    ! grep -q 'is dropped' err || fail 'a residual is dropped'
    learn 0 'is dropped' 2 '' 2 dropped $sgd
    awk -v x="$exact" -v y="$moved" -v z="$loss" '
        function abs(d) { return d < 0 ? -d : d }
        BEGIN { exit !(abs(z - x) > 0 && abs(y - x) < 0.1 * abs(z - x)) }' ||
        fail "exact $exact, passed on $moved, dropped $loss"
    unset HETERPS_SHARED_MEMORY

    echo '-- refused'
    for share in 0 1.5 many; do
        learn 65 'dense_share' 1 '' 1 none $topk --set storage.messages.dense_share=$share
    done
    for how in 'ssp --set train.staleness=1' asp; do
        learn 65 "topk is for gradients that ranks sum, .*under ${how%% *} servers apply them" 2 \
            '' 1 none $topk --set storage.servers=1 --set train.synchronization=$how
    done
    learn 65 'storage.messages.rows=topk: .*fp32' 1 '' 1 none --set storage.messages.rows=topk
    folder=$(dirname "$HETERPS")/tests/cuda
    if [ -f "$folder/libnccl.so.2" ] &&
        cc -shared -fPIC -o libcuda.so.1 "$srcdir/tests/lib/fake_gpu.c"; then
        LD_LIBRARY_PATH=$HPS_TMP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} HETERPS_LIBDIR=$folder
        export LD_LIBRARY_PATH HETERPS_LIBDIR HPS_FAKE_GPUS=2 HPS_FAKE_ALIKE=1
        learn 65 'topk: GPUs that sum gradients by NCCL send all of them' 2 '' 2 none $topk
        [ "$(grep -c 'error: ' err)" -eq 1 ] || fail 'not one error'
        export HETERPS_NCCL=0
        learn 0 '' 2 '' 2 gpu $topk
        close "$loss" "$whole" 0.2
        saved gpu 0.013
    fi
}
verdict
