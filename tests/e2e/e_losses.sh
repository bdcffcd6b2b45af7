#!/bin/sh
# Networks with other losses than the logistic one reach the same loss on any number of ranks,
# wherever they are cut: what is drawn as a negative, and from whom, does not depend on the layout;
# a restart is bit for bit. What they cannot take is told with the layer's name.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"

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

layouts matchnet 11 '3|4|1 2'
layouts 2emb 11 '3|6 9|1 1 1'
layouts nce 4 '4|1|1 3'
[ "$(number runs/nce/report.json examples)" = 1100 ] || fail 'not 12 steps, two of them of 50'

echo '-- a restart'
rm -rf runs
run nce 4 2 2 '1 1'
close "$loss" "$want" 1e-4
want=$loss
rm -rf runs
run nce 4 2 2 '1 1' --set train.steps=5
run nce 4 2 2 '1 1'
[ "$loss" = "$want" ] || fail "$loss is not bit for bit $want"

echo '-- a loss in an earlier stage, and classes'
awk 'BEGIN { for (i = 0; i < 300; i++) { c = i * 7 % 4; printf "%d", c
    for (j = 0; j < 3; j++) printf " %d:1", 1 + c * 7 + i * (j + 5) % 7 + j * 30
    print "" } }' >few.txt
expect 0 '' heterps import libsvm --labels keep --output few.h5 few.txt
cat >few.yaml <<EOF
run:   {name: few, seed: 1}
data:  {train: few.h5, test: few.h5, batch: 50, microbatches: 3}
model:
  - {name: ids,   type: embedding, slots: all, buckets: 200, hash: mod, dim: 4}
  - {name: h,     type: fc, width: 8, activation: tanh}
  - {name: guess, type: fc, width: 1}
  - {name: near,  type: squared, weight: 0.5}
  - {name: class, type: fc, width: 4, inputs: h}
  - {name: loss,  type: cross_entropy}
train: {optimizer: adam, learning_rate: 0.02, epochs: 20}
EOF
few() {
    plan_file 6 "$2" "$3" >plan.json
    rm -rf runs
    expect 0 '' ranks "$1" train few.yaml --set schedule.method=file \
        --set schedule.plan=plan.json
    loss=$(number runs/few/report.json train_loss)
}
few 1 '' 1
want=$loss
few 3 4 '2 1'
close "$loss" "$want" 1e-4
close "$(number runs/few/report.json test_accuracy)" 1 0.02
for key in test_auc test_logloss test_rmse; do
    grep -q "\"$key\": null" runs/few/report.json || fail "$key is not null"
done

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
expect 65 "label of example [0-9]+ is 3: loss 'loss' takes whole numbers from 0 to 2" \
    ranks 2 train few.yaml --restart never --set data.test= --set model.class.width=3
expect 65 "label of example [0-9]+ is [23]: loss 'near' takes numbers from 0 to 1" \
    ranks 2 train few.yaml --restart never --set data.test= --set model.near.type=logistic
(cat few.txt && echo '4 1:1 31:1 61:1') >more.txt
expect 0 '' heterps import libsvm --labels keep --output more.h5 more.txt
for how in --check '--restart never'; do
    # shellcheck disable=SC2086 # two words
    expect 65 "more.h5: the label of example 300 is 4: loss 'loss' takes .* from 0 to 3" \
        ranks 2 train few.yaml --set data.test=more.h5 $how
    grep -q 'training:' err && fail 'it trained before it saw the test set'
done
refuse 2emb "loss 'loss' needs an input of width 1" --set model.loss.type=logistic
verdict
