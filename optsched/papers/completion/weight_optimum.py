"""The exact optimum of the maximum weighted schedule problem (7), (16), by CP-SAT."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optsched.engine.interval import CLOSED
from optsched.families.completion.instance import CompletionInstance, CompletionSchedule, Piece
from optsched.families.completion.optimum.cpsat import CpSatProgram, all_choices
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.families.completion.verify import verify
from optsched.solvers import cp_bound, cp_solver, run_cp


@dataclass(frozen=True)
class BestWeight:
    """The most weight that ends by a deadline, as far as it is known."""

    value: float  # of `schedule`
    bound: float  # no schedule has more; CP-SAT's claim, unless another is named
    schedule: Mapping[int, Piece]  # whether it ends in time, by job

    @property
    def optimal(self) -> bool:
        """Whether nothing better is left."""
        return self.bound <= self.value * (1 + CLOSED)


class WeightProgram(CpSatProgram):
    """The definition without (2a): a job that stays away has an interval that does not exist.

    Parameters
    ----------
    jobs : Jobs
        All of them present in slot 0, and able to end by ``tau``.
    tau : int
        The deadline.
    """

    def __init__(self, jobs: JobTables, tau: int) -> None:
        self.present: list[Any] = []
        super().__init__(jobs, all_choices(jobs, [tau] * len(jobs.modes)))

    def _interval(self, start: Any, size: Any, end: Any) -> Any:
        present = self.model.new_bool_var("")
        self.present.append(present)
        return self.model.new_optional_interval_var(start, size, end, present, "")

    def _aim(self, weights: Sequence[int]) -> None:
        """Maximize the weight of the jobs that run."""
        self.objective = sum(w * x for w, x in zip(weights, self.present, strict=True))
        self.model.maximize(self.objective)


def waiting(inst: CompletionInstance, jobs: Sequence[int]) -> CompletionInstance:
    """Return the instance of some of the jobs, all of them present in slot 0."""
    kept = tuple(inst.jobs[j].model_copy(update={"arrival": 0}) for j in jobs)
    return inst.model_copy(update={"jobs": kept, "enforce_horizon": False})


def weight_of(inst: CompletionInstance, tau: int, made: Mapping[int, Piece]) -> float:
    """Return the weight of the jobs that are scheduled, if the feasibility check accepts how.

    Raises
    ------
    RuntimeError
        If a schedule breaks the model, or ends too late.
    """
    schedule = CompletionSchedule(jobs=tuple((piece,) for piece in made.values()))
    verdict = verify(waiting(inst, list(made)), schedule)
    if not verdict.feasible or any(p.start + p.duration > tau for p in made.values()):
        raise RuntimeError(f"a method brought a schedule that breaks the model: {verdict}")
    return math.fsum(inst.jobs[j].weight for j in made)


def best_weight(
    inst: CompletionInstance, tau: int, *, seconds: float = 60.0, threads: int = 1, seed: int = 0
) -> BestWeight:
    """Solve (7), (16): the most weight of jobs that end by ``tau``, all present, servers empty.

    Parameters
    ----------
    inst : CompletionInstance
        Arrivals do not count.
    tau : int
        The deadline.
    seconds : float
        Time limit; the best so far is kept.
    threads, seed : int
        Of CP-SAT.
    """
    everybody = JobTables(inst).modes
    able = [j for j, modes in enumerate(everybody) if bool((modes.duration <= tau).any())]
    part = waiting(inst, able)
    total = math.fsum(job.weight for job in part.jobs)
    if not able:
        return BestWeight(0.0, 0.0, {})
    program = WeightProgram(JobTables(part), tau)
    best: dict[int, Piece] = {}

    def keep(value_of: Callable[[Any], int]) -> None:
        nonlocal best
        pieces = program.schedule(value_of).jobs
        best = {
            able[k]: pieces[k][0] for k, present in enumerate(program.present) if value_of(present)
        }

    solver = cp_solver(time_limit=seconds, threads=threads, seed=seed)
    run_cp(solver, program.model, on_improve=keep)
    claimed = cp_bound(solver)
    bound = total
    if claimed is not None:  # weights were rounded down to multiples of the unit
        slack = 0 if program.unit == 1 else len(able)
        bound = min(total, float(program.unit) * (math.floor(claimed + 1e-6) + slack))
    value = weight_of(inst, tau, best)
    return BestWeight(value, max(value, bound), best)
