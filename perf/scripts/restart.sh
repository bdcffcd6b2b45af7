#!/bin/sh
# restart.sh - 200 steps at once against 100, a restart, and 100 more: the same bits on the same
# layout, to rounding on other ranks and other plans; and the matrix: saved on 1 to 4 ranks by three
# plans, loaded on 1 to 4 ranks by another of them.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
deck=inputs/census.yaml tolerance=1e-4
same='1||1 2||2 4||4 3|5|2,1 4|4|2,2 4|2,6|1,2,1 4|3|1,2'
from='2|4|1,1'
others='1||1 2||2 3||3 4||4 3|1|1,2 4|6|3,1 4|1,4|1,2,1 3|3,5|1,1,1 4|3|1,2'

# part LAYOUT STEPS: trains up to STEPS; the loss is in $loss, what `eval` says in quality.json
part() {
    layout "$1"
    quiet mpirun -n "$ranks" build/heterps train $deck --set schedule.method=file \
        --set schedule.plan=plan.json --set "train.steps=$2"
    loss=$(number runs/census/report.json train_loss)
    [ "$2" -ne 200 ] || quiet build/heterps eval $deck --json quality.json \
        --checkpoint runs/census/checkpoint/step_000000200.h5
}

# first LAYOUT: 200 steps at once ($whole, whole.json), and 100 steps in the folder half
first() {
    rm -rf runs half
    part "$1" 200
    whole=$loss begun="$shown ($ranks ranks)"
    mv quality.json whole.json
    rm -rf runs
    part "$1" 100
    mv runs half
}

# go_on LAYOUT: 100 steps more on that layout, beside 200 steps at once on the first
go_on() {
    rm -rf runs
    cp -r half runs
    part "$1" 200
    loss_apart=$(apart "$whole" "$loss")
    test_apart=$(apart "$(number whole.json logloss)" "$(number quality.json logloss)")
    bits=no
    [ "$loss" != "$whole" ] || ! cmp -s quality.json whole.json || bits=yes
    row "$begun" "$shown ($ranks ranks)" "$(digits 9 "$whole")" "$(digits 9 "$loss")" \
        "$loss_apart" "$test_apart" $bits
}

# plan_on KIND RANKS: a layout of one, two or three stages, of fewer where the ranks are
plan_on() {
    case $(($1 < $2 ? $1 : $2))$2 in
    1*) echo "$2||$2" ;;
    22) echo '2|4|1,1' ;; 23) echo '3|5|2,1' ;; 24) echo '4|4|2,2' ;;
    33) echo '3|3,5|1,1,1' ;; 34) echo '4|2,6|1,2,1' ;;
    esac
}

# matrix: a row for each plan that saved, a column for the ranks that loaded; how far the loss and
# the test's log loss are at most from those of one rank at once
matrix() {
    first '1||1'
    header 'saved by' 'loaded on 1' 2 3 4
    for n in 1 2 3 4; do
        for kind in 1 2 3; do
            rm -rf runs half
            part "$(plan_on $kind $n)" 100
            mv runs half
            saved_by="$shown ($n ranks)" cells=
            for m in 1 2 3 4; do
                rm -rf runs
                cp -r half runs
                part "$(plan_on $((kind % 3 + 1)) $m)" 200
                far=$(larger "$(apart "$whole" "$loss")" \
                    "$(apart "$(number whole.json logloss)" "$(number quality.json logloss)")")
                worst=$(larger "$worst" "$far")
                cells="$cells $far"
            done
            # shellcheck disable=SC2086 # four cells
            row "$saved_by" $cells
        done
    done
}

title 'Restart: 200 steps against 100, a restart, and 100 more (census)'
import_census
header 'layers on ranks, first 100 steps' 'next 100 steps' 'loss at once' 'with restart' apart \
    'test log loss apart' 'same bits'
unequal=0 worst=0
for layout in $same; do
    first "$layout"
    go_on "$layout"
    [ $bits = yes ] || unequal=$((unequal + 1))
done
first "$from"
for layout in $others; do
    go_on "$layout"
    worst=$(larger "$(larger "$worst" "$loss_apart")" "$test_apart")
done
printf '\nThe matrix: each is loaded by the next of the three plans (one, two, three stages).\n\n'
matrix
commands
cat <<EOT
    mpirun -n RANKS build/heterps train $deck --set schedule.method=file \\
        --set schedule.plan=plan.json --set train.steps=100      (then, or at once, 200)
    build/heterps eval $deck --json quality.json \\
        --checkpoint runs/census/checkpoint/step_000000200.h5

\`plan.json\` has the stages of the line; "same bits" is the loss and all that \`eval\` says.

EOT
goal 'the same bits on the same layout' [ $unequal -eq 0 ]
goal "within $tolerance on another (worst $worst)" at_most "$worst" $tolerance
the_end
