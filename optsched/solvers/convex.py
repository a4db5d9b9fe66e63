"""Convex programs: CVXPY with Clarabel."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optsched.solvers.common import Status


@dataclass(frozen=True)
class ConvexOutcome:
    """What came out of :func:`solve_cvxpy`: an approximation, never a proof."""

    status: Status
    value: float | None
    inaccurate: bool


SMALL_STEPS = {"min_terminate_step_length": 1e-8, "min_switch_step_length": 1e-6}
"""For exponential cones with numbers of very different size, on which Clarabel gives up else."""


def solve_cvxpy(
    problem: Any, *, time_limit: float = math.inf, threads: int = 1, log: bool = False
) -> ConvexOutcome:
    """Solve a convex program with Clarabel; the values and duals are in ``problem``.

    Where Clarabel does not come to an end with its own settings, it tries again and may take small
    steps, which is slower by far. The value may be off (6e-6 was seen beside the word
    "inaccurate"): nothing may rest on it alone.
    """
    began = time.perf_counter()
    outcome = _attempt(problem, {}, time_limit, threads, log)
    left = time_limit - (time.perf_counter() - began)
    if left <= 0 or (outcome.status != "unknown" and not outcome.inaccurate):
        return outcome
    return _attempt(problem, SMALL_STEPS, left, threads, log)


def _attempt(
    problem: Any, settings: Mapping[str, float], time_limit: float, threads: int, log: bool
) -> ConvexOutcome:
    import cvxpy as cp

    limit = {} if math.isinf(time_limit) else {"time_limit": time_limit}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "inaccurate": the outcome says so
            problem.solve(solver=cp.CLARABEL, verbose=log, max_threads=threads, **settings, **limit)
    except cp.SolverError:
        return ConvexOutcome("unknown", None, True)
    word = str(problem.status)
    known: dict[str, Status] = {
        "optimal": "optimal",
        "infeasible": "infeasible",
        "unbounded": "unbounded",
        "user_limit": "feasible",
    }
    inaccurate = word.endswith("_inaccurate") or word == "user_limit"
    status = known.get(word.removesuffix("_inaccurate"), "unknown")
    value = problem.value if status in ("optimal", "feasible") else None
    return ConvexOutcome(status, None if value is None else float(value), inaccurate)
