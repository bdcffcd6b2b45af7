#!/bin/sh
# Networks with other losses than the logistic one reach the same loss on any number of ranks,
# wherever they are cut: what is drawn as a negative, and from whom, does not depend on the layout;
# a restart is bit for bit. What they cannot take is told with the layer's name.
. "$srcdir/tests/lib.sh"
. "$srcdir/tests/data.sh"

# run NAME LAYERS RANKS "CUTS" "UNITS" [ARGUMENT...]
run() {
    name=$1
    plan_file "$2" "$4" "$5" >plan.json
    hps_n=$3
    shift 5
    profile=
    [ -f "$name.json" ] && profile="--set schedule.profile=$name.json"
    # shellcheck disable=SC2086 # none or two words
    train "$hps_n" "$name.yaml" --set "data.train=$name.h5" --set "data.test=$name.h5" \
        --set schedule.method=file --set schedule.plan=plan.json --set data.batch=100 \
        --set train.epochs=0 --set train.steps=12 --set train.learning_rate=0.01 $profile "$@"
    loss=$(number "runs/$name/report.json" train_loss)
    test=$(number "runs/$name/report.json" test_loss)
}

# layouts NAME LAYERS "RANKS|CUTS|UNITS"...: all as on one rank
layouts() {
    name=$1 layers=$2
    shift 2
    echo "-- $name"
    expect 0 '' heterps generate "$srcdir/inputs/$name.yaml" --set generate.buckets=500 \
        --rows 450 --output "$name.h5"
    run "$name" "$layers" 1 '' 1
    want=$loss want_test=$test
    cp "runs/$name/profile.json" "$name.json"
    for layout; do
        rm -rf runs
        run "$name" "$layers" "${layout%%|*}" "$(echo "$layout" | cut -d'|' -f2)" "${layout##*|}"
        close "$loss" "$want" 1e-4
        close "$test" "$want_test" 1e-4
    done
}

layouts matchnet 11 '3|4|1 2' '4||4'
layouts 2emb 11 '3|6|2 1' '3|6 9|1 1 1'
layouts nce 4 '4|1|1 3' '2||2'
[ "$(number runs/nce/report.json examples)" = 1100 ] || fail 'not 12 steps, two of them of 50'

echo '-- a restart'
rm -rf runs
run nce 4 2 2 '1 1'
want=$loss
rm -rf runs
run nce 4 2 2 '1 1' --set train.steps=5
run nce 4 2 2 '1 1'
[ "$loss" = "$want" ] || fail "$loss is not bit for bit $want"

echo '-- what cannot be'
refuse() {
    deck=$1 words=$2
    shift 2
    expect 65 "$words" ranks 2 train "$srcdir/inputs/$deck.yaml" --set "data.train=$deck.h5" \
        --restart never "$@"
}
refuse matchnet "loss 'loss' wants 250 other items" --set model.loss.negatives=250
refuse nce "loss 'loss' draws 501 of 500 classes" --set model.loss.negatives=501
refuse nce "class of example [0-9]+ is [0-9]+: loss 'loss' has 50 classes" \
    --set model.loss.classes=50
refuse 2emb "loss 'loss' needs an input of width 1" --set model.loss.type=logistic
verdict
