"""How family `completion` finds its optimum: the engine's parts put together.

- `column_generation`: prices on capacity, on ever finer time grids;
- `neighbourhood`: schedules only;
- `auto`: prices, then schedules; where it is small enough, a branching tree, and a dynamic program
  over time; then every (mode, start) whose reduced cost exceeds what is left between bound and best
  schedule is dropped, and CP-SAT is asked for the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from optsched.branch import BranchAndPrice, Tree
from optsched.colgen import Floats, Master, Relaxation, generate_columns
from optsched.families.completion.blocks import Jobs, ServerBlocks
from optsched.families.completion.certificate import LARGEST, CompletionCertificate, round_up
from optsched.families.completion.compact import compact
from optsched.families.completion.cpsat import Choices, Program, cpsat
from optsched.families.completion.filtering import filtered, reduced, within
from optsched.families.completion.horizon import greedy, makespan
from optsched.families.completion.instance import CompletionInstance, Ints
from optsched.families.completion.neighbourhood import FACTORS, Neighbourhood, Plan
from optsched.families.completion.timeline import MOST_JOBS, Path, Timeline
from optsched.families.completion.windows import WindowBlocks, attributes, certify_tree
from optsched.interior_master import InteriorMaster
from optsched.problem import Method
from optsched.progress import Progress
from optsched.search import construct
from optsched.streams import Streams

SMALL = 1200  # job-slots up to which one grid of single slots is solved at once
SPANS = (16, 4, 1)  # slots that share a price, one after the other
SPAN_SHARE = (0.08, 0.15, 0.1)  # of the time for each
CONVERGED = 1e-4
INTERIOR = 2000  # rows from which on an interior point solves the master
LEAF_SECONDS = 2.0  # of CP-SAT on a leaf, before all the others have had their turn
MOST_CHOICES = 40_000  # (mode, start) pairs that CP-SAT is asked to choose from
SHORT_SEARCH = 0.005  # seconds per job-slot of a first search for schedules, in all at most 2
FIRST_SEARCH = 0.02  # of the time, per search before the tree
RESTART_SECONDS = 60.0
ORDER_SHARE = 0.25  # of a search goes into finding the best order to begin with
ORDER_NOISE = 0.08  # of the spread of the starts: how far orders are from the relaxation's
MOST_ORDERS = 40
GRID_BITS = 28
SAFE = 1e-8  # relative: rounding of the floats of the tree, against the checker's integers
MOST_NODES = 20_000
SCARCE = 1e-3  # of all prices: a resource with less of them is free of charge in the tree
FIRST_TREE = 0.1  # of the time goes into a tree, which brings certificates
TIMELINE_SHARE = 0.5  # of what is left into the dynamic program over time
TREE_SHARE = 0.6  # of what is left then into a larger tree
LIMITS = (0.02, 0.25, 0.5, 0.75, 1.0)  # of the gap: up to where it looks in everything, in turn
FEW_LEAVES = 8  # of a tree, of which each is looked at by itself at once
TIMELINE_SECONDS = 1.0  # on a leaf at first
TIMELINE_GROWTH = 4.0  # by which that grows from round to round
PLACE_SECONDS = 2.0  # of CP-SAT to place the jobs of a path on single servers


class Search:
    """The best prices and schedules so far."""

    def __init__(
        self, inst: CompletionInstance, monitor: Progress, threads: int, seed: int
    ) -> None:
        self.inst, self.monitor = inst, monitor
        self.threads, self.seed = threads, seed
        self.jobs = Jobs(inst)
        self.prices: Floats = np.zeros((1, *self.jobs.class_capacity.shape))  # (L, C, R)
        self.bound = 0.0
        self.plans: dict[int, Plan] | None = None
        self.order = self.jobs.arrival.astype(float)  # when the relaxation starts the jobs
        self.starts = 0
        self.slots = 0  # of the board
        self.leaves: list[tuple[Ints, Floats]] = []  # what a tree has left open: limits, prices
        self.whole = False  # whether the dynamic program has been run on everything
        self.closed = False  # whether the dynamic program has shown that nothing is better
        # no value lies between the multiples of this
        self.step = float(round_up(inst, Fraction(1, 10**12)))
        self.short = min(2.0, SHORT_SEARCH * len(inst.jobs) * inst.horizon)

    def begin(self) -> bool:
        """Make a first schedule; False if none can exist."""
        if self.jobs.impossible() is not None:
            self.monitor.infeasible = True
            return False
        area = greedy(self.jobs, self.monitor)
        if area is None:  # a deadline that is too tight for the simplest schedule
            assert self.inst.deadline is not None
            self.slots = self.inst.deadline
        else:
            self.plans = dict(area.board.plans)
            self.slots = self.inst.deadline or makespan(area)
        return True

    def prove(self, bound: float, prices: Floats) -> None:
        """Report the bound of prices of slots (L, C, R)."""
        if bound > self.bound:
            self.bound, self.prices = bound, prices
            self.monitor.proved(bound, lambda: certify(self.inst, prices))

    def generate(self, span: int, seconds: float) -> bool:
        """Improve the prices on a grid; return whether that has converged."""
        until = min(time.perf_counter() + seconds, self.monitor.deadline)
        length = self.inst.deadline or self.slots + max(2, self.slots // 10)
        problem = ServerBlocks(self.jobs, length, span)
        large = problem.rhs.size > INTERIOR // span**0.5
        master = (InteriorMaster if large else Master)(problem, threads=self.threads)
        if self.plans is not None:
            area = Neighbourhood(self.jobs, self.prices, 1)
            master.add(problem.columns_of(list(enumerate(area.pieces(self.plans)))))

        def stop(relaxation: Relaxation) -> bool:
            self.prove(-relaxation.bound, problem.per_slot(relaxation.prices))
            return self.monitor.stop() or time.perf_counter() > until

        relaxation = generate_columns(
            problem,
            master,
            stop=stop,
            center=problem.coarsen(self.prices),
            tolerance=lambda _: CONVERGED if problem.rhs.size > INTERIOR else 1e-7,
            smoothing=0.8 if large else 0.7,
        )
        stop(relaxation)  # the last iteration, after which nobody was asked, may be the best
        self.order = mean_starts(relaxation, len(self.jobs.modes))
        return relaxation.converged

    def improve(self, seconds: float) -> None:
        """Search for schedules at the best prices, from the best of some starts."""
        began = time.perf_counter()
        slots = self.inst.deadline or self.slots + self.slots // 4 + 8
        area = Neighbourhood(self.jobs, self.prices, slots)
        best = None if self.plans is None or self.starts % 2 else dict(self.plans)
        seconds = max(1e-3, min(seconds, self.monitor.left()))
        for factor, order in self._orders():
            area.load({})
            construct(area.board, order, factor)
            if area.complete() and (best is None or area.board.value > area.worth(best)):
                best = dict(area.board.plans)
            if time.perf_counter() - began > ORDER_SHARE * seconds:
                break
        if best is not None:
            area.load(best)

        def done() -> float:
            share = (time.perf_counter() - began) / seconds
            return 1.0 if self.monitor.closed() else share

        found = area.search(self.monitor, seed=self.seed, start=self.starts, done=done)
        self.starts += 1
        if len(found) == len(self.jobs.modes) and (
            self.plans is None or area.worth(found) > area.worth(self.plans)
        ):
            self.plans = found

    def _orders(self) -> Iterator[tuple[int, list[int]]]:
        """Yield multiples of prices, and orders of the jobs: by density, as the relaxation does."""
        density = np.array([-task.density for task in self.jobs.tasks])
        rng = Streams(self.seed)("orders", self.starts)
        last = len(FACTORS)
        noise = 0.0
        for _ in range(MOST_ORDERS):
            for factor in range(1, last):
                shifted = self.order + noise * rng.standard_normal(len(self.order))
                yield factor, np.argsort(shifted, kind="stable").tolist()
            if noise == 0.0:
                for factor in range(last):
                    yield factor, np.argsort(density, kind="stable").tolist()
            noise = ORDER_NOISE * max(1.0, float(self.order.std()))

    def branch(self, seconds: float) -> None:
        """Branch on windows, types and numbers until the best schedule is proved, or time is up."""
        monitor, inst = self.monitor, self.inst
        if self.monitor.closed() or not inst.jobs:
            return
        slots = inst.deadline or self.slots + max(2, self.slots // 10)
        worth = (self.prices.sum(axis=0) * self.jobs.class_capacity).sum(axis=0)  # (R,)
        scarce = worth > SCARCE * worth.sum()
        problem = WindowBlocks(self.jobs, slots, scarce if scarce.any() else None)
        until = min(time.perf_counter() + seconds, monitor.deadline)

        def target() -> float:
            if monitor.value is None:
                return -np.inf
            slack = max(self.step - SAFE * monitor.value, monitor.gap_limit * monitor.value)
            return -(monitor.value - slack)

        def proved(tree: Tree) -> None:
            exact = Fraction(-tree.bound() * (1 - SAFE))
            bound = float(round_up(inst, exact)) if np.isfinite(tree.bound()) else None
            if monitor.value is not None:
                bound = monitor.value if bound is None else min(bound, monitor.value)
            if bound is not None and len(tree.nodes) <= MOST_NODES:
                monitor.proved(bound, lambda: certify_tree(problem, tree))

        area = Neighbourhood(self.jobs, self.prices, inst.deadline or 2 * self.slots)

        def relaxed(relaxation: Relaxation) -> None:
            """Insert the jobs in the order in which the relaxation ends them."""
            ends = np.zeros(len(self.jobs.modes))
            for k in np.flatnonzero(relaxation.x > 0):
                column = relaxation.columns[k]
                ends[column.block] += relaxation.x[k] * attributes(column)[1]
            for factor in range(len(FACTORS)):
                area.load({})
                construct(area.board, np.argsort(ends, kind="stable").tolist(), factor)
                if area.complete() and (
                    self.plans is None or area.board.value > area.worth(self.plans)
                ):
                    self.plans = dict(area.board.plans)
                    area.report(monitor, self.plans)

        search = BranchAndPrice(
            problem,
            target=target,
            stop=lambda: monitor.stop() or time.perf_counter() > until,
            proved=proved,
            relaxed=relaxed,
            threads=self.threads,
        )
        search.run()
        open_leaves = [node for node in search.tree.leaves() if node.bound > target()]
        open_leaves.sort(key=lambda node: -node.bound)
        self.leaves = [(n.restrictions, problem.per_slot(n.prices)) for n in open_leaves]

    def sequence(self, seconds: float) -> None:
        """Run the dynamic program over time on what the tree has left open.

        The first time on everything at once, unless that is only a few leaves.
        """
        value = self.monitor.value
        if value is None or not 0 < len(self.jobs.modes) <= MOST_JOBS:
            return
        left = filtered(self.jobs, self.prices, self.bound, value)
        assert left is not None
        until = min(time.perf_counter() + seconds, self.monitor.deadline)
        whole = (WindowBlocks(self.jobs, 1).root(), self.prices)
        leaves, share = self.leaves or [whole], TIMELINE_SECONDS
        if len(leaves) > FEW_LEAVES and not self.whole:
            self.whole = True
            self.closed = self._sequence(left, *whole, until, LIMITS)
            until = 0.0
        while not self.closed and time.perf_counter() < until:
            still = []
            for limits, prices in leaves:
                end = min(until, time.perf_counter() + share)
                if not self._sequence(left, limits, prices, end, LIMITS[-1:]):
                    still.append((limits, prices))
            leaves, share = still, share * TIMELINE_GROWTH
            self.closed = not leaves
        self.leaves = leaves
        if self.closed and self.monitor.value is not None:
            self.monitor.claim("branching and dynamic program over time", self.monitor.value)

    def _sequence(
        self,
        left: Sequence[Choices],
        limits: Ints,
        prices: Floats,
        until: float,
        shares: Sequence[float],
    ) -> bool:
        """Look for a better schedule within the limits; return whether there is none any more.

        First only up to shares of what is between the bound and the best schedule.
        """
        if time.perf_counter() > until:
            return False
        monitor, program = self.monitor, None
        low, rest = monitor.bound or 0.0, list(shares)
        while rest:
            value = monitor.value
            assert value is not None
            slack = max(self.step / 2, SAFE * value)
            if program is None:
                choices = within(left, limits)
                if choices is not None:
                    choices = reduced(self.jobs, choices, prices, value - slack)
                if choices is None or not all(len(c.modes) for c in choices):
                    return True
                program = Timeline(self.jobs, prices, choices)
            top = low + rest[0] * (value - slack - low)
            found = program.least(top, lambda: time.perf_counter() > until)
            if found.best is not None:
                self._place(found.best)
                now = monitor.value
                assert now is not None
                if found.finished and now <= found.best.value + slack:
                    return True
                if found.finished and now >= value and not program.sharpen():
                    return False
            if not found.finished:
                return False
            if len(shares) > 1:  # everything was looked at
                exact = Fraction((top if found.best is None else found.best.value) * (1 - SAFE))
                bound = min(float(round_up(self.inst, exact)), value)
                monitor.claim("dynamic program over time", bound)
            if found.best is None:
                rest.pop(0)
        return True

    def _place(self, path: Path) -> None:
        """Look for a schedule on single servers as a path says, or with the same completions."""
        for choices in (path.choices, path.alike):
            status = Program(self.jobs, choices).solve(
                self.monitor,
                threads=self.threads,
                seed=self.seed,
                claim=False,
                seconds=PLACE_SECONDS,
            )
            if status in ("optimal", "feasible"):
                return

    def finish(self) -> None:
        """Drop what cannot be in a better schedule, and ask CP-SAT for the rest, leaf by leaf."""
        monitor = self.monitor
        left = filtered(self.jobs, self.prices, self.bound, monitor.value)
        if left is None:
            return
        leaves = self.leaves or [(WindowBlocks(self.jobs, 1).root(), self.prices)]
        for seconds in (LEAF_SECONDS, np.inf):
            still = []
            for limits, prices in leaves:
                if monitor.left() <= 0 or not self._close(left, limits, prices, seconds):
                    still.append((limits, prices))
            leaves = still
        if leaves:
            return
        if monitor.value is None:
            monitor.infeasible = True
        else:
            monitor.claim("cp-sat on what prices leave", monitor.value)

    def _close(self, left: Sequence[Choices], limits: Ints, prices: Floats, seconds: float) -> bool:
        """Look for a better schedule within the limits; return whether there is none any more."""
        monitor = self.monitor
        choices = within(left, limits)
        better = None if monitor.value is None else monitor.value - self.step
        if choices is not None and better is not None:
            choices = reduced(self.jobs, choices, prices, better)
        if choices is None:
            return True
        if sum(len(s) for c in choices for s in c.starts) > MOST_CHOICES:
            return False
        program = Program(self.jobs, choices)
        program.bracket(monitor.bound, better)
        status = program.solve(
            monitor, threads=self.threads, seed=self.seed, claim=False, seconds=seconds
        )
        return status in ("infeasible", "optimal")


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
    keep = prices
    while True:
        made = CompletionCertificate.root(inst, keep, bits)
        if len(made.model_dump_json()) <= LARGEST:
            return made
        keep = np.where(keep >= np.quantile(keep[keep > 0], 0.2), keep, 0.0)


def neighbourhood(inst: CompletionInstance, monitor: Progress, *, threads: int, seed: int) -> None:
    """Search for schedules until the time is up, restarting every minute; proves nothing."""
    search = Search(inst, monitor, threads, seed)
    if search.begin():
        while not monitor.stop():
            search.improve(RESTART_SECONDS)


def column_generation(
    inst: CompletionInstance, monitor: Progress, *, threads: int, seed: int
) -> None:
    """Solve the relaxation at prices on capacity, and look for a schedule."""
    search = Search(inst, monitor, threads, seed)
    if not search.begin():
        return
    if len(inst.jobs) * search.slots <= SMALL:
        search.generate(1, monitor.left())
    else:
        for k, span in enumerate(SPANS):
            search.generate(span, monitor.left() / (len(SPANS) - k))
    search.improve(min(search.short, monitor.left()))


def branch_and_price(
    inst: CompletionInstance, monitor: Progress, *, threads: int, seed: int
) -> None:
    """Branch and price after a short search for a schedule."""
    search = Search(inst, monitor, threads, seed)
    if search.begin():
        search.generate(1, monitor.left() / 4)
        search.improve(min(search.short, monitor.left() / 4))
        search.branch(monitor.left())


def auto(inst: CompletionInstance, monitor: Progress, *, threads: int, seed: int) -> None:
    """Combine the methods by size."""
    search = Search(inst, monitor, threads, seed)
    if not search.begin() or monitor.stop():
        return
    whole = monitor.left()
    if len(inst.jobs) * search.slots <= SMALL:
        search.generate(1, whole / 4)
        for _ in range(2):
            search.improve(min(search.short, FIRST_SEARCH * whole))
            if monitor.stop():
                return
        for share in (FIRST_TREE, TREE_SHARE):
            search.branch(monitor.left() * share)
            if monitor.stop():
                return
            search.sequence(monitor.left() * TIMELINE_SHARE)
            if search.closed:
                return
        search.finish()
        return
    for span, share in zip(SPANS[:2], SPAN_SHARE[:2], strict=True):
        search.generate(span, share * whole)
    if whole > 2 * RESTART_SECONDS:
        search.improve(RESTART_SECONDS)
        search.generate(1, SPAN_SHARE[2] * whole)
    while not monitor.stop():
        search.improve(min(RESTART_SECONDS, monitor.left()))


METHODS: Mapping[str, Method] = {
    "auto": auto,
    "compact": compact,
    "cpsat": cpsat,
    "colgen": column_generation,
    "branch-and-price": branch_and_price,
    "search": neighbourhood,
}
