"""Instances of thousands of jobs: prices by small steps, and schedules at these prices.

Nothing here grows faster than jobs times slots: one kernel bounds all jobs at once
(`prices.relaxed`), no program is put up, and the checker bounds costs by hulls as well. A schedule
is filled by value per cost at the prices (`search.filling`), and then improved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.engine.ascent import Ascent, Level
from optsched.engine.progress import Progress
from optsched.families.oasis.certificate import limits
from optsched.families.oasis.certificate.format import OasisCertificate
from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.certify import certify_prices
from optsched.families.oasis.optimum.prices.relaxed import RelaxedBlocks
from optsched.families.oasis.optimum.search.filling import Board
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.streams import Streams
from optsched.scheduling.board import Plan, planned_jobs

BOARD = 3 * 10**8  # jobs times slots times machines: what the search of small instances may hold
CHECK = 25.0  # times a look at all jobs: what judge and checker take afterwards
MOST_CHECK = 0.5  # of the time, at most, is kept for them
COARSE = (50, 10)  # slots that share a price, before each has its own
QUICK_SHARE = 0.2  # of the time, at most, goes into the first prices
PRICE_SHARE = 0.5  # the same for all prices
FACTORS = (0.8, 0.6, 1.0)  # times the prices: a job is put in if it earns more
RANKED = 0.5  # times the prices: who earns more than that is tried


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
    search.fill(FACTORS[:1])
    search.fine_prices()
    search.fill(FACTORS)


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

    def fill(self, factors: Sequence[float]) -> None:
        """Put jobs in by value per cost at multiples of the prices; report the best schedule."""
        self.share = 1.0
        plans: dict[int, Plan] = {}
        prices, best = self.ascent.prices, 0.0
        for factor in factors:
            board = Board(self.blocks, prices)
            for i in self.ranking(prices):
                if self.stop():
                    break
                board.insert(i, factor)
            if board.value > best:
                plans, best = board.plans, board.value
        self.report(plans, best)

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
