#!/usr/bin/python3
"""logistic.py TRAIN.h5 TEST.h5 [L2...]: logistic regression, written apart from heterps.

One weight an id, averaged inside a slot, summed over the slots; no bias (a slot of one id an
example has it); dense features have a weight each. It minimises the sum of log losses plus
L2/2 * |w|^2, which has one minimum, by Newton's method with conjugate gradients, in double.
Prints a line for each L2: L2, AUC and log loss on the test set, Newton steps.
"""
import sys

import h5py
import numpy as np


def read(name):
    """Sparse rows of a dataset: example, column within its slot, value; and the labels."""
    with h5py.File(name) as f:
        label = f["label"][:].astype(float)
        slots = {}
        for slot in f["slots"]:
            group = f["slots"][slot]
            ids = group["ids"][:]
            count = np.diff(group["offsets"][:]) if "offsets" in group else np.ones(len(label), int)
            example = np.repeat(np.arange(len(label)), count)
            slots[slot] = example, ids, 1.0 / np.repeat(np.maximum(count, 1), count)
        dense = f["dense"][:].astype(float) if "dense" in f else np.zeros((len(label), 0))
    return label, slots, dense


class Rows:
    """X as triplets, with the products that Newton's method needs."""

    def __init__(self, label, slots, dense, first):
        n, d = dense.shape
        self.n = n
        self.example = np.concatenate([s[0] for s in slots.values()] + [np.repeat(np.arange(n), d)])
        self.column = np.concatenate([s[1] + first[name] for name, s in slots.items()]
                                     + [np.tile(np.arange(d), n)]).astype(np.int64)
        self.value = np.concatenate([s[2] for s in slots.values()] + [dense.ravel()])
        self.label = label

    def times(self, w):
        return np.bincount(self.example, self.value * w[self.column], self.n)

    def transposed(self, r, size):
        return np.bincount(self.column, self.value * r[self.example], size)


def probability(z):
    return 0.5 * (1 + np.tanh(0.5 * z))


def loss(z, label):
    return np.logaddexp(0, z) - label * z


def solve(hessian, g, most=200):
    """Conjugate gradients: the step of hessian(step) = g, to a hundredth."""
    step, r = np.zeros_like(g), g.copy()
    p, rr = r.copy(), r @ r
    for _ in range(most):
        if rr <= 1e-4 * (g @ g):
            break
        hp = hessian(p)
        a = rr / (p @ hp)
        step += a * p
        r -= a * hp
        rr, old = r @ r, rr
        p = r + rr / old * p
    return step


def train(x, size, l2):
    """The minimum, and the steps to it."""
    w = np.zeros(size)
    for steps in range(100):
        z = x.times(w)
        q = probability(z)
        g = x.transposed(q - x.label, size) + l2 * w
        if np.abs(g).max() < 1e-6 * x.n:
            break
        step = solve(lambda v: x.transposed(q * (1 - q) * x.times(v), size) + l2 * v, g)
        now, a = loss(z, x.label).sum() + l2 / 2 * (w @ w), 1.0
        while True:
            new = w - a * step
            if loss(x.times(new), x.label).sum() + l2 / 2 * (new @ new) <= now or a < 1e-6:
                break
            a /= 2
        w = new
    return w, steps


def auc(z, label):
    """Share of pairs in order; ties count half."""
    order = np.argsort(z, kind="stable")
    z, label = z[order], label[order]
    new = np.concatenate([[True], z[1:] != z[:-1]])
    group = np.cumsum(new) - 1
    count = np.bincount(group)
    rank = (np.cumsum(count) - (count - 1) / 2)[group]
    p = label.sum()
    return (rank[label == 1].sum() - p * (p + 1) / 2) / (p * (len(label) - p))


def main():
    sets = [read(name) for name in sys.argv[1:3]]
    size, first = sets[0][2].shape[1], {}
    for name in sets[0][1]:
        first[name] = size
        size += int(max(s[1][name][1].max() for s in sets)) + 1
    rows = [Rows(*s, first) for s in sets]
    for l2 in sys.argv[3:] or ["1"]:
        w, steps = train(rows[0], size, float(l2))
        z = rows[1].times(w)
        print(l2, "%.5f" % auc(z, rows[1].label), "%.5f" % loss(z, rows[1].label).mean(), steps)


main()
