#!/bin/sh
# layouts.sh [DECK...] - the loss after 100 steps wherever the layers are: on 1 to 4 ranks, and on
# every cut of the eight layers into two and three stages, against one rank. Then some layouts
# twice: the same bits. For census and ctrdnn (a quarter of an hour), or the decks that are named.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
steps=${STEPS:-100} tolerance=1e-4
twice='1||1 4||4 3|5|2,1 4|4|2,2 4|2,6|1,2,1'

# every_layout: "RANKS|CUTS|UNITS" of all; the ranks of stages go round so that all shapes occur
every_layout() {
    awk 'BEGIN {
        for (r = 1; r <= 4; r++) print r "||" r
        n2 = split("2,2 1,3 3,1 1,2 2,1 1,1", two, " ")
        n3 = split("1,2,1 2,1,1 1,1,2 1,1,1", three, " ")
        for (a = 1; a <= 7; a++) show(a, two[(a - 1) % n2 + 1])
        for (a = 1; a <= 7; a++)
            for (b = a + 1; b <= 7; b++) show(a "," b, three[k++ % n3 + 1])
    }
    function show(cuts, units,    u, n, i, sum) {
        n = split(units, u, ",")
        for (i = 1; i <= n; i++) sum += u[i]
        print sum "|" cuts "|" units
    }'
}

data_of() { # DECK
    case $1 in
    census) import_census ;;
    *)
        mkdir -p data
        said build/heterps generate "inputs/$1.yaml" --rows $((steps * 1000)) \
            --output "data/$1_train.h5"
        ;;
    esac
}

# trained DECK LAYOUT [ARGUMENT...]: the losses on train and test data are in $loss and $test
trained() {
    name=$1
    layout "$2"
    shift 2
    rm -rf runs
    quiet mpirun -n "$ranks" build/heterps train "inputs/$name.yaml" --set schedule.method=file \
        --set schedule.plan=plan.json --set "train.steps=$steps" "$@"
    loss=$(number "runs/$name/report.json" train_loss)
    test=$(number "runs/$name/report.json" test_logloss)
}

# lines DECK: the table; the worst distance from one rank is in $worst
lines() {
    one=
    header ranks 'layers on ranks' loss 'apart from one rank'
    for layout in $(every_layout); do
        trained "$1" "$layout"
        one=${one:-$loss}
        away=$(apart "$one" "$loss")
        worst=$(larger "$worst" "$away")
        row "$ranks" "$shown" "$(digits 9 "$loss")" "$away"
    done
}

# again DECK TEST-DATA: layouts run twice; $unequal counts those with other bits
again() {
    header ranks 'layers on ranks' 'losses on train and test data' 'the second time' 'same bits'
    for layout in $twice; do
        trained "$1" "$layout" --set "data.test=$2"
        before="$loss, $test"
        trained "$1" "$layout" --set "data.test=$2"
        bits=yes
        [ "$before" = "$loss, $test" ] || bits=no unequal=$((unequal + 1))
        row "$ranks" "$shown" "$before" "$loss, $test" $bits
    done
}

title "Layouts: the loss after $steps steps wherever the layers are"
[ $# -gt 0 ] || set -- census ctrdnn
unequal=0 worst=0
for deck; do
    printf '### %s\n\n' "$deck"
    data_of "$deck"
    lines "$deck"
    printf '\nTwice, with an evaluation at the end:\n\n'
    test_data=data/${deck}_test.h5
    [ -f "$test_data" ] || test_data=data/${deck}_train.h5
    again "$deck" "$test_data"
    echo
done
commands
cat <<EOT
    mpirun -n RANKS build/heterps train inputs/DECK.yaml --set schedule.method=file \\
        --set schedule.plan=plan.json --set train.steps=$steps

\`plan.json\` has the stages of the line; twice: also \`--set data.test=FILE\`.

EOT
goal "within $tolerance of one rank (worst $worst)" at_most "$worst" $tolerance
goal 'the same bits on the same layout' [ $unequal -eq 0 ]
the_end
