"""Branching decisions on the path to a leaf (Land and Doig, 1960), for jobs that run in slots."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field

from optsched.numbers.arrays import Flags, Ints
from optsched.numbers.overflow import INT64
from optsched.problem import Frozen
from optsched.proofs.limits import inside
from optsched.proofs.tree import Change, change

Index = Annotated[int, Field(ge=0, le=INT64)]


class SlotSplit(Frozen):
    """Divides the schedules by what a job does in a slot."""

    job: Index
    slot: Index
    left: Index = Field(description="index of the node of the first half")
    right: Index = Field(description="index of the node of the second half")

    def check(self, k: int, inst: Any, at: int | None = None) -> None:
        """Refuse a job or slot that the instance does not have, or as many workers as chunks."""
        inside(f"node {k}", "job", self.job, 0, len(inst.jobs) - 1)
        job, place = inst.jobs[self.job], f"node {k}, job {self.job}"
        inside(place, "slot", self.slot, job.arrival, inst.horizon - 1)
        if at is not None:
            inside(place, "at", at, 0, job.chunks - 1)


@dataclass
class JobLimits:
    """Restrictions on each job on the path to a leaf: I jobs, T slots."""

    first: Ints  # (I,) earliest and
    last: Ints  # (I,) latest slot in which it may complete
    never: Flags  # (I,) whether it may stay out
    low: Ints  # (I, T) numbers of workers
    high: Ints  # (I, T)

    @classmethod
    def at_root(cls, arrival: Ints, last: Ints, most: Ints, slots: int, *more: Any) -> Self:
        """Return the limits at the root of a tree.

        Parameters
        ----------
        arrival, last : shape (I,)
            The slots in which a job may complete.
        most : shape (I,)
            Workers in a slot.
        slots : int
            T.
        *more
            Further fields.
        """
        jobs = len(arrival)
        low, high = np.zeros((jobs, slots), np.int64), np.repeat(most[:, None], slots, axis=1)
        return cls(arrival.copy(), last.copy(), np.ones(jobs, np.bool_), low, high, *more)

    def copy(self) -> Self:
        """Return a copy that may be changed."""
        return type(self)(*(copy(getattr(self, field.name)) for field in fields(self)))

    def completion(self, split: SlotSplit, later: bool) -> list[Change]:
        """Let a job complete in the slot of a split or before, or else later or never."""
        i, t = split.job, split.slot
        if later:
            return [change(self.first, i, max(self.first[i], t + 1))]
        last = change(self.last, i, min(self.last[i], t))
        return [last, change(self.never, i, False)]

    def workers(self, split: SlotSplit, at: int, more: bool) -> list[Change]:
        """Let a job have at most ``at`` workers in the slot of a split, or more."""
        where = split.job, split.slot
        if more:
            return [change(self.low, where, max(self.low[where], at + 1))]
        return [change(self.high, where, min(self.high[where], at))]

    def running(self, arrival: Ints) -> Flags:
        """Return in which slots each job may have workers, shape (I, T)."""
        slots = np.arange(self.low.shape[1])[None, :]
        found: Flags = (arrival[:, None] <= slots) & (slots <= self.last[:, None])
        return found
