"""Large neighborhood search of `oasis`: jobs are removed and reinserted at dual prices.

See `engine.search` (Shaw, 1998). The start is the best of many greedy randomized constructions
(Feo and Resende, 1995), in random orders near the solution of a relaxation, which also ranks the
jobs to try first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator

from optsched.engine.progress import Progress
from optsched.engine.search import MOVE, LnsParams, construct, improve
from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.relaxations.capacity import requests
from optsched.families.oasis.optimum.relaxations.cutting_planes import LpGuidance
from optsched.families.oasis.optimum.search.machine_board import MachineBoard
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import equal_machines
from optsched.numbers.streams import Streams
from optsched.problem import Schedule
from optsched.process import work_units
from optsched.scheduling import board
from optsched.scheduling.board import JobPlan, load, plan_of, planned_jobs

FACTORS = (0.0, 0.1, 0.3, 0.6, 0.9, 1.0)  # multiples of the dual prices
FULL = 5  # the factor of full prices
OTHERS = 2  # that of jobs that may only use the remaining capacity
BUILDERS = ((FULL,), (2, 4, 5))  # factors by which schedules are built without and with a guide
BUILDING = 0.2  # share of the time for building schedules


class Neighborhood:
    """A board for an instance at given prices, and the search on it.

    Parameters
    ----------
    inst : OasisInstance
    prices : pair of arrays of shape (T, R, H) and (T, R, K)
        Per unit of demand, on single machines.
    guide : LpGuidance, optional
        Guidance by a relaxation; without it, all jobs are alike, and the prices of workers
        follow from ``prices``.
    params : LnsParams, optional
    """

    def __init__(
        self,
        inst: OasisInstance,
        prices: tuple[Floats, Floats],
        guide: LpGuidance | None = None,
        params: LnsParams | None = None,
    ) -> None:
        self.inst, self.params = inst, params or LnsParams()
        arrays = inst.arrays
        capacity = (arrays.worker_capacity.astype(float), arrays.ps_capacity.astype(float))
        demand = (arrays.worker_demand.astype(float), arrays.ps_demand.astype(float))
        self.board = MachineBoard(
            requests(inst),
            capacity,
            (
                guide.prices
                if guide is not None
                else (
                    _per_worker(prices[0], demand[0], capacity[0]),
                    _per_worker(prices[1], demand[1], capacity[1]),
                )
            ),
            (_free_value(prices[0], capacity[0]), _free_value(prices[1], capacity[1])),
            FACTORS,
        )
        self.windows = list(zip(arrays.arrival.tolist(), self.board.last, strict=True))
        shortest = -(-arrays.work // np.maximum(np.array(inst.most, np.int64), 1))
        earned = arrays.utility.max(axis=1, initial=0.0)
        # a job that earns less than this share of what all can earn is not tried
        self.payoff = np.where(earned > 1e-6 * earned.sum(), earned, 0.0)
        # jobs that fill their time leave no choice
        self.rigid = shortest / (np.array(self.board.last) - arrays.arrival + 1)
        self.share = np.ones(len(inst.jobs)) if guide is None else guide.share
        self.earned = self.payoff if guide is None else guide.value
        self.builders = BUILDERS[guide is not None]

    def start(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Insert the jobs at the full prices, the most valuable first."""
        construct(self.board, self._jobs(np.argsort(-self.payoff, kind="stable")), FULL, stop)

    def _jobs(self, order: Ints) -> list[int]:
        return [i for i in order.tolist() if self.payoff[i] > 0]

    def build(self, rng: Generator, done: Callable[[], float], found: Callable[[], None]) -> None:
        """Build schedules from random orders near the relaxation's; end with the best."""
        best, keep = self.board.value, self.board.keep()
        jobs = len(self.inst.jobs)
        while done() < 1.0:
            share = np.rint(np.clip(self.share + rng.normal(0, 0.15, jobs), 0, 1))
            key = self.rigid if rng.random() < 0.6 else self.earned
            key = key * np.exp(rng.normal(0, 0.3, jobs))
            factor = int(rng.choice(self.builders))
            work_units.spend(MOVE)
            for i in list(self.board.plans):
                self.board.remove(i)
            order = self._jobs(np.lexsort((-key, -share)))
            construct(self.board, order, factor, lambda: done() >= 1.0)
            # values are equal, relatively: sums in other orders
            if self.board.value > best * (1 + 1e-12):
                best, keep = self.board.value, self.board.keep()
                found()
        keep()

    def adopt(self, schedule: OasisSchedule) -> None:
        """Replace the state by a schedule, without jobs that do not complete or earn nothing."""
        plans = {}
        for i, job in enumerate(schedule.jobs):
            if job is None or sum(n for _, _, n in job.workers) < self.inst.work[i]:
                continue
            plan = plan_of(job, self.board.requests[i].utility)
            if plan.value > 0:
                plans[i] = plan
        load(self.board, plans)

    def complete(self, plans: Mapping[int, JobPlan]) -> float:
        """Replace the state by ``plans``, and insert the jobs that fit; return the value."""
        load(self.board, plans)
        others = [i for i in self._jobs(np.argsort(-self.earned, kind="stable")) if i not in plans]
        construct(self.board, others, OTHERS)
        return self.board.value

    def search(
        self, progress: Progress, *, seed: int, start: int, done: Callable[[], float]
    ) -> dict[int, JobPlan]:
        """Search from the present state; report every better schedule; return the best plans.

        A better schedule that ``progress`` knows already, or gets to know, replaces the state.
        """
        board = self.board
        best = self.plans()
        value = board.value
        progress.incumbent(value, self.schedule(best))
        reported = progress.seconds()
        rng = Streams(seed)("neighbourhood", start)

        def found() -> None:
            nonlocal best, value, reported
            best, value = self.plans(), board.value
            # checking a schedule takes a while: not every step is reported at once
            if progress.seconds() > reported + 2.0:
                progress.incumbent(value, self.schedule(best))
                reported = progress.seconds()

        known: Schedule | None = None

        def arrived() -> bool:
            nonlocal best, value, known
            if progress.schedule is known:
                return False
            known = progress.schedule
            if known is None or progress.value is None or progress.value <= value * (1 + 1e-12):
                return False
            self.adopt(known)  # type: ignore[arg-type]
            best, value = self.plans(), board.value
            return True

        self.build(rng, lambda: done() / BUILDING, found)
        arrived()
        improve(
            board,
            self.payoff.tolist(),
            self.windows,
            len(FACTORS),
            rng,
            done=lambda: (done() - BUILDING) / (1 - BUILDING),
            found=found,
            keep=board.keep,
            weights=(self.payoff * (self.share + 0.03)).tolist(),
            arrived=arrived,
            params=self.params,
        )
        progress.incumbent(value, self.schedule(best))
        return best

    def plans(self) -> dict[int, JobPlan]:
        """Return where the jobs run at present."""
        return {i: self.board.plan(i) for i in self.board.plans}

    def schedule(self, plans: Mapping[int, JobPlan]) -> OasisSchedule:
        """Turn plans into a schedule."""
        return OasisSchedule(jobs=planned_jobs(len(self.inst.jobs), plans, JobSchedule))


def flat_prices(inst: OasisInstance) -> tuple[Floats, Floats]:
    """Return prices that mean only "use little", on worker machines and on PS machines."""
    capacities = (inst.arrays.worker_capacity, inst.arrays.ps_capacity)
    worker, ps = (board.flat_prices(capacity, inst.horizon) for capacity in capacities)
    return worker, ps


def _per_worker(prices: Floats, demand: Floats, capacity: Floats) -> Floats:
    """Return the price of one worker (PS) on the cheapest machine with capacity for it, (I, T)."""
    out = np.zeros((demand.shape[0], prices.shape[0]))
    alike = [  # of machines with equal capacity and prices, one states all
        h
        for members in equal_machines(capacity.tolist())
        for k, h in enumerate(members)
        if k == 0 or (prices[:, :, h] != prices[:, :, members[0]]).any()
    ]
    prices, capacity = prices[:, :, alike], capacity[alike]
    for i, d in enumerate(demand):
        fits = (d <= capacity).all(axis=1)
        if fits.any():
            out[i] = np.einsum("trh,r->th", prices[:, :, fits], d).min(axis=1)
    return out


def _free_value(prices: Floats, capacity: Floats) -> Floats:
    """Return the value of a free unit, (T, R, H): its price, and a little for every resource."""
    whole = np.maximum(capacity.sum(axis=0), 1.0)
    all_of_it = np.maximum((prices * capacity.T).sum(axis=(1, 2)), 1e-9)  # (T,)
    payoff: Floats = prices + 0.05 * all_of_it[:, None, None] / whole[None, :, None]
    return payoff
