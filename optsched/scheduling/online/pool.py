"""Free capacity of machines while an online policy runs, in exact integers.

Data have nine decimals (``resources.DECIMALS``), so in units of 1e-9 every demand is an integer,
whatever job may still arrive. A load fits if and only if it is at most the usable capacity rounded
down to a unit: the capacity test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import DECIMALS, exact, usable
from optsched.scheduling.online.round_robin import round_robin
from optsched.scheduling.placement import Placement

UNIT = 10**DECIMALS  # below 1e9 natural units, so every amount fits an int64

Counts = Ints


def in_units(demand: Sequence[float]) -> Counts:
    """Return a demand in units of 1e-9, shape (R,).

    >>> in_units((0.1, 2))
    array([ 100000000, 2000000000])
    """
    return np.array([int(exact(x) * UNIT) for x in demand], np.int64)


@dataclass(frozen=True, eq=False)
class HeldMachines:
    """The machines that a job holds until it gives them back."""

    workers: Counts  # (H,)
    ps: Counts  # (K,), or (H,) where workers and PS share machines

    @cached_property
    def number(self) -> int:
        """How many workers."""
        return int(self.workers.sum())

    @cached_property
    def placement(self) -> Placement:
        """The same, without the machines that are not used."""
        return Placement(
            *({int(h): int(x[h]) for h in np.flatnonzero(x)} for x in (self.workers, self.ps))
        )

    @cached_property
    def only(self) -> int | None:
        """The machine that everything sits on, where they are shared; None if there are more."""
        used = np.flatnonzero(self.workers + self.ps)
        return int(used[0]) if len(used) == 1 else None


class Pool:
    """Machines, the free capacity on them, and the pointer of the round robin.

    Parameters
    ----------
    capacities : sequence of shape (H, R)
        Capacity of every single machine, natural units.
    """

    def __init__(self, capacities: Sequence[Sequence[float]]) -> None:
        known: dict[float, int] = {}
        for x in {x for row in capacities for x in row}:
            known[x] = math.floor(usable(x) * UNIT)
        self.capacity = np.array([[known[x] for x in row] for row in capacities], np.int64)
        total = np.array(capacities, float).sum(axis=0) * UNIT  # (R,) without the tolerance
        self.total = np.where(total > 0, total, self.capacity.sum(axis=0))
        self.free = self.capacity.copy()  # (H, R)
        self.next = 0  # where the round robin goes on

    def copy(self) -> Self:
        """Return a pool in the same state that changes on its own."""
        twin = type(self).__new__(type(self))
        twin.capacity, twin.total = self.capacity, self.total
        twin.free, twin.next = self.free.copy(), self.next
        return twin

    def clear(self) -> None:
        """Take everything off the machines; the pointer stays."""
        self.free = self.capacity.copy()

    def max_units(self, demand: Counts, most: int) -> Counts:
        """Return how many of ``demand`` fit on each machine now, at most ``most``, shape (H,)."""
        return _units_that_fit(self.free, demand, most)

    def holds(self, demand: Counts, most: int) -> int:
        """Return how many of ``demand`` the empty machines hold together, at most ``most``."""
        return min(most, int(_units_that_fit(self.capacity, demand, most).sum()))

    def shares(self, demand: Counts) -> Floats:
        """Return the part of the total capacity that one ``demand`` is, by resource, shape (R,).

        Where there is nothing of a resource, the tolerance replaces it: a demand is a huge part.
        """
        shares: Floats = demand / self.total
        return shares

    def take(self, demand: Counts, counts: Counts) -> None:
        """Put ``counts[h]`` of ``demand`` on every machine h; they must fit."""
        self.free -= counts[:, None] * demand

    def give(self, demand: Counts, counts: Counts) -> None:
        """Undo :meth:`take`."""
        self.free += counts[:, None] * demand

    def place(self, demand: Counts, number: int) -> Counts:
        """Put ``number`` of ``demand`` round robin on machines with capacity; all must fit.

        Returns
        -------
        counts : shape (H,)
        """
        counts, self.next = round_robin(self.max_units(demand, number), number, self.next)
        self.take(demand, counts)
        return counts


def _units_that_fit(free: Counts, demand: Counts, most: int) -> Counts:
    wanted = demand > 0
    if not wanted.any():
        return np.full(len(free), most, np.int64)
    fits: Counts = (free[:, wanted] // demand[wanted]).min(axis=1)
    return np.minimum(fits, most)
