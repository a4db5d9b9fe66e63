"""Kernels: greedy placement of n workers and their parameter servers (PS) in one slot.

Filling machines by increasing price per worker is optimal for one kind of worker, as in the
continuous knapsack (Dantzig, 1957). The pricing subproblems use it to compute the cost of a slot.

Arrays have the layout (slot, resource, machine), so that inner loops run over machines. A
*machine* here may stand for `count` equal ones. Demands, capacities and free amounts are integers
in `resources.Units`, held as floats: below 2**50 a quotient of two of them rounds down correctly.
Prices are per such unit.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel


@kernel(inline="always")
def plain_int(x: int) -> int:
    """Return ``x``, no literal any more: for one, numba compiles the kernel that gets it anew."""
    return int(np.int64(x))


@kernel(fastmath={"nnan", "nsz"})
def unit_prices(price: Floats, demand: Floats, out: Floats) -> None:
    """Price of one worker, by units: ``out[h] = sum_r price[r, h] demand[r]`` on machine h."""
    out[:] = 0.0
    for r in range(demand.size):
        if demand[r] > 0.0:
            d = demand[r]
            for h in range(out.size):
                out[h] += price[r, h] * d


@kernel(fastmath={"nnan", "nsz"})
def units_that_fit(free: Floats, demand: Floats, most: int, out: Floats) -> None:
    """Count by units what fits: ``out[h] = min(most, floor(free[r, h] / demand[r]))``."""
    out[:] = most
    for r in range(demand.size):
        if demand[r] > 0.0:
            d = demand[r]
            for h in range(out.size):
                q = free[r, h] / d
                out[h] = q if q < out[h] else out[h]
    for h in range(out.size):
        out[h] = math.floor(out[h])


@kernel
def charge_leftovers(
    price: Floats, free: Floats, max_units: Floats, share: float, out: Floats
) -> None:
    """Raise unit prices towards the value of all that is free on a machine, over what it holds.

    A machine that a job fills may be left with capacity that no job can use. With ``share`` = 1 the
    job pays for it, so that it prefers machines that it fills without a rest. ``price`` of a unit
    and what is ``free`` are (R, H); ``max_units`` for workers and their price, ``out``, are (H,).
    """
    for h in range(out.size):
        if max_units[h] >= 1.0:
            left_value = 0.0
            for r in range(price.shape[0]):
                left_value += price[r, h] * free[r, h]
            out[h] += share * max(0.0, left_value / max_units[h] - out[h])


@kernel  # inlined by numba itself it takes a twentieth longer
def _goes_before(price: Floats, a: int, b: int) -> bool:
    """Whether a worker is cheaper on machine a, ``price`` (H,), or as cheap and a is lower."""
    # unit prices closer than this are equal, and the lower index goes first
    if price[a] < price[b] * (1.0 - 1e-12):
        return True
    if price[b] < price[a] * (1.0 - 1e-12):
        return False
    return a < b


@kernel
def _sift(heap: Ints, size: int, price: Floats, k: int) -> None:
    """Let entry k of a ``heap`` (H,) of machines, by ``price`` (H,) of a worker, sink down."""
    while True:
        child = 2 * k + 1
        if child >= size:
            return
        if child + 1 < size and _goes_before(price, heap[child + 1], heap[child]):
            child += 1
        if not _goes_before(price, heap[child], heap[k]):
            return
        heap[k], heap[child] = heap[child], heap[k]
        k = child


@kernel
def cheapest(
    price: Floats,
    max_units: Floats,
    count: Ints,
    most: int,
    heap: Ints,
    cost: Floats,
) -> int:
    """Fill machines from the cheapest; ties go to the lowest index.

    Parameters
    ----------
    price, max_units : arrays of shape (H,)
        Of one worker; of one machine.
    count : array of shape (H,)
        How many equal machines each entry stands for.
    most : int
    heap : scratch of shape (H,)
    cost : array of shape (most + 1,), or longer
        Filled with the cost of 0, 1, ... workers.

    Returns
    -------
    int
        How many workers fit, at most ``most``.
    """
    first, size = plain_int(0), plain_int(0)
    for h in range(price.size):
        if max_units[h] >= 1.0:
            heap[size] = h
            size += 1
    for k in range(size // 2 - 1, -1, -1):
        _sift(heap, size, price, k)
    placed = 0
    total = 0.0
    cost[0] = 0.0
    while placed < most and size > 0:
        h = heap[0]
        size -= 1
        heap[0] = heap[size]
        _sift(heap, size, price, first)
        put = min(most - placed, int(max_units[h]) * count[h])
        for _ in range(put):
            placed += 1
            total += price[h]
            cost[placed] = total
    return placed


@kernel(inline="always")
def place(
    price: Floats,
    max_units: Floats,
    count: Ints,
    number: int,
    heap: Ints,
    machine: Ints,
    amount: Ints,
) -> int:
    """Place ``number`` workers as `cheapest` does; return how many entries of the results are used.

    These are ``machine`` (H,), and its ``amount`` (H,) of workers. The others as in `cheapest`.
    """
    first, size = plain_int(0), plain_int(0)
    for h in range(price.size):
        if max_units[h] >= 1.0:
            heap[size] = h
            size += 1
    for k in range(size // 2 - 1, -1, -1):
        _sift(heap, size, price, k)
    used = 0
    while number > 0 and size > 0:
        h = heap[0]
        size -= 1
        heap[0] = heap[size]
        _sift(heap, size, price, first)
        put = min(number, int(max_units[h]) * count[h])
        machine[used] = h
        amount[used] = put
        number -= put
        used += 1
    return used


@kernel(inline="always")
def slot_cost(
    worker_cost: Floats, workers: int, ps_cost: Floats, ps: int, ps_needed: Ints, cost: Floats
) -> int:
    """Fill ``cost[n] = worker_cost[n] + ps_cost[ps_needed[n]]``; return the most workers n."""
    n = 0
    while n <= workers and ps_needed[n] <= ps:
        cost[n] = worker_cost[n] + ps_cost[ps_needed[n]]
        n += 1
    return n - 1
