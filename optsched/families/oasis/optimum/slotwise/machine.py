"""Kernel: the best that an empty machine can host, again and again at other prices.

It is the search of `best_patterns`, which gets lower limits and machines of any kind, and prepares
for them each time. Here machines are empty and of few classes, so what depends on them alone is
made once, and what the search writes to, too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optsched.families.oasis.optimum.slotwise.packing import Side
from optsched.numbers.arrays import Floats, Ints, Small
from optsched.numbers.kernels import kernel

SLACK = 1.0 + 1e-9  # of the surrogate resource: sums of shares are not exact
MORE = 1.0 + 1e-12  # times the best: a promise of less is none


class Empty(NamedTuple):
    """Empty machines of one side: H of C classes, for n jobs."""

    kind: Ints  # (H,) the class
    free: Floats  # (C, R) units
    demand: Floats  # (n, R) units of one worker
    fits: Ints  # (C, n) workers that fit alone
    size: Floats  # (C, n) mean share of what is free, over resources, of one worker


class Desk(NamedTuple):
    """What a search writes to; n items are the jobs of which any fit, the densest first."""

    offered: Floats  # (n,) by job: for a worker
    most: Ints  # (n,) by job: workers that are asked for
    item: Ints  # (n,) the job
    density: Floats  # (n,)
    value: Floats  # (n,) of a worker
    size: Floats  # (n,) of a worker
    limit: Ints  # (n,) workers
    y: Ints  # (n,) workers in the branch that is being searched
    best: Ints  # (n,) workers in the best pattern
    free: Floats  # (n + 1, R) units left, by level
    room: Floats  # (n + 1,) what is left of the surrogate resource
    earned: Floats  # (n + 1,) value so far


@kernel(nogil=True)
def empty_machines(side: Side) -> Empty:
    """Prepare for the machines of a side, and the jobs that it names."""
    n, resources = side.demand.shape
    classes = side.members.size
    kind = np.empty(side.capacity.shape[0], np.int64)
    fits, size = np.empty((classes, n), np.int64), np.zeros((classes, n))
    h = 0
    for c in range(classes):
        for _ in range(side.members[c]):
            kind[h] = c
            h += 1
        some = 0
        for r in range(resources):
            some += side.kinds[c, r] > 0.0
        for i in range(n):
            most = math.inf
            for r in range(resources):
                if side.demand[i, r] > 0.0:
                    most = min(most, math.floor(side.kinds[c, r] / side.demand[i, r]))
                    if side.kinds[c, r] > 0.0:
                        size[c, i] += side.demand[i, r] / side.kinds[c, r] / some
            fits[c, i] = np.iinfo(np.int64).max if most == math.inf else int(most)
    return Empty(kind, side.kinds, side.demand, fits, size)


@kernel(nogil=True)
def new_desk(n: int, resources: int) -> Desk:
    """Return a desk for n jobs."""
    return Desk(
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty((n + 1, resources)),
        np.empty(n + 1),
        np.empty(n + 1),
    )


@kernel(nogil=True, counted=False)
def fill(machines: Empty, h: int, desk: Desk, nodes: int, hosted: Small, total: Ints) -> None:
    """Let the empty machine h host what pays most of what the desk asks for.

    Parameters
    ----------
    machines : Empty
    h : int
    desk : Desk
        Says what is offered, and for how many.
    nodes : int
        How many the search may visit.
    hosted : shape (H, n)
        Its row h, all zeros, receives the pattern.
    total : shape (n,)
        Of all machines; the pattern is added.
    """
    n = _rank(machines, machines.kind[h], desk)
    if n > 0:
        _search(machines, machines.kind[h], desk, n, nodes)
    for k in range(n):
        hosted[h, desk.item[k]] = desk.best[k]
        total[desk.item[k]] += desk.best[k]


@kernel(nogil=True, counted=False)
def _rank(machines: Empty, c: int, desk: Desk) -> int:
    """Write down the items for a machine of class c, the densest first; return their number."""
    n = 0
    for i in range(desk.offered.size):
        limit = min(desk.most[i], machines.fits[c, i])
        if desk.offered[i] <= 0.0 or limit <= 0:
            continue
        size = machines.size[c, i]
        density = desk.offered[i] / size if size > 0.0 else math.inf
        k = n
        while k > 0 and desk.density[k - 1] < density:
            desk.density[k], desk.item[k] = desk.density[k - 1], desk.item[k - 1]
            k -= 1
        desk.density[k], desk.item[k] = density, i
        n += 1
    for k in range(n):
        i = desk.item[k]
        desk.value[k], desk.size[k] = desk.offered[i], machines.size[c, i]
        desk.limit[k] = min(desk.most[i], machines.fits[c, i])
    return n


@kernel(nogil=True, counted=False)
def _search(machines: Empty, c: int, desk: Desk, n: int, nodes: int) -> None:
    """Search all patterns of n items; cut where the surrogate knapsack promises no more."""
    demand, free, y = machines.demand, desk.free, desk.y
    resources = demand.shape[1]
    for r in range(resources):
        free[0, r] = machines.free[c, r]
    desk.room[0], desk.earned[0] = SLACK, 0.0
    best = -1.0
    for k in range(n):
        desk.best[k] = 0
    k, descend = 0, True
    while k >= 0:
        if k == n:
            if desk.earned[n] > best:
                best = desk.earned[n]
                for j in range(n):
                    desk.best[j] = y[j]
            k, descend = k - 1, False
            continue
        i = desk.item[k]
        if descend:
            fit = float(desk.limit[k])
            for r in range(resources):
                if demand[i, r] > 0.0:
                    fit = min(fit, free[k, r] / demand[i, r])
            y[k] = int(fit)
        else:
            y[k] -= 1
        if y[k] < 0:
            k, descend = k - 1, False
            continue
        for r in range(resources):
            free[k + 1, r] = free[k, r] - y[k] * demand[i, r]
        left = desk.room[k] - y[k] * desk.size[k]
        promise = desk.earned[k] + y[k] * desk.value[k]
        desk.room[k + 1], desk.earned[k + 1] = left, promise
        for j in range(k + 1, n):
            whole = desk.limit[j] * desk.size[j]
            if whole > left:
                promise += left * desk.density[j]
                break
            left -= whole
            promise += desk.limit[j] * desk.value[j]
        nodes -= 1
        if nodes < 0:
            return
        # with fewer of this job, at most its density is left for the others: nothing better below
        descend = promise > best * MORE
        k += 1 if descend else -1
