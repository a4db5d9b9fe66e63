"""Large neighborhood search of `oasis`: jobs are removed and reinserted at dual prices.

See `engine.neighborhood` (Shaw, 1998). The start is the best of many greedy randomized
constructions (Feo and Resende, 1995), in random orders near the solution of a relaxation, which
also ranks the jobs to try first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator

from optsched.engine import neighborhood
from optsched.engine.search import MOVE, construct
from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.params import GuidedLnsParams
from optsched.families.oasis.optimum.relaxations.capacity import requests, slot_steps
from optsched.families.oasis.optimum.relaxations.cutting_planes import LpGuidance
from optsched.families.oasis.verify import verify
from optsched.numbers.arrays import Floats, Ints
from optsched.problem import Schedule
from optsched.process import work_units
from optsched.scheduling import board
from optsched.scheduling.board import (
    JobPlan,
    PricedBoard,
    at_factors,
    load,
    over_slots,
    plan_entries,
    trim,
)
from optsched.scheduling.oracle.schedule import Oracle

START = 6  # the factor, see `FACTORS`, of the first schedule
OTHERS = 2  # that of jobs that may only use the remaining capacity
BUILDERS = ((START,), (1, 2, 3))  # factors by which schedules are built without and with a guide
BUILDING = 0.2  # share of the time for building schedules


class MachineBoard(PricedBoard):
    """Jobs on machines of two kinds.

    Parameters
    ----------
    inst : OasisInstance
    prices : pair of arrays of shape (T, R, H) and (T, R, K)
        Per unit of demand, by which inserted jobs choose among slots and machines.
    """

    def __init__(self, inst: OasisInstance, prices: tuple[Floats, Floats]) -> None:
        capacity = (inst.arrays.worker_capacity, inst.arrays.ps_capacity)
        workers, ps = (over_slots(c.astype(float), inst.horizon) for c in capacity)
        super().__init__(requests(inst), (workers, ps))
        self.amounts = sum(c.size for c in capacity)
        both = (at_factors(p, free) for p, free in zip(prices, self.free, strict=True))
        self.machines = [*zip(*both, strict=True)]
        self.oracle = Oracle(
            inst.horizon,
            max(map(len, capacity)),
            max((job.chunks for job in inst.jobs), default=1),
            max((request.work for request in self.requests), default=1),
        )

    def best(self, i: int, factor: int) -> JobPlan | None:
        """Return the best plan of job i at the prices times ``FACTORS[factor]``, if it pays."""
        request, (workers, ps) = self.requests[i], self.machines[factor]
        best = self.oracle.best(request, workers, ps)
        first, last = self.windows[i]
        # of an insertion; the oracle leaves out about half of the slots
        work_units.steps(2_500 + 0.5 * (last - first + 1) * slot_steps(request, self.amounts))
        if best is None:
            return None
        entries = plan_entries(request, best.amount, best.completion, workers, ps)
        return JobPlan(float(request.utility[best.completion]), best.completion, entries)


class Neighborhood(neighborhood.Neighborhood):
    """A board for an instance at given prices, and the search on it.

    Parameters
    ----------
    inst : OasisInstance
    prices : pair of arrays of shape (T, R, H) and (T, R, K)
        Per unit of demand, on single machines.
    guide : LpGuidance, optional
        Guidance by a relaxation; without it, all jobs are alike.
    params : GuidedLnsParams, optional
    """

    def __init__(
        self,
        inst: OasisInstance,
        prices: tuple[Floats, Floats],
        guide: LpGuidance | None = None,
        params: GuidedLnsParams | None = None,
    ) -> None:
        self.inst, arrays = inst, inst.arrays
        earned = arrays.utility.max(axis=1, initial=0.0)
        # a job that earns less than this share of what all can earn is not tried
        payoff = np.where(earned > 1e-6 * earned.sum(), earned, 0.0)
        kinds = (JobSchedule, OasisSchedule)
        super().__init__(MachineBoard(inst, prices), payoff, kinds, params or GuidedLnsParams())
        shortest = -(-arrays.work // np.maximum(np.array(inst.most, np.int64), 1))
        # jobs that fill their time leave no choice
        self.rigid = shortest / np.array([1 + last - first for first, last in self.board.windows])
        self.share = np.ones(len(inst.jobs)) if guide is None else guide.share
        self.earned = payoff if guide is None else guide.value
        self.builders = BUILDERS[guide is not None]
        self.weights = (payoff * (self.share + 0.03)).tolist()
        self.known: Schedule | None = None

    def start(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Insert the jobs, the most valuable first."""
        construct(self.board, self._jobs(np.argsort(-self.payoff, kind="stable")), START, stop)

    def _jobs(self, order: Ints) -> list[int]:
        return [i for i in order.tolist() if self.payoff[i] > 0]

    def moves(self, rng: Generator, done: Callable[[], float]) -> None:
        """Build schedules, then improve the best of them."""
        self.build(rng, lambda: done() / BUILDING)
        self.arrived()
        super().moves(rng, lambda: (done() - BUILDING) / (1 - BUILDING))

    def build(self, rng: Generator, done: Callable[[], float]) -> None:
        """Build schedules from random orders near the relaxation's; end with the best."""
        jobs = len(self.inst.jobs)
        while done() < 1.0:
            share = np.rint(np.clip(self.share + rng.normal(0, 0.15, jobs), 0, 1))
            key = self.rigid if rng.random() < 0.6 else self.earned
            key = key * np.exp(rng.normal(0, 0.3, jobs))
            factor = int(rng.choice(self.builders))
            work_units.spend(MOVE)
            load(self.board, {})
            order = self._jobs(np.lexsort((-key, -share)))
            construct(self.board, order, factor, lambda: done() >= 1.0)
            # values are equal, relatively: sums in other orders
            if self.board.value > self.value * (1 + 1e-12):
                self.found()
        load(self.board, self.best)

    def adopt(self, schedule: Schedule) -> None:
        """Replace the state by a schedule, without jobs that do not complete or earn nothing."""
        load(self.board, self.plans_of(trim(verify, self.inst, schedule)))

    def arrived(self) -> bool:
        """Replace the state by the schedule that ``progress`` knows, if that is better."""
        value, schedule = self.progress.value, self.progress.schedule
        if schedule is self.known:
            return False
        self.known = schedule
        if schedule is None or value is None or value <= self.value * (1 + 1e-12):
            return False
        self.adopt(schedule)
        self.keep()
        return True

    def complete(self, plans: Mapping[int, JobPlan]) -> float:
        """Replace the state by ``plans``, and insert the jobs that fit; return the value."""
        load(self.board, plans)
        others = [i for i in self._jobs(np.argsort(-self.earned, kind="stable")) if i not in plans]
        construct(self.board, others, OTHERS)
        return self.board.value


def flat_prices(inst: OasisInstance) -> tuple[Floats, Floats]:
    """Return prices that mean only "use little", on worker machines and on PS machines."""
    capacities = (inst.arrays.worker_capacity, inst.arrays.ps_capacity)
    worker, ps = (board.flat_prices(capacity, inst.horizon) for capacity in capacities)
    return worker, ps
