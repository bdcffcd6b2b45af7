#!/bin/sh
# run.sh NAME [PEERS_FOLDER] - one of the networks ctrdnn, dlrm, bags: examples/s beside what its
# GEMMs alone allow, and beside other programs (peers/README.md says what the folder holds; without
# it they are left out). ROUNDS (5) of all in turn, STEPS (25) each; BATCH=N: another batch.
# Ours takes four times as many, so that its first steps, which touch memory that is new, are few among
# them: peers have theirs before they are measured.
# PRECISION=bf16: ours and the GEMMs in bf16, beside them our fp32, and peers in both precisions, of
# which the best one counts; the kernels that oneDNN took are named.
# Every figure is the median over the rounds, in each of which ours is measured twice, of the median
# step. A ratio to the GEMMs is the median of the ratios to the GEMMs measured just before and after,
# with the library that heterps takes: a machine that others share changes its pace from minute to
# minute. One core is once the first and once the second one, since they need not be equally fast.
# Behind it the table of regions.sh; REGIONS=0: without.
name=${1:-ctrdnn} peers=${2:+$(cd "$2" && pwd)}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
rounds=${ROUNDS:-5} steps=${STEPS:-25}
network "$name"

# The GEMMs by each library: the first is the one that heterps takes, the last the BLAS.
gemms() {
    # shellcheck disable=SC2086 # several words
    quiet env OPENBLAS_NUM_THREADS=1 mpirun -n 2 build/gemms "$batch" "$steps" $rounded $gemms
    library=$(awk 'NR == 1 { print $1 }' out) blas=$(awk 'END { print $1 }' out)
    awk 'END { print $2 }' out >>r.blas
    alone=$(awk 'NR == 1 { print $2 }' out)
    echo "$alone" >>r.gemms
}

# The same on core $core alone: what another one can bring to them.
gemms_on_one() {
    # shellcheck disable=SC2086 # several words
    quiet env OPENBLAS_NUM_THREADS=1 mpirun -n 1 --cpu-set "$core" build/gemms "$batch" "$steps" \
        $rounded $gemms
    awk 'NR == 1 { print $2 }' out >>r.gemms1
}

# beside WHO RANKS THREADS: ours, and its ratio to the GEMMs before and after
beside() {
    before=$alone
    x=$(steps=$((4 * steps)) && ours "$2" "$3")
    echo "$x" >>"r.$1"
    gemms
    awk -v x="$x" -v a="$before" -v b="$alone" 'BEGIN { print 2 * x / (a + b) }' >>"q.$1"
}

one_round() {
    gemms
    for core in 0 1; do
        beside ranks 2 1
        beside threads 1 2
        beside one 1 1
        gemms_on_one
    done
    if [ "$rounded" ]; then
        (precision=fp32 && ours 2 1) >>r.fp32
    fi
    [ -n "$peers" ] || return 0
    all_peers fp32 ''
    peer paddle run_paddle.py >>r.paddle
    [ -z "$rounded" ] || all_peers bf16 16
}

# all_peers PRECISION SUFFIX: of those that have more than one
all_peers() {
    peer fbgemm run_torch.py --precision "$1" >>"r.torch$2"
    peer fbgemm run_torch.py --precision "$1" --mode compiled >>"r.compiled$2"
    peer fbgemm run_fbgemm.py --precision "$1" >>"r.fbgemm$2"
    peer tf run_tf.py --precision "$1" >>"r.tf$2"
}

# kernels: those of products in bf16 in a step of ours
kernels() {
    (export DNNL_VERBOSE=1 && steps=2 && ours 1 1) >/dev/null
    sed -n 's/.*exec,cpu,matmul,\([^,]*\),.*/\1/p' out | sort | uniq -c |
        awk '{ printf "%s%s (%d calls)", (NR > 1 ? ", " : ""), $2, $1 } END { print "" }'
}

# figure WHO TEXT: its row
figure() {
    [ -s "r.$1" ] || return 0
    x=$(median <"r.$1")
    row "$2" "$(digits 4 "$x")" "$(of_gemms "$1" "$x")" "$(over "$x" "$best")"
}
# of_gemms WHO EXAMPLES_S: by rounds where they were measured so
of_gemms() {
    if [ -s "q.$1" ]; then
        printf '%.3f\n' "$(median <"q.$1")"
    else
        over "$2" "$all"
    fi
}
# second_core WHO: what two cores do, over the sum of what each does alone in the same round
second_core() {
    paste "r.$1" r.one |
        awk '{ x += $1; y += $2 } NR % 2 == 0 { printf "%.3f\n", x / y / 2; x = y = 0 }' | median
}
named() { case $1 in torch) echo PyTorch ;; tf) echo TensorFlow ;; esac; }
over() { awk -v x="$1" -v y="$2" 'BEGIN { if (y > 0) printf "%.3f\n", x / y; else print "-" }'; }

build_tool gemms
title "$name, batch $batch${rounded:+, $rounded}: examples/s on two cores"
data_network
for _ in $(seq "$rounds"); do
    one_round
done
all=$(median <r.gemms) best=0
for who in torch compiled fbgemm tf paddle torch16 compiled16 fbgemm16 tf16; do
    if [ -s r.$who ]; then best=$(larger "$best" "$(median <r.$who)"); fi
done
echo "Load of the machine at the end: $(cut -d ' ' -f 1 /proc/loadavg)."
echo
header program examples/s 'of the GEMMs alone' 'of the best peer'
figure gemms "the GEMMs alone, two ranks of half a batch, $library"
[ "$library" = "$blas" ] || figure blas "the same, $blas"
figure gemms1 "the GEMMs alone on one core, $library"
figure ranks 'heterps, 2 ranks x 1 thread'
figure threads 'heterps, 1 rank x 2 threads'
figure one 'heterps, 1 rank x 1 thread'
figure fp32 'heterps in fp32, 2 ranks x 1 thread'
figure torch 'PyTorch'
figure compiled 'PyTorch, compiled'
figure fbgemm 'FBGEMM with PyTorch'
figure tf 'TensorFlow'
figure paddle 'PaddlePaddle'
figure torch16 'PyTorch, autocast to bf16'
figure compiled16 'PyTorch, compiled, autocast to bf16'
figure fbgemm16 'FBGEMM with PyTorch, autocast to bf16'
figure tf16 'TensorFlow, mixed_bfloat16'
two=$(larger "$(median <r.ranks)" "$(median <r.threads)")
echo
if [ "$rounded" ]; then
    least=0.5 both=0 also=
    case $(tr ' ' '\n' </proc/cpuinfo) in *amx_bf16*) ahead=3 ;; *) ahead=1.5 ;; esac
    echo "Kernels of oneDNN in a step: $(kernels)."
    echo "Over fp32, 2 ranks x 1 thread: $(over "$(median <r.ranks)" "$(median <r.fp32)")."
    echo
fi
echo "Two cores over the sum of what each does alone (mpirun -n 1 --cpu-set 0, then 1), median over the" \
    "rounds: $(second_core ranks) as ranks," \
    "$(second_core threads) as threads; of the GEMMs alone" \
    "$(over "$all" "$(median <r.gemms1 | awk '{ print 2 * $1 }')")."
echo
for layout in ranks threads; do
    case $layout in ranks) text='2 ranks x 1 thread' ;; *) text='1 rank x 2 threads' ;; esac
    [ "$least" = 0 ] || goal "at least $least of the GEMMs alone, $text" at_most "$least" \
        "$(median <q.$layout)"
    [ "$both" = 0 ] || goal "two cores do at least $both of the sum of both alone, $text" \
        at_most "$both" "$(second_core $layout)"
done
[ "$best" = 0 ] || goal "at least $ahead times the best peer${rounded:+ in any precision}" at_most "$ahead" "$(over "$two" "$best")"
# shellcheck disable=SC2154 # set by network
for pair in $also; do
    who=${pair%:*} times=${pair#*:}
    [ ! -s "r.$who" ] || goal "at least $times times $(named "$who")" at_most "$times" \
        "$(over "$two" "$(median <"r.$who")")"
done
commands
if [ "${REGIONS:-1}" = 1 ]; then
    echo
    HETERPS=$(readlink -f build/heterps) BATCH=$batch "$srcdir/perf/scripts/regions.sh" "$name" || the_end
fi
the_end
