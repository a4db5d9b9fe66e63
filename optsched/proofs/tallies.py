"""Fast feasibility check of large schedules in arrays; it accepts, or leaves it to the full check.

Feasibility checks use it first where a check of every entry takes long. It accepts only if every
sum was formed in integers that fit into 64 bits, by bounds on their magnitudes (Moore, 1966);
otherwise the full check looks at every entry and reports what is violated.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from optsched.numbers.arrays import Ints
from optsched.numbers.overflow import INT64


def rows_of(parts: Sequence[Sequence[tuple[int, int, int]]]) -> Ints | None:
    """Return rows [job, slot, machine, number] of the entries of each job; None: too large."""
    count = [len(part) for part in parts]
    try:
        flat = np.fromiter(
            chain.from_iterable(chain.from_iterable(parts)), np.int64, count=3 * sum(count)
        )
    except OverflowError:
        return None
    return np.column_stack([np.repeat(np.arange(len(count)), count), flat.reshape(-1, 3)])


def sums(keys: Ints, numbers: Ints) -> tuple[Ints, Ints]:
    """Return the different keys (>= 0), ascending, and the sum of ``numbers`` (>= 0) of each.

    The caller has seen to it that all numbers together fit into 64 bits.
    """
    order, known, first = _sorted(keys)
    return known, _added(numbers[order], first)


def _sorted(keys: Ints) -> tuple[Ints, Ints, Ints]:
    """Return an order that sorts ``keys``, the different ones, and where each begins."""
    order = np.argsort(keys, kind="stable")
    ascending = keys[order]
    first = np.flatnonzero(np.diff(ascending, prepend=-1))  # keys are >= 0
    return order, ascending[first], first


def _added(numbers: Ints, first: Ints) -> Ints:
    added: Ints = np.add.reduceat(numbers, first) if first.size else first
    return added


def within(rows: Ints, demand: Ints, capacity: Ints, slots: int) -> bool:
    """Return whether no machine holds more than its capacity in any slot.

    Parameters
    ----------
    rows : shape (n, 4)
        [job, slot, machine, number], numbers >= 0.
    demand : shape (I, R)
        Units of one, by job.
    capacity : shape (H, R)
        Units.
    slots : int
        All slots are below it.
    """
    if len(rows) == 0:
        return True
    order, place, first = _sorted(rows[:, 2] * slots + rows[:, 1])
    job, number = rows[order, 0], rows[order, 3]
    for r in range(demand.shape[1]):
        each = demand[job, r]
        if sum_beyond(number, int(each.max())):
            return False
        if np.any(_added(number * each, first) > capacity[place // slots, r]):
            return False
    return True


def sum_beyond(numbers: Ints, most: int) -> bool:
    """Return whether the sum of numbers >= 0, times at most ``most``, may leave 64 bits."""
    return int(numbers.max(initial=0)) * len(numbers) * max(1, most) > INT64
