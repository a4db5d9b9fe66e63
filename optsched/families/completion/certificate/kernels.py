"""Compiled parts of the certificate's checker: integers only, shared with no oracle."""

from __future__ import annotations

from typing import cast

import numpy as np

from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

NONE = -1
NOBODY = cast(int, np.int64(-1))  # no class; no literal, for which a kernel is compiled anew


@kernel
def least_values(
    modes: Ints,  # (G, 5)
    limits: Ints,  # (5, 2): start, completion, worker type, workers, together
    arrival: int,
    weight: int,
    worker_cost: Ints,  # (M, L + 1, C) of one worker, up to a slot
    cheapest: Ints,  # (M, L + 1) of one that is where it is cheapest in every slot, and fits
    ps_cost: Ints,  # (P, L + 1, C)
    cheapest_ps: Ints,  # (P, L + 1)
    capacity: Ints,  # (C, R) of one server
    count: Ints,  # (C,)
    e: Ints,
    z: Ints,
    needed: Ints,
    ring: bool,
) -> int:
    """Return the least weight * completion + cost within the limits; -1 if there is no schedule."""
    classes = count.size
    slots = worker_cost.shape[1] - 1
    unit, room = np.empty(classes, np.int64), np.empty(classes, np.int64)
    best = NONE
    for sweep in range(2):  # the first only looks at what may well be best, to have a limit
        least = NONE
        for k in range(modes.shape[0]):
            d, m, n = modes[k, 0], modes[k, 1], modes[k, 4]
            p, q = modes[k, 2], modes[k, 3]
            if m < limits[2, 0] or m > limits[2, 1] or n < limits[3, 0] or n > limits[3, 1]:
                continue
            if q < limits[4, 0] or q > limits[4, 1]:
                continue
            first = max(arrival, max(limits[0, 0], limits[1, 0] - d))
            last = min(limits[0, 1], min(limits[1, 1] - d, max(first, slots)))
            if best >= 0 and weight * (first + d) >= best:
                continue
            if first > last:
                continue
            total, top = 0, 0  # workers that find room, and on one server
            for c in range(classes):
                room[c] = n
                for r in range(e.shape[1]):
                    if e[m, r] > 0:
                        room[c] = min(room[c], capacity[c, r] // e[m, r])
                total += room[c] * count[c]
                top = max(top, room[c])
            if total < n:
                continue
            # no fewer PS than these
            fewest = 0 if ring else needed[m, p, 0 if q == 1 else n - min(n - 1, top)]
            for t in range(first, last + 1):
                if best >= 0 and weight * (t + d) >= best:
                    break
                a, b = min(t, slots), min(t + d, slots)
                low = cheapest[m, b] - cheapest[m, a]
                floor = weight * (t + d) + n * low
                if not ring:
                    floor += fewest * (cheapest_ps[p, b] - cheapest_ps[p, a])
                if (best >= 0 and floor >= best) or (sweep == 0 and least >= 0 and floor >= least):
                    continue
                least = floor
                low = NONE
                for c in range(classes):
                    unit[c] = worker_cost[m, b, c] - worker_cost[m, a, c]
                    if room[c] > 0 and (low < 0 or unit[c] < low):
                        low = unit[c]
                if best >= 0 and weight * (t + d) + n * low >= best:
                    continue
                if q == 1:
                    cost = _together(
                        *(n, m, p, unit, room, a, b, ps_cost, capacity, e, z, needed, ring)
                    )
                elif ring:
                    cost = _cheapest(n, unit, room, count, NOBODY, n - 1)
                else:
                    limit = best - weight * (t + d) if best >= 0 else NONE
                    cost = _apart(
                        *(n, m, p, limit, unit, low, room, count, a, b, ps_cost),
                        *(capacity, e, z, needed),
                    )
                if cost >= 0 and (best < 0 or weight * (t + d) + cost < best):
                    best = weight * (t + d) + cost
    return best


@kernel
def _fits(capacity: Ints, c: int, n: int, e: Ints, s: int, z: Ints) -> bool:
    fits = True
    for r in range(e.size):
        fits &= n * e[r] + s * z[r] <= capacity[c, r]
    return fits


@kernel
def _cheapest(n: int, unit: Ints, room: Ints, count: Ints, skip: int, most: int) -> int:
    """Return the cost of n workers, ``most`` on a server, one of class ``skip`` left out."""
    cost, left = 0, n
    used = np.empty(unit.size, np.bool_)
    for c in range(unit.size):
        used[c] = False
    while left > 0:
        c = -1
        for k in range(unit.size):
            if not used[k] and (c < 0 or unit[k] < unit[c]):
                c = k
        if c < 0:
            return NONE
        used[c] = True
        take = min(left, min(room[c], most) * (count[c] - (1 if c == skip else 0)))
        cost += take * unit[c]
        left -= take
    return cost


@kernel
def _together(
    n: int,
    m: int,
    p: int,
    unit: Ints,
    room: Ints,
    a: int,
    b: int,
    ps_cost: Ints,
    capacity: Ints,
    e: Ints,
    z: Ints,
    needed: Ints,
    ring: bool,
) -> int:
    best = NONE
    for c in range(unit.size):
        if room[c] < n:
            continue
        cost = n * unit[c]
        if not ring:
            s = needed[m, p, 0]
            if not _fits(capacity, c, n, e[m], s, z[p]):
                continue
            cost += s * (ps_cost[p, b, c] - ps_cost[p, a, c])
        if best < 0 or cost < best:
            best = cost
    return best


@kernel
def _apart(
    n: int,
    m: int,
    p: int,
    limit: int,  # costs from it on are no use; -1: there is none
    unit: Ints,
    low: int,  # the least of these where there is room
    room: Ints,
    count: Ints,
    a: int,
    b: int,
    ps_cost: Ints,
    capacity: Ints,
    e: Ints,
    z: Ints,
    needed: Ints,
) -> int:
    best = NONE
    for c in range(unit.size):
        one = ps_cost[p, b, c] - ps_cost[p, a, c]
        for g in range(min(n - 1, room[c]) + 1):
            s = needed[m, p, n - g]
            if limit >= 0 and n * low + s * one >= limit:
                continue
            if not _fits(capacity, c, g, e[m], s, z[p]):
                continue
            rest = _cheapest(n - g, unit, room, count, c, n)
            if rest >= 0:
                cost = g * unit[c] + s * one + rest
                if limit < 0 or cost < limit:
                    best = limit = cost
    return best
