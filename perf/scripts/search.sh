#!/bin/sh
# search.sh - rl with the policy that ships against the other searches, at equal plans priced and at
# equal seconds; and what the policy saves. HPS_SEEDS problems a row (20); HPS_SECONDS of a search
# where seconds end it (2).
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export OMP_NUM_THREADS OPENBLAS_NUM_THREADS
seeds=${HPS_SEEDS:-20}
seconds=${HPS_SECONDS:-2}
make -C "$HPS_BUILD" perf/bin/search >&2 || give_up 'perf/bin/search is not built'
ln -s "$HPS_BUILD/perf/bin/search" build/search
policy=inputs/policy.h5
methods='rl ils genetic greedy'

# gaps LAYERS TYPES KIND SEEDS EVALUATIONS SECONDS METHOD...
gaps() {
    where="$1 $2 $3 $4 $5 $6"
    shift 6
    # shellcheck disable=SC2086 # several words
    said build/search gap $where "$policy" "$@"
    cat out
}

title 'Searching methods on random problems, the gap to the proven bound'
echo 'Problems that the policy never saw (`perf/bin/random_profile.h`); one core.'
echo
echo 'At equal plans priced:'
echo
header problem limits method 'mean gap, %' 'worst, %' 'met the bound' 'bounds proven' \
    'no plan' 'plans' 'CPU s'
# shellcheck disable=SC2086 # several words
for kind in loose tight; do
    gaps 16 64 $kind "$seeds" 5000 0 $methods rl-rnn
    gaps 50 16 $kind "$seeds" 20000 0 $methods
    gaps 100 64 $kind "$seeds" 50000 0 $methods
done
for size in '16 64' '50 16' '100 64'; do
    # shellcheck disable=SC2086 # two words
    gaps $size tight "$seeds" 1000 0 bayes rl
done
echo
echo "In $seconds seconds:"
echo
header problem limits method 'mean gap, %' 'worst, %' 'met the bound' 'bounds proven' \
    'no plan' 'plans' 'CPU s'
# shellcheck disable=SC2086 # several words
for kind in loose tight; do
    for size in '16 64' '50 16' '100 64'; do
        gaps $size $kind "$seeds" 0 "$seconds" $methods bayes
    done
done
echo
echo 'Until rl is within 1 % of the bound, with and without the policy:'
echo
header problem limits policy 'plans, median' 'plans, 9 of 10' 'CPU s, median'
for size in '16 64' '30 30' '50 16'; do
    # shellcheck disable=SC2086 # two words
    said build/search soon $size tight "$seeds" "$policy"
    cat out
done
commands
the_end
