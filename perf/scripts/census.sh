#!/bin/sh
# census.sh - test AUC of inputs/census.yaml against seconds of training, on two ranks from nothing.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
goal_auc=0.905 goal_seconds=60

title 'Census: test AUC against seconds of training, 2 ranks'
import_census
header epochs 'training, s' 'test AUC' 'log loss' calibration examples/s 'whole command, s'
reached=
for epochs in 1 2 3 4 6; do
    rm -rf runs
    begin=$(date +%s.%N)
    said mpirun -n 2 build/heterps train inputs/census.yaml --set train.epochs=$epochs
    wall=$(echo "$begin $(date +%s.%N)" | awk '{ printf "%.2f\n", $2 - $1 }')
    report=runs/census/report.json
    seconds=$(number "$report" seconds) auc=$(number "$report" test_auc)
    row $epochs "$(digits 3 "$seconds")" "$(digits 4 "$auc")" \
        "$(digits 4 "$(number "$report" test_logloss)")" \
        "$(digits 4 "$(number "$report" calibration)")" \
        "$(digits 3 "$(number "$report" examples_s)")" "$wall"
    if [ -z "$reached" ] && at_most $goal_auc "$auc"; then reached=$seconds; fi
done
commands
echo
goal "AUC $goal_auc within $goal_seconds s (${reached:+after $(digits 2 "$reached") s})" \
    at_most "$reached" $goal_seconds
the_end
