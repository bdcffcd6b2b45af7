# shellcheck shell=sh
# data.sh - what the e_ scripts that train share: datasets, and plans of any cut.

# census: data/census_train.h5 and data/census_test.h5 in the scratch folder
census() {
    mkdir -p data
    heterps import csv --schema "$srcdir/inputs/census.schema.yaml" --output data/census_train.h5 \
        --test-output data/census_test.h5 "$srcdir/inputs/census/adult.csv.gz" 2>err || {
        cat err
        fail 'census cannot be imported'
        verdict
    }
}

# bags ROWS: bags.yaml, whose layers read tables for bags, summed or not, and one for single ids,
# and bags.h5 with so many examples
bags() {
    cat >bags.yaml <<'EOF'
run:   {name: bags, seed: 1}
data:  {train: bags.h5, test: bags.h5, batch: 60, microbatches: 2}
model:
  - {name: ids,  type: embedding, slots: 1-3, table: rows, dim: 4}
  - {name: wide, type: embedding, slots: 1-3, table: ones, dim: 1, combine: sum}
  - {name: one,  type: embedding, slots: [4], dim: 3}
  - {name: both, type: concat, inputs: [ids, one]}
  - {name: h1,   type: fc, width: 16, activation: relu}
  - {name: deep, type: fc, width: 1}
  - {name: out,  type: add, inputs: [wide, deep]}
  - {name: loss, type: logistic}
train:    {optimizer: adagrad, learning_rate: 0.05, epochs: 0, steps: 12}
generate: {dense: 0, slots: 4, buckets: [700, 700, 700, 40], ids: [30, 20, 9, 0], alike: true}
EOF
    expect 0 '' "$HETERPS" generate bags.yaml --rows "$1" --output bags.h5
}

# wide_bags ROWS: wide.yaml, the same with more rows, of which memory need not have all, and wide.h5
wide_bags() {
    bags 60
    sed 's/buckets: \[700, 700, 700, 40\]/buckets: [20000, 20000, 20000, 400]/
        s/bags\.h5/wide.h5/g' bags.yaml >wide.yaml
    expect 0 '' "$HETERPS" generate wide.yaml --rows "$1" --output wide.h5
}

# wide: wide.yaml and wide.h5
# with 600 examples, a folder `disk` for rows; and
# rows NAME STEP: checksums of all rows of a checkpoint
rows() {
    for table in rows ones one; do
        h5dump -a "/tables/$table/rows/checksum" "$1/checkpoint/step_$(printf %09d "$2").h5" |
            grep '(0)'
    done
}
# equals NAME OTHER [STEP]: they ended with the same bits, with that of the last checkpoint
equals() {
    for key in train_loss test_loss test_auc; do
        equal "$(number "$1/report.json" $key)" "$(number "$2/report.json" $key)"
    done
    equal "$(rows "$1" "${3:-25}")" "$(rows "$2" "${3:-25}")"
    [ "$(rows "$1" "${3:-25}" | wc -l)" -eq 3 ] || fail "$1: not three tables"
}
# paged NAME: rows were read from its file, and written to it
paged() {
    sed -n '/^ "tiers": \[/,/^ \]/p' "$1/report.json" |
        awk '$1 == "\"read\":" { r += $2 } $1 == "\"written\":" { w += $2 }
            END { exit !(r > 0 && w > 0) }' || fail "$1: nothing was read or written"
}
wide() {
    wide_bags 600
    mkdir disk
}

# small_ctrdnn: small.yaml, ctrdnn of few rows on one type, small.h5 with 900 examples, $layers, and
# learn CODE PATTERN RANKS "CUTS" "UNITS" NAME ARGUMENT...: 6 steps; the loss is in $loss
small_ctrdnn() {
    heterps deck "$srcdir/inputs/ctrdnn.yaml" --set data.test= >full.yaml
    sed 's/buckets: 1000000*1*/buckets: 1001/' full.yaml | awk '
        /^[a-z]/ { skip = ($1 == "resources:" || $1 == "schedule:") } !skip
        END { print "resources:\n  - {name: cpu, match: \"*\", price_usd_hour: 1}" }' >small.yaml
    expect 0 '' heterps generate small.yaml --rows 900 --output small.h5
    layers=$(awk '/^[a-z]/ { on = $1 == "model:" } on && /^  - / { n++ } END { print n }' \
        small.yaml)
    learn() {
        code=$1 pattern=$2 n=$3 name=$6
        plan_file "$layers" "$4" "$5" >plan.json
        shift 6
        # shellcheck disable=SC2046 # words
        expect "$code" "$pattern" ranks "$n" train small.yaml --set schedule.method=file \
            --set schedule.plan=plan.json --set train.steps=6 --set train.epochs=0 \
            --set "run.directory=$name" --set data.train=small.h5 --set data.batch=96 \
            --set run.threads=1 --set checkpoint.keep=9 \
            $(profile_of "small${HPS_FAKE_GPUS:-}.json") "$@"
        keep_profile "small${HPS_FAKE_GPUS:-}.json" "$name"
        loss=$(number "$name/report.json" train_loss)
    }
}

# profile_of FILE, keep_profile FILE RUN: to measure once what changes no bit: a run's arguments,
# where the file is there; what that run measured becomes the file
profile_of() { [ ! -s "$1" ] || echo "--set schedule.profile=$1"; }
keep_profile() { [ -s "$1" ] || [ ! -s "$2/profile.json" ] || cp "$2/profile.json" "$1"; }

# plan_file LAYERS "CUT..." "UNITS..." [SHARE] [WORKERS]: a plan of one type: stages begin at layer
# 0 and at each cut; SHARE is the list of pairs of stages on the same units
plan_file() {
    awk -v L="$1" -v cuts="$2" -v units="$3" -v share="${4:-[]}" -v W="${5:-1}" 'BEGIN {
        n = split(cuts, c, " "); split(units, u, " ")
        printf "{\"format\": \"heterps-plan-1\", \"method\": \"file\", \"assignment\": ["
        for (l = 0; l < L; l++) printf "%s0", l ? ", " : ""
        printf "], \"stages\": ["
        for (s = 0; s <= n; s++)
            printf "%s{\"first\": %d, \"last\": %d, \"type\": 0, \"units\": %d}", s ? ", " : "",
                s ? c[s] : 0, s < n ? c[s + 1] - 1 : L - 1, u[s + 1]
        print "], \"share\": " share ", \"workers\": " W "}" }'
}

# train RANKS DECK ARGUMENT...: a run that must succeed; its report is in runs/NAME/report.json
train() {
    hps_ranks=$1 hps_deck=$2
    shift 2
    expect 0 '' ranks "$hps_ranks" train "$srcdir/inputs/$hps_deck" "$@"
}

# too_fast FACTOR PROFILE: the profile with the computation of its first type so many times shorter
too_fast() {
    awk -v by="$1" '{ print }
        /"(oct|forward|once)"/ { getline; sub(/,/, ""); printf "%.17g,\n", $1 / by }' "$2"
}

# plans_of REPORT KEY: its values in the list of plans that a run used, one a line
plans_of() {
    awk -v key="\"$2\":" '/^ "plans": \[/ { on = 1 } on && /^ \]/ { on = 0 }
        on && /^   "/ && $1 == key { sub(/,$/, "", $2); print $2 }' "$1"
}
