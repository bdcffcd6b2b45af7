#!/bin/sh
# A dataset that h5py wrote is a dataset, of one file or several, and what it holds is what was
# written; one of ours is read by h5py; filters are refused.
. "${srcdir:?}/tests/lib.sh"

python=
for p in python3 /usr/bin/python3; do
    if $p -c 'import h5py' 2>/dev/null; then python=$p; fi
done
[ -n "$python" ] || skip "python3-h5py is not installed"

$python "$srcdir/tests/h5py_dataset.py" ours.h5 || fail "h5py_dataset.py"
expect 0 '' heterps info ours.h5
shows '1000 examples, .* 2 dense features, 2 slots'
shows 'has no checksum'

# Two files of it are trained on, ids one and many an example.
$python "$srcdir/tests/h5py_dataset.py" theirs.h5 300 2 || fail "h5py_dataset.py"
cat >deck.yaml <<'END'
data:  {train: [ours.h5, theirs.h5], batch: 100, microbatches: 2}
model:
  - {name: ids,  type: embedding, slots: all, dim: 4, pooling: mean}
  - {name: nums, type: dense_input}
  - {name: both, type: concat, inputs: [ids, nums]}
  - {name: out,  type: fc, width: 1}
  - {name: loss, type: logistic}
train: {optimizer: adagrad, learning_rate: 0.05, epochs: 1}
schedule: {method: "single:cpu"}
run:   {directory: run}
END
expect 0 '' ranks 2 train deck.yaml
[ "$(number run/report.json examples)" = 1300 ] ||
    fail "$(number run/report.json examples) examples of 1300"

expect 0 '' heterps import csv --schema "$srcdir/inputs/census.schema.yaml" --output train.h5 \
    "$srcdir/inputs/census/adult.csv.gz"
expect 0 '' $python -c '
import h5py
f = h5py.File("train.h5")
assert f.attrs["format"].decode() == "heterps-dataset-1" and f["dense"].shape == (32561, 6)
assert f["slots/sex/ids"][:].max() == 2 and abs(f["dense"][:, 0].mean()) < 1e-5
assert bytes(f["slots/sex/index"][:]).split(b"\0")[:2] == [b"Male", b"Female"]'

$python -c '
import h5py
f = h5py.File("ours.h5", "r+")
x = f["dense"][:]
del f["dense"]
f.create_dataset("dense", data=x, compression="gzip")'
expect 65 'ours.h5: dataset dense: it is stored with filters' heterps info ours.h5
verdict
