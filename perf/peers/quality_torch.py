"""quality_torch.py RUN_DIRECTORY INITIAL.h5 - a finished run once more in PyTorch: the network of
the run's deck.yaml with PyTorch's own operations, gradients and optimizers, from the weights of the
checkpoint INITIAL.h5, on the same batches (files in order: data.shuffle is false, dropout 0).
SparseAdam adds its epsilon before the bias is corrected, Adam and the run behind: it is told one
that comes to the same. Rules that PyTorch does not have, or not on rows, are written here from
their papers, and so are the losses `nce` and `hinge`; which classes nce takes for noise is drawn by
the run's generator, which is written here too; hinge is held against all others.

One line: steps, mean loss of the first and of the last step, how far the run's is from it
(relative), the farthest of all steps, and that of what rounding alone does: PyTorch in double
precision, and in single from weights moved in their last bit, several times, from PyTorch in
single; loss on the test set, how far the run's is, how far rounding takes it. The losses of the
run are those of its report.json.
"""
import copy
import json
import sys

import h5py
import numpy as np
import torch
import torch.nn.functional as F
import yaml

ACT = {"none": lambda x: x, "relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh}


U = np.uint64


def mix(x):
    x = (x ^ x >> U(30)) * U(0xbf58476d1ce4e5b9)
    x = (x ^ x >> U(27)) * U(0x94d049bb133111eb)
    return x ^ x >> U(31)


def bits(key, index):
    """the index-th random numbers of a stream, or of many"""
    return mix(key + (np.uint64(index) + U(1)) * U(0x9e3779b97f4a7c15))


def stream(seed, name):
    key = bits(U(seed), 0)
    for c in name.encode():
        key = bits(key, c)
    return mix(key ^ U(0xd6e8feb86659fd93))


def within(key, index):
    return mix(bits(key, index) ^ U(0xa0761d6478bd642f))


class Data:
    def __init__(self, path, real):
        f = h5py.File(path)
        self.label = torch.tensor(f["label"][:], dtype=real)
        self.dense = torch.tensor(f["dense"][:], dtype=real) if "dense" in f else None
        names = f.attrs["slots"]
        names = (names.decode() if isinstance(names, bytes) else names).split(",")
        slots = [f["slots/" + n] for n in names]
        self.buckets = [int(s.attrs["buckets"]) for s in slots]
        self.ids = [s["ids"][:] for s in slots]
        self.offsets = [s["offsets"][:] if "offsets" in s else None for s in slots]

    def bag(self, s, first, last):
        """ids of a slot and where each example's begin"""
        o = self.offsets[s]
        if o is None:
            return torch.from_numpy(self.ids[s][first:last]), torch.arange(last - first)
        return (torch.from_numpy(self.ids[s][o[first]:o[last]]),
                torch.from_numpy(o[first:last] - o[first]))


def slots_of(layer, n):
    """0-based slots of a layer, from names that are positions: all, 3, 1-12, C4"""
    text = layer.get("slots", layer.get("slot", "all"))
    if text == "all":
        return list(range(n))
    found = []
    for t in text if isinstance(text, list) else [text]:
        ends = [int(x) for x in str(t).removeprefix("C").split("-")]
        found += range(ends[0] - 1, ends[-1])
    return found


class Net:
    def __init__(self, deck, checkpoint, data, real):
        self.layers = copy.deepcopy(deck["model"])
        self.param, self.table, self.running, self.own = {}, {}, {}, {}
        f, nslot = h5py.File(checkpoint), len(data.buckets)
        for i, l in enumerate(self.layers):
            name = l["name"]
            l.setdefault("inputs", [self.layers[i - 1]["name"]] if i else [])
            if not isinstance(l["inputs"], list):
                l["inputs"] = [l["inputs"]]
            if "layers/" + name in f and "param" in f["layers/" + name]:
                w = torch.tensor(f[f"layers/{name}/param"][0], dtype=real)
                self.param[name] = w.requires_grad_()
                self.own[w] = l
            if l["type"] == "batch_norm":
                n = self.param[name].numel() // 2
                self.running[name] = torch.zeros(n, dtype=real), torch.ones(n, dtype=real)
            if l["type"] in ("embedding", "attention"):
                l["at"] = slots_of(l, nslot)
                self.lay(l, data)
                t = l["tab"] = l.get("table", name)
                if t not in self.table:
                    self.rows_from(f, t, l["dim"], real)
                    self.own[self.table[t]] = l
            if l["type"] == "nce":
                l["at"] = slots_of(l, nslot)
                x = next(x for x in self.layers if x["name"] == l["inputs"][0])
                self.rows_from(f, name, x["width"] + 1, real)
                self.own[self.table[name]] = l

    def rows_from(self, f, t, dim, real):
        self.table[t] = torch.tensor(f[f"tables/{t}/rows"][:, :dim], dtype=real).requires_grad_()

    @staticmethod
    def lay(l, data):
        """where the rows of each slot begin, and by what ids are folded"""
        l["base"], l["mod"], at = [], [], 0
        for s in l["at"]:
            n = l.get("buckets", 0) or data.buckets[s]
            l["mod"].append(n)
            l["base"].append(0 if "table" in l else at)
            at += n

    def rows(self, l, i, data, first, last):
        ids, begin = data.bag(l["at"][i], first, last)
        return ids % l["mod"][i] + l["base"][i], begin

    def embedding(self, l, x, data, first, last):
        out = []
        for i in range(len(l["at"])):
            ids, begin = self.rows(l, i, data, first, last)
            out.append(F.embedding_bag(ids, self.table[l["tab"]], begin, sparse=True,
                                       mode=l.get("pooling", "sum")))
        return sum(out) if l.get("combine") == "sum" else torch.cat(out, 1)

    def attention(self, l, x, data, first, last):
        ids, begin = self.rows(l, 0, data, first, last)
        n = torch.diff(begin, append=torch.tensor([len(ids)]))
        of = torch.repeat_interleave(torch.arange(last - first), n)
        r = F.embedding(ids, self.table[l["tab"]], sparse=True)
        c, h, w, at = x[0][of], None, self.param[l["name"]], 0
        h = torch.cat([c, r, c - r, c * r], 1)
        widths = l.get("hidden", [80, 40]) + [1]
        for k, out in enumerate(widths):
            n = h.shape[1] * out
            h = h @ w[at:at + n].view(-1, out) + w[at + n:at + n + out]
            at += n + out
            if k < len(widths) - 1:
                h = ACT[l.get("activation", "sigmoid")](h)
        return r.new_zeros(last - first, r.shape[1]).index_add(0, of, h * r)

    def fc(self, l, x, *_):
        w, out = self.param[l["name"]], l["width"]
        n = x[0].shape[1] * out
        return ACT[l.get("activation", "none")](torch.addmm(w[n:], x[0], w[:n].view(-1, out)))

    def cross(self, l, x, *_):
        w, d, rank = self.param[l["name"]], x[0].shape[1], l.get("rank", 0)
        u = x[-1]
        if rank:
            u = u @ w[:d * rank].view(d, rank) @ w[d * rank:2 * d * rank].view(rank, d)
        else:
            u = u @ w[:d * d].view(d, d)
        return x[0] * (u + w[-d:]) + x[-1]

    def batch_norm(self, l, x, *_):
        mean, var = self.running[l["name"]]
        gain, shift = self.param[l["name"]].view(2, -1)
        return F.batch_norm(x[0], mean, var, gain, shift, self.training, l.get("momentum", 0.1),
                            l.get("epsilon", 1e-5))

    def dense_input(self, l, x, data, first, last):
        return data.dense[first:last]

    def vectors(self, l, x):
        dim = l.get("dim", 0) or x[0].shape[1]
        return torch.cat([t.view(t.shape[0], -1, dim) for t in x], 1)

    def dot_interaction(self, l, x, *_):
        z = self.vectors(l, x)
        i, j = torch.tril_indices(z.shape[1], z.shape[1], -1)
        d = torch.bmm(z, z.transpose(1, 2))[:, i, j]
        return torch.cat([x[0], d], 1) if l.get("pass") == "first" else d

    def fm(self, l, x, *_):
        z = self.vectors(l, x)
        return (0.5 * (z.sum(1) ** 2 - (z ** 2).sum(1))).sum(1, keepdim=True)

    def concat(self, l, x, *_):
        return torch.cat(x, 1)

    def add(self, l, x, *_):
        return sum(x)

    def dropout(self, l, x, *_):
        assert l["rate"] == 0, "dropout draws other numbers here"
        return x[0]

    def nce(self, l, x, data, first, last, draw):
        """Gutmann and Hyvarinen 2010; Mnih and Teh 2012: the class of an example told from drawn
        ones, by the log of how much likelier than under the noise it is"""
        rows, n = self.table[l["name"]], l.get("negatives", 16)
        seed, step = draw
        key = within(within(stream(stream(seed, "shuffle"), "noise"), step + 1),
                     stream(0, l["name"]))
        mine = within(key, np.arange(first, last, dtype=U))[:, None]
        drawn = (bits(mine, np.arange(1, n + 1)) >> U(11)).astype(float) * 2.0 ** -53 * len(rows)
        seen = np.asarray(data.ids[l["at"][0]][first:last])[:, None]
        e = F.embedding(torch.from_numpy(np.hstack([seen, drawn.astype(np.int64)])), rows,
                        sparse=True)
        odds = (e[:, :, :-1] * x[0][:, None]).sum(2) + e[:, :, -1] - np.log(n)
        return F.softplus(-odds[:, 0]).sum() + F.softplus(odds[:, 1:]).sum()

    @staticmethod
    def hinge(l, x, label):
        """of one number against a label; of users and items, against the items of all others"""
        margin = l.get("margin", 1)
        if not l.get("negatives", 0):
            return F.relu(margin - torch.where(label > 0.5, 1, -1) * x[0][:, 0]).sum()
        assert l["negatives"] >= len(label) - 1, "here all others are the negatives"
        if l.get("likeness", "cosine") == "cosine":
            x = [F.normalize(t) for t in x]
        like = x[0] @ x[1].T
        lack = F.relu(margin - like.diagonal()[:, None] + like)
        lack = lack * (1 - torch.eye(len(label), dtype=lack.dtype))
        return (lack.sum(1) * (label > 0.5)).sum() / max(len(label) - 1, 1)

    def loss(self, data, first, last, training, draw):
        """summed over the examples; draw: seed and step of what is drawn"""
        self.training, y = training, {}
        label = data.label[first:last]
        for l in self.layers:
            x = [y[n] for n in l["inputs"]]
            if l["type"] == "logistic":
                return F.binary_cross_entropy_with_logits(x[0][:, 0], label, reduction="sum")
            if l["type"] == "cross_entropy":
                return F.cross_entropy(x[0], label.long(), reduction="sum")
            if l["type"] == "squared":
                return F.mse_loss(x[0][:, 0], label, reduction="sum")
            if l["type"] == "hinge":
                return self.hinge(l, x, label)
            if l["type"] == "nce":
                return self.nce(l, x, data, first, last, draw)
            y[l["name"]] = getattr(self, l["type"])(l, x, data, first, last)


class Written(torch.optim.Optimizer):
    """a rule from its paper, of one tensor of weights; of a table, on the rows that were touched"""

    def __init__(self, w, rule, nstate, **keys):
        super().__init__([w], keys)
        self.w, self.rule, self.turn = w, rule, 0
        self.kept = [torch.zeros_like(w) for _ in range(nstate)]

    @torch.no_grad()
    def step(self):
        self.turn += 1
        g, at, keys = self.w.grad, slice(None), self.param_groups[0]
        if g.is_sparse:
            g = g.coalesce()
            at, g = g.indices()[0], g.values()
        w, kept = self.w[at], [k[at] for k in self.kept]
        w, kept = self.rule(keys, self.turn, w, g, *kept)
        self.w[at] = w
        for k, new in zip(self.kept, kept):
            k[at] = new


def rmsprop(k, turn, w, g, s):
    """Tieleman and Hinton 2012"""
    s = k["beta"] * s + (1 - k["beta"]) * g ** 2
    return w - k["lr"] * g / (s.sqrt() + k["eps"]), [s]


def lamb(k, turn, w, g, m, v):
    """You et al. 2020, algorithm 2; the norms are a layer's, and of a table each row's"""
    m = k["beta1"] * m + (1 - k["beta1"]) * g
    v = k["beta2"] * v + (1 - k["beta2"]) * g ** 2
    r = (m / (1 - k["beta1"] ** turn)) / ((v / (1 - k["beta2"] ** turn)).sqrt() + k["eps"])
    r = r + k["decay"] * w
    trust = w.norm(dim=-1, keepdim=True) / r.norm(dim=-1, keepdim=True)
    trust = torch.where(trust.isfinite() & (trust > 0), trust, torch.ones_like(trust))
    return w - k["lr"] * trust * r, [m, v]


def ftrl(k, turn, w, g, n, z):
    """McMahan et al. 2013, algorithm 1"""
    sigma = ((n + g ** 2).sqrt() - n.sqrt()) / k["alpha"]
    z = z + g - sigma * w
    n = n + g ** 2
    moved = -(z - z.sign() * k["l1"]) / ((k["beta"] + n.sqrt()) / k["alpha"] + k["l2"])
    return torch.where(z.abs() <= k["l1"], torch.zeros_like(w), moved), [n, z]


def ftrl_from(w, start, **k):
    """of weights that begin elsewhere than at 0: with the z that they are the answer to. The step
    at rate 0 before had one of 1e-30, and moved by that what begins at 0."""
    o = Written(w, ftrl, 2, **k)
    w = w.detach()
    w[w.abs() < 1e-25] = 0
    o.kept = [torch.full_like(w, start),
              -(w * ((k["beta"] + start ** 0.5) / k["alpha"] + k["l2"]) + w.sign() * k["l1"])]
    return o


def optimizer(w, own, t, table):
    """PyTorch's, where it has one, for one tensor of weights, by the keys of its layer and of the `train` section"""
    name = own.get("optimizer", "same")
    if name == "same" and table:
        name = t.get("table_optimizer", "same")
    if name == "same":
        name = t.get("optimizer", "adagrad")
    number = lambda key, preset: float(t.get(key, preset))    # YAML's 1e-8 is a word to PyYAML
    lr = float(own.get("learning_rate", 0)) or (table and number("table_learning_rate", 0))
    lr, eps = lr or number("learning_rate", 0.05), number("epsilon", 1e-8)
    beta = number("beta1", 0.9), number("beta2", 0.999)
    if name == "adam":
        return (torch.optim.SparseAdam if table else torch.optim.Adam)([w], lr, beta, eps)
    if name == "adagrad":
        return torch.optim.Adagrad([w], lr, eps=eps,
                                   initial_accumulator_value=number("initial_accumulator", 0))
    if name == "momentum" and not table:
        return torch.optim.SGD([w], lr, number("momentum", 0.9), nesterov=t.get("nesterov", False))
    if name == "rmsprop" and not table:
        return torch.optim.RMSprop([w], lr, beta[1], eps)
    if name == "rmsprop":
        return Written(w, rmsprop, 1, lr=lr, beta=beta[1], eps=eps)
    if name == "lamb":
        return Written(w, lamb, 2, lr=lr, beta1=beta[0], beta2=beta[1], eps=eps,
                       decay=number("l2", 0))
    if name == "ftrl":
        return ftrl_from(w, number("initial_accumulator", 0), alpha=lr, beta=number("ftrl_beta", 1),
                         l1=number("l1", 0), l2=number("l2", 0))
    assert name == "sgd", f"PyTorch has no {name} for {'rows' if table else 'weights'}"
    return torch.optim.SGD([w], lr)


def steps_of(d, N, steps=0):
    """(step, examples, [(first, last) of its micro-batches]); 0: one epoch"""
    batch, micro = d["batch"], d.get("microbatches", 1)
    per_epoch = -(-N // batch)
    for step in range(steps or per_epoch):
        first = step % per_epoch * batch
        n = min(batch, N - first)
        cuts = [first + n * m // micro for m in range(micro + 1)]
        yield step, n, [(a, b) for a, b in zip(cuts, cuts[1:]) if a < b]


def train(net, deck, data, steps):
    t = deck["train"]
    both = [(w, False) for w in net.param.values()] + [(w, True) for w in net.table.values()]
    opts = [optimizer(w, net.own[w], t, table) for w, table in both]
    losses, seed = [], deck["run"].get("seed", 1)
    eps, beta2 = float(t.get("epsilon", 1e-8)), float(t.get("beta2", 0.999))
    for step, n, parts in steps_of(deck["data"], len(data.label), steps):
        for o in opts:
            o.zero_grad()
        total = 0.0
        for a, b in parts:
            loss = net.loss(data, a, b, True, (seed, step))
            (loss / n).backward()
            total += float(loss.detach().double())
        losses.append(total / n)
        for o in opts:
            if isinstance(o, torch.optim.SparseAdam):
                o.param_groups[0]["eps"] = eps * (1 - beta2 ** (step + 1)) ** 0.5
            o.step()
    return losses


def test(net, data, d):
    with torch.no_grad():
        return sum(float(net.loss(data, a, b, False, (0, step)))
                   for step, _, parts in steps_of(d, len(data.label))
                   for a, b in parts) / len(data.label)


def apart(a, b):
    return abs(a - b) / max(abs(a), abs(b))


MOVED = 6       # times that weights are moved, beside double precision


def move(net, seed):
    """each weight in its last bit, up or down"""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for w in list(net.param.values()) + list(net.table.values()):
            w += w * 2.0 ** -24 * (2 * torch.randint(2, w.shape, generator=draw) - 1)


def once(deck, report, initial, real, seed=0):
    """losses of all steps, and on the test set; seed > 0: from weights that are moved"""
    data = Data(deck["data"]["train"], real)
    net = Net(deck, initial, data, real)
    if seed > 0:
        move(net, seed)
    losses = train(net, deck, data, report["steps"])
    return losses, test(net, Data(deck["data"]["test"], real), deck["data"])


def main():
    run, initial = sys.argv[1:]
    torch.set_num_threads(1)
    with open(run + "/deck.yaml") as f:
        deck = yaml.safe_load(f)
    with open(run + "/report.json") as f:
        report = json.load(f)
    assert deck["data"]["shuffle"] is False, "batches are in the order of the file"
    theirs, tested = once(deck, report, initial, torch.float32)
    again = [once(deck, report, initial, torch.float64)]
    again += [once(deck, report, initial, torch.float32, seed) for seed in range(1, MOVED + 1)]
    worst = max(apart(x, theirs[step - 1]) for step, x in report["loss"])
    for x in (report["steps"], theirs[0], theirs[-1], apart(report["train_loss"], theirs[-1]),
              worst, max(max(map(apart, theirs, losses)) for losses, _ in again),
              tested, apart(report["test_loss"], tested), max(apart(tested, t) for _, t in again)):
        print(f"{x:.6g}", end=" ")
    print()


main()
