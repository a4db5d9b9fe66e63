"""The restricted master of large programs, solved by an interior point without crossover.

Its duals are central, which makes column generation converge where the vertices of a simplex jump
about. Three things keep it small: a row takes part once the columns fill it, columns that are far
from paying leave, and no solution is more accurate than the bound is good.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array, csc_array, hstack, vstack

from optsched import solvers
from optsched.engine.colgen import Column, Decomposition, key
from optsched.numbers.arrays import Floats

FILLED = 0.98  # part of a row's capacity from which on the row takes part
HOLLOW = 0.9  # part of a row's capacity below which it leaves, if its price is idle too
OVERFULL = 0.3  # of a capacity: more in a row that took no part, and the program is solved again
ACCURACY = 0.1  # of the distance of bound and master
LOOSEST, TIGHTEST = 1e-2, 1e-6  # relative accuracies of the interior point
SERVES = 1e-6  # of the value: rows and blocks whose price is worth less are idle
KEEP, MOST = 3, 4  # columns for every row and block that is not idle: kept, and reason to choose
FEW = 500  # columns that are always kept


class InteriorMaster:
    """The restricted master program of a large decomposition.

    It offers what `colgen.Master` offers to `generate_columns`; branching needs the other.

    Parameters
    ----------
    problem : Decomposition
    threads : int
    """

    def __init__(self, problem: Decomposition, *, threads: int = 1) -> None:
        self.rows, self.blocks = problem.rhs.size, problem.copies.size
        self.scale = np.where(problem.rhs > 0, problem.rhs, 1.0)
        self.room = problem.rhs / self.scale  # 1, or 0 where there is no capacity
        self.copies, self.equality = problem.copies, problem.equality
        self.penalty = problem.penalty
        self.threads = threads
        self.columns: list[Column] = []
        self.known: set[tuple[int, float, bytes, bytes, bytes]] = set()
        self.usage = csc_array((self.rows, 0))  # of the first columns, in parts of the capacity
        self.joined = np.zeros(self.rows, bool)  # rows that take part
        self.vertices = False  # whether a simplex solves it, where the interior point fails
        self.loosest = self.accuracy = LOOSEST
        self.sound = True  # the last program was solved
        self.overfull = False  # in its solution, a row that took no part was
        self.last: tuple[float, Floats, Floats] | None = None  # value, prices, duals

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
        """See to it that the next solution is more exact than the last; say whether it can be."""
        if self.overfull:
            return True  # the rows in question have joined
        if self.accuracy > TIGHTEST:
            self.loosest = max(TIGHTEST, self.accuracy * ACCURACY)
            return True
        given_up = not (self.vertices or self.sound)
        self.vertices |= given_up
        return given_up

    def solve(self, distance: float = 0.0) -> tuple[float, Floats, Floats, Floats]:
        """Return (value, prices of the rows, duals of the blocks, x of the columns).

        ``distance`` is that of bound and master so far, relatively. The value is that of a
        solution of the whole restricted program, -inf while a row that takes no part is overfull.
        """
        self._choose()
        self._extend()
        if not self.joined.any():
            self._join(self._filled(np.ones(len(self.columns))))
        while True:
            value, prices, duals, x = self._run(distance)
            filled = self._filled(x)
            over = np.where(self.joined, 0.0, filled - self.room)
            self._join(filled)
            worst = float(over.max(initial=0.0))
            if worst <= OVERFULL:
                break
        idle = (filled < HOLLOW * self.room) & (prices * self.scale <= SERVES * abs(value))
        self.joined &= ~idle
        self.last = value, prices, duals
        self.overfull = worst > TIGHTEST
        return (-np.inf if self.overfull else value), prices, duals, x

    def _filled(self, x: Floats) -> Floats:
        """Return what the columns use of every row, in parts of its capacity."""
        return np.asarray(self.usage @ x, float)

    def _join(self, filled: Floats) -> None:
        """Let rows take part that are filled to the greater part."""
        self.joined |= filled > FILLED * self.room

    def _choose(self) -> None:
        """Drop the columns that are farthest from paying, if there are many."""
        if self.last is None:
            return
        value, prices, duals = self.last
        least = SERVES * abs(value)
        worth = np.concatenate([prices * self.scale * self.room, duals * self.copies])
        busy = int(np.count_nonzero(worth > least))
        known = self.usage.shape[1]
        if known <= max(FEW, MOST * busy):
            return
        value_of = np.array([c.value for c in self.columns[:known]])
        block = np.array([c.block for c in self.columns[:known]])
        payoff = value_of - self.usage.T @ (prices * self.scale) - duals[block]
        best = np.sort(np.argsort(-payoff, kind="stable")[: max(FEW, KEEP * busy)])
        self.columns = [self.columns[k] for k in best] + self.columns[known:]
        self.known = {key(c) for c in self.columns}
        self.usage = self.usage[:, best]

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

    def _run(self, distance: float) -> tuple[float, Floats, Floats, Floats]:
        rows = np.flatnonzero(self.joined)
        asks = np.flatnonzero(self.equality)  # their stand-ins come first
        block = np.concatenate([asks, np.array([c.block for c in self.columns], np.int64)])
        members = coo_array(
            (np.ones(block.size), (block, np.arange(block.size))), shape=(self.blocks, block.size)
        )
        usage = hstack([csc_array((rows.size, asks.size)), self.usage[rows]])
        upper = np.concatenate([self.room[rows], self.copies])
        lower = np.full(upper.size, -np.inf)
        lower[rows.size + asks] = self.copies[asks]
        cost = np.concatenate([np.full(asks.size, self.penalty), [-c.value for c in self.columns]])

        self.accuracy = float(np.clip(ACCURACY * distance, TIGHTEST, self.loosest))
        matrix = vstack([usage, members], format="csc")
        if self.vertices:
            x, duals = self._vertex(cost, matrix, lower, upper)
        else:
            x, duals, self.sound = solvers.interior_point(
                cost, matrix, lower, upper, accuracy=self.accuracy, threads=self.threads
            )
            if not (np.isfinite(x).all() and np.isfinite(duals).all()):
                self.vertices = True
                x, duals = self._vertex(cost, matrix, lower, upper)
        prices = np.zeros(self.rows)
        prices[rows] = np.maximum(-duals[: rows.size], 0.0) / self.scale[rows]
        return -float(cost @ x), prices, -duals[rows.size :], x[asks.size :]

    def _vertex(
        self, cost: Floats, matrix: csc_array, lower: Floats, upper: Floats
    ) -> tuple[Floats, Floats]:
        """Return solution and duals of the rows by the simplex."""
        h = solvers.highs(threads=self.threads)
        h.setOptionValue("solver", "simplex")
        h.setOptionValue("presolve", "off")
        n = cost.size
        solvers.load(h, cost, matrix, lower, upper, np.zeros(n), np.full(n, np.inf))
        solvers.rerun(h)
        return np.array(h.getSolution().col_value), solvers.row_duals(h)
