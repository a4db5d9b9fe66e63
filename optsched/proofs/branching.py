"""Branching decisions on the path to a leaf (Land and Doig, 1960), for jobs that run in slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from pydantic import Field

from optsched.numbers.arrays import Flags, Ints
from optsched.numbers.overflow import INT64
from optsched.problem import Frozen
from optsched.proofs.limits import inside
from optsched.proofs.tree import Change, change, walk

Index = Annotated[int, Field(ge=0, le=INT64)]
P = TypeVar("P")  # prices as a family's bound takes them


class SlotSplit(Frozen):
    """Divides the schedules by what a job does in a slot."""

    job: Index
    slot: Index
    left: Index = Field(description="index of the node of the first half")
    right: Index = Field(description="index of the node of the second half")

    def check(self, k: int, inst: Any) -> None:
        """Refuse a job or slot that the instance does not have, or as many workers as chunks."""
        inside(f"node {k}", "job", self.job, 0, len(inst.jobs) - 1)
        job, place = inst.jobs[self.job], f"node {k}, job {self.job}"
        inside(place, "slot", self.slot, job.arrival, inst.horizon - 1)
        if hasattr(self, "at"):
            inside(place, "at", self.at, 0, job.chunks - 1)


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

    def restrict(self, split: Any, right: bool) -> list[Change]:
        """Go down one side of a split; return the data that restore the state.

        A split "workers" has at most ``at`` of them in its slot | more; any other one completes
        the job in its slot or before | later or never.
        """
        i, t = split.job, split.slot
        if split.node == "workers":
            if right:
                return [change(self.low, (i, t), max(self.low[i, t], split.at + 1))]
            return [change(self.high, (i, t), min(self.high[i, t], split.at))]
        if right:
            return [change(self.first, i, max(self.first[i], t + 1))]
        last = change(self.last, i, min(self.last[i], t))
        return [last, change(self.never, i, False)]

    def running(self, arrival: Ints) -> Flags:
        """Return in which slots each job may have workers, shape (I, T)."""
        slots = np.arange(self.low.shape[1])[None, :]
        found: Flags = (arrival[:, None] <= slots) & (slots <= self.last[:, None])
        return found


def priced_leaves(
    nodes: Sequence[Any],
    limits: JobLimits,
    read: Callable[[int, Any], P],
    bound: Callable[[JobLimits, P], int | None],
) -> Iterator[int | None]:
    """Yield the bounds of the leaves of a checked tree from left to right.

    Parameters
    ----------
    nodes : sequence
        Leaves and splits, with ``prices`` or None.
    limits : JobLimits
        Those at the root.
    read : callable
        Given the index of a node (-1: none) and its prices, returns what ``bound`` takes.
    bound : callable
        Given the limits of a leaf and the nearest prices above it, returns its bound.
    """

    @lru_cache(maxsize=1)  # price sets come one after the other
    def priced(owner: int) -> P:
        return read(owner, nodes[owner].prices if owner >= 0 else None)

    for _, owner in walk(nodes, limits.restrict):
        yield bound(limits, priced(owner))
