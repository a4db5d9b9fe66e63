"""The concave program as stated in `models`, solved as a conic program.

CVXPY (Diamond and Boyd, 2016) and Clarabel (Goulart and Chen, 2024): the method `conic`, which
shares nothing with the interior-point method of the package.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.families.bipartite.instance import BipartiteInstance
from optsched.families.bipartite.instance_utilities import LINEAR, RECIPROCAL
from optsched.families.bipartite.optimum.opening import most_gains
from optsched.families.bipartite.policies.projection import project
from optsched.models.bipartite import bipartite_program, channels_with_jobs
from optsched.numbers.arrays import Floats
from optsched.numbers.resources import EPS
from optsched.solvers import solve_cvxpy

RESOLVED = 1e-3  # 1 + y (alpha + y) must differ by so much over all y that are allowed, and the
# overhead must leave so much of the gains: else the solver's tolerance is too large


class Conic(NamedTuple):
    """What came out of the conic solver."""

    y: Floats  # (N,), made feasible by projection
    value: float  # what the solver says of the optimum
    error: float  # by how much more may be admitted
    trusted: bool  # the solver is content, and the numbers are such that it can be right


def conic_optimum(
    inst: BipartiteInstance,
    weight: NDArray[Any],
    *,
    threads: int = 1,
    time_limit: float = np.inf,
    effort: float = np.inf,
) -> Conic | None:
    """Maximize sum_l weight_l q_l(y) by CVXPY; None if it ended without an answer."""
    a = inst.arrays
    scale = float(most_gains(inst) @ weight)  # conic solvers want numbers near 1
    if scale == 0:
        return Conic(np.zeros(a.channels), 0.0, 0.0, trusted=True)
    limit = np.minimum(a.upper, a.capacity[a.row])
    unit = np.where(limit > 0, limit, 1.0)
    program = bipartite_program(inst, weight / scale, unit=unit)
    outcome = solve_cvxpy(program, time_limit=time_limit, effort=effort, threads=threads)
    if outcome.value is None:
        return None
    (variable,) = program.variables()
    _, channels = channels_with_jobs(inst, weight)
    y = np.zeros(a.channels)
    y[channels] = np.asarray(variable.value, dtype=np.float64) * unit[channels]
    for row, capacity in enumerate(a.capacity):
        here = slice(a.start[row], a.start[row + 1])
        y[here] = project(y[here], a.upper[here], float(capacity))
    bent = (limit > 0) & (a.kind[a.row] != LINEAR)
    shift = np.where(a.kind == RECIPROCAL, a.alpha, 1.0)[a.row]
    seen = bool((limit[bent] >= RESOLVED * shift[bent]).all()) and outcome.value >= RESOLVED
    trusted = seen and not outcome.inaccurate and bool(np.isfinite(outcome.error))
    # whoever takes more of everything, by the judge's tolerance, gains no more than in proportion
    error = outcome.error + EPS * abs(outcome.value)
    return Conic(y, outcome.value * scale, error * scale, trusted)
