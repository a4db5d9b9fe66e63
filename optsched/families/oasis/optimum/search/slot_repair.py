"""Repair of slots in fix and optimize: an integer program re-plans a few slots at a time.

A matheuristic after Helber and Sahling (2010), for completion slots that a relaxation has fixed.
The relaxation leaves open how many workers run where; slots are alike, so branching would repeat
the same decision. The program re-plans a few slots on their single machines while the others stay
fixed, and minimizes the weighted work that is still missing; weights of missing work grow when the
search is stuck, as in the breakout method (Morris, 1993). When nothing is missing, the machines
hold a schedule. A search that remains stuck can continue with a job one slot later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.sparse import (
    block_array,
    block_diag,
    coo_array,
    csr_array,
    eye_array,
    hstack,
    kron,
    vstack,
)

from optsched import solvers
from optsched.engine.budget import Span
from optsched.engine.params import Count, Factor, Seconds, Share
from optsched.families.oasis.instance import Entry, JobSchedule, OasisSchedule
from optsched.families.oasis.optimum.relaxations.capacity import SIDES, units_that_fit
from optsched.families.oasis.optimum.relaxations.unit_price import UnitPriceDecomposition
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units
from optsched.scheduling.online.round_robin import first_fit


@dataclass(frozen=True)
class SlotRepairParams:
    """Parameters of the repair of slots by programs.

    Attributes
    ----------
    share : float
        Share of the time for repairs in branch and price while the bound improves.
    stuck_share : float
        Share of the time for repairs in branch and price while the bound does not improve.
    stuck : float
        Share of the time without a better bound after which the bound counts as not improving.
    turn : float
        Duration of one repair in a thread of its own before the best schedule of all threads is
        taken over.
    program_seconds : float
        Longest time of one integer program.
    least_seconds : float
        Shortest time of one integer program.
    fewest : int
        Least number of slots that one integer program plans anew.
    most : int
        Most slots that one integer program plans anew.
    wider : int
        Programs without success after which one more slot is planned anew.
    patience : int
        Programs without success after which the repair ends.
    heavier : float
        Factor on the weight of a missing worker after a program without success.
    lightest : float
        Least weight of a missing worker, relative to the greatest.
    dearer : float
        Weights of missing work are drawn between 1 and this factor, so that programs with equal
        plans differ.
    """

    share: Share = 0.4
    stuck_share: Share = 0.8
    stuck: Share = 0.3
    turn: Seconds = 1.0
    program_seconds: Seconds = 2.0
    least_seconds: Seconds = 0.1
    fewest: Count = 2
    most: Count = 5
    wider: Count = 4
    patience: Count = 20
    heavier: Factor = 1.15
    lightest: Factor = 1e-3
    dearer: Factor = 1.5


@dataclass(frozen=True)
class _Block:
    """matrix x <= limit, 0 <= x <= upper."""

    matrix: coo_array
    limit: Floats
    upper: Floats


class SlotRepair:
    """State of the search: the packing of every machine in every slot.

    Parameters
    ----------
    problem : UnitPriceDecomposition
    completions : mapping
        Job -> the slot by which it completes; other jobs stay out.
    rng : Generator
    params : SlotRepairParams
    """

    def __init__(
        self,
        problem: UnitPriceDecomposition,
        completions: Mapping[int, int],
        rng: Generator,
        params: SlotRepairParams = SlotRepairParams(),
    ) -> None:
        self.problem, self.rng, self.params = problem, rng, params
        inst = problem.inst
        self.size = _weights(problem)
        self.weight = self.size.copy()
        self.least = np.inf  # that was ever missing
        self.due = dict(sorted(completions.items()))
        self.active = {
            t: [i for i, due in self.due.items() if inst.jobs[i].arrival <= t <= due]
            for t in range(problem.slots)
        }
        self.slots = [t for t, jobs in self.active.items() if jobs]
        self.capacity = [
            np.array(c) for c in (inst.arrays.worker_capacity, inst.arrays.ps_capacity)
        ]
        # side -> slot -> numbers on machines, shape (machines, jobs that are active)
        self.placed: list[dict[int, Ints]] = [
            {t: np.zeros((len(c), len(self.active[t])), np.int64) for t in self.slots}
            for c in self.capacity
        ]
        self.begun = False
        self.planned = 0  # slots, from the first, that the beginning has gone through
        self.idle = 0  # programs since the last that made less missing

    @property
    def stuck(self) -> bool:
        """Whether the last programs have changed nothing."""
        return self.idle >= self.params.patience

    def postponed(self) -> dict[int, int]:
        """Return the completions with one job a slot later, or out, which costs the least.

        It is a job that lacks work, or runs next to one that does.
        """
        utility = self.problem.arrays.utility
        missing, out = self.missing(), dict(self.due)
        lists = [self.active[t] for t in self.slots if any(missing[i] > 0 for i in self.active[t])]
        loss = {
            i: utility[i, self.due[i]]
            - (utility[i, self.due[i] + 1] if self.due[i] + 1 < self.problem.slots else 0.0)
            for i in sorted({i for jobs in lists for i in jobs})
        }
        if loss:
            i = min(loss, key=lambda i: loss[i])
            if self.due[i] + 1 < self.problem.slots:
                out[i] += 1
            else:
                del out[i]
        return out

    def follow(self, completions: Mapping[int, int]) -> SlotRepair:
        """Return a search with other completions that begins where this one is."""
        other = SlotRepair(self.problem, completions, self.rng, self.params)
        for t in set(self.slots) & set(other.slots):
            for k, i in enumerate(other.active[t]):
                if i in self.active[t]:
                    for side in SIDES:
                        other.placed[side][t][:, k] = self.placed[side][t][
                            :, self.active[t].index(i)
                        ]
        other.begun, other.weight = self.begun, self.weight.copy()
        return other

    def missing(self) -> Ints:
        """Return the worker-slots that every job still lacks, by index."""
        missing = np.zeros(self.problem.jobs, np.int64)
        for i in self.due:
            missing[i] = self.problem.inst.work[i]
        for t in self.slots:
            missing[self.active[t]] -= self._numbers(0, t)
        return missing

    def work(self, span: Span, ended: Callable[[], bool] = lambda: False) -> OasisSchedule | None:
        """Search for a span, until stuck or ended; return a schedule if nothing is missing."""
        if not self.begun and not self._begin(span, ended):
            return None
        self.begun = True
        while (short := np.maximum(self.missing(), 0)).any():
            if span.over() or self.stuck or ended():
                return None
            self._plan(self._choose(short), self.missing(), span, ended)
            self._learn()
        return self._schedule()

    def _learn(self) -> None:
        """Count the missing workers, and raise the weight of jobs without progress."""
        short = np.maximum(self.missing(), 0)
        lacking = float(self.size @ short)
        # what is missing is as much, relatively
        if lacking < self.least * (1 - 1e-9):
            self.least, self.idle = lacking, 0
        else:
            self.idle += 1
            self.weight[short > 0] *= self.params.heavier
            self.weight = np.maximum(self.weight / self.weight.max(), self.params.lightest)

    def _begin(self, span: Span, ended: Callable[[], bool]) -> bool:
        """Plan each slot with its share of the missing workers; return whether all are planned."""
        for k, t in list(enumerate(self.slots))[self.planned :]:
            if span.over() or ended():
                return False
            missing = self.missing()
            later = np.zeros(self.problem.jobs)
            for u in self.slots[k:]:
                later[self.active[u]] += 1
            wanted = np.ceil(missing / np.maximum(later, 1)).astype(np.int64)
            self._plan([t], wanted, span, ended)
            self.planned += 1
        return True

    def _choose(self, short: Ints) -> list[int]:
        """Choose slots to re-plan: one of a job that lacks work, and others."""
        i = int(self.rng.choice(np.flatnonzero(short)))
        first = int(self.rng.choice([t for t in self.slots if i in self.active[t]]))
        others = [t for t in self.slots if t != first]
        most = min(self.params.most, self.params.fewest + 1 + self.idle // self.params.wider)
        more = min(len(others), int(self.rng.integers(self.params.fewest, most + 1)) - 1)
        return sorted([first, *map(int, self.rng.choice(others, size=more, replace=False))])

    def _plan(
        self, slots: Sequence[int], missing: Ints, span: Span, ended: Callable[[], bool]
    ) -> None:
        """Re-plan ``slots`` so that as little as possible is missing; ``missing``: before that."""
        jobs = sorted({i for t in slots for i in self.active[t]})
        wanted = missing.copy()
        for t in slots if self.begun else ():
            wanted[self.active[t]] += self._numbers(0, t)
        wanted, weight = np.maximum(wanted[jobs], 0), self.weight[jobs]
        blocks = [self.block(t) for t in slots]
        width = sum(block.upper.size for block in blocks)
        done = hstack(
            [self._workers(t, jobs, block) for t, block in zip(slots, blocks, strict=True)]
        )
        inside = block_diag([block.matrix for block in blocks])
        matrix = vstack(
            [
                hstack([inside, coo_array((inside.shape[0], len(jobs)))]),
                hstack([-done, -eye_array(len(jobs))]),
            ]
        )
        # work units of writing one down
        work_units.spend(3.0 + work_units.HANDLED * matrix.nnz)
        start = np.concatenate([self._point(t) for t in slots])
        lacking = np.maximum(wanted - done @ start, 0)
        result = solvers.solve_mip(
            np.concatenate(
                [np.zeros(width), weight * self.rng.uniform(1.0, self.params.dearer, len(jobs))]
            ),
            matrix.tocsc(),
            np.full(matrix.shape[0], -np.inf),
            np.concatenate([*(block.limit for block in blocks), -wanted.astype(float)]),
            np.zeros(width + len(jobs)),
            np.concatenate([*(block.upper for block in blocks), wanted.astype(float)]),
            np.concatenate([np.ones(width, bool), np.zeros(len(jobs), bool)]),
            start=np.concatenate([start, lacking]),
            stop=ended,
            **span.budget.limits(
                min(self.params.program_seconds, max(self.params.least_seconds, span.left()))
            ),
        )
        if result.x is None:
            return
        if weight @ np.maximum(wanted - done @ result.x[:width], 0) > (weight @ lacking) * (
            1 + 1e-9
        ):
            return
        ends = np.cumsum([block.upper.size for block in blocks])
        for t, part in zip(slots, np.split(result.x[:width], ends[:-1]), strict=True):
            self.place(t, np.rint(part).astype(np.int64))

    def place(self, t: int, point: Ints) -> None:
        """Take over a point of a slot's program; machines may hold more than the numbers mean."""
        jobs = len(self.active[t])
        cut = 2 * jobs + self.placed[0][t].size
        numbers = point[:jobs], point[jobs : 2 * jobs]
        for side, part in zip(SIDES, (point[2 * jobs : cut], point[cut:]), strict=True):
            hosted = part.reshape(self.placed[side][t].shape)
            columns = zip(hosted.T, numbers[side].tolist(), strict=True)
            self.placed[side][t] = np.stack([first_fit(h, n) for h, n in columns], axis=1)

    def _numbers(self, side: int, t: int) -> Ints:
        numbers: Ints = self.placed[side][t].sum(axis=0)
        return numbers

    def _point(self, t: int) -> Ints:
        """Return the packing of a slot now, as a point of its program."""
        numbers = [self._numbers(side, t) for side in SIDES]
        return np.concatenate([*numbers, *(self.placed[side][t].ravel() for side in SIDES)])

    def block(self, t: int) -> _Block:
        """Return the program of a slot: workers n and PS m by job, and both by machine and job."""
        problem, jobs = self.problem, self.active[t]
        one = eye_array(len(jobs))
        ratio = [
            problem.inst.jobs[i].worker_bandwidth / problem.inst.jobs[i].ps_bandwidth for i in jobs
        ]
        most = problem.most[jobs]
        numbers = [most, np.array([problem.needed[i][problem.most[i]] for i in jobs])]
        fits, limits, uppers, sums = [], [], [], []
        for side in SIDES:
            demand, capacity = problem.demand[side][jobs], self.capacity[side]  # (J, R), (H, R)
            upper = units_that_fit(demand, capacity, numbers[side]).T  # (H, J)
            scale = np.maximum(capacity.max(axis=0), 1.0)
            binds = ((upper @ demand) > capacity).ravel()
            fits.append(kron(eye_array(len(capacity)), (demand / scale).T).tocsr()[binds])
            limits.append((capacity / scale).ravel()[binds])
            uppers.append(upper.ravel())
            sums.append(kron(np.ones((1, len(capacity))), one))
        rows: list[list[Any]] = [
            [csr_array(np.diag(ratio)), -one, None, None],  # n b / B <= m
            [one, None, -sums[0], None],
            [None, one, None, -sums[1]],
            [None, None, fits[0], None],
            [None, None, None, fits[1]],
        ]
        limit = [np.full(len(jobs), 1e-9), np.zeros(2 * len(jobs)), *limits]
        return _Block(
            block_array(rows),
            np.concatenate(limit),
            np.concatenate([*numbers, *uppers]).astype(float),
        )

    def _workers(self, t: int, jobs: Sequence[int], block: _Block) -> coo_array:
        """Return the matrix that picks the workers of ``jobs`` out of the variables of a slot."""
        active = self.active[t]
        rows = [jobs.index(i) for i in active]
        entries = (np.ones(len(rows)), (rows, np.arange(len(rows))))
        return coo_array(entries, shape=(len(jobs), block.upper.size))

    def _schedule(self) -> OasisSchedule:
        """Return the placements, without workers beyond the work and PS beyond the workers."""
        problem = self.problem
        jobs: list[JobSchedule | None] = [None] * problem.jobs
        for i in self.due:
            sides: tuple[list[Entry], list[Entry]] = ([], [])
            left = problem.inst.work[i]
            for t in [u for u in self.slots if i in self.active[u]]:
                k = self.active[t].index(i)
                n = min(left, int(self._numbers(0, t)[k]))
                left -= n
                for side in SIDES:
                    number = n if side == 0 else problem.needed[i][n]
                    kept = first_fit(self.placed[side][t][:, k], int(number))
                    sides[side].extend((t, int(h), int(kept[h])) for h in np.flatnonzero(kept))
            jobs[i] = JobSchedule(workers=tuple(sides[0]), ps=tuple(sides[1]))
        return OasisSchedule(jobs=tuple(jobs))


def _weights(problem: UnitPriceDecomposition) -> Floats:
    """Return the weight of a missing worker of each job: its share of the machines, with its PS."""
    weight = np.zeros(problem.jobs)
    for side in SIDES:
        count = [len(members) for members in problem.classes[side]]
        whole = np.maximum(count @ problem.capacity[side], 1.0)  # (R,)
        share = (problem.demand[side] / whole).max(axis=1, initial=0.0)
        if side == 1:
            most = np.maximum(problem.most, 1)
            share *= [problem.needed[i][n] / n for i, n in enumerate(most)]
        weight += share
    # of a missing worker, relative to the greatest
    return np.clip(weight / max(float(weight.max(initial=0.0)), 1e-300), 0.1, 1.0)
