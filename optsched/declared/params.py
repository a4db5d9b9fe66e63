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
        Share of the gap that five rounds of cuts close below which the rounds end.
    rounds : int
        Rounds of cuts at the root.
    node_rounds : int
        Rounds of cuts at a node below the root.
    most_in_tree : int
        Number of cuts at which cutting below the root ends.
    most_sums : int
        Sums of rows of the simplex tableau that are tried per round.
    most_starts : int
        Rows of the model that are tried per round.
    steps : int
        Times that variable upper bounds are put into a row.
    most_cuts : int
        Cuts that are added per round.
    parallel : float
        Cosine of the angle between two cuts above which only the deeper one is added.
    most_sizes : int
        Distinct coefficients of a row by which the row is divided and rounded.
    reliable : int
        Branchings on a column up to which its pseudocosts are unreliable, so that strong branching
        tests it.
    tried : int
        Most columns that strong branching tests at a node.
    trial_iterations : int
        Simplex iterations of a program that strong branching solves.
    most_kept : float
        Largest share of the time that is reserved for checking the certificate.
    clock_nodes : int
        Nodes between two readings of the clock.
    first_check : int
        Nodes after which the certificate is first checked.
    next_check : int
        Growth factor of the number of nodes until the next check.
    """

    patience: Count = 20
    stuck: Amount = 0.05
    rounds: Count = 40
    node_rounds: Count = 3
    most_in_tree: Count = 300
    most_sums: Count = 100
    most_starts: Count = 200
    steps: Count = 6
    most_cuts: Count = 30
    parallel: Share = 0.9
    most_sizes: Count = 8
    reliable: Number = 4
    tried: Number = 8
    trial_iterations: Count = 20
    most_kept: Share = 0.4
    clock_nodes: Count = 32
    first_check: Count = 50
    next_check: Number = 2


@dataclass(frozen=True)
class Params:
    """All parameters, by component."""

    tree: TreeParams = TreeParams()
