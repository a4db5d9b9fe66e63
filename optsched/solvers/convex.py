"""Convex programs: CVXPY with Clarabel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from optsched.solvers.common import Status


@dataclass(frozen=True)
class ConvexOutcome:
    """What came out of :func:`solve_cvxpy`: an approximation, never a proof."""

    status: Status
    value: float | None
    inaccurate: bool


def solve_cvxpy(
    problem: Any, *, time_limit: float = math.inf, threads: int = 1, log: bool = False
) -> ConvexOutcome:
    """Solve a convex program with Clarabel; the values and duals are in ``problem``.

    The steps may get small: exponential cones with numbers of very different size need it. The
    value may be off (6e-6 was seen beside the word "inaccurate"): nothing may rest on it alone.
    """
    import cvxpy as cp

    limit = {} if math.isinf(time_limit) else {"time_limit": time_limit}
    try:
        problem.solve(
            solver=cp.CLARABEL,
            verbose=log,
            max_threads=threads,
            min_terminate_step_length=1e-8,
            min_switch_step_length=1e-6,
            **limit,
        )
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
