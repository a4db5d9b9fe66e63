"""Portfolio of `oasis`: dual bounds and primal heuristics in parallel, which exchange results.

The linear relaxation and cutting planes give bounds and guide the primal heuristics: Lagrangian and
LP-based large neighborhood search (Shaw, 1998; Sadykov et al., 2019), in parallel threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Event

import numpy as np

from optsched.engine.progress import Progress
from optsched.engine.search import short_search
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.build_certificate import (
    certify_capacity,
    certify_slots,
)
from optsched.families.oasis.optimum.configuration_lp.search import SlotSearch
from optsched.families.oasis.optimum.large import Filling, on_capacity
from optsched.families.oasis.optimum.params import AutoParams, Params
from optsched.families.oasis.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.cutting_planes import CutLoop, LpGuidance
from optsched.families.oasis.optimum.relaxations.relaxation import compact_prices
from optsched.families.oasis.optimum.relaxations.unit_price import UnitPriceDecomposition
from optsched.families.oasis.optimum.search.neighborhood import Neighborhood, flat_prices
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.problem import Schedule
from optsched.scheduling.board import JobPlan

Done = Callable[[], float]
"""Returns the share of its time that has passed."""
Task = Callable[[int, Progress, Done], None]
"""A search: takes the number of its start, the observer, and when to end."""


class Portfolio:
    """The best prices and schedules so far, and the allocation of time."""

    def __init__(
        self,
        inst: OasisInstance,
        progress: Progress,
        threads: int,
        seed: int,
    ) -> None:
        self.inst, self.progress = inst, progress
        self.whole: Params = progress.params
        self.params = self.whole.auto
        self.threads, self.seed = threads, seed
        self.capacity = CapacityRelaxation(inst)
        self.prices: Floats | None = None
        self.bound = np.inf  # at these prices
        self.guide: LpGuidance | None = None
        self.starts = 0
        self.short = short_search(
            len(inst.jobs), inst.horizon, rate=self.params.first_search, most=0.5
        )

    def prove(self, bound: float, prices: Floats) -> None:
        """Report a bound at prices on capacity."""
        self.bound, self.prices = bound, prices
        self.progress.tighten(bound, lambda: certify_capacity(self.capacity, prices))

    def fill(self) -> None:
        """Find first prices and a schedule as for thousands of jobs: programs need much longer."""
        filling = Filling(self.inst, self.progress, self.seed, self.params.filling)
        filling.begin()
        self.prices = on_capacity(filling.blocks, filling.ascent.prices)
        self.bound = filling.ascent.bound

    def compact_bound(self) -> None:
        """Bound by the duals of the compact linear program."""
        prices = compact_prices(self.capacity, threads=self.threads, span=self.progress.span())
        self.prove(self.capacity.bound(prices), prices)

    def tighten(self, seconds: float, report: Callable[[], None]) -> None:
        """Bound by the compact program with machine patterns, and guide the search.

        It calls ``report`` after every step, for results of other threads.
        """
        tighten, stop = self.progress.tighten, self.progress.stop
        span = self.progress.span(seconds)
        cut_loop = CutLoop(self.capacity, threads=1, stop=stop, params=self.whole.cuts)
        rounds = _Rounds(self.params)
        while not cut_loop.done and rounds.pay(span.left()) and not stop():
            began = span.passed()
            cut_loop.round(self.progress.span())
            rounds.add(cut_loop.bound, span.passed() - began)
            prices = cut_loop.capacity_prices
            if prices is not None and len(rounds.bounds) == 1:
                bound = self.capacity.bound(prices)
                if bound < self.bound:
                    self.prove(bound, prices)
            self.guide = cut_loop.guide
            if self.guide is not None:
                tighten(cut_loop.bound, partial(certify_slots, self.inst, self.guide.prices))
            report()
        if self.prices is None:  # no job can finish
            self.compact_bound()

    @contextmanager
    def in_parallel(self, task: Task, seconds: float) -> Iterator[Callable[[], None]]:
        """Run a task in all threads but this one, which does something else.

        Results are reported in the end, and whenever the yielded function is called.
        """
        ended, span, threads = Event(), self.progress.span(seconds), self.threads - 1
        others = [
            Progress(
                self.progress.family,
                self.inst,
                time_limit=span.whole,
                gap=0.0,
                params=self.whole,
            )
            for _ in range(threads)
        ]

        def done() -> float:
            return 1.0 if ended.is_set() else span.share()

        def report() -> None:
            for other in others:
                if other.value is not None and other.schedule is not None:
                    self.progress.incumbent(other.value, other.schedule)

        first, self.starts = self.starts, self.starts + threads
        with ThreadPoolExecutor(max(1, threads)) as pool:
            tasks = [pool.submit(task, first + k, other, done) for k, other in enumerate(others)]
            try:
                yield report
            finally:  # after Ctrl-C as well
                ended.set()
        for each in tasks:
            each.result()
        report()

    def together(self, task: Task, seconds: float) -> None:
        """Run a task in all threads; a closed gap ends it."""
        span = self.progress.span(seconds)
        with self.in_parallel(task, span.whole):
            start, self.starts = self.starts, self.starts + 1
            task(start, self.progress, lambda: 1.0 if self.progress.closed() else span.share())

    def improve(self, seconds: float) -> None:
        """Search for schedules at the best prices, from a new start in every thread."""
        self.together(self.search, seconds)

    def finish(self) -> None:
        """Search to the end, in the last part among sets of jobs where that pays."""
        left, size, params = (
            self.progress.left(),
            len(self.inst.jobs) * self.inst.horizon,
            self.params,
        )
        dives = params.dives and left >= params.dive_seconds and size <= params.dive_size
        dives = dives and self.guide is not None
        self.improve(params.single_share * left if dives else left)
        if dives and self.progress.schedule is not None and not self.progress.closed():
            self.together(partial(self.dive, known=self.progress.schedule), self.progress.left())

    def search(self, start: int, progress: Progress, done: Done) -> None:
        """Run a large neighborhood search on single jobs from a start of its own."""
        area = self._area()
        area.start(progress.stop)  # not cut off: a schedule for the moves to begin with
        area.search(progress, seed=self.seed, start=start, done=done)

    def restart(self, start: int, progress: Progress, done: Done) -> None:
        """Search until it is done, anew when the relaxation has a solution that guides it."""
        while (began := done()) < 1.0:
            guided = self.guide is not None

            def share(began: float = began, guided: bool = guided) -> float:
                return 1.0 if guided != (self.guide is not None) else (done() - began) / (1 - began)

            self.search(start, progress, share)
            start += self.threads

    def dive(self, start: int, progress: Progress, done: Done, known: Schedule) -> None:
        """Search among sets of jobs, from a schedule."""
        assert self.guide is not None  # the caller has seen to it
        assert isinstance(known, OasisSchedule)
        progress.offer(known)
        rng, span = Streams(self.seed)("configuration_lp", start), self.progress.span()
        blocks, area = UnitPriceDecomposition(self.inst), self._area()

        def found(plans: dict[int, JobPlan]) -> float:
            if plans:
                value = area.complete(plans)
                progress.incumbent(value, area.schedule(area.board.plans))
            return -np.inf if progress.value is None else progress.value

        search = SlotSearch(blocks, self.guide, known, rng, self.whole.dives)
        search.search(lambda: (1.0 - done()) * span.whole, found)

    def _area(self) -> Neighborhood:
        """Return an empty board at the best prices."""
        spread = flat_prices(self.inst)
        if self.prices is not None:
            spread = self.capacity.by_machine(self.prices)
        return Neighborhood(self.inst, spread, self.guide, self.whole.neighborhood)


class _Rounds:
    """Whether another round of cuts pays."""

    def __init__(self, params: AutoParams) -> None:
        self.params = params
        self.bounds: list[float] = []
        self.seconds = 0.0  # of the last round

    def add(self, bound: float, seconds: float) -> None:
        """Note a round."""
        self.seconds = seconds * (1.0 if self.bounds else self.params.second_round)
        self.bounds.append(bound)

    def pay(self, left: float) -> bool:
        """Return whether the next round is expected to gain enough, and ends in time."""
        if len(self.bounds) < self.params.first_rounds:
            return self.seconds <= left
        gains = -np.diff(self.bounds[-3:]) / self.bounds[-1]
        if left > self.params.ample * self.seconds:
            return float(gains.max()) >= self.params.least_gain
        return float(gains[-1]) >= self.params.late_gain and self.seconds <= left
