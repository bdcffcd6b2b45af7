#!/bin/sh
# Layers that look at a whole micro-batch train on GPUs as on a CPU rank: batch norms, and a hinge
# against other items. On one GPU they compute on it alone: a step copies nothing that is not
# pinned, waits for the one before alone, and is launched as graphs, its update too. On two and
# three, in a line of stages too, their sums and rows go from card to card by NCCL, past the hosts;
# without it through pinned memory; to the same loss, and in a step nothing is taken. Cards and NCCL
# are stand-ins.
. "${srcdir:?}/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
folder=$(dirname "$HETERPS")/tests/cuda
[ -f "$folder/libnccl.so.2" ] || skip 'no C++ compiler: no stand-in for CUDA'
cc -shared -fPIC -o libcuda.so.1 "$srcdir/tests/lib/fake_gpu.c" || skip 'no compiler at hand'

deck_of() { # NAME: the deck around the layers of standard input
    cat <<EOF
run:   {name: $1, seed: 1}
data:  {train: $1.h5, test: $1.h5, batch: 58, microbatches: 4}
model:
  - {name: users, type: embedding, slots: 1-3, dim: 4}
  - {name: nums,  type: dense_input}
  - {name: items, type: embedding, slots: 4-6, dim: 4}
EOF
    cat
    cat <<'EOF'
train: {optimizer: adagrad, learning_rate: 0.05, epochs: 0, steps: 6}
generate: {dense: 5, slots: 6, buckets: 60, zipf: 1.05}
EOF
}
deck_of norm >norm.yaml <<'EOF'
  - {name: both, type: concat, inputs: [users, nums, items]}
  - {name: n1,   type: batch_norm}
  - {name: h1,   type: fc, width: 16, activation: relu}
  - {name: n2,   type: batch_norm, momentum: 0.3}
  - {name: out,  type: fc, width: 1}
  - {name: loss, type: logistic}
EOF
deck_of pairs >pairs.yaml <<'EOF'
  - {name: both, type: concat, inputs: [users, nums]}
  - {name: u1,   type: fc, width: 12, activation: tanh}
  - {name: user, type: batch_norm}
  - {name: item, type: activation, activation: tanh, inputs: items}
  - {name: loss, type: hinge, inputs: [user, item], margin: 0.8, negatives: 4}
EOF

counted() { # NAME WHAT: how often in a run, by all of its ranks
    awk -v what="$2" '{ for (i = 1; i < NF; i += 2) if ($i == what) n += $(i + 1) }
        END { print n + 0 }' "count.$1"
}
run() { # N NAME ARGUMENT...: $deck on N ranks in runs/NAME
    n=$1 name=$2
    shift 2
    expect 0 '' ranks "$n" train "$deck.yaml" --set schedule.method=single:cpu \
        --set "run.directory=runs/$name" "$@"
}
same() { # NAME: its losses are those of one CPU rank
    close "$(number "runs/$1/report.json" train_loss)" "$loss" 1e-5
    close "$(number "runs/$1/report.json" test_loss)" "$test" 1e-5
}
counts() { # N NAME ARGUMENT...: a run of 4 and one of 12 steps, counted
    k=$1 what=$2
    shift 2
    for steps in 4 12; do
        export HPS_SHIM_COUNT="$HPS_TMP/count.$what.$steps"
        run "$k" "$what.$steps" --set "train.steps=$steps" --set data.test= "$@"
    done
    unset HPS_SHIM_COUNT
    for each in taken pinned pageable; do
        more=$(($(counted "$what.12" $each) - $(counted "$what.4" $each)))
        [ "$more" -eq 0 ] || [ "$each ${HETERPS_NCCL:-}" = 'pageable 0' ] ||  # rows, between hosts
            fail "8 steps of $what have $more $each"
    done
    waits=$(($(counted "$what.12" waits) - $(counted "$what.4" waits)))
    echo "$waits waits in 8 steps of $what"
}

unset HETERPS_NCCL
for deck in norm pairs; do
    echo "-- $deck"
    unset HETERPS_LIBDIR
    expect 0 '' heterps generate "$deck.yaml" --rows 300 --output "$deck.h5"
    run 1 "${deck}_cpu"
    loss=$(number "runs/${deck}_cpu/report.json" train_loss)
    test=$(number "runs/${deck}_cpu/report.json" test_loss)

    echo '-- one GPU'
    HETERPS_LIBDIR=$folder HPS_FAKE_GPUS=3 HPS_FAKE_ALIKE=1 HPS_SHIM_STRICT=1
    LD_LIBRARY_PATH=$HPS_TMP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH HETERPS_LIBDIR HPS_FAKE_GPUS HPS_FAKE_ALIKE HPS_SHIM_STRICT
    export HPS_SHIM_GUARD=1         # it takes its time: not again for the same operations
    run 1 "${deck}_one"
    unset HPS_SHIM_GUARD
    same "${deck}_one"
    profile="schedule.profile=runs/${deck}_one/profile.json"
    counts 1 "${deck}_alone" --set "$profile"
    # how often a wait finds all done is chance
    [ "$waits" -le 15 ] || fail "a step waits more than once: $waits times in 8"
    export HETERPS_CUDA_GRAPHS=1
    counts 1 "${deck}_graphs" --set "$profile"
    unset HETERPS_CUDA_GRAPHS
    [ "$waits" -le 15 ] || fail "a step of graphs waits more than once: $waits times in 8"
    # 4 forwards, 4 backwards and the update
    graphs=$(($(counted "${deck}_graphs.12" graphs) - $(counted "${deck}_graphs.4" graphs)))
    [ "$graphs" -eq 72 ] || fail "$graphs graphs in 8 steps, not 9 each"
    [ "$(number "runs/${deck}_graphs.12/report.json" train_loss)" = \
        "$(number "runs/${deck}_alone.12/report.json" train_loss)" ] || fail 'other bits'

    echo '-- two and three GPUs, by NCCL and without; two behind another one'
    for n in 2 3; do
        export HPS_SHIM_SEED=$((n - 2))
        run "$n" "${deck}_$n" --set "$profile"
        same "${deck}_$n"
        grep -q "$n GPUs sum and exchange rows by NCCL" err || fail 'not by NCCL'
        awk '/"name": "reduce"/ { on = 1 } on && /"gpu_s"/ { exit !($2 > 0) }' \
            "runs/${deck}_$n/report.json" || fail 'what was met for is no time of its own'
        export HETERPS_NCCL=0
        run "$n" "${deck}_hosts_$n" --set "$profile"
        unset HETERPS_NCCL
        same "${deck}_hosts_$n"
        grep -q "$n GPUs do without NCCL" err || fail 'NCCL is not forbidden'
    done
    plan_file "$(grep -c '  - {name' "$deck.yaml")" 4 '1 2' >plan.json
    run 3 "${deck}_line" --set "$profile" --set schedule.method=file \
        --set schedule.plan=plan.json
    same "${deck}_line"
    grep -q '2 GPUs sum and exchange rows by NCCL' err || fail 'not by NCCL'
    unset HPS_SHIM_SEED
    counts 2 "${deck}_cards" --set "$profile"
    export HETERPS_NCCL=0
    counts 2 "${deck}_pinned" --set "$profile"
    unset HETERPS_NCCL
done
verdict
