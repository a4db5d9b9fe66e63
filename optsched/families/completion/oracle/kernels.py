"""Kernels of the pricing subproblem: enumeration of modes, windows and hosts with bounds.

Enumeration with lower bounds, as in branch and bound (Land and Doig, 1960): all workers at the
lowest price of each slot bound a mode and completion from below; only what is below the limit is
solved exactly. Of two schedules the lower value counts, of equal ones the earlier key (8,):
completion, workers, 1 - q, worker type, PS type | duration | PS | server of the PS.

Python passes NamedTuples as plain tuples, ``modes[:]``, which numba reads several times as
quickly.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from optsched.families.completion.modes import Modes, Types
from optsched.families.completion.oracle.servers import MOST_UNITS
from optsched.families.completion.oracle.worker_costs import Line, comes_first, line_up, units_of
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

# limits of the value: so much above the least bound, from one to the next; then there is none
FIRST_SHARE, GROWTH, MOST_SHARE = 0.005, 1.5, 0.5
LAST = 2**63 - 1  # completion of no schedule
Plain = tuple[Any, ...]
ZERO, NOBODY = (cast(int, np.int64(x)) for x in (0, -1))  # no literals, as below
TIE = 1e-9  # relative: values are equal

# how many parts of a key are known; no literals, for each of which a kernel is compiled anew
UP_TO_TYPES, UP_TO_DURATION, UP_TO_PS, WHOLE = (cast(int, np.int64(n)) for n in (5, 6, 7, 8))


class Request(NamedTuple):
    """Pricing subproblem of one job."""

    arrival: int  # the first slot in which it may run
    weight: float  # cost of a slot of delay
    deadline: int  # the first slot that must be idle again
    cutoff: float  # values from here on are of no interest
    first: Ints  # (G,) first start that each mode may have; empty: all may start from the arrival
    last: Ints  # (G,) last start


@kernel
def _before(a: Ints, b: Ints, parts: int) -> int:
    """Return -1 if key ``a`` (8,) is before ``b`` (8,), 1 if after it, 0 if the parts are equal."""
    for i in range(parts):
        if a[i] != b[i]:
            return -1 if a[i] < b[i] else 1
    return 0


@kernel
def rank(value: float, best: float, key: Ints, best_key: Ints, parts: int) -> int:
    """Return -1 if a value is lower, or equal with an earlier key; 0 if both are equal; else 1.

    The two are ``key`` (8,) and ``best_key`` (8,).
    """
    if best == np.inf:
        return -1 if value < np.inf else 1
    gap = TIE * max(abs(value), abs(best))
    if value < best - gap:
        return -1
    order = _before(key, best_key, parts)
    if order < 0:
        return -1 if value <= best + gap else 1
    return 1 if order > 0 or abs(value - best) > gap else 0


@kernel
def loses(lower: float, best: float, key: Ints, best_key: Ints, parts: int) -> bool:
    """Whether no value from ``lower`` on can replace the best with these first parts of its key.

    ``key`` and ``best_key`` (8,) as in `rank`.
    """
    if best == np.inf or lower < best * (1 - TIE):
        return False
    return lower > best * (1 + TIE) or _before(best_key, key, parts) < 0


@kernel
def _fits(free: Ints, h: int, e: Ints, n: int, z: Ints, s: int) -> bool:
    """Whether n workers and s PS fit on server h, of which ``free`` (H, R) units are free.

    They take ``e`` (R,) and ``z`` (R,) each.
    """
    for r in range(e.size):
        load = n * e[r] + s * z[r]
        if load > free[h, r]:
            return False
    return True


@kernel
def _printed(types: Types, free: Ints, m: int, p: int, n: int, host: int, line: Line) -> int:
    """Lines 10-24 of Algorithm 4 for one PS host; return its PS, 0 if that is infeasible.

    ``line.one`` (H,) are the workers then; ``line.other`` holds the servers by price. What is
    ``free`` (H, R) is given as in `_fits`.
    """
    unit, workers, order = line.unit, line.one, line.other
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
        take = min(line.max_units[k], left)
        if k == host:
            for g in range(take + 1):
                # as many PS as fit next to g workers, and enough for the workers elsewhere
                want = types.ps_needed[m, p, n - g] if g < n else 0
                if _fits(free, k, types.worker_demand[m], g, types.ps_demand[p], want):
                    workers[k] = g
                    servers = want
            if servers == 0:
                workers[k] = take
        else:
            workers[k] = take
        left -= workers[k]
    return servers if left == 0 else 0


@kernel
def _least_bound(modes: Modes, request: Request, ending: int, least: Floats) -> float:
    """Return the least value that any mode and completion may have: all workers the cheapest.

    ``least`` (M, L + 1) is the cost of one worker of each type, summed over the slots up to each.
    """
    slots, best = least.shape[1] - 1, np.inf
    for c in range(request.arrival + modes.duration[0], ending + 1):
        if request.weight * c >= best:
            break
        b = min(c, slots)
        for k in range(modes.duration.size):
            t = c - modes.duration[k]
            if t < request.arrival:
                break
            if request.first.size and (t < request.first[k] or t > request.last[k]):
                continue
            m = modes.worker_type[k]
            value = request.weight * c + modes.workers[k] * (least[m, b] - least[m, min(t, slots)])
            if value < best:
                best = value
    return best


@kernel
def cheapest(
    types: Plain, modes: Plain, servers: Plain, request: Plain, printed: bool | None
) -> tuple[float, float, Ints]:
    """Return (value, cost, [mode, PS type, start, host, workers on the host]); mode -1: none.

    Arguments are plain `Types`, `Modes`, `PricedServers` and `Request`. What is just above the
    least bound is examined first, since few others then need to be; unless all is to be
    looked at at once. ``printed`` states whether distributed placements are those of Algorithm 4 as
    it is printed; None: no, and what is for that alone is not even compiled.
    """
    e, z, needed, ring = types
    worker_type, together, workers, duration, mask = modes
    worker_cost, ps_cost, least, free, max_units, total, top, count = servers
    arrival, weight, deadline, cutoff, first, last = request
    kinds, slots = max(1, z.shape[0]), worker_cost.shape[1] - 1
    number, classes = duration.size, count.size
    ending = min(deadline, max(arrival, slots) + duration[number - 1])
    constant = free.shape[0] == 1
    if not constant:  # behind the last price too, servers may be free later only
        ending = max(ending, min(deadline, free.shape[0]))
    most = 1
    for k in range(number):
        most = max(most, workers[k])
        if first.size:  # windows of starts may lie later than the prices
            ending = max(ending, min(deadline, max(first[k], slots) + duration[k]))
    bound = 0.0
    if weight > 0.0:  # without weight the bound takes longer than it saves
        bound = _least_bound(Modes(*modes), Request(*request), ending, least)
    # what is free in all slots of a window, and where that begins: it grows from mode to mode
    room, room_since = free[0].copy(), 0
    left, since = max_units[0].copy(), np.zeros(e.shape[0], np.int64)
    seen, clear = np.zeros(number, np.int64), np.zeros(number, np.int64)
    capped = np.empty(classes, np.int64)
    ahead, order, length = np.empty(classes, np.int64), np.empty(classes, np.int64), 0
    vector, other = np.empty(classes, np.int64), np.empty(classes, np.int64)
    unit, unit_ps = np.empty(classes), np.empty((kinds, classes))
    low_ps = np.empty(kinds)  # of the window at hand; -1: not known yet
    costs = np.empty(2 * most + 1)
    line = Line(unit, capped, count, order, costs, ahead, vector, other)
    found, key, fresh = np.empty(5, np.int64), np.empty(8, np.int64), np.empty(8, np.int64)
    share = FIRST_SHARE
    while True:
        limit = cutoff
        if bound > 0.0 and share <= MOST_SHARE and bound * (1 + share) < cutoff:
            limit = bound * (1 + share)
        value, paid = limit, limit
        found[0] = -1
        seen[:] = 0
        for i in range(8):
            key[i] = LAST
        for c in range(arrival + duration[0], ending + 1):
            if weight * c >= value * (1 + TIE) or (paid == 0.0 and weight == 0.0 and c > key[0]):
                break
            here = weight * c
            now_m, now_d, low, high = -1, -1, 0.0, 0
            for k in range(number):
                d, m, n = duration[k], worker_type[k], workers[k]
                t = c - d
                if t < arrival:
                    break
                if first.size and (t < first[k] or t > last[k]):
                    continue
                a, b = min(t, slots), min(c, slots)
                if here + n * (least[m, b] - least[m, a]) > value * (1 + TIE):
                    continue
                if c < clear[k]:
                    continue
                # a slot that is too full rules out all windows with it
                slot, low_slot = (0, 0) if constant else (c - 1, max(t, seen[k]))
                while slot >= low_slot and total[slot, m] >= n:
                    if together[k] == 1 and top[slot, m] < n:
                        break
                    slot -= 1
                if slot >= low_slot:
                    clear[k] = LAST if constant else slot + 1 + d
                    continue
                if not constant:
                    seen[k] = c
                if now_m < 0 and not constant:  # the first window with this completion
                    left[:], since[:], room_since = MOST_UNITS, c, c
                if m != now_m or d != now_d:
                    low = units_of(worker_cost, m, t, c, unit)
                    now_m, now_d, high = m, d, -1
                    for p in range(kinds):
                        low_ps[p] = -1.0
                if here + n * low > value * (1 + TIE):
                    continue
                if high < 0:
                    left_units, high = left[m], 0
                    while since[m] > t:
                        since[m] -= 1
                        row = max_units[since[m], m]
                        for h in range(classes):
                            left_units[h] = min(left_units[h], row[h])
                    for h in range(classes):
                        high = max(high, left_units[h])
                if together[k] == 1 and high < n:
                    continue
                fresh[0], fresh[1], fresh[2], fresh[3], fresh[5] = c, n, 1 - together[k], m, d
                there = 0
                if together[k] == 0:
                    for h in range(classes):
                        capped[h] = min(left_units[h], n - 1 if ring else n)
                        there += capped[h] * count[h]
                    if there < n:
                        continue
                    limit_apart = value * (1 + 2 * TIE) - here
                    length = line_up(n, 0 if ring else n, limit_apart, line)
                    if length < 0:
                        continue
                    fresh[4] = 0
                    if loses(here + costs[n], value, fresh, key, UP_TO_TYPES):
                        continue
                if not ring and room_since == c:
                    room[:] = free[c - 1]
                while not ring and room_since > t:
                    room_since -= 1
                    for h in range(classes):
                        for r in range(room.shape[1]):
                            room[h, r] = min(room[h, r], free[room_since, h, r])
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
                            if left_units[h] < n:
                                continue
                            cost = n * unit[h] + (0.0 if ring else s * unit_ps[p, h])
                            fresh[6], fresh[7] = s, h
                            if here + cost > value * (1 + TIE):
                                continue
                            if rank(here + cost, value, fresh, key, WHOLE) >= 0:
                                continue
                            if not ring and not _fits(room, h, e[m], n, z[p], s):
                                continue
                            value, paid = here + cost, cost
                            _keep(fresh, key, found, k, p, t, h, n)
                        continue
                    for h in range(classes):
                        if printed is not None:
                            s = _printed(Types(e, z, needed, ring), room, m, p, n, h, line)
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
                            if place > 0 or not _fits(room, h, e[m], g, z[p], s):
                                continue
                            # equal so far: more workers, then PS, on low servers
                            if place == 0 and not comes_first(
                                n, (h, g), (found[3], found[4]), length, line
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
    """Note the best schedule so far, ``found`` (5,), and its ``key`` (8,), now ``fresh`` (8,)."""
    for i in range(key.size):
        key[i] = fresh[i]
    found[0], found[1], found[2], found[3], found[4] = k, p, start, host, at_host


@kernel
def fill(
    servers: Plain,
    m: int,
    start: int,
    end: int,
    left: int,
    most: int,
    host: int,
    workers: Ints,
) -> None:
    """Put the workers that are not on the host of the PS, ``left``, on the cheapest servers.

    At most ``most`` on one; ``workers`` (H,) are counted by class, ``servers`` plain
    `PricedServers`.
    """
    worker_cost, _, _, _, max_units, _, _, number = servers
    last = worker_cost.shape[1] - 1
    before, after = worker_cost[m, min(start, last)], worker_cost[m, min(end, last)]
    a, b = (start, end) if max_units.shape[0] > 1 else (0, 1)
    taken = np.zeros(number.size, np.int64)
    while left > 0:
        best, low = -1, np.inf
        for h in range(number.size):
            if taken[h] == 0 and after[h] - before[h] < low:
                best, low = h, after[h] - before[h]
        if best < 0:
            return
        taken[best] = 1
        units = most
        for t in range(a, b):
            units = min(units, max_units[t, m, best])
        units *= number[best] - (1 if best == host else 0)
        workers[best] += min(left, units)
        left -= min(left, units)
