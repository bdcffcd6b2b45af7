#!/bin/sh
# Each layer and each table learns by the rule that the deck gives it, on any layout; a run that was
# stopped goes on bit for bit, and a checkpoint of other rules is refused with the key's name.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census

# learn RANKS "CUTS" "UNITS" STEPS: a rule for each of its layers and tables
learn() {
    plan_file 8 "$2" "$3" >plan.json
    train "$1" census.yaml --set schedule.method=file --set schedule.plan=plan.json \
        --set "train.steps=$4" --set train.optimizer=momentum --set train.nesterov=true \
        --set train.table_optimizer=row_adagrad --set train.table_learning_rate=0.1 \
        --set model.h1.optimizer=lamb --set model.wide.optimizer=ftrl --set train.l1=1e-6
    loss=$(number runs/census/report.json train_loss)
}

learn 2 4 '1 1' 40
whole=$loss
rm -rf runs
learn 2 4 '1 1' 20
learn 2 4 '1 1' 40
[ "$loss" = "$whole" ] || fail "$loss is not bit for bit $whole"

echo '-- on other ranks, by another plan'
for layout in '1||1' '3|4|1 2'; do
    rm -rf runs
    learn "${layout%%|*}" "$(echo "$layout" | cut -d'|' -f2)" "${layout##*|}" 40
    close "$loss" "$whole" 1e-4
done

echo '-- rules that the checkpoint does not know'
refuse() {
    what=$1
    shift
    expect 65 "does not fit the deck: .*$what" ranks 1 train "$srcdir/inputs/census.yaml" \
        --set train.optimizer=momentum --set train.table_optimizer=row_adagrad \
        --set model.h1.optimizer=lamb --set model.wide.optimizer=ftrl "$@"
}
refuse 'train.optimizer adam' --set train.optimizer=adam
refuse 'train.table_optimizer sgd' --set train.table_optimizer=sgd
refuse 'model.h1.optimizer lamb' --set model.h1.optimizer=same
refuse 'model.wide.optimizer sgd' --set model.wide.optimizer=sgd
for what in l1=0.1 ftrl_beta=2 nesterov=true; do
    expect 65 "train.${what%=*}: is of the optimizer" ranks 1 train "$srcdir/inputs/census.yaml" \
        --set "train.$what"
done
verdict
