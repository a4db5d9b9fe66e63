"""Prices on capacity, and schedules found by a search at them: what works at every size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np

from optsched.engine.colgen import Master, Relaxation, generate_columns
from optsched.engine.interior_master import InteriorMaster
from optsched.engine.progress import Progress
from optsched.engine.reserve import Pace
from optsched.engine.search import short_search
from optsched.families.completion.certificate.bound import Evaluation
from optsched.families.completion.certificate.format import CompletionCertificate
from optsched.families.completion.instance import CompletionInstance, CompletionSchedule
from optsched.families.completion.optimum.horizon import greedy, makespan
from optsched.families.completion.optimum.prices.capacity import Jobs, ServerBlocks, StoppedError
from optsched.families.completion.optimum.search.neighbourhood import Neighbourhood
from optsched.families.completion.optimum.search.plans import FACTORS, Plans
from optsched.families.completion.optimum.tree.branching import attributes
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.proofs.limits import LARGEST

CONVERGED = 1e-4
INTERIOR = 2000  # rows from which on an interior point solves the master
SHORT_SEARCH = 0.005  # seconds per job and slot of a first search for schedules
ORDER_SHARE = 0.1  # of a search goes into finding the best order to begin with
ORDER_NOISE = 0.08  # of the spread of the starts: how far orders are from the relaxation's
MOST_ORDERS = 40
GRID_BITS = 28


class Search:
    """The best prices and schedules so far."""

    def __init__(
        self, inst: CompletionInstance, progress: Progress, threads: int, seed: int
    ) -> None:
        self.inst, self.progress = inst, progress
        self.threads, self.seed = threads, seed
        self.jobs = Jobs(inst)
        self.prices: Floats = np.zeros((1, *self.jobs.class_capacity.shape))  # (L, C, R)
        self.bound = 0.0
        self.plans: Plans | None = None
        self.order = self.jobs.arrival.astype(float)  # when the relaxation starts the jobs
        self.starts = 0
        self.slots = 0  # of the board
        self.short = short_search(len(inst.jobs), inst.horizon, rate=SHORT_SEARCH, most=2.0)

    def begin(self) -> bool:
        """Make a first schedule; False if none can exist."""
        if self.jobs.impossible() is not None:
            self.progress.infeasible = True
            nothing = np.zeros_like(self.prices)
            self.progress.proved(np.inf, lambda: certify(self.inst, nothing))
            return False
        area = greedy(self.jobs, self.progress)
        if area is None:  # a deadline that is too tight for the simplest schedule
            assert self.inst.deadline is not None
            self.slots = self.inst.deadline
        else:
            self.plans = area.snapshot()
            self.slots = self.inst.deadline or makespan(area)
        self._start(area)
        return True

    def begin_with_known(self) -> None:
        """Begin with the best schedule that is known, without a search for another one."""
        known = self.progress.schedule
        assert isinstance(known, CompletionSchedule)  # the caller has seen to it
        self.slots = self.inst.deadline or max(p.end for pieces in known.jobs for p in pieces)
        self._start(None)

    def _start(self, area: Neighbourhood | None) -> None:
        """Begin with the schedule that is known, if it is better and has modes of the search."""
        known = self.progress.schedule
        if not isinstance(known, CompletionSchedule):
            return
        last = max((piece.end for pieces in known.jobs for piece in pieces), default=0)
        if area is None or last > area.slots:
            area = Neighbourhood(self.jobs, self.prices, max(last, self.slots))
        plans = area.plans_of(known)
        if plans is not None and (self.plans is None or area.cost(plans) < area.cost(self.plans)):
            self.plans = plans
            self.slots = self.inst.deadline or max(self.slots, last)

    def take(self, prices: Floats, bound: float) -> None:
        """Go on from prices of slots (L, C, R) with a bound, and the best schedule known."""
        self.prices, self.bound = prices, bound
        self._start(self._area())

    def prove(self, bound: float, prices: Floats) -> None:
        """Report the bound of prices of slots (L, C, R)."""
        if bound > self.bound:
            self.bound, self.prices = bound, prices
            self.progress.proved(bound, lambda: certify(self.inst, prices))

    def generate(self, span: int, seconds: float) -> bool:
        """Improve the prices on a grid; return whether that has converged."""
        time, pace = self.progress.span(seconds), Pace(self.progress)
        length = self.inst.deadline or self.slots + max(2, self.slots // 10)
        problem = ServerBlocks(self.jobs, length, span)
        large = problem.rhs.size > INTERIOR // span**0.5
        master = (InteriorMaster if large else Master)(problem, threads=self.threads)
        if self.plans is not None:
            area = Neighbourhood(self.jobs, self.prices, 1)
            master.add(problem.columns_of(list(enumerate(area.pieces(self.plans)))))

        def stop(relaxation: Relaxation) -> bool:
            self.prove(-relaxation.bound, problem.per_slot(relaxation.prices))
            return self.progress.stop() or time.over() or pace.short()

        problem.stop = self.progress.stop
        try:
            relaxation = generate_columns(
                problem,
                master,
                stop=stop,
                center=problem.coarsen(self.prices),
                tolerance=lambda _: CONVERGED if problem.rhs.size > INTERIOR else 1e-7,
                smoothing=0.8 if large else 0.7,
            )
        except StoppedError:
            return False
        stop(relaxation)  # the last iteration, after which nobody was asked, may be the best
        self.order = mean_starts(relaxation, len(self.jobs.modes))
        return relaxation.converged

    def improve(self, seconds: float) -> None:
        """Search for schedules at the best prices, from a new start in every thread."""
        time = self.progress.span(seconds)
        ended = Event()

        def done() -> float:
            return 1.0 if ended.is_set() else time.share()

        def first_done() -> float:  # of the search in this thread, which alone reports
            return 1.0 if self.progress.stop() else done()

        first, self.starts = self.starts, self.starts + self.threads
        areas = [self._area() for _ in range(self.threads)]
        with ThreadPoolExecutor(self.threads) as pool:
            others = [
                pool.submit(self._search, area, None, first + k, done)
                for k, area in enumerate(areas[1:], start=1)
            ]
            try:
                found = [self._search(areas[0], self.progress, first, first_done)]
            finally:  # after Ctrl-C, too
                ended.set()
        found += [other.result() for other in others]
        for area, plans in zip(areas, found, strict=True):
            if self.plans is None or area.cost(plans) < area.cost(self.plans):
                self.keep(area, plans)

    def keep(self, area: Neighbourhood, plans: Plans) -> None:
        """Keep the plans of a schedule, which is better than what is known."""
        if (plans.mode >= 0).all():
            self.plans = plans
            area.report(self.progress, plans)

    def _area(self) -> Neighbourhood:
        slots = self.inst.deadline or self.slots + self.slots // 4 + 8
        return Neighbourhood(self.jobs, self.prices, slots)

    def _search(
        self, area: Neighbourhood, progress: Progress | None, start: int, done: Callable[[], float]
    ) -> Plans:
        """Search from the best of some starts; the even ones know the best schedule so far."""
        if self.plans is not None:
            area.learn(self.plans)
        best = None if start % 2 else self.plans
        for factor, order in self._orders(start):
            area.construct(order, factor)
            if area.complete() and (best is None or area.cost(area.plans) < area.cost(best)):
                best = area.snapshot()
                area.learn(best)
            if done() > ORDER_SHARE:
                break
        if best is not None:
            area.load(best)
        return area.search(progress, seed=self.seed, start=start, done=done)

    def _orders(self, start: int) -> Iterator[tuple[float, list[int]]]:
        """Yield multiples of prices, and orders of the jobs: by density, as the relaxation does."""
        density = np.array([-task.density for task in self.jobs.tasks])
        rng = Streams(self.seed)("orders", start)
        noise = 0.0
        for _ in range(MOST_ORDERS):
            for factor in FACTORS[1:]:
                shifted = self.order + noise * rng.standard_normal(len(self.order))
                yield factor, np.argsort(shifted, kind="stable").tolist()
            if noise == 0.0:
                for factor in FACTORS:
                    yield factor, np.argsort(density, kind="stable").tolist()
            noise = ORDER_NOISE * max(1.0, float(self.order.std()))


def mean_starts(relaxation: Relaxation, jobs: int) -> Floats:
    """Return when the relaxation starts each job, on average."""
    starts = np.zeros(jobs)
    for k in np.flatnonzero(relaxation.x > 0):
        column = relaxation.columns[k]
        starts[column.block] += relaxation.x[k] * attributes(column)[0]
    return starts


def certify(inst: CompletionInstance, prices: Floats) -> CompletionCertificate:
    """Certify by one set of prices, in as many bits as fit."""
    heaviest = max((job.weight for job in inst.jobs), default=1.0)
    bits = int(np.clip(40 - np.ceil(np.log2(max(heaviest, 1e-9))), 0, GRID_BITS))
    keep = prices[: Evaluation(inst).slots]
    while True:
        made = CompletionCertificate.root(inst, keep, bits)
        if len(made.model_dump_json()) <= LARGEST:
            return made
        keep = np.where(keep >= np.quantile(keep[keep > 0], 0.2), keep, 0.0)
