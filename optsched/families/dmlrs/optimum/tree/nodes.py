"""The nodes of a branching tree over schedules: restrictions, splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.numbers.arrays import Ints

ANY, INNER_ONLY, OUTER_ONLY = 0, 1, 2


@dataclass(frozen=True)
class Node:
    """Restrictions on the schedules; completion slot T stands for "never"."""

    first: Ints  # (I,) earliest completion slot
    last: Ints  # (I,) latest completion slot; T: may stay out
    lower: Ints  # (I, T) fewest workers
    upper: Ints  # (I, T) most workers
    mode: Ints  # (I, T) ANY, or which placements are allowed where there are workers


@dataclass(frozen=True)
class Completion:
    """Job completes by ``slot``, or later (or never)."""

    job: int
    slot: int


@dataclass(frozen=True)
class Workers:
    """Job runs at most ``at`` workers in ``slot``, or more."""

    job: int
    slot: int
    at: int


@dataclass(frozen=True)
class Mode:
    """What job runs in ``slot`` sits on one machine, or on two or more."""

    job: int
    slot: int


def root(first: Ints, most: Ints, slots: int) -> Node:
    """Return the node without restrictions: ``first`` and ``most`` workers of each job, (I,)."""
    shape = (first.size, slots)
    return Node(
        first.copy(),
        np.full(first.size, slots),
        np.zeros(shape, np.int64),
        np.repeat(most[:, None], slots, axis=1),
        np.zeros(shape, np.int64),
    )
