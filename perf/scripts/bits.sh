#!/bin/sh
# bits.sh [DECK...] - the bits of short trainings: of every deck that ships, or of those named, on 1
# to 4 ranks as one stage and as two, rows and sums by messages and by shared memory: the loss with
# 17 digits, and a checksum of all parameters and states in the last checkpoint. What must not change
# a bit is run before and after, on one machine (HETERPS=FILE: another program), and compared by
# diff. Names inside a checkpoint do not count.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
rows=${ROWS:-1500} steps=${STEPS:-6} batch=${BATCH:-96}
decks=${*:-2emb bags census census_mixed ctrdnn dcn deepfm din dlrm matchnet movielens nce wide_deep}

# one_type DECK: it, with all ranks of one type at one price
one_type() {
    build/heterps deck "inputs/$1.yaml" --set train.test='' 2>/dev/null >full || build/heterps deck "inputs/$1.yaml" >full
    awk '/^[a-z]/ { skip = ($1 == "resources:" || $1 == "schedule:") } !skip
        END { print "resources:\n  - {name: cpu, match: \"*\", price_usd_hour: 1}" }' full >"$1.yaml"
}

# parameters FILE: a checksum of what its datasets hold, whatever they are called
parameters() {
    /usr/bin/python3 - "$1" <<'PY'
import hashlib, sys, h5py
sums = []
with h5py.File(sys.argv[1], "r") as f:
    f.visititems(lambda name, x: sums.append(hashlib.md5(x[()].tobytes()).hexdigest())
                 if isinstance(x, h5py.Dataset) else None)
print(hashlib.md5("".join(sorted(sums)).encode()).hexdigest()[:16], len(sums))
PY
}

# trained DECK RANKS "CUTS" "UNITS" WAY: a row of the table
trained() {
    plan_file "$layers" "$3" "$4" >plan.json
    rm -rf run
    HETERPS_SHARED_MEMORY=$([ "$5" = messages ] && echo 0 || echo 1)
    export HETERPS_SHARED_MEMORY
    quiet mpirun -n "$2" build/heterps train "$1.yaml" --set schedule.method=file \
        --set schedule.plan=plan.json --set "train.steps=$steps" --set train.epochs=0 \
        --set run.directory=run --set "data.train=data/$1.h5" --set data.test= \
        --set "data.batch=$batch" --set run.threads=1
    row "$1" "$2" "${3:-whole}" "$5" "$(number run/report.json train_loss)" \
        "$(parameters run/checkpoint/step_*.h5)"
}

header deck ranks 'cut at' 'rows by' loss 'parameters, datasets'
mkdir -p data
for deck in $decks; do
    one_type "$deck"
    layers=$(awk '/^[a-z]/ { on = $1 == "model:" } on && /^  - / { n++ } END { print n }' full)
    quiet build/heterps generate "$deck.yaml" --rows "$rows" --output "data/$deck.h5"
    trained "$deck" 1 '' 1 memory
    for n in 2 3 4; do
        for way in memory messages; do
            trained "$deck" "$n" '' "$n" "$way"
            trained "$deck" "$n" "$((layers / 2))" "$((n - 1)) 1" "$way"
        done
    done
done
