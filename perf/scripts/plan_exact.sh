#!/bin/sh
# plan_exact.sh - the exact planner on random problems: seconds of one core, gap, proofs.
# HPS_SEEDS problems a row (60), a sixth of it where the problems are large; HPS_EDGE problems (20) a
# row at the edge of feasibility.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export OMP_NUM_THREADS OPENBLAS_NUM_THREADS
seeds=${HPS_SEEDS:-60}
make -C "$HPS_BUILD" perf/bin/exact >&2 || give_up 'perf/bin/exact is not built'

# problems SEEDS LAYERS TYPES KIND GROUPS SECONDS [EDGE]: a row; $median, $worst, $gap are set
problems() {
    n=$1
    shift
    note "exact $1 $2 $3 $4 $n $5 $6"
    # shellcheck disable=SC2086 # no edge is no argument
    "$HPS_BUILD/perf/bin/exact" "$1" "$2" "$3" "$4" "$n" "$5" $6 >lines || give_up 'perf/bin/exact failed'
    median=$(awk '{ print $2 }' lines | median)
    worst=$(awk '{ print $2 }' lines | sort -g | tail -n 1)
    gap=$(awk '{ g = 100 * $3; if (g > most) most = g } END { printf "%.2g", most }' lines)
    proven=$(awk '$3 <= 0 { n++ } END { print n + 0 }' lines)
    none=$(awk '$3 == 1 { n++ } END { print n + 0 }' lines)
    row "$1 x $2" "$3${6:+, limit $6 of the most}" "$4" "$(digits 3 "$median")" \
        "$(digits 3 "$worst")" "$proven of $n" "$gap" "$none"
}

title 'Exact planner: seconds of one core until proven, or the gap when time is up'
header problem limits 'unlike types (0: all)' 'median, s' 'worst, s' proven 'worst gap, %' 'no plan'
few=$(((seeds + 5) / 6))
for kind in tight loose cut; do problems "$seeds" 16 64 $kind 0 10; at16="$at16 $median $worst"; done
for kind in tight loose; do problems "$seeds" 16 64 $kind 8 10; at8="$at8 $worst"; done
for kind in tight loose cut; do problems "$few" 50 16 $kind 0 5; at50="$at50 $worst"; done
for kind in tight loose; do problems "$few" 100 64 $kind 0 3; at100="$at100 $gap"; done
lost=0
at_edge=${HPS_EDGE:-20}
for share in 0.97 0.99 0.999; do
    problems "$at_edge" 50 16 tight 0 5 $share
    edge="$edge $gap" lost=$((lost + none))
done
problems "$at_edge" 50 16 loose 0 5 0.99
edge="$edge $gap" lost=$((lost + none))
problems "$few" 50 16 tight-cut 0 5 0.99
edge="$edge $gap" lost=$((lost + none))
problems "$few" 100 64 tight 0 5 0.99
lost=$((lost + none))
printf '\nCommand:\n\n    perf/bin/exact LAYERS TYPES LIMITS UNLIKE PROBLEMS SECONDS [SHARE]\n\n'
# shellcheck disable=SC2317,SC2048 # called by goal; several numbers
at_most_all() {
    most=$1
    shift
    for x in $*; do at_most "$x" "$most" || return 1; done
}
# shellcheck disable=SC2317,SC2086,SC2046 # as above
sixteen() {
    at_most_all 0.03 $(echo $at16 | awk '{ print $1, $3, $5 }') &&
        at_most_all 0.1 $(echo $at16 | awk '{ print $2, $4, $6 }')
}
goal '16 x 64: median at most 0.03 s, worst 0.1 s' sixteen
goal '16 x 64 with duplicate types: worst at most 0.3 s' at_most_all 0.3 "$at8"
goal '50 x 16: worst at most 0.3 s' at_most_all 0.3 "$at50"
goal '100 x 64: proven in 3 s, or a gap of at most 0.5 %' at_most_all 0.5 "$at100"
goal '50 x 16 at the edge of feasibility: a gap of at most 2 % in 5 s' at_most_all 2 "$edge"
goal 'never without a feasible plan where one exists' [ "$lost" -eq 0 ]
the_end
