#!/bin/sh
# run.sh NAME [PEERS_FOLDER] - one of the networks ctrdnn, dlrm, bags: examples/s beside what its
# GEMMs alone allow, and beside other programs (peers/README.md says what the folder holds; without
# it they are left out). ROUNDS (3) of all in turn, STEPS (40) each; BATCH=N: another batch.
# Every figure is the median over the rounds of the median step of a round. Behind it the table of
# regions.sh; REGIONS=0: without.
name=${1:-ctrdnn} peers=${2:+$(cd "$2" && pwd)}
cd "$(dirname "$0")/.." || exit 1
. perf/lib.sh
. perf/networks.sh
rounds=${ROUNDS:-3} steps=${STEPS:-40}
network "$name"

# ours RANKS THREADS: examples/s of the median step
ours() {
    train_network "$1" "$2" "$steps"
    awk -v b="$batch" -v s="$(number runs/it/report.json step_median_s)" \
        'BEGIN { printf "%.6g\n", b / s }'
}

gemms() {
    # shellcheck disable=SC2086 # several words
    quiet env OPENBLAS_NUM_THREADS=1 mpirun -n 2 build/gemms "$batch" "$steps" $gemms
    awk '{ print $1 }' out
}

# peer FOLDER SCRIPT ARGUMENT...: examples/s, or nothing where it cannot
peer() {
    python=$peers/$1/bin/python script=$2
    shift 2
    note "$script $name $*"
    OMP_NUM_THREADS=2 "$python" "perf/peers/$script" "$name" --batch "$batch" --threads 2 \
        --steps "$steps" "$@" 2>err | sed -n 's/.* examples_s=\([0-9.]*\) .*/\1/p'
}

one_round() {
    gemms >>r.gemms
    ours 2 1 >>r.ranks
    ours 1 2 >>r.threads
    ours 1 1 >>r.one
    [ -n "$peers" ] || return 0
    peer fbgemm run_torch.py >>r.torch
    peer fbgemm run_torch.py --mode compiled >>r.compiled
    peer fbgemm run_fbgemm.py >>r.fbgemm
    peer tf run_tf.py >>r.tf
    peer paddle run_paddle.py >>r.paddle
}

# figure WHO TEXT: its row
figure() {
    [ -s "r.$1" ] || return 0
    x=$(median <"r.$1")
    row "$2" "$(digits 4 "$x")" "$(over "$x" "$all")" "$(over "$x" "$best")"
}
over() { awk -v x="$1" -v y="$2" 'BEGIN { if (y > 0) printf "%.3f\n", x / y; else print "-" }'; }

make -C "$HPS_BUILD" perf/gemms >&2 || give_up 'perf/gemms is not built'
ln -s "$HPS_BUILD/perf/gemms" build/gemms
title "$name, batch $batch: examples/s on two cores"
data_network
for _ in $(seq "$rounds"); do
    one_round
done
all=$(median <r.gemms) best=0
for who in torch compiled fbgemm tf paddle; do
    if [ -s r.$who ]; then best=$(larger "$best" "$(median <r.$who)"); fi
done
echo "Load of the machine at the end: $(cut -d ' ' -f 1 /proc/loadavg)."
echo
header program examples/s 'of the GEMMs alone' 'of the best peer'
figure gemms 'the GEMMs alone, two ranks of half a batch'
figure ranks 'heterps, 2 ranks x 1 thread'
figure threads 'heterps, 1 rank x 2 threads'
figure one 'heterps, 1 rank x 1 thread'
figure torch 'PyTorch'
figure compiled 'PyTorch, compiled'
figure fbgemm 'FBGEMM with PyTorch'
figure tf 'TensorFlow'
figure paddle 'PaddlePaddle'
two=$(larger "$(median <r.ranks)" "$(median <r.threads)")
echo
echo "Parallel efficiency of two ranks: $(over "$(median <r.ranks)" "$(median <r.one)" |
    awk '{ print $1 / 2 }')."
echo
goal "at least $least of the GEMMs alone" at_most "$least" "$(over "$two" "$all")"
[ "$best" = 0 ] || goal "at least $ahead times the best peer" at_most "$ahead" "$(over "$two" "$best")"
commands
if [ "${REGIONS:-1}" = 1 ]; then
    echo
    HETERPS=$(readlink -f build/heterps) BATCH=$batch "$srcdir/perf/regions.sh" "$name" || the_end
fi
the_end
