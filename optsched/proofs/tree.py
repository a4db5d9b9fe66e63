"""Certificates of branch-and-bound trees: the leaves of a binary tree cover all schedules.

As in the certificates of Cheung et al. (2017), a tree of splits and a bound for every leaf prove
the bound of the tree. Every inner node splits the schedules in two.

A node has ``node``, its kind; every kind but "leaf" has ``left`` and ``right``, the indices of its
children. Node 0 is the root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from optsched.proofs.grid import float_above
from optsched.proofs.limits import check_size

ABSENT = object()


class Change(NamedTuple):
    """A value that was replaced: how to come back."""

    container: Any
    key: Any
    former: Any

    def undo(self) -> None:
        """Put the former value back."""
        if self.former is ABSENT:
            del self.container[self.key]
        else:
            self.container[self.key] = self.former


def change(container: Any, key: Any, value: Any) -> Change:
    """Set a value of an array or a dictionary; return the data that restore the state."""
    absent = isinstance(container, dict) and key not in container
    made = Change(container, key, ABSENT if absent else container[key])
    container[key] = value
    return made


def children(node: Any) -> tuple[int, ...]:
    """Return the indices of the halves of a node, none of a leaf."""
    return () if node.node == "leaf" else (node.left, node.right)


def check_tree(nodes: Sequence[Any], check: Callable[[int, Any], None]) -> None:
    """Refuse nodes that are no single tree; ``check(k, node)`` refuses what else a node may hold.

    Raises
    ------
    ValueError
        A child does not exist, or is the child of two nodes; or a node cannot be reached. The
        message names the node.
    """
    last, parent = len(nodes) - 1, dict[int, int]()
    for k, node in enumerate(nodes):
        check(k, node)
        for child in children(node):
            if not 0 < child <= last:
                raise ValueError(f"node {k}: child {child} does not exist, expected 1..{last}")
            if child in parent:
                raise ValueError(
                    f"node {k}: child {child} is already a child of node {parent[child]}, "
                    "expected every node to be used once"
                )
            parent[child] = k
    reached, stack = {0}, [0]
    while stack:
        below = children(nodes[stack.pop()])
        stack += below
        reached.update(below)
    if len(reached) < len(nodes):
        lost = next(k for k in range(len(nodes)) if k not in reached)
        raise ValueError(
            f"node {lost}: cannot be reached from the root (an orphan, or a cycle), expected one "
            "tree"
        )


def walk(
    nodes: Sequence[Any], restrict: Callable[[Any, bool], Sequence[Change]]
) -> Iterator[tuple[int, int]]:
    """Walk the leaves of a checked tree from left to right.

    Parameters
    ----------
    nodes : sequence
    restrict : callable
        Given a split and whether it is its right half, narrows the limits and returns what it has
        changed; that is taken back behind the half. So the limits are those of the leaf, whenever
        one is yielded.

    Yields
    ------
    (leaf, owner)
        And the nearest node, from the leaf up, that has ``prices``; -1: none has.
    """
    stack: list[Any] = [(0, -1, None, False)]
    while stack:
        top = stack.pop()
        if isinstance(top, Change):
            top.undo()
            continue
        k, owner, above, right = top
        if above is not None:
            stack += restrict(above, right)
        node = nodes[k]
        if getattr(node, "prices", None) is not None:
            owner = k
        if node.node == "leaf":
            yield k, owner
        else:
            stack += [(node.right, owner, node, True), (node.left, owner, node, False)]


def greatest_bound(
    leaf_bounds: Callable[[Any, Any], Iterable[Fraction | None]], inst: Any, certificate: Any
) -> float:
    """Re-evaluate a certificate by the bounds of its leaves, None where no schedule is left.

    Returns
    -------
    float
        A bound that no schedule exceeds, rounded upwards.

    Raises
    ------
    ValueError
        It is larger than the instance allows, or as ``leaf_bounds`` states.
    """
    check_size(certificate)
    bounds = (b for b in leaf_bounds(inst, certificate) if b is not None)
    return float_above(max(bounds, default=Fraction(0)))  # 0: the empty schedule
