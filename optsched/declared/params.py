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
        Nodes of the tree before cuts are tried.
    stuck : float
        Relative improvement of the bound over five rounds of cuts below which the rounds end.
    rounds : int
        Rounds of cuts at the root.
    most_cuts : int
        Cuts from the simplex tableau per round.
    node_rounds : int
        Rounds of cuts at a node below the root.
    most_in_tree : int
        Most cuts in a whole tree.
    most_sizes : int
        Distinct coefficients of a row by which the row is divided and rounded.
    reliable : int
        Branchings on a column up to which its pseudocosts are unreliable, so that strong branching
        tests it.
    tried : int
        Most columns that strong branching tests at a node.
    most_kept : float
        Largest share of the time that is reserved for checking the certificate.
    clock_nodes : int
        Nodes between two readings of the clock.
    first_check : int
        Nodes after which the certificate is first checked.
    next_check : int
        Growth factor of the number of nodes until the next check.
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
    clock_nodes: Count = 32
    first_check: Count = 50
    next_check: Number = 2


@dataclass(frozen=True)
class Params:
    """All parameters, by component."""

    tree: TreeParams = TreeParams()
