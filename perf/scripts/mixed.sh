#!/bin/sh
# mixed.sh - inputs/census_mixed.yaml on three ranks: the plan for its two kinds of ranks, and what
# it promised beside what was measured.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh

title 'Two kinds of ranks: the plan, promised and measured'
import_census
said mpirun -n 3 build/heterps train inputs/census_mixed.yaml
echo 'The pool and the plan, and how the stages spent their time:'
echo
sed -n -e '/^resources:/,/^proven/p' -e '/^stage  *type.*compute/,/^$/p' out | sed '$d; s/^/    /'
echo
report=runs/census_mixed/report.json
# of WHAT KEY DIGITS: a row from the report
of() {
    measured=$(number $report "$2") engine=$(number $report "predicted_$2")
    model=$(number $report "model_$2")
    row "$1" "$(digits 4 "$measured")" "$(digits 4 "$engine")" "$(digits 4 "$model")" \
        "$(awk -v a="$measured" -v b="$engine" 'BEGIN { printf "%.3f\n", a / b }')"
}
header what measured 'promised (engine)' "paper's model" 'measured/promised'
of examples/s examples_s
of 'seconds an epoch' seconds_epoch
of 'USD an epoch' usd_epoch
echo
grep -E '^(pipeline bubble|test:)' out | sed 's/^/    /'
commands
the_end
