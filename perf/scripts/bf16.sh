#!/bin/sh
# bf16.sh [RATINGS_FOLDER] - what is learned in bf16 beside fp32: test AUC and log loss of census,
# movielens (with the folder of movielens.sh), ctrdnn and dlrm on made-up data of ROWS (2,000,000)
# examples, at equal steps, from SEEDS (7) seeds each, on two ranks. Some twenty minutes.
ratings=${1:+$(cd "$1" && pwd)}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
seeds=${SEEDS:-7} rows=${ROWS:-2000000}
auc_goal=5e-4 loss_goal=0.002

# learn DECK PRECISION SEED ARGUMENT...: "AUC LOSS" of the test set
learn() {
    deck=$1 precision=$2 seed=$3
    shift 3
    rm -rf runs
    how=said
    [ "$seed" = 1 ] || how=quiet
    $how mpirun -n 2 build/heterps train "inputs/$deck.yaml" --set "train.precision=$precision" \
        --set "run.seed=$seed" --set run.threads=1 --set checkpoint.interval_seconds=0 \
        --set run.directory=runs/it "$@"
    echo "$(number runs/it/report.json test_auc) $(number runs/it/report.json test_logloss)"
}

# both DECK ARGUMENT...: its row; all differences of AUC, and of log loss in parts of it, in off
both() {
    deck=$1
    shift
    : >pairs
    for seed in $(seq "$seeds"); do
        echo "$(learn "$deck" fp32 "$seed" "$@") $(learn "$deck" bf16 "$seed" "$@")" >>pairs
    done
    # shellcheck disable=SC2046 # one word a column
    row "$deck" $(awk '
        function abs(x) { return x < 0 ? -x : x }
        { a += $1; l += $2; d = $3 - $1; e = $4 / $2 - 1; da += d; dl += e; sa += d * d; sl += e * e
          if (abs(d) > ma) ma = abs(d); if (abs(e) > ml) ml = abs(e)
          aa += $1 * $1 }
        function width(s, ss) { return NR > 1 ? 2.45 * sqrt(abs(ss - s * s / NR) / (NR - 1) / NR) : 0 }
        END { printf "%.5f %.5f %.2e+-%.1e %.2e %.2e+-%.1e %.2e %.1e\n", a / NR, l / NR,
                  da / NR, width(da, sa), ma, dl / NR, width(dl, sl), ml, width(a, aa) / 2.45 * sqrt(NR)
              print da / NR, dl / NR >"off" }' pairs)
    read -r off_auc off_loss <off
    goals="$goals $deck:$off_auc:$off_loss"
}

# within X LIMIT: |X| is no more
within() { awk -v x="$1" -v y="$2" 'BEGIN { exit !((x < 0 ? -x : x) <= y) }'; }

title "bf16 beside fp32: what is learned, $seeds seeds"
mkdir -p data
goals=
header network 'test AUC, fp32' 'log loss, fp32' 'AUC: bf16 less fp32' 'largest of a seed' \
    'log loss: bf16 over fp32 less 1' 'largest of a seed' 'AUC: standard deviation over seeds'
import_census
both census
if [ "$ratings" ]; then
    ln -s "$ratings" ml
    csv=ratings.csv
    [ -f ml/$csv ] || csv=ratings.csv.gz
    said build/heterps import csv --schema inputs/movielens.schema.yaml \
        --output data/movielens_train.h5 --test-output data/movielens_test.h5 ml/$csv
    both movielens
fi
for deck in ctrdnn dlrm; do
    said build/heterps generate "inputs/$deck.yaml" --rows $((rows * 11 / 10)) \
        --output "data/${deck}_train.h5"
    batch=1000
    [ $deck = ctrdnn ] || batch=4096
    both $deck --set "data.test=data/${deck}_train.h5" --set train.epochs=0 \
        --set "data.batch=$batch" --set "train.steps=$((rows / batch))"
    rm -f "data/${deck}_train.h5"
done
echo
echo "Means over the seeds with 95 % intervals. ctrdnn and dlrm are tested on the whole file, of which 10 of"
echo "11 examples were trained on, once."
echo
for one in $goals; do
    deck=${one%%:*} rest=${one#*:}
    goal "$deck: AUC within $auc_goal of fp32" within "${rest%:*}" $auc_goal
    goal "$deck: log loss within 0.2 % of fp32" within "${rest#*:}" $loss_goal
done
commands
the_end
