"""Constraint programming: the definition as a CP-SAT model (Perron et al., 2023).

Every job is an interval of fixed length; each resource is a cumulative constraint (Aggoun and
Beldiceanu, 1993) of the pool or, where tasks are packed, of every node, with the number of tasks
there as a variable. All numbers are integers; slowdowns are counted in parts of 2^-30, or as fine
as 64 bits allow, each rounded down.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.rigid.instance import Cost, RigidInstance
from optsched.families.rigid.optimum.problem import RigidProblem
from optsched.proofs.grid import float_below
from optsched.scheduling.declared import affordable
from optsched.scheduling.definition import solve_definition
from optsched.solvers import cp_program

PARTS = 2**30  # of a slowdown
MOST = 2**58  # of the sum, which CP-SAT counts in 64 bits


def cpsat(inst: RigidInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the definition with CP-SAT; report every schedule that is found, and the bound."""
    problem = RigidProblem(inst)
    if not problem.n:
        progress.offer(problem.schedule(np.zeros(0, np.int64), np.zeros((0, 1), np.int64)))
        return
    if not affordable(progress, 10 * problem.n * len(problem.bins)):
        return
    first = problem.listed(problem.key, progress.stop)
    if first is None:
        return
    progress.offer(problem.schedule(*first), sure=True)
    latest = int(problem.jobs.arrival.max() + problem.jobs.run.sum())
    program = _CpSatProgram(inst, latest)

    def schedule(value_of: Callable[[Any], int]) -> Any:
        return problem.schedule(*program.read(value_of))

    solve_definition(program.model, schedule, program.value, progress, threads=threads, seed=seed)


class _CpSatProgram:
    """The definition as constraints between integers."""

    def __init__(self, inst: RigidInstance, latest: int) -> None:
        self.inst, self.model = inst, cp_program()
        m, a = self.model, inst.arrays
        self.start = [m.new_int_var(job.arrival, latest, "") for job in inst.jobs]
        intervals = [
            m.new_fixed_size_interval_var(s, job.run, "")
            for s, job in zip(self.start, inst.jobs, strict=True)
        ]
        self.tasks: list[list[Any]] = [[1] for _ in inst.jobs]
        if inst.packed:
            self.tasks = [
                [m.new_int_var(0, int(n), "") for _ in range(len(a.bins))] for n in a.tasks
            ]
            for row, number in zip(self.tasks, a.tasks.tolist(), strict=True):
                m.add(sum(row) == number)
        for h, row in enumerate(a.bins.tolist()):
            for k, capacity in enumerate(row):
                used = [i for i in range(len(inst.jobs)) if a.need[i, k]]
                demands = [int(a.need[i, k]) * self.tasks[i][h] for i in used]
                if used:
                    m.add_cumulative([intervals[i] for i in used], demands, capacity)
        costs = [Cost(inst.objective, job) for job in inst.jobs]
        self.unit = 1
        if inst.objective == "slowdown":
            most = sum(c.weight * (latest + c.shift) // c.unit + 1 for c in costs)
            self.unit = max(1, min(PARTS, MOST // most))
        terms = []
        for s, job, cost in zip(self.start, inst.jobs, costs, strict=True):
            late: Any = s - job.arrival + cost.shift
            if inst.objective == "slowdown":
                late = m.new_int_var(cost.floor, max(cost.floor, latest + cost.shift), "")
                m.add(late >= s - job.arrival + cost.shift)
            terms.append(cost.weight * self.unit // cost.unit * late)
        if inst.objective == "makespan":
            end = m.new_int_var(0, latest, "")
            for s, job in zip(self.start, inst.jobs, strict=True):
                m.add(end >= s + job.run)
            terms = [end]
        m.minimize(sum(terms))

    def value(self, bound: float) -> float:
        """Return a bound of the solver in units of the objective."""
        return float_below(Fraction(int(bound), self.unit * self.inst.weight))

    def read(self, value_of: Callable[[Any], int]) -> tuple[Any, Any]:
        """Return starts and tasks on nodes."""
        start = np.array([value_of(s) for s in self.start], np.int64)
        allocation = [[x if isinstance(x, int) else value_of(x) for x in row] for row in self.tasks]
        return start, np.array(allocation, np.int64)
