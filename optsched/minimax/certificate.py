"""Certificate of the optimal competitive ratios on a set of instances, and its checker.

By the principle of Yao (1977), no randomized algorithm is better on the worst instance than the
best deterministic one is on average, whatever the weights of the instances. Backward induction over
the states computes that average in integers: it proves one side. A policy, followed along all of
its states, proves the other one. Optima of the instances come from the same states.

A policy is a list of nodes, of which the first is before all events. A node has choices: how
often it is taken, the values of the variables to be decided, and the nodes that follow, one for
each history that can follow (in the order of their first instance). How often a node is entered
is how often its choices are taken, both in units of the first node's sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, TypeAlias

from pydantic import Field

from optsched.declared.model import Declared
from optsched.minimax.tree import GameTree, titled
from optsched.problem import Frozen, InputError

Whole = Annotated[int, Field(ge=0)]
Choice: TypeAlias = tuple[Annotated[int, Field(ge=1)], tuple[int, ...], tuple[Whole, ...]]
Policy: TypeAlias = Annotated[tuple[tuple[Choice, ...], ...], Field(min_length=1)]


class Certificate(Frozen):
    """Weights of the instances, and two policies."""

    weights: tuple[Whole, ...] = Field(description="the adversary's distribution, of any sum")
    randomized: Policy = Field(description="flow, values, nodes that follow; the first is the root")
    deterministic: Policy = Field(description="the same, with one choice in every node")


@dataclass(frozen=True)
class Proved:
    """Proved result of a certificate: values of algorithms on the worst instance, by its optimum.

    Attributes
    ----------
    proved : Fraction
        No randomized algorithm is better.
    reached : Fraction
        By the randomized policy.
    deterministic : Fraction
        Reached by the deterministic policy; no other one is better.
    optima : list of Fraction
        Of the instances.
    """

    proved: Fraction
    reached: Fraction
    deterministic: Fraction
    optima: list[Fraction]

    @property
    def is_best(self) -> bool:
        """Whether no randomized algorithm is better than the policy, as far as digits show."""
        return math.isclose(self.proved, self.reached, rel_tol=5e-10)


def average(tree: GameTree, best: Sequence[int], weights: Sequence[int]) -> Fraction | None:
    """Return the bound on all randomized algorithms, None if the weights prove nothing."""
    whole = sum(w * cost for w, cost in zip(weights, best, strict=True))
    return Fraction(tree.least_cost(weights), whole) if whole else None


def strictly_below(tree: GameTree, best: Sequence[int], value: Fraction | None) -> list[int]:
    """Return the most that instances may cost where all are to be better than a value.

    None: any cost will do. An instance whose optimum is 0 must cost no more.
    """
    highest = sum(max(map(abs, h.costs)) for h in tree.histories) + max(map(abs, tree.offsets))
    return [
        0 if not cost else highest if value is None else math.ceil(value * cost) - 1
        for cost in best
    ]


def worst(tree: GameTree, best: Sequence[int], costs: Sequence[Fraction]) -> Fraction:
    """Return the value on the worst instance, of the cost of each.

    Raises
    ------
    ValueError
        The optimum of an instance is 0, and its cost is not.
    """
    for number, (cost, optimum) in enumerate(zip(costs, best, strict=True)):
        if not optimum and cost > 0:
            raise ValueError(f"instance {number}: its optimum is 0, the policy's value is not")
    shares = [cost / optimum for cost, optimum in zip(costs, best, strict=True) if optimum]
    return max(shares) if tree.sign > 0 else min(shares)


def follow(tree: GameTree, policy: Policy) -> list[Fraction]:
    """Return the expected cost of every instance under a policy.

    Raises
    ------
    ValueError
        A node is entered in two states, or more or less often than it is left, or decides what
        cannot be decided there.
    """
    entered, state = [0] * len(policy), [-1] * len(policy)
    entered[0], state[0] = sum(choice[0] for choice in policy[0]), 0
    paid = [0] * len(tree.histories)
    waiting = [(0, 0)]  # nodes and their histories
    for k, h in waiting:
        history = tree.histories[h]
        if sum(choice[0] for choice in policy[k]) != entered[k] or not entered[k]:
            raise ValueError(f"node {k}: is entered {entered[k]} times, and not left as often")
        for flow, values, nexts in policy[k]:
            moves = tree.moves[state[k]]
            move = next((m for m in moves if history.actions[m[0]] == values), None)
            if move is None:
                raise ValueError(f"node {k}: {values} cannot be decided there")
            paid[h] += flow * history.costs[move[0]]
            if len(nexts) != len(history.children):
                raise ValueError(f"node {k}: {len(nexts)} nodes follow, expected one a history")
            for c, after, n in zip(history.children, move[1], nexts, strict=True):
                if not 0 < n < len(policy) or state[n] not in (-1, after):
                    raise ValueError(f"node {k}: node {n} is another state, or none")
                if state[n] < 0:
                    state[n] = after
                    waiting.append((n, c))
                entered[n] += flow
    if len(waiting) < len(policy):
        raise ValueError(f"{len(policy) - len(waiting)} nodes are never entered")
    costs = [Fraction(0)] * len(tree.instances)
    for h, history in enumerate(tree.histories):
        paid[h] += paid[history.parent] if h else 0
        for i in history.ended:
            costs[i] = Fraction(paid[h], entered[0]) + tree.offsets[i]
    return costs


def grown(instances: Sequence[Declared]) -> tuple[GameTree, list[int]]:
    """Return the tree of instances, and their optima as costs.

    Raises
    ------
    InputError
        The tree is too large, an instance is infeasible, its optimum is below 0, or all are 0; or
        no online algorithm is feasible.
    """
    tree, best = GameTree(instances), []
    for number, (inst, cost) in enumerate(zip(instances, tree.optima, strict=True)):
        if cost is None:
            raise InputError(f"{titled(number, inst)} is infeasible, expected one with a solution")
        if cost * tree.sign < 0:
            value = float(Fraction(cost * tree.sign, tree.scale))
            raise InputError(
                f"{titled(number, inst)}: its optimum is {value:g}, expected at least 0: it has no "
                "ratio"
            )
        best.append(cost)
    if tree.root is None:
        raise InputError("no online algorithm satisfies the constraints of all instances")
    if not any(best):
        raise InputError("the optimum of every instance is 0, expected one above: it has no ratio")
    return tree, best


def prove(tree: GameTree, best: Sequence[int], certificate: Certificate) -> Proved:
    """Return the bound of a certificate for a tree and its optima, those of :func:`grown`.

    Raises
    ------
    ValueError
        It proves nothing.
    """
    if len(certificate.weights) != len(best):
        raise ValueError(f"there are {len(certificate.weights)} weights, expected {len(best)}")
    proved = average(tree, best, certificate.weights)
    if proved is None:
        raise ValueError("the weights are on instances whose optimum is 0: they prove nothing")
    if any(len(choices) != 1 for choices in certificate.deterministic):
        raise ValueError("the deterministic policy has a node with two choices")
    reached = worst(tree, best, follow(tree, certificate.randomized))
    alone = worst(tree, best, follow(tree, certificate.deterministic))
    if tree.slack(strictly_below(tree, best, alone))[0] >= 0:
        raise ValueError("a deterministic policy is better than the one that is given")
    return Proved(proved, reached, alone, [Fraction(abs(cost), tree.scale) for cost in best])
