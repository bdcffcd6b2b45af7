#!/bin/sh
# train_policy.sh [OUT.h5 [SECONDS [RANKS]]] - trains the policy that ships as inputs/policy.h5 and
# prints its curve. The longer and the more ranks, the better (default: 2400 s on 2 ranks).
cd "$(dirname "$0")/../.." || exit 1
out=$(realpath "${1:-policy.h5}") || exit 1
. perf/scripts/lib.sh
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export OMP_NUM_THREADS OPENBLAS_NUM_THREADS
make -C "$HPS_BUILD" perf/bin/train_policy >&2 || give_up 'perf/bin/train_policy is not built'
title 'The curve of the policy that rl begins with'
echo '`miss`: what 300 plans miss of the proven bound on problems kept apart, mean in %.'
echo
echo '```'
mpirun -n "${3:-2}" "$HPS_BUILD/perf/bin/train_policy" "$out" "${2:-2400}" 1 ||
    give_up 'the training failed'
echo '```'
the_end
