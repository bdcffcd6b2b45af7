#!/bin/sh
# plan_time.sh [FOLDER] - the time of a proven plan against layers and types, brute force's beside
# it; writes the drawings plan_time_layers.svg and plan_time_types.svg into FOLDER (default perf).
# HETERPS must stand in its build folder: perf/bin/plan_grid is made there. HPS_SEEDS=N problems a size.
folder=$(cd "${1:-$(dirname "$0")/../records}" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
title 'Time of a proven plan'
make -C "$HPS_BUILD" perf/bin/plan_grid >out 2>&1 || give_up "make -C $HPS_BUILD perf/bin/plan_grid failed"
mkdir -p build/perf/bin
ln -s "$HPS_BUILD/perf/bin/plan_grid" build/perf/bin/plan_grid
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
echo 'Random problems with loose limits (`perf/bin/random_profile.h`), seconds of one core. Brute force:'
echo 'the number of assignments, times the measured seconds of pricing one.'
echo
header 'layers x types' 'median s' 'worst s' 'proven, worst gap %' assignments 'brute force s'
said build/perf/bin/plan_grid time "${HPS_SEEDS:-5}" layers.svg types.svg
cat out
cp layers.svg "$folder/plan_time_layers.svg"
cp types.svg "$folder/plan_time_types.svg"
echo
echo 'Drawn: `plan_time_layers.svg`, `plan_time_types.svg`.'
commands
the_end
