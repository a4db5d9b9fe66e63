"""Compiled parts of the certificate's checker: integers only, shared with no oracle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.kernels import kernel

Ints = NDArray[np.int64]

NONE = -1


@kernel
def modes_of(durations: Ints, ring: bool) -> Ints:
    """Return the rows [duration, worker type, PS type, q, workers] of a job, by duration.

    ``durations`` (M, P, 2, D) holds the least duration for every number of workers. A number counts
    if no smaller one is as quick; in a ring, two servers need two workers.
    """
    types, kinds, _, most = durations.shape
    rows = np.empty((durations.size, 5), np.int64)
    found = 0
    for m in range(types):
        for p in range(kinds):
            for q in range(2):
                quickest = -1
                for n in range(2 if ring and q == 0 else 1, most + 1):
                    d = durations[m, p, q, n - 1]
                    if quickest < 0 or d < quickest:
                        quickest = d
                        rows[found] = (d, m, p, q, n)
                        found += 1
    rows = rows[:found]
    return rows[np.argsort(rows[:, 0], kind="mergesort")]


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
            d, m, p, q, n = modes[k]
            if not (limits[2, 0] <= m <= limits[2, 1] and limits[3, 0] <= n <= limits[3, 1]):
                continue
            if not limits[4, 0] <= q <= limits[4, 1]:
                continue
            first = max(arrival, limits[0, 0], limits[1, 0] - d)
            last = min(limits[0, 1], limits[1, 1] - d, max(first, slots))
            if best >= 0 and weight * (first + d) >= best:
                continue
            if first > last or not _rooms(capacity, e[m], n, count, room):
                continue
            # no fewer PS than these
            fewest = 0 if ring else needed[m, p, 0 if q == 1 else n - min(n - 1, room.max())]
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
                if ring:
                    cost = _ring(n, q == 1, unit, room, count)
                elif q == 1:
                    cost = _together(n, m, p, unit, room, a, b, ps_cost, capacity, e, z, needed)
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
def _rooms(capacity: Ints, demand: Ints, most: int, count: Ints, room: Ints) -> bool:
    """Fill ``room`` with the workers that one server of each class holds; whether all find room."""
    total = 0
    for c in range(room.size):
        room[c] = most
        for r in range(demand.size):
            if demand[r] > 0:
                room[c] = min(room[c], capacity[c, r] // demand[r])
        total += room[c] * count[c]
    return total >= most


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
    used = np.zeros(unit.size, np.bool_)
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
def _ring(n: int, together: bool, unit: Ints, room: Ints, count: Ints) -> int:
    if not together:
        return _cheapest(n, unit, room, count, -1, n - 1)
    best = NONE
    for c in range(unit.size):
        if room[c] >= n and (best < 0 or n * unit[c] < best):
            best = n * unit[c]
    return best


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
) -> int:
    best, s = NONE, needed[m, p, 0]
    for c in range(unit.size):
        if room[c] >= n and _fits(capacity, c, n, e[m], s, z[p]):
            cost = n * unit[c] + s * (ps_cost[p, b, c] - ps_cost[p, a, c])
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
