#!/bin/sh
# gradients.sh - how far each layer's backward is from the derivative of its forward: its twin in
# double against central differences, and the layer in fp32 against the twin (tests/unit/t_layers.c),
# or against the differences themselves (tests/unit/t_mix.c).
# HETERPS must stand in its build folder: the test is made there if need be.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh

title 'Gradients: the worst relative errors'
make -C "$HPS_BUILD" tests/unit/t_layers tests/unit/t_mix >out 2>&1 ||
    give_up "make -C $HPS_BUILD tests/unit/t_layers tests/unit/t_mix failed"
ln -s "$HPS_BUILD/tests" build/tests
said build/tests/unit/t_layers
mv out layers
said build/tests/unit/t_mix
cat layers out >all
header layer 'twin to central differences' 'layer to twin, forward and backward'
slopes=0 layers=0
while read -r word slope layer what; do
    [ "$word" = error ] || continue
    row "$what" "$slope" "$layer"
    [ "$slope" = - ] || slopes=$(larger "$slopes" "$slope")
    layers=$(larger "$layers" "$layer")
done <all
row 'the worst' "$slopes" "$layers"
commands
echo
goal 'twin to differences at most 1e-6' at_most "$slopes" 1e-6
goal 'layer to twin at most 1e-5' at_most "$layers" 1e-5
the_end
