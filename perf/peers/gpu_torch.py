"""The workloads of workload.py in PyTorch on one GPU, each in several ways; one line of output per way.

sparse         eager, sparse gradients, SparseAdam / Adagrad
dense          eager, gradients as large as the tables, fused Adam / foreach Adagrad
graph          `dense` as one CUDA graph: forward, backward, update; Adagrad of tables in one kernel
rows           one CUDA graph; of tables only the batch's rows are updated, by Triton kernels that add up
               the gradients of equal ids, sorted or with atomics, whichever is faster (`note`)
compiled       forward and backward by torch.compile, reduce-overhead; update as in `graph`
compiled_graph, compiled_rows: `graph`, `rows` with a compiled forward and backward

All tables of a width lie in one, ids are int32 with offsets, widths are padded with zeros to a multiple of 8. A step
includes its batch's way from pinned memory, on a stream of its own. Precisions: fp32; tf32 products; bf16, autocast
with rows cast when read. Tables, states and updates are fp32. Note dense-adam: rows that a batch has not, move too.
`bags_only` is the tables of `bags` alone: sums, a given gradient, update. Cases run in a child process, which is started
anew behind a case that breaks the device; --limits also prints rates of products (n: M x K x N) and copies.
"""
import argparse, contextlib, gc, os, signal, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import torch, torch.nn as nn, torch.nn.functional as F
from workload import SHAPES, batches

try:
    import triton, triton.language as tl
except ImportError:
    triton = None

MODES = ["graph", "rows", "compiled", "compiled_rows", "compiled_graph", "dense", "sparse"]
PRECISIONS = ["fp32", "tf32", "bf16"]
WIDTHS = {"ctrdnn": (400, 400, 400, 1), "dlrm": (512, 256, 1), "wide_deep": (1024, 512, 256, 1), "bags": (256, 1)}
LR = {"adam": 1e-4, "adagrad": 0.01}
PEER = "torch-" + torch.__version__


def rule_of(name): return "adam" if name == "ctrdnn" else "adagrad"


if triton:
    @triton.jit
    def move(w, m, v, rate, at, ok, g, LR: tl.constexpr, ADAM: tl.constexpr):
        b = tl.load(v + at, ok, 0.0)
        if ADAM:
            a = tl.load(m + at, ok, 0.0)
            a += (g - a) * 0.1; b += (g * g - b) * 0.001
            tl.store(m + at, a, ok)
            d = tl.load(rate) * a / (tl.sqrt(b) + 1e-8)
        else:
            b += g * g; d = LR * g / (tl.sqrt(b) + 1e-10)
        tl.store(v + at, b, ok)
        tl.store(w + at, tl.load(w + at, ok, 0.0) - d, ok)

    @triton.jit
    def settle(acc, w, m, v, rate, at, ok, LR: tl.constexpr, ADAM: tl.constexpr):
        g = tl.load(acc + at, ok, 0.0)
        tl.store(acc + at, tl.zeros_like(g), ok)
        move(w, m, v, rate, at, ok, g, LR, ADAM)

    @triton.jit
    def fold(f1, s1, f2, s2):
        return f1 | f2, tl.where(f2 != 0, s2, s1 + s2)

    @triton.jit
    def merge_sorted(keys, perm, grad, acc, w, m, v, rate, n, PER: tl.constexpr, D: tl.constexpr, DP: tl.constexpr,
                     BLOCK: tl.constexpr, LR: tl.constexpr, ADAM: tl.constexpr):
        """a block of sorted ids: rows that lie in it whole are updated, sums of the others go to acc"""
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK); c = tl.arange(0, DP); inside = i < n
        k = tl.load(keys + i, inside, -1)
        before = tl.load(keys + i - 1, inside & (i > 0), -1)
        after = tl.load(keys + i + 1, i + 1 < n, -1)
        src = tl.load(perm + i, inside, 0).to(tl.int64) // PER
        ok = inside[:, None] & (c < D)[None, :]
        g = tl.load(grad + src[:, None] * D + c[None, :], ok, 0.0).to(tl.float32)
        head = (k != before).to(tl.int32)[:, None] + tl.zeros([BLOCK, DP], tl.int32)
        f, s = tl.associative_scan((head, g), 0, fold)
        ends = (k != after)[:, None]; whole = ok & ends & (f != 0)
        last = (i == tl.minimum(tl.program_id(0) * BLOCK + BLOCK, n) - 1)[:, None]
        at = k.to(tl.int64)[:, None] * D + c[None, :]
        move(w, m, v, rate, at, whole, s, LR, ADAM)
        tl.atomic_add(acc + at, s, ok & (ends | last) & ~whole, sem="relaxed")

    @triton.jit
    def merge_rest(keys, acc, w, m, v, rate, n, D: tl.constexpr, DP: tl.constexpr, BLOCK: tl.constexpr,
                   COUNT: tl.constexpr, LR: tl.constexpr, ADAM: tl.constexpr):
        """rows that end in a block behind that in which they begin"""
        i = (tl.program_id(0) * COUNT + tl.arange(0, COUNT)) * BLOCK; c = tl.arange(0, DP); inside = i < n
        k = tl.load(keys + i, inside, -1)
        before = tl.load(keys + i - 1, inside & (i > 0), -2)
        after = tl.load(keys + i + BLOCK, i + BLOCK < n, -1)
        ok = (inside & (k == before) & (k != after))[:, None] & (c < D)[None, :]
        at = k.to(tl.int64)[:, None] * D + c[None, :]
        settle(acc, w, m, v, rate, at, ok, LR, ADAM)

    @triton.jit
    def scatter(ids, grad, acc, owner, n, PER: tl.constexpr, D: tl.constexpr, DP: tl.constexpr, BLOCK: tl.constexpr):
        """adds gradients up by row; of a row's ids some one becomes its owner"""
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK); c = tl.arange(0, DP); inside = i < n
        k = tl.load(ids + i, inside, 0).to(tl.int64)
        tl.store(owner + k, i, inside)
        ok = inside[:, None] & (c < D)[None, :]
        g = tl.load(grad + (i // PER).to(tl.int64)[:, None] * D + c[None, :], ok, 0.0).to(tl.float32)
        tl.atomic_add(acc + k[:, None] * D + c[None, :], g, ok, sem="relaxed")

    @triton.jit
    def claim(ids, acc, owner, w, m, v, rate, n, D: tl.constexpr, DP: tl.constexpr, BLOCK: tl.constexpr,
              LR: tl.constexpr, ADAM: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK); c = tl.arange(0, DP); inside = i < n
        k = tl.load(ids + i, inside, 0).to(tl.int64)
        mine = inside & (tl.load(owner + k, inside, -1) == i)
        ok = mine[:, None] & (c < D)[None, :]
        settle(acc, w, m, v, rate, k[:, None] * D + c[None, :], ok, LR, ADAM)

    @triton.jit
    def sweep(w, v, grad, n, BLOCK: tl.constexpr, LR: tl.constexpr):
        """Adagrad of a whole table"""
        i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK); ok = i < n
        move(w, v, v, v, i, ok, tl.load(grad + i, ok, 0.0), LR, False)


class Rows:
    """A table's lazy update: states, and two ways to add up the gradients of equal ids"""
    def __init__(self, table, per, rule):
        self.w, self.per, self.adam, self.lr = table.detach(), per, rule == "adam", LR[rule]
        self.v = torch.zeros_like(self.w); self.m = torch.zeros_like(self.w) if self.adam else self.v
        self.acc = torch.zeros_like(self.w); self.owner = torch.zeros(len(table), dtype=torch.int32, device=table.device)

    def update(self, ids, order, g, rate):
        g = g.contiguous(); n = ids.numel(); d = self.w.shape[1]; p = triton.next_power_of_2(d); block = max(16, min(512, 1024 // p))
        grid = (triton.cdiv(n, block),); state = (self.w, self.m, self.v, self.v if rate is None else rate); rule = dict(LR=self.lr, ADAM=self.adam)
        if order:
            merge_sorted[grid](*order, g, self.acc, *state, n, PER=self.per, D=d, DP=p, BLOCK=block, **rule)
            merge_rest[(triton.cdiv(grid[0], 16),)](order[0], self.acc, *state, n, D=d, DP=p, BLOCK=block, COUNT=16, **rule)
        else:
            scatter[grid](ids, g, self.acc, self.owner, n, PER=self.per, D=d, DP=p, BLOCK=block)
            claim[grid](ids, self.acc, self.owner, *state, n, D=d, DP=p, BLOCK=block, **rule)


class Rate:
    """Adam's rate with its corrections, on the device"""
    def __init__(self, dev): self.t = torch.zeros(1, device=dev)
    def next(self):
        self.t += 1
        return LR["adam"] * torch.sqrt(1 - 0.999 ** self.t) / (1 - 0.9 ** self.t)


class Adagrad:
    """foreach, and one kernel for each table: may be captured"""
    def __init__(self, params):
        self.big = [p for p in params if p.numel() > 4 << 20 and p.is_cuda and triton]
        self.small = [p for p in params if not any(p is q for q in self.big)]; self.state = {p: torch.zeros_like(p) for p in params}
    def step(self):
        p = self.small; g = [q.grad for q in p]; v = [self.state[q] for q in p]
        torch._foreach_addcmul_(v, g, g)
        r = torch._foreach_sqrt(v); torch._foreach_add_(r, 1e-10)
        torch._foreach_addcdiv_(p, g, r, -LR["adagrad"])
        for q in self.big:
            sweep[(triton.cdiv(q.numel(), 1024),)](q.detach(), self.state[q], q.grad.contiguous(), q.numel(), BLOCK=1024, LR=LR["adagrad"])


class Gather(torch.autograd.Function):
    """rows or their sums; the gradient goes to an anchor of the result's shape, not to the table"""
    @staticmethod
    def forward(ctx, ids, table, anchor): return look(ids, table).to(anchor.dtype)
    @staticmethod
    def backward(ctx, g): return None, None, g


class Pairs(torch.autograd.Function):
    """dot products of pairs; backward in one product"""
    @staticmethod
    def forward(ctx, z, pick, back):
        ctx.save_for_backward(z, back)
        return torch.bmm(z, z.transpose(1, 2)).flatten(1).index_select(1, pick)
    @staticmethod
    def backward(ctx, g):
        z, back = ctx.saved_tensors; n = z.shape[1]
        return torch.bmm(F.pad(g, (0, 1)).index_select(1, back).view(-1, n, n), z), None, None


def look(ids, table, sparse=False):
    """ids (number, per): one row each, or sums of per"""
    if ids.shape[1] == 1: return F.embedding(ids[:, 0], table, sparse=sparse)
    if torch.compiler.is_compiling(): return F.embedding(ids, table).sum(1)
    return F.embedding_bag(ids, table, mode="sum", sparse=sparse)


def mlp(*w):
    """the first width is padded to a multiple of 8: columns of zeros, which stay so"""
    l = []
    for i in range(len(w) - 1):
        pad = -w[i] % 8 if i == 0 else 0; l.append(nn.Linear(w[i] + pad, w[i + 1]))
        if pad: l[-1].weight.data[:, w[i]:] = 0
        if i < len(w) - 2: l.append(nn.ReLU(inplace=True))
    return nn.Sequential(*l)


class Net(nn.Module):
    def __init__(self, name, batch, kind, half, dev):
        super().__init__()
        self.name, self.kind, self.half, self.only = name, kind, half, name == "bags_only"
        self.s = s = SHAPES[name.split("_only")[0]]; self.batch = batch; rows = s["rows"] * s["tables"]
        self.tables = nn.ParameterList(); self.per = [s["ids"]] + [s["slots"]] * (name == "wide_deep"); self.anchors = []
        for per, dim in zip(self.per, (s["dim"], 1)):
            self.tables.append(nn.Parameter(torch.randn(rows, dim, device=dev), requires_grad=kind != "rows"))
            if kind == "rows":
                one = torch.zeros(1, 1, device=dev, dtype=half)
                self.anchors.append(one.expand(batch * s["slots"] * s["ids"] // per, dim).requires_grad_())
        if self.only:
            self.seed = torch.randn(batch * s["slots"], s["dim"], device=dev) * 1e-3
            return
        width = s["slots"] * s["dim"] + s["dense"]; pad = -(13 if name == "dlrm" else width) % 8
        if name == "dlrm":
            n = s["slots"] + 1; full = 28 if half == torch.float32 else 32; width = n * (n - 1) // 2 + s["dim"]
            self.bot = mlp(13, 512, 256, s["dim"]); i, j = np.tril_indices(n, -1); back = np.full((full, full), len(i) + 1)
            back[i, j] = back[j, i] = np.arange(len(i))
            self.register_buffer("none", torch.zeros(batch, full - n, s["dim"], dtype=half))
            self.register_buffer("pick", torch.from_numpy(np.append(i * full + j, (full - 1) * full)))  # the last one is 0
            self.register_buffer("back", torch.from_numpy(back.flatten()))
        self.top = mlp(width, *WIDTHS[name])
        self.register_buffer("pad", torch.zeros(batch, pad, dtype=half)); self.to(dev)

    def rows(self, i, ids):
        ids = ids.view(-1, self.per[i])
        if self.kind == "rows":  # compiled, torch 2.11 gives an anchor that is not read a gradient of zeros; the sum is fused
            if torch.compiler.is_compiling(): return look(ids, self.tables[i]).to(self.half) + self.anchors[i]
            return Gather.apply(ids, self.tables[i], self.anchors[i])
        if self.kind == "sparse": return look(ids.long(), self.tables[i], True).to(self.half)
        return look(ids, self.tables[i]).to(self.half)

    def forward(self, ids, x, y):
        if self.only: return self.rows(0, ids)
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=self.half == torch.bfloat16, cache_enabled=False):
            e = self.rows(0, ids).view(self.batch, -1); x = x.to(self.half)
            if self.name == "dlrm":
                b = torch.relu(self.bot(torch.cat([x, self.pad], 1))); dim = self.s["dim"]
                z = torch.cat([b.unsqueeze(1), e.view(self.batch, -1, dim), self.none], 1)
                o = self.top(torch.cat([b, Pairs.apply(z, self.pick, self.back)], 1))
            elif self.name == "bags": o = self.top(e)
            else: o = self.top(torch.cat([e, x, self.pad], 1))
            if self.name == "wide_deep": o = o + self.rows(1, ids)
            return F.binary_cross_entropy_with_logits(o.float(), y)


class Feed:
    """batches from pinned memory, the next one while a step runs, to one place on the device"""
    def __init__(self, host, shapes, dev):
        self.host, self.i, self.cuda = host, 0, dev.type == "cuda"
        self.static = host[0].to(dev, copy=True); at = 0; views = []
        for shape, kind in shapes:
            n = int(np.prod(shape)); views.append(self.static[at:at + n].view(kind).view(shape)); at += n
        self.views = views
        if self.cuda:
            self.stage = [h.to(dev) for h in (host[0], host[1])]; self.side = torch.cuda.Stream()
            self.full = [torch.cuda.Event() for _ in range(2)]; self.free = [torch.cuda.Event() for _ in range(2)]
            torch.cuda.synchronize()

    def next(self):
        i = self.i; self.i += 1
        if not self.cuda: return self.static.copy_(self.host[i % len(self.host)])
        j = i % 2; torch.cuda.current_stream().wait_event(self.full[j])
        self.static.copy_(self.stage[j], non_blocking=True); self.free[j].record()
        with torch.cuda.stream(self.side):
            self.side.wait_event(self.free[j])
            self.stage[j].copy_(self.host[(i + 2) % len(self.host)], non_blocking=True); self.full[j].record()


hosts = {}


def staged(name, batch, cuda):
    """eight batches as one run of words each: ids, dense features, labels"""
    name = name.split("_only")[0]; s = SHAPES[name]; width = s["slots"] * s["ids"]
    if (name, batch) not in hosts:
        offset = (np.arange(width) // s["ids"] * s["rows"] if s["tables"] > 1 else np.zeros(width)).astype(np.int64)
        def one(k):
            ids, x, y = batches(name, batch, 1, seed=k + 1)[0]
            t = torch.empty(batch * (width + s["dense"] + 1), dtype=torch.int32, pin_memory=cuda)
            t.numpy()[:] = np.concatenate([(ids + offset).astype(np.int32).ravel(), x.view(np.int32).ravel(), y.view(np.int32).ravel()])
            return t
        with ThreadPoolExecutor(4 if cuda else 1) as pool: hosts[name, batch] = list(pool.map(one, range(8)))
    return hosts[name, batch], [((batch, width), torch.int32), ((batch, s["dense"]), torch.float32), ((batch, 1), torch.float32)]


checked = {}


def check_rows(rule, dim, per, order, dev):
    """both ways of Rows beside plain operations, before they are trusted"""
    key = (rule, dim, per, order)
    if key not in checked:
        gen = np.random.default_rng(3); count = 976 if per == 1 else 96; n = count * per; ids = torch.from_numpy((gen.random(n) ** 4 * 60).astype(np.int32)).to(dev)
        w = torch.randn(60, dim, device=dev); r = Rows(w.clone(), per, rule); m = torch.zeros_like(w); v = torch.zeros_like(w); rate = Rate(dev)
        for _ in range(2):
            g = torch.randn(count, dim, device=dev); f = rate.next(); full = torch.zeros_like(w).index_add_(0, ids.long(), g.repeat_interleave(per, 0))
            r.update(ids, torch.sort(ids) if order else None, g, f); hit = (torch.bincount(ids.long(), minlength=60) > 0).unsqueeze(1)
            if rule == "adam":
                m = torch.where(hit, 0.9 * m + 0.1 * full, m); v = torch.where(hit, 0.999 * v + 0.001 * full * full, v)
                w = torch.where(hit, w - f * m / (v.sqrt() + 1e-8), w)
            else: v = v + full * full; w = w - torch.where(hit, LR[rule] * full / (v.sqrt() + 1e-10), 0)
        near = torch.isclose(r.w, w, atol=1e-5, rtol=1e-5) & torch.isclose(r.v.sqrt(), v.sqrt(), atol=1e-4, rtol=1e-3)
        checked[key] = float(near.float().mean()) > 0.998 and not r.acc.any()  # a sum near 0 may have either sign
    if not checked[key]: raise RuntimeError(f"wrong rows {'sort' if order else 'atomic'}")


class Case:
    def __init__(self, name, batch, mode, precision, dev):
        self.cuda = dev.type == "cuda"; self.rule = rule = rule_of(name); self.note = ""
        kind = "rows" if "rows" in mode else "sparse" if mode == "sparse" else "dense"; half = torch.bfloat16 if precision == "bf16" else torch.float32
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest"); torch.manual_seed(1)
        self.feed = Feed(*staged(name, batch, self.cuda), dev); self.net = net = Net(name, batch, kind, half, dev); self.fn = net
        if mode.startswith("compiled"):
            self.fn = torch.compile(net, dynamic=False, mode="reduce-overhead" if mode == "compiled" and self.cuda else None)
        self.trees = mode == "compiled" and self.cuda
        tables = list(net.tables) if kind != "rows" else []; rest = [p for n, p in net.named_parameters() if not n.startswith("tables")]
        self.wrt = tables + rest + net.anchors; self.params = tables + rest; self.opts = []
        fused = dict(lr=LR["adam"], fused=self.cuda, capturable=self.cuda)
        if kind == "sparse":
            self.opts.append(torch.optim.SparseAdam(tables, lr=LR["adam"]) if rule == "adam" else torch.optim.Adagrad(tables, lr=LR["adagrad"]))
        own = rest if kind != "dense" else self.params
        if own:
            stock = torch.optim.Adagrad if mode in ("sparse", "dense") else None
            self.opts.append(torch.optim.Adam(own, **fused) if rule == "adam" else stock(own, lr=LR["adagrad"], foreach=True) if stock else Adagrad(own))
        if kind == "dense" and rule == "adam": self.note = "dense-adam"
        self.tables = [Rows(t, per, rule) for t, per in zip(net.tables, net.per)] if kind == "rows" else []
        self.rate = Rate(dev) if self.tables and rule == "adam" else None; self.side = torch.cuda.Stream() if self.cuda else None
        self.sort = False; self.loss = None
        if kind == "rows": self.pick(dev)
        elif mode in ("graph", "compiled_graph"): self.run = self.capture()
        else: self.run = self.body

    def body(self):
        ids, x, y = self.feed.views; order = None
        if self.trees: torch.compiler.cudagraph_mark_step_begin()
        if self.sort:
            if self.cuda: self.side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.side) if self.cuda else contextlib.nullcontext(): order = torch.sort(ids.view(-1))
        out = self.fn(ids, x, y)
        grads = torch.autograd.grad(out, self.wrt, self.net.seed if self.net.only else None)
        with torch.no_grad():
            for p, g in zip(self.params, grads): p.grad = g
            for o in self.opts: o.step()
            for p in self.params: p.grad = None
            if self.sort and self.cuda: torch.cuda.current_stream().wait_stream(self.side)
            rate = self.rate.next() if self.rate else None
            for t, g in zip(self.tables, grads[len(self.params):]): t.update(ids, order, g, rate)
            self.loss = out.detach()[0, 0].clone() if self.net.only else out.detach().clone()

    def capture(self):
        self.feed.next(); side = torch.cuda.Stream(); side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3): self.body()
        torch.cuda.current_stream().wait_stream(side); torch.cuda.synchronize(); g = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(g): self.body()
        except Exception as e: raise RuntimeError(f"capture: {type(e).__name__}: {e}") from e
        loss = self.loss
        def run():
            g.replay(); self.loss = loss
        return run

    def pick(self, dev):
        """rows: captures the step with either way to merge, keeps the faster"""
        best, why, lost = None, None, ""
        for sort in (True, False):
            try:
                for t in self.tables: check_rows(self.rule, t.w.shape[1], t.per, sort, dev)
                self.sort = sort; run = self.capture() if self.cuda else self.body; took = []
                for _ in range(12):
                    self.feed.next(); sync(self.cuda); b = time.perf_counter(); run(); sync(self.cuda); took.append(time.perf_counter() - b)
                if best is None or min(took) < best[0]: best = min(took), run, sort
            except Exception as e:
                why, lost = e, f",no-{'sort' if sort else 'atomic'}:{type(e).__name__}"
                if fatal(e): raise
        if best is None: raise why
        self.run, self.sort, self.note = best[1], best[2], ("sort" if best[2] else "atomic") + lost

    def step(self): self.feed.next(); self.run()


def sync(cuda):
    if cuda: torch.cuda.synchronize()


def fatal(e):
    """errors behind which a process should compute no more"""
    return not isinstance(e, torch.OutOfMemoryError) and any(w in str(e) for w in ("CUDA error", "captur", "illegal", "CUBLAS", "CUDA driver", "Triton Error"))


def device_name(dev): return torch.cuda.get_device_name().replace(" ", "_") if dev.type == "cuda" else "cpu"


def measure(a, name, batch, mode, precision, dev):
    c = Case(name, batch, mode, precision, dev); cuda = dev.type == "cuda"
    for _ in range(3): c.step()
    sync(cuda); b = time.perf_counter()
    for _ in range(max(1, a.warmup)): c.step()
    sync(cuda); once = (time.perf_counter() - b) / max(1, a.warmup); per = max(1, min(a.steps // 5, int(1 / once))); t = []
    for _ in range(5):
        b = time.perf_counter()
        for _ in range(per): c.step()
        sync(cuda); t.append((time.perf_counter() - b) / per)
    m = float(np.median(t)); note = f" note={c.note}" if c.note else ""
    print(f"peer={PEER} workload={name} batch={batch} device={device_name(dev)} mode={mode} precision={precision} "
          f"step_s={m:.6f} best_s={min(t):.6f} examples_s={batch / m:.0f} loss={float(c.loss):.4f}{note}", flush=True)


def rate_of(call, cuda, count):
    """seconds of one call, of `count` in a row"""
    call(); sync(cuda); run, g = call, None
    if cuda and count > 1:
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            for _ in range(count): call()
        run = g.replay
    t = []
    for _ in range(5):
        b = time.perf_counter()
        for _ in range(1 if g else count): run()
        sync(cuda); t.append((time.perf_counter() - b) / count)
    return float(np.median(t[1:]))


def limits(a, dev):
    cuda = dev.type == "cuda"; big = 8192 if cuda else 512; sizes = [(big, big, big)]
    for b in a.batches if cuda else [256]: sizes += [(b, 280, 400), (b, 400, 400), (400, b, 400)]
    for precision in PRECISIONS:
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest"); kind = torch.bfloat16 if precision == "bf16" else torch.float32
        for m, k, n in sizes:
            x = torch.randn(m, k, device=dev).to(kind); w = torch.randn(k, n, device=dev).to(kind); o = torch.empty(m, n, device=dev, dtype=kind)
            t = rate_of(lambda: torch.mm(x, w, out=o), cuda, 4 if m == big else 50)
            print(f"limit=gemm precision={precision} n={m}x{k}x{n} flops_s={2 * m * n * k / t:.4g}", flush=True)
    n = 1 << 30 if cuda else 1 << 22; x = torch.ones(n, device=dev); y = torch.empty_like(x)
    print(f"limit=copy bytes_s={8 * n / rate_of(lambda: y.copy_(x), cuda, 4):.4g}", flush=True)
    if cuda:
        h = torch.ones(1 << 26, pin_memory=True)
        print(f"limit=host_to_device bytes_s={4 * len(h) / rate_of(lambda: y[:len(h)].copy_(h, non_blocking=True), cuda, 1):.4g}", flush=True)


def cases(a):
    out = []
    for name in a.networks:
        sizes = a.bag_batches if name == "bags" else a.batches; only = ["bags_only"] if name == "bags" else []
        for b in sizes:
            ends = b in (sizes[0], sizes[-1])
            for mode in a.modes:
                if a.device == "cpu" and mode in ("graph", "compiled_graph"): continue
                for p in a.precisions:
                    for n in [name] + (only if p == a.precisions[0] else []):
                        late = mode in ("dense", "sparse", "compiled_graph")
                        out.append(((not ends, late, mode.startswith("compiled"), late and PRECISIONS.index(p), sizes.index(b), a.networks.index(name),
                                     PRECISIONS.index(p), MODES.index(mode)), (n, b, mode, p)))
    return ([("limits", 0, "", "")] if a.limits else []) + [c for _, c in sorted(out)]


def failed(a, c, why, device):
    word = "_".join(str(why).split())[:90] or "unknown"
    print(f"peer={PEER} workload={c[0]} batch={c[1]} device={device} mode={c[2]} precision={c[3]} failed={word}", flush=True)


def worker(a, todo):
    torch.set_num_threads(a.threads); dev = torch.device(a.device); device = device_name(dev)
    for i in range(a.first, len(todo)):
        if time.time() > a.deadline: break
        with open(a.progress, "w") as f: f.write(str(i))
        stop = False
        try: limits(a, dev) if todo[i][0] == "limits" else measure(a, *todo[i], dev)
        except Exception as e:
            failed(a, todo[i], f"{type(e).__name__}: {str(e).strip()}", device); stop = fatal(e)
            if a.verbose: import traceback; traceback.print_exc()
        if stop: os._exit(17)
        torch._dynamo.reset(); gc.collect()
        if dev.type == "cuda": torch.cuda.empty_cache()


def supervise(a, todo):
    """runs the worker; starts it again behind a case that ended or hung it"""
    first, deadline = 0, time.time() + a.seconds; signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.NamedTemporaryFile("r", prefix="gpu_torch_") as f:
        while first < len(todo) and time.time() < deadline:
            with open(f.name, "w") as g: g.write(str(first))
            p = subprocess.Popen([sys.executable, *sys.argv, "--first", str(first), "--progress", f.name, "--deadline", str(deadline)])
            why, seen = "", os.path.getmtime(f.name)
            try:
                while p.poll() is None:
                    time.sleep(0.2); seen = max(seen, os.path.getmtime(f.name))
                    if time.time() - seen > a.case_seconds: why = "hung"; p.kill(); p.wait()
            finally:
                if p.poll() is None: p.kill()
            if p.returncode == 0: break
            with open(f.name) as g: first = int(g.read() or first)
            if p.returncode != 17: failed(a, todo[first], why or f"process ended with {p.returncode}", a.device)
            first += 1


def main():
    split = lambda s: [w for w in s.split(",") if w]; numbers = lambda s: [int(w) for w in split(s)]
    p = argparse.ArgumentParser()
    p.add_argument("--networks", type=split, default=list(WIDTHS)); p.add_argument("--batches", type=numbers, default=[4096, 16384, 65536])
    p.add_argument("--bag-batches", type=numbers, default=[1024, 16384]); p.add_argument("--modes", type=split, default=MODES)
    p.add_argument("--precisions", type=split, default=PRECISIONS); p.add_argument("--steps", type=int, default=200)
    p.add_argument("--warmup", type=int, default=20); p.add_argument("--seconds", type=float, default=1e6, help="no new case after these")
    p.add_argument("--case-seconds", type=float, default=150, help="a case that takes longer is given up")
    p.add_argument("--device", default="cuda", choices=["cuda", "cpu"]); p.add_argument("--threads", type=int, default=4)
    p.add_argument("--limits", action="store_true"); p.add_argument("--verbose", action="store_true")
    p.add_argument("--first", type=int); p.add_argument("--progress"); p.add_argument("--deadline", type=float)
    a = p.parse_args()
    for given, known in ((a.networks, WIDTHS), (a.modes, MODES), (a.precisions, PRECISIONS)):
        if set(given) - set(known): p.error(f"unknown: {', '.join(sorted(set(given) - set(known)))}")
    if a.device == "cuda" and not torch.cuda.is_available(): sys.exit("gpu_torch.py: no GPU")
    todo = cases(a)
    worker(a, todo) if a.first is not None else supervise(a, todo)


if __name__ == "__main__": main()
