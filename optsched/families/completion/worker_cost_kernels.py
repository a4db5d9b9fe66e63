"""What the cheapest workers of a window cost, and on which servers they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.kernels import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Small = NDArray[np.int16]
Bools = NDArray[np.bool_]

FAR = 2**60


@kernel
def rooms_of(room: Small, m: int, level: int, a: int, b: int, most: int, out: Ints) -> int:
    """Fill ``out`` (H,) with how many workers fit on a server throughout; return the greatest."""
    first, second = room[level, a, m], room[level, b, m]
    top = 0
    for h in range(out.size):
        out[h] = min(first[h], second[h], most)
        top = max(top, out[h])
    return top


@kernel
def units_of(cost: Floats, start: int, duration: int, out: Floats) -> float:
    """Fill ``out`` (H,) with the cost of a window; return the least."""
    last = cost.shape[0] - 1
    a, b = min(start, last), min(start + duration, last)
    low = np.inf
    for h in range(out.size):
        out[h] = cost[b, h] - cost[a, h]
        low = min(low, out[h])
    return low


@kernel
def select(
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


@kernel
def spread_out(
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


@kernel
def without(k: int, h: int, unit: Floats, room: Ints, ahead: Ints, costs: Floats) -> float:
    """Return the cost of the k cheapest units that are not on one server of class h."""
    if k <= ahead[h] - room[h]:
        return float(costs[k])
    return float(costs[k + room[h]] - room[h] * unit[h])


@kernel
def fill(n: int, skip: int, order: Ints, room: Ints, count: Ints, out: Ints) -> int:
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
