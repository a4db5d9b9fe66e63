"""Branch and bound for the integer knapsack with several resources, in exact integers.

The checkers of certificates compute with it the most expensive load of one machine. Bounds are
fractional knapsacks (Dantzig, 1957) in each resource, in their sum, and in a surrogate constraint
whose multipliers a subgradient method finds (Gavish and Pirkul, 1985); see Martello and Toth
(1990).

All numbers are ``int64``, and none leaves that range. Let V be the sum of value * most, which a
checker keeps below ``NONE`` (2**62), and R the number of resources; capacities are below 2**50,
demands at most that.

- Values of loads are at most V. So are the bounds of a relaxation, except for the item that it
  takes in part, which counts as at most one more of it, and is within `most` all the same.
- In one resource, items are taken only while they fit: the rest is below 2**50.
- In the sum of all resources each counts SCALE / R at most, so it is at most 2**61 for any R; an
  item that is too large to count in integers is left out: also a relaxation.
- At multipliers, the capacities add up to 2**50, plus the rounding of R floats.
- A part of an item (`relaxed`): value times remaining capacity is at most 2**62. Densities are
  compared by continued fractions (`by_density`): only quotients and remainders.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

NONE = 2**62  # no sum of value * most reaches it
SCALE = 2**61  # what all capacities of a machine count together, at most
FINEST = 2**50  # what one of them counts, at most
COUNTED = 2.0**50  # what all capacities count together at multipliers
NODES = 20_000  # of the search
FEW = 200  # of its first attempt, without multipliers
STEPS = 60  # of the search for multipliers
# rows of what `search` knows of its items: value, greatest number, number now, place in the search;
# then the items in the order of the search, and by value per weight in each relaxation
VALUE, MOST, NUMBER, PLACE, ORDERS = range(5)


def best_load(value: Ints, most: Ints, demand: Ints, capacity: Ints) -> int:
    """Return the value of the most expensive load of one machine, or more.

    That is max value . y over integers 0 <= y <= most with y @ demand <= capacity; more only if
    the search would take too long.

    Parameters
    ----------
    value, most : shape (n,)
        Price, in any unit, and greatest number of each item; the sum of value * most is below NONE.
    demand : shape (n, R)
        Units of each resource.
    capacity : shape (R,)
        Below 2**50.
    """
    found = search(value, most, demand, capacity, demand[:0], FEW)  # no other sums
    if found < 0:
        units = np.zeros((1, len(capacity)), np.int64)
        multipliers(value, most, demand, capacity, units[0])
        found = search(value, most, demand, capacity, units, NODES)
    return int(found) if found >= 0 else -int(found) - 1


def units_that_fit(demand: Ints, capacity: Ints, most: Ints) -> Ints:
    """Return how many of each item one empty machine of each class holds, shape (C, n).

    Parameters
    ----------
    demand : shape (n, R)
        Units of each resource.
    capacity : shape (C, R)
    most : shape (n,)
        No more of each.
    """
    holds = np.repeat(most[None, :], len(capacity), axis=0)
    for r in range(capacity.shape[1]):
        needs = demand[:, r] > 0
        held = capacity[:, r, None] // demand[None, needs, r]
        holds[:, needs] = np.minimum(holds[:, needs], held)
    return holds


@kernel(error_model="numpy")
def by_density(value: Ints, weight: Ints, order: Ints) -> None:
    """Sort items by value per weight, exactly, the densest first; equals stay as they are.

    Parameters
    ----------
    value, weight : shape (n,)
        At least 0, by item.
    order : shape (m,)
        Some of the items.
    """
    for j in range(1, order.size):
        i, place = order[j], j
        while place > 0:
            other = order[place - 1]
            # whether v / d > w / e, by continued fractions
            v, d, w, e = value[i], weight[i], value[other], weight[other]
            denser, sign = e > 0, True
            while denser and d > 0:
                a, b = v // d, w // e
                v, w = v - a * d, w - b * e
                if a != b:
                    denser = (a > b) == sign
                    break
                if v == 0 or w == 0:
                    denser = v != w and (w == 0) == sign
                    break
                v, d, w, e = d, v, e, w
                sign = not sign
            if not denser:
                break
            order[place] = other
            place -= 1
        order[place] = i


@kernel(error_model="numpy")
def relaxed(items: Ints, weight: Ints, order: Ints, first: int, left: int, enough: int) -> int:
    """Return a bound on the value of the items from place ``first`` on in one constraint.

    The fractional knapsack, the last item in part. Stops above ``enough``.

    Parameters
    ----------
    items : shape (rows, n)
        Of `search`: VALUE, MOST and PLACE.
    weight : shape (n,)
        What each takes of the constraint.
    order : shape (n,)
        The items by value per weight.
    left : int
        What the constraint has to give.
    """
    total = 0
    for i in order:
        if items[PLACE, i] < first:
            continue
        value, most, one = items[VALUE, i], items[MOST, i], weight[i]
        if one == 0:
            total += most * value
            continue
        n = min(most, left // one)
        total += n * value
        left -= n * one
        if n < most:  # at least value * left / one, of which the product may be too large
            while left > 1 and value > NONE // left:
                left, one = (left + 1) >> 1, one >> 1
            return int(total + (min(value, value * left // one) if one > 0 else value))
        if total > enough:
            return NONE
    return int(total)


@kernel(error_model="numpy")
def search(value: Ints, most: Ints, demand: Ints, capacity: Ints, units: Ints, nodes: int) -> int:
    """Return the value x of the best load; after ``nodes`` of the search -x - 1, x a bound on it.

    Depth first; a node is cut where one of the relaxations to a single constraint leaves nothing to
    gain: each resource alone, their sum relative to the capacities, and other sums.

    Parameters
    ----------
    value, most : shape (n,)
    demand : shape (n, R)
    capacity : shape (R,)
        As in `best_load`.
    units : shape (S, R)
        How much of a unit of each resource to count in each of the other sums.
    """
    resources = capacity.size
    relaxations = resources + 1 + len(units)
    kept, n = np.empty(value.size, np.int64), 0
    for i in range(value.size):
        fits = most[i] > 0 and value[i] > 0
        for r in range(resources):
            fits = fits and demand[i, r] <= capacity[r]
        if fits:
            kept[n] = i
            n += 1
    items = np.empty((ORDERS + 1 + relaxations, n), np.int64)
    weight, left = np.empty((relaxations, n), np.int64), np.empty(relaxations, np.int64)
    searched = items[ORDERS]
    for j in range(n):
        items[VALUE, j], items[MOST, j], items[NUMBER, j] = value[kept[j]], most[kept[j]], 0
        searched[j] = j
    for q in range(relaxations):
        left[q] = 0
        for j in range(n):
            weight[q, j] = 0
        for r in range(resources):
            unit = 1 if q == r else 0
            if q == resources:
                unit = min(FINEST, SCALE // max(1, resources)) // max(1, capacity[r])
            elif q > resources:
                unit = units[q - resources - 1, r]
            left[q] += unit * capacity[r]
            for j in range(n):
                weight[q, j] += unit * demand[kept[j], r]
    by_density(items[VALUE], weight[resources], searched)
    for k in range(n):
        items[PLACE, searched[k]] = k
    enough, k = int(np.int64(NONE)), int(np.int64(0))  # no literals: `relaxed` is compiled once
    best, packed, ceiling = 0, 0, NONE
    for q in range(relaxations):
        order = items[ORDERS + 1 + q]
        for j in range(n):
            order[j] = searched[j]
        by_density(items[VALUE], weight[q], order)
        ceiling = min(ceiling, relaxed(items, weight[q], order, k, left[q], enough))
    for _ in range(nodes):
        alive, enough = k < n, best - packed
        if alive:
            for q in range(relaxations - 1, -1, -1):
                order = items[ORDERS + 1 + q]
                if relaxed(items, weight[q], order, k, left[q], enough) <= enough:
                    alive = False
                    break
        if alive:  # as many of the next item as fit
            i = searched[k]
            change = items[MOST, i]
            for q in range(relaxations):
                if weight[q, i] > 0:
                    change = min(change, left[q] // weight[q, i])
        else:  # one less of the last item that has any
            k -= 1
            while k >= 0 and items[NUMBER, searched[k]] == 0:
                k -= 1
            if k < 0:
                return int(best)
            i, change = searched[k], -1
        items[NUMBER, i] += change
        packed += change * items[VALUE, i]
        for q in range(relaxations):
            left[q] -= change * weight[q, i]
        best = max(best, packed)
        k += 1
    return int(-ceiling - 1)


@kernel(error_model="numpy")
def multipliers(value: Ints, most: Ints, demand: Ints, capacity: Ints, units: Ints) -> None:
    """Find how much of a unit of each resource to count, so that one sum of all is a tight limit.

    Whole numbers >= 0, and any are valid: they are sought in floats, by subgradient steps on the
    relaxation sum_r u_r + sum_i most_i max(0, value_i - sum_r u_r demand_ir / capacity_r).

    Parameters
    ----------
    value, most, demand, capacity
        Arrays as in `best_load`.
    units : shape (R,)
        The result; 0 before.
    """
    items, resources = demand.shape
    share, free = np.empty((items, resources)), np.empty(items, np.int64)
    u, slope, best = np.empty(resources), np.empty(resources), np.empty(resources)
    top, least = 0.0, np.inf
    for i in range(items):
        free[i] = most[i]
        for r in range(resources):
            share[i, r] = demand[i, r] / capacity[r] if capacity[r] > 0 else 0.0
            if demand[i, r] > capacity[r]:
                free[i] = 0
        top = max(top, float(free[i]) * value[i])
    for r in range(resources):
        u[r] = best[r] = top / resources
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
                bound += free[i] * rest
                for r in range(resources):
                    slope[r] -= free[i] * share[i, r]
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
        if capacity[r] > 0 and total > 0.0:
            # units * capacity add up to 2**50, and what roundings of `resources` floats add
            units[r] = np.int64(best[r] / total * COUNTED / capacity[r])
