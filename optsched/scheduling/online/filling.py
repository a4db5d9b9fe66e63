"""Progressive filling on dominant shares.

Ghodsi, Zaharia, Hindman, Konwinski, Shenker, Stoica: Dominant Resource Fairness. NSDI 2011,
Algorithm 1. The task that is handed out is a worker with the parameter servers (PS) that it makes
necessary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from optsched.numbers.arrays import Floats
from optsched.numbers.kernels import kernel
from optsched.scheduling.online.pool import Counts, Pool


@dataclass(frozen=True, eq=False)
class Request:
    """A job that wants as many workers as it can get."""

    worker_demand: Counts  # (R,) units of the pool
    ps_demand: Counts  # (R,)
    ps: Counts  # (at least most + 1,) PS that 0, 1, 2, ... workers need
    most: int  # workers

    def served(self, workers: int, ps: int) -> int:
        """Return the most workers, up to ``workers``, for which ``ps`` PS are enough."""
        return int(np.searchsorted(self.ps[: workers + 1], ps, side="right")) - 1


def unit_shares(workers: Pool, servers: Pool, request: Request) -> tuple[Floats, Floats]:
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
    workers: Pool, servers: Pool, requests: Sequence[Request]
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
    most = np.array([q.most for q in requests], np.int64)
    ps = np.zeros((n, int(most.max()) + 1), np.int64)
    for j, q in enumerate(requests):
        ps[j, : q.most + 1] = q.ps[: q.most + 1]
    shares = [unit_shares(workers, servers, q) for q in requests]
    workers.next, servers.next = _fill(
        workers.free,
        servers.free,
        np.array([q.worker_demand for q in requests]),
        np.array([q.ps_demand for q in requests]),
        np.array([s[0] for s in shares]),
        np.array([s[1] for s in shares]),
        ps,
        most,
        np.array([workers.next, servers.next]),
        workers is servers,
        np.empty(int(ps.max()), np.int64),
        *given,
    )
    return given


@cache
def compile_kernels() -> None:
    """Compile what `progressive_filling` runs, so that no decision is timed with it."""
    pool, one = Pool([[1.0]]), np.ones(1, np.int64)
    progressive_filling(pool, pool.copy(), [Request(one, one, np.arange(2), 1)])


@kernel(inline="always")
def _find(free: Counts, demand: Counts, start: int) -> int:
    """Return the first machine from ``start`` on, cyclically, that has room for one, or -1."""
    for step in range(len(free)):
        h = (start + step) % len(free)
        fits = True
        for r in range(len(demand)):
            fits &= free[h, r] >= demand[r]
        if fits:
            return h
    return -1


@kernel
def _fill(
    free_w: Counts,  # (H, R), the same array as free_s if machines are shared
    free_s: Counts,  # (K, R)
    demand_w: Counts,  # (J, R)
    demand_s: Counts,  # (J, R)
    share_w: Floats,  # (J, Q)
    share_s: Floats,  # (J, Q)
    ps: Counts,  # (J, N + 1)
    most: Counts,  # (J,)
    pointer: Counts,  # (2,)
    shared: bool,
    spots: Counts,  # as many as PS that are needed at once: scratch
    workers: Counts,  # (J, H), out
    servers: Counts,  # (J, K), out
) -> tuple[int, int]:
    jobs, resources, shares = len(most), demand_w.shape[1], share_w.shape[1]
    n, dominant = np.empty(jobs, np.int64), np.empty(jobs)
    for i in range(jobs):
        n[i] = 0
        dominant[i] = 0.0 if most[i] > 0 else np.inf  # inf: gets no more
    while True:
        j = 0
        for i in range(1, jobs):
            if dominant[i] < dominant[j] * (1 - 1e-9):
                j = i
        if dominant[j] == np.inf:
            return pointer[0], pointer[1]
        before = pointer[0], pointer[1]
        need, placed = ps[j, n[j] + 1] - ps[j, n[j]], 0
        at = -1
        for step in range(need + 1):  # the worker, and then its PS
            side = min(step, 1)
            free, demand = (free_w, demand_w) if step == 0 else (free_s, demand_s)
            spot = _find(free, demand[j], pointer[side])
            if spot < 0:
                break
            for r in range(resources):
                free[spot, r] -= demand[j, r]
            pointer[side] = (spot + 1) % len(free)
            if shared:
                pointer[1 - side] = pointer[side]
            if step == 0:
                at = spot
            else:
                spots[placed] = spot
                placed += 1
        if at < 0 or placed < need:  # no room: put everything back
            for r in range(resources):
                if at >= 0:
                    free_w[at, r] += demand_w[j, r]
                for k in range(placed):
                    free_s[spots[k], r] += demand_s[j, r]
            pointer[0], pointer[1] = before
            dominant[j] = np.inf
            continue
        workers[j, at] += 1
        for k in range(placed):
            servers[j, spots[k]] += 1
        n[j] += 1
        dominant[j] = 0.0
        for q in range(shares):
            held = n[j] * share_w[j, q] + ps[j, n[j]] * share_s[j, q]
            dominant[j] = max(dominant[j], held)
        if n[j] == most[j]:
            dominant[j] = np.inf
