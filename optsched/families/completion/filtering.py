"""What can still be in a schedule that is better than the best known: reduced cost fixing.

At prices p, any schedule in which job j runs in mode k from slot t on costs at least B(p) plus what
that choice costs more than the best of job j. Where this exceeds the best known value, the choice
can be dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.colgen import Floats
from optsched.families.completion.blocks import Jobs
from optsched.families.completion.cpsat import Choices, unmasked
from optsched.families.completion.instance import Ints
from optsched.families.completion.oracle import PricedServers, best_schedule

SLACK = 1e-7  # relative: rounding of sums of floats
MARGIN = 1e-9


def filtered(jobs: Jobs, prices: Floats, bound: float, value: float | None) -> list[Choices] | None:
    """Return the modes and starts that may be in a schedule of at most ``value``.

    Parameters
    ----------
    jobs : Jobs
    prices : array of shape (L, C, R)
    bound : float
        B(p) at these prices.
    value : float or None
        Of the best schedule; None: nothing can be dropped, but what ends after a deadline.
    """
    deadline = jobs.inst.deadline
    if value is None:
        if deadline is None:
            return None
        gap = np.inf
    else:
        gap = value - bound + SLACK * abs(value)
    servers = PricedServers.of(jobs.types, prices, jobs.class_capacity, jobs.count)
    out = []
    for j, modes in enumerate(jobs.modes):
        best = best_schedule(
            jobs.types,
            modes,
            servers,
            arrival=int(jobs.arrival[j]),
            weight=float(jobs.weight[j]),
            deadline=deadline,
        )
        if best is None:
            return None
        limit = best.value + gap
        end = deadline if deadline is not None else int(limit / jobs.weight[j]) + 1
        rows = unmasked(jobs, j)
        kept, starts = [], []
        for row in rows:
            allowed = _starts(jobs, j, row, servers, limit, end)
            if allowed.size:
                kept.append(row)
                starts.append(allowed.tolist())
        out.append(Choices(np.array(kept, np.int64).reshape(-1, 5), starts))
    return out


def within(choices: Sequence[Choices], limits: Ints) -> list[Choices] | None:
    """Return the choices within the limits of a leaf (J, 5, 2); None if a job has none left.

    The attributes are start, completion, worker type, number of workers and locality.
    """
    out = []
    for choice, ((a, b), (c, d), kind, number, local) in zip(choices, limits.tolist(), strict=True):
        kept, starts = [], []
        for row, allowed in zip(choice.modes, choice.starts, strict=True):
            if any(
                not low <= x <= high
                for x, (low, high) in zip(
                    (row[0], row[3], row[2]), (kind, number, local), strict=True
                )
            ):
                continue
            left = [t for t in allowed if a <= t <= b and c <= t + row[4] <= d]
            if left:
                kept.append(row)
                starts.append(left)
        if not kept:
            return None
        out.append(Choices(np.array(kept, np.int64), starts))
    return out


def _starts(jobs: Jobs, j: int, row: Ints, servers: PricedServers, limit: float, end: int) -> Ints:
    """Return the starts of one mode whose cheapest placement is within the limit."""
    m, p, q, n, d = (int(x) for x in row)
    arrival, weight = int(jobs.arrival[j]), float(jobs.weight[j])
    last = end - d
    if np.isfinite(limit):
        last = min(last, int(limit / weight) - d + 1)
    if last < arrival:
        return np.empty(0, np.int64)
    starts = np.arange(arrival, last + 1)
    if not np.isfinite(limit):
        return starts
    one = jobs.modes[j]
    same = (one.worker_type == m) & (one.together == q) & (one.workers == n) & (one.duration == d)
    mode = one.take(np.flatnonzero(same)[:1])
    mode.mask[:] = 1 << p
    kept = []
    for t in starts.tolist():
        found = best_schedule(
            jobs.types,
            mode,
            servers,
            arrival=t,
            weight=weight,
            deadline=t + d,
            cutoff=limit * (1 + MARGIN),
        )
        if found is not None:
            kept.append(t)
    return np.array(kept, np.int64)
