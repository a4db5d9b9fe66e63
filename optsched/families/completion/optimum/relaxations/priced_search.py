"""Column generation and LP-guided large neighborhood search, for instances of any size.

Prices come from column generation on capacity (Lübbecke and Desrosiers, 2005). Searches start from
list schedules in the order of the jobs' mean starts in the relaxation (Hall et al., 1997), and
continue by parallel large neighborhood search at the dual prices (Shaw, 1998).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from optsched.engine.colgen import Master, Relaxation, generate_columns
from optsched.engine.progress import Progress
from optsched.engine.reserve import Pace
from optsched.engine.search import short_search
from optsched.families.completion.certificate.bound import BoundEvaluator
from optsched.families.completion.certificate.check import CompletionCertificate
from optsched.families.completion.instance import CompletionInstance, CompletionSchedule
from optsched.families.completion.optimum.horizon import greedy, makespan
from optsched.families.completion.optimum.params import Params
from optsched.families.completion.optimum.relaxations.capacity import (
    CapacityRelaxation,
    JobTables,
    StoppedError,
)
from optsched.families.completion.optimum.search.neighborhood import (
    FACTORS,
    Neighborhood,
    Plans,
    cost,
    plans_of,
    schedule_of,
)
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.proofs.limits import LARGEST

LARGE = 2000  # rows of a master problem


class Portfolio:
    """The best prices and schedules so far."""

    def __init__(
        self, inst: CompletionInstance, progress: Progress, threads: int, seed: int
    ) -> None:
        self.inst, self.progress = inst, progress
        self.whole: Params = progress.params
        self.params = self.whole.auto
        self.threads, self.seed = threads, seed
        self.jobs = JobTables(inst)
        self.prices: Floats = np.zeros((1, *self.jobs.class_capacity.shape))  # (L, C, R)
        self.bound = 0.0
        self.plans: Plans | None = None
        self.order = self.jobs.arrival.astype(float)  # when the relaxation starts the jobs
        self.rounds = 0  # of the search
        self.slots = 0  # of the board
        self.short = short_search(
            len(inst.jobs), inst.horizon, rate=self.params.first_search, most=2.0
        )

    def begin(self) -> bool:
        """Make a first schedule; False if none can exist."""
        if self.jobs.impossible() is not None:
            self.progress.infeasible = True
            nothing = np.zeros_like(self.prices)
            self.progress.tighten(np.inf, lambda: certify(self.inst, nothing))
            return False
        area = greedy(self.jobs, self.progress)
        if area is None:  # a deadline that is too tight for the simplest schedule
            assert self.inst.deadline is not None
            self.slots = self.inst.deadline
        else:
            self.plans = list(area.plans)
            self.slots = self.inst.deadline or makespan(area)
        self.start()
        return True

    def start(self) -> None:
        """Begin with the schedule that is known, if it is better."""
        known = self.progress.schedule
        if isinstance(known, CompletionSchedule):
            last = max((piece.end for pieces in known.jobs for piece in pieces), default=0)
            self.slots = self.inst.deadline or max(self.slots, last)
            self.keep(plans_of(self.jobs, known))

    def take(self, prices: Floats, bound: float) -> None:
        """Go on from prices of slots (L, C, R) with a bound, and the best schedule known."""
        self.prices, self.bound = prices, bound
        self.start()

    def prove(self, bound: float, prices: Floats) -> None:
        """Report the bound of prices of slots (L, C, R)."""
        if bound > self.bound:
            self.bound, self.prices = bound, prices
            self.progress.tighten(bound, lambda: certify(self.inst, prices))

    def generate(self, span: int, seconds: float) -> bool:
        """Improve the prices on a grid; return whether that has converged."""
        time, pace = self.progress.span(seconds), Pace(self.progress)
        length = self.inst.deadline or self.slots + max(2, self.slots // 10)
        whole = self.jobs.class_capacity * self.jobs.count[:, None]
        rent = (self.prices * whole).sum(axis=(1, 2))
        problem = CapacityRelaxation(self.jobs, length, span, rent)
        master = Master(problem, threads=self.threads)
        if self.plans is not None:
            pieces = [plan.piece for plan in self.plans if plan is not None]
            master.add(problem.columns_of(list(enumerate(pieces))))

        def stop(relaxation: Relaxation) -> bool:
            self.prove(-relaxation.bound, problem.per_slot(relaxation.prices))
            return self.progress.stop() or time.over() or pace.short()

        problem.stop = self.progress.stop
        fine = 1e-4 if problem.rhs.size > LARGE else 1e-7
        try:
            relaxation = generate_columns(
                problem,
                master,
                stop=stop,
                center=problem.coarsen(self.prices),
                tolerance=lambda _: fine,
                smoothing=0.8 if problem.rhs.size > LARGE // span**0.5 else 0.7,
            )
        except StoppedError:
            return False
        stop(relaxation)  # the last iteration, after which no oracle was called, may be the best
        self.order = mean_starts(relaxation, len(self.jobs.modes))
        return relaxation.converged

    def improve(self, seconds: float) -> None:
        """Search for schedules at the best prices, in each thread from another state.

        It begins with the best of some orders; in every other round with the best schedule so far,
        if that is better.
        """
        time, passed = self.progress.span(seconds), 0.0
        first, again = self.rounds * self.threads, self.rounds % 2 == 0
        self.rounds += 1
        reported = self.progress.seconds()

        def done() -> float:
            nonlocal passed
            passed = 1.0 if self.progress.stop() else time.share()
            return passed

        def report(plans: Plans) -> None:
            nonlocal reported
            if self.progress.seconds() > reported:
                self.keep(plans)
                # checking a schedule takes a while: not every step is reported at once
                reported = self.progress.seconds() + 2.0

        def run(start: int, share: Callable[[], float], better: Callable[[Plans], None]) -> Plans:
            area = self._area()
            area.load(self._begin(area, start, share, self.plans if again else None))
            return area.anneal(Streams(self.seed)("neighbourhood", start), share, better)

        with ThreadPoolExecutor(self.threads) as pool:
            others = [
                pool.submit(run, first + k, lambda: passed, lambda _: None)
                for k in range(1, self.threads)
            ]
            try:
                self.keep(run(first, done, report))
            finally:
                passed = 1.0
        for other in others:
            self.keep(other.result())

    def keep(self, plans: Plans) -> None:
        """Keep and report plans, if all jobs are in and they are the best."""
        value = cost(self.jobs, plans)
        if value < (math.inf if self.plans is None else cost(self.jobs, self.plans)):
            self.plans = list(plans)
            self.progress.incumbent(value, schedule_of(plans))

    def _area(self) -> Neighborhood:
        slots = self.inst.deadline or self.slots + self.slots // 4 + 8
        return Neighborhood(self.jobs, self.prices, slots, self.whole.neighborhood)

    def _begin(
        self, area: Neighborhood, start: int, done: Callable[[], float], best: Plans | None
    ) -> Plans:
        """Return the best of some starts; what is in of the last, if none holds all jobs."""
        least = math.inf if best is None else cost(self.jobs, best)
        for factor, order in self._orders(start):
            area.construct(order, factor)
            value = cost(self.jobs, area.plans)
            if value < least:
                best, least = list(area.plans), value
            if done() > 0.03:  # the rest is for the search
                break
        return list(area.plans) if best is None else best

    def _orders(self, start: int) -> Iterator[tuple[float, list[int]]]:
        """Yield multiples of prices, and orders of the jobs: by density, as the relaxation does."""
        density = np.array([-task.density for task in self.jobs.tasks])
        rng = Streams(self.seed)("orders", start)
        noise = 0.0
        for _ in range(40):
            for factor in FACTORS:
                shifted = self.order + noise * rng.standard_normal(len(self.order))
                yield factor, np.argsort(shifted, kind="stable").tolist()
            if noise == 0.0:
                for factor in FACTORS:
                    yield factor, np.argsort(density, kind="stable").tolist()
            noise = 0.08 * max(1.0, float(self.order.std()))


def mean_starts(relaxation: Relaxation, jobs: int) -> Floats:
    """Return when the relaxation starts each job, on average."""
    starts = np.zeros(jobs)
    for k in np.flatnonzero(relaxation.x > 0):
        column = relaxation.columns[k]
        starts[column.block] += relaxation.x[k] * column.choice.start
    return starts


def certify(inst: CompletionInstance, prices: Floats) -> CompletionCertificate:
    """Certify by one set of prices, in as many bits as fit."""
    heaviest = max((job.weight for job in inst.jobs), default=1.0)
    bits = int(np.clip(40 - np.ceil(np.log2(max(heaviest, 1e-9))), 0, 28))
    keep = prices[: BoundEvaluator(inst).slots]
    while True:
        made = CompletionCertificate.root(inst, keep, bits)
        if len(made.model_dump_json()) <= LARGEST:
            return made
        keep = np.where(keep >= np.quantile(keep[keep > 0], 0.2), keep, 0.0)
