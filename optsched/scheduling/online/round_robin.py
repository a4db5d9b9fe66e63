"""Round-robin and first-fit placement of equal units on machines with limited capacity."""

from __future__ import annotations

import numpy as np

from optsched.numbers.arrays import Ints

Counts = Ints


def round_robin(max_units: Counts, number: int, start: int) -> tuple[Counts, int]:
    """Deal out ``number`` units one by one, machine after machine, passing over full ones.

    Parameters
    ----------
    max_units : shape (H,)
        How many units fit on each machine.
    number : int
        At most ``max_units.sum()``.
    start : int
        The machine that is tried first.

    Returns
    -------
    counts : shape (H,)
    next : int
        The machine after the last one used.

    >>> round_robin(np.array([1, 5, 5]), 6, start=1)
    (array([1, 3, 2]), 2)
    """
    if number == 0:
        return np.zeros_like(max_units), start
    turned = np.roll(max_units, -start)
    rounds = _full_rounds(turned, number)
    counts = np.minimum(turned, rounds)
    ready = np.flatnonzero(turned > rounds)[: number - int(counts.sum())]
    counts[ready] += 1
    last = int(ready[-1]) if len(ready) else int(np.flatnonzero(turned >= rounds)[-1])
    return np.roll(counts, start), (start + last + 1) % len(max_units)


def _full_rounds(max_units: Counts, number: int) -> int:
    """Return how many rounds can be dealt out in full: the largest L, sum min(capacity, L) <= n."""
    ordered = np.sort(max_units)
    before = np.concatenate(([0], np.cumsum(ordered)[:-1]))  # held by the smaller machines
    level = (number - before) // np.arange(
        len(max_units), 0, -1
    )  # if all from here on have more capacity
    short = np.flatnonzero(level < ordered)
    return int(level[short[0]]) if len(short) else int(ordered[-1])


def first_fit(max_units: Counts, number: int) -> Counts:
    """Fill the machines up in their order; what does not fit is left out.

    >>> first_fit(np.array([2, 0, 5]), 4)
    array([2, 0, 2])
    """
    before = np.cumsum(max_units) - max_units
    filled: Counts = np.clip(number - before, 0, max_units)
    return filled
