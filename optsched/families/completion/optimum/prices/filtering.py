"""What can still be in a schedule that is better than the best known: reduced cost fixing.

At prices p, any schedule in which job j runs in mode k from slot t on costs at least B(p) plus what
that choice costs more than the best of job j. Where this exceeds the best known value, the choice
can be dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.families.completion.modes import Modes
from optsched.families.completion.optimum.cpsat import Choices, unmasked
from optsched.families.completion.optimum.prices.capacity import Jobs
from optsched.families.completion.oracle.schedule import best_schedule
from optsched.families.completion.oracle.servers import PricedServers
from optsched.numbers.arrays import Floats, Ints

SLACK = 1e-7  # relative: rounding of sums of floats
MARGIN = 1e-9


def filtered(
    jobs: Jobs,
    prices: Floats,
    bound: float,
    value: float | None,
    modes: Sequence[Ints] | None = None,
) -> list[Choices] | None:
    """Return the modes and starts that may be in a schedule of at most ``value``.

    Parameters
    ----------
    jobs : Jobs
    prices : array of shape (L, C, R)
    bound : float
        B(p) at these prices.
    value : float or None
        Of the best schedule; None: nothing can be dropped, but what ends after a deadline.
    modes : sequence of arrays of shape (K, 5), optional
        Rows of every job's modes, all of them by default.
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
    for j, all_modes in enumerate(jobs.modes):
        best = best_schedule(
            jobs.types,
            all_modes,
            servers,
            arrival=int(jobs.arrival[j]),
            weight=float(jobs.weight[j]),
            deadline=deadline,
        )
        if best is None:
            return None
        limit = best.value + gap
        end = deadline if deadline is not None else int(limit / jobs.weight[j]) + 1
        rows = unmasked(jobs, j) if modes is None else modes[j]
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


def reduced(
    jobs: Jobs, choices: Sequence[Choices], prices: Floats, value: float
) -> list[Choices] | None:
    """Return the choices that may be in a schedule of at most ``value`` made of them alone.

    The bound of the prices is worked out for these choices, so it is at least that of a leaf that
    holds them; None if it exceeds ``value``.

    Parameters
    ----------
    jobs : Jobs
    choices : sequence of Choices
        As `within` returns them: of every job at least one.
    prices : array of shape (L, C, R)
    value : float
    """
    servers = PricedServers.of(jobs.types, prices, jobs.class_capacity, jobs.count)
    pairs = [Pairs(jobs, j, choice, servers) for j, choice in enumerate(choices)]
    least = [one.least() for one in pairs]
    worth = float((prices * (jobs.class_capacity * jobs.count[:, None])).sum())
    gap = value - (sum(least) - worth) + SLACK * abs(value)
    if gap < 0:
        return None
    return [one.at_most(low + gap) for one, low in zip(pairs, least, strict=True)]


class Pairs:
    """The modes and starts of a job, by what they cost at least at prices."""

    def __init__(self, jobs: Jobs, j: int, choice: Choices, servers: PricedServers) -> None:
        self.jobs, self.j, self.choice, self.servers = jobs, j, choice, servers
        self.modes = [_mode(jobs, j, row) for row in choice.modes]
        self.row = np.repeat(np.arange(len(choice.starts)), [len(s) for s in choice.starts])
        self.start = np.concatenate([np.asarray(s, np.int64) for s in choice.starts])
        kind, number, d = choice.modes[self.row][:, [0, 3, 4]].T
        last = servers.least.shape[1] - 1
        sums = servers.least[kind, np.minimum(self.start + d, last)]
        sums = sums - servers.least[kind, np.minimum(self.start, last)]
        self.low: Floats = jobs.weight[j] * (self.start + d) + number * sums
        self.order = np.argsort(self.low, kind="stable")
        self.known: dict[int, float] = {}

    def cost(self, k: int) -> float:
        """Return weight * completion + cost of the cheapest placement; inf if there is none."""
        if k not in self.known:
            t, row = int(self.start[k]), int(self.row[k])
            found = best_schedule(
                self.jobs.types,
                self.modes[row],
                self.servers,
                arrival=t,
                weight=float(self.jobs.weight[self.j]),
                deadline=t + int(self.choice.modes[row, 4]),
            )
            self.known[k] = np.inf if found is None else found.value
        return self.known[k]

    def least(self) -> float:
        """Return the least cost of all."""
        best = np.inf
        for k in self.order.tolist():
            if self.low[k] >= best:
                break
            best = min(best, self.cost(k))
        return best

    def at_most(self, limit: float) -> Choices:
        """Return what costs no more than ``limit``."""
        limit *= 1 + MARGIN
        kept = [k for k in np.flatnonzero(self.low <= limit).tolist() if self.cost(k) <= limit]
        rows, starts = self.row[kept], self.start[kept]
        some = np.unique(rows)
        return Choices(self.choice.modes[some], [starts[rows == row].tolist() for row in some])


def _starts(jobs: Jobs, j: int, row: Ints, servers: PricedServers, limit: float, end: int) -> Ints:
    """Return the starts of one mode whose cheapest placement is within the limit."""
    d = int(row[4])
    arrival, weight = int(jobs.arrival[j]), float(jobs.weight[j])
    last = end - d
    if np.isfinite(limit):
        last = min(last, int(limit / weight) - d + 1)
    if last < arrival:
        return np.empty(0, np.int64)
    starts = np.arange(arrival, last + 1)
    if not np.isfinite(limit):
        return starts
    mode = _mode(jobs, j, row)
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


def _mode(jobs: Jobs, j: int, row: Ints) -> Modes:
    """Return the one mode of job j with the worker type, PS type, q, number and duration."""
    m, p, q, n, d = (int(x) for x in row)
    one = jobs.modes[j]
    same = (one.worker_type == m) & (one.together == q) & (one.workers == n) & (one.duration == d)
    mode = one.take(np.flatnonzero(same)[:1])
    mode.mask[:] = 1 << p
    return mode
