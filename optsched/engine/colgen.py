"""Dantzig-Wolfe master problem: column generation with Wentges smoothing.

The decomposition is that of Dantzig and Wolfe (1960); see Lübbecke and Desrosiers (2005) for the
method. Blocks are the pricing subproblems, which a family implements. Every price vector yields a
Lagrangian dual bound (Geoffrion, 1974), so column generation can stop at any time. Pricing takes
place between the best prices and those of the master problem (Wentges, 1997); after a misprice it
moves toward the master's prices.

The program is always a maximization over columns in blocks:

    max   sum_c value_c x_c
    s.t.  sum_c usage_rc x_c <= rhs_r                for every row r        (price p_r >= 0)
          sum_{c in b} x_c <= copies_b (or =)        for every block b
          x >= 0

For any prices p >= 0, B(p) = sum_r p_r rhs_r + sum_b copies_b best_b(p) is an upper bound, where
best_b(p) is the greatest value_c - p usage_c in the block (at least 0 unless the block requires
equality). A minimization passes its negative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from optsched import solvers
from optsched.numbers.arrays import Flags, Floats, Ints

SMOOTHING = 0.7  # weight of the best prices so far when the oracle is called (Wentges)


@dataclass(frozen=True)
class Column:
    """One choice of a block."""

    block: int
    value: float
    rows: Ints  # rows used, ascending
    usage: Floats  # the amounts, same shape
    choice: Any = None  # the family's own data
    tag: bytes = b""  # tells apart columns of equal value and usage that mean different things


@dataclass(frozen=True)
class Pricing:
    """The answer of the oracles at some prices."""

    best: Floats  # (blocks,): no column of the block has a greater payoff
    columns: Sequence[Column]


class Decomposition(Protocol):
    """A program in blocks, with an oracle for each."""

    rhs: Floats  # (rows,)
    copies: Floats  # (blocks,)
    equality: Flags  # (blocks,)
    penalty: float  # more than the value of any block that requests equality

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Return columns whose payoff beats their block's dual (none if inf), and the best payoffs.

        A block whose best payoff does not beat its dual may report the dual instead.
        """


@dataclass
class Relaxation:
    """Result of column generation: a bound at its prices, and the master's solution."""

    bound: float
    prices: Floats
    columns: list[Column] = field(default_factory=list)
    x: Floats = field(default_factory=lambda: np.empty(0))
    value: float = -np.inf  # of the master
    converged: bool = False


def key(column: Column) -> tuple[int, float, bytes, bytes, bytes]:
    """Return the key of a column."""
    return column.block, column.value, column.rows.tobytes(), column.usage.tobytes(), column.tag


class Master:
    """The restricted master problem by a warm simplex; columns are added, none is removed.

    Parameters
    ----------
    problem : Decomposition
    threads : int
    """

    def __init__(self, problem: Decomposition, *, threads: int = 1) -> None:
        self.rows, self.blocks = problem.rhs.size, problem.copies.size
        self.columns: list[Column] = []
        self.known: set[tuple[int, float, bytes, bytes, bytes]] = set()
        self.h = solvers.highs(threads=threads)
        self.h.setOptionValue("presolve", "off")
        # the basis is warm, and stays primal feasible when columns are added
        self.h.setOptionValue("simplex_strategy", 4)  # primal
        upper = np.concatenate([problem.rhs, problem.copies])
        lower = np.full(upper.size, -np.inf)
        equal = np.flatnonzero(problem.equality) + self.rows
        lower[equal] = upper[equal]
        empty = np.empty(0)
        none = np.empty(0, np.int32)
        self.h.addRows(upper.size, lower, upper, 0, none, none, empty)
        self.lower, self.upper = lower, upper
        # one expensive stand-in for every block, used by those that request equality
        self.stand_ins = self.blocks
        bounds = np.where(problem.equality, np.inf, 0.0)
        self.h.addCols(
            self.blocks,
            np.full(self.blocks, problem.penalty),
            np.zeros(self.blocks),
            bounds,
            self.blocks,
            np.arange(self.blocks, dtype=np.int32),
            np.arange(self.rows, self.rows + self.blocks, dtype=np.int32),
            np.ones(self.blocks),
        )

    def add(self, columns: Sequence[Column]) -> int:
        """Add the columns that are new; return how many."""
        fresh = []
        for c in columns:
            name = key(c)
            if name not in self.known:
                self.known.add(name)
                fresh.append(c)
        if not fresh:
            return 0
        sizes = np.array([c.rows.size + 1 for c in fresh])
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        index = np.concatenate([np.append(c.rows, self.rows + c.block) for c in fresh])
        value = np.concatenate([np.append(c.usage, 1.0) for c in fresh])
        self.h.addCols(
            len(fresh),
            np.array([-c.value for c in fresh]),
            np.zeros(len(fresh)),
            np.full(len(fresh), np.inf),
            int(sizes.sum()),
            starts,
            index.astype(np.int32),
            value.astype(float),
        )
        self.columns += fresh
        return len(fresh)

    def restrict(self, allowed: Flags, copies: Floats, equality: Flags) -> None:
        """Forbid columns and change the blocks' copies: a node of a branching tree."""
        n = len(self.columns)
        everything = np.arange(self.stand_ins + n, dtype=np.int32)
        upper = np.concatenate([np.where(equality, np.inf, 0.0), np.where(allowed, np.inf, 0.0)])
        self.h.changeColsBounds(everything.size, everything, np.zeros(everything.size), upper)
        rows = np.arange(self.rows, self.rows + self.blocks, dtype=np.int32)
        lower = np.where(equality, copies, -np.inf)
        for row, lo, hi in zip(rows, lower, copies, strict=True):
            if self.lower[row] != lo or self.upper[row] != hi:
                self.h.changeRowBounds(int(row), float(lo), float(hi))
                self.lower[row], self.upper[row] = lo, hi

    def probe(self, allowed: Flags, copies: Floats, equality: Flags) -> float:
        """Return about the value under other restrictions, with the columns that are known."""
        self.restrict(allowed, copies, equality)
        self.h.setOptionValue("simplex_strategy", 1)  # dual: only bounds have changed
        # an estimate of what a branching decision does is enough
        self.h.setOptionValue("simplex_iteration_limit", 100)
        solvers.rerun(self.h)
        value = -float(self.h.getInfo().objective_function_value)
        self.h.setOptionValue("simplex_strategy", 4)
        self.h.setOptionValue("simplex_iteration_limit", 2**31 - 1)
        return value

    def solve(self) -> tuple[float, Floats, Floats, Floats]:
        """Return (value, prices of the rows, duals of the blocks, x of the columns)."""
        solvers.rerun(self.h)
        duals = -solvers.row_duals(self.h)
        x = np.array(self.h.getSolution().col_value)[self.stand_ins :]
        value = -self.h.getInfo().objective_function_value
        return value, np.maximum(duals[: self.rows], 0.0), duals[self.rows :], x


def lagrangian(problem: Decomposition, prices: Floats, best: Floats) -> float:
    """Return B(p), given the best payoff of every block."""
    least = np.where(problem.equality, -np.inf, 0.0)
    return float(prices @ problem.rhs + problem.copies @ np.maximum(best, least))


def generate_columns(
    problem: Decomposition,
    master: Master,
    *,
    stop: Callable[[Relaxation], bool],
    center: Floats | None = None,
    tolerance: Callable[[float], float] = lambda value: 1e-7,  # noqa: ARG005
    smoothing: float = SMOOTHING,
) -> Relaxation:
    """Solve the relaxation by column generation; every iteration gives a valid bound.

    Parameters
    ----------
    problem : Decomposition
    master : Master
        Its columns are kept and extended.
    stop : callable
        Called after every iteration with the best so far (time, or a bound that is good enough).
    center : array of shape (rows,), optional
        Prices to begin from.
    tolerance : callable
        Relative distance of bound and master at which it has converged, given the master's value.
    smoothing : float
        0 calls the oracles at the master's own prices.

    Returns
    -------
    Relaxation
    """
    best = Relaxation(np.inf, np.zeros(master.rows))
    if center is not None:
        pricing = problem.price(center, np.full(master.blocks, -np.inf))
        best.bound, best.prices = lagrangian(problem, center, pricing.best), center
        master.add(pricing.columns)
    while True:
        best.value, prices, duals, best.x = master.solve()
        best.columns = master.columns
        if best.bound - best.value <= tolerance(best.value) * max(1.0, abs(best.value)):
            best.converged = True
            return best
        weight, center = smoothing if np.isfinite(best.bound) else 0.0, best.prices
        while True:
            smoothed = weight * center + (1 - weight) * prices
            pricing = problem.price(
                smoothed, duals if weight == 0 else np.full(duals.size, -np.inf)
            )
            bound = lagrangian(problem, smoothed, pricing.best)
            if bound < best.bound:
                best.bound, best.prices = bound, smoothed
            added = master.add([c for c in pricing.columns if _improves(c, prices, duals)])
            if added or weight == 0:
                break
            weight = 0.0 if weight < 0.3 else weight / 2  # a misprice: closer to the master
        if not added and weight == 0:
            best.converged = True
            return best
        if stop(best):
            return best


def _improves(column: Column, prices: Floats, duals: Floats) -> bool:
    payoff = column.value - prices[column.rows] @ column.usage
    dual = duals[column.block]
    # a column counts if its payoff beats the block's dual by this, relatively
    return bool(payoff > dual + 1e-9 * max(1.0, abs(dual)))
