"""Pyomo models: solved by HiGHS directly, or by any solver of Pyomo.

Pyomo (Hart et al., 2011) states the papers' programs in `models`; the `compact` methods solve them
as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import StringIO
from threading import Lock
from typing import Any, NamedTuple, Unpack

import numpy as np

from optsched.numbers.arrays import Flags, Floats
from optsched.problem import InputError
from optsched.process.work_units import HANDLED, spend
from optsched.solvers.linear import HighsOptions, MipLimits, MipResult, floats, solve_mip
from optsched.solvers.status import TOLERANCE, Interrupted, Status

# what Pyomo's solvers call a time limit, a relative gap and threads
OPTIONS: dict[str, tuple[str, str, str | None]] = {
    "appsi_highs": ("time_limit", "mip_rel_gap", "threads"),
    "cbc": ("seconds", "ratioGap", "threads"),
    "cplex": ("timelimit", "mip_tolerances_mipgap", "threads"),
    "glpk": ("tmlim", "mipgap", None),
    "gurobi": ("TimeLimit", "MIPGap", "Threads"),
    "scip": ("limits/time", "limits/gap", None),
    "xpress": ("maxtime", "miprelstop", "threads"),
}

WRITING = 100  # numbers that Python handles for a nonzero of a model, from its making to HiGHS


@dataclass(frozen=True)
class PyomoOutcome:
    """Result of :func:`solve_pyomo`, in the model's sense; the values are in the model."""

    status: Status
    objective: float | None
    bound: float | None  # as the solver claims it


class _Silence:
    """The one interception of Pyomo's log, which is there while any thread wants it."""

    lock, users, entered = Lock(), 0, ExitStack()


@contextmanager
def silent_pyomo() -> Iterator[None]:
    """Return a context in which Pyomo prints no ERROR lines next to what it raises.

    Several threads may be in it: a program that is no longer needed is still being written down
    while the next one is.
    """
    from pyomo.common.log import LoggingIntercept

    with _Silence.lock:
        if not _Silence.users:
            _Silence.entered.enter_context(LoggingIntercept(StringIO(), "pyomo"))
        _Silence.users += 1
    try:
        yield
    finally:
        with _Silence.lock:
            _Silence.users -= 1
            if not _Silence.users:
                _Silence.entered.close()


def solve_pyomo(
    model: Any,
    solver: str = "highs",
    *,
    time_limit: float = math.inf,
    effort: float = math.inf,
    gap: float = 0.0,
    threads: int = 1,
    seed: int = 0,
    on_improve: Callable[[float], None] | None = None,
) -> PyomoOutcome:
    """Solve a linear or integer Pyomo model and load the solution into it, if there is one.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
        With one objective.
    solver : str
        "highs" (through :func:`solve_mip`, with its checks), or any solver that Pyomo has.
    time_limit, effort, gap, threads, seed
        As in :func:`solve_mip`, where it is known what a solver calls them (the seed and the
        effort: HiGHS alone).
    on_improve : callable, optional
        Called with the objective whenever a better solution has been loaded into the model (HiGHS).

    Returns
    -------
    PyomoOutcome
        A time limit is no error.

    Raises
    ------
    InputError
        The solver is not available.
    Interrupted
        After Ctrl-C (HiGHS); its ``result`` is a PyomoOutcome.
    """
    if solver == "highs":
        limits = HighsOptions(time_limit=time_limit, gap=gap, threads=threads, seed=seed)
        return solve_written(written(model), on_improve=on_improve, effort=effort, **limits)
    return _pyomo_by_name(model, solver, time_limit, gap, threads)


class Written(NamedTuple):
    """A Pyomo model as arrays, of n variables and m rows: a minimization."""

    variables: list[Any]  # n, of the model
    sign: int  # 1, or -1 where the model is a maximization
    offset: float
    cost: Floats  # (n,)
    rows: Any  # sparse (m, n)
    row_range: tuple[Floats, Floats]  # each (m,)
    range: tuple[Floats, Floats]  # each (n,)
    integer: Flags  # (n,)


def written(model: Any) -> Written:
    """Return a linear or integer Pyomo model as arrays; of a large one that takes seconds."""
    import pyomo.environ as pyo
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=pyo.minimize)
    kind = np.array([bound for _, bound in form.rows], dtype=int)  # 1: <=, -1: >=, 0: =
    rhs, columns = floats(form.rhs), form.columns
    low, high = ([getattr(v, side) for v in columns] for side in ("lb", "ub"))
    return Written(
        variables=columns,
        sign=1 if form.objectives[0].sense == pyo.minimize else -1,
        offset=float(form.c_offset[0]),
        cost=floats(form.c.toarray()[0]),
        rows=form.A,
        row_range=(np.where(kind == 1, -np.inf, rhs), np.where(kind == -1, np.inf, rhs)),
        range=(
            floats([-math.inf if x is None else x for x in low]),
            floats([math.inf if x is None else x for x in high]),
        ),
        integer=np.array([v.is_integer() or v.is_binary() for v in columns], dtype=bool),
    )


def solve_written(
    program: Written,
    *,
    on_improve: Callable[[float], None] | None = None,
    **limits: Unpack[MipLimits],
) -> PyomoOutcome:
    """Solve a model that is written down with HiGHS; as :func:`solve_pyomo`."""
    sign, offset, integer = program.sign, program.offset, program.integer

    def loaded(x: Floats, objective: float) -> float:
        for variable, value, whole in zip(program.variables, x.tolist(), integer, strict=True):
            variable.set_value(round(value) if whole else value, skip_validation=True)
        return sign * (objective + offset) + 0.0  # never -0

    def improved(x: Floats, objective: float) -> None:
        assert on_improve is not None
        on_improve(loaded(x, objective))

    def outcome(found: MipResult) -> PyomoOutcome:
        value = None
        if found.x is not None and found.objective is not None:
            value = loaded(found.x, found.objective)
        bound = None if found.bound is None else sign * (found.bound + offset) + 0.0
        return PyomoOutcome(found.status, value, bound)

    spend(HANDLED * WRITING * program.rows.nnz)
    try:
        found = solve_mip(
            program.cost,
            program.rows,
            *program.row_range,
            *program.range,
            integer,
            on_improve=None if on_improve is None else improved,
            **limits,
        )
    except Interrupted as stopped:
        raise Interrupted(outcome(stopped.result)) from stopped
    return outcome(found)


def _pyomo_by_name(
    model: Any, solver: str, time_limit: float, gap: float, threads: int
) -> PyomoOutcome:
    import pyomo.environ as pyo

    with silent_pyomo():  # the error below states it in one line
        optimizer = pyo.SolverFactory(solver)
    if not optimizer.available(exception_flag=False):
        raise InputError(
            f"solver {solver!r} is not available to Pyomo, expected one that is installed: "
            + ", ".join(["highs", *(s for s in OPTIONS if _installed(s))])
        )
    names = OPTIONS.get(solver.removesuffix("_direct").removesuffix("_persistent"))
    if names is not None:
        values = (None if math.isinf(time_limit) else math.ceil(time_limit), gap, threads)
        known = zip(names, values, strict=True)
        optimizer.options.update({k: v for k, v in known if k is not None and v is not None})
    if "highs" in solver:
        optimizer.options["presolve"] = "off"
    results = optimizer.solve(model, load_solutions=False)
    ended = results.solver.termination_condition
    if ended == pyo.TerminationCondition.infeasible:
        return PyomoOutcome("infeasible", None, None)
    if ended == pyo.TerminationCondition.unbounded:
        return PyomoOutcome("unbounded", None, None)
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    least = objective.sense == pyo.minimize
    limit = results.problem.lower_bound if least else results.problem.upper_bound
    bound = float(limit) if isinstance(limit, int | float) and math.isfinite(limit) else None
    if len(results.solution) == 0:
        return PyomoOutcome("unknown", None, bound)
    model.solutions.load_from(results)
    if not _obeyed(model):
        return PyomoOutcome("unknown", None, bound)
    optimal = ended == pyo.TerminationCondition.optimal
    return PyomoOutcome("optimal" if optimal else "feasible", float(pyo.value(objective)), bound)


def _obeyed(model: Any) -> bool:
    """Whether the values in ``model`` keep its constraints; makes integers whole."""
    import pyomo.environ as pyo

    for v in model.component_data_objects(pyo.Var):
        if v.value is None:
            continue
        if not v.is_continuous():
            if abs(v.value - round(v.value)) > TOLERANCE:
                return False
            v.set_value(round(v.value), skip_validation=True)
        if _outside(v.value, v.lb, v.ub):
            return False
    rows = model.component_data_objects(pyo.Constraint, active=True)
    return not any(_outside(pyo.value(row.body), row.lb, row.ub) for row in rows)


def _outside(x: float, low: float | None, high: float | None) -> bool:
    below = low is not None and x < low - TOLERANCE * max(1.0, abs(low))
    return below or (high is not None and x > high + TOLERANCE * max(1.0, abs(high)))


def _installed(solver: str) -> bool:
    import pyomo.environ as pyo

    return bool(pyo.SolverFactory(solver).available(exception_flag=False))
