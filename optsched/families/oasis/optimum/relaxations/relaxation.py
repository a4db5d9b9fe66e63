"""Linear relaxation of the compact program, aggregated by class of machines: initial prices.

An interior-point method solves it to low accuracy (Mehrotra, 1992), since any dual values give a
valid bound. The program is (1)-(13) with a whole class as one machine (Margot, 2010), strengthened
by "the work done by a slot is at least the share of the job that is completed by then".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from optsched import solvers
from optsched.engine.budget import Budget, Limits, Span
from optsched.families.oasis.optimum.relaxations.capacity import (
    NEGLIGIBLE,
    SIDES,
    CapacityRelaxation,
    units_that_fit,
)
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units
from optsched.solvers.relaxed import LinearProgram

ACCURACY = 1e-4  # of the interior point: more costs time, and its prices are a start only
LEAST_UTILITY = (0.02, 1e-3, 0.0)
"""Shares of the value of a job below which a completion is left out: the first makes the smallest
program, the others are for programs that the interior point gives up on."""


def compact_prices(
    problem: CapacityRelaxation, *, threads: int = 1, span: Span | None = None
) -> Floats:
    """Return prices of all rows from the linear relaxation of the compact program by classes.

    Solved by an interior point without crossover: its duals are not exact, which does not matter,
    since any prices >= 0 give a bound. Variables: ``open[i, t]`` = share of job i that completes in
    slot t or later; workers and PS by job, slot and class.
    """
    prices = np.zeros(problem.rhs.size)  # if no job can finish, all prices are 0
    span = span or Budget().span()
    for least in LEAST_UTILITY:
        program = _Matrix(problem, least=least)
        if program.where:
            duals, _, sound = solve_program(program, threads=threads, limits=span.limits())
            prices = program.prices(duals)
            if not sound and not span.over():
                continue
        break
    return prices


def solve_program(
    program: _Matrix,
    *,
    threads: int,
    limits: Limits,
    stop: Callable[[], bool] = lambda: False,
    accuracy: float = ACCURACY,
) -> tuple[Floats, Floats, bool]:
    """Return the duals of the rows and the columns' values, as an interior point leaves them.

    The third is False if it gave up on the program, and its duals are poor, or was stopped
    ``stop``.
    """
    h = solvers.highs(threads=threads, time_limit=limits["time_limit"])
    h.setOptionValue("solver", "ipm")
    h.setOptionValue("run_crossover", "off")
    h.setOptionValue("ipm_optimality_tolerance", accuracy)
    matrices = program.arrays()
    solvers.load(h, *matrices)
    # numbers that are handled for a nonzero of the program, until HiGHS has it
    work_units.spend(work_units.HANDLED * 10 * matrices[1].nnz)
    solvers.run(h, stop=stop, effort=limits["effort"])
    duals = np.maximum(-solvers.row_duals(h), 0.0)
    value = -float(h.getInfo().objective_function_value)
    # relative gap of primal and dual value at which the solver counts as failed
    sound = abs(duals @ matrices[3] - value) <= 0.05 * abs(value)
    return duals, np.array(h.getSolution().col_value), bool(sound)


@dataclass(frozen=True)
class JobColumns:
    """Where a job's variables are."""

    slots: Ints  # (S,)
    is_open: Ints  # (S,)
    hosted: tuple[Ints, Ints]  # workers and PS: (S, C) of each side


class _Matrix(LinearProgram):
    """The program; its first rows are those of capacity.

    ``jobs`` are those that take part, by default all that can earn something; ``least`` is one of
    `LEAST_UTILITY`.
    """

    def __init__(
        self,
        problem: CapacityRelaxation,
        jobs: Iterable[int] | None = None,
        *,
        least: float = LEAST_UTILITY[0],
    ) -> None:
        super().__init__()
        self.problem, self.least = problem, least
        self.earned = problem.inst.arrays.utility.max(axis=1, initial=0.0)
        each = zip(problem.demand, problem.capacity, problem.count, strict=True)
        chunks = problem.inst.arrays.chunks
        self.fits = [units_that_fit(d, c, chunks) * n for d, c, n in each]  # (I, C)
        self.where: dict[int, JobColumns] = {}
        self.rows(problem.rhs.size, limit=np.where(problem.rhs > 0, 1.0, 0.0))
        # of what all jobs can earn, below which a job is left out
        relevant = self.earned > 1e-4 * self.earned.sum()
        for i in np.flatnonzero(relevant).tolist() if jobs is None else sorted(jobs):
            self.job(i)

    def prices(self, duals: Floats) -> Floats:
        """Return the prices on capacity among the duals: the rows are scaled to 1."""
        rhs = self.problem.rhs
        return duals[: rhs.size] / np.where(rhs > 0, rhs, 1.0)

    def job(self, i: int) -> None:
        """Add job i: rows are all `<=`."""
        problem = self.problem
        request, job = problem.requests[i], problem.inst.jobs[i]
        f = request.utility
        slots = np.flatnonzero(f > max(self.least * self.earned[i], NEGLIGIBLE * f.max()))
        fits = [self.fits[side][i] for side in SIDES]
        most = min(job.chunks, int(fits[0].sum()))
        if slots.size == 0 or most == 0:
            return
        first = slots[0] + -(-request.work // most) - 1  # earliest completion
        if first > slots[-1]:
            return
        is_open = self.variables(slots.size, value=np.diff(f[slots], prepend=0.0))
        self.chain(is_open, first - slots[0])
        worker = self.variables(slots.size, fits[0].size)
        served = self.variables(slots.size, fits[1].size)
        self.where[i] = JobColumns(slots, is_open, (worker, served))
        self.load(0, slots, worker, request.worker_demand, fits[0])
        self.load(1, slots, served, request.ps_demand, fits[1])
        n = slots.size
        limit = self.rows(n)  # workers <= most open
        self.put(limit[:, None], worker, 1.0)
        self.put(limit, is_open, -float(most))
        # whole PS: at best this many per worker, which is b / B or more
        ratio = float((request.ps_needed[1 : most + 1] / np.arange(1, most + 1)).min())
        bandwidth = self.rows(n)  # ratio workers <= PS
        self.put(bandwidth[:, None], worker, ratio)
        self.put(bandwidth[:, None], served, -1.0)
        # done[t], the share of the work done by slot t, is at least the share completed by then
        done = self.variables(n)
        grows = self.rows(n)
        self.put(grows, done, 1.0)
        self.put(grows[1:], done[:-1], -1.0)
        self.put(grows[:, None], worker, -1.0 / request.work)
        ends = np.arange(first - slots[0], n)
        covers = self.rows(ends.size)
        self.put(covers, done[ends], -1.0)
        self.put(covers, is_open[0], 1.0)
        later = ends[ends + 1 < n]
        self.put(covers[: later.size], is_open[later + 1], -1.0)

    def chain(self, is_open: Ints, start: int) -> None:
        """open[t] >= open[t + 1], equal before the earliest completion; open[0] <= 1."""
        whole = self.rows(1, limit=1.0)
        self.put(whole, is_open[:1], 1.0)
        falls = self.rows(is_open.size - 1)
        self.put(falls, is_open[1:], 1.0)
        self.put(falls, is_open[:-1], -1.0)
        if start > 0:
            keeps = self.rows(start)
            self.put(keeps, is_open[:start], 1.0)
            self.put(keeps, is_open[1 : start + 1], -1.0)

    def load(self, side: int, slots: Ints, col: Ints, demand: Floats, fits: Floats) -> None:
        """Add a job's columns to the capacity rows; a class without capacity is closed."""
        problem = self.problem
        _, resources, classes = problem.shapes[side]
        offset = problem.sizes[0] if side else 0
        for r in np.flatnonzero(demand):
            rows = offset + (slots[:, None] * resources + r) * classes + np.arange(classes)[None, :]
            self.put(rows, col, demand[r] / np.maximum(problem.rhs[rows], 1.0))
        closed = np.flatnonzero(fits == 0)
        if closed.size:
            shut = self.rows(1)
            self.put(shut, col[:, closed], 1.0)
