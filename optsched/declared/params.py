"""Parameters of the branch-and-bound tree of declared problems, whose leaves are proofs."""

from __future__ import annotations

from dataclasses import dataclass

from optsched.engine.params import Amount, Count, Number, Share


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

    patience: Count = 100
    stuck: Amount = 1e-3
    rounds: Count = 40
    most_cuts: Count = 60
    node_rounds: Number = 3
    most_in_tree: Count = 300
    most_sizes: Count = 8
    reliable: Number = 4
    tried: Number = 8
    most_kept: Share = 0.4
    seldom: Count = 32
    first_check: Count = 50
    next_check: Number = 2


@dataclass(frozen=True)
class Params:
    """All parameters, by component."""

    tree: TreeParams = TreeParams()
