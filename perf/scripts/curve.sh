#!/bin/sh
# curve.sh [NAME [PEERS_FOLDER]] - examples/s of ctrdnn (or dlrm, bags) against the batch, from 256
# to 16,384: the GEMMs alone on two ranks, heterps on 2 ranks x 1 thread, 1 x 2 and 1 x 1; with a
# folder of peers (peers/README.md) also PyTorch and FBGEMM. Drawn into curve_NAME.svg in FOLDER=DIR
# (perf). ROUNDS (1) of all in turn; each trains about EXAMPLES (40000), in 20 to 200 steps.
# Under five minutes, with peers ten.
name=${1:-ctrdnn} peers=${2:+$(cd "$2" && pwd)}
folder=$(cd "${FOLDER:-$(dirname "$0")/../records}" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
rounds=${ROUNDS:-1} examples=${EXAMPLES:-40000}
batches=${BATCHES:-256 512 1024 2048 4096 8192 16384}

gemms() {
    # shellcheck disable=SC2086 # several words
    quiet env OPENBLAS_NUM_THREADS=1 mpirun -n 2 build/gemms "$batch" "$steps" $gemms
    awk 'NR == 1 { print $2 }' out
}

# got WHO EXAMPLES_S: kept in the file raw, where there is any
got() { [ -z "$2" ] || echo "$1 $batch $2" >>raw; }

# at BATCH: all, once
at() {
    batch=$1
    steps=$(awk -v n="$examples" -v b="$batch" 'BEGIN {
        s = int(n / b); print (s < 20 ? 20 : s > 200 ? 200 : s) }')
    got gemms "$(gemms)"
    got ranks "$(ours 2 1)"
    got threads "$(ours 1 2)"
    got one "$(ours 1 1)"
    [ -n "$peers" ] || return 0
    got torch "$(peer fbgemm run_torch.py)"
    got compiled "$(peer fbgemm run_torch.py --mode compiled)"
    got fbgemm "$(peer fbgemm run_fbgemm.py)"
}

# medians: of the rounds, in the order of the batches
medians() {
    cut -d ' ' -f 1,2 raw | awk '!($0 in seen) { seen[$0]; print }' | while read -r who batch; do
        echo "$who $batch $(awk -v w="$who" -v b="$batch" '$1 == w && $2 == b { print $3 }' raw |
            median)"
    done
}

network "$name"
build_tool gemms
title "$name: examples/s against the batch, two cores"
batch=4096
data_network
for _ in $(seq "$rounds"); do
    for b in $batches; do
        at "$b"
    done
done
medians >curve
awk -v title="$name: thousands of examples/s against the batch" -v svg="$folder/curve_$name.svg" \
    -f perf/scripts/curve.awk curve
cat <<EOT

Of the GEMMs alone: the better of the two layouts on two cores. Efficiency: the rate of 2 ranks over
twice that of one. Drawn: \`curve_$name.svg\`.
EOT
commands
the_end
