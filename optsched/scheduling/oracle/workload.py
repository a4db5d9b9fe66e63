"""Kernels: dynamic program over slots, and its convex hull relaxation.

They distribute a job's work over slots at least cost. `hull_insert` solves the linear relaxation
of the multiple-choice knapsack by merging the lower convex hulls of the slots (Sinha and Zoltners,
1979), for every prefix of slots; `prefix_costs` is the exact dynamic program (Bellman, 1957),
whose state is the work done so far.

``cost[t, n]`` is the cost of n units of work in slot t, for n up to ``most[t]``; costs never
decrease in n, and cost[t, 0] = 0.
"""

from __future__ import annotations

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.slots import plain_int

EQUAL = 1e-9  # payoffs and costs this close, relatively, are equal


@kernel(inline="always")
def hull(cost: Floats, most: int, slope: Floats, length: Ints) -> int:
    """Return the number of segments of the lower convex hull of cost[0..most], slopes ascending.

    ``slope`` and ``length`` (most,), or longer, are filled: cost of a unit, and units.
    """
    used, at = plain_int(0), plain_int(0)
    for n in range(1, most + 1):
        # the new point as a segment from the last corner; corners above it are removed
        width, rise = n - at, cost[n] - cost[at]
        while used > 0 and rise * length[used - 1] <= slope[used - 1] * width:
            rise += slope[used - 1]
            width += length[used - 1]
            used -= 1
        slope[used] = rise  # divided once it is known which corners stay
        length[used] = width
        used += 1
        at = n
    for k in range(used):
        slope[k] /= length[k]
    return used


@kernel
def hull_insert(
    slope: Floats,
    length: Ints,
    used: int,
    slopes: Floats,
    lengths: Ints,
    held: int,
    work: int,
) -> tuple[int, float, float]:
    """Merge a slot's segments into the cheapest of all slots so far; enclose the cost of ``work``.

    The slot's ``slope`` and ``length`` as in `hull`. ``slopes`` and ``lengths`` (ascending,
    ``held`` entries) are updated in place, with max_units for ``held + used`` entries.

    Returns
    -------
    held : int
        The new number of entries: no more than hold ``work`` units.
    low, high : float
        A lower bound, and the cost of a distribution: it uses the last segment to its end, since
        only corners of the hulls are costs that exist. Both are inf if the capacity does not
        suffice.
    """
    i, j, k = held - 1, used - 1, held + used - 1
    while j >= 0:  # merge from the back
        if i >= 0 and slopes[i] > slope[j]:
            slopes[k], lengths[k] = slopes[i], lengths[i]
            i -= 1
        else:
            slopes[k], lengths[k] = slope[j], length[j]
            j -= 1
        k -= 1
    total, cost = 0, 0.0
    for k in range(held + used):
        total += lengths[k]
        cost += slopes[k] * lengths[k]
        if total >= work:
            return k + 1, cost - slopes[k] * (total - work), cost
    return held + used, np.inf, np.inf


@kernel(fastmath={"nnan", "nsz"})
def _relax_block(old: Floats, new: Floats, cost: Floats, most: int, lo: int, hi: int) -> None:
    """new[s] = min over n <= most workers of old[s - n] + cost[n], for s in lo..hi-1, s >= most."""
    for s in range(lo, hi):
        new[s] = old[s]
    n = 1
    while n + 3 <= most:
        c0, c1, c2, c3 = cost[n], cost[n + 1], cost[n + 2], cost[n + 3]
        for s in range(lo, hi):
            v = new[s]
            x = old[s - n] + c0
            v = x if x < v else v
            x = old[s - n - 1] + c1
            v = x if x < v else v
            x = old[s - n - 2] + c2
            v = x if x < v else v
            x = old[s - n - 3] + c3
            v = x if x < v else v
            new[s] = v
        n += 4
    while n <= most:
        c0 = cost[n]
        for s in range(lo, hi):
            x = old[s - n] + c0
            new[s] = x if x < new[s] else new[s]
        n += 1


@kernel(inline="always")
def prefix_costs(
    cost: Floats, most: Ints, first: int, last: int, work: int, pad: int, table: Floats
) -> None:
    """Fill ``table[t - first + 1, pad + s]``: least cost of s units of work in slots first..t.

    Row 0 is the beginning: no work done at no cost. Only states are computed that can be reached,
    and from which the work can still be completed by ``last``; others are inf. The first ``pad``
    columns must be inf, and no slot may do more than ``pad`` units. Slot t does n units, up to
    ``most[t]``, at ``cost[t, n]``.
    """
    table[0, pad : pad + work + 1] = np.inf
    table[0, pad] = 0.0
    still = 0
    for t in range(first, last + 1):
        still += most[t]
    reached = 0
    for t in range(first, last + 1):
        still -= most[t]
        lo = max(0, work - still)
        reached = min(work, reached + most[t])
        old, new = table[t - first], table[t - first + 1]
        new[pad : pad + lo] = np.inf
        new[pad + reached + 1 : pad + work + 1] = np.inf
        at = lo
        while at <= reached:
            # states that are treated together, to stay in the first-level cache
            end = min(at + 1024, reached + 1)
            _relax_block(old, new, cost[t], most[t], pad + at, pad + end)
            at = end


@kernel(inline="always")
def backtrack(
    cost: Floats,
    most: Ints,
    first: int,
    last: int,
    work: int,
    pad: int,
    table: Floats,
    amount: Ints,
) -> None:
    """Read the amounts of slots first..last, ``amount[t]``, out of a table as in `prefix_costs`.

    Among equal costs the least work in the last slot, then in the slot before it, and so on.
    """
    s = pad + work
    for t in range(last, first - 1, -1):
        old = table[t - first]
        goal = table[t - first + 1, s]
        goal += EQUAL * goal
        n = 0
        while n < most[t] and not old[s - n] + cost[t, n] <= goal:
            n += 1
        amount[t] = n
        s -= n
