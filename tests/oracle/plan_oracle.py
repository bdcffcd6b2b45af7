#!/usr/bin/env python3
"""plan_oracle.py (PROFILE.json PLAN.json)...: is the plan, or each of a list, what its numbers say?

Computes every field of a plan again from the profile, by the formulas of the cost model and of the
engine-faithful one, with nothing but Python's standard library; so too of the plans that lost to
it, where the file has them. Ends with 0 when all agree, with 1 and the first difference otherwise,
with 2 when it cannot read its input.
"""
import json
import math
import sys

SAME = 1e-9


def fail(text):
    print(text)
    sys.exit(1)


def same(what, got, wanted):
    if wanted is None or math.isinf(wanted):
        if got is not None:
            fail(f"{what} is {got!r}, wanted is null")
    elif got is None or not math.isfinite(got) or abs(got - wanted) > SAME * abs(wanted):
        fail(f"{what} is {got!r}, computed is {wanted!r}")


def is_index(x, n):
    return isinstance(x, int) and not isinstance(x, bool) and 0 <= x < n


def workers_of(tree):
    return tree.get("workers", 1)


def check_shape(profile, plan):
    n_layers, n_types = len(profile["layers"]), len(profile["types"])
    workers = workers_of(profile)
    if workers_of(plan) != workers:
        fail(f"the plan is for {workers_of(plan)!r} workers, the profile has {workers}")
    if plan.get("format") != "heterps-plan-1":
        fail(f"format is {plan.get('format')!r}")
    assignment = plan["assignment"]
    if len(assignment) != n_layers:
        fail(f"assignment has {len(assignment)} layers, the profile has {n_layers}")
    for l, t in enumerate(assignment):
        if not is_index(t, n_types):
            fail(f"assignment[{l}] is {t!r}: no type")
    if not plan["stages"]:
        fail("there is no stage")
    for key, named in (("layer_names", "layers"), ("type_names", "types")):
        if key in plan and plan[key] != [x["name"] for x in profile[named]]:
            fail(f"{key} are not those of the profile")
    nxt = 0
    for s, g in enumerate(plan["stages"]):
        if g["first"] != nxt or not is_index(g["last"], n_layers) or g["last"] < g["first"]:
            fail(f"stages[{s}] has layers {g['first']} to {g['last']}, it should begin at {nxt}")
        if any(assignment[l] != g["type"] for l in range(g["first"], g["last"] + 1)):
            fail(f"stages[{s}] is on type {g['type']}, the assignment says otherwise")
        if not isinstance(g["units"], int) or g["units"] < 1:
            fail(f"stages[{s}] has {g['units']!r} units")
        if g["units"] % workers:
            fail(f"stages[{s}] has {g['units']} units for {workers} workers")
        nxt = g["last"] + 1
    if nxt != n_layers:
        fail(f"the stages end before layer {nxt}, the network has {n_layers}")


def stage_times(profile, g):
    """Seconds an example of a stage whose k units all belong to one worker; W workers with k units
    each take them for W examples."""
    layers, batch, workers = profile["layers"], profile["batch"], workers_of(profile)
    i, j, t, k = g["first"], g["last"], g["type"], g["units"] // workers

    def total(seconds, share):
        return math.fsum(x[seconds][t] / batch * (1 - x[share][t] + x[share][t] / k)
                         for x in layers[i:j + 1])

    ct, dt = total("oct", "alpha"), total("sync", "beta")
    ends = layers[i]["recv"][t] if i > 0 else 0
    ends += layers[j]["send"][t] if j < len(layers) - 1 else 0
    dt += ends / (batch * k)
    return ct / workers, dt / workers, max(ct, dt) / workers


def check_times(profile, plan):
    busy = []
    for s, g in enumerate(plan["stages"]):
        ct, dt, et = stage_times(profile, g)
        same(f"stages[{s}].ct", g["ct"], ct)
        same(f"stages[{s}].dt", g["dt"], dt)
        same(f"stages[{s}].et", g["et"], et)
        busy.append(et)
    for a, b in plan.get("share") or []:
        busy[a] += busy[b]
    return max(busy + [served(profile, plan)])


def served(profile, plan):
    """Seconds per example of the dedicated servers; 0: there are none."""
    servers = servers_of(profile, plan)
    if servers["units"] == 0:
        return 0
    work = math.fsum((x.get("serve") or [0] * len(profile["types"]))[servers["type"]]
                     for x in profile["layers"])
    return work / profile["batch"] / servers["units"]


def servers_of(profile, plan):
    """The dedicated servers: the profile's, or those that the plan chose."""
    given = profile.get("servers") or {"type": 0, "units": 0}
    planned = plan.get("servers") or {"type": given.get("type", 0), "units": 0}
    if given.get("auto"):
        kind = profile["types"][planned["type"]]
        if planned["units"] < 1 or kind.get("kind", "cpu") != "cpu":
            fail(f"servers are {planned}")
        if given.get("type", planned["type"]) != planned["type"]:
            fail(f"servers are {planned}, the profile has {given}")
    elif given["units"] != planned["units"] or given["type"] != planned["type"]:
        fail(f"servers are {planned}, the profile has {given}")
    return planned


def check_share(plan):
    """Pairs of stages on the same units; the second of each pays for none."""
    stages, seen = plan["stages"], []
    for a, b in plan.get("share") or []:
        if not (0 <= a < b < len(stages)) or a in seen or b in seen:
            fail(f"share [{a}, {b}] is no pair of two stages of its own")
        if any(stages[a][key] != stages[b][key] for key in ("type", "units")):
            fail(f"share [{a}, {b}]: the stages have different units")
        seen += [a, b]
    return {b for _, b in plan.get("share") or []}


def check_limits(profile, plan):
    servers = servers_of(profile, plan)
    rate, riders = 0, check_share(plan)
    for t, kind in enumerate(profile["types"]):
        used = sum(g["units"] for s, g in enumerate(plan["stages"])
                   if g["type"] == t and s not in riders)
        used += servers["units"] if servers["type"] == t else 0
        if used > kind["limit"]:
            fail(f"{used} units of type {kind['name']}, its limit is {kind['limit']}")
        rate += kind["price_usd_hour"] * used
    return rate


def check_memory(profile, plan):
    layers, stages = profile["layers"], plan["stages"]
    held = [list(range(g["first"], g["last"] + 1)) for g in stages]
    for a, b in plan.get("share") or []:
        held[a] = held[b] = held[a] + held[b]
    servers = servers_of(profile, plan)
    if servers["units"] > 0:
        has = profile["types"][servers["type"]].get("memory_bytes") or math.inf
        need = math.fsum(x["weight_bytes"] + x.get("state_bytes", 0)
                         for x in layers if x["type"] == "embedding") / servers["units"]
        if need > has * (1 + SAME):
            fail(f"a server needs {need!r} bytes, a unit has {has!r}")
    for s, g in enumerate(stages):
        has = profile["types"][g["type"]].get("memory_bytes") or math.inf
        table = lambda x: x["type"] == "embedding"
        need = math.fsum((x["weight_bytes"] + x.get("state_bytes", 0))
                         / (g["units"] if table(x) else 1)
                         for x in (layers[l] for l in held[s])
                         if not (table(x) and servers["units"] > 0))
        if need > has * (1 + SAME):
            fail(f"stages[{s}] needs {need!r} bytes on a unit, which has {has!r}")


def check_bound(plan):
    cost, bound, gap = plan["cost_usd"], plan["lower_bound_usd"], plan["gap"]
    if bound is not None:
        if bound > cost * (1 + SAME):
            fail(f"lower_bound_usd {bound!r} is above cost_usd {cost!r}")
        wanted = (cost - bound) / cost if cost > 0 else 0
        if abs(gap - wanted) > SAME:
            fail(f"gap is {gap!r}, computed is {wanted!r}")
    if plan["evaluations"] < 1 or plan["search_seconds"] < 0:
        fail(f"evaluations {plan['evaluations']!r}, search_seconds {plan['search_seconds']!r}")


class Stage:
    """What the engine-faithful model knows of a worker's stage, in seconds; of all workers, whose
    units sum and exchange with each other, there are `everyone`."""

    def __init__(self, profile, plan, s, batch, micros):
        g, layers, about = plan["stages"][s], profile["layers"], profile.get("engine") or {}
        i, j, t, everyone = g["first"], g["last"], g["type"], g["units"]
        k = everyone // workers_of(profile)
        mine, rows = layers[i:j + 1], batch / micros

        def total(key):
            return math.fsum((x.get(key) or [0] * (t + 1))[t] for x in mine)

        def of_type(key):
            return about[key][t] if about else 0

        recv = layers[i]["recv"][t] if i > 0 else 0
        send = layers[j]["send"][t] if j < len(layers) - 1 else 0
        oct_s, forward_s, once_s = total("oct"), total("forward"), total("once")
        ct = stage_times(profile, g)[0] * workers_of(profile) * rows
        once = ct * min(once_s / oct_s, 1) if oct_s > 0 else 0
        part = 1 / 3
        if forward_s > 0 and oct_s > once_s:
            part = min(forward_s / (oct_s - once_s), 1)
        extra = of_type("micro_s")
        reading = [l for l, x in enumerate(layers) if x.get("reads")]
        if reading and i > reading[0] and any(i <= l <= j for l in reading):
            extra += of_type("read_s") * rows
        if profile["types"][t].get("kind", "cpu") == "cpu":
            extra += about.get("move", 0) * (recv + send) / profile["batch"] * rows / k
        others = (everyone - 1) / everyone
        of_rows = 1 if servers_of(profile, plan)["units"] > 0 else others
        moved = 2 * math.fsum(x["sync"][t] * ((1 - x["beta"][t]) * others
                                              + x["beta"][t] / k * of_rows) for x in mine)
        self.forward = part * (ct - once) + extra / 2
        self.backward = (1 - part) * (ct - once) + extra / 2
        self.both = self.forward + self.backward
        self.once = micros * (once + moved / profile["batch"] * rows) + of_type("step_s")
        self.hop = recv / profile["batch"] * rows


def flights(n, s, micros):
    return min(micros, 2 * (n - s) - 1)


def passes(s, n, micros):
    """(backward, micro-batch) of stage s, in its order: warm-up, one of each in turn, the rest."""
    warm = flights(n, s, micros) - 1
    out = [(False, m) for m in range(warm)]
    for m in range(warm, micros):
        out += [(False, m), (True, m - warm)]
    return out + [(True, m) for m in range(micros - warm, micros)]


def shared_order(lead, me, n, micros):
    """(stage, backward, micro-batch) of ranks with two stages: all ranks do the same work, a shared
    stage's pass takes half as long, a backward twice; backwards first, then the later stage."""
    lists, at, out = [passes(s, n, micros) for s in range(n)], [0] * n, []
    ended = [{}, {}]  # by (stage, micro-batch): the tick
    busy = {h: (0, None) for h in set(lead)}
    tick = 0
    while any(at[s] < len(lists[s]) for s in range(n)):
        for h, (until, what) in busy.items():
            if what and until <= tick:
                ended[what[1]][what[0], what[2]] = tick
                busy[h] = (until, None)
        for h in sorted(busy):
            if busy[h][1]:
                continue
            best = None
            for s in (s for s in range(n) if lead[s] == h and at[s] < len(lists[s])):
                back, m = lists[s][at[s]]
                needs = (s + 1, m) if back else (s - 1, m)
                own = (s, m) in ended[0] if back else True
                if own and (not 0 <= needs[0] < n or needs in ended[back]):
                    if best is None or back or not best[1]:
                        best = (s, back, m)
            if best:
                at[best[0]] += 1
                length = (2 if best[1] else 1) * (1 if lead.count(h) > 1 else 2)
                busy[h] = (tick + length, best)
                if h == me:
                    out.append(best)
        tick += 1
    return out


def replay(x, lead, micros):
    """Seconds of a step when many follow each other, event by event."""
    n, free, began, steps, before = len(x), {h: 0.0 for h in lead}, 0.0, 8, 3
    orders = {h: shared_order(lead, h, n, micros) if lead.count(h) > 1 else
              [(h, back, m) for back, m in passes(h, n, micros)] for h in set(lead)}
    for step in range(before + steps):
        if step == before:
            began = free[0]
        ended, at, moved = [{}, {}], {h: 0 for h in orders}, True
        while moved:
            moved = False
            for h, todo in orders.items():
                while at[h] < len(todo):
                    s, back, m = todo[at[h]]
                    other = s + 1 if back else s - 1
                    come = 0.0
                    if 0 <= other < n:
                        if (other, m) not in ended[back]:
                            break
                        come = ended[back][other, m] + x[max(s, other)].hop / 2
                    free[h] = max(free[h], come) + (x[s].backward if back else x[s].forward)
                    ended[back][s, m] = free[h]
                    at[h] += 1
                    moved = True
        for s in range(n):
            free[lead[s]] += x[s].once
    return (free[0] - began) / steps


def engine_step(profile, plan, tau):
    about = profile.get("engine") or {"batch": 4 * profile["batch"], "microbatches": 4}
    batch, micros = about["batch"], about["microbatches"]
    x = [Stage(profile, plan, s, batch, micros) for s in range(len(plan["stages"]))]
    lead = list(range(len(x)))
    for a, b in plan.get("share") or []:
        lead[max(a, b)] = min(a, b)
    clock = batch * workers_of(profile)
    alone = (profile.get("servers") or {}).get("dense")  # a worker waits for its own rows only
    wait = clock * served(profile, plan) / (workers_of(profile) if alone else 1)
    return max(clock * tau, replay(x, lead, micros) + wait), clock


def check_engine(profile, plan, tau, rate):
    got = plan.get("engine")
    if got is None:
        return
    step, batch = engine_step(profile, plan, tau)
    seconds = profile["epochs"] * profile["examples"] / batch * step
    same("engine.throughput", got["throughput"], batch / step if step > 0 else None)
    same("engine.seconds", got["seconds"], seconds)
    same("engine.cost_usd", got["cost_usd"], seconds / 3600 * rate)


def check(profile, plan):
    check_shape(profile, plan)
    tau = check_times(profile, plan)
    rate = check_limits(profile, plan)
    check_memory(profile, plan)
    limit = profile["throughput_limit"]
    if limit != "max" and tau * limit > 1 + SAME:
        fail(f"throughput is {1 / tau!r}, throughput_limit is {limit!r}")
    seconds = profile["epochs"] * profile["examples"] * tau
    same("throughput", plan["throughput"], 1 / tau if tau > 0 else None)
    same("seconds", plan["seconds"], seconds)
    same("cost_usd", plan["cost_usd"], seconds / 3600 * rate)
    check_engine(profile, plan, tau, rate)
    check_bound(plan)
    for lost in ("runner_up", "single"):
        if plan.get(lost):
            check(profile, plan[lost])


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    paths = sys.argv[1:]
    if not paths or len(paths) % 2:
        print(__doc__.splitlines()[0])
        sys.exit(2)
    for at in range(0, len(paths), 2):
        try:
            profile, plan = read(paths[at]), read(paths[at + 1])
        except (OSError, ValueError) as error:
            print(error)
            sys.exit(2)
        listed = plan.get("format") == "heterps-plans-1"
        for each in plan["plans"] if listed else [plan]:
            check(profile, each)


main()
