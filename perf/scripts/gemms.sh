#!/bin/sh
# gemms.sh - the libraries that can multiply, side by side: GFLOP/s of one core on the shapes of the
# networks' layers, a whole batch of 4096 rows and a block of 128, as this processor does it and as
# one with AVX2 only would. STEPS (200) products of 128 rows each, a share of them of 4096.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
steps=${STEPS:-200}

# rates BATCH STEPS IN:OUT: "LIBRARY GFLOP/S" a line
rates() {
    quiet env OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 mpirun -n 1 build/gemms "$1" "$2" "$3"
    awk -v shape="$3" '{ split(shape, s, ":"); printf "%s %.1f\n", $1, 6e-9 * s[1] * s[2] * $2 }' out
}

# lines TEXT: a row a shape
lines() {
    for shape in 273:400 400:400 13:512 512:256 367:512 416:256 256:16; do
        rates 4096 $((steps / 20 + 1)) $shape >whole
        rates 128 "$steps" $shape >some
        paste -d ' ' whole some | while read -r library all _ block; do
            row "$1" "$library" $shape "$all" "$block"
        done
    done
}

make -C "$HPS_BUILD" perf/bin/gemms >&2 || give_up 'perf/bin/gemms is not built'
ln -s "$HPS_BUILD/perf/bin/gemms" build/gemms
title 'Matrix products: GFLOP/s of one core, y, dx and dw together'
header processor library 'in:out' '4096 rows' '128 rows'
lines 'as it is'
export ONEDNN_MAX_CPU_ISA=AVX2 OPENBLAS_CORETYPE=Haswell
lines 'AVX2 only'
the_end
