"""Methods of family `dmlrs`: how its building blocks are combined.

- `column_generation`: Dantzig-Wolfe column generation (Lübbecke and Desrosiers, 2005) with prices
  on capacity, from the columns of a short search;
- `branch_and_price`: branch and price (Barnhart et al., 1998) from these prices;
- `neighborhood`: large neighborhood search (Shaw, 1998), schedules only;
- `auto`: bounded dynamic programming over slots for tiny instances, branch and price for small
  ones, otherwise column generation and search in turns; where the compact program is small, the
  remaining time goes to the programs of single solvers;
- `compact`, `cpsat`: the whole program in one solver.

Branch and price supports the reading "job" of locality and at most 12 jobs, everything else both
readings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optsched.engine.branch import BranchAndBoundTree, BranchAndPrice, BranchParams
from optsched.engine.colgen import Column, Master, Relaxation, generate_columns, lagrangian
from optsched.engine.neighborhood import Neighborhood
from optsched.engine.params import Count, Factor, Number, Part, Seconds, SecondsEach, Share
from optsched.engine.progress import Progress
from optsched.engine.reserve import Pace, Reserve
from optsched.engine.search import LnsParams, construct, short_search
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.optimum.build_certificate import (
    certify_capacity,
    certify_tree,
    check_seconds,
)
from optsched.families.dmlrs.optimum.cpsat import cpsat
from optsched.families.dmlrs.optimum.dynamic_program import slot_program
from optsched.families.dmlrs.optimum.monolithic_mip import compact
from optsched.families.dmlrs.optimum.relaxation import relaxation
from optsched.families.dmlrs.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.dmlrs.optimum.relaxations.slot_packing import MOST_JOBS
from optsched.families.dmlrs.optimum.search.neighborhood import (
    board_units,
    neighborhood_at,
    plan_column,
)
from optsched.families.dmlrs.optimum.tree.branching import SlotTree
from optsched.numbers.arrays import Floats
from optsched.problem import RELAXATION, InputError, Method, Schedule
from optsched.process import work_units
from optsched.scheduling.board import FACTORS, JobPlan, PlanBoard, flat_prices, load
from optsched.scheduling.units import in_units, original


@dataclass(frozen=True)
class AutoParams:
    """Parameters of `auto`.

    Attributes
    ----------
    small : int
        Jobs times slots up to which branch and price runs.
    dynamic_program : bool
        Whether the dynamic program over slots runs before branch and price.
    branch_and_price : bool
        Whether branch and price runs.
    program : int
        Jobs times slots times machines up to which the compact program is built.
    first_search : float
        Duration of the first search for schedules.
    restart : float
        Duration of one run of simulated annealing in the search.
    eased : float
        Factor of the best prices at which the search inserts jobs: at the best prices, many jobs
        have a payoff near 0.
    price_share : float
        Share of the remaining time for column generation if the instance is too large for branch
        and price.
    steps : tuple of float
        Lengths tried for the first subgradient step from prices 0, relative to Polyak's step
        length.
    most_kept : float
        Largest share of the time that is reserved for feasibility check and certificate check.
    sample : int
        Jobs of the sample that estimates the duration of the certificate check.
    first_sample : float
        Time of the first estimate, after the start.
    sampled : float
        Largest share of the time for these estimates.
    margin : float
        Factor on the estimated duration of the check: a few jobs take most of it, and better prices
        take longer.
    smoothing : float
        Weight of the best prices so far in column generation (Wentges smoothing).
    """

    small: Number = 400
    dynamic_program: bool = True
    branch_and_price: bool = True
    program: Number = 5000
    first_search: SecondsEach = 0.002
    restart: Seconds = 60.0
    eased: Share = 0.8
    price_share: Share = 0.7
    steps: tuple[Factor, ...] = (1e-3, 3e-3, 1e-2, 3e-2)
    most_kept: Share = 0.5
    sample: Count = 40
    first_sample: Seconds = 1.0
    sampled: Part = 0.03
    margin: Factor = 2.5
    smoothing: Part = 0.9


@dataclass(frozen=True)
class Params:
    """All parameters, by component."""

    auto: AutoParams = AutoParams()
    branch: BranchParams = BranchParams()
    neighborhood: LnsParams = LnsParams()


class _Portfolio:
    """The best prices and schedules so far, and the allocation of time."""

    def __init__(
        self,
        inst: DmlrsInstance,
        progress: Progress,
        threads: int,
        seed: int,
    ) -> None:
        self.inst, self.progress = inst, progress
        self.whole: Params = progress.params
        self.params = params = self.whole.auto
        self.threads, self.seed = threads, seed
        self.capacity = CapacityRelaxation(inst)
        self.reserve = Reserve(progress, params.most_kept)
        self.board: PlanBoard | None = None  # of the search that is under way
        # seconds per job: of feasibility check, checker; and class
        self.checking = 2e-4 * len(inst.jobs) * len(self.capacity.count)
        self.sampling = params.first_sample  # seconds from the start when that is looked at
        self.proving = 0.0  # the same, once a bound has been found
        self.stepped: Floats | None = None  # prices from which to generate columns
        self.prices: Floats | None = None
        self.bound = np.inf  # at these prices
        self.starts = 0
        self.short = short_search(len(inst.jobs), inst.horizon, rate=params.first_search, most=2.0)
        self.columns: list[Column] = []  # of plans that a search met
        self.master: Master | None = None
        self.known: Schedule | None = None  # incumbent of `progress` at the last look
        self.best: dict[int, JobPlan] = {}

    def stop(self) -> bool:
        """Whether the time is up, except for feasibility check and checker."""
        planned = 0 if self.board is None else len(self.board.plans)
        # seconds per job: of feasibility check, checker; and class
        self.reserve.work = 6e-4 * planned + self.proving
        return self.progress.stop() or self.progress.left() <= self.reserve.seconds()

    def prove(self, bound: float, prices: Floats) -> None:
        """Report a bound at prices on capacity."""
        self.bound, self.prices = bound, prices
        self._report(bound, prices)

    def _report(self, bound: float, prices: Floats) -> None:
        self.progress.tighten(bound, lambda: certify_capacity(self.capacity, prices))
        began = self.progress.seconds()
        if self.reserve.counts and began > self.sampling:
            self.checking = self.params.margin * check_seconds(
                self.capacity, prices, self.params.sample
            )
            now = self.progress.seconds()
            self.sampling = now + (now - began) / self.params.sampled
        self.proving = self.checking

    def checkable(self) -> bool:
        """Whether there is time to check a bound at other prices than 0."""
        return (
            not self.reserve.counts or self.checking <= self.params.most_kept * self.progress.left()
        )

    def step(self) -> None:
        """Prove a bound at prices one step from 0, along the overload of all jobs there.

        All classes pay the same: at prices 0 every job takes the first. Longer steps are
        tried until one is worse.
        """
        capacity = self.capacity
        found = capacity.price(np.zeros(capacity.rhs.size), np.zeros(capacity.jobs))
        used = np.zeros(capacity.rhs.size)
        for column in found.columns:
            used[column.rows] += column.usage
        capacities = capacity.rhs.reshape(capacity.shape).sum(axis=2)
        there = np.where(capacities > 0, capacities, 1.0)
        over = np.where(capacities > 0, used.reshape(capacity.shape).sum(axis=2) / there - 1.0, 0.0)
        over = np.maximum(over, 0.0)
        best = float(found.best.sum())
        for length in self.params.steps:
            if not over.any() or self.stop():
                return
            paid = length * best / float((over * over).sum()) * over / there
            prices = np.repeat(paid[:, :, None], capacity.shape[2], axis=2).ravel()
            bound = lagrangian(
                capacity, prices, capacity.price(prices, np.zeros(capacity.jobs)).best
            )
            if bound >= best:
                return
            best, self.stepped = bound, prices
            self._report(bound, prices)

    def generate(self, seconds: float) -> None:
        """Improve the prices by column generation, if there is time to check the result."""
        if not self.checkable():
            return
        span, pace = self.progress.span(seconds), Pace(self.progress)

        def stop(relaxation: Relaxation) -> bool:
            if relaxation.bound < self.bound:
                self.prove(relaxation.bound, relaxation.prices)
            return self.stop() or span.over() or pace.short(self.reserve.seconds())

        if self.master is None:
            self.master = Master(self.capacity, threads=self.threads)
        self.master.add(self.columns)
        self.columns.clear()
        # of column generation, relatively
        relaxation = generate_columns(
            self.capacity,
            self.master,
            stop=stop,
            center=self.stepped if self.prices is None else self.prices,
            tolerance=lambda _: 1e-5,
            smoothing=self.params.smoothing,
        )
        stop(relaxation)  # the last iteration, after which no oracle was called, may be the best

    def confirm(self) -> None:
        """Check the bound now, so that the search may have all of the time that is left."""
        if self.reserve.counts and not self.progress.stop():
            self.progress.confirm()
            self.proving = 0.0

    def improve(self, seconds: float) -> bool:
        """Search for schedules at the best prices, from the best plans known.

        Return False where making the board alone would exceed the work limit.
        """
        capacity = self.inst.arrays.capacity
        if not work_units.fits(board_units(self.inst.horizon * capacity.size)):
            return False
        spread = flat_prices(capacity, self.inst.horizon)
        if self.prices is not None:
            spread = np.maximum(self.capacity.by_machine(self.prices), 1e-6 * spread)
        area = neighborhood_at(self.inst, spread, self.whole.neighborhood)
        self.board = area.board
        self._look(area)
        if not self.best or self.starts % 2:
            construct(area.board, self.by_cost(), len(FACTORS) - 1, self.stop)
        if area.board.value < _value(self.best) and self.starts % 2 == 0:
            load(area.board, self.best)
        span = self.progress.span(seconds)

        def done() -> float:
            return 1.0 if self.stop() else span.share()

        def met(plans: Mapping[int, JobPlan]) -> None:
            self.columns += [plan_column(self.capacity, i, plan) for i, plan in plans.items()]

        found = area.search(self.progress, seed=self.seed, start=self.starts, done=done, met=met)
        if _value(found) > _value(self.best):
            self.best = found
        self.starts += 1
        return True

    def follow(self) -> None:
        """Close the instance by the program over slots at the best prices, if it is tiny."""
        prices = np.zeros(self.capacity.shape) if self.prices is None else self.prices
        by_class = prices.reshape(self.capacity.shape).transpose(0, 2, 1)
        progress, exponent = original(self.progress)
        slot_program(progress.instance, progress, np.ascontiguousarray(by_class), exponent)

    def by_cost(self) -> list[int]:
        """Return the jobs by decreasing value per cost at the best prices; ties: by index."""
        prices = self.prices
        if prices is None:
            capacity = self.inst.arrays.capacity
            classes = len(self.capacity.classes)
            prices = flat_prices(capacity, self.inst.horizon, classes).ravel()
        prices = self.params.eased * prices
        gain = np.zeros(self.capacity.jobs)
        for _, column in self.capacity.answers(prices, np.zeros(self.capacity.jobs)):
            if column is not None:
                cost = float(prices[column.rows] @ column.usage)
                gain[column.block] = column.value / cost if cost > 0 else np.inf
            if self.stop():
                break
        order: list[int] = np.argsort(-gain, kind="stable").tolist()
        return order

    def _look(self, area: Neighborhood) -> None:
        """Take over the schedule that `progress` knows, if it is better: others have found it."""
        if self.progress.schedule is None or self.progress.schedule is self.known:
            return
        self.known = self.progress.schedule
        plans = area.plans_of(self.known)
        if _value(plans) > _value(self.best):
            self.best = plans
            self.columns += [plan_column(self.capacity, i, plan) for i, plan in plans.items()]


def neighborhood(inst: DmlrsInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Search for schedules until the time is up, restarting every minute; proves nothing."""
    search = _Portfolio(inst, progress, threads, seed)
    while not search.stop() and search.improve(search.params.restart):
        pass


def column_generation(inst: DmlrsInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the relaxation at prices on capacity, between two short searches for a schedule."""
    search = _Portfolio(inst, progress, threads, seed)
    search.improve(search.short)
    search.generate(progress.left())
    search.improve(search.short)


def branch_and_price(inst: DmlrsInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Branch and price, after column generation and two short searches for a schedule."""
    if not _branches(inst):
        raise InputError(
            f'{len(inst.jobs)} jobs, locality "{inst.locality}": branch and price applies to at '
            f'most {MOST_JOBS} jobs and locality "job", expected the method auto, colgen, cpsat or '
            "compact"
        )
    search = _Portfolio(inst, progress, threads, seed)
    _prepare(search)
    if not progress.stop():
        _branch(search)


def auto(inst: DmlrsInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Combine the methods by size and reading; go on while there is time."""
    search = _Portfolio(inst, progress, threads, seed)
    params = search.params
    small = len(inst.jobs) * inst.horizon <= params.small
    programs = len(inst.jobs) * inst.horizon * len(inst.capacity) <= params.program

    if small or programs:
        _prepare(search)
        if small and params.dynamic_program and inst.locality == "job" and not progress.stop():
            search.follow()
        if small and params.branch_and_price and _branches(inst) and not progress.stop():
            _branch(search)
        if programs:
            for method in (cpsat, compact):
                if not progress.stop():
                    method(inst, progress, threads=threads, seed=seed)
            return
    if len(inst.jobs) * inst.horizon > 50_000 and search.checkable():
        search.step()
    search.improve(min(search.short, progress.left() / 8))
    search.generate(params.price_share * progress.left())
    search.confirm()
    while not search.stop() and search.improve(progress.left()):
        pass


def _prepare(search: _Portfolio) -> None:
    """Generate columns between two short searches for a schedule."""
    progress = search.progress
    search.improve(min(search.short, progress.left() / 8))
    search.generate(progress.left() / 4)
    search.improve(min(search.short, progress.left() / 8))


def _value(plans: Mapping[int, JobPlan]) -> float:
    return sum(plan.value for plan in plans.values())


def _branch(search: _Portfolio) -> None:
    """Branch and price; a relaxation that is a schedule is reported."""
    progress = search.progress
    problem = SlotTree(search.capacity, progress.limits)

    def target() -> float:
        return -np.inf if progress.value is None else progress.value * (1 + progress.gap_limit)

    def improved(tree: BranchAndBoundTree) -> None:
        progress.tighten(tree.bound(), lambda: certify_tree(problem, tree))

    def relaxed(relaxation: Relaxation) -> None:
        progress.offer(problem.schedule(relaxation))

    pace = Pace(progress)
    tree = BranchAndPrice(
        problem,
        target=target,
        stop=lambda: progress.stop() or pace.short(),
        improved=improved,
        relaxed=relaxed,
        threads=search.threads,
        start=None if search.prices is None else problem.from_capacity(search.prices),
        params=search.whole.branch,
    )
    known = [] if search.master is None else search.master.columns
    columns = [problem.job_column(c.block, *c.choice) for c in known]
    tree.master.add(columns + problem.patterns_of(search.best))
    tree.run()


def _branches(inst: DmlrsInstance) -> bool:
    """Whether branch and price applies: it has prices for sets of jobs, in the reading "job"."""
    return inst.locality == "job" and len(inst.jobs) <= MOST_JOBS


METHODS: Mapping[str, Method] = {
    "auto": in_units(auto),
    "compact": in_units(compact),
    "cpsat": cpsat,
    "colgen": in_units(column_generation),
    "branch-and-price": in_units(branch_and_price),
    "search": in_units(neighborhood),
    RELAXATION: in_units(relaxation),
}
