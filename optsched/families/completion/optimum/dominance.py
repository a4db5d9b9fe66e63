"""Modes that no optimal schedule needs, since another one takes no more of anything.

A mode may be replaced by one of the same locality that is no longer, has no more workers, each of
them with no more demand, and whose parameter servers (PS) take no more for any number of workers
elsewhere: put its workers on places of the others, one of them away from the host if they were
apart, and its PS on the host. Resources that never run short on any server do not count.
"""

from __future__ import annotations

import numpy as np

from optsched.families.completion.optimum.cpsat import unmasked
from optsched.families.completion.optimum.prices.capacity import Jobs
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.solvers import solve_mip


def scarce(jobs: Jobs) -> Flags:
    """Return which resources can run short on a server where the others do not, shape (R,)."""
    types = jobs.types
    demand = np.concatenate([types.worker_demand, types.ps_demand]).astype(float)  # (M + P, R)
    out: Flags = np.ones(demand.shape[1], bool)
    if not (demand > 0).any(axis=1).all():
        return out
    for r in range(out.size):
        others = np.flatnonzero(out & (np.arange(out.size) != r))
        if not (demand[:, others] > 0).any(axis=1).all():
            continue
        out[r] = any(
            _most(demand[:, r], demand[:, others].T, capacity[others].astype(float)) > capacity[r]
            for capacity in jobs.class_capacity
        )
    return out


def _most(value: Floats, use: Floats, limit: Floats) -> float:
    """Return an upper bound on value @ n, use @ n <= limit, n whole numbers."""
    n = len(value)
    free = np.full(len(limit), -np.inf)
    found = solve_mip(-value, use, free, limit, np.zeros(n), np.full(n, np.inf), np.ones(n, bool))
    return np.inf if found.bound is None else float(np.ceil(-found.bound - 1e-6))


def undominated(jobs: Jobs) -> list[Ints]:
    """Return rows [worker type, PS type, q, workers, duration] of the modes worth having."""
    short, types = scarce(jobs), jobs.types
    worker = types.worker_demand[:, short]
    # (M, M) whether a worker is no heavier
    lighter: Flags = np.asarray((worker[:, None] <= worker[None]).all(axis=2))
    out = []
    for j in range(len(jobs.modes)):
        rows = unmasked(jobs, j)
        m, p, q, n, d = rows.T
        below = lighter[m[:, None], m[None]] & (q[:, None] == q[None])
        below &= (n[:, None] <= n[None]) & (d[:, None] <= d[None])
        if not types.ring:
            most = int(n.max(initial=0))
            load = (
                types.ps_needed[:, :, : most + 1, None] * types.ps_demand[None, :, None][..., short]
            )
            mine = load[m, p].reshape(len(rows), -1)  # (G, (most + 1) * R)
            below &= (mine[:, None] <= mine[None]).all(axis=2)
        # of modes that take the same, the first stays
        same = below & below.T
        worse = below & ~same | (same & np.tri(len(rows), k=-1, dtype=bool).T)
        out.append(rows[~worse.any(axis=0)])
    return out
