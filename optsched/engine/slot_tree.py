"""Branching rule on the original variables: completion slots, then workers per slot.

Branching on original variables instead of columns keeps the pricing subproblems solvable (Barnhart
et al., 1998; Vanderbeck, 2000). A node is a box: an interval for the completion slot of every job,
and for its workers in every slot. For jobs that run in slots (`oasis`, `dmlrs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np

from optsched.engine.branch import BranchAndBoundTree, Split, TreeNode
from optsched.engine.colgen import Column, Relaxation
from optsched.numbers.arrays import Flags, Floats, Ints

INTEGRAL = 1e-6
MOST_SPLITS = 6  # of numbers of workers that are offered

Used: TypeAlias = Sequence[tuple[int, int, Ints, float]]
"""The schedules in a relaxation: (job, completion, workers by slot, share)."""


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
class SlotNode:
    """Restrictions on the schedules; completion slot T stands for "never"."""

    first: Ints  # (I,) earliest completion slot
    last: Ints  # (I,) latest completion slot; T: may stay out
    lower: Ints  # (I, T) fewest workers
    upper: Ints  # (I, T) most workers

    def at_completion(self, job: int, slot: int) -> tuple[Self, Self]:
        """Return the parts in which ``job`` completes by ``slot``, and later or never."""
        last, first = self.last.copy(), self.first.copy()
        last[job], first[job] = min(last[job], slot), max(first[job], slot + 1)
        return replace(self, last=last), replace(self, first=first)

    def at_workers(self, job: int, slot: int, at: int) -> tuple[Self, Self]:
        """Return the parts in which ``job`` has at most ``at`` workers in ``slot``, and more."""
        upper, lower = self.upper.copy(), self.lower.copy()
        upper[job, slot], lower[job, slot] = at, at + 1
        return replace(self, upper=upper), replace(self, lower=lower)


def certified_nodes(
    tree: BranchAndBoundTree,
    priced: Callable[[Floats], Any],
    kinds: Mapping[type, Callable[..., Any]],
) -> tuple[Any, ...]:
    """Return the nodes of a tree's certificate; a node that has the prices of its parent has none.

    Parameters
    ----------
    tree : BranchAndBoundTree
    priced : callable
        Given the prices of a node, returns them as the certificate has them.
    kinds : mapping
        Constructors: by the kind of a split, of a leaf by `TreeNode`.
    """
    nodes: list[Any] = []
    held: dict[int, bytes] = {}  # prices that a node inherits from above, by node
    for k, node in enumerate(tree.nodes):
        key = node.prices.tobytes()
        prices = None if held.get(k) == key else priced(node.prices)
        if node.children is None:
            nodes.append(kinds[TreeNode](prices=prices))
            continue
        left, right = node.children
        held[left] = held[right] = key
        what = kinds[type(node.split)]
        nodes.append(what(**vars(node.split), left=left, right=right, prices=prices))
    return tuple(nodes)


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
            self.completion = np.append(self.completion, [c[0] for c in choices])
            self.amount = np.concatenate([self.amount, np.array([c[1] for c in choices])])


class SlotBranching:
    """Branching candidates of a decomposition whose first blocks are jobs, one column each."""

    inst: Any
    jobs: int
    slots: int
    node: Any

    def number_of(self, amount: Ints) -> Ints:
        """Return the workers of schedules by slot."""
        return amount

    @cached_property
    def book(self) -> Book:
        """The schedules that `allowed` has looked at."""
        return Book(self.jobs, self.slots)

    def allowed(self, columns: Sequence[Column]) -> Flags:
        """Return which columns the node permits; see `branch.BranchProblem`."""
        node, book = self.node, self.book
        book.read(columns)
        job, number = book.job, self.number_of(book.amount)
        out = np.ones(len(columns), bool)
        out[book.place] = (
            (node.first[job] <= book.completion)
            & (book.completion <= node.last[job])
            & (node.lower[job] <= number).all(axis=1)
            & (number <= node.upper[job]).all(axis=1)
        )
        return out

    def used(self, relaxation: Relaxation) -> Used:
        """Return the schedules in a relaxation."""
        return [
            (c.block, *c.choice, x)
            for c, x in zip(relaxation.columns, relaxation.x, strict=False)
            if c.block < self.jobs and x > INTEGRAL
        ]

    @cached_property
    def deadline(self) -> Ints:
        """The last slot of the plateau of its utility on which a slot is, by job, shape (I, T).

        Plateaus are disjoint, so a split behind one separates it from all others; where on a
        plateau a job completes is never split.
        """
        utility = self.inst.arrays.utility
        # of what all jobs can earn: slots whose utilities differ by less are one
        least = 1e-8 * float(utility.max(axis=1, initial=0.0).sum())
        last = np.zeros((self.jobs, self.slots), np.int64)
        for i, earned in enumerate(utility):
            first = 0
            for t in range(self.slots):
                if abs(earned[first] - earned[t]) > least:
                    first = t
                last[i, first : t + 1] = t
        return last

    def _split_completions(self, used: Used) -> list[Split]:
        """Return the split of every job that completes in part, of which the most is to be gained.

        The later half loses the extra value of the early share over the next slot, the
        earlier one at most the lower value of the late share.
        """
        utility = self.inst.arrays.utility
        share, earned = np.zeros((2, self.jobs, self.slots))
        for i, completion, _, x in used:
            t = self.deadline[i, completion]
            share[i, t] += x
            earned[i, t] += x * utility[i, t]
        done, early = share.cumsum(axis=1), earned.cumsum(axis=1)
        late = 1 - done  # or never
        inside = (done > INTEGRAL) & (late > INTEGRAL)
        usual = early / np.where(inside, done, 1.0)
        differ = usual - (early[:, -1:] - early) / np.where(inside, late, 1.0)
        after = np.pad(utility[:, 1:], ((0, 0), (0, 1)))
        score = np.minimum(late * differ, done * np.minimum(differ, usual - after))
        score = np.where(inside, np.maximum(score, 1e-8 * utility.max(initial=0.0)), 0.0)
        out = []
        for i in np.argsort(-score.max(axis=1, initial=0.0), kind="stable").tolist():
            t = int(score[i].argmax())
            if score[i, t] > 0:
                out.append(self._completion(i, t))
                if t < self.slots - 1 and inside[i, -1]:
                    out.append(self._completion(i, self.slots - 1))
        return out

    def _completion(self, i: int, t: int) -> Split:
        return Split(Completion(i, t), *self.node.at_completion(i, t))

    def _split_workers(self, used: Used) -> list[Split]:
        """Return splits of numbers of workers on which schedules disagree, broken means first."""
        mean, low, high, weight = (np.zeros((self.jobs, self.slots)) for _ in range(4))
        low[:] = np.inf
        for i, _, amount, x in used:
            number = self.number_of(amount)
            mean[i] += x * number
            low[i] = np.minimum(low[i], number)
            high[i] = np.maximum(high[i], number)
            weight[i] += x
        low[~np.isfinite(low)] = 0.0
        spread = high - low
        share = mean / np.maximum(weight, INTEGRAL)
        score = np.where(spread > 0, np.abs(share - np.rint(share)) + 1e-3 * spread, 0.0)
        out = []
        for where in np.argsort(-score, axis=None, kind="stable")[:MOST_SPLITS].tolist():
            i, t = divmod(where, self.slots)
            if score[i, t] > 0:
                at = int(np.clip(np.floor(share[i, t]), low[i, t], high[i, t] - 1))
                out.append(self._workers(i, t, at))
        return out

    def _workers(self, i: int, t: int, at: int) -> Split:
        return Split(Workers(i, t, at), *self.node.at_workers(i, t, at))
