"""Nodes of the branch-and-price tree: bounds on schedules, splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.engine.slot_tree import SlotNode
from optsched.numbers.arrays import Ints

ANY, INNER_ONLY, OUTER_ONLY = 0, 1, 2


@dataclass(frozen=True)
class Node(SlotNode):
    """Restrictions on the schedules, and on what sits on one machine."""

    mode: Ints  # (I, T) ANY, or which placements are allowed where there are workers


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
