#!/usr/bin/env python3
"""jobs_oracle.py FILE - does the certificate in a result of `heterps jobs simulate --bound` prove
its bound? Any prices of units over time bound the mean completion time of every schedule: each job
alone, paying them, ends and works when that costs it least; what all units would cost comes off. Of
the makespan and of rho they bound by how much all jobs are late that must have ended by when they
are due at the claimed value. Prints what the prices prove; 1 where the file claims more."""
import json
import sys


def steps(configs, prices):
    """The work that is worth its price as the worth of work rises: lower hull of cost over rate."""
    points = sorted((1 / c["seconds"], sum(p * u for p, u in zip(prices, c["units"])))
                    for c in configs)
    hull = [(0.0, 0.0)]
    for rate, cost in points:
        if rate == hull[-1][0] and cost >= hull[-1][1]:
            continue
        while len(hull) > 1 and (rate == hull[-1][0] or
                                 (cost - hull[-1][1]) * (hull[-1][0] - hull[-2][0]) <=
                                 (hull[-1][1] - hull[-2][1]) * (rate - hull[-1][0])):
            hull.pop()
        hull.append((rate, cost))
    return [((y1 - y0) / (x1 - x0), x1 - x0) for (x0, y0), (x1, y1) in zip(hull, hull[1:])]


def least(job, start, edges, prices, due=0.0):
    """The least of seconds from due to the end + payment, from below."""
    best, taken, work, paid, before = float("inf"), [], 0.0, 0.0, float("inf")
    longest = max(c["seconds"] for c in job["configs"])
    edges = edges + [max(edges[-1], start, due) + 1.01 * longest]
    pieces = [(a, b, i) for i, (a, b) in enumerate(zip(edges, edges[1:])) if not a < due < b]
    pieces += [p for i, (a, b) in enumerate(zip(edges, edges[1:])) if a < due < b
               for p in ((a, due, i), (due, b, i))]
    for a, b, i in sorted(pieces):
        a = max(a, start)
        if b <= a:
            continue
        if max(0, a - due) >= best:
            break
        here = steps(job["configs"], prices[i] if i < len(prices) else [0.0] * len(prices[0]))
        # an end at which h = 1: there a second more costs as much as it saves
        turn = min((1 + sum(at * r for at, r in here[:k])) / sum(r for _, r in here[:k])
                   for k in range(1, len(here) + 1))
        if turn < before and a >= due:
            value = a - due + turn + sum(w * (at - turn) for at, w in taken if at < turn)
            end = a + (1 - sum(w for at, w in taken if at < turn)) / sum(
                r for at, r in here if at < turn) if any(at < turn for at, _ in here) else b + 1
            if end <= b:
                best = min(best, value)
        for at, rate in here:
            taken.append((at, rate * (b - a)))
        taken.sort()
        work = paid = 0.0
        for n, (at, w) in enumerate(taken):
            if work + w >= 1:
                if b >= due:
                    best = min(best, b - due + paid + (1 - work) * at)
                before, taken = at, taken[:n + 1]
                break
            work, paid = work + w, paid + w * at
    return best


def present(jobs, dues, job, due):
    """The most jobs that there can be on average while this one is, each until it is due."""
    start, most, total, at = job["arrive"], 1.0, 0.0, job["arrive"]
    first = start + min(c["seconds"] for c in job["configs"])
    times = sorted({t for j, d in zip(jobs, dues) for t in (j["arrive"], d)} | {first, due})
    for t in [t for t in times if start < t <= due]:
        total += (t - at) * sum(j["arrive"] <= at < d for j, d in zip(jobs, dues))
        at = t
        if at >= first:
            most = max(most, total / (at - start))
    return most


def due_times(objective, value, jobs):
    """When all have ended in any schedule of this makespan or rho."""
    if objective == "makespan_s":
        return [value] * len(jobs)
    best = [min(c["seconds"] for c in j["configs"]) for j in jobs]
    dues = [j["arrive"] + value * len(jobs) * b for j, b in zip(jobs, best)]
    for _ in range(10):
        dues = [d if d <= j["arrive"] + b else j["arrive"] + value * b * present(jobs, dues, j, d)
                for j, d, b in zip(jobs, dues, best)]
    return dues


def main():
    proof = json.load(open(sys.argv[1]))["certificate"]
    edges, prices, units = proof["edges"], proof["prices"], proof["units"]
    objective, claim, jobs = proof["objective"], proof["lower_bound"], proof["jobs"]
    assert edges == sorted(edges) and len(edges) == len(prices) + 1
    assert all(p >= 0 for at in prices for p in at)
    by_mean = objective == "mean_jct_s"
    dues = [j["arrive"] for j in jobs] if by_mean else due_times(objective, claim, jobs)
    total = sum(least(j, j["arrive"] + proof["restart_s"], edges, prices, d)
                for j, d in zip(jobs, dues))
    for a, b, at in zip(edges, edges[1:], prices):
        total -= (b - a) * sum(p * n for p, n in zip(at, units))
    if not by_mean:  # all together are late: no schedule has this value
        print("late by %.9g s at %.9g" % (total, claim))
        return 0 if total > 0 else 1
    bound = total / len(jobs)
    print("%.9g" % bound)
    return 0 if claim <= bound + 1e-6 * abs(bound) else 1


if __name__ == "__main__":
    sys.exit(main())
