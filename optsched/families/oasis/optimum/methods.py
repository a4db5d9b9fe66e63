"""How family `oasis` finds its optimum: the engine's parts put together.

- `column_generation`: prices on capacity, from the compact linear program, improved to convergence;
- `branch_and_price`: prices per worker and slot, which know how workers pack, in a branching tree;
- `neighbourhood`: schedules only;
- `auto`: the tree where it is small enough, else the tightened compact program and the search.

Where jobs are counted in thousands, all four are the one method that survives it: see `large`.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event

import numpy as np

from optsched.engine.ascent import Ascent, Level
from optsched.engine.branch import BranchAndPrice, Tree
from optsched.engine.colgen import Column, Relaxation, generate_columns, lagrangian
from optsched.engine.interior_master import InteriorMaster
from optsched.engine.progress import Progress
from optsched.engine.search import short_search
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.certify import (
    certify_capacity,
    certify_parts,
    certify_slots,
    certify_tree,
)
from optsched.families.oasis.optimum.cpsat import cpsat
from optsched.families.oasis.optimum.declared import compact
from optsched.families.oasis.optimum.large import large, solve_large
from optsched.families.oasis.optimum.opening import in_units
from optsched.families.oasis.optimum.prices.capacity import SIDES, Around, CapacityBlocks
from optsched.families.oasis.optimum.prices.relaxation import compact_prices
from optsched.families.oasis.optimum.prices.tightening import Guide, Tightening
from optsched.families.oasis.optimum.search.neighbourhood import Neighbourhood, flat_prices
from optsched.families.oasis.optimum.search.pattern_program import PatternProgram
from optsched.families.oasis.optimum.search.repairs import Repairs
from optsched.families.oasis.optimum.tree.branching import UnitTree
from optsched.families.oasis.optimum.tree.completions import MOST_LEAVES, CompletionTree
from optsched.numbers.arrays import Floats
from optsched.numbers.streams import Streams
from optsched.problem import Method

SMALL = 1500  # slots of jobs in which they can earn, up to which the branching tree pays
CONVERGED = 1e-5  # of column generation at prices on capacity, relatively
POINTS = 0.01, 0.03, 0.1, 0.4, 1.0  # where oracles are asked, between best and master's prices
STEPS, STEP_GAIN = (1e-3, 1e-4), 1e-4  # around the first prices; see `ascent.Level`
FIRST_SEARCH = 0.002  # seconds per job and slot of the first search for schedules
QUICK = 0.3  # of the first search where a tree comes at once
PATTERN_SHARE = 0.4  # of the time may go into pattern programs
PATTERN_SECONDS = 1.0, 10.0  # of the first, and of any; each may take twice as long as the last
SEARCH_SHARE = 0.15  # of the time may go into new starts of the search beside the tree
TIGHTEN_SHARE = 0.5  # of the time at most goes into tightening the compact program, and its tree
SECOND_ROUND = 0.5  # of the seconds of the first: fewer jobs take part
FIRST_ROUNDS = 4  # of tightening at least, while jobs come in
LEAST_GAIN = 5e-4  # of the bound, by which one of two rounds of tightening must lower it
TREE_GAIN = 1.5e-3  # the same where the tree, or the search, has to wait for it
FEWEST_SPLITS = 4  # for which there must be time: the first ones gain little
RESTART_SECONDS = 60.0  # one annealing run of the search


class _Search:
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

    def prove(self, bound: float, prices: Floats) -> None:
        """Report a bound at prices on capacity."""
        self.bound, self.prices = bound, prices
        self.progress.proved(bound, lambda: certify_capacity(self.capacity, prices))

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

    def tighten(self, seconds: float) -> None:
        """Bound by the compact program and what single machines can host; learn where to search."""
        span = self.progress.span(seconds)
        stop = self.progress.stop
        tightening = Tightening(self.capacity, threads=self.threads, stop=stop)
        rounds = _Rounds()
        while not tightening.done and rounds.pay(span.left()) and not stop():
            began = span.passed()
            tightening.round(self.progress.span())
            rounds.add(tightening.bound, span.passed() - began)
            prices, self.guide = tightening.capacity_prices, tightening.guide
            if prices is not None and self.prices is None:
                best = self.capacity.price(prices, np.zeros(self.capacity.jobs)).best
                self.prove(lagrangian(self.capacity, prices, best), prices)
            if self.guide is not None:
                make = partial(certify_slots, self.inst, self.guide.prices)
                self.progress.proved(tightening.bound, make)
        if self.prices is None:  # no job can finish
            self.compact_bound()
        rest = self.progress.span(span.left())
        if tightening.guide is not None and rest.whole > 2 * FEWEST_SPLITS * rounds.seconds:
            tree = CompletionTree(tightening, rounds.seconds)
            for bound in tree.grow(rest, stop):
                self.progress.proved(bound, lambda: certify_parts(self.inst, tree.root))

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

    def improve(self, seconds: float, packs: bool = True) -> None:
        """Search for schedules at the best prices, from a new start in every thread."""
        span = self.progress.span(seconds)
        ended = Event()

        def done() -> float:
            """Return the share of the time that has passed, in this thread as in the others."""
            over = ended.is_set() or self.progress.closed()
            return 1.0 if over else span.share()

        def search(start: int, progress: Progress) -> None:
            area = Neighbourhood(self.inst, spread, self.guide, packs)
            area.start(progress.stop)  # not cut off: a schedule for the moves to begin with
            area.search(progress, seed=self.seed, start=start, done=done)

        spread = flat_prices(self.inst)
        if self.prices is not None:
            spread = self.capacity.by_machine(self.prices)
        first, self.starts = self.starts, self.starts + self.threads
        family = self.progress.family
        others = [
            Progress(family, self.inst, time_limit=span.whole, gap=0.0)
            for _ in range(self.threads - 1)
        ]
        with ThreadPoolExecutor(self.threads) as pool:
            searches = [
                pool.submit(search, first + k, other) for k, other in enumerate(others, start=1)
            ]
            try:
                search(first, self.progress)
            finally:  # after Ctrl-C, too
                ended.set()
        for found, other in zip(searches, others, strict=True):
            found.result()
            if other.value is not None and other.schedule is not None:
                self.progress.incumbent(other.value, other.schedule)


class _Rounds:
    """Whether another round of tightening pays, beside what the branching tree would gain."""

    def __init__(self) -> None:
        self.bounds: list[float] = []
        self.seconds = 0.0  # of the last round

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
        return float(gains[-1]) >= TREE_GAIN and self.seconds <= left


def neighbourhood(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Search for schedules until the time is up, restarting every few seconds; proves nothing."""
    search = _Search(inst, progress, threads, seed)
    while not progress.stop():
        search.improve(RESTART_SECONDS)


def column_generation(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the relaxation at prices on capacity, after a short search for a schedule."""
    search = _Search(inst, progress, threads, seed)
    search.improve(search.short)
    search.speed_bound()
    search.generate(progress.left())
    search.improve(search.short)


def branch_and_price(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Branch and price at prices per worker and slot."""
    search = _Search(inst, progress, threads, seed)
    search.improve(search.short)
    _branch(search)


def auto(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Combine the methods by size."""
    search = _Search(inst, progress, threads, seed)
    small = UnitTree(inst).rows // len(SIDES) <= SMALL
    # the tree knows how workers pack; where it ends at once, no kernels of packing are compiled
    short = QUICK * search.short if small else search.short
    search.improve(min(short, progress.left() / 4), packs=not small)
    if progress.stop():
        return
    if small:
        search.compact_bound()
        search.improve(min(2 * short, progress.left() / 4), packs=False)
        _branch(search)
        return
    search.tighten(TIGHTEN_SHARE * progress.left())
    search.improve(progress.left())


def _branch(search: _Search) -> None:
    """Run the tree; look for schedules in the patterns that it meets.

    Of several threads, one looks for schedules with the completions that the tree meets.
    """
    progress = search.progress
    problem = UnitTree(search.inst, progress.limits)
    spent = searched = 0.0
    turn = PATTERN_SECONDS[0]
    tried: set[tuple[tuple[int, int], ...]] = set()
    beside = max(1, search.threads - 1)

    def target() -> float:
        return -np.inf if progress.value is None else progress.value * (1 + progress.gap_limit)

    def proved(tree: Tree) -> None:
        progress.proved(tree.bound(), lambda: certify_tree(problem, tree))

    def stop() -> bool:
        for found in repairs.found():
            progress.offer(found)
        return progress.stop()

    def relaxed(relaxation: Relaxation) -> None:
        nonlocal spent, searched, turn
        progress.offer(problem.schedule(relaxation))
        completions = problem.completions(relaxation)
        if completions is not None and relaxation.value > target():
            repairs.add(completions)
        for found in repairs.work():
            progress.offer(found)
        for limits in repairs.proved():
            problem.limit(limits)
        if searched + 2 * search.short < SEARCH_SHARE * progress.seconds():
            began = progress.seconds()
            search.improve(2 * search.short)
            searched += progress.seconds() - began
        key = () if completions is None else tuple(sorted(completions.items()))
        if tried and (not key or key in tried or spent + turn > PATTERN_SHARE * progress.seconds()):
            return
        began = progress.seconds()
        program = PatternProgram(problem, tree.master.columns, completions if tried else None)
        tried.add(key)
        progress.offer(
            program.solve(limits=progress.limits(turn), threads=beside, seed=search.seed)
        )
        spent += progress.seconds() - began
        turn = min(2 * turn, PATTERN_SECONDS[1])

    tree = BranchAndPrice(
        problem, target=target, stop=stop, proved=proved, relaxed=relaxed, threads=beside
    )
    with Repairs(problem, progress, target, seed=search.seed, beside=search.threads > 1) as repairs:
        tree.run()
    for found in repairs.found():  # since the tree looked last
        progress.offer(found)


def _sized(method: Method) -> Method:
    """Return the method, which is another one where instances are large."""

    def run(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
        chosen = solve_large if large(inst) else method
        chosen(inst, progress, threads=threads, seed=seed)

    return in_units(run)


METHODS: Mapping[str, Method] = {
    "auto": _sized(auto),
    "compact": compact,
    "cpsat": cpsat,
    "colgen": _sized(column_generation),
    "branch-and-price": _sized(branch_and_price),
    "search": _sized(neighbourhood),
}
