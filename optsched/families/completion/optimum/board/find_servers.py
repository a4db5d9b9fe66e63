"""Kernels: cheapest servers for the workers and PS of one job in a window of slots.

Workers fill servers by increasing price (Dantzig, 1957); then the cheapest host for the parameter
servers (PS) is chosen. `insertion` uses it.
"""

from __future__ import annotations

import numpy as np

from optsched.families.completion.optimum.board.plans import BoardTables
from optsched.families.completion.optimum.board.scratch import BoardWorkspace
from optsched.families.completion.optimum.board.servers import Servers
from optsched.families.completion.optimum.board.windows import find_left, fits, price_of
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.slots import plain_int


@kernel(nogil=True, counted=False, forceinline=True)
def on_one(
    tables: BoardTables,
    servers: Servers,
    workspace: BoardWorkspace,
    k: int,
    end: int,
    first: int,
    last: int,
    factor: float,
    limit: float,
    tried: int,
) -> float:
    """Find the cheapest server for a whole job; return its cost, ``limit`` if that is not less.

    The window of the job's mode k ends before slot ``end``, and has segments ``first`` to ``last``;
    ``workspace`` holds the capacities in it. The servers found are written to row ``tried`` of
    ``workspace.spots`` and ``workspace.outs``.
    """
    m, n = tables.type_of[k], tables.workers[k]
    begin = end - tables.duration[k]
    window_units, left, spots, outs = (
        workspace.window_units,
        workspace.left,
        workspace.spots,
        workspace.outs,
    )
    best, chosen, known = limit, plain_int(-1), False
    for h in range(window_units.size):
        outs[tried, h] = 0
    for h in range(window_units.size):
        if window_units[h] < n:
            continue
        g = tables.class_of[h]
        cost = factor * n * price_of(tables.worker_cost, m, begin, end, g)
        if cost >= best:
            continue
        if tables.ring:
            best, chosen = cost, h
            spots[tried, 0], spots[tried, 1], spots[tried, 2] = -1, 0, 0
            continue
        if not known:
            find_left(servers, first, last, workspace)
            known = True
        for p in range(tables.z.shape[0]):
            if not (tables.mask[k] >> p) & 1:
                continue
            s = tables.needed[m, p, 0]
            full = cost + factor * s * price_of(tables.ps_cost, p, begin, end, g)
            if full < best and fits(tables, m, n, p, s, left, h):
                best, chosen = full, h
                spots[tried, 0], spots[tried, 1], spots[tried, 2] = h, p, s
    if chosen >= 0:
        outs[tried, chosen] = n
    return best


@kernel(nogil=True, counted=False, forceinline=True)
def _fill(
    tables: BoardTables, workspace: BoardWorkspace, n: int, most: int, skip: int, limit: float
) -> float:
    """Put n workers on servers with free capacity, cheap classes first, at most ``most`` on each.

    Return their cost, infinity if they do not fit, or if it is not below ``limit``.
    ``workspace.fill`` receives the workers on each server.
    """
    window_units, ranks, fill = workspace.window_units, workspace.ranks, workspace.fill
    by_class, bounds = tables.by_class, tables.bounds
    cost = 0.0
    for h in range(fill.size):
        fill[h] = 0
    for g in ranks:
        if cost + n * workspace.unit[g] >= limit:
            break  # the others are not cheaper
        before = n
        for y in range(bounds[g], bounds[g + 1]):
            h = by_class[y]
            if h == skip:
                continue
            take = min(n, min(window_units[h], most))
            fill[h] = take
            n -= take
            if n == 0:
                break
        cost += (before - n) * workspace.unit[g]
        if n == 0:
            return float(cost)
    return float(np.inf)


@kernel(nogil=True, counted=False, forceinline=True)
def _find_most(workspace: BoardWorkspace) -> None:
    """Set ``workspace.most`` to the most that is left of each resource, even on several servers."""
    left, most = workspace.left, workspace.most
    for r in range(most.size):
        there = left[r]
        for y in range(r, left.size, most.size):
            there = max(there, left[y])
        most[r] = there


@kernel(nogil=True, counted=False)
def _somewhere(tables: BoardTables, workspace: BoardWorkspace, p: int, s: int) -> bool:
    """Whether enough of every resource is left for s PS, not always on the same server."""
    enough = True
    for r in range(workspace.most.size):
        enough &= s * tables.z[p, r] <= workspace.most[r]
    return enough


@kernel(nogil=True, counted=False, forceinline=True)
def on_many(
    tables: BoardTables,
    servers: Servers,
    workspace: BoardWorkspace,
    k: int,
    end: int,
    first: int,
    last: int,
    factor: float,
    limit: float,
    tried: int,
) -> float:
    """Find servers for workers and PS; return their cost, ``limit`` if that is not less.

    The arguments are those of `on_one`.
    """
    m, n, kinds = tables.type_of[k], tables.workers[k], tables.z.shape[0]
    begin, mask = end - tables.duration[k], tables.mask[k]
    classes, count = tables.worker_cost.shape[2], workspace.window_units.size
    window_units, left, spots, outs = (
        workspace.window_units,
        workspace.left,
        workspace.spots,
        workspace.outs,
    )
    unit, ranks, price, fill = workspace.unit, workspace.ranks, workspace.rent, workspace.fill
    of = tables.class_of
    for g in range(classes):
        unit[g] = factor * price_of(tables.worker_cost, m, begin, end, g)
        x = g
        while x > 0 and unit[ranks[x - 1]] > unit[g]:
            ranks[x] = ranks[x - 1]
            x -= 1
        ranks[x] = g
    # the literal has a kernel of its own, without the server to skip: a tenth of the time in rings
    cost = _fill(tables, workspace, n, n - 1 if tables.ring else n, -1, limit)
    if cost >= limit:
        return limit
    for h in range(count):
        outs[tried, h] = fill[h]
    spots[tried, 0], spots[tried, 1], spots[tried, 2] = -1, 0, 0
    if tables.ring:
        return cost
    for g in range(classes):
        for p in range(kinds):
            price[g, p] = factor * price_of(tables.ps_cost, p, begin, end, g)
    find_left(servers, first, last, workspace)
    best = limit
    for h in range(count):  # hosts of workers need the fewest PS
        here, g = fill[h], of[h]
        if here == 0 or here == n:
            continue
        for p in range(kinds):
            s = tables.needed[m, p, n - here]
            full = cost + s * price[g, p]
            if (mask >> p) & 1 and full < best and fits(tables, m, here, p, s, left, h):
                best = full
                spots[tried, 0], spots[tried, 1], spots[tried, 2] = h, p, s
    _find_most(workspace)
    for p in range(kinds):
        if best <= cost:
            break
        s = tables.needed[m, p, n]
        if not (mask >> p) & 1 or not _somewhere(tables, workspace, p, s):
            continue
        for h in range(count):
            full = cost + s * price[of[h], p]
            if full < best and fill[h] == 0 and fits(tables, m, 0, p, s, left, h):
                best = full
                spots[tried, 0], spots[tried, 1], spots[tried, 2] = h, p, s
    if best < limit:
        return best
    there = 0
    for h in range(count):
        there += window_units[h]
    for h in range(count):
        if window_units[h] == 0:  # without workers it was tried above
            continue
        others, most = there - window_units[h], min(n - 1, window_units[h])
        for p in range(kinds):
            if not (mask >> p) & 1:
                continue
            if not fits(tables, m, 0, p, tables.needed[m, p, n - most], left, h):
                continue
            for here in range(most, -1, -1):
                s = tables.needed[m, p, n - here]
                ps = s * price[of[h], p]
                if others < n - here or cost + ps >= best:
                    break
                if not fits(tables, m, here, p, s, left, h):
                    continue
                rest = here * unit[of[h]] + ps
                full = _fill(tables, workspace, n - here, n, h, best - rest) + rest
                if full < best:
                    best = full
                    fill[h] = here
                    spots[tried, 0], spots[tried, 1], spots[tried, 2] = h, p, s
                    for x in range(count):
                        outs[tried, x] = fill[x]
                break
    return best
