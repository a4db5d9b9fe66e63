"""Large neighborhood search of `dmlrs`: jobs are removed and reinserted at dual prices.

See `engine.search` (Shaw, 1998). The board holds jobs on single machines that workers and
parameter servers share; an insertion solves the job's pricing subproblem in the free capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from optsched.engine.colgen import Column
from optsched.engine.progress import Progress
from optsched.engine.search import LnsParams, improve
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, JobSchedule
from optsched.families.dmlrs.optimum.relaxations.capacity import (
    NEGLIGIBLE,
    CapacityRelaxation,
    oracle_steps,
)
from optsched.families.dmlrs.oracle.linked import oracle_for
from optsched.families.dmlrs.oracle.request import requests
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.streams import Streams
from optsched.problem import Schedule
from optsched.process import work_units
from optsched.scheduling.board import JobPlan, PlanBoard, over_slots, plan_of, planned_jobs
from optsched.scheduling.oracle.schedule import PricedMachines

FACTORS = (  # multiples of the dual prices, and the share of leftovers that is charged
    (0.0, 0.0),
    (0.1, 0.0),
    (0.3, 0.0),
    (0.6, 0.0),
    (1.0, 0.0),
    (0.3, 1.0),
    (0.6, 1.0),
    (1.0, 1.0),
)
COVERED = 100_000  # numbers of a board whose making is counted with the search


class SharedBoard(PlanBoard):
    """Jobs on machines that workers and parameter servers share.

    Parameters
    ----------
    inst : DmlrsInstance
    free : array of shape (T, R, H)
        The empty cluster; the board works on a copy.
    prices : array of the same shape
        Prices per unit, by which inserted jobs choose among slots and machines.
    """

    def __init__(self, inst: DmlrsInstance, free: Floats, prices: Floats) -> None:
        work_units.begin(work_units.HANDLED * max(0, free.size - COVERED))
        shared = free.copy()
        super().__init__(requests(inst), (shared, shared))
        ones = np.ones(free.shape[2], np.int64)
        self.machines = [
            PricedMachines(np.ascontiguousarray(prices * x), shared, ones, fragmentation_penalty)
            for x, fragmentation_penalty in FACTORS
        ]
        self.oracle = oracle_for(inst, free.shape[2])

    def insert(self, i: int, factor: int) -> bool:
        """Insert job i by its best schedule at the prices times ``FACTORS[factor]``, if it pays."""
        request, machines = self.requests[i], self.machines[factor]
        best = self.oracle.best(request, machines)
        # work units, in addition to the oracle's
        work_units.spend(0.02)
        work_units.steps(oracle_steps(request, machines.free.shape))
        if best is None:
            return False
        entries = self.oracle.places(request, machines, best)
        value = float(request.utility[best.completion])
        self.restore(i, JobPlan(value, best.completion, entries))
        return True


class Neighborhood:
    """A board for an instance at given prices, and the search on it.

    Parameters
    ----------
    inst : DmlrsInstance
    prices : array of shape (T, R, H)
        Per unit of demand, on single machines.
    params : LnsParams
    """

    def __init__(self, inst: DmlrsInstance, prices: Floats, params: LnsParams) -> None:
        self.inst, self.params = inst, params
        arrays = inst.arrays
        free = over_slots(arrays.capacity.astype(float), inst.horizon)
        self.board = SharedBoard(inst, free, prices)
        best = arrays.utility.max(axis=1, initial=0.0)
        self.payoff = np.where(best > NEGLIGIBLE * best.max(initial=0.0), best, 0.0)
        # a job is in the way where it can still earn this share of its best
        useful = arrays.utility > 1e-3 * best[:, None]
        last = inst.horizon - 1 - useful[:, ::-1].argmax(axis=1)
        self.windows = [(job.arrival, int(t)) for job, t in zip(inst.jobs, last, strict=True)]

    def plans_of(self, schedule: Schedule) -> dict[int, JobPlan]:
        """Return the plans of a feasible schedule, of jobs that earn."""
        assert isinstance(schedule, DmlrsSchedule)
        plans = {}
        for i, job in enumerate(schedule.jobs):
            if job is None:
                continue
            plan = plan_of(job, self.board.requests[i].utility)
            if plan.value > 0 and self.payoff[i] > 0:
                plans[i] = plan
        return plans

    def search(
        self,
        progress: Progress,
        *,
        seed: int,
        start: int,
        done: Callable[[], float],
        met: Callable[[Mapping[int, JobPlan]], None],
    ) -> dict[int, JobPlan]:
        """Search from the present state; report every better schedule; return the best plans.

        ``met`` is called with every better state, whether it is reported or not.
        """
        best = dict(self.board.plans)
        value = self.board.value
        progress.incumbent(value, self.schedule(best))
        reported = progress.seconds()
        met(best)

        def found() -> None:
            nonlocal best, value, reported
            best, value = dict(self.board.plans), self.board.value
            met(best)
            # checking a schedule takes a while: not every step is reported at once
            if progress.seconds() > reported + 2.0:
                progress.incumbent(value, self.schedule(best))
                reported = progress.seconds()

        improve(
            self.board,
            self.payoff.tolist(),
            self.windows,
            len(FACTORS),
            Streams(seed)("neighbourhood", start),
            done=done,
            found=found,
            params=self.params,
        )
        progress.incumbent(value, self.schedule(best))
        return best

    def schedule(self, plans: Mapping[int, JobPlan]) -> DmlrsSchedule:
        """Turn plans into a schedule."""
        return DmlrsSchedule(jobs=planned_jobs(len(self.inst.jobs), plans, JobSchedule))


def plan_column(problem: CapacityRelaxation, i: int, plan: JobPlan) -> Column:
    """Return the column of a plan on single machines."""
    entries = plan.entries.copy()
    entries[:, 2] = problem.group[entries[:, 2]]
    return problem.placed_column(i, plan.completion, kinds(plan.entries, problem.slots), entries)


def kinds(entries: Ints, slots: int) -> Ints:
    """Return the workers of a plan in each slot: 2 workers + (0 one machine | 1 more), 0: none."""
    amount = np.zeros(slots, np.int64)
    machines: dict[int, set[int]] = {}
    for side, t, h, n in entries.tolist():
        amount[t] += 2 * n if side == 0 else 0
        machines.setdefault(t, set()).add(h)
    for t, used in machines.items():
        amount[t] += len(used) > 1
    return amount
