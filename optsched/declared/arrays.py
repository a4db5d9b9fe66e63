"""A declared problem as arrays, as solvers take them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, hstack, vstack

from optsched.declared.model import Declared
from optsched.numbers.arrays import Floats
from optsched.solvers import highs, load, lp_status, rerun, row_duals, solve_mip
from optsched.solvers.linear import power_of_two

TIGHT = 1e-10  # feasibility of a linear program that is to be exact
MOVES = 8  # of values into rows and cones
CHANGE = 1e-6  # unit of changes of values, relative above 1: tolerances of HiGHS are absolute
BREAKING = 1e6  # price of what is broken, in the same units
ROUNDING = 1e-15  # error of a sum of floats, relative to its terms
STEEPEST = 700.0  # exponents beyond have no float
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


def by_rows(rows: Sequence[Sequence[tuple[int, float]]], columns: int) -> Any:
    """Return a sparse matrix of the entries of its rows: column, coefficient."""
    starts = np.cumsum([0, *map(len, rows)])
    entries = [entry for row in rows for entry in row]
    data = np.array([a for _, a in entries], dtype=float)
    places = np.array([j for j, _ in entries], dtype=np.int64)
    return csr_array((data, places, starts), shape=(len(rows), columns))


def arrays(inst: Declared) -> Arrays:
    """Return the program as arrays."""
    sign = 1.0 if inst.sense == "min" else -1.0
    return Arrays(
        sign * np.array([c.cost for c in inst.columns], dtype=float),
        by_rows([r.entries for r in inst.rows], len(inst.columns)),
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


def nearest_feasible(
    a: Arrays, cones: Sequence[tuple[str, Any, Floats]], x: Floats, own: Any = None
) -> Floats:
    """Return values near ``x``, of shape (n,), that keep rows and cones as exactly as floats can.

    An interior-point method breaks them by a little more than the feasibility check permits. A
    linear program finds the least changes, relative above 1, in which cones are replaced by their
    tangents. Costs and integrality are ignored. What cannot be kept is broken as little as can be:
    only the rows ``own``, where that is possible.
    """
    only = np.zeros(a.low.size + len(cones))
    only[: a.low.size] = 0.0 if own is None else np.where(own, math.inf, 0.0)
    x = np.clip(x, a.lower, a.upper)
    for _ in range(MOVES):
        tangents = [_tangent(*cone, x) for cone in cones]
        rows = vstack([a.rows, *(row for row, _ in tangents)], format="csr")
        apart = ROUNDING * (abs(rows) @ np.abs(x))
        used, m = rows @ x, a.low.size
        excess = np.array([excess for _, excess in tangents])
        low = np.concatenate([a.low - used[:m], apart[m:] - excess])
        high = np.concatenate([a.high - used[:m], np.full(len(cones), math.inf)])
        if np.all(np.maximum(low[:m], -high[:m]) <= apart[:m]) and np.all(excess >= 0.0):
            break
        unit = CHANGE * np.maximum(1.0, np.abs(x))
        scaled = rows @ diags_array(unit)
        size = abs(scaled).max(axis=1).toarray().ravel()
        size[size == 0.0] = 1.0
        scaled, one = diags_array(1 / size) @ scaled, eye_array(low.size)
        entries = csr_array(hstack([scaled, -scaled, one, -one]))
        cost = np.concatenate([np.ones(2 * x.size), np.full(2 * low.size, BREAKING)])
        none, reach = np.zeros(cost.size), [(a.upper - x) / unit, (x - a.lower) / unit]
        for room in (0.0 * size, only, np.full(low.size, math.inf)):
            most = np.concatenate([*reach, room, room])
            found = polish(
                Arrays(cost, entries, low / size, high / size, none, most, none > 0), none
            )
            if found is not None:
                break
        else:
            break
        up, down = found[: x.size], found[x.size : 2 * x.size]
        x = np.clip(x + unit * (up - down), a.lower, a.upper)
    return x


def _tangent(kind: str, matrix: Any, constant: Floats, x: Floats) -> tuple[Any, float]:
    """Return the gradient of what a cone's head has more than it needs, and that excess.

    That of a second-order cone is taken from the difference of the squares, with the sum and the
    difference of two members in place of these: else it would be lost in rounding.
    """
    if kind == "exponential":
        p, q, r = matrix @ x + constant
        if q <= 0.0:
            return matrix[[2]], r
        times = math.exp(min(p / q, STEEPEST))
        return csr_array([[-times, times * (p / q - 1.0), 1.0]]) @ matrix, r - q * times
    member = matrix @ x + constant
    norm = float(np.linalg.norm(member[1:]))
    if member.size == 1 or norm == 0.0 or member[0] + norm <= 0.0:
        return matrix[[0]], member[0] - norm
    both, mine = csr_array([[1.0, 1.0], [1.0, -1.0]]), matrix[[0, 1]]
    pair, rest = both @ mine, member[2:]
    high, low = pair @ x + both @ constant[:2]
    weights = csr_array(np.array([low, high, *(-2.0 * rest)])[None, :] / (member[0] + norm))
    gradient = weights @ vstack([pair, matrix[2:]], format="csr")
    return gradient, (high * low - rest @ rest) / (member[0] + norm)


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
