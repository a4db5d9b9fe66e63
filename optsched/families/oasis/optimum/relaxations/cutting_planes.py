"""Cutting-plane algorithm for the linear relaxation of the compact program.

Violated inequalities are added to the linear relaxation in rounds (Crowder et al., 1983):

- *packing*: the content of a class of machines in a slot is a mixture of patterns of one machine;
  Fenchel cuts (Boyd, 1994), see `knapsack_cuts`;
- *speed*: the share of a job that is completed by slot t cannot use more workers in a slot than
  that share of N_i; these have the form of the (l, S) inequalities of lot sizing and are separated
  like them (Barany et al., 1984).

The dual values become prices per worker and slot, whose bound `certificate` evaluates again. The
solution guides the search for schedules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optsched.engine.budget import Limits, Span
from optsched.engine.params import Amount, Count, Factor, Number, Share
from optsched.families.oasis.optimum.relaxations.capacity import SIDES, CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.knapsack_cuts import packing_cut
from optsched.families.oasis.optimum.relaxations.relaxation import (
    LEAST_UTILITY,
    _Matrix,
    solve_program,
)
from optsched.families.oasis.optimum.relaxations.unit_price import UnitPriceDecomposition
from optsched.families.oasis.optimum.relaxations.windows import (
    ConstantRun,
    window_steps,
    windowed_costs,
)
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.process import work_units
from optsched.scheduling.oracle.patterns import STEPS, Knapsacks, best_patterns, pattern_steps


@dataclass(frozen=True)
class CutParams:
    """Parameters of the cutting planes.

    Attributes
    ----------
    violated : float
        Relative violation above which a packing inequality (Fenchel cut) is added.
    too_fast : float
        Violation above which a speed inequality, of the form (l, S), is added, relative to the
        job's work.
    share : float
        Numbers of workers and fractions of jobs in the relaxation below which separation ignores
        them.
    least_weight : float
        Weight of an inequality below which the weight is rounded to 0; the inequality stays valid.
    reach : float
        Share of its utility that a job may lack to be profitable and still be in the linear
        program.
    shared : int
        Most packing inequalities of other slots that are tried for a slot and class in a round.
    clearly : float
        Relative violation above which a packing inequality of another slot is added.
    alike : float
        Cosine of the weights of two inequalities above which only one of them is added.
    accuracy : float
        Accuracy of the interior-point method while inequalities are added.
    rounds : int
        Iteration limit of the separation of a packing inequality.
    nodes : int
        Node limit of the search for the best pattern, in the separation of a packing inequality as
        well.
    """

    violated: Amount = 1e-3
    too_fast: Amount = 1e-2
    share: Amount = 1e-3
    least_weight: Amount = 2e-3
    reach: Amount = 0.15
    shared: Number = 2
    clearly: Amount = 5e-3
    alike: Share = 0.98
    accuracy: Factor = 3e-4
    rounds: Count = 300
    nodes: Count = 2000


Prices = tuple[Floats, Floats]  # of a worker, of a PS: (I, T) each


@dataclass(frozen=True)
class LpGuidance:
    """LP guidance of a search for schedules."""

    prices: Prices
    share: Floats  # (I,) of each job that is completed
    value: Floats  # (I,) its value
    completed: Floats  # (I, T) share of each job that completes in each slot
    near: Flags  # (I,) the jobs that earn something, or nearly, at these prices


@dataclass(frozen=True)
class RelaxationState:
    """A solution of the program, and the bound of its prices."""

    program: _Matrix
    rows: Ints  # of the packings
    duals: Floats
    completed: Floats  # (I, T) share of each job that completes in each slot
    x: Floats
    sound: bool  # whether the solver has not given up
    prices: Prices
    payoffs: Floats  # (I,) upper bound on the value of each job, which may be less than nothing
    bound: float


@dataclass(frozen=True)
class _Packing:
    side: int
    slot: int
    group: int
    weight: Floats  # (I,)


@dataclass(frozen=True)
class _Speed:
    """Work within the slots ``inside``, and N times the share elsewhere, make up for the share."""

    job: int
    last: int  # the share completed by this slot
    inside: Ints  # slots


class CutLoop:
    """Rounds of solving and adding inequalities.

    Parameters
    ----------
    problem : CapacityRelaxation
    threads : int
    stop : callable
        Whether to look for no more inequalities.
    params : CutParams

    Attributes
    ----------
    bound : float
        The best so far; inf before the first round.
    guide : LpGuidance
        The best prices, and the last solution.
    completed : array of shape (I, T)
        The last solution: the share of each job that completes in each slot.
    capacity_prices : array of shape (rows,)
        Prices on capacity, from the last round without packing inequalities.
    """

    def __init__(
        self,
        problem: CapacityRelaxation,
        *,
        threads: int,
        stop: Callable[[], bool] = lambda: False,
        params: CutParams = CutParams(),
    ) -> None:
        self.problem, self.threads, self.stop, self.params = problem, threads, stop, params
        self.blocks = UnitPriceDecomposition(problem.inst)
        self.jobs: set[int] | None = None
        self.packings: list[_Packing] = []
        self.speeds: list[_Speed] = []
        most_ps = [int(n[m]) for n, m in zip(self.blocks.needed, self.blocks.most, strict=True)]
        self.most = (self.blocks.most, np.array(most_ps, np.int64))
        self.bound = np.inf
        self.guide: LpGuidance | None = None
        self.capacity_prices: Floats | None = None
        self.done = False
        self.level = 0  # of `LEAST_UTILITY`

    def round(self, span: Span) -> None:
        """Solve, evaluate the bound, look for violated inequalities; sets ``done`` if none."""
        while True:
            found = self.relax(span.limits(), self.jobs)
            if found is None:
                self.done = True
                return
            last = self.level == len(LEAST_UTILITY) - 1
            if found.sound or last or span.over():
                break
            self.level += 1
        program, x = found.program, found.x
        if not self.packings:
            self.capacity_prices = program.prices(found.duals)
        former = self.guide
        best = found.prices if former is None or found.bound < self.bound else former.prices
        self.bound = min(self.bound, found.bound)
        value = (found.completed * self.blocks.arrays.utility).sum(axis=1)
        close = found.payoffs > -self.params.reach * program.earned
        self.guide = LpGuidance(best, found.completed.sum(axis=1), value, found.completed, close)
        near = set(np.flatnonzero(close).tolist())
        known = set(program.where)
        self.jobs = near if self.jobs is None else known | near
        # an inequality of smaller dual is dropped
        self.packings = [
            p for p, row in zip(self.packings, found.rows, strict=True) if found.duals[row] > 1e-6
        ]
        packings = self._packings(program, x)
        speeds = self._speeds(program, x)
        self.packings += packings
        self.speeds += speeds
        self.done = not packings and not speeds and near <= known

    def relax(self, limits: Limits, jobs: set[int] | None = None) -> RelaxationState | None:
        """Solve the program with all inequalities.

        ``jobs`` are those that take part, by default all that can earn something; None if none is
        left, or if it is to stop.
        """
        program = _Matrix(self.problem, jobs, least=LEAST_UTILITY[self.level])
        if not program.where:
            return None
        rows = self._add(program)
        duals, x, sound = solve_program(
            program,
            threads=self.threads,
            limits=limits,
            stop=self.stop,
            accuracy=self.params.accuracy,
        )
        if self.stop():  # the next part takes a second or two
            return None
        prices = self._prices(program, duals, rows)
        bound, payoffs = self._evaluate(prices)
        completed = self._completed(program, x)
        return RelaxationState(program, rows, duals, completed, x, sound, prices, payoffs, bound)

    def _evaluate(self, prices: Prices) -> tuple[float, Floats]:
        """Return the bound of prices, and the payoffs."""
        payoffs = self._payoffs(prices)
        earned = float(np.maximum(payoffs, 0.0).sum())
        return earned + sum(self._machines(side, prices[side]) for side in SIDES), payoffs

    def _add(self, program: _Matrix) -> Ints:
        """Add the inequalities to the program; return the rows of the packings."""
        rows = program.rows(len(self.packings), limit=1.0)
        for row, p in zip(rows, self.packings, strict=True):
            count = float(self.problem.count[p.side][p.group])
            for i in np.flatnonzero(p.weight).tolist():
                there = program.where.get(i)
                if there is not None and there.slots[0] <= p.slot <= there.slots[-1]:
                    col = there.hosted[p.side][p.slot - there.slots[0], p.group]
                    program.put(row, col, p.weight[i] / count)
        for speed in self.speeds:
            if speed.job in program.where:
                self._add_speed(program, speed)
        return rows

    def _add_speed(self, program: _Matrix, speed: _Speed) -> None:
        i, there = speed.job, program.where[speed.job]
        work, most = self.problem.inst.work[i], float(self.blocks.most[i])
        n = int(speed.last - there.slots[0]) + 1
        inside = speed.inside - there.slots[0]
        share = np.zeros(there.slots.size + 1)  # coefficients of open; the last is never open
        share[0] += work
        share[n] -= work
        outside = np.setdiff1d(np.arange(n), inside)
        share[outside] -= most
        share[n] += most * outside.size
        row = program.rows(1)
        used = np.flatnonzero(share[:-1])
        program.put(row, there.is_open[used], share[used] / work)
        program.put(row, there.hosted[0][inside].ravel(), -1.0 / work)

    def _prices(self, program: _Matrix, duals: Floats, rows: Ints) -> Prices:
        """Return the cost of a worker (PS) on the cheapest class that can host it: (I, T) each."""
        more: list[list[tuple[_Packing, float]]] = [[], []]
        for row, p in zip(rows, self.packings, strict=True):
            more[p.side].append((p, float(duals[row])))
        problem, out = self.problem, []
        parts = np.split(program.prices(duals), [problem.sizes[0]])
        for side in SIDES:
            demand, capacity = self.blocks.demand[side], self.blocks.capacity[side]
            price = parts[side].reshape(problem.shapes[side])  # (T, R, C)
            cost = np.einsum("trc,ir->itc", price, demand)
            for p, dual in more[side]:
                cost[:, p.slot, p.group] += dual * p.weight / problem.count[side][p.group]
            fits = np.all(demand[:, None, :] <= capacity[None, :, :], axis=2)  # (I, C)
            cheapest = np.where(np.expand_dims(fits, 1), cost, np.inf).min(axis=2)
            out.append(np.where(np.isfinite(cheapest), cheapest, 0.0))
        runs = self.blocks.row[0] >= 0  # no machine earns where the job cannot run
        return np.where(runs, out[0], 0.0), np.where(runs, out[1], 0.0)

    def _payoffs(self, prices: Prices) -> Floats:
        """Return what every job earns at most, which may be less than nothing."""
        blocks, out = self.blocks, np.full(self.problem.jobs, -np.inf)
        for i, job in enumerate(self.problem.inst.jobs):
            upper = blocks.node.upper[i]
            useful = np.flatnonzero(upper)
            a = job.arrival
            if useful.size == 0 or a > useful[-1]:
                continue
            last = int(useful[-1])
            work, lower = self.problem.inst.work[i], blocks.node.lower[i]
            worker, ps = (np.ascontiguousarray(p[i]) for p in prices)
            window = ConstantRun(worker, ps, blocks.needed[i], lower, upper, work)
            windowed_costs(window, a, last, blocks.table, blocks.ending)
            work_units.steps(window_steps(a, last, work))
            utility = blocks.arrays.utility[i, a : last + 1]
            out[i] = (utility - blocks.ending[a : last + 1]).max()
        return out

    def _machines(self, side: int, prices: Floats) -> float:
        """Return the value of all machines of a side at prices of workers or PS, (I, T)."""
        blocks, problem = self.blocks, self.problem
        slots, classes = problem.slots, len(problem.count[side])
        value = np.repeat(np.ascontiguousarray(prices.T), classes, axis=0)
        capacity = np.tile(blocks.capacity[side], (slots, 1))
        most = np.where(blocks.row[side] >= 0, self.most[side][:, None], 0)  # (I, T)
        upper = np.repeat(np.ascontiguousarray(most.T), classes, axis=0)
        best, out = np.empty(len(value)), np.zeros(upper.shape, np.int64)
        knapsacks = Knapsacks(value, blocks.demand[side], capacity, np.zeros_like(upper), upper)
        best_patterns(knapsacks, best, out, self.params.nodes, STEPS)
        work_units.steps(pattern_steps(upper))
        return float(np.tile(problem.count[side], slots) @ best)

    def _completed(self, program: _Matrix, x: Floats) -> Floats:
        out = np.zeros((self.problem.jobs, self.problem.slots))
        for i, there in program.where.items():
            out[i, there.slots] = -np.diff(x[there.is_open], append=0.0)
        return out

    def _packings(self, program: _Matrix, x: Floats) -> list[_Packing]:
        """Return violated knapsack cuts (Fenchel cuts of a machine)."""
        found: list[_Packing] = []
        for side in SIDES:
            count = self.problem.count[side]
            hosted = np.zeros((self.problem.slots, count.size, self.problem.jobs))
            for i, there in program.where.items():
                hosted[there.slots, :, i] = x[there.hosted[side]]
            hosted[hosted < self.params.share] = 0.0
            for t, c in np.ndindex(*hosted.shape[:2]):
                if self.stop():
                    return found
                weight = np.zeros(self.problem.jobs)
                # steps of `packing_cut` for a job
                work_units.steps(10_000 * int(np.count_nonzero(hosted[t, c])))
                packing_cut(
                    hosted[t, c],
                    self.blocks.demand[side],
                    self.blocks.capacity[side][c],
                    self.most[side],
                    int(count[c]),
                    self.params.rounds,
                    self.params.nodes,
                    weight,
                )
                weight[weight < self.params.least_weight] = 0.0
                if weight @ hosted[t, c] > count[c] * (1 + self.params.violated):
                    found.append(_Packing(side, t, c, weight))
            for c, n in enumerate(count.tolist()):
                known = [p for p in self.packings + found if (p.side, p.group) == (side, c)]
                if known:
                    found += self._shared(known, hosted[:, c] / n, self.params)
        return found

    @staticmethod
    def _shared(known: list[_Packing], hosted: Floats, params: CutParams) -> list[_Packing]:
        """Return inequalities of one slot that others violate: machines do not change.

        ``hosted`` (T, I) on a machine, on average.
        """
        weights, place = np.unique([p.weight for p in known], axis=0, return_inverse=True)
        direction = weights / np.linalg.norm(weights, axis=1, keepdims=True)  # (P, I)
        alike = direction @ direction.T > params.alike
        new = np.ones((len(hosted), len(weights)), bool)
        for p, k in zip(known, place.ravel().tolist(), strict=True):
            new[p.slot] &= ~alike[k]
        excess = hosted @ weights.T - 1.0  # (T, P)
        found = []
        for t in range(len(hosted)):
            for _ in range(params.shared):
                k = int(np.where(new[t], excess[t], 0.0).argmax())
                if not new[t, k] or excess[t, k] < params.clearly:
                    break
                found.append(_Packing(known[0].side, t, known[0].group, weights[k]))
                new[t] &= ~alike[k]
        return found

    def _speeds(self, program: _Matrix, x: Floats) -> list[_Speed]:
        """Return violated speed inequalities."""
        found: list[_Speed] = []
        for i, there in program.where.items():
            if self.stop():
                return found
            still = np.append(x[there.is_open], 0.0)
            workers = x[there.hosted[0]].sum(axis=1)
            work, most = self.problem.inst.work[i], self.blocks.most[i]
            for k in np.flatnonzero(still[:-1] - still[1:] > self.params.share).tolist():
                fastest = most * (still[: k + 1] - still[k + 1])
                done = np.minimum(workers[: k + 1], fastest).sum()
                if work * (still[0] - still[k + 1]) > done + self.params.too_fast * work:
                    inside = there.slots[: k + 1][workers[: k + 1] < fastest]
                    found.append(_Speed(i, int(there.slots[k]), inside))
        return found
