"""Concave maximization by cutting planes: an optimum of tiny programs, enclosed from both sides.

    max  sum_j f_j(x_j) + c x     subject to  A x <= b,  x >= 0,

with every f_j concave. Linear programs over tangents of f_j bound it from above, and what their
solutions are worth bounds it from below. Shares no code with the package; its only solver is
scipy's linear program.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.optimize import linprog

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
ROUNDS = 60


def linear(cost, rows, limits, **more):
    """Return the greatest cost @ x, and the x that has it.

    Rows and the cost are divided by their largest number, so that no unit matters.
    """
    cost, rows, limits = (np.array(a, float) for a in (cost, rows, limits))
    scale = np.abs(rows).max(axis=1)
    rows, limits = rows[scale > 0], limits[scale > 0]
    rows, limits = rows / scale[scale > 0][:, None], limits / scale[scale > 0]
    top = np.abs(cost).max(initial=0.0) or 1.0
    found = linprog(-cost / top, rows, limits, options=TIGHT, **more)
    assert found.status == 0, found.message
    return float(-found.fun * top), found.x


def maximize(
    curves: Mapping[int, tuple[Callable[[float], float], Callable[[float], float]]],
    cost: Sequence[float],
    rows: Sequence[Sequence[float]],
    limits: Sequence[float],
    ends: Mapping[int, float],
    shares: Sequence[float] = (1.0, 0.5, 0.1, 0.01),
    within: float = 1e-10,
) -> tuple[float, float]:
    """Return a value that is reached, and one that is not exceeded.

    Parameters
    ----------
    curves : mapping
        f_j and its slope, by variable.
    cost, rows, limits : sequences
        c, A and b.
    ends : mapping
        The most that each x_j with a curve can be.
    shares : sequence of float
        Where the first tangents are, as shares of it; 0 may be one where the slope there is finite.
    within : float
        Relative distance at which to stop.
    """
    n, order = len(cost), list(curves)
    place = {j: n + k for k, j in enumerate(order)}  # of the variable that stands for f_j(x_j)
    cuts, right = [], []

    def tangent(j, at):
        f, slope = curves[j]
        row = np.zeros(n + len(order))
        row[place[j]], row[j] = 1.0, -slope(at)
        cuts.append(row)
        right.append(f(at) - slope(at) * at)

    for j in order:
        for share in shares:
            tangent(j, share * ends[j])
    fixed = np.hstack([np.array(rows, float), np.zeros((len(rows), len(order)))])
    bounds = [(0, None)] * n + [(None, None)] * len(order)
    whole = [*cost, *np.ones(len(order))]
    low, high, gross = -np.inf, np.inf, 0.0
    for _ in range(ROUNDS):
        above, x = linear(whole, np.vstack([fixed, *cuts]), [*limits, *right], bounds=bounds)
        high = min(high, above)
        at = {j: max(float(x[j]), 0.0 if 0 in shares else 1e-9 * ends[j]) for j in order}
        if all(x[j] > 0 or at[j] == 0 for j in order):
            low = max(low, float(np.dot(cost, x[:n])) + sum(curves[j][0](at[j]) for j in order))
        moved = sum(abs(curves[j][1](at[j]) * at[j]) for j in order)  # by 100 % of every x_j
        gross = max(gross, float(np.dot(np.abs(whole), np.abs(x))) + moved)
        if high - low <= within * max(abs(low), abs(high)):
            break
        for j in order:
            tangent(j, at[j])
    # gains and costs of size `gross` may cancel: no linear program is more exact than its numbers
    assert high - low <= 100 * within * gross, (low, high, gross)
    return float(low), float(max(low, high))
