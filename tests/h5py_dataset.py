"""Writes a dataset that heterps trains on, with h5py: python3 h5py_dataset.py FILE.h5

/label (N) float32, /dense (N, D) float32, and for each slot /slots/NAME/ids int64: one id an
example, or with /slots/NAME/offsets any number. No filters. Names are joined by commas."""
import sys

import h5py
import numpy as np

N, rng = 1000, np.random.default_rng(1)
with h5py.File(sys.argv[1], "w") as f:
    f.attrs["format"] = "heterps-dataset-1"
    f.attrs["slots"] = "user,tags"
    f.attrs["dense"] = "age,price"
    f["label"] = (rng.random(N) < 0.3).astype("float32")
    f["dense"] = rng.normal(size=(N, 2)).astype("float32")

    f["slots/user/ids"] = rng.integers(0, 500, N, dtype="int64")    # one id an example
    f["slots/user"].attrs["buckets"] = 500                          # ids are 0..499

    count = rng.integers(0, 4, N)                                   # 0 to 3 ids an example
    f["slots/tags/offsets"] = np.concatenate([[0], np.cumsum(count)]).astype("int64")
    f["slots/tags/ids"] = rng.integers(0, 20, count.sum(), dtype="int64")
    f["slots/tags"].attrs["buckets"] = 20
