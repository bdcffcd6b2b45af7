#!/bin/sh
# checkpoint.sh - a checkpoint of a table of 2 GiB, written behind the training: its bytes a second
# beside the raw disk rate of the same run (dd with fsync, before and after), and how long the
# training stood still for it. On 1 and 2 ranks.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
steps=${STEPS:-1800} goal=10

# raw: seconds that dd takes to have the bytes of a checkpoint on the same disk
raw() {
    begin=$(date +%s.%N)
    dd if=/dev/zero of=raw.bin bs=1M count=$((bytes / 1048576)) conv=fsync 2>dd.log || give_up dd
    awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.3f\n", b - a }'
    rm -f raw.bin
}

rate() { awk -v n="$bytes" -v s="$1" 'BEGIN { printf "%.0f\n", n / s / 1e6 }'; }

# measure RANKS: a row for each checkpoint that was written behind the training
measure() {
    rm -rf runs
    before=$(raw)
    said mpirun -n "$1" build/heterps train big.yaml --set "train.steps=$steps"
    after=$(raw)
    sed -n 's/.*checkpoint at step \([0-9]*\) written in \([0-9.]*\) s, training waited \([0-9.]*\) s/\1 \2 \3/p' \
        err >saves
    # the last one is waited for, and for its sake perhaps the one before: no training is left
    [ "$(wc -l <saves)" -ge 3 ] || give_up 'no checkpoint was written behind the training'
    head -n -2 saves >behind
    while read -r step took waited; do
        share=$(awk -v a="$waited" -v b="$took" 'BEGIN { printf "%.1f\n", 100 * a / b }')
        row "$1" "$step" "$took" "$(rate "$took")" "$(rate "$before"), $(rate "$after")" \
            "$waited" "$share %"
        worst=$(larger "$worst" "$share")
    done <behind
    last=$(tail -n 1 saves | cut -d ' ' -f 2)
    row "$1" "$steps, the last: waited for" "$last" "$(rate "$last")" \
        "$(rate "$before"), $(rate "$after")" "$last" '-'
}

sed -e 's/table: shared, dim: 10/dim: 10, buckets: 1000001/' -e 's/optimizer: adam/optimizer: adagrad/' \
    -e 's/epochs: 1/epochs: 0/' -e 's/throughput_limit: max/method: "single:cpu", throughput_limit: max/' \
    inputs/ctrdnn.yaml >big.yaml
echo 'checkpoint: {interval_seconds: 5, keep: 1}' >>big.yaml
mkdir -p data
quiet build/heterps generate inputs/ctrdnn.yaml --rows 100000 --output data/ctrdnn_train.h5
bytes=$((26 * 1000001 * 20 * 4))
worst=0

title "A checkpoint of $bytes bytes, behind the training"
header ranks 'after step' 'written in, s' 'MB/s' 'dd with fsync before, after, MB/s' \
    'training waited, s' 'of the write'
measure 1
measure 2
commands
cat <<'EOT'

`big.yaml` is inputs/ctrdnn.yaml with a table of 1,000,001 rows for each slot and the optimizer
adagrad: 26 tables of rows of 20 floats. "Waited" is what the training stood still, at the begin and
at the end of a write, and what it spent on rows that were still to be written as it changed them.

EOT
goal "at most $goal % of the write (worst $worst %)" at_most "$worst" $goal
the_end
