"""Definitions of jobs with workers and parameter servers (PS), solved whole by CP-SAT."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

from optsched.problem import Implementation
from optsched.proofs.grid import float_above
from optsched.solvers import cp_bound, cp_program, cp_solver, run_cp

Places = dict[tuple[int, int, int], tuple[Any, ...]]
"""(job, slot, machine) -> numbers that are added up"""


class UtilityProgram:
    """Constraints between integers, and utilities in a unit so fine that rounding up is unseen.

    Attributes
    ----------
    model : ortools.sat.python.cp_model.CpModel
    completes : dict
        By job and slot, whether the job completes in it.
    workers, ps : Places
    unit : Fraction
        Value of one unit of its objective.
    """

    job_schedule: ClassVar[Callable[..., Any]]
    whole_schedule: ClassVar[Callable[..., Any]]

    def __init__(self, inst: Any) -> None:
        self.inst, self.model = inst, cp_program()
        self.completes: dict[tuple[int, int], Any] = {}
        self.workers: Places = {}
        self.ps: Places = {}

    def maximize_utility(self) -> None:
        """Maximize the utilities, rounded up to whole units."""
        utility = {
            (i, t): self.inst.jobs[i].utility.upper(t - self.inst.jobs[i].arrival)
            for i, t in self.completes
        }
        # of the largest utility
        self.unit = (max(utility.values(), default=Fraction(0)) or Fraction(1)) / (10**10)
        self.model.maximize(
            sum(math.ceil(utility[k] / self.unit) * v for k, v in self.completes.items())
        )

    def value(self, bound: float) -> float:
        """Return a bound of the solver in units of utility: no schedule is better."""
        return float_above(Fraction(bound) * self.unit)

    def schedule(self, value_of: Callable[[Any], int]) -> Any:
        """Return the schedule that a solution means."""
        jobs: list[Any] = [None] * len(self.inst.jobs)
        for (i, _), v in self.completes.items():
            if value_of(v):
                workers, ps = (
                    tuple((t, h, sum(map(value_of, x))) for (j, t, h), x in side.items() if j == i)
                    for side in (self.workers, self.ps)
                )
                jobs[i] = self.job_schedule(
                    workers=tuple(e for e in workers if e[2]), ps=tuple(e for e in ps if e[2])
                )
        return self.whole_schedule(jobs=tuple(jobs))


def solve_definition(
    model: Any,
    schedule: Callable[[Callable[[Any], int]], Any],
    value: Callable[[float], float] | None,
    progress: Any,
    *,
    threads: int,
    seed: int,
    seconds: float = math.inf,
    small: bool = False,
) -> str:
    """Run CP-SAT; report every schedule that is found, and its bound; return how it ended.

    Parameters
    ----------
    model : ortools.sat.python.cp_model.CpModel
    schedule : callable
        Makes the schedule that a solution means.
    value : callable, optional
        Returns a bound in units of the instance's objective. Without, only the status counts: the
        model does not have all schedules.
    progress : optsched.engine.progress.Progress
    threads, seed : int
        Of the solver.
    seconds : float
        It stops after these, or when the time is up.
    small : bool
        See `cp_solver`.
    """

    def report(value_of: Callable[[Any], int]) -> None:
        progress.offer(schedule(value_of), sure=True)

    gap, limits = 0.0 if value is None else progress.gap_limit, progress.limits(seconds)
    solver = cp_solver(threads=threads, seed=seed, gap=gap, small=small, **limits)
    status = "unknown"
    try:
        status = run_cp(solver, model, on_improve=report)
    finally:  # also after Ctrl-C
        bound = cp_bound(solver)
        if value is not None and status == "infeasible":
            progress.infeasible = True
        elif value is not None and bound is not None:
            progress.claim(Implementation.CP_SAT, value(bound))
    return status
