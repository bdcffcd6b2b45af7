#!/bin/sh
# gpu.sh [TABLE...] - what one GPU does; needs a machine with one. Tables, in this order, all or
# those named: networks (ctrdnn, dlrm, wide_deep, bags in fp32, tf32 and bf16, beside the card's own
# rates and, where PEERS_PYTHON has PyTorch, beside PyTorch in seven ways), graphs (with and without),
# ranks (two on the card), rows (tables in host memory, some on the card), plan (CPU and GPU ranks
# beside one kind alone), loss (beside a CPU rank's, and twice the same). NETWORKS, BATCHES,
# PRECISIONS, THREADS, STEPS (40), PEERS_SECONDS (420): others than usual. CARD: a glob for the
# GPU's name, where it is not NVIDIA's.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
tables=${*:-networks graphs ranks rows plan loss}
networks=${NETWORKS:-ctrdnn dlrm wide_deep bags} batches=${BATCHES:-4096 16384 65536}
precisions=${PRECISIONS:-fp32 tf32 bf16} threads=${THREADS:-$(nproc)} steps=${STEPS:-40}
largest=$(printf '%s\n' $batches | sort -n | tail -n 1)
report=runs/it/report.json
: >peers
: >ahead

# prepared NETWORK BATCH: its data are there; one file serves all batches
prepared() {
    BATCH=$largest
    network "$1"
    [ -f "data/$1_train.h5" ] || data_network
    BATCH=$2
    network "$1"
}

# on_card [ARGUMENT...]: examples/s of the median step of one rank on the GPU
on_card() {
    ours 1 "$threads" "$@" >ours || return
    grep -q '"kind": *"gpu"' runs/it/pool.json || give_up 'no rank computes on a GPU here'
    cat ours
}

# of_roofline: of the median step, what its layers would take at the card's own rates: each layer the
# longer of its products at the GEMM's rate and its bytes at the memory's
of_roofline() {
    awk -v step="$(number $report step_median_s)" '
        { gsub(/[",]/, "") }
        $1 == "oct:" { oct = $2 }
        $1 == "roofline:" && $2 != "null" { bound += oct * $2 }
        END { printf "%.1f %%\n", 100 * bound / step }' $report
}

# peer_in NETWORK BATCH PRECISION MODE...: the best of these ways of PyTorch, or nothing
peer_in() {
    key="workload=$1 batch=$2 " precision=" precision=$3 "
    shift 3
    for mode; do
        grep -F "$key" peers | grep -F "$precision" | grep -F " mode=$mode " |
            sed -n 's/.* examples_s=\([0-9]*\).*/\1/p'
    done | sort -g | tail -n 1
}

# rate EXAMPLES_S: of four digits, or a dash where a run failed (its end is on standard error)
rate() { if [ "$1" ]; then digits 4 "$1"; else echo -; fi; }

ratio() { awk -v x="$1" -v y="$2" 'BEGIN { if (x > 0 && y > 0) printf "%.2f\n", x / y; else print "-" }'; }

# one NETWORK BATCH PRECISION: a row; what it is of the best peer stays in the file ahead
one() {
    prepared "$1" "$2"
    mine=$(on_card --set "train.precision=$3")
    eager=$(peer_in "$1" "$2" "$3" sparse dense)
    graph=$(peer_in "$1" "$2" "$3" graph rows)
    compiled=$(peer_in "$1" "$2" "$3" compiled compiled_graph compiled_rows)
    best=$(printf '%s\n' 0 "$eager" "$graph" "$compiled" | sort -g | tail -n 1)
    row "$1" "$2" "$3" "$(rate "$mine")" "$(of_roofline)" "${eager:--}" "${graph:--}" \
        "${compiled:--}" "$(ratio "$mine" "$best")"
    echo "$1 $2 $(ratio "$mine" "$best")" >>ahead
    cp out "out.$1"
}

# smallest PATTERN: the smallest ratio to the best peer among the rows that begin with it
smallest() { awk -v p="^$1 " '$0 ~ p && $3 != "-" { print $3 }' ahead | sort -g | head -n 1; }

table_networks() {
    if [ "${PEERS_PYTHON:-}" ]; then
        note 'PyTorch, in seven ways'
        PYTHONUNBUFFERED=1 timeout $((${PEERS_SECONDS:-420} + 60)) "$PEERS_PYTHON" \
            perf/peers/gpu_torch.py --limits --seconds "${PEERS_SECONDS:-420}" \
            --networks "$(echo $networks | tr ' ' ,)" --batches "$(echo $batches | tr ' ' ,)" \
            --bag-batches "$(echo $batches | tr ' ' ,)" --precisions "$(echo $precisions | tr ' ' ,)" \
            >peers 2>peers.err || note "PyTorch ended with $?: $(tail -n 1 peers.err)"
    fi
    printf '\nOne rank on the GPU, examples/s, beside PyTorch:\n\n'
    header network batch products examples/s 'of the roofline' eager 'CUDA graph' compiled 'of the best'
    for name in $networks; do
        for size in $batches; do
            for precision in $precisions; do one "$name" "$size" "$precision"; done
        done
    done
    printf '\nThe card, and where the last step of each was spent:\n\n'
    sed -n '/^resources:/,/^links/p' out | sed '$d; s/^/    /'
    for name in $networks; do
        printf '\n    %s, batch %s\n' "$name" "$largest"
        sed -n '/^region /,/^$/p; /^slowest layers/,/^$/p' "out.$name" | sed 's/^/    /'
    done
    [ ! -s peers ] || {
        printf '\nAll that PyTorch did:\n\n'
        sed 's/^/    /' peers
    }
}

table_graphs() {
    printf '\nCUDA graphs, examples/s:\n\n'
    header network batch with without
    for name in $networks; do
        for size in $batches; do
            prepared "$name" "$size"
            with=$(HETERPS_CUDA_GRAPHS=1 on_card)
            row "$name" "$size" "$(rate "$with")" \
                "$(rate "$(HETERPS_CUDA_GRAPHS=0 on_card)")"
        done
    done
}

table_ranks() {
    printf '\nRanks on the card, ctrdnn, examples/s:\n\n'
    header batch 'one rank' 'two ranks'
    for size in $batches; do
        prepared ctrdnn "$size"
        alone=$(on_card)
        row "$size" "$(rate "$alone")" \
            "$(rate "$(ours 2 $(((threads + 1) / 2)) --set run.ranks_per_gpu=2)")"
    done
    sed -n 's/.*\] \(.*share their GPUs\|.*NCCL.*\)/    \1/p' err
}

table_rows() {
    printf '\nTables in host memory, rows of so many bytes on the card, examples/s:\n\n'
    header network batch 'on the card' examples/s hits
    for name in ctrdnn bags; do
        prepared "$name" 4096
        row "$name" 4096 all "$(rate "$(on_card)")" -
        for bytes in 1e8 3e7; do
            x=$(on_card --set "storage.gpu_memory=$bytes")
            row "$name" 4096 "$bytes" "$(rate "$x")" "$(number $report tier_hits)"
        done
    done
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
    quiet mpirun -n 3 --bind-to none build/heterps train kinds.yaml --set data.test= \
        --set data.train=data/ctrdnn_train.h5 --set data.batch=4096 --set data.microbatches=4 \
        --set train.epochs=0 --set "train.steps=$steps" --set run.ranks_per_gpu=1 \
        --set "run.threads=$(((threads + 3) / 4))" \
        --set run.directory=runs/it --set checkpoint.interval_seconds=0 "$@"
    row "$name" "$(stages)" "$(rate "$(number $report predicted_examples_s)")" \
        "$(rate "$(number $report examples_s)")" "$(rate "$(number $report usd_epoch)")"
}

table_plan() {
    prepared ctrdnn 4096
    sed '/^resources:/,/^[a-z]*:/{/^resources:/d;/^  - /d}' inputs/ctrdnn.yaml >kinds.yaml
    cat >>kinds.yaml <<EOT
resources:
  - {name: gpu, match: "${CARD:-*NVIDIA*}", price_usd_hour: 2}
  - {name: cpu, match: "*", price_usd_hour: 0.04, price_per: core}
EOT
    printf '\nOne rank with the GPU, two on cores, by plan:\n\n'
    header plan 'stages: layers, units, type' 'examples/s promised' measured 'USD an epoch'
    planned 'by rl'
    planned 'all on the GPU' --set schedule.method=single:gpu
    planned 'all on cores' --set schedule.method=single:cpu
}

table_loss() {
    printf '\nLoss after 100 steps, batch 4096, fp32:\n\n'
    prepared ctrdnn 4096
    steps=100
    on_card >/dev/null
    on_gpu=$(number $report train_loss)
    on_card >/dev/null
    again=$(number $report train_loss)
    CUDA_VISIBLE_DEVICES='' ours 1 "$threads" >/dev/null
    on_cpu=$(number $report train_loss)
    header network 'on the GPU' again 'on cores' apart
    row ctrdnn "$on_gpu" "$again" "$on_cpu" "$(apart "$on_gpu" "$on_cpu")"
    echo
    goal "the loss after 100 steps within 1e-3 of a CPU rank's" at_most \
        "$(apart "$on_gpu" "$on_cpu")" 1e-3
    goal 'the same bits again' [ "$on_gpu" = "$again" ]
}

title 'One GPU'
for table in $tables; do
    case $table in
    networks | graphs | ranks | rows | plan | loss) "table_$table" ;;
    *) give_up "no table '$table': networks, graphs, ranks, rows, plan or loss" ;;
    esac
done
commands
[ ! -s peers ] || {
    printf '\n'
    goal 'at 4096 at least 2 times the best peer' at_most 2 "$(smallest '[cdw].* 4096')"
    goal 'at 65536 at least 1.2 times the best peer' at_most 1.2 "$(smallest '[cdw].* 65536')"
    goal 'bags at least 1.2 times the best peer' at_most 1.2 "$(smallest 'bags [0-9]*')"
}
the_end
