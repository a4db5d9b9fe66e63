"""The declared model, solved: a second way to the optimum that shares nothing with the first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.families.bipartite.instance import BipartiteInstance, Floats
from optsched.families.bipartite.projection import project
from optsched.models.bipartite import bipartite_program
from optsched.solvers import solve_cvxpy


def conic_optimum(
    inst: BipartiteInstance,
    weight: NDArray[Any],
    *,
    threads: int = 1,
    time_limit: float = np.inf,
) -> tuple[Floats, float] | None:
    """Maximize sum_l weight_l q_l(y) by CVXPY.

    Returns
    -------
    (y, value) or None
        A decision, made feasible by projection, and what the solver says of the optimum; None if
        it ended without an answer.
    """
    scale = max(1.0, float(np.max(weight, initial=0.0)))  # conic solvers want numbers near 1
    program = bipartite_program(inst, weight / scale)
    outcome = solve_cvxpy(program, time_limit=time_limit, threads=threads)
    if outcome.value is None:
        return None
    a = inst.arrays
    (variable,) = program.variables()
    y = np.asarray(variable.value, dtype=np.float64)
    for row, capacity in enumerate(a.capacity):
        here = slice(a.start[row], a.start[row + 1])
        y[here] = project(y[here], a.upper[here], float(capacity))
    return y, outcome.value * scale
