"""Kernels: greedy choice of the cheapest servers for n workers in a window.

Filling servers by increasing price is optimal for one kind of worker (Dantzig, 1957).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

FAR = 2**60


class Line(NamedTuple):
    """Classes of servers in a window: the price of a worker there, and the cheapest in order."""

    unit: Floats  # (H,) cost of a worker
    max_units: Ints  # (H,) workers on one server
    number: Ints  # (H,) servers
    order: Ints  # (H,) the cheapest first
    costs: Floats  # (2 n + 1,) of this many of the cheapest workers
    ahead: Ints  # (H,) how many of these come before the class ends
    one: Ints  # (H,) workers on the servers, and those of another placement
    other: Ints  # (H,)


@kernel
def units_of(cost: Floats, k: int, start: int, end: int, out: Floats) -> float:
    """Fill ``out`` (H,) with the cost of one of kind k in a window; return the least.

    ``cost`` (K, L + 1, H) are prefix sums over slots, of one worker (PS).
    """
    last = cost.shape[1] - 1
    before, after = cost[k, min(start, last)], cost[k, min(end, last)]
    low = np.inf
    for h in range(out.size):
        out[h] = after[h] - before[h]
        low = min(low, out[h])
    return low


@kernel
def line_up(n: int, more: int, limit: float, line: Line) -> int:
    """Put the cheapest free servers first in ``order`` until n + ``more`` workers fit.

    Return how many servers that takes; -1 once the cheapest n must cost more than ``limit``. Then
    costs[x] is that of the x cheapest units, as far as twice n; classes that are not in ``order``
    cost more than that.
    """
    unit, max_units, order, costs, ahead = (
        line.unit,
        line.max_units,
        line.order,
        line.costs,
        line.ahead,
    )
    reach = min(2 * n, costs.size - 1)
    for h in range(unit.size):
        ahead[h] = FAR  # and not taken yet
    length, cost, have, total = 0, 0.0, 0, 0
    costs[0] = 0.0
    while n + more > 0:
        best = -1
        for h in range(unit.size):
            if max_units[h] > 0 and ahead[h] == FAR and (best < 0 or unit[h] < unit[best]):
                best = h
        if best < 0:
            break
        if cost + n * unit[best] > limit:
            return -1
        order[length] = best
        length += 1
        units = max_units[best] * line.number[best]
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
def _fill(n: int, skip: int, length: int, line: Line, out: Ints) -> None:
    """Put n workers on the cheapest servers, ``out`` (H,); one of class ``skip`` has the others."""
    for h in range(out.size):
        out[h] = 0
    for i in range(length):
        h = line.order[i]
        units = line.max_units[h] * (line.number[h] - (1 if h == skip else 0))
        out[h] = min(n, units)
        n -= out[h]
        if n == 0:
            break


@kernel
def comes_first(
    n: int, at: tuple[int, int], other_at: tuple[int, int], length: int, line: Line
) -> bool:
    """Whether g of n workers on server h, ``at`` = (h, g), have more of them on low servers.

    Than others have; where that is equal, more PS.
    """
    one, other = line.one, line.other
    _fill(n - at[1], at[0], length, line, one)
    _fill(n - other_at[1], other_at[0], length, line, other)
    one[at[0]] += at[1]
    other[other_at[0]] += other_at[1]
    for k in range(one.size):
        if one[k] != other[k]:
            return bool(one[k] > other[k])
    return bool(at[0] < other_at[0])
