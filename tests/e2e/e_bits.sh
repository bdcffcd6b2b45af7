#!/bin/sh
# What three ranks learn is the same to the bit, by messages or through shared memory; and the same
# as ever: the losses in e_bits.txt, of the training and of an evaluation of its last
# checkpoint, are those of the program before its rooms were moved. Bits depend on compiler, vector
# instructions and BLAS: each such machine has its lines there, another one is told which to add.
# HPS_BITS_DECKS: other decks of inputs/ than these.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

export OPENBLAS_CORETYPE=Haswell        # the same products on most processors

# What decides the bits here, in one line.
machine() {
    isa=default
    for one in avx2 avx512f; do
        grep -q -w -m 1 "$one" /proc/cpuinfo 2>/dev/null && isa=$one
    done
    heterps --version | awk -v isa="$isa" '
        $1 == "compiler" { sub(/^compiler */, ""); sub(/ \([^)]*\)/, ""); compiler = $0 }
        $1 == "BLAS" {
            blas = $2 " " $3
            for (i = 4; i <= NF; i++)
                if ($i ~ /^[A-Z][a-z]/) blas = blas " " $i
        }
        $1 == "GEMM" { gemm = $2 }
        END { print compiler "; " isa "; " blas "; " gemm }'
}

# one_type DECK: it, with all ranks of one type at one price, and its data
one_type() {
    heterps deck "$srcdir/inputs/$1.yaml" --set data.test= >full.yaml
    sed 's/buckets: 1000000*1*/buckets: 1001/' full.yaml | awk '
        /^[a-z]/ { skip = ($1 == "resources:" || $1 == "schedule:"); model = $1 == "model:" }
        !skip
        END { print "resources:\n  - {name: cpu, match: \"*\", price_usd_hour: 1}" }' >"$1.yaml"
    layers=$(awk '/^[a-z]/ { on = $1 == "model:" } on && /^  - / { n++ } END { print n }' "$1.yaml")
    case $1 in
    census*) cp data/census_test.h5 "$1.h5" ;;
    *) expect 0 '' heterps generate "$1.yaml" --rows 900 --output "$1.h5" ;;
    esac
}

# bits DECK RANKS "CUTS" "UNITS": a training of 3 steps; its loss is in $bits
bits() {
    plan_file "$layers" "$3" "$4" >plan.json
    rm -rf run
    expect 0 '' ranks "$2" train "$1.yaml" --set schedule.method=file \
        --set schedule.plan=plan.json --set train.steps=3 --set train.epochs=0 \
        --set run.directory=run --set "data.train=$1.h5" --set data.test= --set data.batch=96 \
        --set run.threads=1
    bits=$(number run/report.json train_loss)
}

# kept DECK RANKS CUTS: it and that of its checkpoint are in e_bits.txt, where that has this machine
kept() {
    expect 0 '' heterps eval "$1.yaml" --set "data.train=$1.h5" --set "data.test=$1.h5" \
        --set data.batch=96 --set run.threads=1 --json eval.json \
        --checkpoint run/checkpoint/step_000000003.h5
    key="$machine; $1; $2; ${3:-whole};" kept="$srcdir/tests/e2e/e_bits.txt"
    line="$key $bits $(number eval.json loss)"
    if ! grep -q -F "$key" "$kept"; then
        echo "not kept: $line"
        unknown=1
    elif ! grep -q -x -F "$line" "$kept"; then
        fail "other bits than ever: $line"
    fi
}

unknown=
census
machine=$(machine)
for deck in ${HPS_BITS_DECKS:-census nce din}; do
    one_type "$deck"
    bits "$deck" 1 '' 1
    kept "$deck" 1 ''
    for cut in '' "$((layers / 2))"; do
        units=3
        [ -z "$cut" ] || units='2 1'
        HETERPS_SHARED_MEMORY=1
        export HETERPS_SHARED_MEMORY
        bits "$deck" 3 "$cut" "$units"
        kept "$deck" 3 "$cut"
        memory=$bits
        HETERPS_SHARED_MEMORY=0
        bits "$deck" 3 "$cut" "$units"
        [ "$memory" = "$bits" ] || fail "$deck: by messages $bits, by shared memory $memory"
    done
done
[ -z "$unknown" ] || [ "$hps_failed" -gt 0 ] ||
    skip "e_bits.txt has no lines for this machine: $machine"
verdict
