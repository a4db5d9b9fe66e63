"""Convex programs: the conic interior-point solver Clarabel, through CVXPY.

Clarabel (Goulart and Chen, 2024) solves what CVXPY (Diamond and Boyd, 2016) reduces to cones. The
conic methods of `bipartite` and `bot` use it; its results are approximations until the family's
checker has evaluated the dual values.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, triu

from optsched.numbers.arrays import Floats
from optsched.process.effort import HANDLED, INTERIOR_ITERATION, spend
from optsched.solvers.common import Status

REDUCING = 20.0  # units in which CVXPY makes a small program one with cones


@dataclass(frozen=True)
class ConvexOutcome:
    """What came out of :func:`solve_cvxpy`: an approximation, never a proof.

    No solution is better than ``value`` by more than ``error``: see :func:`dual_error`.
    """

    status: Status
    value: float | None
    inaccurate: bool
    error: float = math.inf


SMALL_STEPS = {"min_terminate_step_length": 1e-8, "min_switch_step_length": 1e-6}
"""For exponential cones with numbers of very different size, on which Clarabel gives up else."""


def solve_cvxpy(
    problem: Any,
    *,
    time_limit: float = math.inf,
    effort: float = math.inf,
    threads: int = 1,
    stop: Callable[[], bool] | None = None,
) -> ConvexOutcome:
    """Solve a convex program with Clarabel; the values and duals are in ``problem``.

    Where Clarabel does not come to an end with its own settings, it tries again and may take small
    steps, which is slower by far. The value may be off (6e-6 was seen beside the word
    "inaccurate"): nothing may rest on it alone. ``stop`` is asked in every iteration. Where its
    units of ``effort`` are spent, or the clock ends it, the outcome is what was known by then.
    """
    import cvxpy as cp

    began = time.perf_counter()
    reduced = problem.get_problem_data(cp.CLARABEL, solver_opts={})
    size = reduced[0]["A"].nnz + len(reduced[0]["b"])
    each = INTERIOR_ITERATION[0] + INTERIOR_ITERATION[1] * size
    spend(REDUCING + HANDLED * size)
    left, more = time_limit, effort / each
    for steps in ({}, SMALL_STEPS):
        limits = {"time_limit": left, "max_iter": more} | steps
        outcome, iterations = _attempt(problem, reduced, limits, threads, stop)
        spend(iterations * each)
        left, more = time_limit - (time.perf_counter() - began), more - iterations
        ended = left <= 0 or more < 1
        if ended or (outcome.status != "unknown" and not outcome.inaccurate):
            break
    return outcome


def _attempt(
    problem: Any,
    reduced: tuple[Any, Any, Any],
    settings: Mapping[str, float],
    threads: int,
    stop: Callable[[], bool] | None,
) -> tuple[ConvexOutcome, int]:
    """Return what came out, and after how many iterations."""
    import clarabel
    import cvxpy as cp
    from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import dims_to_solver_cones

    chosen = clarabel.DefaultSettings()
    chosen.verbose = False
    chosen.max_threads = threads
    for name, number in settings.items():
        if name == "max_iter":
            chosen.max_iter = int(max(1, min(number, chosen.max_iter)))
        elif math.isfinite(number):
            setattr(chosen, name, number)
    data, chain, inverse = reduced
    size, cones = len(data["c"]), dims_to_solver_cones(data["dims"])  # type: ignore[no-untyped-call]
    quadratic = data["P"] if "P" in data else csc_array((size, size))
    solver = clarabel.DefaultSolver(
        triu(quadratic).tocsc(), data["c"], data["A"], data["b"], cones, chosen
    )
    if stop is not None:
        solver.set_termination_callback(lambda _: stop())
    found = solver.solve()
    if str(found.status) == "CallbackTerminated":
        return ConvexOutcome("unknown", None, True), found.iterations
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "inaccurate": the outcome says so
            problem.unpack_results(found, chain, inverse)
    except cp.SolverError:
        return ConvexOutcome("unknown", None, True), found.iterations
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
    if value is None:
        return ConvexOutcome(status, None, inaccurate), found.iterations
    error = math.inf
    if not quadratic.nnz:
        # the value is that of the variables, which differs from what the cones say
        said = chain.invert(found, inverse).opt_val - value
        better = said if problem.objective.NAME == "maximize" else -said
        error = max(0.0, better + dual_error(data, np.array(found.x), np.array(found.z)))
    return ConvexOutcome(status, float(value), inaccurate, error), found.iterations


def dual_error(data: Mapping[str, Any], x: Floats, z: Floats) -> float:
    """Return how far the optimum of a conic program may be below c x; below 0: it is above.

    The program is min c x with s = b - A x in a cone. Let r = c + A' z, with z in the dual cone,
    where an interior point keeps it. Then any solution y costs c y = r y - b z + z (b - A y), at
    least r y - b z: so much may be missing, where no number of y is further from that of x than
    1 + abs(x). That holds in programs whose variables are shares, or of the size of their optimum.
    """
    rest = data["c"] + data["A"].T @ z
    reach = np.abs(rest) @ (1.0 + np.abs(x))
    return float(data["c"] @ x + data["b"] @ z - rest @ x + reach)
