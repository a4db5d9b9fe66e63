"""Compiled kernels of the oracle; arrays as `oracle.PricedServers` describes them."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Small = NDArray[np.int16]
Bools = NDArray[np.bool_]

TIE = 1e-9
FAR = 2**60
# limits of the value: so much above the least bound, from one to the next; then there is none
FIRST_SHARE, GROWTH, MOST_SHARE = 0.005, 1.5, 0.5


@njit(cache=True)
def _rooms(room: Small, m: int, level: int, a: int, b: int, most: int, out: Ints) -> int:
    """Fill ``out`` (H,) with how many workers fit on a server throughout; return the greatest."""
    first, second = room[level, a, m], room[level, b, m]
    top = 0
    for h in range(out.size):
        out[h] = min(first[h], second[h], most)
        top = max(top, out[h])
    return top


@njit(cache=True)
def _units(cost: Floats, start: int, duration: int, out: Floats) -> float:
    """Fill ``out`` (H,) with the cost of a window; return the least."""
    last = cost.shape[0] - 1
    a, b = min(start, last), min(start + duration, last)
    low = np.inf
    for h in range(out.size):
        out[h] = cost[b, h] - cost[a, h]
        low = min(low, out[h])
    return low


@njit(cache=True)
def _fits(free: Ints, level: int, a: int, b: int, h: int, e: Ints, n: int, z: Ints, s: int) -> bool:
    """Whether n workers and s PS fit on server h throughout the window."""
    for r in range(e.size):
        if n * e[r] + s * z[r] > min(free[level, a, h, r], free[level, b, h, r]):
            return False
    return True


@njit(cache=True)
def _select(
    n: int,
    more: int,
    limit: float,
    unit: Floats,
    room: Ints,
    count: Ints,
    taken: Bools,
    order: Ints,
) -> int:
    """Put the cheapest servers with room first in ``order`` until n + ``more`` workers fit.

    Return how many servers that takes; -1 once the cheapest n must cost more than ``limit``.
    """
    taken[:] = False
    length, cost = 0, 0.0
    while n + more > 0:
        best = -1
        for h in range(unit.size):
            if not taken[h] and room[h] > 0 and (best < 0 or unit[h] < unit[best]):
                best = h
        if best < 0:
            break
        if cost + n * unit[best] > limit:
            return -1
        taken[best] = True
        order[length] = best
        length += 1
        units = room[best] * count[best]
        cost += min(units, n) * unit[best]
        more -= max(0, units - n)
        n = max(0, n - units)
    return length


@njit(cache=True)
def _spread(
    n: int, order: Ints, unit: Floats, room: Ints, count: Ints, costs: Floats, ahead: Ints
) -> None:
    """Prepare the cheapest units: costs[x] of x of them, ahead[h] units before class h ends.

    ``costs`` is filled as far as twice n; classes that are not in ``order`` are dearer than that.
    """
    ahead[:] = FAR
    reach = min(2 * n, costs.size - 1)
    have = 0
    total = 0
    costs[0] = 0.0
    for i in range(order.size):
        h = order[i]
        units = room[h] * count[h]
        total += units
        ahead[h] = total
        step = unit[h]
        stop = min(reach, total)
        while have < stop:
            costs[have + 1] = costs[have] + step
            have += 1
    for x in range(have + 1, reach + 1):
        costs[x] = np.inf


@njit(cache=True)
def _without(k: int, h: int, unit: Floats, room: Ints, ahead: Ints, costs: Floats) -> float:
    """Return the cost of the k cheapest units that are not on one server of class h."""
    if k <= ahead[h] - room[h]:
        return float(costs[k])
    return float(costs[k + room[h]] - room[h] * unit[h])


@njit(cache=True)
def _fill(n: int, skip: int, order: Ints, room: Ints, count: Ints, out: Ints) -> int:
    """Put n workers on the cheapest servers, one server of class ``skip`` left out."""
    for i in range(order.size):
        h = order[i]
        units = room[h] * (count[h] - (1 if h == skip else 0))
        take = min(n, units)
        out[h] += take
        n -= take
        if n == 0:
            break
    return n


@njit(cache=True)
def _lower_first(a: Ints, b: Ints) -> int:
    """1 if ``a`` has more on low servers than ``b``, -1 if less, 0 if they are equal."""
    for h in range(a.size):
        if a[h] != b[h]:
            return 1 if a[h] > b[h] else -1
    return 0


@njit(cache=True)
def _key_before(a: Ints, b: Ints) -> bool:
    for i in range(a.size):
        if a[i] != b[i]:
            return bool(a[i] < b[i])
    return False


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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
                low = _units(worker_cost[m], t, d, unit)
                now_m, now_d, high = m, d, -1
                low_ps[:] = -1.0
            if here + n * low > value * (1 + TIE):
                continue
            if high < 0:
                high = _rooms(room, m, level, la, lb, most, rooms)
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
                length = _select(n, 0 if ring else n, limit, unit, capped, count, taken, order)
                if length < 0:
                    continue
                _spread(n, order[:length], unit, capped, count, costs, ahead)
                fresh[4] = 0
                if _loses(here + costs[n], value, fresh, key, 5):
                    continue
            for p in range(kinds):
                if not (mask[k] >> p) & 1:
                    continue
                fresh[4] = p
                if ring and together[k] == 0:
                    fresh[6], fresh[7] = 0, 0
                    if _better(here + costs[n], value, fresh, key, 6):
                        value, paid = here + costs[n], costs[n]
                        key[:] = fresh
                        found[:] = (k, p, t, -1, 0)
                    continue
                if not ring and low_ps[p] < 0.0:
                    low_ps[p] = _units(ps_cost[p], t, d, unit_ps[p])
                if together[k] == 1:
                    s = 0 if ring else needed[m, p, 0]
                    least_ps = 0.0 if ring else s * low_ps[p]
                    if _loses(here + n * low + least_ps, value, fresh, key, 5):
                        continue
                    for h in range(classes):
                        if rooms[h] < n:
                            continue
                        cost = n * unit[h] + (0.0 if ring else s * unit_ps[p, h])
                        fresh[6], fresh[7] = s, h
                        if here + cost > value * (1 + TIE):
                            continue
                        if not _better(here + cost, value, fresh, key, 8):
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
                        if _better(here + cost, value, fresh, key, 8):
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
                        if _loses(lower, value, fresh, key, 7):
                            break  # fewer workers on the host need no fewer PS
                        cost = (
                            g * unit[h]
                            + s * unit_ps[p, h]
                            + _without(n - g, h, unit, capped, ahead, costs)
                        )
                        better = _better(here + cost, value, fresh, key, 7)
                        # equal so far: who has more workers, then PS, on low servers
                        if not better and not _equal(here + cost, value, fresh, key):
                            continue
                        if not _fits(free, level, la, lb, h, e[m], g, z[p], s):
                            continue
                        if not better:
                            vector[:] = 0
                            _fill(n - g, h, order[:length], capped, count, vector)
                            vector[h] += g
                            other[:] = 0
                            _fill(n - found[4], found[3], order[:length], capped, count, other)
                            other[found[3]] += found[4]
                            if _lower_first(vector, other) < (1 if h >= found[3] else 0):
                                continue
                        value, paid = here + cost, cost
                        key[:] = fresh
                        found[:] = (k, p, t, h, g)
    if found[0] < 0:
        return np.inf, np.inf, found
    return value, paid, found


@njit(cache=True)
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


@njit(cache=True)
def _better(value: float, best: float, key: Ints, best_key: Ints, parts: int) -> bool:
    """Whether a value is lower, or equal with an earlier key (of so many parts)."""
    if best == np.inf:
        return value < np.inf
    gap = TIE * max(abs(value), abs(best))
    if value < best - gap:
        return True
    return value <= best + gap and _key_before(key[:parts], best_key[:parts])


@njit(cache=True)
def _loses(lower: float, best: float, key: Ints, best_key: Ints, parts: int) -> bool:
    """Whether no value from ``lower`` on can replace the best with these first parts of its key."""
    if best == np.inf:
        return False
    if lower > best * (1 + TIE):
        return True
    return lower >= best * (1 - TIE) and _key_before(best_key[:parts], key[:parts])


@njit(cache=True)
def _equal(value: float, best: float, key: Ints, best_key: Ints) -> bool:
    if abs(value - best) > TIE * max(abs(value), abs(best)):
        return False
    same = True
    for i in range(7):
        same &= key[i] == best_key[i]
    return same


@njit(cache=True)
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
    _units(worker_cost[m], start, duration, unit)
    _rooms(room, m, level, a, b, n - 1 if ring else n, rooms)
    order = np.argsort(unit, kind="mergesort")
    _fill(n - at_host, host, order, rooms, count, workers)
    if host >= 0:
        workers[host] += at_host
        servers[host] = needed[m, p, n - at_host]
    return workers, servers
