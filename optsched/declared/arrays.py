"""A declared problem as arrays, as solvers take them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack

from optsched.declared.model import Declared
from optsched.numbers.arrays import Floats
from optsched.solvers import highs, load, lp_status, rerun, row_duals, solve_mip
from optsched.solvers.linear import power_of_two

TIGHT = 1e-10  # feasibility of a linear program that is to be exact
FALLING = 1e-7  # relative to the largest cost: an objective that falls along a direction


class Arrays(NamedTuple):
    """A minimization as HiGHS takes it."""

    cost: Floats
    rows: Any
    low: Floats
    high: Floats
    lower: Floats
    upper: Floats
    integer: Any


def arrays(inst: Declared) -> Arrays:
    """Return the program as arrays."""
    sign = 1.0 if inst.sense == "min" else -1.0
    starts = np.cumsum([0, *(len(r.entries) for r in inst.rows)])
    entries = [entry for r in inst.rows for entry in r.entries]
    data = np.array([a for _, a in entries], dtype=float)
    places = np.array([j for j, _ in entries], dtype=np.int64)
    shape = (len(inst.rows), len(inst.columns))
    return Arrays(
        sign * np.array([c.cost for c in inst.columns], dtype=float),
        csr_array((data, places, starts), shape=shape),
        np.array([r.lower for r in inst.rows], dtype=float),
        np.array([r.upper for r in inst.rows], dtype=float),
        np.array([c.lower for c in inst.columns], dtype=float),
        np.array([c.upper for c in inst.columns], dtype=float),
        np.array([c.integer for c in inst.columns], dtype=bool),
    )


def inwards(lower: Floats, upper: Floats, integer: Any) -> tuple[Floats, Floats]:
    """Return bounds, those of integer columns rounded: a solver takes 0.9999999 for 1."""
    return np.where(integer, np.ceil(lower), lower), np.where(integer, np.floor(upper), upper)


def polish(a: Arrays, x: Floats) -> Floats | None:
    """Keep the integer variables, and solve for the others again, as exactly as HiGHS can.

    A solver takes 0.999999 for 1, and what a continuous variable may be depends on that.

    Parameters
    ----------
    a : Arrays
    x : array
        A solution whose integer variables are integers.

    Returns
    -------
    array or None
        The solution within the bounds of the variables; None: there is none.
    """
    h = highs()
    h.setOptionValue("primal_feasibility_tolerance", TIGHT)
    h.setOptionValue("presolve", "off")
    lower, upper = (np.where(a.integer, x, side) for side in (a.lower, a.upper))
    load(h, a.cost / power_of_two(a.cost), a.rows, a.low, a.high, lower, upper)
    rerun(h)
    if lp_status(h) != "optimal":
        return None
    exact: Floats = np.clip(np.array(h.getSolution().col_value, dtype=float), lower, upper)
    return exact


def nearest_feasible(a: Arrays, x: Floats) -> Floats | None:
    """Return a solution of the rows with the least sum of distances from ``x``, of shape (n,).

    An interior-point method breaks rows by a little more than the feasibility check permits. Costs
    and integrality are ignored. None: there is none.
    """
    n = x.size
    apart = hstack([eye_array(n), -eye_array(n), eye_array(n)])
    rows = vstack([hstack([a.rows, csr_array((a.low.size, 2 * n))]), apart])
    none, far = np.zeros(2 * n), np.full(2 * n, math.inf)
    found = polish(
        Arrays(
            np.concatenate([np.zeros(n), np.ones(2 * n)]),
            csr_array(rows),
            np.concatenate([a.low, x]),
            np.concatenate([a.high, x]),
            np.concatenate([a.lower, none]),
            np.concatenate([a.upper, far]),
            np.zeros(3 * n, dtype=bool),
        ),
        np.concatenate([x, none]),
    )
    return None if found is None else found[:n]


def duals(a: Arrays) -> Floats | None:
    """Return the duals of the rows of the LP relaxation; None: it has no optimum."""
    h, scale = highs(), power_of_two(a.cost)
    load(h, a.cost / scale, a.rows, a.low, a.high, a.lower, a.upper)
    rerun(h)
    return row_duals(h) * scale if lp_status(h) == "optimal" else None


def free_column(a: Arrays) -> int | None:
    """Return a column that improves the objective and that neither bound nor row limits, if any.

    However small its cost is: a solver takes it for 0 next to one that is 1e12 times as large.
    """
    way = -np.sign(a.cost)
    free = np.isinf(np.where(way > 0, a.upper, a.lower)) & (way != 0)
    entries = a.rows.tocoo()
    rises = entries.data * way[entries.col]
    limits = np.where(rises > 0, a.high[entries.row], a.low[entries.row])
    free[entries.col[(rises != 0) & np.isfinite(limits)]] = False
    return int(free.argmax()) if free.any() else None


def unbounded_column(a: Arrays) -> int | None:
    """Return a column that grows or falls without limit while the objective falls.

    None: the program is bounded, or nothing satisfies it.
    """
    rows, columns = (
        (np.where(np.isfinite(low), 0.0, -far), np.where(np.isfinite(high), 0.0, far))
        for low, high, far in ((a.low, a.high, math.inf), (a.lower, a.upper, 1.0))
    )
    cost, none = a.cost / power_of_two(a.cost), np.zeros_like(a.cost)
    along = solve_mip(cost, a.rows, *rows, *columns, none)
    if along.x is None or along.objective is None:
        return None
    falls = along.objective < -FALLING * float(np.abs(cost).max(initial=0.0))
    if not falls or solve_mip(none, *a[1:]).x is None:
        return None
    return int(np.abs(along.x).argmax())
