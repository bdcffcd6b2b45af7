#!/bin/sh
# codecs.sh RATINGS_FOLDER [SEEDS] - numbers in fewer bytes, at rest and in messages, beside fp32:
# bytes, examples/s, and test AUC of movielens (with the folder of movielens.sh), ctrdnn and dlrm on
# made-up data of ROWS (150,000) examples, from SEEDS (7) seeds each, on two ranks that share no
# memory. Some twenty minutes. NETWORKS: of them.
if [ $# -lt 1 ] || [ ! -d "$1" ]; then
    echo 'usage: perf/scripts/codecs.sh DIR [SEEDS]    with ratings.csv (or .gz) in DIR' >&2
    exit 64
fi
ratings=$(cd "$1" && pwd) seeds=${2:-7}
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
rows=${ROWS:-150000} networks=${NETWORKS:-movielens ctrdnn dlrm}
auc_goal=2e-4 bytes_goal=0.03 topk_bytes=0 missed='' topk_missed=''
export HETERPS_SHARED_MEMORY=0

# The choices, NAME KEY=VALUE... a line, all keys of `storage`.
cat >choices <<'TEXT'
fp32
rows_bf16 rows=bf16
rows_fp16 rows=fp16
rows_int8 rows=int8
rows_states_bf16 rows=bf16 states=bf16
messages_bf16 messages.rows=bf16 messages.gradients=bf16
messages_fp16 messages.rows=fp16 messages.gradients=fp16
dense_topk messages.dense=topk
TEXT

# within OBJECT KEY: a number of an object of the report
within() { sed -n "/\"$1\": {/,/}/p" runs/it/report.json >object && number object "$2"; }
# encoded: bytes of what travelled encoded, over those of fp32
encoded() {
    sed -n '/^ "messages": \[$/,/^ \]/p' runs/it/report.json | awk '
        $1 == "\"bytes\":" { bytes += $2 } $1 == "\"plain_bytes\":" { plain += $2 }
        END { print (plain > 0 ? bytes / plain : 1) }'
}

# share A B: A / B, 1 where there is no B
share() { awk -v a="$1" -v b="$2" 'BEGIN { print (b > 0 ? a / b : 1) }'; }

# learn DECK CHOICE SEED KEYS ARGUMENT...: adds "AUC ROWS SENT EXAMPLES_S ENCODED" to the file
# CHOICE: the share of the bytes of rows, bytes sent, the share of those that are encoded
learn() {
    deck=$1 choice=$2 seed=$3 keys=$4
    shift 4
    for key in $keys; do
        set -- "$@" --set "storage.$key"
    done
    how=quiet
    [ "$seed" -gt 1 ] || how=said
    rm -rf runs
    $how mpirun -n 2 build/heterps train "inputs/$deck.yaml" --set "run.seed=$seed" \
        --set run.threads=1 --set checkpoint.interval_seconds=0 --set schedule.method=single:cpu \
        --set run.directory=runs/it "$@"
    echo "$(number runs/it/report.json test_auc)" \
        "$(share "$(within rows_at_rest bytes)" "$(within rows_at_rest plain_bytes)")" \
        "$(number runs/it/report.json net_bytes)" "$(number runs/it/report.json examples_s)" \
        "$(encoded)" >>"$choice"
}

# beside CHOICE: its means, beside those of fp32, seed by seed: shares of the bytes, examples/s, how
# many times those of fp32, AUC, its mean difference and the standard error of that; in file
# compared the difference, its error and the share of the bytes that are encoded
beside() {
    paste fp32 "$1" | awk '
        { d = $6 - $1; s += d; ss += d * d; rows += $7; sent += $8 / $3; rate += $9
          times += $9 / $4; auc += $6; encoded += $10 }
        END { v = NR > 1 ? (ss - s * s / NR) / (NR - 1) / NR : 0
              printf "%.3f %.3f %.3f %.0f %.2f %.5f %+.1e %.1e\n", rows / NR, encoded / NR,
                     sent / NR, rate / NR, times / NR, auc / NR, s / NR, sqrt(v > 0 ? v : 0)
              print s / NR, sqrt(v > 0 ? v : 0), encoded / NR >"compared" }'
}

# near: is the difference of AUC no larger than the goal and two of its standard errors?
near() {
    awk -v most=$auc_goal '{ exit !(($1 < 0 ? -$1 : $1) <= most + 2 * $2) }' compared
}

# judge DECK CHOICE: notes what is not as near to fp32 as it is meant to be, and the bytes of topk
judge() {
    if [ "$2" = dense_topk ]; then
        near || topk_missed="$topk_missed $1"
        topk_bytes=$(larger "$topk_bytes" "$(cut -d ' ' -f 3 compared)")
    else
        near || missed="$missed $1:$2"
    fi
}

# learn_all DECK ARGUMENT...: its rows
learn_all() {
    deck=$1
    shift
    # shellcheck disable=SC2046 # words
    rm -f $(cut -d ' ' -f 1 choices)
    for seed in $(seq "$seeds"); do
        while read -r choice keys <&3; do
            learn "$deck" "$choice" "$seed" "$keys" "$@"
        done 3<choices
    done
    while read -r choice keys; do
        # shellcheck disable=SC2046 # one word a column
        row "$deck" "$(echo "$choice" | tr _ ' ')" $(beside "$choice")
        judge "$deck" "$choice"
    done <choices
}

wants() { case " $networks " in *" $1 "*) ;; *) return 1 ;; esac }

title "Numbers in fewer bytes beside fp32, $seeds seeds"
mkdir -p data
header network what 'bytes of rows' 'of encoded messages' 'of all sent' 'examples/s' 'times fp32' 'test AUC' \
    'AUC less that of fp32' 'standard error'
if wants movielens; then
    import_movielens "$ratings"
    learn_all movielens
fi
for deck in ctrdnn dlrm; do
    wants $deck || continue
    for part in "train 0 $rows" "test $rows $((rows / 4))"; do
        read -r name first n <<TEXT
$part
TEXT
        said build/heterps generate "inputs/$deck.yaml" --set generate.buckets=10000 \
            --first "$first" --rows "$n" --output "data/${deck}_$name.h5"
    done
    rate=
    [ $deck = dlrm ] || rate='--set train.learning_rate=0.001'
    # shellcheck disable=SC2086 # words
    learn_all $deck --set "data.test=data/${deck}_test.h5" --set data.batch=500 $rate
    rm -f "data/${deck}_train.h5" "data/${deck}_test.h5"
done
cat <<TEXT

Bytes are shares of those of fp32: of rows with their states at rest, of the kinds of messages that
travel encoded, of all that both ranks send in a run. Differences of AUC are of runs from the same
seed, their mean and its standard error over the seeds; tests are on examples that were not trained
on. Messages: rows and their gradients. topk: one in a hundred dense gradients travels.

TEXT
goal "AUC of rows and messages in fewer bytes within $auc_goal and two standard errors of fp32, \
not of:${missed:- none}" [ -z "$missed" ]
goal "topk: no more than $bytes_goal of the bytes of dense gradients: $(digits 2 "$topk_bytes")" \
    at_most "$topk_bytes" $bytes_goal
goal "topk: AUC as near, not of:${topk_missed:- none}" [ -z "$topk_missed" ]
commands
the_end
