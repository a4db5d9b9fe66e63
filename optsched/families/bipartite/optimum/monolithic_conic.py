"""Conic program: the concave program as stated in `models`.

CVXPY (Diamond and Boyd, 2016) and Clarabel (Goulart and Chen, 2024): the method `conic`, which
shares nothing with the interior-point method of the package. Gains of the sum over machines are
solved this way only, and certified by the duals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.families.bipartite.instance import BipartiteArrays, BipartiteInstance
from optsched.families.bipartite.instance_utilities import LINEAR, RECIPROCAL
from optsched.families.bipartite.optimum.decision import Solved
from optsched.families.bipartite.optimum.initial_bounds import most_gains
from optsched.families.bipartite.policies.projection import project
from optsched.models.bipartite import bipartite_program, channels_with_jobs
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import EPS
from optsched.solvers import solve_cvxpy


class ConicResult(NamedTuple):
    """Result of the conic solver."""

    y: Floats  # (N,), made feasible by projection
    value: float  # the solver's claims on the optimum
    error: float  # by how much more may be admitted
    trusted: bool  # the solver is content, and the numbers are such that it can be right
    share: Floats | None = None  # (C, K), and nu (R * K,): its duals, if they are wanted
    nu: Floats | None = None


def conic_optimum(
    inst: BipartiteInstance,
    weight: NDArray[Any],
    *,
    threads: int = 1,
    time_limit: float = np.inf,
    effort: float = np.inf,
    stop: Callable[[], bool] | None = None,
    duals: bool = False,
) -> ConicResult | None:
    """Maximize sum_l weight_l q_l(y) by CVXPY; None if it ended without an answer."""
    a = inst.arrays
    scale = float(most_gains(inst) @ weight)  # conic solvers need numbers near 1
    if scale == 0:
        share = np.zeros((a.copies, a.resources))
        share[:, 0] = 1.0
        nothing = np.zeros(a.channels), 0.0, 0.0
        return ConicResult(*nothing, trusted=True, share=share, nu=np.zeros(len(a.capacity)))
    limit = np.minimum(a.upper, a.capacity[a.row])
    unit = np.where(limit > 0, limit, 1.0)
    program = bipartite_program(inst, weight / scale, unit=unit, largest=duals)
    outcome = solve_cvxpy(program, time_limit=time_limit, effort=effort, threads=threads, stop=stop)
    if outcome.value is None:
        return None
    _, channels = channels_with_jobs(inst, weight)
    y = np.zeros(a.channels)
    count = np.asarray(program.var_dict["y"].value, dtype=np.float64)
    y[channels] = count * unit[channels]
    for row, capacity in enumerate(a.capacity):
        here = slice(a.start[row], a.start[row + 1])
        y[here] = project(y[here], a.upper[here], float(capacity))
    bent = (limit > 0) & (a.kind[a.row] != LINEAR)
    shift = np.where(a.kind == RECIPROCAL, a.alpha, 1.0)[a.row]
    # 1 + y (alpha + y) must differ by so much over all y that are allowed, and the
    # overhead must leave so much of the gains: else the solver's tolerance is too large
    seen = bool((limit[bent] >= 1e-3 * shift[bent]).all()) and outcome.value >= 1e-3
    trusted = seen and not outcome.inaccurate and bool(np.isfinite(outcome.error))
    # taking more of everything, by the common tolerance, gains no more than in proportion
    error = outcome.error + EPS * abs(outcome.value)
    found = ConicResult(y, outcome.value * scale, error * scale, trusted)
    if not duals:
        return found
    share, nu = _prices(a, channels, program)
    return found._replace(share=share, nu=nu * scale)


def _prices(a: BipartiteArrays, channels: Ints, program: Any) -> tuple[Floats, Floats]:
    """Return the shares, and the price of capacity for weights in the program's unit."""
    _, capacity, *overheads = (np.asarray(c.dual_value, float) for c in program.constraints)
    rows, jobs = np.unique(a.row[channels]), np.unique(a.port[channels])
    nu, share = np.zeros(len(a.capacity)), np.zeros((a.copies, a.resources))
    nu[rows] = np.maximum(capacity, 0.0) / np.where(a.capacity > 0, a.capacity, 1.0)[rows]
    share[jobs] = np.maximum(np.array(overheads), 0.0).T
    total = share.sum(axis=1, keepdims=True)
    share[:, :1] += total == 0  # of a copy without weight: anything that adds up to 1
    return share / np.where(total > 0, total, 1.0), nu


def decision_for_sums(
    inst: BipartiteInstance, weight: NDArray[Any], stop: Callable[[], bool], units: float
) -> Solved | None:
    """Maximize sum_l weight_l q_l(y) as exactly as Clarabel can; None if it was stopped.

    The counterpart of `decision.Solver` for gains of the sum over machines.
    """
    found = conic_optimum(inst, weight, effort=units, stop=stop, duals=True)
    if found is None or found.share is None or found.nu is None:
        return None
    best = found.value + found.error
    return Solved(found.y, found.share, found.nu, found.value, best, iterations=0)
