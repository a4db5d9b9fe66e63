"""How well a series of objectives converges: the tube of Sec. 6.4 and the variation of Sec. 6.5."""

from __future__ import annotations

import math

import numpy as np

from optsched.numbers.arrays import Floats
from optsched.problem import Frozen

PRECISION = 0.85  # within -ln of this of the optimum, an objective is in the tube
CHECK = 100  # last iterations that must lie in it
ROBUST = 1e-4  # a verdict nearer to the edge than this may be rounding


class Convergence(Frozen):
    """Convergence of a series."""

    converged: bool
    first_for_good: int | None
    """Iteration (from 1) from which on the series stays in the tube to the end; None: never."""

    variation: float | None
    """c_v: population standard deviation / mean of the last iterations; None: one is infinite."""

    margin: float
    """Distance of the closest of the last values to the edge of the tube."""

    @property
    def robust(self) -> bool:
        """Whether the verdict does not hang on rounding."""
        return self.margin > ROBUST


def convergence(series: Floats, optimum: float, *, check: int = CHECK) -> Convergence:
    """Compare the objectives of all iterations (-inf is allowed) with the optimum.

    Parameters
    ----------
    series : array of shape (T,)
    optimum : float
    check : int
        How many iterations at the end are looked at.
    """
    half = -math.log(PRECISION)
    distance = np.abs(np.nan_to_num(np.asarray(series), nan=-np.inf) - optimum)
    inside = distance <= half
    last = np.asarray(series)[-check:]
    outside = np.flatnonzero(~inside)
    first = 1 if len(outside) == 0 else int(outside[-1]) + 2
    variation = None
    if np.isfinite(last).all() and last.mean() != 0:
        variation = float(last.std() / last.mean())
    edge = np.abs(distance[-check:] - half)
    return Convergence(
        converged=bool(inside[-check:].all()),
        first_for_good=first if first <= len(series) else None,
        variation=variation,
        margin=float(min(edge.min(), 1e300)),
    )
