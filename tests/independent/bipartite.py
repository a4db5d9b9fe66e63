"""Family `bipartite`: reference files; optima by cutting planes, and in exact decimals.

Written from the definition (4)-(12) and the utilities (60). An optimum of a tiny instance is two
numbers: what amounts up to the capacities and requests reach, and what amounts with the common
tolerance cannot exceed. Where nobody takes anything from anybody, 60 digits of it are known.
"""

import math
from collections import Counter
from decimal import Decimal, getcontext
from functools import cache
from pathlib import Path
from typing import Any

from numpy.random import default_rng

from independent import reference
from independent.cutting_planes import maximize
from optsched.families.bipartite.instance import BipartiteInstance, Machine, Port
from optsched.families.bipartite.instance_utilities import (
    KINDS,
    LINEAR,
    LOG,
    POLY,
    RECIPROCAL,
    Utility,
)

FILES = reference.files("bipartite")
EPS = 1e-9

getcontext().prec = 60


def load(path: Path) -> tuple[BipartiteInstance, dict[str, Any]]:
    """Return the instance of a reference file and its known answers; decisions by channel."""
    return reference.load(BipartiteInstance, path)


@cache
def tiny(seed: int, kinds: tuple[str, ...] = KINDS) -> BipartiteInstance:
    """Draw 1 to 3 ports, 1 to 3 machines, 1 to 2 resources and 1 to 3 slots.

    Odd seeds have small overheads, so that gains and overheads can be made 100 times larger.
    """
    rng = default_rng([seed, 99])
    resources, ports = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    slots, machines = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    fine = 1000 if seed % 2 else 10
    most = [1 + int(rng.random() < 0.25) for _ in range(ports)]

    def amounts():
        return tuple(float(rng.integers(5, 80)) / 10 for _ in range(resources))

    def machine():
        joined = sorted(rng.choice(ports, size=int(rng.integers(1, ports + 1)), replace=False))
        return Machine(
            capacity=amounts(),
            ports=tuple(int(p) for p in joined),
            utility=tuple(
                Utility(kind=str(rng.choice(kinds)), alpha=float(rng.integers(10, 40)) / 10)
                for _ in range(resources)
            ),
        )

    return BipartiteInstance(
        horizon=slots,
        resources=("cpu", "gpu")[:resources],
        overhead=tuple(float(rng.integers(0, 10)) / fine for _ in range(resources)),
        ports=tuple(Port(request=amounts(), most_jobs=j) for j in most),
        machines=tuple(machine() for _ in range(machines)),
        arrivals=tuple(tuple(int(rng.integers(0, j + 1)) for j in most) for _ in range(slots)),
    )


@cache
def optimum(inst: BipartiteInstance, stationary: bool = False) -> tuple[float, float]:
    """Return two numbers between which the greatest reward is, in all slots together."""
    if stationary:
        copies = Counter(
            (p, j) for row in inst.arrivals for p, x in enumerate(row) for j in range(x)
        )
        sums: Counter[tuple[tuple[tuple[int, int], int], ...]] = Counter()
        sums[tuple(sorted(copies.items()))] = 1
    else:
        sums = Counter(
            tuple(((p, j), 1) for p, x in enumerate(row) for j in range(x)) for row in inst.arrivals
        )
    low = high = 0.0
    for jobs, times in sums.items():
        if jobs:
            low += times * _decision(inst, dict(jobs), tolerance=0.0)[0]
            high += times * _decision(inst, dict(jobs), tolerance=EPS)[1]
    return low, max(low, high)


def _decision(inst, jobs, tolerance):
    """Return the best reward of one decision that serves each copy this many times."""
    unit = max(max(m.capacity) for m in inst.machines) or 1.0  # of amounts, here

    def usable(x):
        return (x + tolerance * max(1.0, x)) / unit

    places = [
        (r, k, copy)
        for r, m in enumerate(inst.machines)
        for k in range(len(inst.resources))
        for copy in jobs
        if copy[0] in m.ports
    ]
    size = len(places) + len(jobs)  # amounts, then the overhead of every copy
    rows, limits, curves, ends = [], [], {}, {}
    cost = [0.0] * len(places) + [-float(n) for n in jobs.values()]
    for i, (r, k, copy) in enumerate(places):
        utility = inst.machines[r].utility[k]
        request = usable(inst.ports[copy[0]].request[k])
        rows.append(_row(size, {i: 1.0}))
        limits.append(request)
        if utility.kind == "linear":
            cost[i] = jobs[copy] * utility.alpha * unit
        else:
            curves[i] = _curve(utility.kind, utility.alpha, jobs[copy], unit)
            ends[i] = request
    for r, m in enumerate(inst.machines):
        for k, capacity in enumerate(m.capacity):
            mine = {i: 1.0 for i, p in enumerate(places) if p[:2] == (r, k)}
            rows.append(_row(size, mine))
            limits.append(usable(capacity))
    for c, copy in enumerate(jobs):
        for k, beta in enumerate(inst.overhead):
            mine = {i: beta * unit for i, p in enumerate(places) if p[1:] == (k, copy)}
            rows.append(_row(size, mine | {len(places) + c: -1.0}))
            limits.append(0.0)
    return maximize(curves, cost, rows, limits, ends, shares=(0.0, 0.1, 0.5, 1.0))


def _row(size, entries):
    row = [0.0] * size
    for i, x in entries.items():
        row[i] = x
    return row


def _curve(kind, alpha, n, unit):
    """Return n f and its slope, of amounts in ``unit``."""
    if kind == "log":
        return lambda y: n * alpha * math.log1p(max(y, 0) * unit), (
            lambda y: n * alpha * unit / (y * unit + 1)
        )
    if kind == "reciprocal":
        return lambda y: n / alpha - n / (y * unit + alpha), (
            lambda y: n * unit / (y * unit + alpha) ** 2
        )
    return lambda y: n * alpha * (math.sqrt(y * unit + 1) - 1), (
        lambda y: n * alpha * unit / (2 * math.sqrt(y * unit + 1))
    )


def written(x: float) -> Decimal:
    """Return the decimal that is written for ``x``."""
    return Decimal(repr(float(x)))


def utility(kind, alpha, y):
    """f(y) of (60)."""
    alpha, y = Decimal(alpha), Decimal(y)
    return {
        LINEAR: lambda: alpha * y,
        LOG: lambda: alpha * (1 + y).ln(),
        RECIPROCAL: lambda: y / (alpha * (y + alpha)),
        POLY: lambda: alpha * y / ((1 + y).sqrt() + 1),
    }[kind]()


def best_amount(kind, alpha, n, u, price):
    """The maximizer of n f(y) - price y on [0, u]."""
    alpha, n, u, price = map(Decimal, (alpha, n, u, price))
    if price <= 0:
        return u
    y = {
        LINEAR: lambda: u if n * alpha > price else Decimal(0),
        LOG: lambda: n * alpha / price - 1,
        RECIPROCAL: lambda: (n / price).sqrt() - alpha,
        POLY: lambda: (n * alpha / (2 * price)) ** 2 - 1,
    }[kind]()
    return min(max(y, Decimal(0)), u)


def separable_optimum(inst: BipartiteInstance) -> Decimal:
    """Return the optimum where there is one resource, and every machine serves one job at most.

    Then nobody takes anything from anybody, and the overhead is that of each channel by itself: so
    the best decision is the same in all slots, and the stationary optimum as well, is this one.
    """
    assert len(inst.resources) == 1
    assert all(len(m.ports) <= 1 for m in inst.machines)
    jobs = [sum(counts) for counts in zip(*inst.arrivals, strict=True)]
    total, beta = Decimal(0), written(inst.overhead[0])
    for machine in inst.machines:
        for p in machine.ports:
            kind, alpha = KINDS.index(machine.utility[0].kind), written(machine.utility[0].alpha)
            u = min(written(machine.capacity[0]), written(inst.ports[p].request[0]))
            y = best_amount(kind, alpha, 1, u, beta)
            total += jobs[p] * max(Decimal(0), utility(kind, alpha, y) - beta * y)
    return total
