"""Prices and schedules of `oasis` that support each other: the parts that methods combine.

Column generation and cutting planes give bounds and guide the primal heuristics: Lagrangian and
LP-based large neighborhood search (Shaw, 1998; Sadykov et al., 2019), in parallel threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from threading import Event

import numpy as np

from optsched.engine.ascent import Ascent, Level
from optsched.engine.colgen import Column, Relaxation, generate_columns, lagrangian
from optsched.engine.interior_master import InteriorMaster
from optsched.engine.progress import Progress
from optsched.engine.search import short_search
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.certify import certify_capacity, certify_parts, certify_slots
from optsched.families.oasis.optimum.large import Filling
from optsched.families.oasis.optimum.prices.capacity import Around, CapacityBlocks
from optsched.families.oasis.optimum.prices.relaxation import compact_prices
from optsched.families.oasis.optimum.prices.stepwise import on_capacity, stepwise_prices
from optsched.families.oasis.optimum.prices.tightening import Guide, Tightening
from optsched.families.oasis.optimum.prices.workers import UnitBlocks
from optsched.families.oasis.optimum.search.neighbourhood import Neighbourhood, flat_prices
from optsched.families.oasis.optimum.slotwise.meeting import Meeting
from optsched.families.oasis.optimum.slotwise.search import SlotSearch
from optsched.families.oasis.optimum.tree.completions import MOST_LEAVES, CompletionTree
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.problem import Frozen, Schedule
from optsched.scheduling.board import Plan

CONVERGED = 1e-5  # of column generation at prices on capacity, relatively
POINTS = 0.01, 0.03, 0.1, 0.4, 1.0  # where oracles are asked, between best and master's prices
STEPS, STEP_GAIN = (1e-3, 1e-4), 1e-4  # around the first prices; see `ascent.Level`
FIRST_SEARCH = 0.002  # seconds per job and slot of the first search for schedules
SECOND_ROUND = 0.5  # of the seconds of the first: fewer jobs take part
FIRST_ROUNDS = 3  # of tightening at least, while jobs come in
LEAST_GAIN = 5e-4  # of the bound, by which one of two rounds of tightening must lower it
TREE_GAIN = 1.5e-3  # the same where the tree has to wait for it
SEARCH_GAIN = 8e-3  # the same where a search for sets of jobs has to
SPLITS_GAIN = 5e-4  # of the bound, by which two splits must lower it where a search may follow
FEWEST_SPLITS = 4  # for which there must be time: the first ones gain little
FILLING = 0.1  # of the time until first prices and a schedule stand
BESIDE = 1000  # the number of the start of a search in the thread that has tightened
SLOTWISE_SECONDS = 12.0  # of a search with a guide, from which on it ends slot by slot
PACKED_SHARE = 0.06  # of the time for both: before it, jobs go in and out, which soon finds little
SLOTWISE_SIZE = 30_000  # jobs times slots up to which it does: there, a step ends in a second

Report = Callable[[float, Callable[[], Frozen]], None]
"""Hears of a bound, and how its certificate is made."""


class Search:
    """The best prices and schedules so far, and who may use the time."""

    def __init__(self, inst: OasisInstance, progress: Progress, threads: int, seed: int) -> None:
        self.inst, self.progress = inst, progress
        self.threads, self.seed = threads, seed
        self.capacity = CapacityBlocks(inst)
        self.prices: Floats | None = None
        self.bound = np.inf  # at these prices
        self.guide: Guide | None = None
        self.starts = 0
        self.short = short_search(len(inst.jobs), inst.horizon, rate=FIRST_SEARCH, most=0.5)
        self.master: InteriorMaster | None = None
        self.meeting = Meeting()
        self.beginning: Schedule | None = None  # where every search among sets of jobs begins

    def prove(self, bound: float, prices: Floats) -> None:
        """Report a bound at prices on capacity."""
        self.bound, self.prices = bound, prices
        self.progress.proved(bound, lambda: certify_capacity(self.capacity, prices))

    def fill(self) -> None:
        """Find first prices and a schedule as for thousands of jobs: programs need much longer."""
        filling = Filling(self.inst, self.progress, self.seed, FILLING)
        filling.begin()
        self.prices = on_capacity(filling.blocks, filling.ascent.prices)
        self.bound = filling.ascent.bound

    def compact_bound(self) -> None:
        """Bound by the duals of the compact linear program."""
        prices = compact_prices(self.capacity, threads=self.threads, span=self.progress.span())
        best = self.capacity.price(prices, np.zeros(self.capacity.jobs)).best
        self.prove(lagrangian(self.capacity, prices, best), prices)

    def speed_bound(self) -> None:
        """Bound by the compact program and how fast jobs can run: prices on capacity."""
        stop = self.progress.stop
        tightening = Tightening(self.capacity, threads=self.threads, packing=False, stop=stop)
        rounds, span = _Rounds(), self.progress.span()
        least = np.inf
        while not tightening.done and rounds.pay(span.left()) and not stop():
            began = span.passed()
            tightening.round(span)
            rounds.add(tightening.bound, span.passed() - began)
            prices = tightening.capacity_prices
            if prices is None:
                break
            best = self.capacity.price(prices, np.zeros(self.capacity.jobs)).best
            bound = lagrangian(self.capacity, prices, best)
            if bound < least:
                least = bound
                self.prove(bound, prices)
        if self.prices is None:  # no job can finish
            self.compact_bound()

    def tighten(
        self, seconds: float, report: Report | None = None, ended: Callable[[], bool] | None = None
    ) -> None:
        """Bound by the compact program and what single machines can host; learn where to search.

        In a thread of its own, it tells nobody but ``report`` of bounds, until it is ``ended``.
        """
        proved, stop = report or self.progress.proved, ended or self.progress.stop
        span = self.progress.span(seconds)
        tightening = Tightening(self.capacity, threads=1 if report else self.threads, stop=stop)
        if report:  # the first round sets the pace of all that waits for it
            tightening.begin(stepwise_prices(self.inst, Streams(self.seed)("first prices"), stop))
        rounds = _Rounds()
        while not tightening.done and rounds.pay(span.left()) and not stop():
            if report and self.may_go_slotwise(span.left()):
                rounds.least = SEARCH_GAIN
            began = span.passed()
            tightening.round(self.progress.span())
            rounds.add(tightening.bound, span.passed() - began)
            prices = tightening.capacity_prices
            if prices is not None and len(rounds.bounds) == 1:
                best = self.capacity.price(prices, np.zeros(self.capacity.jobs)).best
                bound = lagrangian(self.capacity, prices, best)
                proved(bound, partial(certify_capacity, self.capacity, prices))
                if bound < self.bound:
                    self.bound, self.prices = bound, prices
            self.guide = tightening.guide
            if self.guide is not None:
                proved(tightening.bound, partial(certify_slots, self.inst, self.guide.prices))
        if self.prices is None and report is None:  # no job can finish
            self.compact_bound()
        rest = self.progress.span(span.left())
        if tightening.guide is not None and rest.whole > 2 * FEWEST_SPLITS * rounds.seconds:
            tree = CompletionTree(tightening, rounds.seconds)
            bounds = [tightening.bound]
            for bound in tree.grow(rest, stop):
                proved(bound, lambda: certify_parts(self.inst, tree.root))
                bounds.append(bound)
                if report and self.may_go_slotwise(rest.left()) and not splits_pay(bounds):
                    break  # for another search

    def side_by_side(self, first: float) -> None:
        """Tighten in one thread, and search in the others; in that one, too, when it has ended.

        Before there is a guide, which is expected to take ``first`` seconds, searches are short.
        """
        news: SimpleQueue[tuple[float, Callable[[], Frozen]]] = SimpleQueue()
        ended, guided, tight = Event(), Event(), Event()
        other = Progress(self.progress.family, self.inst, time_limit=self.progress.left(), gap=0.0)

        def over() -> bool:
            return ended.is_set() or self.progress.interrupted or other.left() <= 0

        def proved(bound: float, make: Callable[[], Frozen]) -> None:
            news.put((bound, make))
            if self.guide is not None:
                guided.set()

        def tighten() -> None:
            span = other.span()
            self.tighten(span.whole, proved, over)
            guided.set()
            tight.set()
            if self.beginning is not None and self.may_go_slotwise(span.left()):
                other.offer(self.beginning)
                self.slotwise(other, BESIDE, lambda: 0.0 if over() else span.left())

        def listen() -> bool:
            while not news.empty():
                self.progress.proved(*news.get())
            if tight.is_set() and not (ended.is_set() or over()):
                tight.clear()
                self.progress.confirm()
            return guided.is_set()

        with ThreadPoolExecutor(1) as pool:
            task = pool.submit(tighten)
            try:
                few = self.threads - 1
                self.fill()
                while not (listen() or self.progress.closed()):
                    self.improve(first, threads=few, until=listen)
                self.finish(threads=few, until=lambda: listen() and False)
            finally:
                ended.set()
        task.result()
        listen()
        if self.prices is None:  # no job can finish
            self.compact_bound()
        self.progress.offer(other.schedule)

    def first_columns(self) -> list[Column]:
        """Return schedules at prices around the best ones, which small steps may improve."""
        around = Around(self.capacity)
        ascent = Ascent(around, Streams(self.seed)("columns"), self.progress.stop, self.prove)
        if self.prices is not None:
            ascent.bound, ascent.prices = self.bound, self.prices
            rows = np.arange(self.prices.size)
            ascent.descend(Level(rows, first=STEPS[0], last=STEPS[1], gain=STEP_GAIN))
        return around.columns

    def generate(self, seconds: float) -> bool:
        """Improve the prices by column generation; return whether it has converged."""
        span = self.progress.span(seconds)

        def stop(relaxation: Relaxation) -> bool:
            if relaxation.bound < self.bound:
                self.prove(relaxation.bound, relaxation.prices)
            return self.progress.stop() or span.over()

        if self.master is None:
            self.master = InteriorMaster(self.capacity, threads=self.threads, prices=self.prices)
            self.master.add(self.first_columns())
        relaxation = generate_columns(
            self.capacity,
            self.master,
            stop=stop,
            center=self.prices,
            tolerance=lambda _: CONVERGED,
            points=POINTS,
        )
        stop(relaxation)  # the last iteration, after which nobody was asked, may be the best
        return relaxation.converged

    def improve(
        self,
        seconds: float,
        packs: bool = True,
        threads: int | None = None,
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """Search for schedules at the best prices, from a new start in every thread.

        It ends early when ``until`` says so, which the first thread alone asks.
        """

        def search(start: int, progress: Progress, done: Callable[[], float]) -> None:
            area = self._area(packs)
            area.start(progress.stop)  # not cut off: a schedule for the moves to begin with
            area.search(progress, seed=self.seed, start=start, done=done)

        self._in_threads(search, seconds, threads or self.threads, until)

    def finish(self, threads: int | None = None, until: Callable[[], bool] = lambda: False) -> None:
        """Search to the end, for sets of jobs where that pays; else, and ``until``, see above."""
        slotwise = self.may_go_slotwise(self.progress.left())
        share = PACKED_SHARE if slotwise else 1.0
        self.improve(share * self.progress.left(), threads=threads, until=until)
        seconds, known = self.progress.left(), self.progress.schedule
        if not slotwise or known is None or self.progress.closed():
            return
        self.beginning = known

        def search(start: int, progress: Progress, done: Callable[[], float]) -> None:
            progress.offer(known)
            self.slotwise(progress, start, lambda: (1.0 - done()) * seconds)

        self._in_threads(search, seconds, threads or self.threads, until)

    def _in_threads(
        self,
        search: Callable[[int, Progress, Callable[[], float]], None],
        seconds: float,
        threads: int,
        until: Callable[[], bool],
    ) -> None:
        """Run searches, and report what they find.

        They are told the numbers of their starts, whom to report to, and what share of the time
        has passed.
        """
        span = self.progress.span(seconds)
        ended = Event()

        def done() -> float:
            over = ended.is_set() or self.progress.closed()
            return 1.0 if over else span.share()

        def first_done() -> float:
            if until():
                ended.set()
            return done()

        first, self.starts = self.starts, self.starts + threads
        family = self.progress.family
        others = [
            Progress(family, self.inst, time_limit=span.whole, gap=0.0) for _ in range(threads - 1)
        ]
        with ThreadPoolExecutor(threads) as pool:
            searches = [
                pool.submit(search, first + k, other, done)
                for k, other in enumerate(others, start=1)
            ]
            try:
                search(first, self.progress, first_done)
            finally:  # after Ctrl-C, too
                ended.set()
        for found, other in zip(searches, others, strict=True):
            found.result()
            if other.value is not None and other.schedule is not None:
                self.progress.incumbent(other.value, other.schedule)

    def _area(self, packs: bool = True) -> Neighbourhood:
        """Return an empty board at the best prices."""
        spread = flat_prices(self.inst)
        if self.prices is not None:
            spread = self.capacity.by_machine(self.prices)
        return Neighbourhood(self.inst, spread, self.guide, packs)

    def may_go_slotwise(self, seconds: float) -> bool:
        """Whether the search among sets of jobs makes enough steps in so many seconds."""
        size = len(self.inst.jobs) * self.inst.horizon
        return self.guide is not None and seconds >= SLOTWISE_SECONDS and size <= SLOTWISE_SIZE

    def slotwise(self, progress: Progress, start: int, left: Callable[[], float]) -> None:
        """Search among sets of jobs, from the best schedule that ``progress`` knows."""
        assert self.guide is not None  # the caller has seen to it
        assert isinstance(progress.schedule, OasisSchedule)  # and that there is one
        rng = Streams(self.seed)("slotwise", start)
        blocks, area = UnitBlocks(self.inst), self._area()

        def found(plans: dict[int, Plan]) -> float:
            if plans:
                value = area.complete(plans)
                progress.incumbent(value, area.schedule(area.plans()))
            return -np.inf if progress.value is None else progress.value

        search = SlotSearch(blocks, self.guide, progress.schedule, rng, self.meeting)
        search.search(left, found)


def splits_pay(bounds: Sequence[float]) -> bool:
    """Whether the last two splits have lowered the bound by enough, or were the first ones."""
    return len(bounds) < 3 or bounds[-3] - bounds[-1] >= SPLITS_GAIN * bounds[-1]


class _Rounds:
    """Whether another round of tightening pays, beside what the branching tree would gain."""

    def __init__(self) -> None:
        self.bounds: list[float] = []
        self.seconds = 0.0  # of the last round
        self.least = TREE_GAIN  # of the bound, from the last round, where there is no time for all

    def add(self, bound: float, seconds: float) -> None:
        """Note a round."""
        self.seconds = seconds * (1.0 if self.bounds else SECOND_ROUND)
        self.bounds.append(bound)

    def pay(self, left: float) -> bool:
        """Return whether the next round is expected to gain enough, and ends in time."""
        if len(self.bounds) < FIRST_ROUNDS:
            return self.seconds <= left
        gains = -np.diff(self.bounds[-3:]) / self.bounds[-1]
        if left > 2 * MOST_LEAVES * self.seconds:  # there is time for all of the tree
            return float(gains.max()) >= LEAST_GAIN
        return float(gains[-1]) >= self.least and self.seconds <= left
