"""Integer kernels of the certificate's checker: cheapest schedules, best load of one machine.

All numbers are ``int64``, and none leaves them: `certificate_range` chooses units in which no cost
of a schedule and no worth of a load reaches ``NONE`` (2**62); an entry ``NONE`` plus any cost stays
below 2**63. What a kernel adds beyond that, it bounds where it does.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

NONE = 2**62  # the cost of a schedule that does not exist
SCALE = 2**61  # what all capacities of a machine count together, at most
FINEST = 2**50  # what one of them counts, at most
NODES = 20_000  # of the search for the best load of a machine
STEPS = 60  # of the search for multipliers
COUNTED = 2.0**50  # what all capacities count together at multipliers


@kernel
def filling(unit: Ints, room: Ints, most: int, order: Ints, cost: Ints) -> None:
    """Fill in the least cost of n = 0..most on classes of machines, NONE beyond their rooms.

    Parameters
    ----------
    unit : shape (C,)
        Price of one worker (or PS) on a machine of each class.
    room : shape (C,)
        How many the machines of each class hold together.
    most : int
    order : scratch of at least C
    cost : at least most + 1
    """
    classes = 0
    for c in range(len(unit)):
        if room[c] > 0:
            order[classes] = c
            classes += 1
    gap = 1
    while gap < classes:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort; which of two equal prices goes first is the same to the costs
        for j in range(gap, classes):
            c, place = order[j], j
            while place >= gap and unit[order[place - gap]] > unit[c]:
                order[place] = order[place - gap]
                place -= gap
            order[place] = c
        gap //= 3
    cost[0] = 0
    n = 0
    for k in range(classes):
        c = order[k]
        for _ in range(min(room[c], most - n)):
            cost[n + 1] = cost[n] + unit[c]
            n += 1
    for k in range(n + 1, most + 1):
        cost[k] = NONE


@kernel
def slot_costs(
    worker_unit: Ints, worker_room: Ints, ps_unit: Ints, ps_room: Ints, ps_needed: Ints
) -> Ints:
    """Return the least cost of n workers and the PS they need in each slot, shape (S, N + 1).

    Parameters
    ----------
    worker_unit, ps_unit : shape (S, C)
        Price of one worker (PS) on a machine of each class.
    worker_room, ps_room : shape (C,)
    ps_needed : shape (N + 1,)
    """
    slots, most = len(worker_unit), len(ps_needed) - 1
    cost = np.empty((slots, most + 1), np.int64)
    servers = np.empty(ps_needed[most] + 1, np.int64)
    order = np.empty(max(len(worker_room), len(ps_room)), np.int64)
    for t in range(slots):
        filling(worker_unit[t], worker_room, most, order, cost[t])
        filling(ps_unit[t], ps_room, ps_needed[most], order, servers)
        for n in range(most + 1):
            cost[t, n] = min(NONE, cost[t, n] + min(servers[ps_needed[n]], NONE - 1))
    return cost


@kernel
def cheapest(cost: Ints, low: Ints, high: Ints, work: int) -> Ints:
    """Return the least cost of a schedule that ends in each slot, NONE without one; shape (S,).

    A dynamic program over the worker-slots done, saturated at ``work``: lower limits may force more
    than ``work``.

    Parameters
    ----------
    cost : shape (S, N + 1)
        Cost of n workers in each slot from the arrival on.
    low, high : shape (S,)
        Limits of the number of workers in each slot up to the completion.
    work : int
    """
    slots = len(cost)
    ends = np.empty(slots, np.int64)
    ends[:] = NONE
    done = np.empty(work + 1, np.int64)  # cheapest cost by worker-slots done
    done[:] = NONE
    done[0] = 0
    after = np.empty(work + 1, np.int64)
    least = np.empty(work + 1, np.int64)  # least[s]: cheapest with s or more
    missing = np.empty(slots + 1, np.int64)  # worker-slots that later slots can still do
    missing[slots] = 0
    for t in range(slots - 1, -1, -1):
        missing[t] = missing[t + 1] + high[t]
    reach = 0  # no state above it is reachable, except `work` itself
    for t in range(slots):
        least[work] = done[work]
        for s in range(work - 1, -1, -1):
            least[s] = min(done[s], least[s + 1])
        after[:] = NONE
        first = max(0, work - missing[t])  # below it, no later slot completes the job
        for n in range(low[t], high[t] + 1):
            c = cost[t, n]
            if c >= NONE:
                continue
            enough = least[max(0, work - n)] + c
            after[work] = min(after[work], enough)
            if n > 0:
                ends[t] = min(ends[t], enough)
            last = min(reach, work - 1 - n)
            if last < first:
                continue
            source = done[first : last + 1]
            target = after[first + n : last + 1 + n]
            for s in range(len(source)):
                target[s] = min(target[s], source[s] + c)
        reach = min(work, reach + max(0, high[t]))
        done, after = after, done
    return ends


@kernel
def useful_slots(cost: Ints, high: Ints, work: int, worth: Ints) -> int:
    """Return how many slots matter: after them, no completion is worth its cost.

    n workers cost at least n times the slot's least cost per worker, rounded down; the cheapest
    slots are filled first.

    Parameters
    ----------
    cost : shape (S, N + 1)
    high : shape (S,)
    work : int
    worth : shape (S,)
        Utility of completing in each slot.
    """
    slots = len(cost)
    rate = np.empty(slots, np.int64)
    order = np.empty(slots, np.int64)  # slots so far, by rate
    useful = 0
    for t in range(slots):
        rate[t] = NONE if high[t] < 1 else cost[t, 1]  # times n it is no more than cost[t, n]
        for n in range(2, high[t] + 1):
            rate[t] = min(rate[t], cost[t, n] // n)
        place = t
        while place > 0 and rate[order[place - 1]] > rate[t]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = t
        left, total = work, 0
        for j in range(t + 1):
            n = min(left, high[order[j]])
            if n > 0 and rate[order[j]] < NONE:
                total += n * rate[order[j]]
                left -= n
        if left == 0 and worth[t] > total:
            useful = t + 1
    return useful


@kernel(inline="always")
def denser(v: int, d: int, w: int, e: int) -> bool:
    """Whether v / d > w / e, exactly, by comparing continued fractions (d, e > 0)."""
    sign = True
    while True:
        a, b = v // d, w // e
        if a != b:
            return (a > b) == sign
        v, w = v - a * d, w - b * e
        if v == 0 or w == 0:
            return v != w and ((w == 0) == sign)
        v, d, w, e = d, v, e, w
        sign = not sign


@kernel(inline="always")
def part(value: int, room: int, demand: int) -> int:
    """Return at least value * room / demand, for 0 <= room < demand, without overflow."""
    while room > 1 and value > NONE // room:
        room, demand = (room + 1) >> 1, demand >> 1
    whole: int = value * room // demand if demand > 0 else value
    return min(value, whole)


@kernel
def relaxed(
    k: int, value: Ints, most: Ints, demand: Ints, order: Ints, left: int, enough: int
) -> int:
    """Return a bound on what the items from ``k`` on are worth in ``left`` of one constraint.

    The fractional knapsack: items by value per demand (``order``), the last one in part. Stops
    above ``enough``.
    """
    total: int = 0
    for i in order:
        if i < k:
            continue
        d = demand[i]
        if d == 0:
            total += most[i] * value[i]
            continue
        n = min(most[i], left // d)
        total += n * value[i]
        left -= n * d
        if n < most[i]:
            total += part(value[i], left, d)
            return total
        if total > enough:
            return NONE
    return total


@kernel(inline="always")
def multipliers(value: Ints, most: Ints, weight: Ints, capacity: Ints, units: Ints) -> None:
    """Find how much of a unit of each resource to count, so that one sum of all is a tight limit.

    Whole numbers >= 0, and any are valid: they are sought in floats, by subgradient steps on the
    relaxation sum_r u_r + sum_i most_i max(0, value_i - sum_r u_r weight_ri / capacity_r).
    """
    items, resources = len(value), len(capacity)
    share = np.empty((items, resources))
    u, slope, best = np.empty(resources), np.empty(resources), np.empty(resources)
    top = 0.0
    for i in range(items):
        top = max(top, float(most[i]) * value[i])
        for r in range(resources):
            share[i, r] = weight[r, i] / capacity[r] if capacity[r] > 0 else 0.0
    for r in range(resources):
        u[r] = best[r] = top / resources
    least = np.inf
    for step in range(STEPS):
        bound = 0.0
        for r in range(resources):
            bound += u[r]
            slope[r] = 1.0
        for i in range(items):
            paid = 0.0
            for r in range(resources):
                paid += share[i, r] * u[r]
            rest = value[i] - paid
            if rest > 0.0:
                bound += most[i] * rest
                for r in range(resources):
                    slope[r] -= most[i] * share[i, r]
        norm = 0.0
        for r in range(resources):
            norm += slope[r] * slope[r]
            if bound < least:
                best[r] = u[r]
        least = min(least, bound)
        if norm == 0.0:
            break
        length = top / (1.0 + step) / math.sqrt(norm)
        for r in range(resources):
            u[r] = max(0.0, u[r] - length * slope[r])
    total = 0.0
    for r in range(resources):
        total += best[r]
    for r in range(resources):
        units[r] = 0
        if capacity[r] > 0 and total > 0.0:
            # units * capacity add up to 2**50, and what roundings of `resources` floats add
            units[r] = np.int64(best[r] / total * COUNTED / capacity[r])


@kernel
def by_density(value: Ints, weight: Ints, order: Ints) -> None:
    """Fill ``order`` with the items by value per weight, the densest first."""
    for j in range(len(order)):
        place = j
        while place > 0:
            other = order[place - 1]
            if weight[other] == 0 or (
                weight[j] > 0 and not denser(value[j], weight[j], value[other], weight[other])
            ):
                break
            order[place] = other
            place -= 1
        order[place] = j


@kernel
def best_load(value: Ints, most: Ints, demand: Ints, capacity: Ints) -> int:
    """Return the worth of the best load of one machine, or more.

    That is max value . y over integers 0 <= y <= most with y @ demand <= capacity; more only if
    the search would take too long.

    Depth-first search; a node is cut where one of the relaxations to a single constraint (each
    resource alone, their sum relative to the capacities, and at multipliers) leaves nothing to
    gain.

    In the sum of all resources, each counts SCALE / R at most, so that it stays below 2**62 however
    many there are; one that is too large to count in whole numbers then is left out, which is a
    relaxation, too.

    Parameters
    ----------
    value, most : shape (n,)
        The sum of value * most is below NONE.
    demand : shape (n, R)
    capacity : shape (R,)
        Below 2**50.
    """
    resources = len(capacity)
    relaxations = resources + 2
    kept = np.empty(len(value), np.int64)
    n = 0
    for i in range(len(value)):
        room = most[i]
        for r in range(resources):
            if demand[i, r] > 0:
                room = min(room, capacity[r] // demand[i, r])
        if room > 0 and value[i] > 0:
            kept[n] = i
            n += 1
    worth, room_of = np.empty(n, np.int64), np.empty(n, np.int64)
    weight = np.empty((relaxations, n), np.int64)  # demand in each relaxation
    left = np.empty(relaxations, np.int64)
    for j in range(n):
        worth[j], room_of[j] = value[kept[j]], most[kept[j]]
        weight[resources, j] = weight[resources + 1, j] = 0
    left[resources] = left[resources + 1] = 0
    finest = min(FINEST, SCALE // max(1, resources))
    for r in range(resources):
        left[r] = capacity[r]
        share = finest // max(1, capacity[r])
        left[resources] += share * capacity[r]
        for j in range(n):
            weight[r, j] = demand[kept[j], r]
            weight[resources, j] += share * weight[r, j]
    units = np.empty(resources, np.int64)
    multipliers(worth, room_of, weight, capacity, units)
    for r in range(resources):
        left[resources + 1] += units[r] * capacity[r]
        for j in range(n):
            weight[resources + 1, j] += units[r] * weight[r, j]
    return search(worth, room_of, weight, left)


@kernel
def search(items_value: Ints, items_most: Ints, items_weight: Ints, left: Ints) -> int:
    """Return the worth of the best load, or more, of items that have a weight in every relaxation.

    ``left`` is what each relaxation has to give; it is used up.
    """
    relaxations, n = items_weight.shape
    order = np.empty((relaxations + 1, n), np.int64)
    first = order[relaxations]  # the search takes the densest items in the sum of all first
    by_density(items_value, items_weight[relaxations - 2], first)
    value, most = np.empty(n, np.int64), np.empty(n, np.int64)
    weight, taken = np.empty((relaxations, n), np.int64), np.empty(n, np.int64)
    for j in range(n):
        value[j], most[j], taken[j] = items_value[first[j]], items_most[first[j]], 0
        for q in range(relaxations):
            weight[q, j] = items_weight[q, first[j]]
    # no literals: for one, numba compiles `relaxed` anew
    k, promised = int(np.int64(0)), int(np.int64(NONE))
    best, worth, ceiling = k, k, promised  # what the relaxations promise before anything is decided
    for q in range(relaxations):
        by_density(value, weight[q], order[q])
        ceiling = min(ceiling, relaxed(k, value, most, weight[q], order[q], left[q], promised))
    for _ in range(NODES):
        alive = k < n
        if alive:
            for q in range(relaxations - 1, -1, -1):
                gain = relaxed(k, value, most, weight[q], order[q], left[q], best - worth)
                if gain <= best - worth:
                    alive = False
                    break
        if alive:
            take = most[k]
            for q in range(relaxations):
                if weight[q, k] > 0:
                    take = min(take, left[q] // weight[q, k])
            taken[k] = take
            worth += take * value[k]
            for q in range(relaxations):
                left[q] -= take * weight[q, k]
            best = max(best, worth)
            k += 1
            continue
        k -= 1
        while k >= 0 and taken[k] == 0:
            k -= 1
        if k < 0:
            return best
        taken[k] -= 1
        worth -= value[k]
        for q in range(relaxations):
            left[q] += weight[q, k]
        k += 1
    return ceiling
