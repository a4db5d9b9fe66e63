"""Rigid jobs, second by second: policies and optima written without the package's own code."""

import itertools
import json
import random
from fractions import Fraction
from pathlib import Path

from optsched.families.rigid.instance import Machine, RigidInstance, RigidJob

REFERENCE = Path(__file__).parents[1] / "data" / "rigid" / "reference.json"


def reference():
    """Return the small instances with known schedules and optima, by name."""
    return json.loads(REFERENCE.read_text("utf-8"))


def instance_of(data, objective="flow"):
    """Return the instance of an entry of the reference."""
    return RigidInstance(
        resources=tuple(f"resource {k}" for k in range(len(data["capacity"]))),
        machines=(Machine(capacity=tuple(data["capacity"])),),
        objective=objective,
        jobs=tuple(
            RigidJob(
                arrival=job["submit"],
                run=job["run"],
                request=job["request"],
                need=tuple(job["need"]),
                weight=job["weight"],
            )
            for job in data["jobs"]
        ),
    )


def random_log(seed, jobs=None, kinds=None):
    """Return a crowded random instance of a pool."""
    draw = random.Random(seed)
    kinds = kinds or draw.choice((1, 1, 2, 3))
    capacity = tuple(draw.randint(2, 8) for _ in range(kinds))
    number = jobs or draw.randint(2, 25)
    last = draw.choice((0, 5, 2 * number, 5 * number))
    longest = draw.choice((3, 12, 40))
    listed = []
    for _ in range(number):
        run = draw.randint(1, longest)
        need = [draw.randint(0, c) for c in capacity]
        need[draw.randrange(kinds)] = max(1, need[0])
        listed.append(
            RigidJob(
                arrival=draw.randint(0, last),
                run=run,
                request=draw.choice((run, run + draw.randint(0, longest), 2 * run)),
                need=tuple(min(d, c) for d, c in zip(need, capacity, strict=True)),
                weight=draw.randint(1, 4),
            )
        )
    return RigidInstance(
        resources=tuple("abc"[:kinds]), machines=(Machine(capacity=capacity),), jobs=tuple(listed)
    )


def starts_of(inst, policy):
    """Return the starts of `fcfs`, `easy` or `conservative`, each second looked at on its own."""
    capacity = inst.total
    start = [None] * len(inst.jobs)
    queue, t = [], 0
    while None in start:
        events = [i for i, job in enumerate(inst.jobs) if job.arrival == t]
        ended = [i for i, s in enumerate(start) if s is not None and s + inst.jobs[i].run == t]
        queue += events
        if events or ended:
            running = [
                i for i, s in enumerate(start) if s is not None and s <= t < s + inst.jobs[i].run
            ]
            used = {i: start[i] + inst.jobs[i].request for i in running}
            for i in _chosen(inst, policy, queue, used, t, capacity):
                start[i] = t
                queue.remove(i)
        t += 1
        assert t < 10**6
    return start


def _free(inst, used, t, capacity):
    """Return what is free in second t, where jobs end as ``used`` states."""
    return [
        c - sum(inst.jobs[i].need[k] for i, end in used.items() if t < end)
        for k, c in enumerate(capacity)
    ]


def _fits(need, free):
    return all(d <= f for d, f in zip(need, free, strict=True))


def _chosen(inst, policy, queue, used, now, capacity):
    used, chosen, waiting = dict(used), [], list(queue)
    if policy == "conservative":
        return _reserved(inst, queue, used, now, capacity)
    while waiting and _fits(inst.jobs[waiting[0]].need, _free(inst, used, now, capacity)):
        i = waiting.pop(0)
        used[i] = now + inst.jobs[i].request
        chosen.append(i)
    if policy == "fcfs" or not waiting:
        return chosen
    head, shadow = inst.jobs[waiting.pop(0)], now
    while not _fits(head.need, _free(inst, used, shadow, capacity)):
        shadow += 1
    extra = [f - d for f, d in zip(_free(inst, used, shadow, capacity), head.need, strict=True)]
    for i in waiting:
        job = inst.jobs[i]
        if not _fits(job.need, _free(inst, used, now, capacity)):
            continue
        if now + job.request > shadow:
            if not _fits(job.need, extra):
                continue
            extra = [e - d for e, d in zip(extra, job.need, strict=True)]
        used[i] = now + job.request
        chosen.append(i)
    return chosen


def _reserved(inst, queue, used, now, capacity):
    reserved = []  # (start, end, need)
    chosen = []

    def free(t):
        left = _free(inst, used, t, capacity)
        for start, end, need in reserved:
            if start <= t < end:
                left = [f - d for f, d in zip(left, need, strict=True)]
        return left

    for i in queue:
        job, s = inst.jobs[i], now
        while not all(_fits(job.need, free(t)) for t in range(s, s + job.request)):
            s += 1
        reserved.append((s, s + job.request, job.need))
        if s == now:
            chosen.append(i)
    return chosen


def optimum(inst):
    """Return the best objective of all orders, each job placed as early as it fits."""
    best = None
    for order in itertools.permutations(range(len(inst.jobs))):
        use, start = {}, {}
        for i in order:
            job = inst.jobs[i]
            s = job.arrival
            while not all(
                _fits(job.need, [c - u for c, u in zip(inst.total, use.get(t, _none(inst)),
                                                       strict=True)])
                for t in range(s, s + job.run)
            ):  # fmt: skip
                s += 1
            start[i] = s
            for t in range(s, s + job.run):
                use[t] = [u + d for u, d in zip(use.get(t, _none(inst)), job.need, strict=True)]
        value = objective(inst, start)
        best = value if best is None else min(best, value)
    return best


def _none(inst):
    return [0] * len(inst.resources)


def objective(inst, start):
    """Return the objective of starts, a fraction."""
    if inst.objective == "makespan":
        return Fraction(max(start[i] + job.run for i, job in enumerate(inst.jobs)))
    total = Fraction(0)
    for i, job in enumerate(inst.jobs):
        flow = start[i] + job.run - job.arrival
        cost = {
            "flow": Fraction(flow),
            "wait": Fraction(flow - job.run),
            "slowdown": max(Fraction(1), Fraction(flow, max(job.run, 10))),
        }
        total += job.weight * cost[inst.objective]
    return total / sum(job.weight for job in inst.jobs)
