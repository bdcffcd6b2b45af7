#!/bin/sh
# shrink.sh [SEEDS] - dlrm, 26 tables of BUCKETS (100,000) rows: weights in bf16 with one state a row
# (row_adagrad), in a quarter of the memory of fp32 with Adagrad and what does not fit in a file,
# beside that: seconds, and test AUC of SEEDS (7), on ROWS (400,000) examples, in turn; and fp32 with
# row_adagrad, which says how much of the difference is the rule's. THREADS (2), DIRECTORY.
seeds=${1:-7}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
. perf/scripts/tiers.sh
buckets=${BUCKETS:-100000} examples=${ROWS:-400000} threads=${THREADS:-2}
network dlrm
rows=$((26 * buckets))
bytes=$((rows * 4 * row / 4))

# learn FILE SEED ARGUMENT...: "AUC SECONDS ROWS_BYTES PEAK" to the file
learn() {
    to=$1 seed=$2
    shift 2
    rm -rf runs
    how=quiet
    [ "$seed" -gt 1 ] || how=said
    $how mpirun -n 1 --bind-to none build/heterps train inputs/dlrm.yaml --set "run.seed=$seed" \
        --set data.train=data/dlrm_train.h5 --set data.test=data/dlrm_test.h5 \
        --set data.batch="${BATCH:-1000}" --set data.microbatches=1 --set "run.threads=$threads" \
        --set schedule.method=single:cpu --set run.directory=runs/it \
        --set checkpoint.interval_seconds=0 "$@"
    echo "$(number runs/it/report.json test_auc) $(number runs/it/report.json seconds)" \
        "$(number runs/it/report.json peak_bytes)" >>"$to"
}
mean() { awk -v k="$2" '{ s += $k } END { print s / NR }' "$1"; }

mkdir -p data
for part in "train 0 $examples" "test $examples $((examples / 4))"; do
    read -r name first n <<TEXT
$part
TEXT
    said build/heterps generate inputs/dlrm.yaml --set "generate.buckets=$buckets" --first "$first" \
        --rows "$n" --output "data/dlrm_$name.h5"
done
for seed in $(seq "$seeds"); do
    learn wide "$seed"
    learn rule "$seed" --set train.table_optimizer=row_adagrad
    learn narrow "$seed" --set storage.rows=bf16 --set train.table_optimizer=row_adagrad \
        --set "storage.host_memory=$bytes" --set "storage.file=$directory"
done
there=$(awk -v h="$(tiers slots)" -v n="$rows" 'BEGIN { printf "%.1f %%\n", 100 * h / n }')
paste wide narrow | awk '{ d = $4 - $1; s += d; ss += d * d; print $5 / $2 >"ratios" }
    END { v = NR > 1 ? (ss - s * s / NR) / (NR - 1) / NR : 0; print s / NR, sqrt(v > 0 ? v : 0) }' >apart_auc
title "Rows in a quarter of their memory, $seeds seeds"
header rows 'bytes of memory for rows' 'rows there' 'test AUC' seconds 'most memory, MB'
row 'fp32, Adagrad' $((rows * 4 * row)) '100 %' "$(digits 6 "$(mean wide 1)")" "$(digits 4 "$(mean wide 2)")" \
    "$(digits 4 "$(per "$(mean wide 3)" 1e6)")"
row 'fp32, row_adagrad' $((rows * 4 * (dim + 1))) '100 %' "$(digits 6 "$(mean rule 1)")" \
    "$(digits 4 "$(mean rule 2)")" "$(digits 4 "$(per "$(mean rule 3)" 1e6)")"
row 'bf16, row_adagrad' "$bytes" "$there" "$(digits 6 "$(mean narrow 1)")" "$(digits 4 "$(mean narrow 2)")" \
    "$(digits 4 "$(per "$(mean narrow 3)" 1e6)")"
read -r differ error <apart_auc
# shellcheck disable=SC2317 # called by goal
near() { awk -v d="$differ" -v e="$error" 'BEGIN { exit !((d < 0 ? -d : d) <= 2e-4 + 2 * e) }'; }
printf '\nA row of fp32 has %s bytes with its states, one of bf16 %s.\n\n' $((4 * row)) $((2 * dim + 4))
ratio=$(median <ratios)
goal "at most 1.1 times the seconds ($(digits 3 "$ratio"))" at_most "$ratio" 1.1
goal "AUC within 2e-4 and two standard errors of it ($(digits 2 "$differ") +- $(digits 2 "$error"))" near
commands
the_end
