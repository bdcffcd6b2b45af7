#!/bin/sh
# A dataset that h5py wrote is a dataset; one of ours is read by h5py; filters are refused.
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
