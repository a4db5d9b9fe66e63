"""Progressive filling on dominant shares.

Ghodsi, Zaharia, Hindman, Konwinski, Shenker, Stoica: Dominant Resource Fairness. NSDI 2011,
Algorithm 1. The task that is handed out is a worker with the parameter servers (PS) that it makes
necessary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from optsched.numbers.arrays import Floats
from optsched.numbers.kernels import kernel
from optsched.scheduling.online.pool import Counts, Pool


@dataclass(frozen=True, eq=False)
class ElasticJob:
    """A job that takes as many workers as it can get."""

    worker_demand: Counts  # (R,) units of the pool
    ps_demand: Counts  # (R,)
    ps: Counts  # (at least most + 1,) PS that 0, 1, 2, ... workers need
    most: int  # workers

    def served(self, workers: int, ps: int) -> int:
        """Return the most workers, up to ``workers``, for which ``ps`` PS are enough."""
        return int(np.searchsorted(self.ps[: workers + 1], ps, side="right")) - 1


def unit_shares(workers: Pool, servers: Pool, request: ElasticJob) -> tuple[Floats, Floats]:
    """Return the shares of the cluster that one worker, and one PS, takes of every resource.

    Where both live on the same machines they share R resources; else there are 2 R.

    Returns
    -------
    of_worker, of_ps : shape (R,) or (2 R,)
    """
    w, s = workers.shares(request.worker_demand), servers.shares(request.ps_demand)
    if workers is servers:
        return w, s
    return np.concatenate((w, np.zeros_like(s))), np.concatenate((np.zeros_like(w), s))


def progressive_filling(
    workers: Pool, servers: Pool, requests: Sequence[ElasticJob]
) -> tuple[Counts, Counts]:
    """Hand out workers one by one, always to the job with the least dominant share.

    The dominant share is the largest part of the total capacity that a job holds of any resource. A
    worker and the PS it makes necessary are placed at once, round robin; where that is impossible
    the job gets no more. Shares within 1e-9 (relative) are equal, and equals are served in the
    order of ``requests``.

    Parameters
    ----------
    workers, servers : Pool
        What is free; the same pool if both live on the same machines. They are filled.
    requests : sequence of length J

    Returns
    -------
    worker_counts : shape (J, H)
    ps_counts : shape (J, K)
    """
    n, h, k = len(requests), len(workers.free), len(servers.free)
    given = np.zeros((n, h), np.int64), np.zeros((n, k), np.int64)
    if not n:
        return given
    ps = np.zeros((n, max(q.most for q in requests) + 1), np.int64)
    for j, q in enumerate(requests):
        ps[j, : q.most + 1] = q.ps[: q.most + 1]
    shares = [unit_shares(workers, servers, q) for q in requests]
    jobs = _Jobs(
        (
            np.array([q.worker_demand for q in requests]),
            np.array([q.ps_demand for q in requests]),
        ),
        (np.array([s[0] for s in shares]), np.array([s[1] for s in shares])),
        ps,
        np.array([q.most for q in requests], np.int64),
    )
    spots, pointer = np.empty(int(ps.max()), np.int64), np.array([workers.next, servers.next])
    _fill((workers.free, servers.free), workers is servers, jobs, pointer, spots, given)
    workers.next, servers.next = pointer.tolist()
    return given


@cache
def compile_kernels() -> None:
    """Compile what `progressive_filling` runs, so that no decision is timed with it."""
    pool, one = Pool([[1.0]]), np.ones(1, np.int64)
    progressive_filling(pool, pool.copy(), [ElasticJob(one, one, np.arange(2), 1)])


@kernel(inline="always")
def _find(free: Counts, demand: Counts, start: int) -> int:
    """Return the first machine from ``start`` on, cyclically, with capacity for one, or -1."""
    for step in range(len(free)):
        h = (start + step) % len(free)
        fits = True
        for r in range(len(demand)):
            fits &= free[h, r] >= demand[r]
        if fits:
            return h
    return -1


class _Jobs(NamedTuple):
    """J jobs that request workers; pairs are of a worker, and of a PS."""

    demand: tuple[Counts, Counts]  # (J, R) units of the pool
    share: tuple[Floats, Floats]  # (J, Q) of the cluster
    ps: Counts  # (J, N + 1) PS that 0, 1, 2, ... workers need
    most: Counts  # (J,) workers


@kernel
def _fill(
    free: tuple[Counts, Counts],
    shared: bool,
    jobs: _Jobs,
    pointer: Counts,
    spots: Counts,
    given: tuple[Counts, Counts],
) -> None:
    """Hand out workers and PS, see `progressive_filling`.

    Parameters
    ----------
    free : pair of arrays of shape (H, R) and (K, R)
        Units of the pool; the same array where machines are ``shared``.
    pointer : array of shape (2,)
        Where the round robins of workers and PS go on.
    spots : scratch, as many as PS that are needed at once
    given : pair of arrays of shape (J, H) and (J, K)
        Receive the workers, and the PS.
    """
    ps, most = jobs.ps, jobs.most
    resources, shares = jobs.demand[0].shape[1], jobs.share[0].shape[1]
    n, dominant = np.empty(most.size, np.int64), np.empty(most.size)
    for i in range(most.size):
        n[i] = 0
        dominant[i] = 0.0 if most[i] > 0 else np.inf  # inf: gets no more
    while True:
        j = 0
        for i in range(1, most.size):
            if dominant[i] < dominant[j] * (1 - 1e-9):
                j = i
        if dominant[j] == np.inf:
            return
        before = pointer[0], pointer[1]
        need, placed = ps[j, n[j] + 1] - ps[j, n[j]], 0
        at = -1
        for step in range(need + 1):  # the worker, and then its PS
            side = min(step, 1)
            there, demand = free[side], jobs.demand[side][j]
            spot = _find(there, demand, pointer[side])
            if spot < 0:
                break
            for r in range(resources):
                there[spot, r] -= demand[r]
            pointer[side] = (spot + 1) % len(there)
            if shared:
                pointer[1 - side] = pointer[side]
            if step == 0:
                at = spot
            else:
                spots[placed] = spot
                placed += 1
        if at < 0 or placed < need:  # it does not fit: put everything back
            for r in range(resources):
                if at >= 0:
                    free[0][at, r] += jobs.demand[0][j, r]
                for k in range(placed):
                    free[1][spots[k], r] += jobs.demand[1][j, r]
            pointer[0], pointer[1] = before
            dominant[j] = np.inf
            continue
        given[0][j, at] += 1
        for k in range(placed):
            given[1][j, spots[k]] += 1
        n[j] += 1
        dominant[j] = 0.0
        for q in range(shares):
            held = n[j] * jobs.share[0][j, q] + ps[j, n[j]] * jobs.share[1][j, q]
            dominant[j] = max(dominant[j], held)
        if n[j] == most[j]:
            dominant[j] = np.inf
