"""Branching rule of branch and price at prices per worker and slot.

The rule is on original variables (Barnhart et al., 1998; Vanderbeck, 2000): completion slots, then
numbers of workers. A relaxation without any such split is a schedule, if its numbers pack.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import block_diag, eye_array, hstack, vstack

from optsched import solvers
from optsched.engine.branch import Split
from optsched.engine.budget import Budget, Limits
from optsched.engine.colgen import Relaxation
from optsched.engine.slot_tree import SlotBranching, Used
from optsched.families.oasis.instance import Entry, JobSchedule, OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.relaxations.capacity import SIDES
from optsched.families.oasis.optimum.relaxations.unit_price import UnitPriceDecomposition
from optsched.numbers.arrays import Ints
from optsched.scheduling.board import placed_jobs

PACKING_SECONDS = 5.0  # for one slot; a failure only means that no schedule is found


class UnitPriceBranching(SlotBranching, UnitPriceDecomposition):
    """The decomposition as a problem for `branch.BranchAndPrice`.

    ``limits`` returns a solver's limits for this many seconds.
    """

    def __init__(
        self, inst: OasisInstance, limits: Callable[[float], Limits] | None = None
    ) -> None:
        super().__init__(inst)
        self.limits = limits or Budget().limits

    def completions(self, relaxation: Relaxation) -> dict[int, int] | None:
        """Return the completion slots of the jobs if all are whole, else None."""
        used = self.used(relaxation)
        if self._split_completions(used):
            return None
        return {i: int(self.deadline[i, completion]) for i, completion, _, _ in used}

    def schedule(self, relaxation: Relaxation) -> OasisSchedule | None:
        """Return the schedule that a relaxation is, if its numbers are whole and pack."""
        used = self.used(relaxation)
        if self._split_completions(used) or self._split_workers(used):
            return None
        placed: list[tuple[list[Entry], list[Entry]]] = [([], []) for _ in range(self.jobs)]
        for side in SIDES:
            for t in range(self.slots):
                number = self.numbers(used, side, t)
                if not number.any():
                    continue
                hosted = pack(self, side, number)
                if hosted is None:
                    return None
                for h, i in zip(*np.nonzero(hosted), strict=True):
                    placed[i][side].append((t, int(h), int(hosted[h, i])))
        runs = {i for i, _, _, _ in used}
        return OasisSchedule(jobs=placed_jobs(placed, runs, JobSchedule))

    def splits(self, relaxation: Relaxation) -> list[Split]:
        """Return splits of completion slots, else of worker numbers."""
        used = self.used(relaxation)
        return self._split_completions(used) or self._split_workers(used)

    def numbers(self, used: Used, side: int, t: int) -> Ints:
        """Return the workers (or PS) of every job in a slot, from the schedules that are used."""
        number = np.zeros(self.jobs, np.int64)
        for i, _, amount, _ in used:
            number[i] = amount[t] if side == 0 else self.needed[i][amount[t]]
        return number


def pack(problem: UnitPriceBranching, side: int, number: Ints) -> Ints | None:
    """Place ``number`` workers (or PS) of every job on the single machines of a slot, if they fit.

    Returns numbers by machine and job, shape (H, I).
    """
    jobs = np.flatnonzero(number)
    a = problem.arrays
    capacity = (a.worker_capacity, a.ps_capacity)[side]
    demand = problem.demand[side][jobs]  # (J, R)
    (h, r), j = capacity.shape, jobs.size
    scale = np.maximum(capacity.max(axis=0), 1.0)
    fits = block_diag([(demand / scale).T] * h)  # rows (machine, resource)
    total = hstack([eye_array(j)] * h)
    result = solvers.solve_mip(
        np.tile(np.arange(h)[:, None], (1, j)).ravel() / (h * max(1, number.sum())),
        vstack([fits, total]).tocsc(),
        np.concatenate([np.full(h * r, -np.inf), number[jobs].astype(float)]),
        np.concatenate([(capacity / scale).ravel(), number[jobs].astype(float)]),
        np.zeros(h * j),
        np.tile(number[jobs], h).astype(float),
        np.ones(h * j, bool),
        gap=1.0,
        **problem.limits(PACKING_SECONDS),
    )
    if result.x is None:
        return None
    out = np.zeros((h, problem.jobs), np.int64)
    out[:, jobs] = result.x.reshape(h, j).astype(np.int64)
    return out
