"""Primal-dual interior-point method for linear programs, with a warm start.

Mehrotra's predictor-corrector method (Mehrotra, 1992), from a given start as in Gondzio (1998). It
solves the restricted master programs of `engine.interior_master`, which have few rows and many
columns of few nonzeros: every step factorizes dense normal equations, which a kernel accumulates
and LAPACK factorizes. A general solver starts from scratch each time, and orders a sparse matrix
whose factors are dense all the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csc_array

from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.process import work_units

MOST = 60  # iterations
BACK = 0.97  # of the way to the boundary
FITS = 1e-6  # of a limit: so exactly the rows hold
RIDGE = 1e-10  # of the diagonal of the normal equations: they stay positive definite
EARLIER = 10.0  # times the accuracy: the point to begin the next program from
PAIRS, CUBES = 1.5, 0.01  # elementary steps for a pair of nonzeros of a column, and for rows^3
REFINED = 2  # times a solution of the normal equations is corrected
DENSE = 2**16  # entries of a matrix up to which its products need no kernel


class InteriorProgram(NamedTuple):
    """Maximize value @ x with x >= 0, and matrix @ x at most the limit, or equal to it."""

    value: Floats  # (n,)
    matrix: csc_array  # (m, n)
    limit: Floats  # (m,)
    equal: Flags  # (m,)


class InteriorPoint(NamedTuple):
    """Iterate of the method: all but the duals of equations are greater than 0."""

    x: Floats  # (n,)
    duals: Floats  # (m,)
    slack: Floats  # (m,) of the rows; 0 for equations
    reduced: Floats  # (n,) cost of a column at the duals less its value


class Central(NamedTuple):
    """A point near the centre of the optimal face."""

    found: InteriorPoint
    earlier: (
        InteriorPoint  # of ten times the distance: a better one to begin a similar program from
    )
    solved: bool  # as accurately as was requested


def interior_point(program: InteriorProgram, start: InteriorPoint, accuracy: float) -> Central:
    """Follow the central path from ``start`` to an optimum.

    Parameters
    ----------
    program : Program
    start : Point
        Need not satisfy the rows; that its numbers are positive is enough.
    accuracy : float
        Relative distance of the objective and its dual at which to stop.
    """
    value, matrix, limit, equal = program
    m, n = matrix.shape
    across = matrix.T.tocsr()
    less = ~equal
    x, y, s, z = start
    normal, diagonal = np.empty((m, m)), np.arange(m)
    earlier: InteriorPoint | None = None
    length = np.diff(matrix.indptr).astype(float)
    work = PAIRS * float(length @ length) / 2 + CUBES * float(m) ** 3
    for _ in range(MOST):
        lacks = limit - matrix @ x - s
        owes = value - across @ y + z
        gap = float(x @ z + s @ y)
        error = gap + abs(float(x @ owes)) + abs(float(y @ lacks))
        goal = accuracy * abs(float(limit @ y))
        here = InteriorPoint(x, y, s, z)
        if not np.isfinite(error):
            break
        if earlier is None and error <= EARLIER * goal:
            earlier = here
        if error <= goal and np.abs(lacks).max() <= FITS * max(1.0, limit.max()):
            return Central(here, earlier or here, solved=True)
        work_units.steps(work)
        _normal(matrix, x / z, normal)
        loose = np.zeros(m)
        loose[less] = s[less] / y[less]
        normal[diagonal, diagonal] += loose
        normal[diagonal, diagonal] *= 1 + RIDGE
        factor, failed = lapack.dpotrf(normal.T, lower=0, clean=0, overwrite_a=1)
        if failed:
            break

        def towards(xz: Floats, sy: Floats) -> tuple[Floats, Floats, Floats, Floats]:
            """Return the step after which x z and s y are about so much more."""
            right = matrix @ (xz / z + x / z * owes) - lacks  # noqa: B023 - used at once
            right[less] += sy[less] / y[less]  # noqa: B023
            dy = lapack.dpotrs(factor, right, lower=0)[0]  # noqa: B023
            for _ in range(REFINED):
                rest = right - matrix @ (x / z * (across @ dy)) - loose * dy  # noqa: B023
                dy += lapack.dpotrs(factor, rest, lower=0)[0]  # noqa: B023
            dz = across @ dy - owes  # noqa: B023
            ds = np.zeros(m)
            ds[less] = (sy - s * dy)[less] / y[less]  # noqa: B023
            return (xz - x * dz) / z, dy, ds, dz  # noqa: B023

        mean = gap / (n + int(less.sum()))
        dx, dy, ds, dz = towards(-x * z, -s * y)
        primal = min(_most(x, dx), _most(s[less], ds[less]))
        dual = min(_most(z, dz), _most(y[less], dy[less]))
        after = (x + primal * dx) @ (z + dual * dz) + (s + primal * ds) @ (y + dual * dy)
        aim = mean * max(1e-6, (float(after) / gap) ** 3)
        dx, dy, ds, dz = towards(aim - x * z - dx * dz, aim - s * y - ds * dy)
        primal = min(1.0, BACK * min(_most(x, dx), _most(s[less], ds[less])))
        dual = min(1.0, BACK * min(_most(z, dz), _most(y[less], dy[less])))
        x, s = x + primal * dx, s + primal * ds
        y, z = y + dual * dy, z + dual * dz
    return Central(here, earlier or here, solved=False)


def _most(at: Floats, step: Floats) -> float:
    """Return the share of a step that keeps all positive; 2 if any step does."""
    down = step < 0
    return float((-at[down] / step[down]).min(initial=2.0))


def _normal(matrix: csc_array, weight: Floats, out: Floats) -> None:
    """Write matrix @ diag(weight) @ matrix.T to ``out``, (m, m): its lower triangle at least."""
    if matrix.shape[0] * matrix.shape[1] <= DENSE:
        some = matrix.toarray()
        np.matmul(some * weight, some.T, out=out)
    else:
        out[:] = 0.0
        add_products(matrix.indptr, matrix.indices, matrix.data, weight, out)


@kernel(nogil=True)
def add_products(starts: Ints, rows: Ints, amounts: Floats, weight: Floats, out: Floats) -> None:
    """Add weight times the products of a column's nonzeros, column by column, to ``out``.

    ``starts`` (n + 1,), ``rows`` and ``amounts`` (nonzeros,) are those of a matrix by columns, the
    rows of a column ascending; ``weight`` (n,); ``out`` (m, m) receives the lower triangle.
    """
    for j in range(weight.size):
        for a in range(starts[j], starts[j + 1]):
            scaled, row = weight[j] * amounts[a], out[rows[a]]
            for b in range(starts[j], a + 1):
                row[rows[b]] += scaled * amounts[b]
