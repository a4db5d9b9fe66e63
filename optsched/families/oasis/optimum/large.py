"""Subgradient method and greedy schedules for instances with thousands of jobs.

The Lagrangian dual of capacity is solved approximately by `engine.ascent` (Held et al., 1974),
without a master problem; one kernel bounds all jobs at once
(`relaxations.convexified_kernels`), and the checker uses hull bounds as well. Schedules come from
greedy insertion by value per cost at the prices, and destroy-and-repair moves
(`search.greedy_schedule`). All work grows with jobs times slots.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optsched.engine.ascent import Ascent, AscentLevel
from optsched.engine.progress import Progress
from optsched.engine.reserve import Reserve, busy
from optsched.families.oasis.certificate import limits
from optsched.families.oasis.certificate.check import OasisCertificate
from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.build_certificate import certify_prices
from optsched.families.oasis.optimum.relaxations.convexified import RelaxedBlocks
from optsched.families.oasis.optimum.search.greedy_schedule import GreedySchedule, LocalSearch
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.streams import Streams
from optsched.scheduling.board import JobPlan, planned_jobs

BOARD = 3 * 10**8  # jobs times slots times machines: what the search of small instances may hold
PASSES = ((0.9, 1.0), (0.6, 1.0), (0.3, 0.0))  # factors of prices, shares of the remainder


def large(inst: OasisInstance) -> bool:
    """Whether an instance is too large for programs, boards and exact oracles."""
    machines = sum(c.count for side in (inst.worker_machines, inst.ps_machines) for c in side)
    return limits.large(inst) or len(inst.jobs) * inst.horizon * machines > BOARD


def levels(blocks: RelaxedBlocks) -> Iterator[AscentLevel]:
    """Yield the levels from coarse to fine, for prices whose scale is known."""
    for n in (blocks.slots, *(n for n in (50, 10) if n < blocks.slots)):
        yield AscentLevel(blocks.groups(n, classes=False), first=0.05, last=0.02, gain=5e-3)
    fine = blocks.groups(1, classes=True)
    yield AscentLevel(fine, first=0.02, last=0.01, gain=2e-3)
    yield AscentLevel(fine, first=0.01, last=0.0005, gain=2e-4, exact=True)


def on_capacity(blocks: RelaxedBlocks, prices: Floats) -> Floats:
    """Return prices in the order of the rows of `capacity.CapacityRelaxation`."""
    sides = blocks.by_side(prices)  # (C, R, T) each
    return np.concatenate([side.transpose(2, 1, 0).ravel() for side in sides])


def solve_large(
    inst: OasisInstance,
    progress: Progress,
    *,
    threads: int,  # noqa: ARG001 - one is enough for the kernels
    seed: int,
) -> None:
    """Find a scale of prices and a first schedule; then prices, and schedules at these."""
    search = Filling(inst, progress, seed)
    search.begin()
    search.improve(seed)


class Filling:
    """Prices by small steps, and the schedule that is filled at them.

    Parameters
    ----------
    inst : OasisInstance
    progress : Progress
    seed : int
    part : float
        Of the time that may have passed when both are found.
    """

    def __init__(
        self, inst: OasisInstance, progress: Progress, seed: int, part: float = 1.0
    ) -> None:
        self.inst, self.progress, self.part = inst, progress, part
        # share of the time that is kept for feasibility check and checker, at most; that may pass
        self.reserve, self.until = Reserve(progress, 0.5), 1.0
        self.reported = -np.inf  # the greatest value that was checked
        self.blocks = RelaxedBlocks(inst)
        rng = Streams(seed)("ascent")
        self.ascent = Ascent(self.blocks, rng, self.stop, self.prove, progress.params.ascent)
        self.board = GreedySchedule(self.blocks, self.ascent.prices)
        self.order: list[int] = []

    def begin(self) -> None:
        """Find a scale of prices and a first schedule; then prices, and a schedule at these."""
        self.find_scale()
        self.fill(0.3, PASSES[:1])
        self.find_prices()
        self.fill(1.0, PASSES)

    def stop(self) -> bool:
        """Whether the time is up."""
        return self.progress.stop() or self.reserve.share() >= self.until

    def prove(self, bound: float, prices: Floats) -> None:
        """Report a bound at prices."""

        def certificate() -> OasisCertificate:
            worker, ps = (p.transpose(2, 0, 1) for p in self.blocks.by_side(prices))
            return certify_prices(self.inst, worker, ps, float(self.blocks.rhs.max(initial=1.0)))

        self.progress.tighten(bound, certificate)

    def find_scale(self) -> None:
        """Find the total value of capacity, and the time of the checker."""
        base, some = self.blocks.base(), self.ascent.batches[0]
        for _ in range(2):  # compiles, then is quick
            began = busy()
            self.blocks.sweep(base, some, True)
            took = (busy() - began) * len(self.ascent.batches)
        # seconds of checking for a job, and times an oracle by hulls
        self.reserve.work = 4e-4 * self.blocks.blocks + 3.0 * took
        self.until = 0.2 * self.part
        if self.progress.bound is None:
            self.ascent.look(np.zeros(base.size))
        self.ascent.scan(base, self.progress.bound or 0.0)

    def find_prices(self) -> None:
        """Find prices of resources, of blocks of slots, then of slots and classes."""
        self.until = 0.6 * self.part
        for level in levels(self.blocks):
            self.ascent.descend(level)

    def fill(self, until: float, passes: tuple[tuple[float, float], ...]) -> None:
        """Insert jobs by value per cost, first at high prices; keep and report improvements."""
        self.until, prices = until * self.part, self.ascent.prices
        board = GreedySchedule(self.blocks, prices)
        order = self.ranking(0.5 * prices)
        for factor, fragmentation_penalty in passes:
            earns = set(self.ranking(factor * prices))  # the remaining places cost more
            for i in order:
                if self.stop():
                    break
                if i in earns and i not in board.plans:
                    board.insert(i, factor, fragmentation_penalty)
        if not self.order or board.value > self.board.value:
            self.board, self.order = board, order
        began = busy()
        self.report(board.plans, board.value)
        self.reserve.work += busy() - began

    def improve(self, seed: int) -> None:
        """Let jobs go out and others in until the time is up."""
        board = self.board
        moves = LocalSearch(board, self.order, Streams(seed)("improvement"))
        began = reported = self.reserve.share()
        value, best = board.value, dict(board.plans)
        # of what a job earns: so much may a move lose in the beginning
        heat = 0.03 * value / max(1, len(best))
        while board.plans and not self.stop():
            share = self.reserve.share()
            moves.move(heat * max(0.0, 1.0 - share) / (1.0 - began))
            # values are equal, relatively: sums in other orders
            if board.value > value * (1 + 1e-12):
                value, best = board.value, dict(board.plans)
                # of the time passes between two schedules that the feasibility check sees
                if share > reported + 0.1:
                    self.report(best, value)
                    reported = share
        self.report(best, value)

    def ranking(self, prices: Floats) -> list[int]:
        """Return the jobs that may earn more than their cost, by value per cost."""
        every: Ints = np.arange(self.blocks.blocks)
        self.blocks.sweep(prices, every, False)
        found = self.blocks.found
        ratio = (found.payoff + found.cost) / np.maximum(found.cost, 1e-300)
        order = np.argsort(-ratio, kind="stable")
        listed: list[int] = order[found.completion[order] >= 0].tolist()
        return listed

    def report(self, plans: dict[int, JobPlan], value: float) -> None:
        """Check a schedule, if it is better than the last one."""
        if value <= self.reported:
            return
        self.reported = value
        jobs = planned_jobs(len(self.inst.jobs), plans, JobSchedule)
        self.progress.incumbent(value, OasisSchedule(jobs=jobs))
