"""Branch and price: branch and bound with column generation at every node.

See Barnhart et al. (1998). Node selection is best bound first, with dives of limited depth. The
branching decision among a few candidates is made by strong branching (Achterberg et al., 2005): a
few dual simplex iterations on the restricted master problem estimate both children. Families
supply the branching rule.

Every inner node splits the schedules in two; every leaf keeps the prices that gave its Lagrangian
dual bound. So the greatest bound of the leaves is a valid dual bound whenever the search stops.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from optsched.engine.colgen import (
    Column,
    Decomposition,
    Master,
    Relaxation,
    generate_columns,
    lagrangian,
)
from optsched.engine.params import Count, Factor, Number
from optsched.numbers.arrays import Flags, Floats


@dataclass(frozen=True)
class BranchParams:
    """Parameters of branch and price.

    Attributes
    ----------
    exact : float
        Relative gap between dual bound and master below which column generation at a node has
        converged.
    tail : float
        Relative gap below which a node that must be branched on is branched on (early branching).
    candidates : int
        Branching candidates whose effect on the master is compared (strong branching).
    dive : int
        Depth up to which the better child of a node is solved next, before the node with the best
        bound.
    """

    exact: Factor = 1e-9
    tail: Factor = 1e-4
    candidates: Count = 6
    dive: Number = 8


DEFAULT = BranchParams()


@dataclass(frozen=True)
class Split:
    """A dichotomy: the attribute that is split, and the two restricted nodes."""

    what: Any
    left: Any
    right: Any


class BranchProblem(Decomposition, Protocol):
    """A decomposition whose schedules can be restricted."""

    def root(self) -> Any:
        """Return the node without restrictions."""

    def at(self, node: Any) -> BranchProblem:
        """Move to a node."""

    def allowed(self, columns: Sequence[Column]) -> Flags:
        """Return which columns the node permits; the list only ever grows."""

    def splits(self, relaxation: Relaxation) -> list[Split]:
        """Return the branching candidates, the most promising first; none at a leaf."""


@dataclass
class TreeNode:
    """A node of the branching tree: a leaf, or an inner node with a split and two children."""

    restrictions: Any
    bound: float
    prices: Floats
    split: Any = None
    children: tuple[int, int] | None = None


@dataclass
class BranchAndBoundTree:
    """The branching tree, from the root at index 0."""

    nodes: list[TreeNode] = field(default_factory=list)

    def leaves(self) -> Iterator[TreeNode]:
        """Walk the leaves in the order of their making."""
        return (n for n in self.nodes if n.children is None)

    def bound(self) -> float:
        """Return the greatest bound of the leaves."""
        return max(n.bound for n in self.leaves())


class BranchAndPrice:
    """The search tree of a problem, and the master problem that all its nodes share.

    Parameters
    ----------
    problem : BranchProblem
    target : callable
        The value at or below which a leaf is done.
    stop : callable
        Whether the time is up.
    improved : callable
        Called with the tree whenever its bound has improved.
    relaxed : callable
        Called with the relaxation of every node, while the problem is at that node: the place to
        look for schedules.
    start : array of shape (rows,), optional
        Prices at which the root begins; 0 by default.
    params : BranchParams, optional
    """

    def __init__(
        self,
        problem: BranchProblem,
        *,
        target: Callable[[], float],
        stop: Callable[[], bool],
        improved: Callable[[BranchAndBoundTree], None],
        relaxed: Callable[[Relaxation], None],
        threads: int = 1,
        start: Floats | None = None,
        params: BranchParams = DEFAULT,
    ) -> None:
        self.params = params
        self.problem = problem
        self.target, self.stop = target, stop
        self.improved, self.relaxed = improved, relaxed
        here = problem.at(problem.root())
        self.master = Master(here, threads=threads)
        prices = np.zeros(self.master.rows) if start is None else start
        bound = lagrangian(here, prices, here.price(prices, self._no_columns()).best)
        self.tree = BranchAndBoundTree([TreeNode(problem.root(), bound, prices)])
        self.best = bound
        self.open: list[tuple[float, int]] = [(-bound, 0)]
        self.stuck: list[int] = []  # leaves that nothing is left to split of

    def run(self) -> bool:
        """Work until every leaf is done (True), or until stopped; called again, go on."""
        follow: int | None = None
        depth = 0
        self.improved(self.tree)
        while self.open or follow is not None:
            self._report(follow)
            if self.stop():
                if follow is not None:
                    self._push(follow)
                return False
            if follow is None or depth >= self.params.dive:
                if follow is not None:
                    self._push(follow)
                follow, depth = heapq.heappop(self.open)[1], 0
            children = self._process(follow)
            if children is None:
                follow = None
                continue
            better, other = sorted(children, key=lambda c: -self.tree.nodes[c].bound)
            self._push(other)
            follow, depth = better, depth + 1
        self._report(None)
        return not self.stuck

    def _push(self, k: int) -> None:
        heapq.heappush(self.open, (-self.tree.nodes[k].bound, k))

    def _report(self, follow: int | None) -> None:
        left = [-self.open[0][0]] if self.open else []
        left += [self.tree.nodes[k].bound for k in self.stuck]
        if follow is not None:
            left.append(self.tree.nodes[follow].bound)
        top = max([self.target(), *left])
        if top < self.best:
            self.best = top
            self.improved(self.tree)

    def _process(self, k: int) -> tuple[int, int] | None:
        """Relax a leaf and split it; None if it is done, stuck or interrupted."""
        node = self.tree.nodes[k]
        if node.bound <= self.target():
            return None
        relaxation = self._relax(node)
        if node.bound > self.target() and not self.stop():
            self.relaxed(relaxation)
        if node.bound <= self.target():
            return None
        if self.stop():
            self._push(k)
            return None
        split = self._choose(relaxation)
        if split is None:  # a schedule, which may be the new target: follow it to the end
            self._relax(node)
            if node.bound > self.target():
                if self.stop():  # cut short: there may be no more to it than that
                    self._push(k)
                else:
                    self.stuck.append(k)
            return None
        first = len(self.tree.nodes)
        for restrictions in (split.left, split.right):
            self.tree.nodes.append(TreeNode(restrictions, node.bound, node.prices))
        node.split, node.children = split.what, (first, first + 1)
        for child in node.children:
            self._inherit(self.tree.nodes[child])
        return node.children

    def _choose(self, relaxation: Relaxation) -> Split | None:
        """Choose the split whose two halves lower the master's value the most."""
        candidates = self.problem.splits(relaxation)[: self.params.candidates]
        if len(candidates) < 2:
            return candidates[0] if candidates else None
        basis = self.master.h.getBasis()
        scores = []
        for split in candidates:
            drops = []
            for half in (split.left, split.right):
                here = self.problem.at(half)
                value = self.master.probe(
                    here.allowed(self.master.columns), here.copies, here.equality
                )
                drops.append(max(relaxation.value - value, 1e-6 * abs(relaxation.value)))
                self.master.h.setBasis(basis)
            most = relaxation.bound - self.target()  # a lower value than the target is no use
            scores.append(min(drops[0], most) * min(drops[1], most))
        return candidates[int(np.argmax(scores))]

    def _no_columns(self) -> Floats:
        return np.full(self.problem.copies.size, np.inf)

    def _inherit(self, node: TreeNode) -> None:
        """Evaluate the leaf bound of a new node at its parent's prices."""
        here = self.problem.at(node.restrictions)
        best = here.price(node.prices, self._no_columns()).best
        node.bound = min(node.bound, lagrangian(here, node.prices, best))

    def _relax(self, node: TreeNode) -> Relaxation:
        here = self.problem.at(node.restrictions)
        allowed = here.allowed(self.master.columns)
        self.master.restrict(allowed, here.copies, here.equality)
        relaxation = generate_columns(
            here,
            self.master,
            stop=lambda r: r.bound <= self.target() or self.stop(),
            center=node.prices,
            # a master below the target can still cut the node off, once its bound has followed
            tolerance=lambda value: (
                self.params.tail if value > self.target() else self.params.exact
            ),
        )
        if relaxation.bound < node.bound:
            node.bound, node.prices = relaxation.bound, relaxation.prices
        return relaxation
