"""Kernel: the most valuable load of one machine, within a number of steps.

Where prices make all jobs equally dense, a search for the best load would try nearly all of them.
So it stops after a number of steps: the load found so far is still a column, and the fractional
knapsack still bounds it.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.kernels import kernel
from optsched.scheduling.slots import Floats, Ints

MOST_STEPS = 4000


@kernel
def best_loads(
    value: Floats, demand: Floats, capacity: Floats, upper: Ints, bound: Floats, out: Ints
) -> None:
    """Solve `best_load` for B machines: value, upper, out (B, n), capacity (B, R), bound (B,)."""
    for b in range(value.shape[0]):
        bound[b] = best_load(value[b], demand, capacity[b], upper[b], out[b])


@kernel
def best_load(value: Floats, demand: Floats, capacity: Floats, upper: Ints, out: Ints) -> float:
    """Maximize ``value @ y`` with 0 <= y <= upper and ``demand.T @ y <= capacity``.

    ``out`` of shape (n,) receives a good y, nearly always a best one. Returns a value that no y
    exceeds: that of ``out`` if the search was completed.
    """
    n, resources = 0, capacity.size
    items = np.empty(value.size, np.int64)
    most = np.zeros(value.size, np.int64)
    for i in range(value.size):
        out[i] = 0
        if value[i] <= 0.0 or upper[i] <= 0:
            continue
        fits = upper[i]
        for r in range(resources):
            if demand[i, r] > 0.0:
                fits = min(fits, math.floor(capacity[r] / demand[i, r]))
        if fits > 0:
            items[n], most[i] = i, fits
            n += 1
    if n == 0:
        return 0.0
    size, order, relaxed = _surrogate(value, demand, capacity, items[:n], most)
    free = np.empty((n + 1, resources))
    for r in range(resources):
        free[0, r] = capacity[r]
    left, earned = np.empty(n + 1), np.zeros(n + 1)
    left[0] = 1.0 + 1e-9
    number = np.zeros(n, np.int64)
    best, k, down, steps = 0.0, 0, True, 0
    while k >= 0:
        steps += 1
        if steps > MOST_STEPS:
            return max(best, relaxed)
        if k == n:
            if earned[n] > best:
                best = earned[n]
                for j in range(n):
                    out[order[j]] = number[j]
            k, down = k - 1, False
            continue
        i = order[k]
        if down:
            number[k] = most[i]
            for r in range(resources):
                if demand[i, r] > 0.0:
                    number[k] = min(number[k], math.floor(free[k, r] / demand[i, r]))
        else:
            number[k] -= 1
        if number[k] < 0:
            k, down = k - 1, False
            continue
        for r in range(resources):
            free[k + 1, r] = free[k, r] - number[k] * demand[i, r]
        left[k + 1] = left[k] - number[k] * size[i]
        earned[k + 1] = earned[k] + number[k] * value[i]
        promise = earned[k + 1] + _fractional(value, size, most, order, k + 1, left[k + 1])
        if promise <= best * (1.0 + 1e-12):
            k, down = k - 1, False  # fewer of this item leave no more than its density
            continue
        k, down = k + 1, True
    return best


@kernel
def _fractional(
    value: Floats, size: Floats, most: Ints, order: Ints, first: int, left: float
) -> float:
    """Return the value of the fractional knapsack of the items from position ``first`` on."""
    total = 0.0
    for k in range(first, order.size):
        j = order[k]
        if size[j] > 0.0 and most[j] * size[j] > left:
            return float(total + max(0.0, left) / size[j] * value[j])
        total += most[j] * value[j]
        left -= most[j] * size[j]
    return total


@kernel
def _surrogate(
    value: Floats, demand: Floats, capacity: Floats, items: Ints, most: Ints
) -> tuple[Floats, Ints, float]:
    """Choose the resource, or all of them added up, whose fractional knapsack is the tightest.

    Returns the sizes of all items (the whole is 1), ``items`` by falling density, and the bound.
    """
    chosen, order, tightest = np.zeros(value.size), items, np.inf
    for q in range(capacity.size + 1):
        together = q == capacity.size
        if not together and capacity[q] <= 0.0:
            continue
        size, room = np.zeros(value.size), 0.0
        for r in range(capacity.size):
            if capacity[r] > 0.0 and (together or r == q):
                room += 1.0
                for i in items:
                    size[i] += demand[i, r] / capacity[r]
        density = np.empty(items.size)
        for k in range(items.size):
            i = items[k]
            size[i] /= room
            density[k] = -value[i] / size[i] if size[i] > 0.0 else -np.inf
        ranked = items[np.argsort(density)]
        bound = _fractional(value, size, most, ranked, 0, 1.0 + 1e-9)
        if bound < tightest:
            chosen, order, tightest = size, ranked, bound
    return chosen, order, tightest
