"""Linear program over realization plans: the optimal online algorithms on a set of instances.

A randomized algorithm states how often each decision is taken in each state: a flow that begins at
the first state (a realization plan, Koller et al., 1996). So the best one solves a linear program,
and the duals of the instances are weights against which no algorithm does better (Yao, 1977). Both
are rounded to integers and evaluated exactly. The best deterministic algorithm comes from backward
induction with a cap on the cost of each instance; caps fall until none can be kept, as in the
method of Dinkelbach (1967).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.sparse import csc_array

from optsched.declared.feasibility import verify
from optsched.declared.model import Declared, Solution
from optsched.minimax.certificate import (
    Certificate,
    Policy,
    Proved,
    average,
    follow,
    grown,
    prove,
    strictly_below,
    worst,
)
from optsched.minimax.tree import GameTree, titled
from optsched.numbers.arrays import Floats
from optsched.problem import InputError
from optsched.solvers import highs, load, row_duals, run

GRID = 2**52  # units of a flow, and of weights, that are no simple fractions
SIMPLE = 10_000  # largest denominator of a simple one
NOISE = 1e-11  # a smaller share of a flow is none


def solved(instances: Sequence[Declared]) -> tuple[GameTree, Certificate, Proved]:
    """Return the tree of some instances, the best online algorithms, and their proofs.

    Raises
    ------
    InputError
        The instances are no game, or too large a one.
    """
    tree, best = grown(instances)
    for i in range(len(instances)):
        _check(tree, i, _optimal(tree, i), best[i])
    deterministic = _deterministic(tree, best)
    flow, prices = _program(tree, best)
    sign = tree.sign  # 1: the proved bound is to be large, the reached value small

    def proved(weights: tuple[int, ...]) -> Fraction | float:
        found = average(tree, best, weights)
        return -math.inf if found is None else sign * found

    def reached(policy: Policy) -> Fraction | float:
        try:
            return sign * worst(tree, best, follow(tree, policy))
        except ValueError:  # noise in the flow: an instance whose optimum is 0 costs something
            return math.inf

    weights = max(_readings(prices), key=proved)
    units = [*_simple(x for some in flow for x in some if x > NOISE), GRID]
    plans = [_walk(tree, n, lambda kind, entered: _split(entered, flow[kind])) for n in units]
    randomized = min([*plans, deterministic], key=reached)
    made = Certificate(weights=weights, randomized=randomized, deterministic=deterministic)
    return tree, made, prove(tree, best, made)


def _program(tree: GameTree, best: Sequence[int]) -> tuple[list[list[float]], Floats]:
    """Solve the linear program; return the flow on the options of every class, and the duals.

    HiGHS's solution need not be optimal, or feasible: it is evaluated later.

    Columns are options, the expected cost up to each history, and the value t. Rows balance the
    flow of every class and add up costs; cost - t * optimum <= 0 for every instance.
    """
    firsts = np.cumsum([0, *map(len, tree.options)])
    columns, histories, classes = int(firsts[-1]), len(tree.histories), len(tree.options)
    unit = max(map(abs, best))
    entries: list[tuple[int, int, float]] = []
    for c, options in enumerate(tree.options):
        h = tree.home[c]
        for x, (cost, after) in enumerate(options, int(firsts[c])):
            entries.append((c, x, 1.0))
            entries += [(n, x, -1.0) for n in after]
            if cost:
                entries.append((classes + h, x, -cost / unit))
    right = np.zeros(classes + histories + len(best))
    right[tree.root] = 1.0
    for h, history in enumerate(tree.histories):
        entries.append((classes + h, columns + h, 1.0))
        if h:
            entries.append((classes + h, columns + history.parent, -1.0))
        for i in history.ended:
            entries.append((classes + histories + i, columns + h, 1.0))
    t = columns + histories
    entries += [(classes + histories + i, t, -cost / unit) for i, cost in enumerate(best) if cost]
    right[classes + histories :] = [-offset / unit for offset in tree.offsets]
    left = right.copy()
    left[classes + histories :] = -np.inf
    rows, places, values = zip(*entries, strict=True)
    objective, low = np.zeros(t + 1), np.zeros(t + 1)
    objective[t], low[columns:] = tree.sign, -np.inf
    solver = highs()
    for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        solver.setOptionValue(name, 1e-10)
    matrix = csc_array((values, (rows, places)), shape=(len(right), t + 1))
    load(solver, objective, matrix, left, right, low, np.full(t + 1, np.inf))
    run(solver)
    found = list(solver.getSolution().col_value) or [0.0] * (t + 1)
    flow = [found[a:b] for a, b in pairwise(firsts)]
    return flow, np.maximum(0.0, -row_duals(solver)[classes + histories :])


def _simple(numbers: Iterable[float]) -> Iterator[int]:
    """Yield a common denominator of the simple fractions that numbers may mean, if one is small."""
    unit = 1
    for x in {round(x, 12) for x in numbers}:
        unit = math.lcm(unit, Fraction(x).limit_denominator(SIMPLE).denominator)
        if unit > GRID:
            return
    yield unit


def _readings(prices: Floats) -> Iterator[tuple[int, ...]]:
    """Yield weights in integers that the duals may mean."""
    share = prices / prices.sum() if prices.sum() > 0 else np.full(len(prices), 1 / len(prices))
    for unit in (*_simple(share.tolist()), GRID):
        yield tuple(round(x * unit) for x in share.tolist())


def _split(entered: int, shares: Sequence[float]) -> list[int]:
    """Divide a flow, in integers, by largest remainders.

    >>> _split(10, [0.5, 0.0, 0.25]), _split(3, [0.0, 0.0]), _split(2**52, [1e-12, 1.0])
    ([7, 0, 3], [3, 0], [0, 4503599627370496])
    """
    least = NOISE * sum(shares)
    kept = [Fraction(x) if x > least else Fraction(0) for x in shares]
    whole = sum(kept)
    if whole <= 0:
        return [entered, *(0 for _ in shares[1:])]
    exact = [x / whole * entered for x in kept]
    found = [int(x) for x in exact]
    order = sorted(range(len(shares)), key=lambda k: found[k] - exact[k])
    for k in order[: entered - sum(found)]:
        found[k] += 1
    return found


def _walk(tree: GameTree, unit: int, divide: Callable[[int, int], Sequence[int]]) -> Policy:
    """Return the policy that divides the flow into each state among the options of its class."""
    number, entered = {0: 0}, {0: unit}
    nodes: list[tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]] = []
    waiting = [(0, 0)]
    for state, h in waiting:
        history, kind = tree.histories[h], tree.kind[state]
        assert kind is not None
        offers, choices = tree.offers(h, state), []
        for flow, (_, after) in zip(divide(kind, entered[state]), tree.options[kind], strict=True):
            if not flow:
                continue
            action, nexts = tree.moves[state][offers[after][1]]
            for n, child in zip(nexts, history.children, strict=True):
                if n not in number:
                    number[n], entered[n] = len(number), 0
                    waiting.append((n, child))
                entered[n] += flow
            places = tuple(number[n] for n in nexts)
            choices.append((flow, history.actions[action], places))
        nodes.append(tuple(choices))
    return tuple(nodes)


def _pure(tree: GameTree, chosen: Sequence[int]) -> Policy:
    """Return the policy that takes the chosen option of every class."""
    return _walk(
        tree, 1, lambda kind, _: [int(k == chosen[kind]) for k in range(len(tree.options[kind]))]
    )


def _deterministic(tree: GameTree, best: Sequence[int]) -> Policy:
    """Return the best deterministic policy: caps fall until no policy keeps them."""
    policy: Policy | None = None
    value: Fraction | None = None
    costs: list[Fraction] = []
    while True:
        slack, chosen = tree.slack(strictly_below(tree, best, value))
        if slack < 0:
            break
        policy = _pure(tree, chosen)
        costs = follow(tree, policy)
        value = worst(tree, best, costs)
    if policy is None:
        raise InputError(
            "no online algorithm is optimal on all instances whose optimum is 0: no ratio is finite"
        )
    for i, cost in enumerate(costs):
        _check(tree, i, _played(tree, policy, i), cost)
    return policy


def _optimal(tree: GameTree, i: int) -> dict[str, int]:
    """Return an optimal solution of an instance, from its last decision to the first one."""
    values: dict[str, int] = {}
    state, action = tree.optimal[i]
    for h in _path(tree, i)[::-1]:
        history = tree.histories[h]
        values |= zip(history.names, history.actions[action], strict=True)
        _, state, action = tree.before[state]
    return values


def _played(tree: GameTree, policy: Policy, i: int) -> dict[str, int]:
    """Return the decisions of a deterministic policy on an instance."""
    values: dict[str, int] = {}
    k, path = 0, _path(tree, i)
    for h, child in zip(path, [*path[1:], None], strict=True):
        history, ((_, made, nexts),) = tree.histories[h], policy[k]
        values |= zip(history.names, made, strict=True)
        if child is not None:
            k = nexts[history.children.index(child)]
    return values


def _path(tree: GameTree, i: int) -> list[int]:
    """Return the histories of an instance, from the first one to the last."""
    path = [tree.last[i]]
    while path[-1]:
        path.append(tree.histories[path[-1]].parent)
    return path[::-1]


def _check(tree: GameTree, i: int, values: dict[str, int], cost: Fraction | int) -> None:
    """Have the feasibility check accept a solution of an instance, and compare its cost."""
    inst = tree.instances[i]
    verdict = verify(inst, Solution(values=tuple(float(values[c.name]) for c in inst.columns)))
    expected = float(Fraction(tree.sign * cost) / tree.scale)
    if verdict.value != expected:
        raise RuntimeError(f"{titled(i, inst)}: the feasibility check states {verdict}")
