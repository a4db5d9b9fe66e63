"""Branch and price: column generation at every node, best bound first, and a certificate at any time.

Every inner node of the tree splits one thing in two; every leaf keeps the prices that gave its bound. So the greatest
bound among the leaves is a bound on the optimum whenever the search is stopped.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from optsched.colgen import (
    Column,
    Decomposition,
    Floats,
    Master,
    Relaxation,
    generate_columns,
    lagrangian,
)

TAIL = 1e-4  # a node is branched on once bound and master are this close, relatively
DIVE = 8  # after a node is split, its better child is followed this deep before the best bound is


@dataclass(frozen=True)
class Split:
    """A dichotomy: what is split, and the two restricted nodes."""

    what: Any
    left: Any
    right: Any


class BranchProblem(Decomposition, Protocol):
    """A decomposition whose schedules can be restricted."""

    def root(self) -> Any:
        """Return the node without restrictions."""

    def at(self, node: Any) -> BranchProblem:
        """Move to a node."""

    def allows(self, column: Column) -> bool:
        """Whether the node permits a column."""

    def split(self, relaxation: Relaxation) -> Split | None:
        """Choose what to split; None if the relaxation is a schedule (or nothing is left to split)."""


@dataclass
class TreeNode:
    """A node of the branching tree. A leaf has prices; an inner node has a split and two children."""

    restrictions: Any
    bound: float
    prices: Floats
    split: Any = None
    children: tuple[int, int] | None = None


@dataclass
class Tree:
    """The branching tree, from the root at index 0."""

    nodes: list[TreeNode] = field(default_factory=list)

    def leaves(self) -> Iterator[TreeNode]:
        """Walk the leaves in the order of their making."""
        return (n for n in self.nodes if n.children is None)

    def bound(self) -> float:
        """Return the greatest bound of the leaves."""
        return max(n.bound for n in self.leaves())


def branch_and_price(
    problem: BranchProblem,
    master: Master,
    tree: Tree,
    *,
    target: Callable[[], float],
    stop: Callable[[], bool],
    proved: Callable[[Tree], None],
    relaxed: Callable[[Relaxation, Any], None],
) -> bool:
    """Raise the proof until no leaf's bound exceeds the target.

    Parameters
    ----------
    problem : BranchProblem
    master : Master
        Shared by all nodes.
    tree : Tree
        Empty, or one whose root is already relaxed.
    target : callable
        The value at or below which a leaf is done.
    stop : callable
        Whether the time is up.
    proved : callable
        Called when the bound of the tree has improved.
    relaxed : callable
        Called with the relaxation and the restrictions of every node, to look for schedules.

    Returns
    -------
    bool
        Whether every leaf is done.
    """
    if not tree.nodes:
        start = problem.at(problem.root())
        zero = np.zeros(master.rows)
        bound = lagrangian(start, zero, start.price(zero, np.full(master.blocks, np.inf)).best)
        tree.nodes.append(TreeNode(problem.root(), bound, zero))
    heap = [(-node.bound, k) for k, node in enumerate(tree.nodes) if node.children is None]
    heapq.heapify(heap)
    best = tree.bound()
    follow: int | None = None
    depth = 0
    stuck: list[TreeNode] = []
    while heap or follow is not None:
        top = max([-heap[0][0]] if heap else [-np.inf])
        if follow is not None:
            top = max(top, tree.nodes[follow].bound)
        top = max([top, *(n.bound for n in stuck)])
        if top < best:
            best = top
            proved(tree)
        if stop():
            return False
        if follow is not None and depth < DIVE:
            k, follow = follow, None
        else:
            if follow is not None:
                heapq.heappush(heap, (-tree.nodes[follow].bound, follow))
                follow = None
            depth = 0
            k = heapq.heappop(heap)[1]
        node = tree.nodes[k]
        if node.bound <= target():
            continue
        relaxation = _relax(problem, master, node, target, stop)
        if node.bound <= target():
            continue
        if stop():
            return False
        relaxed(relaxation, node.restrictions)
        if node.bound <= target():
            continue
        split = problem.split(relaxation)
        if split is None:
            stuck.append(node)
            continue
        first = len(tree.nodes)
        for restrictions in (split.left, split.right):
            tree.nodes.append(TreeNode(restrictions, node.bound, node.prices))
        node.split, node.children = split.what, (first, first + 1)
        for child in node.children:
            _inherit(problem, master, tree.nodes[child])
        order = sorted(node.children, key=lambda c: -tree.nodes[c].bound)
        heapq.heappush(heap, (-tree.nodes[order[1]].bound, order[1]))
        follow = order[0]
        depth += 1
    proved(tree)
    return not stuck


def _inherit(problem: BranchProblem, master: Master, node: TreeNode) -> None:
    """Evaluate a new node at its parent's prices."""
    here = problem.at(node.restrictions)
    best = here.price(node.prices, np.full(master.blocks, np.inf)).best
    node.bound = min(node.bound, lagrangian(here, node.prices, best))


def _relax(
    problem: BranchProblem,
    master: Master,
    node: TreeNode,
    target: Callable[[], float],
    stop: Callable[[], bool],
) -> Relaxation:
    here = problem.at(node.restrictions)
    master.restrict([here.allows(c) for c in master.columns], here.copies, here.equality)
    relaxation = generate_columns(
        here,
        master,
        stop=lambda r: r.bound <= target() or stop(),
        center=node.prices,
        tolerance=TAIL,
    )
    if relaxation.bound < node.bound:
        node.bound, node.prices = relaxation.bound, relaxation.prices
    return relaxation
