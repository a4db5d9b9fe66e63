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
    """

    job_schedule: ClassVar[Callable[..., Any]]
    whole_schedule: ClassVar[Callable[..., Any]]

    def __init__(self, inst: Any) -> None:
        self.inst, self.model = inst, cp_program()
        self.completes: dict[tuple[int, int], Any] = {}
        self.workers: Places = {}
        self.ps: Places = {}

    def maximize_utility(self) -> Fraction:
        """Maximize the utilities, rounded up to whole units; return the value of a unit."""
        utility = {
            (i, t): self.inst.jobs[i].utility.upper(t - self.inst.jobs[i].arrival)
            for i, t in self.completes
        }
        # of the largest utility
        unit = (max(utility.values(), default=Fraction(0)) or Fraction(1)) / (10**10)
        self.model.maximize(
            sum(math.ceil(utility[k] / unit) * v for k, v in self.completes.items())
        )
        return unit

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
    program: UtilityProgram,
    unit: Fraction,
    progress: Any,
    *,
    seconds: float,
    threads: int,
    seed: int,
) -> None:
    """Report every schedule that is found, and the bound: no schedule is better than rounded up."""

    def report(value_of: Callable[[Any], int]) -> None:
        progress.offer(program.schedule(value_of), sure=True)

    limits = progress.limits(seconds)
    solver = cp_solver(threads=threads, seed=seed, gap=progress.gap_limit, **limits)
    try:
        run_cp(solver, program.model, on_improve=report)
    finally:  # also after Ctrl-C
        bound = cp_bound(solver)
        if bound is not None:
            progress.claim(Implementation.CP_SAT, float_above(Fraction(bound) * unit))
