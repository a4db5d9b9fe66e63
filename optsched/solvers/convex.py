"""Convex programs: the conic interior-point solver Clarabel, through CVXPY.

Clarabel (Goulart and Chen, 2024) solves what CVXPY (Diamond and Boyd, 2016) reduces to cones. The
conic methods of `bipartite` and `bot` use it; its results are approximations until the family's
checker has evaluated the dual values.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import block_diag, csc_array, csr_array, diags_array, eye_array, triu, vstack

from optsched.numbers.arrays import Floats
from optsched.process.work_units import HANDLED, INTERIOR_ITERATION, spend
from optsched.solvers.status import Status

REDUCING = 20.0  # units in which CVXPY makes a small program one with cones


@dataclass(frozen=True)
class ConvexOutcome:
    """Result of :func:`solve_cvxpy`: an approximation, never a proof.

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
    steps, which is slower by far. The value may be off (6e-6 was seen next to the word
    "inaccurate"): nothing may rest on it alone. ``stop`` is called in every iteration. Where its
    units of ``effort`` are spent, or the clock ends it, the outcome is the results so far.
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
            warnings.simplefilter("ignore", UserWarning)  # "inaccurate": the outcome states it
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
        # the value is that of the variables, which differs from what the cones state
        claimed = chain.invert(found, inverse).opt_val - value
        better = claimed if problem.objective.NAME == "maximize" else -claimed
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


class Conic(NamedTuple):
    """Result of :func:`solve_cones`: an approximation, never a proof."""

    status: Status
    x: Floats | None
    y: Floats | None  # multipliers of the rows: c - A'y - sum F'z is near 0 but for the bounds
    z: list[Floats]  # and of the cones


FRAMES = 4  # solutions of a program, each in the units of the one before
NEAR = 16.0  # by which factor units may be off
STEEP = 200.0  # largest exponent of a unit of an exponential cone
TINY = 1e-9  # a member of an exponential cone that is taken for 0


def solve_cones(
    cost: Floats,
    rows: Any,
    limits: tuple[Floats, Floats],
    bounds: tuple[Floats, Floats],
    cones: Sequence[tuple[str, Any, Floats]],
    *,
    tolerance: float = 1e-10,
    time_limit: float = math.inf,
    stop: Callable[[], bool] | None = None,
) -> Conic:
    """Minimize a linear objective with linear and conic constraints, by Clarabel.

    Its tolerances are absolute, so variables and cones are scaled by automorphisms of the cones, as
    in Nesterov and Todd (1997), that bring the last solution near 1. The program is solved again
    until the units fit.

    Parameters
    ----------
    cost, rows, limits, bounds
        As in :func:`optsched.solvers.load`: limits of rows, bounds of variables.
    cones : sequence of (str, sparse array, array)
        "second-order" or "exponential", F and f: F x + f is in the cone.
    tolerance : float
        Of the gap, and of feasibility.
    time_limit : float
        Seconds.
    stop : callable, optional
        Called in every iteration.
    """
    import clarabel

    program = _Program(cost, rows, limits, bounds, cones)
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    end = time.perf_counter() + time_limit
    found: Conic | None = None
    x, before = np.clip(0.0, *bounds), None
    for _ in range(FRAMES):
        units = _power(np.abs(x))
        frames = [_frame(kind, matrix, constant, x) for kind, matrix, constant in cones]
        heads = [(f[0, 0] + f[0, 1], f[0, 0] - f[0, 1], f[-1, -1]) for f in frames]
        now = np.log(np.maximum(np.abs([*units, *chain(*heads)]), sys.float_info.min))
        if before is not None and np.all(np.abs(now - before) < math.log(NEAR)):
            break
        before = now
        left = end - time.perf_counter()
        if math.isfinite(left):
            settings.time_limit = max(0.0, left)
        made, x = _in_frames(program, units, frames, settings, stop)
        if found is None or made.x is not None:
            found = made
        if not np.all(np.isfinite(x)) or (stop is not None and stop()) or left <= 0:
            break
    assert found is not None
    return found


def _frame(kind: str, matrix: Any, constant: Floats, x: Floats) -> Any:
    """Return an automorphism of a cone that brings its member at ``x`` near 1, as a sparse array.

    Exponential cones, y exp(x / y) <= z, are closed under shifts of x by a multiple of y, if z is
    multiplied to match; second-order cones under changes of the ratio of sum and difference of two
    members, which bound the squares of the others where these two are a rotated cone.
    """
    member = matrix @ x + constant
    first, unit = np.eye(min(3, len(constant))), _power(abs(member[0]))
    if kind == "exponential":
        shift, unit = 0.0, 1.0
        if member[1] > TINY and member[2] > TINY:
            unit = 2.0 ** round(math.log2(member[1]))
            shift = float(np.clip(math.log(member[1] / member[2]), -STEEP, STEEP))
        first[0, 1], first[2, 2] = shift, math.exp(shift)
        return csr_array(first / unit)
    if len(constant) > 2 and _rotated(matrix):
        rest = float(member[2:] @ member[2:])
        high, low = (max(float(member[0] + sign * member[1]), 1.0) for sign in (1, -1))
        high, low = max(high, rest / low), max(low, rest / high)
        tilt, unit = 2.0 ** round(math.log2(low / high) / 2), _power(math.sqrt(high * low))
        first[0, :2] = (tilt + 1 / tilt) / 2, (tilt - 1 / tilt) / 2
        first[1, :2] = first[0, 1::-1]
    return csr_array(block_diag((first, eye_array(len(constant) - len(first)))) / unit)


def _rotated(matrix: Any) -> bool:
    """Whether the first two members of a cone cancel in their sum or difference."""
    a, b = matrix[[0]], matrix[[1]]
    return any(csr_array(a + sign * b).count_nonzero() < a.nnz for sign in (1, -1))


def _power(x: Any) -> Any:
    """Return the nearest powers of two, at least 1."""
    return 2.0 ** np.rint(np.log2(np.maximum(1.0, x)))


class _Program(NamedTuple):
    """A program with cones, as :func:`solve_cones` takes it."""

    cost: Floats
    rows: Any
    limits: tuple[Floats, Floats]
    bounds: tuple[Floats, Floats]
    cones: Sequence[tuple[str, Any, Floats]]


def _in_frames(
    program: _Program,
    units: Floats,
    frames: Sequence[Any],
    settings: Any,
    stop: Callable[[], bool] | None,
) -> tuple[Conic, Floats]:
    """Solve once, with variables in some units and cones in frames; return also the last point."""
    import clarabel

    cost, rows, limits, bounds, cones = program
    size = len(cost)
    equal = limits[0] == limits[1]
    above, below = (np.isfinite(side) & ~equal for side in (limits[1], limits[0]))
    tall, deep = (np.isfinite(side) for side in (bounds[1], bounds[0]))
    scaled = diags_array(units, format="csr")
    one = eye_array(size, format="csr")
    each = np.ones(rows.shape[0])
    if len(each):
        each = _power(abs(rows @ scaled).max(axis=1).toarray().ravel())
    rows = csr_array(diags_array(1 / each) @ rows @ scaled)
    blocks = [rows[equal], rows[above], -rows[below], one[tall], -one[deep]]
    low, high = limits[0] / each, limits[1] / each
    sides = [low[equal], high[above], -low[below], (bounds[1] / units)[tall]]
    sides += [-(bounds[0] / units)[deep]]
    simple = sum(block.shape[0] for block in blocks[1:])
    shapes = [clarabel.ZeroConeT(int(equal.sum())), clarabel.NonnegativeConeT(simple)]
    for (kind, matrix, constant), frame in zip(cones, frames, strict=True):
        second = kind == "second-order"
        shapes.append(
            clarabel.SecondOrderConeT(len(constant)) if second else clarabel.ExponentialConeT()
        )
        blocks.append(-frame @ matrix @ scaled)
        sides.append(frame @ constant)
    whole = csc_array(vstack(blocks, format="csc"))
    empty = csc_array((size, size))
    costs = cost * units
    objective_unit = 2.0 ** round(math.log2(np.abs(costs).max())) if np.any(costs) else 1.0
    solver = clarabel.DefaultSolver(
        empty, costs / objective_unit, whole, np.concatenate(sides), shapes, settings
    )
    if stop is not None:
        solver.set_termination_callback(lambda _: stop())
    found = solver.solve()
    spend(HANDLED * whole.nnz + found.iterations * INTERIOR_ITERATION[1] * whole.nnz)
    known: dict[str, Status] = {
        "Solved": "optimal",
        "AlmostSolved": "optimal",
        "PrimalInfeasible": "infeasible",
        "DualInfeasible": "unbounded",
        "InsufficientProgress": "feasible",
        "MaxTime": "feasible",
        "MaxIterations": "feasible",
    }
    status = known.get(str(found.status), "unknown")
    x = np.array(found.x) * units
    if status not in ("optimal", "feasible") or not np.all(np.isfinite(x)):
        return Conic(status, None, None, []), x
    z = np.split(objective_unit * np.array(found.z), np.cumsum([len(side) for side in sides])[:-1])
    y = np.zeros(len(limits[0]))
    y[equal] -= z[0]
    y[above] -= z[1]
    y[below] += z[2]
    duals = [frame.T @ part for frame, part in zip(frames, z[5:], strict=True)]
    return Conic(status, x, y / each, duals), x
