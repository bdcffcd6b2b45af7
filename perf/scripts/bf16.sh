#!/bin/sh
# bf16.sh [RATINGS_FOLDER] - what is learned in bf16 beside fp32: test AUC and log loss of census,
# movielens (with the folder of movielens.sh), ctrdnn and dlrm on made-up data of ROWS (2,000,000)
# examples, at equal steps, from SEEDS (7) seeds each, on two ranks; fp32 on one
# rank beside, which differs by the order of its sums alone. Some thirty minutes. NETWORKS: of them.
ratings=${1:+$(cd "$1" && pwd)}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
seeds=${SEEDS:-7} rows=${ROWS:-2000000}
networks=${NETWORKS:-census movielens ctrdnn dlrm}
auc_goal=5e-4 loss_goal=0.002

# learn DECK RANKS PRECISION SEED ARGUMENT...: "AUC LOSS" of the test set
learn() {
    deck=$1 ranks=$2 precision=$3 seed=$4
    shift 4
    rm -rf runs
    how=said
    [ "$seed" = 1 ] || how=quiet
    $how mpirun -n "$ranks" build/heterps train "inputs/$deck.yaml" \
        --set "train.precision=$precision" --set "run.seed=$seed" --set run.threads=1 \
        --set checkpoint.interval_seconds=0 --set run.directory=runs/it "$@"
    echo "$(number runs/it/report.json test_auc) $(number runs/it/report.json test_logloss)"
}

# off A B: how runs of file B differ from those of file A, seed by seed: the mean of AUC with its
# 95 % interval, the largest, the same of log loss in parts of it; the two means, in file off
off() {
    paste "$1" "$2" | awk '
        function abs(x) { return x < 0 ? -x : x }
        function width(s, ss) {
            return NR > 1 ? 2.45 * sqrt(abs(ss - s * s / NR) / (NR - 1) / NR) : 0
        }
        { d = $3 - $1; e = $4 / $2 - 1; da += d; dl += e; sa += d * d; sl += e * e
          if (abs(d) > ma) ma = abs(d); if (abs(e) > ml) ml = abs(e) }
        END { printf "%.1e+-%.1e %.1e %.1e+-%.1e %.1e\n", da / NR, width(da, sa), ma,
                     dl / NR, width(dl, sl), ml
              print da / NR, dl / NR >"off" }'
}

# mean FILE: of AUC and log loss
mean() { awk '{ a += $1; l += $2 } END { printf "%.5f %.5f\n", a / NR, l / NR }' "$1"; }

# learn_all DECK ARGUMENT...: its row
learn_all() {
    deck=$1
    shift
    rm -f fp32 bf16 alone
    for seed in $(seq "$seeds"); do
        learn "$deck" 2 fp32 "$seed" "$@" >>fp32
        learn "$deck" 2 bf16 "$seed" "$@" >>bf16
        learn "$deck" 1 fp32 "$seed" "$@" >>alone
    done
    # shellcheck disable=SC2046 # one word a column
    row "$deck" $(mean fp32) $(off fp32 alone) $(off fp32 bf16)
    read -r off_auc off_loss <off
    goals="$goals $deck:$off_auc:$off_loss"
}

# wants NETWORK: is it among them?
wants() { case " $networks " in *" $1 "*) ;; *) return 1 ;; esac }

# within X LIMIT: |X| is no more
within() { awk -v x="$1" -v y="$2" 'BEGIN { exit !((x < 0 ? -x : x) <= y) }'; }

title "bf16 beside fp32: what is learned, $seeds seeds"
mkdir -p data
goals=
header network 'test AUC, fp32' 'log loss, fp32' \
    'AUC: fp32 on one rank less fp32 on two' 'largest of a seed' 'log loss: the same over less 1' \
    'largest of a seed' 'AUC: bf16 less fp32, both on two' 'largest of a seed' \
    'log loss: the same over less 1' 'largest of a seed'
if wants census; then
    import_census
    learn_all census
fi
if [ "$ratings" ] && wants movielens; then
    import_movielens "$ratings"
    learn_all movielens
fi
for deck in ctrdnn dlrm; do
    wants $deck || continue
    said build/heterps generate "inputs/$deck.yaml" --rows "$rows" \
        --output "data/${deck}_train.h5"
    said build/heterps generate "inputs/$deck.yaml" --first "$rows" --rows $((rows / 10)) \
        --output "data/${deck}_test.h5"
    learn_all $deck --set "data.test=data/${deck}_test.h5" --set data.batch=1000
    rm -f "data/${deck}_train.h5" "data/${deck}_test.h5"
done
echo
echo "Means over the seeds with 95 % intervals. fp32 on one rank adds in another order: what differs"
echo "there is the noise of training. Tests are on examples that were not trained on."
echo
for one in $goals; do
    deck=${one%%:*} rest=${one#*:}
    goal "$deck: AUC within $auc_goal of fp32" within "${rest%:*}" $auc_goal
    goal "$deck: log loss within 0.2 % of fp32" within "${rest#*:}" $loss_goal
done
commands
the_end
