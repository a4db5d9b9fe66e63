"""Branching on jobs that run in slots: when they complete, and with how many workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from optsched.engine.branch import Split
from optsched.engine.colgen import Relaxation
from optsched.numbers.arrays import Ints

INTEGRAL = 1e-6
MOST_SPLITS = 6  # of numbers of workers that are offered

Used: TypeAlias = Sequence[tuple[int, int, Ints, float]]
"""The schedules in a relaxation: (job, completion, what runs by slot, share)."""


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


class SlotBranching:
    """What is split in a decomposition whose first blocks are jobs, one schedule a column."""

    inst: Any
    jobs: int
    slots: int
    node: Any

    def number_of(self, amount: Ints) -> Ints:
        """Return the workers of what a schedule runs by slot."""
        return amount

    def used(self, relaxation: Relaxation) -> Used:
        """Return the schedules in a relaxation."""
        return [
            (c.block, *c.choice, x)
            for c, x in zip(relaxation.columns, relaxation.x, strict=False)
            if c.block < self.jobs and x > INTEGRAL
        ]

    def _split_completions(self, used: Used) -> list[Split]:
        """Return the most balanced split of every job that completes in part, worth first."""
        done = np.zeros((self.jobs, self.slots))  # share of the job that is completed by slot t
        for i, completion, _, x in used:
            done[i, completion:] += x
        balance = np.minimum(done, 1 - done)
        balance[balance < INTEGRAL] = 0.0
        score = balance * self.inst.arrays.utility.max(axis=1, initial=0.0)[:, None]
        out = []
        for i in np.argsort(-score.max(axis=1, initial=0.0), kind="stable").tolist():
            t = int(score[i].argmax())
            if score[i, t] > 0:
                out.append(self._completion(i, t))
                if t < self.slots - 1 and balance[i, -1] > 0:
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
