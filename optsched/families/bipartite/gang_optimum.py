"""The best gang decision of one slot, for small instances: an integer program.

Utilities are replaced by the least of some tangents, which lie above them: so the program's bound
holds for the utilities themselves, and ``outer`` says by how much at most it is too high. The value
is that of the utilities at the decision found.

    max   sum_i t_i - sum_l m_l
    s.t.  t_i <= f(p) + f'(p) (sum_q y_qi - p)          for all tangent points p
          y_qi <= a^{q,k} b_l,  sum_i y_qi >= minimum^{q,k} g_lq
          sum_q g_lq >= m_l b_l,  g_lq <= b_l           g, b in {0, 1}: component runs, job launched
          sum y <= c (6),  m_l >= beta_k sum y
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from optsched.families.bipartite.gang import GangJudge
from optsched.families.bipartite.instance import Floats, Utility
from optsched.families.bipartite.instance_gang import GangInstance
from optsched.solvers import solve_mip

TANGENTS = 24  # of each utility that is not linear


@dataclass(frozen=True)
class GangOptimum:
    """What is known of the best gang decision for the jobs of one slot."""

    decision: Floats  # (Q, N)
    value: float  # as the judge computes it
    bound: float  # the solver's word for the outer program: no decision earns more
    outer: float  # what the tangents add at most


def tangent_points(utility: Utility, upper: float) -> list[float]:
    """Return where tangents touch: 0, upper, and points between that get wider apart."""
    if utility.kind == "linear" or upper <= 0:
        return [0.0]
    return [math.expm1(x) for x in np.linspace(0.0, math.log1p(upper), TANGENTS)]


def tangent_error(utility: Utility, points: list[float]) -> float:
    """Return how far the least tangent is above the utility, at most."""
    worst = 0.0
    for p, q in pairwise(points):
        slopes = utility.slope(p), utility.slope(q)
        cuts = utility(p) - slopes[0] * p, utility(q) - slopes[1] * q
        if slopes[0] > slopes[1]:
            x = min(max((cuts[1] - cuts[0]) / (slopes[0] - slopes[1]), p), q)
            worst = max(worst, cuts[0] + slopes[0] * x - utility(x))
    return worst


class _Program:
    """Columns y (Q x N), t (N), m (L), g (L x Q), b (L); rows are collected one by one."""

    def __init__(self, inst: GangInstance) -> None:
        a = inst.base.arrays
        self.inst, self.a = inst, a
        q, n, ports = inst.most, a.channels, a.copies
        self.y = np.arange(q * n).reshape(q, n)
        self.t = q * n + np.arange(n)
        self.m = self.t[-1] + 1 + np.arange(ports)
        self.g = self.m[-1] + 1 + np.arange(ports * q).reshape(ports, q)
        self.b = self.g[-1, -1] + 1 + np.arange(ports)
        self.columns = int(self.b[-1]) + 1
        self.entries: list[tuple[int, int, float]] = []
        self.limits: list[float] = []  # every row is at most this

    def row(self, limit: float, *terms: tuple[NDArray[np.int64] | int, float]) -> None:
        for columns, factor in terms:
            for column in np.atleast_1d(columns):
                self.entries.append((len(self.limits), int(column), factor))
        self.limits.append(limit)


def gang_optimum(
    inst: GangInstance, jobs: NDArray[np.bool_], *, time_limit: float = 60.0
) -> GangOptimum:
    """Find the best gang decision for the jobs of one slot.

    Raises
    ------
    RuntimeError
        The solver found nothing in time, or the judge rejects what it found.
    """
    program = _Program(inst)
    outer, upper = _build(program, jobs)
    rows, columns, values = zip(*program.entries, strict=True)
    shape = (len(program.limits), program.columns)
    cost = np.zeros(program.columns)
    cost[program.t], cost[program.m] = -1.0, 1.0
    whole = np.zeros(program.columns, np.bool_)
    whole[program.g.ravel()] = whole[program.b] = True
    found = solve_mip(
        cost,
        coo_array((values, (rows, columns)), shape=shape),
        np.full(shape[0], -np.inf),
        np.array(program.limits),
        np.zeros(program.columns),
        upper,
        whole,
        time_limit=time_limit,
        gap=1e-9,
    )
    if found.x is None or found.bound is None:
        raise RuntimeError(f"no gang decision found: {found.status}")
    decision = _tidied(inst, found.x[program.y], found.x[program.b] > 0.5)
    judge = GangJudge(inst)
    judge.slot(0, jobs, decision)
    verdict = judge.verdict()
    if verdict.value is None:
        raise RuntimeError(f"the solver's gang decision breaks the model: {verdict}")
    return GangOptimum(decision, verdict.value, -found.bound, outer)


def _tidied(inst: GangInstance, y: Floats, launched: NDArray[np.bool_]) -> Floats:
    """Take away what the solver's tolerance leaves to jobs that are not launched."""
    tidy = np.clip(y, 0.0, None)
    tidy[:, ~launched[inst.base.arrays.port]] = 0.0
    return tidy


def _build(program: _Program, jobs: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Write all rows; return what the tangents add at most, and upper bounds of the columns."""
    inst, a = program.inst, program.a
    upper = np.full(program.columns, np.inf)
    upper[program.g.ravel()] = upper[program.b] = 1.0
    outer = 0.0
    by_port: dict[tuple[int, int], list[int]] = {}
    for row, capacity in enumerate(a.capacity.tolist()):
        r, k = divmod(row, a.resources)
        here = np.arange(a.start[row], a.start[row + 1])
        if len(here):
            program.row(capacity, (program.y[:, here].ravel(), 1.0))  # (6)
        utility = inst.base.machines[r].utility[k]
        for i in here.tolist():
            port = int(a.port[i])
            by_port.setdefault((port, k), []).append(i)
            most = min(float(a.upper[i]), capacity) if jobs[port] else 0.0
            points = tangent_points(utility, most)
            outer += tangent_error(utility, points)
            upper[program.t[i]] = utility(most)
            for p in points:
                s = utility.slope(p)
                program.row(utility(p) - s * p, (program.t[i], 1.0), (program.y[:, i], -s))
            for q in range(inst.most):
                limit = inst.requests[port, q, k] if jobs[port] else 0.0
                program.row(0.0, (program.y[q, i], 1.0), (program.b[port], -limit))  # (5)
    for port, gang in enumerate(inst.gangs):
        for k in range(a.resources):
            channels = by_port.get((port, k), [])
            amounts = program.y[:, channels]
            program.row(0.0, (program.m[port], -1.0), (amounts.ravel(), float(a.beta[k])))
            for q in range(len(gang.components)):
                least = float(inst.minima[port, q, k])
                program.row(0.0, (amounts[q], -1.0), (program.g[port, q], least))
        for q in range(inst.most):
            program.row(0.0, (program.g[port, q], 1.0), (program.b[port], -1.0))
        upper[program.g[port, len(gang.components) :]] = 0.0
        parts = program.g[port]
        program.row(0.0, (parts, -1.0), (program.b[port], float(gang.at_least)))
    return outer, upper
