"""Integer kernels of the checker: pricing subproblem of one job.

Written independently of any solver. Each job's least weight * completion + cost is a term of the
Lagrangian dual bound (Geoffrion, 1974). All numbers are integers.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from optsched.numbers.arrays import Flags, Ints
from optsched.numbers.kernels import kernel

NONE, ZERO = (cast(int, np.int64(n)) for n in (-1, 0))  # no literals: kernels are compiled once
FAR = 2**62  # beyond all slots
ALIKE = 4  # durations that differ by less than 2**-3 of themselves are looked at together


class KernelPlatform(NamedTuple):
    """C classes of equal servers with R resources, M types of workers, P of PS; in units."""

    capacity: Ints  # (C, R) of one server
    servers: Ints  # (C,) how many
    e: Ints  # (M, R) of a worker
    z: Ints  # (P, R) of a PS
    needed: Ints  # (M, P, N) PS for workers elsewhere
    ring: bool


class CumulativeCosts(NamedTuple):
    """Costs at the prices, in units of 2**-grid: sums over the slots up to each, L slots."""

    worker: Ints  # (M, L + 1, C) of one worker
    ps: Ints  # (P, L + 1, C)
    cheapest_ps: Ints  # (P, L + 1) of one that is where it is cheapest in every slot, and fits
    later: Ints  # (L + 1,) the next slot whose prices are others than those of the slot before


class WorkerPlan(NamedTuple):
    """Workers of a job at a time; the arrays are filled in by `least_value`."""

    n: int  # workers
    m: int  # their type
    p: int  # type of the PS
    start: int
    end: int
    unit: Ints  # (C,) cost of a worker on a server of each class
    max_units: Ints  # (C,) workers that one server holds


@kernel
def least_value(
    modes: Ints,
    arrival: int,
    deadline: int,
    weight: int,
    platform: KernelPlatform,
    costs: CumulativeCosts,
) -> int:
    """Return the least weight * completion + cost by a deadline; -1 if there is no schedule.

    Parameters
    ----------
    modes : shape (G, 5)
        Rows [duration, worker type, PS type, q, workers] of the job, by duration; each fits
        on the empty servers.
    weight : int
        In units of 2**-grid per slot.
    """
    classes, slots = platform.servers.size, costs.worker.shape[1] - 1
    unit, max_units = np.empty(classes, np.int64), np.empty(classes, np.int64)
    runs, floors = _floors(modes, arrival, weight, platform, costs)
    best = NONE
    while True:  # the smallest lower bound comes first: few others are then examined
        group, least = -1, 0
        for g in range(floors.size):
            if floors[g] >= 0 and (group < 0 or floors[g] < least):
                group, least = g, floors[g]
        if group < 0 or (best >= 0 and least >= best):
            return best
        floors[group] = NONE
        run, m = group // platform.e.shape[0], group % platform.e.shape[0]
        for sweep in range(2):  # the first only looks at what may well be best, to have a limit
            least = NONE
            for k in range(runs[run], runs[run + 1]):
                d, n, p, q = modes[k, 0], modes[k, 4], modes[k, 2], modes[k, 3]
                first, last = arrival, min(deadline - d, max(arrival, slots))
                skip = first > last or (best >= 0 and weight * (first + d) >= best)
                if modes[k, 1] != m or skip:
                    continue
                _units_that_fit(platform, m, n, max_units)
                # no fewer PS than these
                few = 0 if q == 1 else n - min(n - 1, max_units.max())
                fewest = 0 if platform.ring else platform.needed[m, p, few]
                t, ahead = first, first
                while t <= last:
                    paid = weight * (t + d)
                    if best >= 0 and paid >= best:
                        break
                    a, b = min(t, slots), min(t + d, slots)
                    ahead = last + 1 if t == last else min(last, _next(costs, a, b, d))
                    floor = paid + n * _rent(costs.worker, m, a, b, max_units)
                    if not platform.ring:
                        floor += fewest * (costs.cheapest_ps[p, b] - costs.cheapest_ps[p, a])
                    hopeless = best >= 0 and floor >= best
                    if not hopeless and not (sweep == 0 and least >= 0 and floor >= least):
                        least = floor
                        plan = WorkerPlan(n, m, p, a, b, unit, max_units)
                        cost = placed(platform, costs, plan, q, best - paid if best >= 0 else NONE)
                        if cost >= 0 and (best < 0 or paid + cost < best):
                            best = paid + cost
                    t = ahead


@kernel
def _fits_somewhere(platform: KernelPlatform, mode: Ints, max_units: Ints) -> bool:
    """Whether a mode (5,) fits on empty servers; writes to ``max_units`` (C,)."""
    m, p, q, n = mode[1], mode[2], mode[3], mode[4]
    _units_that_fit(platform, m, n, max_units)
    total = 0
    for c in range(max_units.size):
        if platform.ring and q == 1 and max_units[c] >= n:
            return True
        total += min(max_units[c], n - 1 if platform.ring else n) * platform.servers[c]
    if platform.ring:
        return bool(q == 0 and total >= n)
    for c in range(max_units.size):
        for g in range(n if q == 1 else 0, min(max_units[c], n if q == 1 else n - 1) + 1):
            fits, s = total - max_units[c] >= n - g, platform.needed[m, p, n - g]
            for r in range(platform.e.shape[1]):
                load = g * platform.e[m, r] + s * platform.z[p, r]
                fits &= load <= platform.capacity[c, r]
            if fits:
                return True
    return False


@kernel
def _rent(up_to: Ints, kind: int, a: int, b: int, max_units: Ints) -> int:
    """Return the least cost of a worker from slot a to b, over the classes with ``max_units`` > 0.

    ``up_to`` (M, L + 1, C) are sums of costs up to each slot, ``max_units`` (C,) those on a server.
    """
    least = NONE
    for c in range(max_units.size):
        cost = up_to[kind, b, c] - up_to[kind, a, c]
        if max_units[c] > 0 and (least < 0 or cost < least):
            least = cost
    return int(least)


@kernel
def _next(costs: CumulativeCosts, a: int, b: int, d: int) -> int:
    """Return the next start after slot a at which the first slot, or the one after, has a change.

    As long as prices around neither end of a time change, what it costs in each class is linear in
    its start. So the least over all placements is concave, and least at an end of that range.
    ``b`` is a + d, or the last slot with a price.
    """
    return int(min(costs.later[a], costs.later[b] - d))


@kernel
def _floors(
    modes: Ints, first: int, weight: int, platform: KernelPlatform, costs: CumulativeCosts
) -> tuple[Ints, Ints]:
    """Return where runs of modes (G, 5) of about one duration begin, and what they cost at least.

    Shapes (Q + 1,) and (Q * M,), by worker type; -1: there is none. No mode costs less, started in
    slot ``first`` or later, than the
    fewest workers for the shortest duration, each where it is cheapest.
    """
    types, slots = costs.worker.shape[0], costs.worker.shape[1] - 1
    runs, number = np.empty(modes.shape[0] + 1, np.int64), 0
    for k in range(modes.shape[0]):
        shortest = modes[runs[number - 1], 0] if number > 0 else 0
        if number == 0 or modes[k, 0] > shortest + (shortest >> ALIKE):
            runs[number] = k
            number += 1
    runs[number] = modes.shape[0]
    floors, fewest = np.full(number * types, NONE, np.int64), np.empty(number, np.int64)
    most, max_units = 0, np.empty(platform.servers.size, np.int64)
    for k in range(modes.shape[0]):
        most = max(most, modes[k, 4])
    for m in range(types):
        _units_that_fit(platform, m, most, max_units)
        fewest[:] = FAR
        for run in range(number):
            for k in range(runs[run], runs[run + 1]):
                if modes[k, 1] == m:
                    fewest[run] = min(fewest[run], modes[k, 4])
        for run in range(number):
            d, n, t = modes[runs[run], 0], fewest[run], first
            if n == FAR:
                continue
            least = NONE
            while t <= max(first, slots) and (least < 0 or weight * (t + d) < least):
                a, b = min(t, slots), min(t + d, slots)
                floor = weight * (t + d) + n * _rent(costs.worker, m, a, b, max_units)
                least = floor if least < 0 else min(least, floor)
                t = _next(costs, a, b, d)
            floors[run * types + m] = least
    return runs, floors


@kernel
def _fits(platform: KernelPlatform, plan: WorkerPlan, c: int, n: int, s: int) -> bool:
    """Whether n workers and s PS fit on one server of class c."""
    fits = True
    for r in range(platform.e.shape[1]):
        load = n * platform.e[plan.m, r] + s * platform.z[plan.p, r]
        fits &= load <= platform.capacity[c, r]
    return fits


@kernel
def _cheapest(n: int, plan: WorkerPlan, count: Ints, skip: int, most: int) -> int:
    """Return the cost of n workers, ``most`` on a server, one of class ``skip`` left out.

    There are ``count`` (C,) servers of each class.
    """
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
        take = min(left, min(plan.max_units[c], most) * (count[c] - (1 if c == skip else 0)))
        cost += take * plan.unit[c]
        left -= take
    return cost


@kernel
def _together(plan: WorkerPlan, platform: KernelPlatform, costs: CumulativeCosts) -> int:
    """Return the least cost of all workers and PS on one server, -1 if they do not fit."""
    best, n, p = NONE, plan.n, plan.p
    for c in range(plan.unit.size):
        if plan.max_units[c] < n:
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
def _apart(
    plan: WorkerPlan, platform: KernelPlatform, costs: CumulativeCosts, low: int, limit: int
) -> int:
    """Return the least cost of workers on several servers, all PS on one, -1 if there is none.

    ``low`` is the least cost of a worker that fits; costs from ``limit`` on are no use,
    -1: there is none.
    """
    best, n, p = NONE, plan.n, plan.p
    for c in range(plan.unit.size):
        one = costs.ps[p, plan.end, c] - costs.ps[p, plan.start, c]
        for g in range(min(n - 1, plan.max_units[c]) + 1):  # workers on the machine of the PS
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


@kernel
def placed(
    platform: KernelPlatform, costs: CumulativeCosts, plan: WorkerPlan, together: int, limit: int
) -> int:
    """Return the least cost of a placement from a slot to another, -1 if there is none.

    The plan's capacities are known, its units are filled in. Costs from ``limit`` on are no use,
    -1: there is none.
    """
    low = NONE
    for c in range(plan.unit.size):
        plan.unit[c] = costs.worker[plan.m, plan.end, c] - costs.worker[plan.m, plan.start, c]
        if plan.max_units[c] > 0 and (low < 0 or plan.unit[c] < low):
            low = plan.unit[c]
    if low < 0 or (limit >= 0 and plan.n * low >= limit):
        return NONE
    if together == 1:
        return int(_together(plan, platform, costs))
    if platform.ring:
        return int(_cheapest(plan.n, plan, platform.servers, NONE, plan.n - 1))
    return int(_apart(plan, platform, costs, low, limit))


@kernel
def _units_that_fit(platform: KernelPlatform, m: int, n: int, max_units: Ints) -> None:
    """Write to ``max_units`` (C,) how many of n workers of type m a server of each class holds."""
    for c in range(max_units.size):
        max_units[c] = n
        for r in range(platform.e.shape[1]):
            if platform.e[m, r] > 0:
                max_units[c] = min(max_units[c], platform.capacity[c, r] // platform.e[m, r])


@kernel
def placeable(platform: KernelPlatform, modes: Ints) -> Flags:
    """Return which modes (G, 5), as in `least_value`, fit on the empty servers."""
    out, max_units = np.empty(modes.shape[0], np.bool_), np.empty(platform.servers.size, np.int64)
    for k in range(out.size):
        out[k] = _fits_somewhere(platform, modes[k], max_units)
    return out


@kernel
def rents(platform: KernelPlatform, costs: CumulativeCosts, items: Ints, longest: Ints) -> Ints:
    """Return the least cost of items (I, 5) from a slot to another, shape (I, L + 1, L + 1).

    ``longest`` (I,) is that of an item: longer times are left at 0.
    """
    slots = costs.worker.shape[1] - 1
    out = np.full((items.shape[0], slots + 1, slots + 1), NONE, np.int64)
    unit = np.empty(platform.servers.size, np.int64)
    max_units = np.empty(platform.servers.size, np.int64)
    for i in range(items.shape[0]):
        for q in range(2):
            n, mask, p = items[i, 1 + 2 * q], items[i, 2 + 2 * q], ZERO
            _units_that_fit(platform, items[i, 0], n, max_units)
            while mask > 0:
                if mask & 1:
                    for a in range(slots):
                        for b in range(a + 1, min(slots, a + longest[i]) + 1):
                            plan = WorkerPlan(n, items[i, 0], p, a, b, unit, max_units)
                            cost = placed(platform, costs, plan, q, out[i, a, b])
                            if cost >= 0 and (out[i, a, b] < 0 or cost < out[i, a, b]):
                                out[i, a, b] = cost
                mask >>= 1
                p += 1
        for a in range(slots + 1):
            for b in range(slots + 1):
                out[i, a, b] = max(out[i, a, b], ZERO)
    return out
