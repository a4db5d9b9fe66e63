"""Enumeration of the vectors of choices that all jobs together can run in one slot.

Vectors are built job by job, and dominated ways to place them are dropped, as in dynamic
programming with lists (Nemhauser and Ullmann, 1969). A choice of a job is a number of workers on
one machine (inner), or on two or more (outer), with the parameter servers (PS) that they need. A
vector holds a choice of every job, 0 for none. Machines are the same in all slots, and so are the
feasible vectors. Integers only.

Inner choices are placed on single machines, exactly; outer ones only have to fit into the capacity
that all machines together have left. Conflicts exclude vectors that still do not fit, see
`program`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from optsched.families.dmlrs.certificate.forced import (
    INNER_ONLY,
    OUTER_ONLY,
    Conflict,
    Residual,
    less,
    load_of,
    put,
)
from optsched.families.dmlrs.instance import IMPOSSIBLE, LARGEST_UNITS, DmlrsInstance
from optsched.numbers.arrays import Flags, Ints
from optsched.numbers.overflow import Magnitude, TooLargeError

MOST_MACHINES = 2**10
MOST_COMBINED = 2**22  # vectors, whether they are possible or not
MOST_PLACED = 200_000  # inner placements that are looked at
MOST_VECTORS = 200_000  # possible ones, before the greatest are chosen


class Choice(NamedTuple):
    """Option of a job in a slot."""

    work: int  # at most all of the job's
    mode: int  # INNER_ONLY or OUTER_ONLY
    workers: int
    ps: int
    load: Residual  # on one machine, or on all


def choices_of(inst: DmlrsInstance) -> list[list[Choice]]:
    """Return the choices of every job by rising work; ties: inner ones first.

    Those that do not fit on empty machines are left out, and more workers than do all of the work.
    """
    a = inst.arrays
    Magnitude.of("capacity of a machine in units", a.capacity).fits(LARGEST_UNITS - 1)
    Magnitude("number of machines", len(inst.capacity)).fits(MOST_MACHINES)
    machines = [tuple(row) for row in a.capacity.tolist()]
    whole = tuple(sum(column) for column in zip(*machines, strict=True))
    found = []
    for i, needs in enumerate(inst.needs):
        alpha, beta = a.worker_demand[i].tolist(), a.ps_demand[i].tolist()
        mine: list[Choice] = []
        for mode, table, rate in (
            (INNER_ONLY, needs.ps_inner, needs.inner),
            (OUTER_ONLY, needs.ps_outer, needs.outer),
        ):
            if mode == OUTER_ONLY and len(machines) == 1:
                continue
            residuals, done = machines if mode == INNER_ONLY else [whole], 0
            for n, m in enumerate(table):
                work = min(needs.work, n * rate)
                if m == IMPOSSIBLE or work <= done:
                    continue
                load = load_of(alpha, n, beta, m)
                if all(less(residual, load) is None for residual in residuals):
                    break
                mine.append(Choice(work, mode, n, m, load))
                done = work
        found.append(sorted(mine) if inst.earliest[i] is not None else [])
    return found


class Vectors:
    """The vectors that are possible in a slot.

    Attributes
    ----------
    every : shape (M, I)
        For each job the number of its choice, from 1, or 0.
    """

    def __init__(
        self,
        inst: DmlrsInstance,
        choices: Sequence[Sequence[Choice]],
        check_stop: Callable[[], None],
    ) -> None:
        self.choices = choices
        combined = math.prod(len(mine) + 1 for mine in choices)
        Magnitude("vectors of choices", combined).fits(MOST_COMBINED)
        self.every = _with_outer(inst, choices, _inner(inst, choices, check_stop))

    def holding(self, conflict: Conflict) -> Flags:
        """Return which vectors hold a conflict: as many workers or more, in the same modes."""
        found = np.ones(len(self.every), np.bool_)
        for job, mode, workers in conflict:
            mine = self.choices[job]
            enough = [c.mode == mode and c.workers >= workers for c in mine]
            found &= np.array([False, *enough])[self.every[:, job]]
        return found

    def forbid(self, conflict: Conflict) -> None:
        """Leave out the vectors that hold a conflict."""
        self.every = self.every[~self.holding(conflict)]


def _inner(
    inst: DmlrsInstance, choices: Sequence[Sequence[Choice]], check_stop: Callable[[], None]
) -> Ints:
    """Return the vectors of inner choices that find a place, each on a single machine."""
    empty: tuple[Residual, ...] = tuple(sorted(tuple(row) for row in inst.arrays.capacity.tolist()))
    level: dict[tuple[int, ...], list[tuple[Residual, ...]]] = {(): [empty]}
    placed = 0
    for mine in choices:
        grown = {}
        for vector, ways in level.items():
            check_stop()
            grown[*vector, 0] = ways
            for k, choice in enumerate(mine, 1):
                if choice.mode == INNER_ONLY:
                    left = {after for residuals in ways for after in put(residuals, choice.load)}
                    if left:
                        grown[*vector, k] = _largest(left)
                    placed += 1 + len(left)
            if placed > MOST_PLACED:
                raise TooLargeError(f"more than {MOST_PLACED} inner placements, expected fewer")
        level = grown
    return np.array(list(level), np.int64).reshape(len(level), len(choices))


def _largest(ways: set[tuple[Residual, ...]]) -> list[tuple[Residual, ...]]:
    """Return the ways to leave capacity that no other one dominates, machine by machine."""
    order = sorted(ways, key=lambda residuals: (-sum(map(sum, residuals)), residuals))
    table = np.array(order, np.int64).reshape(len(order), -1)
    return [order[k] for k in _undominated(table).tolist()]


def _with_outer(inst: DmlrsInstance, choices: Sequence[Sequence[Choice]], vectors: Ints) -> Ints:
    """Return the vectors, and all with outer choices next to, as far as capacities add up to them.

    Sums are below 2**50 units on each of 2**10 machines.
    """
    whole = inst.arrays.capacity.sum(axis=0)
    none = (0,) * whole.size
    left = np.broadcast_to(whole, (len(vectors), whole.size)).copy()
    for i, mine in enumerate(choices):  # what fits on one machine is below its capacity
        inner = [c.load if c.mode == INNER_ONLY else none for c in mine]
        left -= np.array([none, *inner], np.int64)[vectors[:, i]]
    for i, mine in enumerate(choices):
        rows, rest = [vectors], [left]
        free = vectors[:, i] == 0
        for k, choice in enumerate(mine, 1):
            if choice.mode == OUTER_ONLY:
                after = left[free] - np.array(choice.load, np.int64)
                fits = (after >= 0).all(axis=1)
                more = vectors[free][fits]
                more[:, i] = k
                rows.append(more)
                rest.append(after[fits])
        Magnitude("vectors that are possible", sum(map(len, rows))).fits(MOST_VECTORS)
        vectors, left = np.concatenate(rows), np.concatenate(rest)
    return vectors


def greatest(vectors: Ints) -> Ints:
    """Return the vectors of which no other one has at least the same choices; shape (m, I)."""
    order = np.lexsort((*vectors.T, -vectors.sum(axis=1)))  # by falling sum
    return vectors[order[_undominated(vectors[order])]]


def _undominated(rows: Ints) -> Ints:
    """Return the rows below no other one; sorted by falling sum, equal ones: the first."""
    index, found = np.arange(len(rows)), []
    while index.size:
        top = rows[index[0]]
        found.append(int(index[0]))
        index = index[(rows[index] > top).any(axis=1)]
    return np.array(found, np.int64)
