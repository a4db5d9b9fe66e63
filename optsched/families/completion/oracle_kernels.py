"""Compiled kernels of the oracle; arrays as `oracle.PricedServers` describes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.families.completion.tie_kernels import (
    TIE,
    is_better,
    is_equal,
    loses,
    lower_first,
)
from optsched.families.completion.worker_cost_kernels import (
    fill,
    rooms_of,
    select,
    spread_out,
    units_of,
    without,
)
from optsched.kernels import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Small = NDArray[np.int16]

# limits of the value: so much above the least bound, from one to the next; then there is none
FIRST_SHARE, GROWTH, MOST_SHARE = 0.005, 1.5, 0.5


@kernel
def _fits(free: Ints, level: int, a: int, b: int, h: int, e: Ints, n: int, z: Ints, s: int) -> bool:
    """Whether n workers and s PS fit on server h throughout the window."""
    for r in range(e.size):
        if n * e[r] + s * z[r] > min(free[level, a, h, r], free[level, b, h, r]):
            return False
    return True


@kernel
def _printed(
    n: int,
    host: int,
    order: Ints,
    free: Ints,
    level: int,
    a: int,
    b: int,
    room: Ints,
    e: Ints,
    z: Ints,
    needed: Ints,
    workers: Ints,
) -> int:
    """Lines 10-24 of Algorithm 4 for one PS host; return its PS, 0 if that is infeasible."""
    workers[:] = 0
    left, servers = n, 0
    for i in range(order.size):
        k = order[i]
        take = min(room[k], left)
        if k == host:
            for g in range(take + 1):
                # as many PS as fit beside g workers, and enough for the workers elsewhere
                want = needed[n - g] if g < n else 0
                if _fits(free, level, a, b, k, e, g, z, want):
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
            best = min(best, weight * c + workers[k] * (least[m, b] - least[m, min(t, slots)]))
    return best


@kernel
def cheapest_below(
    worker_type: Ints,
    together: Ints,
    workers: Ints,
    duration: Ints,
    mask: Ints,
    arrival: int,
    weight: float,
    ending: int,
    cutoff: float,
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
    printed: bool,
    first: Ints,
    last: Ints,
) -> tuple[float, float, Ints]:
    """Return what `cheapest` does; completions up to ``ending``, values up to ``cutoff``."""
    modes, classes, slots = duration.size, count.size, worker_cost.shape[1] - 1
    most = 1
    for k in range(modes):
        most = max(most, workers[k])
    constant, kinds = free.shape[1] == 1, max(1, z.shape[0])
    rooms, capped = np.empty(classes, np.int64), np.empty(classes, np.int64)
    ahead, order, length = np.empty(classes, np.int64), np.empty(classes, np.int64), 0
    taken = np.empty(classes, np.bool_)
    unit, unit_ps = np.empty(classes), np.empty((kinds, classes))
    low_ps = np.full(kinds, -1.0)  # of the window at hand, once it is known
    costs = np.empty(2 * most + 1)
    vector, other = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    found = np.array([-1, 0, 0, 0, 0], np.int64)
    key = np.full(8, np.iinfo(np.int64).max)
    fresh = np.empty(8, np.int64)
    value, paid = cutoff, cutoff
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
            if min(total[level, la, m], total[level, lb, m]) < n:
                continue
            if together[k] == 1 and min(top[level, la, m], top[level, lb, m]) < n:
                continue
            if m != now_m or d != now_d:
                low = units_of(worker_cost[m], t, d, unit)
                now_m, now_d, high = m, d, -1
                low_ps[:] = -1.0
            if here + n * low > value * (1 + TIE):
                continue
            if high < 0:
                high = rooms_of(room, m, level, la, lb, most, rooms)
            if together[k] == 1 and high < n:
                continue
            fresh[0], fresh[1], fresh[2], fresh[3], fresh[5] = c, n, 1 - together[k], m, d
            if together[k] == 0:
                most_on_one = n - 1 if ring else n
                there = 0
                for h in range(classes):
                    capped[h] = min(rooms[h], most_on_one)
                    there += capped[h] * count[h]
                if there < n:
                    continue
                limit = value * (1 + 2 * TIE) - here
                length = select(n, 0 if ring else n, limit, unit, capped, count, taken, order)
                if length < 0:
                    continue
                spread_out(n, order[:length], unit, capped, count, costs, ahead)
                fresh[4] = 0
                if loses(here + costs[n], value, fresh, key, 5):
                    continue
            for p in range(kinds):
                if not (mask[k] >> p) & 1:
                    continue
                fresh[4] = p
                if ring and together[k] == 0:
                    fresh[6], fresh[7] = 0, 0
                    if is_better(here + costs[n], value, fresh, key, 6):
                        value, paid = here + costs[n], costs[n]
                        key[:] = fresh
                        found[:] = (k, p, t, -1, 0)
                    continue
                if not ring and low_ps[p] < 0.0:
                    low_ps[p] = units_of(ps_cost[p], t, d, unit_ps[p])
                if together[k] == 1:
                    s = 0 if ring else needed[m, p, 0]
                    least_ps = 0.0 if ring else s * low_ps[p]
                    if loses(here + n * low + least_ps, value, fresh, key, 5):
                        continue
                    for h in range(classes):
                        if rooms[h] < n:
                            continue
                        cost = n * unit[h] + (0.0 if ring else s * unit_ps[p, h])
                        fresh[6], fresh[7] = s, h
                        if here + cost > value * (1 + TIE):
                            continue
                        if not is_better(here + cost, value, fresh, key, 8):
                            continue
                        if not ring and not _fits(free, level, la, lb, h, e[m], n, z[p], s):
                            continue
                        value, paid = here + cost, cost
                        key[:] = fresh
                        found[:] = (k, p, t, h, n)
                    continue
                for h in range(classes):
                    if printed:
                        s = _printed(
                            n, h, np.argsort(unit, kind="mergesort"), free, level, la, lb, capped,
                            e[m], z[p], needed[m, p], vector,
                        )  # fmt: skip
                        if s == 0:
                            continue
                        cost = s * unit_ps[p, h]
                        for i in range(classes):
                            cost += vector[i] * unit[i]
                        fresh[6], fresh[7] = s, h
                        if is_better(here + cost, value, fresh, key, 8):
                            value, paid = here + cost, cost
                            key[:] = fresh
                            found[:] = (k, p, t, h, vector[h])
                        continue
                    most_here = min(n - 1, capped[h])
                    for g in range(most_here, -1, -1):
                        if there - capped[h] < n - g:
                            break
                        s = needed[m, p, n - g]
                        # the cheapest conceivable: all workers at the lowest prices
                        lower = here + costs[n] + s * unit_ps[p, h]
                        if lower > value * (1 + TIE):
                            break
                        fresh[6], fresh[7] = s, 0
                        if loses(lower, value, fresh, key, 7):
                            break  # fewer workers on the host need no fewer PS
                        cost = (
                            g * unit[h]
                            + s * unit_ps[p, h]
                            + without(n - g, h, unit, capped, ahead, costs)
                        )
                        better = is_better(here + cost, value, fresh, key, 7)
                        # equal so far: who has more workers, then PS, on low servers
                        if not better and not is_equal(here + cost, value, fresh, key):
                            continue
                        if not _fits(free, level, la, lb, h, e[m], g, z[p], s):
                            continue
                        if not better:
                            vector[:] = 0
                            fill(n - g, h, order[:length], capped, count, vector)
                            vector[h] += g
                            other[:] = 0
                            fill(n - found[4], found[3], order[:length], capped, count, other)
                            other[found[3]] += found[4]
                            if lower_first(vector, other) < (1 if h >= found[3] else 0):
                                continue
                        value, paid = here + cost, cost
                        key[:] = fresh
                        found[:] = (k, p, t, h, g)
    if found[0] < 0:
        return np.inf, np.inf, found
    return value, paid, found


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
    printed: bool,
    first: Ints,
    last: Ints,
) -> tuple[float, float, Ints]:
    """Return (value, cost, [mode, PS type, start, host, workers on the host]); mode -1: none."""
    modes, slots = duration.size, worker_cost.shape[1] - 1
    ending = min(deadline, max(arrival, slots) + duration[modes - 1])
    if free.shape[1] > 1:  # behind the last price too, servers may be free later only
        ending = max(ending, min(deadline, free.shape[1]))
    if first.size:  # windows of starts may lie later than the prices
        for k in range(modes):
            ending = max(ending, min(deadline, max(first[k], slots) + duration[k]))
    low = 0.0
    if weight > 0.0:  # else all windows count, and the bound takes longer than it saves
        low = _least_bound(
            worker_type, workers, duration, arrival, weight, ending, least, first, last
        )  # fmt: skip
    # what is just above the bound is looked at first: little else is then worth a look
    share = FIRST_SHARE
    while True:
        limit = cutoff
        if low > 0.0 and share <= MOST_SHARE and low * (1 + share) < cutoff:
            limit = low * (1 + share)
        value, paid, found = cheapest_below(
            worker_type, together, workers, duration, mask, arrival, weight, ending, limit,
            worker_cost, ps_cost, least, free, room, total, top, count, e, z, needed,
            ring, printed, first, last,
        )  # fmt: skip
        # nothing equal to it may be above the limit
        if limit == cutoff or value <= limit * (1 - 2 * TIE):
            return value, paid, found
        share *= GROWTH


@kernel
def place(
    m: int,
    p: int,
    n: int,
    start: int,
    duration: int,
    host: int,
    at_host: int,
    worker_cost: Floats,
    room: Small,
    count: Ints,
    needed: Ints,
    ring: bool,
) -> tuple[Ints, Ints]:
    """Return workers and PS on every server (class) of a schedule that `cheapest` found."""
    classes = count.size
    workers, servers = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    if at_host == n:  # together
        workers[host] = n
        servers[host] = 0 if ring else needed[m, p, 0]
        return workers, servers
    rooms, unit = np.empty(classes, np.int64), np.empty(classes)
    level, a, b = 0, 0, 0
    if room.shape[1] > 1:
        while 2 << level <= duration:
            level += 1
        a, b = start, start + duration - (1 << level)
    units_of(worker_cost[m], start, duration, unit)
    rooms_of(room, m, level, a, b, n - 1 if ring else n, rooms)
    order = np.argsort(unit, kind="mergesort")
    fill(n - at_host, host, order, rooms, count, workers)
    if host >= 0:
        workers[host] += at_host
        servers[host] = needed[m, p, n - at_host]
    return workers, servers
