"""Linear programs (simplex, interior point) and mixed-integer programs (branch and cut): HiGHS.

See Huangfu and Hall (2018) for its dual simplex method. Every solution is checked against the
constraints again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from optsched.numbers.arrays import Flags, Floats
from optsched.process.work_units import INTERIOR_ITERATION, MIP_LOOK, SIMPLEX_ITERATION, spend
from optsched.solvers.status import TOLERANCE, Interrupted, Status, interruptible

if TYPE_CHECKING:
    import highspy

WHOLE = 1e-9  # from a whole number, where TOLERANCE is too much
SMALL_PROGRAM = 1000  # entries; below, "feasibility jump" (10 ms) takes longer than the rest
WILD = 1e9  # ratio of the largest to the smallest coefficient
UNLIMITED = 2**31 - 1  # iterations
EASY = 4  # iterations for a row: hardly a linear program takes more
LARGEST_COST = 10  # bits of the largest coefficient of an objective that HiGHS is given


@dataclass(frozen=True)
class MipResult:
    """Result of :func:`solve_mip`."""

    status: Status
    x: Floats | None  # checked; integers are whole numbers; None: no solution
    objective: float | None
    bound: float | None  # lower bound on the objective, as HiGHS claims it
    seconds: float
    claim: Claim | None = None


class Claim(NamedTuple):
    """Unchecked result of HiGHS for a minimization."""

    solver: str
    status: str
    """In its words, but "Stopped early" where a limit of the work ended the search."""
    value: float | None
    bound: float | None
    x: Floats | None


class HighsOptions(TypedDict, total=False):
    """Limits and options of HiGHS, see :func:`highs`."""

    threads: int
    time_limit: float
    seed: int
    gap: float
    presolve: bool


class MipLimits(HighsOptions, total=False):
    """Further limits of :func:`solve_mip`, see there."""

    effort: float
    stop: Callable[[], bool]


def highs(
    *,
    threads: int = 1,
    time_limit: float = math.inf,
    seed: int = 0,
    mip: bool = False,
    gap: float = 0.0,
    presolve: bool = False,
) -> highspy.Highs:
    """Return HiGHS, configured; give it a program with :func:`load` and start it with :func:`run`.

    Parameters
    ----------
    threads, seed : int
    time_limit : float
        Seconds of each run.
    mip : bool
        Whether the program has integer variables; presolve is then off.
    gap : float
        Relative gap at which an integer program counts as solved.
    presolve : bool
        Turn presolve on also for integer variables.
    """
    import highspy

    highspy.Highs.resetGlobalScheduler(False)  # an earlier run may have used other threads
    h: highspy.Highs = _silent()()
    options: dict[str, Any] = {"threads": threads, "random_seed": seed}
    options |= {"time_limit": time_limit, "mip_rel_gap": gap, "mip_abs_gap": 0.0}
    if mip and not presolve:
        options["presolve"] = "off"
    for name, value in options.items():
        h.setOptionValue(name, value)
    return h


@cache
def _silent() -> Any:
    """Return the class of HiGHS that prints nothing, not even its version at its first use."""
    import highspy

    class Silent(highspy.Highs):
        def enableCallbacks(self) -> None:  # noqa: N802 - called by the constructor, which prints
            self.silent()
            super().enableCallbacks()  # type: ignore[no-untyped-call]

    return Silent


def load(
    h: highspy.Highs,
    c: ArrayLike,
    a: Any,
    row_lower: ArrayLike,
    row_upper: ArrayLike,
    col_lower: ArrayLike,
    col_upper: ArrayLike,
    integrality: ArrayLike | None = None,
) -> None:
    """Hand HiGHS the program min c x, row_lower <= a x <= row_upper, col_lower <= x <= col_upper.

    Parameters
    ----------
    h : highspy.Highs
    c, col_lower, col_upper : array of shape (n,)
    a : scipy sparse matrix or dense array of shape (m, n)
    row_lower, row_upper : array of shape (m,)
    integrality : array of bool, shape (n,), optional
        Which variables are integer.

    Raises
    ------
    ValueError
        A number is NaN, or HiGHS does not accept the program.
    """
    import highspy
    from scipy.sparse import csc_array

    matrix = csc_array(a)
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = map(floats, (c, col_lower, col_upper))
    lp.row_lower_, lp.row_upper_ = floats(row_lower), floats(row_upper)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
    lp.a_matrix_.value_ = floats(matrix.data)
    if integrality is not None and np.any(integrality):
        kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
        lp.integrality_ = [kinds[bool(k)] for k in np.asarray(integrality)]
    numbers = lp.col_cost_, lp.col_lower_, lp.col_upper_, lp.row_lower_, lp.row_upper_, matrix.data
    if any(np.isnan(x).any() for x in numbers):
        raise ValueError("the program holds NaN, expected numbers")  # HiGHS would take it
    if h.passModel(lp) == highspy.HighsStatus.kError:
        raise ValueError("HiGHS does not accept the program: a bound or a shape is not valid")


def run(
    h: highspy.Highs,
    *,
    on_improve: Callable[[Floats], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
    effort: float = math.inf,
) -> bool:
    """Run HiGHS so that Ctrl-C stops it: KeyboardInterrupt is raised once it has stopped.

    What it does is counted. An integer program ends a little after its effort is spent: HiGHS is
    called between linear programs only. Where the first of these may take all of the effort, it is
    tried alone before.

    Parameters
    ----------
    h : highspy.Highs
    on_improve : callable, optional
        Called (in the caller's thread) with every better solution of an integer program, unchecked.
    stop : callable
        Called repeatedly (in another thread) whether to stop.
    effort : float
        Units after which it stops.

    Returns
    -------
    bool
        False if an integer program was not even begun: HiGHS has no result of it.

    Raises
    ------
    ValueError
        The program is a maximization.
    """
    import highspy

    if h.getObjectiveSense()[1] == highspy.ObjSense.kMaximize:
        raise ValueError("the program is a maximization, expected a minimization of the negative")
    cancelled = Event()
    looks, most = 0, math.inf
    if math.isfinite(effort):
        begins, effort = _first_program(h, effort)
        if not begins:
            return False
        most = _limited(h, effort)

    def look(event: Any) -> None:
        if cancelled.is_set() or stop():
            event.interrupt()

    def look_at_program(event: Any) -> None:
        nonlocal looks
        looks += 1
        if cancelled.is_set() or stop() or looks > most:
            event.interrupt()

    def work(report: Callable[[Any], None]) -> None:
        if on_improve is not None:
            h.cbMipImprovingSolution.subscribe(lambda e: report(np.array(e.data_out.mip_solution)))
        h.run()
        highspy.Highs.resetGlobalScheduler(False)  # the next run may request other threads

    breaks = (h.cbSimplexInterrupt, h.cbIpmInterrupt)
    for callback in breaks:
        callback.subscribe(look)
    h.cbMipInterrupt.subscribe(look_at_program)
    try:
        interruptible(work, cancelled.set, on_improve)
    finally:
        for callback in (*breaks, h.cbMipInterrupt, h.cbMipImprovingSolution):
            callback.clear()  # type: ignore[no-untyped-call]
        spend(looks * _price(h, MIP_LOOK) if looks else _linear(h))
    return True


def rerun(h: highspy.Highs) -> bool:
    """Run HiGHS on a linear program that is small or warm, for which Ctrl-C can wait; count it.

    It returns True: it has begun, as `run` states.
    """
    h.run()
    spend(_linear(h))
    return True


def _price(h: highspy.Highs, each: tuple[float, float]) -> float:
    """Return the cost of a step on the program: for itself, and for every nonzero."""
    return each[0] + each[1] * int(h.getNumNz())


def _linear(h: highspy.Highs) -> float:
    """Return the units that the last linear program has taken."""
    info = h.getInfo()
    vertices = max(0, int(info.simplex_iteration_count))
    vertices += max(0, int(info.crossover_iteration_count))
    inside = max(0, int(info.ipm_iteration_count))
    return vertices * _price(h, SIMPLEX_ITERATION) + inside * _price(h, INTERIOR_ITERATION)


def _limited(h: highspy.Highs, effort: float) -> float:
    """Limit the iterations of a linear program; return how often an integer one may be solved."""
    if not h.getLp().integrality_:
        for option, each in (
            ("simplex_iteration_limit", SIMPLEX_ITERATION),
            ("ipm_iteration_limit", INTERIOR_ITERATION),
        ):
            h.setOptionValue(option, _iterations(h, effort, each))
    return effort / _price(h, MIP_LOOK)


def _iterations(h: highspy.Highs, effort: float, each: tuple[float, float]) -> int:
    return min(UNLIMITED, max(1, int(effort / _price(h, each))))


def _first_program(h: highspy.Highs, effort: float) -> tuple[bool, float]:
    """Return whether the first linear program of an integer one ends in time, and what is left.

    Inside an integer program nothing would stop it.
    """
    import highspy

    if not h.getLp().integrality_ or effort > EASY * h.getNumRow() * _price(h, SIMPLEX_ITERATION):
        return True, effort
    for option, value in (
        ("solve_relaxation", True),
        ("simplex_iteration_limit", _iterations(h, effort, SIMPLEX_ITERATION)),
    ):
        h.setOptionValue(option, value)
    rerun(h)
    h.setOptionValue("solve_relaxation", False)
    h.setOptionValue("simplex_iteration_limit", UNLIMITED)
    ended = h.getModelStatus() != highspy.HighsModelStatus.kIterationLimit
    return ended, max(0.0, effort - _linear(h))


def row_duals(h: highspy.Highs) -> Floats:
    """Return the duals of the rows of a solved minimization, shape (m,).

    A row with only a lower bound has a dual >= 0, one with only an upper bound a dual <= 0 (so the
    price of a capacity row is its negative); what is on the other side of 0 is cut off.
    """
    import highspy

    if h.getObjectiveSense()[1] == highspy.ObjSense.kMaximize:
        raise ValueError("the program is a maximization: the signs of its duals cannot be trusted")
    lp = h.getLp()
    duals = floats(h.getSolution().row_dual)
    least = np.where(np.isfinite(lp.row_upper_), -np.inf, 0.0)
    most = np.where(np.isfinite(lp.row_lower_), np.inf, 0.0)
    return np.clip(duals, least, most)


def lp_status(h: highspy.Highs) -> Status:
    """Return how the last linear program has ended; "optimal" is HiGHS's claim."""
    from highspy import HighsModelStatus as S

    names: dict[Any, Status] = {
        S.kOptimal: "optimal",
        S.kModelEmpty: "optimal",
        S.kInfeasible: "infeasible",
        S.kUnbounded: "unbounded",
    }
    return names.get(h.getModelStatus(), "unknown")


def ray(h: highspy.Highs, *, primal: bool = False) -> Floats | None:
    """Return a ray of the last linear program, None if HiGHS has none.

    By default weights of the rows that show that nothing is feasible, of either sign; of an
    unbounded program, with ``primal``, a direction of the columns.
    """
    if lp_status(h) != ("unbounded" if primal else "infeasible"):
        return None  # HiGHS would solve the program to find one, and nothing would stop it
    known: Any = h  # its types know nothing of rays
    _, there, found = known.getPrimalRay() if primal else known.getDualRay()
    return floats(found) if there else None


class NamedProgram(NamedTuple):
    """A linear program with names, as in a file."""

    maximize: bool
    offset: float
    columns: list[tuple[str, float, float, float, bool]]
    """Name, cost, lower and upper bound, whether it is integer."""
    rows: list[tuple[str, float, float, list[tuple[int, float]]]]
    """Name, limits, columns and coefficients."""


def read_program(path: Path) -> NamedProgram:
    """Read an MPS or LP file by HiGHS.

    Raises
    ------
    ValueError
        HiGHS cannot read it, or it is no linear program.
    """
    import highspy

    h = highs()
    if h.readModel(str(path)) == highspy.HighsStatus.kError:
        raise ValueError("HiGHS cannot read it, expected an MPS or LP file (.mps, .lp)")
    lp = h.getLp()
    assert lp.a_matrix_.format_ == highspy.MatrixFormat.kColwise
    kinds = lp.integrality_ or [highspy.HighsVarType.kContinuous] * lp.num_col_
    if len(lp.col_names_) < lp.num_col_ or len(lp.row_names_) < lp.num_row_:
        raise ValueError("a variable or a constraint has no name, or two have the same")
    return NamedProgram(
        h.getObjectiveSense()[1] == highspy.ObjSense.kMaximize,
        float(lp.offset_),
        [
            (str(name), float(c), float(low), float(high), kind == highspy.HighsVarType.kInteger)
            for name, c, low, high, kind in zip(
                lp.col_names_, lp.col_cost_, lp.col_lower_, lp.col_upper_, kinds, strict=True
            )
        ],
        [
            (str(name), float(low), float(high), entries)
            for name, low, high, entries in zip(
                lp.row_names_, lp.row_lower_, lp.row_upper_, _row_entries(lp), strict=True
            )
        ],
    )


def _row_entries(lp: Any) -> list[list[tuple[int, float]]]:
    from scipy.sparse import csc_array

    matrix = lp.a_matrix_
    parts = (np.array(matrix.value_), np.array(matrix.index_), np.array(matrix.start_))
    made = csc_array(parts, shape=(lp.num_row_, lp.num_col_)).tocsr()
    ends = made.indptr.tolist()
    places, values = made.indices.tolist(), made.data.tolist()
    return [list(zip(places[a:b], values[a:b], strict=True)) for a, b in pairwise(ends)]


def solve_mip(
    c: ArrayLike,
    a: Any,
    row_lower: ArrayLike,
    row_upper: ArrayLike,
    col_lower: ArrayLike,
    col_upper: ArrayLike,
    integrality: ArrayLike,
    *,
    start: ArrayLike | None = None,
    on_improve: Callable[[Floats, float], None] | None = None,
    **limits: Unpack[MipLimits],
) -> MipResult:
    """Minimize c x over an integer (or linear) program with HiGHS.

    Parameters
    ----------
    c, a, row_lower, row_upper, col_lower, col_upper, integrality
        As in :func:`load`.
    start : array of shape (n,), optional
        A solution to begin with.
    on_improve : callable, optional
        Called with every better solution and its objective, once it has passed the check.
    **limits
        As in :func:`highs`, and ``stop`` and ``effort`` as in :func:`run`. Where they stop it, the
        best so far is returned.

    Returns
    -------
    MipResult

    Raises
    ------
    Interrupted
        After Ctrl-C; its ``result`` is the best so far.
    """
    import highspy

    began = time.perf_counter()
    cost, integer = floats(c), np.asarray(integrality).astype(bool)
    rows, columns = (
        (floats(row_lower), floats(row_upper)),
        (floats(col_lower), floats(col_upper)),
    )
    mip = bool(integer.any())
    effort, stop = limits.pop("effort", math.inf), limits.pop("stop", lambda: False)
    h = highs(mip=mip, **cast("HighsOptions", limits))
    scale = power_of_two(cost)
    load(h, cost / scale, a, *rows, *columns, integer)
    sizes = np.abs(floats(h.getLp().a_matrix_.value_))
    wild = sizes.max(initial=0.0) > WILD * sizes.min(initial=math.inf)  # HiGHS may crash without it
    if (
        sizes.size < SMALL_PROGRAM and not wild and not limits.get("gap")
    ):  # with a gap: many answers
        h.setOptionValue("mip_heuristic_run_feasibility_jump", False)
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = floats(start).tolist()
        h.setSolution(solution)
    if math.isfinite(limits.get("time_limit", math.inf)):  # a large program takes long to hand over
        used = time.perf_counter() - began
        h.setOptionValue("time_limit", max(0.0, limits["time_limit"] - used))

    def checked(x: Floats) -> Floats | None:
        return _checked(x, a, *rows, *columns, integer)

    def improved(x: Floats) -> None:
        good = checked(x)
        if good is not None and on_improve is not None:
            on_improve(good, float(cost @ good))

    def result(begun: bool = True) -> MipResult:
        if not begun:
            return MipResult("unknown", None, None, None, time.perf_counter() - began)
        solution, info = h.getSolution(), h.getInfo()
        there = solution.value_valid or cost.size == 0
        x = checked(floats(solution.col_value)) if there else None
        objective = None if x is None else float(cost @ x)
        status = _status(h.getModelStatus(), x)
        bound = objective if status == "optimal" else None  # of a linear program
        if mip:
            dual_bound = info.mip_dual_bound * scale
            bound = dual_bound if math.isfinite(dual_bound) else None
        return MipResult(status, x, objective, bound, time.perf_counter() - began, claim)

    def strayed() -> bool:
        optimal = h.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return optimal and mip and checked(floats(h.getSolution().col_value)) is None

    report = None if on_improve is None else improved
    claim = None
    try:
        small = not mip and h.getNumNz() < SMALL_PROGRAM and math.isinf(effort)
        begun = rerun(h) if small else run(h, on_improve=report, stop=stop, effort=effort)
        claim = claim_of(h, scale)
        if begun and strayed():  # it takes 0.999999 for 1, on which more may hang than is allowed
            left = max(0.0, limits.get("time_limit", math.inf) - (time.perf_counter() - began))
            h.clearSolver()
            h.setOptionValue("time_limit", h.getRunTime() + left)
            h.setOptionValue("mip_feasibility_tolerance", WHOLE)
            run(h, on_improve=report, stop=stop, effort=effort)
    except KeyboardInterrupt as err:
        raise Interrupted(result()) from err
    return result(begun)


def claim_of(h: highspy.Highs, scale: float) -> Claim:
    """Return what HiGHS states of the program that was run last, with its costs times ``scale``."""
    info, solution = h.getInfo(), h.getSolution()
    status = str(h.modelStatusToString(h.getModelStatus()))
    if status == "Interrupted by user":  # it may have been a limit of the work
        status = "Stopped early"
    value, bound = info.objective_function_value, info.mip_dual_bound
    if not h.getLp().integrality_:
        bound = value if status == "Optimal" else math.inf
    there = solution.value_valid and math.isfinite(value)
    return Claim(
        f"HiGHS {h.version()}",
        status,
        value * scale if there else None,
        bound * scale if math.isfinite(bound) and status != "Infeasible" else None,
        floats(solution.col_value) if there else None,
    )


def power_of_two(cost: Floats) -> float:
    """Return what to divide an objective by: HiGHS's tolerances are absolute.

    Of a power of two, quotients are exact. The largest coefficient becomes a number from 512 to
    1024, or stays 0.

    >>> power_of_two(np.array([-3e-9, 1e-9])), power_of_two(np.zeros(2))
    (3.637978807091713e-12, 1.0)
    """
    largest = float(np.abs(cost[np.isfinite(cost)]).max(initial=0.0))
    if largest == 0.0:
        return 1.0
    exponent = max(math.frexp(largest)[1] - LARGEST_COST, -1021)  # a float's least exponent
    return math.ldexp(1.0, exponent)


def _status(model_status: Any, x: Floats | None) -> Status:
    from highspy import HighsModelStatus as S

    if model_status == S.kInfeasible:
        return "infeasible"
    if model_status in (S.kUnbounded, S.kUnboundedOrInfeasible):
        return "unbounded" if model_status == S.kUnbounded else "unknown"
    if x is None:
        return "unknown"
    return "optimal" if model_status in (S.kOptimal, S.kModelEmpty) else "feasible"


def _checked(
    x: Floats,
    a: Any,
    row_lower: Floats,
    row_upper: Floats,
    col_lower: Floats,
    col_upper: Floats,
    integer: Flags,
) -> Floats | None:
    """Return ``x`` with whole numbers where they are due, or None if it breaks a constraint."""
    whole = np.where(integer, np.rint(x), x)
    close = np.abs(whole - x).max(initial=0.0) <= TOLERANCE
    inside = _within(whole, col_lower, col_upper) and _within(a @ whole, row_lower, row_upper)
    return whole if close and inside else None


def _within(x: Floats, lower: Floats, upper: Floats) -> bool:
    def reach(limit: Floats) -> Floats:
        return TOLERANCE * np.maximum(1.0, np.where(np.isfinite(limit), np.abs(limit), 1.0))

    return bool(np.all(x >= lower - reach(lower)) and np.all(x <= upper + reach(upper)))


def floats(x: Any) -> Floats:
    """Return ``x`` as the solvers expect it: contiguous doubles."""
    return np.ascontiguousarray(x, dtype=np.float64)
