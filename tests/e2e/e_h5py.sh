#!/bin/sh
# A dataset that h5py wrote is a dataset, of one file or several, and what it holds is what was
# written; one of ours is read by h5py; filters are refused.
. "${srcdir:?}/tests/lib/lib.sh"

python=
for p in python3 /usr/bin/python3; do
    if $p -c 'import h5py' 2>/dev/null; then python=$p; fi
done
[ -n "$python" ] || skip "python3-h5py is not installed"

$python "$srcdir/tests/lib/h5py_dataset.py" ours.h5 || fail "h5py_dataset.py"
expect 0 '' heterps info ours.h5
shows '1000 examples, .* 2 dense features, 2 slots'
shows 'has no checksum'

# Two files of it are trained on, ids one and many an example.
$python "$srcdir/tests/lib/h5py_dataset.py" theirs.h5 300 2 || fail "h5py_dataset.py"
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

# What leads out of a file is refused before it is followed, and so is what makes the library crash.
spoil() { # FILE STATEMENT...: a dataset of h5py's, changed
    $python "$srcdir/tests/lib/h5py_dataset.py" "$1" && $python -c "
import h5py, numpy
f = h5py.File('$1', 'r+')
x = f['label'][:]
$2" || fail "h5py: $2"
}
mkfifo fifo
$python "$srcdir/tests/lib/h5py_dataset.py" real.h5
spoil linked.h5 "del f['label']; f['label'] = h5py.ExternalLink('real.h5', '/label')"
spoil waits.h5 "del f['slots/user']; f['slots/user'] = h5py.ExternalLink('fifo', '/slots/user')"
spoil virtual.h5 "del f['label']; v = h5py.VirtualLayout((1000,), 'f4')
v[:300] = h5py.VirtualSource('theirs.h5', 'label', (300,)); f.create_virtual_dataset('label', v)"
spoil fill.h5 "del f['label']
y = f.create_dataset('label', (1000,), 'f4', fillvalue=1, chunks=(100,)); y[:500] = x[:500]"
spoil column.h5 "del f['label']; f['label'] = x.reshape(-1, 1)"
spoil crash.h5 "f.close(); b = bytearray(open('crash.h5', 'rb').read())
b[b.index(b'GCOL') + 30] = 1; open('crash.h5', 'wb').write(b)"
expect 65 'linked.h5: /label links to another file' heterps info linked.h5
expect 65 'linked.h5: /label links to another file' heterps train deck.yaml --check \
    --set data.train=linked.h5
expect 65 'waits.h5: /slots/user links to another file' heterps info waits.h5
expect 65 'virtual.h5: dataset label: it is put together' heterps info virtual.h5
expect 65 'fill.h5: dataset label: it has rows that were never written' heterps info fill.h5
expect 65 'column.h5: dataset label: its shape is .1000, 1., .1000. is' heterps info column.h5
expect 65 'crash.h5: damaged: the HDF5 library crashes on it' heterps info crash.h5
expect 65 'crash.h5: damaged: the HDF5 library crashes on it' ranks 2 train deck.yaml \
    --set data.train=crash.h5
[ "$(grep -c 'error: ' err)" -eq 1 ] || { fail 'not one error'; cat err; }
expect 65 'linked.h5: /label' heterps import csv --schema "$srcdir/inputs/census.schema.yaml" \
    --output linked.h5 --append "$srcdir/inputs/census/adult.csv.gz"
expect 66 'fifo.h5: not a regular file' sh -c 'mv fifo fifo.h5; "$0" info fifo.h5' "$HETERPS"
verdict
