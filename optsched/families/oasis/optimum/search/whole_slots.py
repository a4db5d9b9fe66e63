"""Configuration LP over slots for fixed completion slots: column generation and Farkas duals.

Slots in which the same jobs may run are alike. A column is what all machines of such a slot host
(Gilmore and Gomory, 1961); an integer program prices it, and the master program maximizes the
share of every job's work that is done. If that share stays below 1, the dual values of work prove
infeasibility (Farkas, 1902): rounded to small integers they are weights of a capacity cut, which
`prices.slot_limits` proves. Otherwise an integer master program starts the repair with whole
columns (Joncour et al., 2010).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_array

from optsched import solvers
from optsched.engine.budget import Span
from optsched.engine.colgen import Column, Master, Pricing, Relaxation, generate_columns
from optsched.families.oasis.optimum.prices.slot_limits import SlotBound, prove
from optsched.families.oasis.optimum.search.slot_repair import SlotRepair
from optsched.numbers.arrays import Floats, Ints
from optsched.process import effort

# how near to the best of a slot, relatively, and in how many seconds: first roughly, then well
ROUGH, WELL = (2e-3, 0.5), (0.0, 2.0)
WHOLE_SECONDS = 2.0  # for whole columns
COARSEST, FINEST = 1, 60  # the greatest weight
TRIES = 4  # weights that are tried
EXACT = 1e-9  # distance of bound and share at which the program is solved
BEYOND = 1e-7  # of the work that cannot be done, from which on it is sure
MOST_SHARE = 2.0  # of the work that is looked for


class WholeSlots:
    """The program of one decision about completions.

    Parameters
    ----------
    repair : SlotRepair
        The state that knows completions and slots; `begin` puts what was found there.
    ended : callable
        Whether nobody needs to know any more.
    """

    def __init__(self, repair: SlotRepair, ended: Callable[[], bool] = lambda: False) -> None:
        self.repair, self.problem, self.ended = repair, repair.problem, ended
        self.jobs = sorted(repair.due)
        self.work = np.array([self.problem.inst.work[i] for i in self.jobs], float)
        alike: dict[tuple[int, ...], list[int]] = {}
        for t in repair.slots:
            alike.setdefault(tuple(repair.active[t]), []).append(t)
        self.groups = list(alike)
        self.slots = list(alike.values())
        self.programs = [repair.block(slots[0]) for slots in self.slots]
        self.effort = ROUGH
        self.found: Relaxation
        self.rhs = np.zeros(len(self.jobs))
        self.copies = np.array([*(len(slots) for slots in self.slots), MOST_SHARE])
        self.equality = np.zeros(self.copies.size, bool)
        self.penalty = 1e6
        self.span: Span
        self.master = Master(self)

    def price(self, prices: Floats, duals: Floats) -> Pricing:  # noqa: ARG002
        """Ask for the best of every kind of slot; the last block is the share of the work."""
        price = dict(zip(self.jobs, prices.tolist(), strict=True))
        found = [self._best([price[i] for i in jobs], g) for g, jobs in enumerate(self.groups)]
        share = Column(len(self.groups), 1.0, np.arange(len(self.jobs)), self.work)
        best = [worth for worth, _ in found] + [max(0.0, 1.0 - float(prices @ self.work))]
        return Pricing(np.array(best), [share, *(c for _, c in found if c is not None)])

    def _best(self, value: list[float], g: int) -> tuple[float, Column | None]:
        """Return a bound on what a slot of a kind is worth, and a column."""
        block, jobs = self.programs[g], self.groups[g]
        if not any(value):
            return 0.0, None
        cost = np.zeros(block.upper.size)
        cost[: len(jobs)] = -np.array(value)
        effort.spend(effort.HANDLED * block.matrix.nnz)
        result = solvers.solve_mip(
            cost,
            block.matrix.tocsc(),
            np.full(block.limit.size, -np.inf),
            block.limit,
            np.zeros(block.upper.size),
            block.upper,
            np.ones(block.upper.size, bool),
            gap=self.effort[0],
            **self.span.limits(self.effort[1]),
        )
        if result.x is None or result.bound is None:
            return np.inf, None
        point = np.rint(result.x).astype(np.int64)
        number = point[: len(jobs)]
        used = np.flatnonzero(number)
        rows = np.searchsorted(self.jobs, np.array(jobs)[used])
        return -result.bound, Column(g, 0.0, rows, -number[used].astype(float), point)

    def relax(self, span: Span) -> bool:
        """Find out whether fractions of columns do all of the work; return whether that is known.

        Called again, it goes on.
        """
        self.span = span
        self.found = generate_columns(
            self,
            self.master,
            stop=lambda r: r.bound < 1 - BEYOND or r.value >= 1 or self._over(),
            tolerance=lambda _: EXACT,
            smoothing=0.0,
        )
        found = self.found
        return found.converged or found.bound < 1 - BEYOND or found.value >= 1

    def limits(self, span: Span) -> list[SlotBound]:
        """Return limits on slots that the columns keep and the work does not, if some are proved.

        They need weights that are whole numbers: multiples of the prices, rounded.
        """
        self.span = span
        prices = self.found.prices if self.found.bound < 1 else self.master.solve()[1]
        columns = [c for c in self.master.columns if c.block < len(self.groups)]
        most = [  # numbers, by kind of slot
            np.array([c.choice[: len(jobs)] for c in columns if c.block == g]).reshape(
                -1, len(jobs)
            )
            for g, jobs in enumerate(self.groups)
        ]
        tried: set[bytes] = set()
        for scale in range(COARSEST, FINEST + 1):
            weights = np.rint(scale * prices / prices.max(initial=1e-300)).astype(np.int64)
            name = (weights // max(1, np.gcd.reduce(weights))).tobytes()
            if self._over() or not weights.any() or len(tried) == TRIES:
                break
            if name in tried or not self._short(weights, most):
                continue
            tried.add(name)
            found = self._prove(weights, most)
            held = sum(self.copies[g] * bound.limit.most for g, bound in found.items())
            if self.work @ weights > held:
                return list(found.values())
            self._learn(weights, most)
        return []

    def _over(self) -> bool:
        return self.span.over() or self.ended()

    def _short(self, weights: Ints, most: list[Ints]) -> bool:
        """Return whether known columns keep a limit that the work does not."""
        return bool(self.work @ weights > self.copies[:-1] @ self._goals(weights, most))

    def _goals(self, weights: Ints, most: list[Ints]) -> Ints:
        """Return the most of the columns of every kind at whole weights."""
        mine = [weights[np.searchsorted(self.jobs, jobs)] for jobs in self.groups]
        goals = [(n @ w).max(initial=0) for n, w in zip(most, mine, strict=True)]
        return np.array(goals, np.int64)

    def _learn(self, weights: Ints, most: list[Ints]) -> None:
        """Look for better columns at whole weights."""
        for g, jobs in enumerate(self.groups):
            mine = weights[np.searchsorted(self.jobs, jobs)]
            column = self._best(mine.astype(float).tolist(), g)[1]
            if column is not None:
                self.master.add([column])
                most[g] = np.vstack([most[g], column.choice[: len(jobs)]])

    def _prove(self, weights: Ints, most: list[Ints]) -> dict[int, SlotBound]:
        """Prove a limit for every kind of slot in which a job has a weight."""
        by_job = dict(zip(self.jobs, weights.tolist(), strict=True))
        goals = self._goals(weights, most).tolist()
        out = {}
        for g, jobs in enumerate(self.groups):
            mine = {i: by_job[i] for i in jobs if by_job[i]}
            if mine:
                out[g] = prove(self.problem, mine, goals[g], self._over)
        return out

    def begin(self, span: Span) -> None:
        """Put whole columns into the slots, so that little work is missing."""
        columns = [c for c in self.master.columns if c.block < len(self.groups)]
        kinds, jobs = len(self.groups), len(self.jobs)
        entries = [(c.block, k, 1.0) for k, c in enumerate(columns)]
        for k, c in enumerate(columns):
            entries += [(kinds + r, k, u) for r, u in zip(c.rows.tolist(), c.usage, strict=True)]
        n = len(columns)
        entries += [(kinds + j, n + j, -1.0) for j in range(jobs)]  # what is missing
        rows, cols, values = zip(*entries, strict=True)
        weight = self.repair.weight[self.jobs]
        result = solvers.solve_mip(
            np.concatenate([np.zeros(n), weight]),
            coo_array((values, (rows, cols)), shape=(kinds + jobs, n + jobs)).tocsc(),
            np.full(kinds + jobs, -np.inf),
            np.concatenate([self.copies[:kinds], -self.work]),
            np.zeros(n + jobs),
            np.concatenate([np.full(n, self.copies[:kinds].max()), self.work]),
            np.concatenate([np.ones(n, bool), np.zeros(jobs, bool)]),
            **span.limits(WHOLE_SECONDS),
        )
        if result.x is None:
            return
        left = [list(slots) for slots in self.slots]
        for c, x in zip(columns, np.rint(result.x[:n]).astype(int), strict=True):
            for _ in range(x):
                self.repair.place(left[c.block].pop(0), c.choice)
        self.repair.begun = True
