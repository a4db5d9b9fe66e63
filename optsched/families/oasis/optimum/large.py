"""Instances of thousands of jobs: prices by small steps, and schedules at these prices.

Nothing here grows faster than jobs times slots: one kernel bounds all jobs at once
(`prices.relaxed`), no program is put up, and the checker bounds costs by hulls as well. A schedule
is filled by value per cost at the prices (`search.filling`), and then improved.
"""

from __future__ import annotations

import numpy as np

from optsched.engine.ascent import Ascent, Level
from optsched.engine.progress import Progress
from optsched.families.oasis.certificate import limits
from optsched.families.oasis.certificate.format import OasisCertificate
from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.certify import certify_prices
from optsched.families.oasis.optimum.prices.relaxed import RelaxedBlocks
from optsched.families.oasis.optimum.search.filling import Board, Improvement
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.streams import Streams
from optsched.scheduling.board import Plan, planned_jobs

BOARD = 3 * 10**8  # jobs times slots times machines: what the search of small instances may hold
CHECK = 25.0  # times a look at all jobs: what judge and checker take afterwards
MOST_CHECK = 0.5  # of the time, at most, is kept for them
COARSE = (50, 10)  # slots that share a price, before each has its own
QUICK_SHARE = 0.2  # of the time, at most, goes into the first prices
PRICE_SHARE = 0.5  # the same for all prices
PASSES = ((0.9, 1.0), (0.6, 1.0), (0.3, 0.0))  # factors of prices, shares of what is left over
RANKED = 0.5  # times the prices: who earns more than that is tried
HEAT = 0.03  # of what a job earns: so much may a move lose in the beginning
EQUAL = 1e-12  # values are equal, relatively: sums in other orders
REPORTS = 0.1  # of the time passes between two schedules that the judge sees


def large(inst: OasisInstance) -> bool:
    """Whether an instance is too large for programs, boards and exact oracles."""
    machines = sum(c.count for side in (inst.worker_machines, inst.ps_machines) for c in side)
    return limits.large(inst) or len(inst.jobs) * inst.horizon * machines > BOARD


def solve_large(
    inst: OasisInstance,
    progress: Progress,
    *,
    threads: int,  # noqa: ARG001 - one is enough for the kernels
    seed: int,
) -> None:
    """Improve prices, then schedules, until the time is up."""
    search = _Large(inst, progress, seed)
    search.first_prices()
    search.fill()
    search.fine_prices()
    search.improve(*search.fill(), seed)


class _Large:
    def __init__(self, inst: OasisInstance, progress: Progress, seed: int) -> None:
        self.inst, self.progress = inst, progress
        self.blocks = RelaxedBlocks(inst)
        self.span, self.share = progress.span(), 1.0  # of it that may pass
        self.ascent = Ascent(self.blocks, Streams(seed)("ascent"), self.stop, self.prove)

    def stop(self) -> bool:
        """Whether the time is up."""
        return self.progress.stop() or self.span.share() >= self.share

    def prove(self, bound: float, prices: Floats) -> None:
        """Report a bound at prices."""

        def certificate() -> OasisCertificate:
            worker, ps = (p.transpose(2, 0, 1) for p in self.blocks.by_side(prices))
            return certify_prices(self.inst, worker, ps, float(self.blocks.rhs.max(initial=1.0)))

        self.progress.proved(bound, certificate)

    def first_prices(self) -> None:
        """Find prices of resources, then of blocks of slots."""
        blocks, ascent = self.blocks, self.ascent
        ascent.look(np.zeros(blocks.rhs.size))
        left = self.progress.left()  # judge and checker come after the span
        self.span = self.progress.span(left - min(CHECK * self.span.passed(), MOST_CHECK * left))
        self.share = QUICK_SHARE
        ascent.scan(blocks.base())
        for n in (blocks.slots, *(n for n in COARSE if n < blocks.slots)):
            ascent.descend(Level(blocks.groups(n, classes=False), first=0.05, last=0.02))

    def fine_prices(self) -> None:
        """Find prices of slots and classes."""
        self.share = PRICE_SHARE
        fine = self.blocks.groups(1, classes=True)
        self.ascent.descend(Level(fine, first=0.01, last=0.0005, exact=True))

    def fill(self) -> tuple[Board, list[int]]:
        """Put jobs in by value per cost, first at high prices; report the schedule."""
        self.share = 1.0
        board = Board(self.blocks, self.ascent.prices)
        order = self.ranking(self.ascent.prices)
        for factor, stranded in PASSES:
            for i in order:
                if self.stop():
                    break
                if i not in board.plans:
                    board.insert(i, factor, stranded)
        self.report(board.plans, board.value)
        return board, order

    def improve(self, board: Board, order: list[int], seed: int) -> None:
        """Let jobs go out and others in until the time is up."""
        moves = Improvement(board, order, Streams(seed)("improvement"))
        began, reported = self.span.share(), self.span.share()
        value, best = board.value, dict(board.plans)
        heat = HEAT * value / max(1, len(best))
        while board.plans and not self.stop():
            share = self.span.share()
            moves.move(heat * (1.0 - share) / (1.0 - began))
            if board.value > value * (1 + EQUAL):
                value, best = board.value, dict(board.plans)
                if share > reported + REPORTS:
                    self.report(best, value)
                    reported = share
        self.report(best, value)

    def ranking(self, prices: Floats) -> list[int]:
        """Return the jobs that earn more than part of their cost, by value per cost."""
        every: Ints = np.arange(self.blocks.blocks)
        self.blocks.sweep(RANKED * prices, every, True)
        found = self.blocks.found
        ratio = (found.payoff + found.cost) / np.maximum(found.cost, 1e-300)
        order = np.argsort(-ratio, kind="stable")
        listed: list[int] = order[found.completion[order] >= 0].tolist()
        return listed

    def report(self, plans: dict[int, Plan], value: float) -> None:
        """Hand a schedule to the judge."""
        jobs = planned_jobs(len(self.inst.jobs), plans, JobSchedule)
        self.progress.incumbent(value, OasisSchedule(jobs=jobs))
