"""Large linear programs by an interior point that factorizes in blocks: Clarabel with faer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csc_matrix, eye_array, vstack

from optsched.numbers.arrays import Floats
from optsched.process.effort import INTERIOR_ITERATION, spend


class Central(NamedTuple):
    """A point near the centre of the optimal face."""

    x: Floats
    duals: Floats  # of the rows: what one more unit of their limit would cost
    solved: bool  # as accurately as was asked for


def interior_point(
    cost: Floats,
    matrix: csc_array,
    lower: Floats,
    upper: Floats,
    *,
    accuracy: float = 1e-7,
    threads: int = 1,
) -> Central:
    """Minimize ``cost @ x`` with x >= 0 and ``matrix @ x`` at most ``upper``, or equal to it.

    Parameters
    ----------
    cost : array of shape (n,)
    matrix : sparse array of shape (m, n)
    lower : array of shape (m,)
        -inf, or the same as ``upper`` where a row is an equation.
    upper : array of shape (m,)
    accuracy : float
        Relative distance of the objective and its dual at which to stop.
    threads : int

    Examples
    --------
    >>> found = interior_point(
    ...     np.array([-2.0, -1.0]), csc_array([[1.0, 1.0]]), np.array([-np.inf]), np.array([3.0])
    ... )
    >>> found.x.round(4).tolist(), found.duals.round(4).tolist(), found.solved
    ([3.0, 0.0], [-2.0], True)
    """
    import clarabel

    equal = np.isfinite(lower)
    order = np.concatenate([np.flatnonzero(equal), np.flatnonzero(~equal)])
    n, equations = cost.size, int(equal.sum())
    scale = float(np.abs(cost).mean()) if cost.any() else 1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = threads
    settings.direct_solve_method = "faer"
    settings.iterative_refinement_enable = False  # a third of the time, for digits not asked for
    settings.tol_gap_rel = accuracy
    settings.tol_gap_abs = 0.0
    settings.tol_feas = max(1e-8, 0.1 * accuracy)
    rows = vstack([matrix[order], -eye_array(n)])
    limits = np.concatenate([upper[order], np.zeros(n)])
    cones = [clarabel.ZeroConeT(equations)] if equations else []
    cones.append(clarabel.NonnegativeConeT(limits.size - equations))
    solution = clarabel.DefaultSolver(
        csc_matrix((n, n)), cost / scale, csc_matrix(rows), limits, cones, settings
    ).solve()
    spend(solution.iterations * (INTERIOR_ITERATION[0] + INTERIOR_ITERATION[1] * rows.nnz))
    duals = np.empty(upper.size)
    duals[order] = -np.array(solution.z)[: upper.size] * scale
    x = np.maximum(np.array(solution.x), 0.0)
    return Central(x, duals, str(solution.status) == "Solved")
