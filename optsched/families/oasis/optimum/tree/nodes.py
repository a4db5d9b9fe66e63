"""What branch and price looks up at every node: blocks of machines, and the known schedules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optsched.engine.colgen import Column


@dataclass(frozen=True)
class Host:
    """A block of machines: a class in a slot."""

    side: int
    slot: int
    group: int  # the class


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
