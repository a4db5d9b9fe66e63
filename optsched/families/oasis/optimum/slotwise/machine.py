"""Kernel: branch and bound for the best pattern of an empty machine, at changing prices.

The same knapsack search as `best_patterns` (Horowitz and Sahni, 1974), which supports lower limits
and any machine and prepares for them each time. Here machines are empty and of few classes: what
depends on them alone, and the arrays of the search, are prepared once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optsched.families.oasis.optimum.slotwise.packing import Side
from optsched.numbers.arrays import Floats, Ints, Small
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.patterns import Items, Levels, depth_first, new_items, new_levels


class Empty(NamedTuple):
    """Empty machines of one side: H of C classes, for n jobs."""

    kind: Ints  # (H,) the class
    free: Floats  # (C, R) units
    demand: Floats  # (n, R) units of one worker
    fits: Ints  # (C, n) workers that fit alone
    size: Floats  # (C, n) mean share of what is free, over resources, of one worker


class Desk(NamedTuple):
    """What is asked for, for n jobs, and what a search writes to."""

    offered: Floats  # (n,) by job: for a worker
    most: Ints  # (n,) by job: workers that are asked for
    items: Items
    levels: Levels


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
    return Desk(np.empty(n), np.empty(n, np.int64), new_items(n), new_levels(n, resources))


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
    c, items, levels = machines.kind[h], desk.items, desk.levels
    n = _rank(machines, c, desk)
    for r in range(machines.free.shape[1]):
        levels.free[0, r] = machines.free[c, r]
    depth_first(items, machines.demand, n, nodes, levels)
    for k in range(n):
        hosted[h, items.job[k]] = levels.best[k]
        total[items.job[k]] += levels.best[k]


@kernel(nogil=True, counted=False)
def _rank(machines: Empty, c: int, desk: Desk) -> int:
    """Write down the items for a machine of class c, the densest first; return their number."""
    job, value, size, density, most = desk.items
    n = 0
    for i in range(desk.offered.size):
        limit = min(desk.most[i], machines.fits[c, i])
        if desk.offered[i] <= 0.0 or limit <= 0:
            continue
        here = machines.size[c, i]
        dense = desk.offered[i] / here if here > 0.0 else math.inf
        k = n
        while k > 0 and density[k - 1] < dense:
            density[k], job[k] = density[k - 1], job[k - 1]
            k -= 1
        density[k], job[k] = dense, i
        n += 1
    for k in range(n):
        i = job[k]
        value[k], size[k] = desk.offered[i], machines.size[c, i]
        most[k] = min(desk.most[i], machines.fits[c, i])
    return n
