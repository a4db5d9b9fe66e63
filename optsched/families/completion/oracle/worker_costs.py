"""What the cheapest workers of a window cost, and on which servers they are."""

from __future__ import annotations

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

FAR = 2**60


@kernel
def units_of(cost: Floats, k: int, start: int, end: int, out: Floats) -> float:
    """Fill ``out`` (H,) with the cost of one of kind k in a window; return the least."""
    last = cost.shape[1] - 1
    before, after = cost[k, min(start, last)], cost[k, min(end, last)]
    low = np.inf
    for h in range(out.size):
        out[h] = after[h] - before[h]
        low = min(low, out[h])
    return low


@kernel
def line_up(
    n: int,
    more: int,
    limit: float,
    unit: Floats,
    room: Ints,
    count: Ints,
    order: Ints,
    costs: Floats,
    ahead: Ints,
) -> int:
    """Put the cheapest servers with room first in ``order`` until n + ``more`` workers fit.

    Return how many servers that takes; -1 once the cheapest n must cost more than ``limit``. Then
    costs[x] is that of the x cheapest units, as far as twice n, and ahead[h] is how many units come
    before class h ends; classes that are not in ``order`` are dearer than that.
    """
    reach = min(2 * n, costs.size - 1)
    for h in range(unit.size):
        ahead[h] = FAR  # and not taken yet
    length, cost, have, total = 0, 0.0, 0, 0
    costs[0] = 0.0
    while n + more > 0:
        best = -1
        for h in range(unit.size):
            if room[h] > 0 and ahead[h] == FAR and (best < 0 or unit[h] < unit[best]):
                best = h
        if best < 0:
            break
        if cost + n * unit[best] > limit:
            return -1
        order[length] = best
        length += 1
        units = room[best] * count[best]
        total += units
        ahead[best] = total
        stop = min(reach, total)
        while have < stop:
            costs[have + 1] = costs[have] + unit[best]
            have += 1
        cost += min(units, n) * unit[best]
        more -= max(0, units - n)
        n = max(0, n - units)
    for x in range(have + 1, reach + 1):
        costs[x] = np.inf
    return length


@kernel
def _fill(n: int, skip: int, length: int, order: Ints, room: Ints, count: Ints, out: Ints) -> None:
    """Put n workers on the cheapest servers; on one of class ``skip`` are all the others."""
    for h in range(out.size):
        out[h] = 0
    for i in range(length):
        h = order[i]
        units = room[h] * (count[h] - (1 if h == skip else 0))
        out[h] = min(n, units)
        n -= out[h]
        if n == 0:
            break


@kernel
def comes_first(
    n: int,
    h: int,
    g: int,
    other_h: int,
    other_g: int,
    length: int,
    order: Ints,
    room: Ints,
    count: Ints,
    one: Ints,
    other: Ints,
) -> bool:
    """Whether g of n workers on server h have more on low servers than others; then more PS."""
    _fill(n - g, h, length, order, room, count, one)
    _fill(n - other_g, other_h, length, order, room, count, other)
    one[h] += g
    other[other_h] += other_g
    for k in range(one.size):
        if one[k] != other[k]:
            return bool(one[k] > other[k])
    return bool(h < other_h)
