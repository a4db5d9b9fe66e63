"""Kernel: the most valuable load of one machine, within a number of steps.

Where prices make all jobs equally dense, a search for the best load would try nearly all of them.
So it stops after a number of steps: the load found so far is still a column, and the fractional
knapsack still bounds it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.numbers.ranking import rank

MOST_STEPS = 4000
WHOLE = 1.0 + 1e-9  # of the surrogate resource


class Machines(NamedTuple):
    """What B machines may host of n items: maximize ``value[b] @ y``, ``demand.T @ y`` fits."""

    value: Floats  # (B, n) of one of each item
    demand: Floats  # (n, R) units of each resource
    capacity: Floats  # (B, R) the same
    upper: Ints  # (B, n) most of each item


class Scratch(NamedTuple):
    """What the search works in."""

    floats: Floats  # (5, n + 1)
    ints: Ints  # (4, n + 1)
    free: Floats  # (n + 1, R) units of each resource


@kernel(error_model="numpy")
def best_loads(machines: Machines, bound: Floats, out: Ints, scratch: Scratch) -> None:
    """Find the most valuable load of every machine.

    Parameters
    ----------
    bound : array of shape (B,)
        Receives values that no y exceeds: that of ``out`` if the search was completed.
    out : array of shape (B, n)
        Receives a good y, nearly always a best one.
    """
    value, demand, capacity, upper = machines
    floats, ints, free = scratch
    items, resources = demand.shape
    zero = int(np.int64(0))  # no literal: a kernel that gets it would be compiled anew for it
    density, left, earned = floats[0], floats[1], floats[2]
    order, number, most, ranked = ints[0], ints[1], ints[2], ints[3]
    trial, size = floats[3], floats[4]
    for b in range(value.shape[0]):
        worth, n = value[b], zero
        for i in range(items):
            out[b, i] = 0
            if worth[i] <= 0.0 or upper[b, i] <= 0:
                continue
            fits = upper[b, i]
            for r in range(resources):
                if demand[i, r] > 0.0:
                    fits = min(fits, math.floor(capacity[b, r] / demand[i, r]))
            if fits > 0:
                order[n], ranked[n], most[i], size[i] = i, i, fits, 0.0
                n += 1
        if n == 0:
            bound[b] = 0.0
            continue
        # the resource, or all of them added up, whose fractional knapsack is the tightest
        tightest = np.inf
        for q in range(resources + 1):
            if q < resources and capacity[b, q] <= 0.0:
                continue
            room = 0.0
            for k in range(n):
                trial[ranked[k]] = 0.0
            for r in range(resources):
                if capacity[b, r] > 0.0 and (q == resources or r == q):
                    room += 1.0
                    for k in range(n):
                        trial[ranked[k]] += demand[ranked[k], r] / capacity[b, r]
            for k in range(n):
                i = ranked[k]
                trial[i] = trial[i] / room if room > 0.0 else 0.0
                density[i] = -worth[i] / trial[i] if trial[i] > 0.0 else -np.inf
            rank(density, ranked, n)  # densest first
            promise = _fractional(worth, trial, most, ranked, zero, n, WHOLE)
            if promise < tightest:
                tightest = promise
                for k in range(n):
                    order[k], size[ranked[k]] = ranked[k], trial[ranked[k]]
        for r in range(resources):
            free[0, r] = capacity[b, r]
        left[0], earned[0] = WHOLE, 0.0
        best, k, down, steps = 0.0, zero, True, 0
        while k >= 0:
            steps += 1
            if steps > MOST_STEPS:
                best = max(best, tightest)
                break
            if k == n:
                if earned[n] > best:
                    best = earned[n]
                    for j in range(n):
                        out[b, order[j]] = number[j]
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
            earned[k + 1] = earned[k] + number[k] * worth[i]
            promise = earned[k + 1] + _fractional(worth, size, most, order, k + 1, n, left[k + 1])
            if promise <= best * (1.0 + 1e-12):
                k, down = k - 1, False  # fewer of this item leave no more than its density
                continue
            k, down = k + 1, True
        bound[b] = best


@kernel(error_model="numpy")
def _fractional(
    value: Floats, size: Floats, most: Ints, order: Ints, first: int, last: int, left: float
) -> float:
    """Return the value of the fractional knapsack of the items in positions ``first`` on.

    ``value`` and ``size`` of one, and ``most`` of them, are (n,), by item; positions are those in
    ``order`` (n,). Sizes, and what is ``left``, are in one unit.
    """
    total = 0.0
    for k in range(first, last):
        j = order[k]
        if size[j] > 0.0 and most[j] * size[j] > left:
            return float(total + max(0.0, left) / size[j] * value[j])
        total += most[j] * value[j]
        left -= most[j] * size[j]
    return total
