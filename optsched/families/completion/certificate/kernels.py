"""Compiled parts of the certificate's checker: integers only, shared with no oracle."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

NONE = cast(int, np.int64(-1))  # no literal, for which a kernel is compiled anew


class Platform(NamedTuple):
    """C classes of equal servers with R resources, M types of workers, P of PS; in units."""

    capacity: Ints  # (C, R) of one server
    servers: Ints  # (C,) how many
    e: Ints  # (M, R) of a worker
    z: Ints  # (P, R) of a PS
    needed: Ints  # (M, P, N) PS for workers elsewhere
    ring: bool


class Costs(NamedTuple):
    """What prices make of them, in units of 2**-grid: sums over the slots up to each, L slots."""

    worker: Ints  # (M, L + 1, C) of one worker
    cheapest: Ints  # (M, L + 1) of one that is where it is cheapest in every slot, and fits
    ps: Ints  # (P, L + 1, C)
    cheapest_ps: Ints  # (P, L + 1)


class Plan(NamedTuple):
    """Workers of a job at a time; the arrays are filled in by `least_value`."""

    n: int  # workers
    m: int  # their type
    p: int  # type of the PS
    start: int
    end: int
    unit: Ints  # (C,) cost of a worker on a server of each class
    room: Ints  # (C,) workers that one server holds


@kernel
def least_value(
    modes: Ints, limits: Ints, arrival: int, weight: int, platform: Platform, costs: Costs
) -> int:
    """Return the least weight * completion + cost within the limits; -1 if there is no schedule.

    Parameters
    ----------
    modes : shape (G, 5)
        Rows [duration, worker type, PS type, q, workers] of the job, by duration.
    limits : shape (5, 2)
        Least and most of start, completion, worker type, workers, together.
    weight : int
        In units of 2**-grid per slot.
    """
    classes, slots = platform.servers.size, costs.worker.shape[1] - 1
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
            if first > last or (best >= 0 and weight * (first + d) >= best):
                continue
            total, top = 0, 0  # workers that find room, and on one server
            for c in range(classes):
                room[c] = n
                for r in range(platform.e.shape[1]):
                    if platform.e[m, r] > 0:
                        room[c] = min(room[c], platform.capacity[c, r] // platform.e[m, r])
                total += room[c] * platform.servers[c]
                top = max(top, room[c])
            if total < n:
                continue
            # no fewer PS than these
            few = 0 if q == 1 else n - min(n - 1, top)
            fewest = 0 if platform.ring else platform.needed[m, p, few]
            for t in range(first, last + 1):
                paid = weight * (t + d)
                if best >= 0 and paid >= best:
                    break
                a, b = min(t, slots), min(t + d, slots)
                low = costs.cheapest[m, b] - costs.cheapest[m, a]
                floor = paid + n * low
                if not platform.ring:
                    floor += fewest * (costs.cheapest_ps[p, b] - costs.cheapest_ps[p, a])
                if (best >= 0 and floor >= best) or (sweep == 0 and least >= 0 and floor >= least):
                    continue
                least = floor
                low = NONE
                for c in range(classes):
                    unit[c] = costs.worker[m, b, c] - costs.worker[m, a, c]
                    if room[c] > 0 and (low < 0 or unit[c] < low):
                        low = unit[c]
                if best >= 0 and paid + n * low >= best:
                    continue
                plan = Plan(n, m, p, a, b, unit, room)
                if q == 1:
                    cost = _together(plan, platform, costs)
                elif platform.ring:
                    cost = _cheapest(n, plan, platform.servers, NONE, n - 1)
                else:
                    limit = best - paid if best >= 0 else NONE
                    cost = _apart(plan, platform, costs, low, limit)
                if cost >= 0 and (best < 0 or paid + cost < best):
                    best = paid + cost
    return best


@kernel
def _fits(platform: Platform, plan: Plan, c: int, n: int, s: int) -> bool:
    """Whether n workers and s PS fit on one server of class c."""
    fits = True
    for r in range(platform.e.shape[1]):
        load = n * platform.e[plan.m, r] + s * platform.z[plan.p, r]
        fits &= load <= platform.capacity[c, r]
    return fits


@kernel
def _cheapest(n: int, plan: Plan, count: Ints, skip: int, most: int) -> int:
    """Return the cost of n workers, ``most`` on a server, one of class ``skip`` left out."""
    cost, left = 0, n
    used = np.empty(count.size, np.bool_)
    for c in range(count.size):
        used[c] = False
    while left > 0:
        c = -1
        for k in range(count.size):
            if not used[k] and (c < 0 or plan.unit[k] < plan.unit[c]):
                c = k
        if c < 0:
            return NONE
        used[c] = True
        take = min(left, min(plan.room[c], most) * (count[c] - (1 if c == skip else 0)))
        cost += take * plan.unit[c]
        left -= take
    return cost


@kernel
def _together(plan: Plan, platform: Platform, costs: Costs) -> int:
    """Return the least cost of all workers and PS on one server, -1 if there is no room."""
    best, n, p = NONE, plan.n, plan.p
    for c in range(plan.unit.size):
        if plan.room[c] < n:
            continue
        cost = n * plan.unit[c]
        if not platform.ring:
            s = platform.needed[plan.m, p, 0]
            if not _fits(platform, plan, c, n, s):
                continue
            cost += s * (costs.ps[p, plan.end, c] - costs.ps[p, plan.start, c])
        if best < 0 or cost < best:
            best = cost
    return best


@kernel
def _apart(plan: Plan, platform: Platform, costs: Costs, low: int, limit: int) -> int:
    """Return the least cost of workers on several servers, all PS on one, -1 if there is none.

    ``low`` is the least cost of a worker where there is room; costs from ``limit`` on are no use,
    -1: there is none.
    """
    best, n, p = NONE, plan.n, plan.p
    for c in range(plan.unit.size):
        one = costs.ps[p, plan.end, c] - costs.ps[p, plan.start, c]
        for g in range(min(n - 1, plan.room[c]) + 1):  # workers beside the PS
            s = platform.needed[plan.m, p, n - g]
            if limit >= 0 and n * low + s * one >= limit:
                continue
            if not _fits(platform, plan, c, g, s):
                continue
            rest = _cheapest(n - g, plan, platform.servers, c, n)
            if rest >= 0:
                cost = g * plan.unit[c] + s * one + rest
                if limit < 0 or cost < limit:
                    best = limit = cost
    return best
