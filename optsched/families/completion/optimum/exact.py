"""Exact methods for small instances: branch and price, bounded dynamic programming over time.

A short branch and price (Barnhart et al., 1998), the dynamic program of `timeline` (Morin and
Marsten, 1976), and branch and price again; all with certificates. At every node, jobs are inserted
in the order in which the relaxation completes them (Hall et al., 1997).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from optsched.engine.branch import BranchAndBoundTree, BranchAndPrice
from optsched.engine.colgen import Relaxation
from optsched.families.completion.certificate.bound import value_step
from optsched.families.completion.certificate.format import latest_cost, round_up
from optsched.families.completion.optimum.board.plans import FACTORS
from optsched.families.completion.optimum.relaxations.priced_search import Portfolio
from optsched.families.completion.optimum.search.neighborhood import Neighborhood
from optsched.families.completion.optimum.timeline.prover import Prover
from optsched.families.completion.optimum.tree.branching import (
    WindowBlocks,
    attributes,
    certify_tree,
)

FIRST_TREE = 0.05  # of the time goes into a tree, which is quick where prices nearly suffice
SAFE = 1e-8  # relative: rounding of floats
MOST_NODES = 20_000
SCARCE = 1e-3  # of all prices: a resource with less of them is free of charge


class ExactSearch:
    """Open gap between the bound and the best schedule of a search."""

    def __init__(self, search: Portfolio, *, known: bool = False) -> None:
        self.search = search
        self.inst, self.progress, self.jobs = search.inst, search.progress, search.jobs
        self.known = known  # whether a solver has reported that nothing is better
        self.branching: BranchAndPrice | None = None
        self.until = 0.0  # seconds of `progress` at which the tree rests
        self.step = float(value_step(self.inst))  # no value lies between its multiples

    def run(self) -> None:
        """Use the time that is left: a small tree, the program over time, the tree again."""
        self.branch(self.progress.left() * FIRST_TREE)
        kept = 0.0  # seconds
        if not self.progress.stop() and not self.progress.infeasible:
            prover = Prover(self.search, self.problem())
            prover.everything()
            kept = prover.reserve.seconds()
        self.branch(self.progress.left() - kept)

    def branch(self, seconds: float) -> None:
        """Branch on windows, types and numbers until the best schedule is proved, or time is up."""
        progress = self.progress
        if progress.closed() or progress.infeasible or not self.inst.jobs:
            return
        self.until = progress.seconds() + min(seconds, progress.left())
        if self.branching is None:
            self.branching = self._tree()
        if self.branching.run() and progress.value is None:
            progress.infeasible = True

    def _target(self) -> float:
        """Return at which bound, of which less is better, a leaf of the tree is done."""
        value = self.progress.value
        if value is None:
            return -float(latest_cost(self.inst)) * (1 + SAFE)
        return -(value - max(self.step - SAFE * value, self.progress.gap_limit * value))

    def _tree(self) -> BranchAndPrice:
        """Return the branching tree, of which nothing has been done yet."""
        problem, progress, inst = self.problem(), self.progress, self.inst

        def proved(tree: BranchAndBoundTree) -> None:
            least = -tree.bound() * (1 - SAFE)
            if progress.value is None and least > float(latest_cost(inst)):
                least = np.inf
            bound = float(round_up(inst, Fraction(least))) if np.isfinite(least) else least
            if progress.value is not None:
                bound = min(bound, progress.value)
            if bound > -np.inf and len(tree.nodes) <= MOST_NODES:
                progress.proved(bound, lambda: certify_tree(problem, tree))

        area = Neighborhood(self.jobs, self.search.prices, inst.deadline or 2 * self.search.slots)

        def relaxed(relaxation: Relaxation) -> None:
            """Insert the jobs in the order in which the relaxation ends them."""
            if self.known:
                return  # there is no better schedule
            ends = np.zeros(len(self.jobs.modes))
            for k in np.flatnonzero(relaxation.x > 0):
                column = relaxation.columns[k]
                ends[column.block] += relaxation.x[k] * attributes(column)[1]
            for factor in FACTORS:
                area.construct(np.argsort(ends, kind="stable").tolist(), factor)
                known = self.search.plans
                if known is None or area.cost(area.plans) < area.cost(known):
                    self.search.keep(area, area.snapshot())

        return BranchAndPrice(
            problem,
            target=self._target,
            stop=lambda: progress.stop() or progress.seconds() > self.until,
            proved=proved,
            relaxed=relaxed,
            threads=self.search.threads,
        )

    def problem(self) -> WindowBlocks:
        """Return the decomposition with prices for what is scarce only."""
        slots = self.inst.deadline or self.search.slots + max(2, self.search.slots // 10)
        rent = (self.search.prices.sum(axis=0) * self.jobs.class_capacity).sum(axis=0)  # (R,)
        scarce = rent > SCARCE * rent.sum()
        return WindowBlocks(self.jobs, slots, scarce if scarce.any() else None)
