"""Primal-dual column generation: restricted master program solved by an interior-point method.

Central dual values stabilize column generation (Gondzio et al., 2013), where the vertices of a
simplex oscillate. Without crossover; each run starts from a central point of the last one
(Gondzio, 1998), made strictly feasible: columns shrink until all fit, and duals of blocks rise
until no reduced cost is positive.

Three rules keep the program small: a row enters once the columns fill it, columns with the worst
reduced costs are dropped, and the solution is only as accurate as the gap between bound and master
value requires.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csc_array, hstack, vstack

from optsched import solvers
from optsched.engine.colgen import Column, Decomposition, key
from optsched.engine.params import Amount, Count, Factor, Share
from optsched.numbers.arrays import Floats, Ints
from optsched.solvers.interior import InteriorPoint, InteriorProgram, interior_point


@dataclass(frozen=True)
class InteriorMasterParams:
    """Parameters of the restricted master program at large scale.

    Attributes
    ----------
    enter_usage : float
        Usage of a capacity row, relative to its capacity, from which the row is in the program.
    leave_usage : float
        Usage below which a row leaves the program if its price is idle.
    violation : float
        Violation of a row outside the program, relative to its capacity, above which the program is
        solved again.
    accuracy : float
        Accuracy of a solution, relative to the gap between dual bound and master.
    loosest : float
        Loosest relative accuracy of the interior-point method.
    tightest : float
        Tightest relative accuracy of the interior-point method.
    idle_price : float
        Price of a row or block, relative to the objective value, below which it is idle.
    kept_columns : int
        Columns kept per row and block that is not idle.
    most_columns : float
        Columns per row and block that is not idle above which columns are dropped.
    min_columns : int
        Columns below which none is dropped.
    first_product : float
        Initial complementarity products (slack times dual), relative to the value of a row.
    new_product : float
        Products below which a column is initialized as a new one, relative to the initial products.
    most_rows : int
        Rows up to which the interior-point method solves the program; above, the simplex method
        does.
    first_dual : float
        Initial dual of a block, as a multiple of the value of its best column.
    """

    enter_usage: Share = 0.98
    leave_usage: Share = 0.6
    violation: Share = 0.03
    accuracy: Share = 0.1
    loosest: Share = 1e-2
    tightest: Share = 1e-6
    idle_price: Amount = 1e-6
    kept_columns: Count = 4
    most_columns: Factor = 5.5
    min_columns: Count = 500
    first_product: Factor = 0.02
    new_product: Amount = 0.01
    most_rows: Count = 5000
    first_dual: Factor = 3.0


DEFAULT = InteriorMasterParams()


class InteriorMaster:
    """The restricted master program of a large decomposition.

    It has the interface of `colgen.Master` for `generate_columns`; branching needs the latter.

    Parameters
    ----------
    problem : Decomposition
    threads : int
    prices : array of shape (rows,), optional
        To begin from: rows that have one take part at once.
    params : InteriorMasterParams, optional
    """

    def __init__(
        self,
        problem: Decomposition,
        *,
        threads: int = 1,
        prices: Floats | None = None,
        params: InteriorMasterParams = DEFAULT,
    ) -> None:
        self.params = params
        self.rows, self.blocks = problem.rhs.size, problem.copies.size
        self.scale = np.where(problem.rhs > 0, problem.rhs, 1.0)
        self.row_capacity = problem.rhs / self.scale  # 1, or 0 where there is no capacity
        self.copies, self.equality = problem.copies, problem.equality
        self.penalty = problem.penalty
        self.threads = threads
        self.columns: list[Column] = []
        self.known: set[tuple[int, float, bytes, bytes, bytes]] = set()
        self.usage = csc_array((self.rows, 0))  # of the first columns, in parts of the capacity
        row_value = np.zeros(self.rows) if prices is None else prices * problem.rhs
        self.joined = row_value > params.idle_price * row_value.sum()  # rows that take part
        self.vertices = False  # whether a simplex solves it, where the interior point fails
        self.loosest = self.accuracy = params.loosest
        self.sound = True  # the last program was solved
        self.overfull = False  # in its solution, a row that took no part was
        self.last: tuple[float, Floats, Floats] | None = None  # value, prices, duals
        self.row_value = row_value  # before there is a first solution
        self.begin: _Beginning | None = None
        self.nearest = np.zeros(0)  # the best payoff of each of the first columns, less its block's

    def add(self, columns: Sequence[Column]) -> int:
        """Add the columns that are new; return how many."""
        before = len(self.columns)
        for column in columns:
            name = key(column)
            if name not in self.known:
                self.known.add(name)
                self.columns.append(column)
        return len(self.columns) - before

    def refine(self) -> bool:
        """Make the next solution more exact than the last; return whether it can be."""
        if self.overfull:
            return True  # the rows in question have joined
        if self.accuracy > self.params.tightest:
            self.loosest = max(self.params.tightest, self.accuracy * self.params.accuracy)
            return True
        given_up = not (self.vertices or self.sound)
        self.vertices |= given_up
        return given_up

    def solve(self, distance: float = 0.0) -> tuple[float, Floats, Floats, Floats]:
        """Return (value, prices of the rows, duals of the blocks, x of the columns).

        ``distance`` is that of bound and master so far, relatively. The value is that of a
        solution of the whole restricted program; -inf while a row that takes no part is overfull,
        if blocks request equality.
        """
        self._choose()
        self._extend()
        if not self.joined.any():
            self._join(self._filled(np.ones(len(self.columns))))
        while True:
            value, prices, duals, x = self._run(distance)
            filled = self._filled(x)
            over = np.where(self.joined, 0.0, filled - self.row_capacity)
            self._join(filled)
            worst = float(over.max(initial=0.0))
            if worst <= self.params.violation:
                break
        hollow = filled < self.params.leave_usage * self.row_capacity
        idle = prices * self.scale <= self.params.idle_price * abs(value)
        self.joined &= ~(hollow & idle)
        self.last = value, prices, duals
        payoff = self._payoff(prices, duals)
        payoff[: self.nearest.size] = np.maximum(payoff[: self.nearest.size], self.nearest)
        self.nearest = payoff
        self.overfull = worst > self.params.tightest
        if not self.equality.any() and x.size:
            value = self._within(x)
        elif self.overfull:
            value = -np.inf
        return value, prices, duals, x

    def _filled(self, x: Floats) -> Floats:
        """Return the use of every row by the columns, in parts of its capacity."""
        return np.asarray(self.usage @ x, float)

    def _join(self, filled: Floats) -> None:
        """Let rows take part that are filled to the greater part."""
        self.joined |= filled > self.params.enter_usage * self.row_capacity

    def _choose(self) -> None:
        """Drop the columns that have been farthest from paying since the last choice, if many."""
        if self.last is None:
            return
        value, prices, duals = self.last
        least = self.params.idle_price * abs(value)
        row_value = np.concatenate([prices * self.scale * self.row_capacity, duals * self.copies])
        busy = int(np.count_nonzero(row_value > least))
        known = self.usage.shape[1]
        if known <= max(self.params.min_columns, self.params.most_columns * busy):
            return
        kept = max(self.params.min_columns, self.params.kept_columns * busy)
        best = np.sort(np.argsort(-self.nearest, kind="stable")[:kept])
        self.columns = [self.columns[k] for k in best] + self.columns[known:]
        self.known = {key(c) for c in self.columns}
        self.usage = self.usage[:, best]
        self.nearest = self._payoff(prices, duals)  # since this choice
        if self.begin is not None:
            equalities = int(self.equality.sum())
            self.begin.x = self.begin.x[np.concatenate([np.arange(equalities), equalities + best])]

    def _payoff(self, prices: Floats, duals: Floats) -> Floats:
        """Return the payoffs of the first columns, less the duals of their blocks."""
        some = self.columns[: self.usage.shape[1]]
        value = np.array([c.value for c in some])
        block = np.array([c.block for c in some], np.int64)
        return np.asarray(value - self.usage.T @ (prices * self.scale) - duals[block], float)

    def _extend(self) -> None:
        """Take the new columns into the matrix."""
        fresh = self.columns[self.usage.shape[1] :]
        if not fresh:
            return
        rows = np.concatenate([c.rows for c in fresh])
        amounts = np.concatenate([c.usage for c in fresh]) / self.scale[rows]
        starts = np.concatenate([[0], np.cumsum([c.rows.size for c in fresh])])
        part = csc_array((amounts, rows, starts), shape=(self.rows, len(fresh)))
        self.usage = hstack([self.usage, part], format="csc")

    def _members(self, block: Ints) -> coo_array:
        """Return the rows of the blocks, for columns of these blocks."""
        entries = (np.ones(block.size), (block, np.arange(block.size)))
        return coo_array(entries, shape=(self.blocks, block.size))

    def _within(self, x: Floats) -> float:
        """Return the value of a solution scaled to fit; no block requests equality."""
        block = np.array([c.block for c in self.columns], np.int64)
        matrix = vstack([self.usage, self._members(block)], format="csc")
        row_capacity = np.concatenate([self.row_capacity, self.copies])
        value = np.array([c.value for c in self.columns])
        return float(value @ (x * shrink(matrix, x, row_capacity)))

    def _run(self, distance: float) -> tuple[float, Floats, Floats, Floats]:
        rows = np.flatnonzero(self.joined)
        equalities = np.flatnonzero(self.equality)  # their stand-ins come first
        block = np.concatenate([equalities, np.array([c.block for c in self.columns], np.int64)])
        if not block.size:
            return 0.0, np.zeros(self.rows), np.zeros(self.blocks), np.zeros(0)
        members = self._members(block)
        usage = hstack([csc_array((rows.size, equalities.size)), self.usage[rows]])
        matrix = csc_array(vstack([usage, members], format="csc"))
        matrix.sort_indices()
        limit = np.concatenate([self.row_capacity[rows], self.copies])
        equal = np.concatenate([np.zeros(rows.size, bool), self.equality])
        value = np.concatenate(
            [np.full(equalities.size, -self.penalty), np.array([c.value for c in self.columns])]
        )
        program = InteriorProgram(value, matrix, limit, equal)

        self.accuracy = float(
            np.clip(self.params.accuracy * distance, self.params.tightest, self.loosest)
        )
        self.vertices |= bool((limit[~equal] <= 0).any())  # nothing is inside
        self.vertices |= limit.size > self.params.most_rows
        if not self.vertices:
            x, duals = self._central(program, rows, block)
            self.vertices = not (np.isfinite(x).all() and np.isfinite(duals).all())
        if self.vertices:
            self.begin = None
            x, duals = self._vertex(program)
        prices = np.zeros(self.rows)
        prices[rows] = np.maximum(duals[: rows.size], 0.0) / self.scale[rows]
        return float(value @ x), prices, duals[rows.size :], x[equalities.size :]

    def _central(self, program: InteriorProgram, rows: Ints, block: Ints) -> tuple[Floats, Floats]:
        """Return solution and duals by the interior point, from where the last program ended."""
        begin = self.begin or _first(program, self.row_value, rows, block, self.params)
        start = begin.inside(program, rows, block, self.params)
        found, earlier, self.sound = interior_point(program, start, self.accuracy)
        row_value = np.zeros(self.rows)
        row_value[rows] = earlier.duals[: rows.size]
        spread = (earlier.x @ earlier.reduced + earlier.slack @ earlier.duals) / (
            block.size + int((~program.equal).sum())
        )
        self.begin = _Beginning(earlier.x, row_value, earlier.duals[rows.size :], float(spread))
        return found.x, found.duals

    def _vertex(self, program: InteriorProgram) -> tuple[Floats, Floats]:
        """Return solution and duals of the rows by the simplex."""
        h = solvers.highs(threads=self.threads)
        h.setOptionValue("solver", "simplex")
        h.setOptionValue("presolve", "off")
        value, matrix, limit, equal = program
        lower = np.where(equal, limit, -np.inf)
        n = value.size
        solvers.load(h, -value, matrix, lower, limit, np.zeros(n), np.full(n, np.inf))
        solvers.rerun(h)
        return np.array(h.getSolution().col_value), -solvers.row_duals(h)


@dataclass
class _Beginning:
    """Starting point of the interior-point method: a central point of the last program."""

    x: Floats  # of the stand-ins and the first columns
    row_value: Floats  # (rows,) duals, 0 of rows that took no part
    duals: Floats  # (blocks,)
    spread: float  # average complementarity product of a row's, or a column's, slack and dual

    def inside(
        self, program: InteriorProgram, rows: Ints, block: Ints, params: InteriorMasterParams
    ) -> InteriorPoint:
        """Return a point inside a program with new columns and other rows.

        Every column shrinks until it fits into its fullest row; duals of blocks rise until no
        column has a positive reduced cost.
        """
        value, matrix, limit, equal = program
        least, spread = params.new_product * self.spread, self.spread
        row_value = np.maximum(self.row_value[rows], spread)
        known = np.append(self.x, np.zeros(block.size - self.x.size))
        payoff = value - matrix.T @ np.append(row_value, np.zeros(self.duals.size))
        top = np.full(self.duals.size, -np.inf)
        np.maximum.at(top, block, payoff)
        top = np.where(np.isfinite(top), top, 0.0)
        duals = np.maximum(top + params.first_dual * spread, self.duals)
        duals = np.where(equal[rows.size :], duals, np.maximum(duals, spread))
        reduced = duals[block] - payoff
        x = np.where(known > least, known, np.minimum(least, spread / reduced))
        every = np.concatenate([row_value, duals])
        tight = np.where(equal, 0.0, np.minimum(0.5, 0.3 * spread / np.where(equal, 1.0, every)))
        x = x * shrink(matrix, x, limit * (1 - tight))
        x[: int(equal.sum())] += (limit - matrix @ x)[equal]  # artificial columns take the place
        slack = np.where(equal, 0.0, limit - matrix @ x)
        return InteriorPoint(x, every, slack, reduced)


def shrink(matrix: csc_array, x: Floats, row_capacity: Floats) -> Floats:
    """Return the factor of every column at which no row is overfull; (n,).

    Every column has a nonzero.
    """
    fits = np.minimum(1.0, row_capacity / np.maximum(matrix @ x, 1e-300))
    return np.asarray(np.minimum.reduceat(fits[matrix.indices], matrix.indptr[:-1]), float)


def _first(
    program: InteriorProgram, guess: Floats, rows: Ints, block: Ints, params: InteriorMasterParams
) -> _Beginning:
    """Return a starting point without a previous program, at estimated duals of rows."""
    value, _, limit, equal = program
    copies, equalities = limit[rows.size :], int(equal.sum())
    number = np.maximum(1, np.bincount(block, minlength=copies.size))
    most = np.zeros(copies.size)
    np.maximum.at(most, block[equalities:], np.abs(value[equalities:]))
    each = float(guess[rows].mean()) if rows.size else 0.0
    if each <= 0:
        each = max(float(most @ copies), 1e-9 * float(np.abs(value).max())) / limit.size
    row_value = np.zeros(guess.size)
    row_value[rows] = np.maximum(guess[rows], params.first_product * each) if guess.any() else each
    least = np.where(equal[rows.size :], -np.inf, 0.0)
    return _Beginning((0.5 * copies / number)[block], row_value, least, params.first_product * each)
