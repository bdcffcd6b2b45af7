#!/bin/sh
# gpu.sh [PEERS_FOLDER] - on a machine with a GPU: ctrdnn, dlrm and wide_deep at batches of 4096,
# 16384 and 65536 on one card, beside PyTorch and FBGEMM on the same card and beside the card's
# roofline, all in one call; two ranks on the card; a plan for CPU and GPU ranks beside plans for one
# kind; the loss after 100 steps beside a CPU rank's. NETWORKS, BATCHES: others; STEPS (40);
# CARD: a glob for the GPU's name, where it is not NVIDIA's.
peers=${1:+$(cd "$1" && pwd)}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
steps=${STEPS:-40} DEVICE=cuda report=runs/it/report.json

# roofline: of the median step, what its layers would take at the card's own rates: each layer the
# longer of its products at the SGEMM's rate and its bytes at the memory's
roofline() {
    awk -v step="$(number $report step_median_s)" '
        { gsub(/[",]/, "") }
        $1 == "oct:" { oct = $2 }
        $1 == "roofline:" && $2 != "null" { least += oct * $2 }
        END { printf "%.1f %%\n", 100 * least / step }' $report
}

# one NETWORK BATCH: a row; what it is of the best peer stays in the file ahead
one() {
    BATCH=$2
    network "$1"
    data_network
    mine=$(ours 1 1)
    grep -q '"kind": *"gpu"' runs/it/pool.json || give_up 'no rank computes on a GPU here'
    share=$(roofline)
    printf '%s %s\n' "$1 $2" "$share" >>shares
    eager='' compiled='' fbgemm=''
    if [ -n "$peers" ]; then
        eager=$(peer fbgemm run_torch.py)
        compiled=$(peer fbgemm run_torch.py --mode compiled)
        fbgemm=$(peer fbgemm run_fbgemm.py)
    fi
    best=$(printf '%s\n' 0 "$eager" "$compiled" "$fbgemm" | sort -g | tail -n 1)
    over=$(awk -v x="$mine" -v y="$best" 'BEGIN { if (y > 0) printf "%.2f\n", x / y; else print "-" }')
    row "$1" "$2" "$(digits 4 "$mine")" "$share" "${eager:--}" "${compiled:--}" "${fbgemm:--}" "$over"
    echo "$2 $over" >>ahead
}

# least BATCH: the least of a batch's ratios to the best peer
least() { awk -v b="$1" '$1 == b { print $2 }' ahead | sort -g | head -n 1; }

# kernels: where the last run's step went
kernels() {
    sed -n '/^region /,/^$/p; /^slowest layers/,/^$/p' out | sed 's/^/    /'
}

# stages: "ids-both 2 cpu, h1-loss 1 gpu" of the last run
stages() {
    sed -n '/^stage .*compute/,/^$/p' out | awk 'NR > 1 && NF {
        printf "%s%s-%s %s %s", (NR > 2 ? ", " : ""), $2, ($3 == ".." ? $4 : $2), $(NF - 6), $(NF - 7) }'
}

# planned NAME ARGUMENT...: trains ctrdnn on three ranks, of which the first has a GPU
planned() {
    name=$1
    shift
    rm -rf runs
    quiet mpirun -n 3 build/heterps train kinds.yaml --set data.test= \
        --set data.train=data/ctrdnn_train.h5 --set data.batch=4096 --set data.microbatches=4 \
        --set train.epochs=0 --set "train.steps=$steps" --set run.ranks_per_gpu=1 \
        --set run.directory=runs/it --set checkpoint.interval_seconds=0 "$@"
    row "$name" "$(stages)" "$(digits 4 "$(number $report examples_s)")" \
        "$(digits 4 "$(number $report usd_epoch)")"
}

title 'One GPU: examples/s'
header network batch examples/s 'of the roofline' PyTorch 'PyTorch, compiled' 'FBGEMM' \
    'of the best peer'
for name in ${NETWORKS:-ctrdnn dlrm wide_deep}; do
    for size in ${BATCHES:-4096 16384 65536}; do one "$name" "$size"; done
done
printf '\nThe card, and where the last one spent its step:\n\n'
sed -n '/^resources:/,/^links/p' out | sed '$d; s/^/    /'
kernels
printf '\nTwo ranks on the card, ctrdnn, batch 4096:\n\n'
BATCH=4096
network ctrdnn
data_network
header ranks examples/s
row 1 "$(ours 1 1)"
row 2 "$(ours 2 1)"
sed -n 's/.*\] \(.*share their GPUs\|.*NCCL.*\)/    \1/p' err
printf '\nOne rank with the GPU, two on cores, by plan:\n\n'
sed '/^resources:/,/^[a-z]*:/{/^resources:/d;/^  - /d}' inputs/ctrdnn.yaml >kinds.yaml
cat >>kinds.yaml <<EOT
resources:
  - {name: gpu, match: "${CARD:-*NVIDIA*}", price_usd_hour: 2}
  - {name: cpu, match: "*", price_usd_hour: 0.04, price_per: core}
EOT
header plan 'stages: layers, units, type' examples/s 'USD an epoch'
planned 'by rl'
planned 'all on cores' --set schedule.method=single:cpu
planned 'all on the GPU' --set schedule.method=single:gpu
printf '\nLoss after 100 steps, batch 4096:\n\n'
steps=100
ours 1 1 >/dev/null
on_gpu=$(number $report train_loss)
HETERPS_LIBDIR=/nowhere ours 1 1 >/dev/null
on_cpu=$(number $report train_loss)
header network 'on the GPU' 'on a core' apart
row ctrdnn "$on_gpu" "$on_cpu" "$(apart "$on_gpu" "$on_cpu")"
commands
printf '\n'
goal "the loss after 100 steps within 1e-3 of a CPU rank's" at_most \
    "$(apart "$on_gpu" "$on_cpu")" 1e-3
[ -z "$peers" ] || goal 'at 4096 at least 2 times the best peer' at_most 2 "$(least 4096)"
[ -z "$peers" ] || goal 'at 65536 at least 1.2 times the best peer' at_most 1.2 "$(least 65536)"
the_end
