"""Closing small instances: a branching tree, a dynamic program over time, CP-SAT on the rest."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from optsched.engine.branch import BranchAndPrice, Tree
from optsched.engine.colgen import Relaxation
from optsched.families.completion.certificate.format import latest_cost, round_up
from optsched.families.completion.optimum.cpsat import Choices, Program, cpsat
from optsched.families.completion.optimum.declared import compact
from optsched.families.completion.optimum.prices.filtering import reduced, within
from optsched.families.completion.optimum.prices.priced_search import Search
from optsched.families.completion.optimum.search.neighbourhood import Neighbourhood
from optsched.families.completion.optimum.search.servers import FACTORS
from optsched.families.completion.optimum.timeline.program import MOST_JOBS
from optsched.families.completion.optimum.timeline.sequence import SAFE, Sequencing
from optsched.families.completion.optimum.tree.branching import (
    WindowBlocks,
    attributes,
    certify_tree,
)
from optsched.numbers.arrays import Floats, Ints
from optsched.problem import Implementation

FIRST_TREE = 0.05  # of the time goes into a tree, which brings certificates
TIMELINE_SHARE = 0.96  # of what is left into the dynamic program over time
TREE_SHARE = 0.6  # of what is left then into a larger tree
REST = 0.08  # of the time: if less is left, nothing more is begun
LEAF_SECONDS = 2.0  # of CP-SAT on a leaf, before all the others have had their turn
MOST_CHOICES = 40_000  # (mode, start) pairs that CP-SAT is asked to choose from
MOST_NODES = 20_000
SCARCE = 1e-3  # of all prices: a resource with less of them is free of charge in the tree
TIMELINE_SECONDS = 1.0  # on a leaf at first
TIMELINE_GROWTH = 4.0  # by which that grows from round to round


class Exact:
    """What is left open between the bound and the best schedule of a search."""

    def __init__(self, search: Search, *, closed: bool = False) -> None:
        self.search = search
        self.inst, self.progress, self.jobs = search.inst, search.progress, search.jobs
        self.threads, self.seed = search.threads, search.seed
        self.leaves: list[tuple[Ints, Floats]] = []  # what a tree has left open: limits, prices
        self.sequencing: Sequencing | None = None
        self.closed = closed  # whether it has been shown, if not certified, that nothing is better
        self.branching: BranchAndPrice | None = None
        self.until = 0.0  # seconds of `progress` at which the tree rests
        # no value lies between the multiples of this
        self.step = float(round_up(self.inst, Fraction(1, 10**12)))
        self.by = Implementation.PRICES  # what the claim that nothing is better rests on

    def run(self) -> None:
        """Use the time that is left: a small tree, the program over time, a larger tree, CP-SAT.

        Where these only claim that nothing is better, the tree goes on to certify it; where nothing
        is left to split, another implementation is asked.
        """
        if not self.closed and not self._alternate():
            return
        if not self.closed:
            self.finish()
        self.branch(self.progress.left())
        if self.closed and not self.progress.stop():
            self.ask_another()

    def _alternate(self) -> bool:
        """Run the tree and the program over time in turns; return whether more is to be done."""
        least = REST * self.progress.left()
        for share in (FIRST_TREE, TREE_SHARE):
            self.branch(self.progress.left() * share)
            if self.progress.stop() or self.progress.infeasible:
                return False
            self.sequence(self.progress.left() * TIMELINE_SHARE)
            if self.closed:
                return True
            if self.progress.left() < least:
                return False
        return True

    def ask_another(self) -> None:
        """Have what is claimed confirmed by a solver that had no part in it."""
        claimed = {
            solver for solver, bound in self.progress.claimed if bound == self.progress.value
        }
        second = cpsat if Implementation.CP_SAT not in claimed else compact
        second(self.inst, self.progress, threads=self.threads, seed=self.seed)

    def branch(self, seconds: float) -> None:
        """Branch on windows, types and numbers until the best schedule is proved, or time is up."""
        progress, inst = self.progress, self.inst
        if self.progress.closed() or not inst.jobs:
            return
        self.until = progress.seconds() + min(seconds, progress.left())
        if self.branching is None:
            self.branching = self._tree()
        if self.branching.run() and progress.value is None:
            progress.infeasible = True
        # an allowed gap ends the work on a leaf, but proves not that nothing there is better
        leaves = [n for n in self.branching.tree.leaves() if n.bound > self._target(gap=0.0)]
        leaves.sort(key=lambda node: -node.bound)
        problem = self.branching.problem
        assert isinstance(problem, WindowBlocks)
        self.leaves = [(n.restrictions, problem.per_slot(n.prices)) for n in leaves]

    def _target(self, gap: float | None = None) -> float:
        """Return at which bound, of which less is better, a leaf of the tree is done."""
        gap = self.progress.gap_limit if gap is None else gap
        value = self.progress.value
        if value is None:
            return -float(latest_cost(self.inst)) * (1 + SAFE)
        return -(value - max(self.step - SAFE * value, gap * value))

    def _tree(self) -> BranchAndPrice:
        """Return the branching tree, of which nothing has been done yet."""
        problem, progress, inst = self._problem(), self.progress, self.inst

        def proved(tree: Tree) -> None:
            least = -tree.bound() * (1 - SAFE)
            if progress.value is None and least > float(latest_cost(inst)):
                least = np.inf
            bound = float(round_up(inst, Fraction(least))) if np.isfinite(least) else least
            if progress.value is not None:
                bound = min(bound, progress.value)
            if bound > -np.inf and len(tree.nodes) <= MOST_NODES:
                progress.proved(bound, lambda: certify_tree(problem, tree))

        area = Neighbourhood(self.jobs, self.search.prices, inst.deadline or 2 * self.search.slots)

        def relaxed(relaxation: Relaxation) -> None:
            """Insert the jobs in the order in which the relaxation ends them."""
            if self.closed:
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
            threads=self.threads,
        )

    def _problem(self) -> WindowBlocks:
        """Return the decomposition with prices for what is scarce only."""
        slots = self.inst.deadline or self.search.slots + max(2, self.search.slots // 10)
        worth = (self.search.prices.sum(axis=0) * self.jobs.class_capacity).sum(axis=0)  # (R,)
        scarce = worth > SCARCE * worth.sum()
        return WindowBlocks(self.jobs, slots, scarce if scarce.any() else None)

    def sequence(self, seconds: float) -> None:
        """Run the dynamic program over time: on everything, then on what a tree has left open."""
        if self.progress.value is None or not 0 < len(self.jobs.modes) <= MOST_JOBS:
            return
        until = self.progress.seconds() + min(seconds, self.progress.left())
        if self.sequencing is None:
            self.sequencing = Sequencing(self.search, self._problem())
            self.closed = self.sequencing.everything(until)
        left, leaves, share = self.sequencing.left(), self.leaves, TIMELINE_SECONDS
        assert left is not None
        while leaves and not self.closed and not self.sequencing.over(until):
            still = []
            for limits, prices in leaves:
                end = min(until, self.progress.seconds() + share)
                if not self._gone(left, limits, prices, end):
                    still.append((limits, prices))
            leaves, share = still, share * TIMELINE_GROWTH
            self.closed = not leaves
        self.leaves = leaves
        if self.closed:
            self.progress.claim(self.sequencing.by, self.progress.value)

    def _gone(self, left: Sequence[Choices], limits: Ints, prices: Floats, until: float) -> bool:
        """Run the dynamic program within the limits; return whether nothing there is better."""
        assert self.sequencing is not None
        if self.sequencing.over(until):
            return False
        choices = within(left, limits)
        return choices is None or self.sequencing.leaf(choices, prices, until)

    def finish(self) -> None:
        """Drop what cannot be in a better schedule, and ask CP-SAT for the rest, leaf by leaf."""
        progress = self.progress
        sequencing = self.sequencing or Sequencing(self.search, self._problem())
        left = sequencing.left()
        if left is None:
            return
        leaves = self.leaves or [(WindowBlocks(self.jobs, 1).root(), self.search.prices)]
        for seconds in (LEAF_SECONDS, np.inf):
            still = []
            for limits, prices in leaves:
                if progress.left() <= 0 or not self._close(left, limits, prices, seconds):
                    still.append((limits, prices))
            leaves = still
        if leaves:
            return
        self.closed = True
        if progress.value is None:
            progress.infeasible = True
        else:
            progress.claim(self.by, progress.value)

    def _close(self, left: Sequence[Choices], limits: Ints, prices: Floats, seconds: float) -> bool:
        """Look for a better schedule within the limits; return whether there is none any more."""
        progress = self.progress
        choices = within(left, limits)
        better = None if progress.value is None else progress.value - self.step
        if choices is not None and better is not None:
            choices = reduced(self.jobs, choices, prices, better)
        if choices is None:
            return True
        if sum(len(s) for c in choices for s in c.starts) > MOST_CHOICES:
            return False
        program = Program(self.jobs, choices)
        program.bracket(progress.bound, better)
        status = program.solve(
            progress, threads=self.threads, seed=self.seed, claim=False, seconds=seconds
        )
        done = status in ("infeasible", "optimal")
        if done:
            self.by = Implementation.CP_SAT
        return done
