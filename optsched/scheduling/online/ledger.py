"""Ledger of used capacity of one side of the cluster, slot by slot, in exact integers.

Demands become known job by job. The ledger counts in the finest decimal that it has met so far, and
counts anew when a finer one arrives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import Units, usable


class Ledger:
    """Use of a list of machines over a horizon.

    Attributes
    ----------
    used, free : arrays of shape (T, R, H)
        Integers, held as floats, in units of ``1 / scale[r]``.
    scale : list of int, shape (R,)
    """

    def __init__(self, capacity: Sequence[Sequence[float]], horizon: int) -> None:
        self.capacity = capacity
        resources = len(capacity[0])
        self.scale = [1] * resources
        self.used: Floats = np.zeros((horizon, resources, len(capacity)))
        self.free: Floats = np.empty_like(self.used)
        for r in range(resources):
            self._count_free(r)

    def units(self, demand: Sequence[float]) -> Floats:
        """Return ``demand`` in units, shape (R,); refine the units first where that needs it."""
        for r, scale in enumerate(Units([demand], len(demand)).scale):
            if scale > self.scale[r]:
                self.used[:, r] *= scale // self.scale[r]
                self.scale[r] = scale
                self._count_free(r)
        return np.array([float(round(d * s)) for d, s in zip(demand, self.scale, strict=True)])

    def take(self, slot: Ints, machine: Ints, amount: Floats) -> None:
        """Use ``amount[k]`` (units, shape (n, R)) on ``machine[k]`` in ``slot[k]``; none twice."""
        self.used[slot, :, machine] += amount
        self.free[slot, :, machine] -= amount

    def _count_free(self, r: int) -> None:
        whole = [float(math.floor(usable(row[r]) * self.scale[r])) for row in self.capacity]
        self.free[:, r] = np.array(whole) - self.used[:, r]
