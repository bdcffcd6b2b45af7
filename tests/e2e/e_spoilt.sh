#!/bin/sh
# What is wrong in the middle of a dataset ends the run on all ranks with 65, whichever rank finds
# it and however many it works with, and is named by file, column and example.
. "$srcdir/tests/lib/lib.sh"
. "$srcdir/tests/lib/data.sh"
census

python=
for p in python3 /usr/bin/python3; do
    if $p -c 'import h5py' 2>/dev/null; then python=$p; fi
done
[ -n "$python" ] || skip 'python3-h5py is not installed'

# spoilt STATEMENT: a copy of the training data, changed; train FILE in file order, on 2 ranks and
# in 2 stages, must refuse it
spoilt() {
    cp data/census_train.h5 bad.h5
    $python -c "import h5py; f = h5py.File('bad.h5', 'r+'); $1" || fail "python3: $1"
    for layout in '|2' '2|1 1' '7|2 1'; do
        plan_file 8 "${layout%|*}" "${layout##*|}" >plan.json
        expect 65 "$2" ranks 3 train "$srcdir/inputs/census.yaml" --set data.train=bad.h5 \
            --set data.shuffle=false --set schedule.method=file --set schedule.plan=plan.json
        rm -rf runs
    done
}

echo '-- an id that its slot does not have'
spoilt "f['slots/sex/ids'][5000] = 1000" 'bad.h5.*sex.*5000'
echo '-- a number that is none'
spoilt "f['label'][7000] = float('nan')" 'bad.h5.*label.*7000'
echo '-- a label that the loss cannot take'
spoilt "f['label'][9000] = 3" 'bad.h5.*label.*9000.*from 0 to 1'
verdict
