"""Constraint programming with CP-SAT.

CP-SAT (Perron et al., 2023) combines lazy clause generation (Ohrimenko et al., 2009) with linear
relaxations. The families' `cpsat` methods use it, independently of the integer programs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from optsched.process.work_units import DETERMINISTIC_SECOND, HANDLED, spend
from optsched.solvers.status import Status, interruptible

WRITING = 500  # numbers that Python handles for a constraint, from its making to CP-SAT


def cp_program() -> Any:
    """Return an empty CP-SAT model."""
    from ortools.sat.python import cp_model

    return cp_model.CpModel()


def cp_domain(values: Sequence[int]) -> Any:
    """Return the domain of an integer that may be any of ``values``."""
    from ortools.sat.python import cp_model

    if isinstance(values, range) and values.step == 1 and len(values):
        return cp_model.Domain(values.start, values.stop - 1)
    return cp_model.Domain.from_values([int(x) for x in values])


def cp_solver(
    *,
    time_limit: float = math.inf,
    effort: float = math.inf,
    threads: int = 1,
    seed: int = 0,
    gap: float = 0.0,
    small: bool = False,
) -> Any:
    """Return OR-Tools' CP-SAT, configured; start it with :func:`run_cp`.

    With one thread and no time limit it is deterministic, also where ``effort`` ends it, which are
    units. ``gap`` is relative to the objective. A ``small`` program is searched as it is: presolve
    and linear relaxations would take longer than they save.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = threads
    solver.parameters.random_seed = seed
    solver.parameters.relative_gap_limit = gap
    if small:
        solver.parameters.cp_model_presolve = False
        solver.parameters.linearization_level = 0
    solver.parameters.presolve_inclusion_work_limit = 0  # 9.15: wrong optima (or-tools#5293)
    solver.parameters.catch_sigint_signal = False  # Ctrl-C is Python's: see run_cp
    if math.isfinite(time_limit):
        solver.parameters.max_time_in_seconds = time_limit
    if math.isfinite(effort):
        solver.parameters.max_deterministic_time = max(1e-9, effort / DETERMINISTIC_SECOND)
    return solver


def run_cp(
    solver: Any, model: Any, *, on_improve: Callable[[Callable[[Any], int]], None] | None = None
) -> Status:
    """Solve ``model`` so that Ctrl-C stops it: KeyboardInterrupt is raised once it has stopped.

    Parameters
    ----------
    solver : ortools.sat.python.cp_model.CpSolver
        From :func:`cp_solver`.
    model : ortools.sat.python.cp_model.CpModel
    on_improve : callable, optional
        Called (in the caller's thread) with every better solution: a function that gives the value
        of a variable.
    """
    from ortools.sat.python import cp_model

    class Watcher(cp_model.CpSolverSolutionCallback):
        def __init__(self, report: Callable[[Any], None]) -> None:
            super().__init__()
            self.report = report

        def on_solution_callback(self) -> None:
            values = list(self.response_proto.solution)
            self.report(lambda variable: values[variable.index])

    def work(report: Callable[[Any], None]) -> None:
        status.append(solver.solve(model, Watcher(report) if on_improve is not None else None))

    status: list[Any] = []
    try:
        interruptible(work, solver.stop_search, on_improve)
    finally:
        if status:
            spend(HANDLED * WRITING * len(model.proto.constraints))
            spend(DETERMINISTIC_SECOND * solver.response_proto.deterministic_time)
    names: dict[Any, Status] = {
        cp_model.OPTIMAL: "optimal",
        cp_model.FEASIBLE: "feasible",
        cp_model.INFEASIBLE: "infeasible",
    }
    if status[0] == cp_model.MODEL_INVALID:
        raise ValueError(f"CP-SAT does not accept the model: {model.validate()}")
    return names.get(status[0], "unknown")


def cp_bound(solver: Any) -> float | None:
    """Return CP-SAT's bound on the objective; None without one.

    Stopped before it begins to search, CP-SAT returns 0, which has no meaning.
    """
    from ortools.sat.python import cp_model

    try:
        response = solver.response_proto
    except RuntimeError:  # it has not run at all
        return None
    if response.status == cp_model.UNKNOWN and response.best_objective_bound == 0:
        return None
    return float(response.best_objective_bound)
