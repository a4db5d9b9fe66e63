"""Parameters of the branch-and-bound tree of declared problems, whose leaves are proofs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TreeParams:
    """Parameters of the tree.

    Attributes
    ----------
    patience : int
        Nodes after which cuts are tried.
    stuck : float
        Relative improvement of five rounds of cuts below which there are no more.
    rounds, most_cuts : int
        Rounds of cuts at the root, and cuts of the tableau in each.
    node_rounds, most_in_tree : int
        Rounds of cuts at a node, and the most cuts of a whole tree.
    most_sizes : int
        Sizes of the coefficients of a row by which it is divided and rounded.
    reliable, tried : int
        Branchings up to which a column is tried before; most columns that are tried at a node.
    most_kept : float
        Share of the time that is kept for checking the tree.
    seldom : int
        Nodes between two looks at the clock.
    first_check, next_check : int
        Nodes after which a tree is checked, and the growth until the next time.
    """

    patience: int = 100
    stuck: float = 1e-3
    rounds: int = 40
    most_cuts: int = 60
    node_rounds: int = 3
    most_in_tree: int = 300
    most_sizes: int = 8
    reliable: int = 4
    tried: int = 8
    most_kept: float = 0.4
    seldom: int = 32
    first_check: int = 50
    next_check: int = 2


DEFAULT = TreeParams()
