"""Writes datasets that heterps trains on, with h5py: python3 h5py_dataset.py FILE.h5 [ROWS [SEED]]

`table` is a pandas DataFrame, or anything that gives a column by its name. A slot's column holds
one id an example, or a list of ids: any number of them."""
import sys

import h5py
import numpy as np


def write(path, table, label, dense, slots):
    """dense: names of columns; slots: {name of a column: its ids are below this}"""
    with h5py.File(path, "w") as f:
        f.attrs["format"] = "heterps-dataset-1"
        f.attrs["slots"] = ",".join(slots)
        f.attrs["dense"] = ",".join(dense)
        f["label"] = np.asarray(table[label], "float32")
        if dense:
            f["dense"] = np.stack([np.asarray(table[d], "float32") for d in dense], axis=1)
        for name, buckets in slots.items():
            ids = list(table[name])
            if np.ndim(ids[0]) > 0:                     # lists: where each begins, and the end
                count = [len(some) for some in ids]
                f[f"slots/{name}/offsets"] = np.cumsum([0] + count, dtype="int64")
                ids = np.concatenate([np.asarray(some, "int64") for some in ids])
            f[f"slots/{name}/ids"] = np.asarray(ids, "int64")
            f[f"slots/{name}"].attrs["buckets"] = buckets


if __name__ == "__main__":
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    rng = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    clicks = {
        "click": rng.random(rows) < 0.3,
        "age": rng.normal(size=rows),
        "price": rng.normal(size=rows),
        "user": rng.integers(0, 500, rows),
        "tags": [rng.integers(0, 20, n) for n in rng.integers(0, 4, rows)],     # 0 to 3 of them
    }
    write(sys.argv[1], clicks, label="click", dense=["age", "price"],
          slots={"user": 500, "tags": 20})
