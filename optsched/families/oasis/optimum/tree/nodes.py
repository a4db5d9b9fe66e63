"""Branching decisions of branch and price: bounds on schedules and on patterns of single machines.

They change the pricing subproblems, not the rows of the master (Vanderbeck, 2000), which is rebuilt
only where a class of machines is split into single ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from optsched.engine.colgen import Column
from optsched.engine.slot_tree import SlotNode
from optsched.numbers.arrays import Ints


@dataclass(frozen=True)
class Node(SlotNode):
    """Restrictions on the schedules, and on single machines."""

    # (side, slot, machine) -> (lower, upper) numbers of every job on that machine
    machines: Mapping[tuple[int, int, int], tuple[Ints, Ints]] = field(default_factory=dict)


@dataclass(frozen=True)
class Host:
    """A machine block: a class in a slot, or one of its machines if those are separate."""

    side: int
    slot: int
    group: int  # the class
    machine: int | None

    @property
    def place(self) -> tuple[int, int, int]:
        """The key of the node's limits; no class has one."""
        return (self.side, self.slot, -1 if self.machine is None else self.machine)


class Book:
    """The schedules among a growing list of columns, as arrays."""

    def __init__(self, jobs: int, slots: int) -> None:
        self.jobs, self.slots = jobs, slots
        self.columns: Sequence[Column] | None = None
        self._reset()

    def _reset(self) -> None:
        self.seen = 0
        self.place = np.empty(0, np.int64)  # index in the list
        self.job = np.empty(0, np.int64)
        self.completion = np.empty(0, np.int64)
        self.amount = np.empty((0, self.slots), np.int64)

    def read(self, columns: Sequence[Column]) -> None:
        """Add the new columns."""
        if columns is not self.columns:
            self.columns = columns
            self._reset()
        new = [k for k in range(self.seen, len(columns)) if columns[k].block < self.jobs]
        self.seen = len(columns)
        if new:
            choices = [columns[k].choice for k in new]
            self.place = np.append(self.place, new)
            self.job = np.append(self.job, [columns[k].block for k in new])
            self.completion = np.append(self.completion, [c for c, _ in choices])
            self.amount = np.concatenate([self.amount, np.array([a for _, a in choices])])


@dataclass(frozen=True)
class MachineBranch:
    """Job has at most ``at`` workers (or PS) on one machine in ``slot``, or more."""

    job: int
    slot: int
    side: int
    machine: int
    at: int
