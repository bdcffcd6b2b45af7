#!/bin/sh
# share.sh - perf/scripts/share.yaml on three ranks: the plan that exact proves best when each stage
# has units of its own, and the same stages with the first and the last on the same unit: what a
# million examples cost, promised and measured. The two plans are run in turn, ROUNDS times (3); the
# figures are medians.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
rounds=${ROUNDS:-3} steps=${STEPS:-5}
report=runs/share/report.json

# trained PLAN: a run of the plan
trained() {
    rm -rf runs
    quiet mpirun -n 3 build/heterps train perf/scripts/share.yaml --set "train.steps=$steps" \
        --set schedule.method=file --set "schedule.plan=$1.json" --set schedule.profile=profile.json
    mv out "$1.out"
    million "$(number $report usd)" "$(number $report examples)" >>"$1.usd"
    number $report examples_s >>"$1.rate"
}

# million USD EXAMPLES: USD a million examples
million() { awk -v usd="$1" -v n="$2" 'BEGIN { printf "%.9g\n", (n > 0 ? 1e6 * usd / n : "nan") }'; }

# line WHAT PLAN: its row
line() {
    promised=$(number "$2.report" predicted_usd) of=$(number "$2.report" examples)
    row "$1" "$(number "$2.report" units)" "$(digits 4 "$(number "$2.report" predicted_examples_s)")" \
        "$(digits 4 "$(median <"$2.rate")")" "$(digits 4 "$(million "$promised" "$of")")" \
        "$(digits 4 "$(median <"$2.usd")")" "$(digits 9 "$(number "$2.report" train_loss)")"
}

title 'Two stages on the same units: what a million examples cost'
mkdir -p data
said build/heterps generate perf/scripts/share.yaml --rows 200000 --output data/share_train.h5
said mpirun -n 3 build/heterps train perf/scripts/share.yaml --set schedule.method=exact --set train.steps=1
cp runs/share/profile.json profile.json
cp runs/share/plan.json own.json
[ "$(grep -c '"first"' own.json)" = 3 ] || give_up 'exact did not find three stages'
sed 's/"stages"/"share": [[0, 2]], &/' own.json >shared.json
round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    for plan in own shared; do
        trained $plan
        cp $report $plan.report
    done
done
echo 'The pool and the shared plan, and how the stages spent their time:'
echo
sed -n -e '/^resources:/,/^plan by/p' -e '/^stage  *type.*compute/,/^$/p' shared.out |
    sed '$d; s/^/    /'
echo
header plan units 'examples/s promised' measured 'USD a million examples promised' measured loss
line 'units of their own' own
line 'stages 0 and 2 on the same unit' shared
commands
cat <<EOT

Then in turn, $rounds times, with \`own.json\`, the plan of that run, and \`shared.json\`, the same with
\`"share": [[0, 2]]\`:

    mpirun -n 3 build/heterps train perf/scripts/share.yaml --set train.steps=$steps --set schedule.method=file \\
        --set schedule.plan=PLAN --set schedule.profile=profile.json

EOT
saved=$(awk -v a="$(median <own.usd)" -v b="$(median <shared.usd)" 'BEGIN { printf "%.4g\n", b / a }')
goal "a million examples cost less on shared units ($saved of the other plan's, measured)" \
    at_most "$saved" 0.99
goal 'the same loss, within 1e-4' \
    at_most "$(apart "$(number own.report train_loss)" "$(number shared.report train_loss)")" 1e-4
the_end
