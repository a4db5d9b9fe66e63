"""Compiled kernels of the oracle; arrays as `oracle.PricedServers` describes them."""

from __future__ import annotations

from typing import cast

import numpy as np

from optsched.families.completion.oracle.ties import (
    TIE,
    UP_TO_DURATION,
    UP_TO_PS,
    UP_TO_TYPES,
    WHOLE,
    loses,
    rank,
)
from optsched.families.completion.oracle.worker_costs import comes_first, line_up, units_of
from optsched.numbers.arrays import Floats, Ints, Small
from optsched.numbers.kernels import kernel

# limits of the value: so much above the least bound, from one to the next; then there is none
FIRST_SHARE, GROWTH, MOST_SHARE = 0.005, 1.5, 0.5
LAST = 2**63 - 1  # completion of no schedule
ZERO, NOBODY = (cast(int, np.int64(x)) for x in (0, -1))  # no literals, as in `tie_kernels`


@kernel
def _fits(
    free: Ints, level: int, a: int, b: int, h: int, e: Ints, m: int, n: int, z: Ints, p: int, s: int
) -> bool:
    """Whether n workers and s PS fit on server h throughout the window."""
    for r in range(e.shape[1]):
        load = n * e[m, r] + s * z[p, r]
        if load > free[level, a, h, r] or load > free[level, b, h, r]:
            return False
    return True


@kernel
def _printed(
    n: int,
    host: int,
    unit: Floats,
    order: Ints,
    free: Ints,
    level: int,
    a: int,
    b: int,
    room: Ints,
    e: Ints,
    m: int,
    z: Ints,
    p: int,
    needed: Ints,
    workers: Ints,
) -> int:
    """Lines 10-24 of Algorithm 4 for one PS host; return its PS, 0 if that is infeasible."""
    for h in range(order.size):  # by price, equal ones by index
        i = h
        while i > 0 and unit[order[i - 1]] > unit[h]:
            order[i] = order[i - 1]
            i -= 1
        order[i] = h
        workers[h] = 0
    left, servers = n, 0
    for i in range(order.size):
        k = order[i]
        take = min(room[k], left)
        if k == host:
            for g in range(take + 1):
                # as many PS as fit beside g workers, and enough for the workers elsewhere
                want = needed[m, p, n - g] if g < n else 0
                if _fits(free, level, a, b, k, e, m, g, z, p, want):
                    workers[k] = g
                    servers = want
            if servers == 0:
                workers[k] = take
        else:
            workers[k] = take
        left -= workers[k]
    return servers if left == 0 else 0


@kernel
def _least_bound(
    worker_type: Ints,
    workers: Ints,
    duration: Ints,
    arrival: int,
    weight: float,
    ending: int,
    least: Floats,
    first: Ints,
    last: Ints,
) -> float:
    """Return the least value that any mode and completion may have: all workers the cheapest."""
    slots, best = least.shape[1] - 1, np.inf
    for c in range(arrival + duration[0], ending + 1):
        if weight * c >= best:
            break
        b = min(c, slots)
        for k in range(duration.size):
            t = c - duration[k]
            if t < arrival:
                break
            if first.size and (t < first[k] or t > last[k]):
                continue
            m = worker_type[k]
            value = weight * c + workers[k] * (least[m, b] - least[m, min(t, slots)])
            if value < best:
                best = value
    return best


@kernel
def cheapest(
    worker_type: Ints,
    together: Ints,
    workers: Ints,
    duration: Ints,
    mask: Ints,
    arrival: int,
    weight: float,
    deadline: int,
    cutoff: float,
    at_once: bool,
    worker_cost: Floats,
    ps_cost: Floats,
    least: Floats,
    free: Ints,
    room: Small,
    total: Ints,
    top: Ints,
    count: Ints,
    e: Ints,
    z: Ints,
    needed: Ints,
    ring: bool,
    printed: Ints | None,
    first: Ints,
    last: Ints,
) -> tuple[float, float, Ints]:
    """Return (value, cost, [mode, PS type, start, host, workers on the host]); mode -1: none.

    What is just above the least bound is looked at first, since little else is then worth a look;
    unless all is to be looked at ``at_once``. ``printed`` (H,) is room for Algorithm 4 as it is
    printed; what is for that alone is not even compiled where it is None.
    """
    modes, classes, slots = duration.size, count.size, worker_cost.shape[1] - 1
    ending = min(deadline, max(arrival, slots) + duration[modes - 1])
    if free.shape[1] > 1:  # behind the last price too, servers may be free later only
        ending = max(ending, min(deadline, free.shape[1]))
    most = 1
    for k in range(modes):
        most = max(most, workers[k])
        if first.size:  # windows of starts may lie later than the prices
            ending = max(ending, min(deadline, max(first[k], slots) + duration[k]))
    bound = 0.0
    if weight > 0.0 and not at_once:  # without weight the bound takes longer than it saves
        bound = _least_bound(
            worker_type, workers, duration, arrival, weight, ending, least, first, last
        )  # fmt: skip
    constant, kinds = free.shape[1] == 1, max(1, z.shape[0])
    rooms, capped = np.empty(classes, np.int64), np.empty(classes, np.int64)
    ahead, order, length = np.empty(classes, np.int64), np.empty(classes, np.int64), 0
    vector, other = np.empty(classes, np.int64), np.empty(classes, np.int64)
    unit, unit_ps = np.empty(classes), np.empty((kinds, classes))
    low_ps = np.empty(kinds)  # of the window at hand; -1: not known yet
    costs = np.empty(2 * most + 1)
    found, key, fresh = np.empty(5, np.int64), np.empty(8, np.int64), np.empty(8, np.int64)
    share = FIRST_SHARE
    while True:
        limit = cutoff
        if bound > 0.0 and share <= MOST_SHARE and bound * (1 + share) < cutoff:
            limit = bound * (1 + share)
        value, paid = limit, limit
        found[0] = -1
        for i in range(8):
            key[i] = LAST
        for c in range(arrival + duration[0], ending + 1):
            if weight * c >= value * (1 + TIE) or (paid == 0.0 and weight == 0.0 and c > key[0]):
                break
            here = weight * c
            now_m, now_d, low, high = -1, -1, 0.0, 0
            level, la, lb = 0, 0, 0
            for k in range(modes):
                d, m, n = duration[k], worker_type[k], workers[k]
                t = c - d
                if t < arrival:
                    break
                if first.size and (t < first[k] or t > last[k]):
                    continue
                a, b = min(t, slots), min(c, slots)
                if here + n * (least[m, b] - least[m, a]) > value * (1 + TIE):
                    continue
                if not constant:
                    level = 0
                    while 2 << level <= d:
                        level += 1
                    la, lb = t, c - (1 << level)
                if total[level, la, m] < n or total[level, lb, m] < n:
                    continue
                if together[k] == 1 and (top[level, la, m] < n or top[level, lb, m] < n):
                    continue
                if m != now_m or d != now_d:
                    low = units_of(worker_cost, m, t, c, unit)
                    now_m, now_d, high = m, d, -1
                    for p in range(kinds):
                        low_ps[p] = -1.0
                if here + n * low > value * (1 + TIE):
                    continue
                if high < 0:
                    high = 0
                    room_a, room_b = room[level, la, m], room[level, lb, m]
                    for h in range(classes):
                        rooms[h] = min(most, min(room_a[h], room_b[h]))
                        high = max(high, rooms[h])
                if together[k] == 1 and high < n:
                    continue
                fresh[0], fresh[1], fresh[2], fresh[3], fresh[5] = c, n, 1 - together[k], m, d
                there = 0
                if together[k] == 0:
                    for h in range(classes):
                        capped[h] = min(rooms[h], n - 1 if ring else n)
                        there += capped[h] * count[h]
                    if there < n:
                        continue
                    limit_apart = value * (1 + 2 * TIE) - here
                    length = line_up(
                        n, 0 if ring else n, limit_apart, unit, capped, count, order, costs, ahead
                    )
                    if length < 0:
                        continue
                    fresh[4] = 0
                    if loses(here + costs[n], value, fresh, key, UP_TO_TYPES):
                        continue
                for p in range(kinds):
                    if not (mask[k] >> p) & 1:
                        continue
                    fresh[4] = p
                    if ring and together[k] == 0:
                        fresh[6], fresh[7] = 0, 0
                        if rank(here + costs[n], value, fresh, key, UP_TO_DURATION) < 0:
                            value, paid = here + costs[n], costs[n]
                            _keep(fresh, key, found, k, p, t, NOBODY, ZERO)
                        continue
                    if not ring and low_ps[p] < 0.0:
                        low_ps[p] = units_of(ps_cost, p, t, c, unit_ps[p])
                    if together[k] == 1:
                        s = 0 if ring else needed[m, p, 0]
                        least_ps = 0.0 if ring else s * low_ps[p]
                        if loses(here + n * low + least_ps, value, fresh, key, UP_TO_TYPES):
                            continue
                        for h in range(classes):
                            if rooms[h] < n:
                                continue
                            cost = n * unit[h] + (0.0 if ring else s * unit_ps[p, h])
                            fresh[6], fresh[7] = s, h
                            if here + cost > value * (1 + TIE):
                                continue
                            if rank(here + cost, value, fresh, key, WHOLE) >= 0:
                                continue
                            if not ring and not _fits(free, level, la, lb, h, e, m, n, z, p, s):
                                continue
                            value, paid = here + cost, cost
                            _keep(fresh, key, found, k, p, t, h, n)
                        continue
                    for h in range(classes):
                        if printed is not None:
                            s = _printed(
                                n, h, unit, printed, free, level, la, lb, capped,
                                e, m, z, p, needed, vector,
                            )  # fmt: skip
                            if s == 0:
                                continue
                            cost = s * unit_ps[p, h]
                            for i in range(classes):
                                cost += vector[i] * unit[i]
                            fresh[6], fresh[7] = s, h
                            if rank(here + cost, value, fresh, key, WHOLE) < 0:
                                value, paid = here + cost, cost
                                _keep(fresh, key, found, k, p, t, h, vector[h])
                            continue
                        for g in range(min(n - 1, capped[h]), -1, -1):
                            if there - capped[h] < n - g:
                                break
                            s = needed[m, p, n - g]
                            # the cheapest conceivable: all workers at the lowest prices
                            lower = here + costs[n] + s * unit_ps[p, h]
                            if lower > value * (1 + TIE):
                                break
                            fresh[6], fresh[7] = s, 0
                            if loses(lower, value, fresh, key, UP_TO_PS):
                                break  # fewer workers on the host need no fewer PS
                            rest = costs[n - g]  # of workers that are not on this server
                            if n - g > ahead[h] - capped[h]:
                                rest = costs[n - g + capped[h]] - capped[h] * unit[h]
                            cost = g * unit[h] + s * unit_ps[p, h] + rest
                            place = rank(here + cost, value, fresh, key, UP_TO_PS)
                            if place > 0 or not _fits(free, level, la, lb, h, e, m, g, z, p, s):
                                continue
                            # equal so far: who has more workers, then PS, on low servers
                            if place == 0 and not comes_first(
                                *(n, h, g, found[3], found[4], length),
                                *(order, capped, count, vector, other),
                            ):
                                continue
                            value, paid = here + cost, cost
                            _keep(fresh, key, found, k, p, t, h, g)
        # nothing equal to it may be above the limit
        if limit == cutoff or (found[0] >= 0 and value <= limit * (1 - 2 * TIE)):
            break
        share *= GROWTH
    if found[0] < 0:
        return np.inf, np.inf, found
    return value, paid, found


@kernel
def _keep(
    fresh: Ints, key: Ints, found: Ints, k: int, p: int, start: int, host: int, at_host: int
) -> None:
    """Note the best schedule so far, and its key."""
    for i in range(key.size):
        key[i] = fresh[i]
    found[0], found[1], found[2], found[3], found[4] = k, p, start, host, at_host


@kernel
def fill(
    m: int,
    n: int,
    left: int,
    start: int,
    duration: int,
    host: int,
    worker_cost: Floats,
    room: Small,
    count: Ints,
    ring: bool,
    workers: Ints,
) -> None:
    """Put the workers that are not on the host of the PS, of n in all, on the cheapest servers."""
    last = worker_cost.shape[1] - 1
    before = worker_cost[m, min(start, last)]
    after = worker_cost[m, min(start + duration, last)]
    level, a, b = 0, 0, 0
    if room.shape[1] > 1:  # of two windows of a power of two slots
        while 2 << level <= duration:
            level += 1
        a, b = start, start + duration - (1 << level)
    taken = np.empty(count.size, np.int64)
    for h in range(count.size):
        taken[h] = 0
    while left > 0:
        best, low = -1, np.inf
        for h in range(count.size):
            if taken[h] == 0 and after[h] - before[h] < low:
                best, low = h, after[h] - before[h]
        if best < 0:
            return
        taken[best] = 1
        most = min(room[level, a, m, best], room[level, b, m, best])
        units = min(most, n - 1 if ring else n) * (count[best] - (1 if best == host else 0))
        workers[best] += min(left, units)
        left -= min(left, units)
