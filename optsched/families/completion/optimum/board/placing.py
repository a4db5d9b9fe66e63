"""Compiled search for the cheapest servers of a job in a window of slots."""

from __future__ import annotations

import numpy as np

from optsched.families.completion.optimum.board.notes import Notes
from optsched.families.completion.optimum.board.plans import Tables
from optsched.families.completion.optimum.board.servers import Servers
from optsched.families.completion.optimum.board.windows import find_left, fits, price_of
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.slots import plain_int


@kernel(nogil=True)
def on_one(
    tables: Tables,
    servers: Servers,
    notes: Notes,
    k: int,
    begin: int,
    end: int,
    factor: float,
    limit: float,
    tried: int,
) -> float:
    """Find the cheapest server for a whole job; return its cost, ``limit`` if that is not less.

    The notes are about the window; what is found goes into ``notes.spots`` and ``notes.outs``, into
    row ``tried``.
    """
    m, n = tables.type_of[k], tables.workers[k]
    rooms, left, spot, out = notes.rooms, notes.left, notes.spots[tried], notes.outs[tried]
    best, chosen = limit, plain_int(-1)
    for h in range(rooms.size):
        out[h] = 0
        if rooms[h] < n:
            continue
        g = tables.class_of[h]
        cost = factor * n * price_of(tables.worker_cost[m], begin, end, g)
        if cost >= best:
            continue
        if tables.ring:
            best, chosen = cost, h
            spot[0], spot[1], spot[2] = -1, 0, 0
            continue
        find_left(servers, h, begin, notes)
        for p in range(tables.z.shape[0]):
            if not (tables.mask[k] >> p) & 1:
                continue
            s = tables.needed[m, p, 0]
            full = cost + factor * s * price_of(tables.ps_cost[p], begin, end, g)
            if full < best and fits(tables, m, n, p, s, left[h]):
                best, chosen = full, h
                spot[0], spot[1], spot[2] = h, p, s
    if chosen >= 0:
        out[chosen] = n
    return best


@kernel(nogil=True)
def _fill(
    tables: Tables, notes: Notes, number: int, n: int, most: int, skip: int, out: Ints
) -> int:
    """Put n workers on the open servers, on cheap classes first, at most ``most`` on each.

    Return how many are left; ``out`` (H,) are the workers on each server.
    """
    of, opened, rooms, ranks = tables.class_of, notes.open, notes.rooms, notes.ranks
    for h in range(out.size):
        out[h] = 0
    for g in ranks:
        for y in range(number):
            h = opened[y]
            if of[h] == g and h != skip:
                out[h] = min(n, min(rooms[h], most))
                n -= out[h]
        if n == 0:
            break
    return n


@kernel(nogil=True)
def on_many(
    tables: Tables,
    servers: Servers,
    notes: Notes,
    k: int,
    begin: int,
    end: int,
    factor: float,
    limit: float,
    number: int,
    tried: int,
) -> float:
    """Find servers for workers and PS; return their cost, ``limit`` if that is not less.

    The arguments are those of `on_one`; so many servers are open.
    """
    m, n, kinds = tables.type_of[k], tables.workers[k], tables.z.shape[0]
    classes = tables.worker_cost.shape[2]
    rooms, left, spot, out = notes.rooms, notes.left, notes.spots[tried], notes.outs[tried]
    unit, ranks, price, fill = notes.unit, notes.ranks, notes.rent, notes.fill
    least, known, of = notes.least, notes.known, tables.class_of
    for g in range(classes):
        unit[g] = factor * price_of(tables.worker_cost[m], begin, end, g)
        x = g
        while x > 0 and unit[ranks[x - 1]] > unit[g]:
            ranks[x] = ranks[x - 1]
            x -= 1
        ranks[x] = g
    # the literal has a kernel of its own, without the server to skip: a tenth of the time in rings
    if _fill(tables, notes, number, n, n - 1 if tables.ring else n, -1, out) > 0:
        return limit
    cost = _sum(out, unit, of)
    if tables.ring or cost >= limit:
        spot[0], spot[1], spot[2] = -1, 0, 0
        return min(cost, limit)
    for g in range(classes):
        least[g] = np.inf
        for p in range(kinds):
            price[g, p] = factor * price_of(tables.ps_cost[p], begin, end, g)
            if (tables.mask[k] >> p) & 1:
                least[g] = min(least[g], cost + tables.needed[m, p, n] * price[g, p])
    for h in range(rooms.size):
        known[h] = 0
    best = limit
    for turn in range(2):  # hosts of workers need the fewest PS
        for h in range(rooms.size):
            if (out[h] > 0) != (turn == 0) or out[h] == n:
                continue
            if best <= cost:
                break
            if turn == 1 and least[of[h]] >= best:
                continue
            for p in range(kinds):
                s = tables.needed[m, p, n - out[h]]
                full = cost + s * price[of[h], p]
                if not (tables.mask[k] >> p) & 1 or full >= best:
                    continue
                if known[h] == 0:
                    find_left(servers, h, begin, notes)
                    known[h] = 1
                if fits(tables, m, out[h], p, s, left[h]):
                    best = full
                    spot[0], spot[1], spot[2] = h, p, s
    if best < limit:
        return best
    there = 0
    for h in range(rooms.size):
        there += rooms[h]
    for h in range(rooms.size):
        if rooms[h] == 0:  # without workers it was tried above
            continue
        others, most = there - rooms[h], min(n - 1, rooms[h])
        if known[h] == 0:
            find_left(servers, h, begin, notes)
        for p in range(kinds):
            if not (tables.mask[k] >> p) & 1:
                continue
            if not fits(tables, m, 0, p, tables.needed[m, p, n - most], left[h]):
                continue
            for g in range(most, -1, -1):
                s = tables.needed[m, p, n - g]
                ps = s * price[of[h], p]
                if others < n - g or cost + ps >= best:
                    break
                if not fits(tables, m, g, p, s, left[h]):
                    continue
                _fill(tables, notes, number, n - g, n, h, fill)
                fill[h] = g
                full = _sum(fill, unit, of) + ps
                if full < best:
                    best = full
                    spot[0], spot[1], spot[2] = h, p, s
                    for x in range(out.size):
                        out[x] = fill[x]
                break
    return best


@kernel(nogil=True)
def _sum(out: Ints, unit: Floats, of: Ints) -> float:
    """Return the cost of workers ``out`` (H,) at ``unit`` (C,) each, ``of`` (H,) these classes."""
    cost = 0.0
    for h in range(out.size):
        cost += out[h] * unit[of[h]]
    return cost
