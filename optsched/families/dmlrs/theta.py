"""Kernels: the cheapest placements of one job in one slot, theta(t, .) for all amounts at once.

n workers either sit on one machine with all their parameter servers (PS), at the inner rate, or
are spread over two or more, at the outer rate. The first is a scan; the second a dynamic program
over machines whose state is (workers placed, PS placed, one machine used | two or more), since a
placement that lands on one machine is inner. Machines are visited from the cheapest, until the
lower bounds of those that are left show that nothing gets cheaper.

Demands and free amounts are integers in `resources.Units`, held as floats. A *machine* may stand
for ``count`` equal ones; they are visited one by one.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.kernels import kernel
from optsched.scheduling.slots import Floats, Ints, cheapest

LESS = 1.0 - 1e-12  # a cost must be lower by this to replace one that was found before


@kernel
def joint_room(free: Floats, h: int, alpha: Floats, beta: Floats, w: int, most: int) -> int:
    """Count the PS, at most ``most``, that fit on machine ``h`` beside ``w`` workers; -1: not w."""
    room = most
    for r in range(alpha.size):
        left = free[r, h] - w * alpha[r]
        if left < 0.0:
            return -1
        if beta[r] > 0.0 and left < room * beta[r]:
            room = math.floor(left / beta[r])
    return room


@kernel
def inner_costs(
    worker: Floats,
    ps: Floats,
    free: Floats,
    alpha: Floats,
    beta: Floats,
    room: Floats,
    ps_inner: Ints,
    most: int,
    cost: Floats,
    host: Ints,
) -> int:
    """Fill ``cost[n]`` and ``host[n]`` with the cheapest single machine for n workers and their PS.

    Parameters
    ----------
    worker, ps : arrays of shape (H,)
        Price of one worker, one PS, on every machine.
    free : array of shape (R, H)
    room : array of shape (H,)
        Workers that every machine holds.
    ps_inner : array
        PS that n workers need; below 0: n is impossible.
    most : int
        The most workers of interest.

    Returns
    -------
    int
        The largest n for which there is a machine; beyond it, costs are inf up to ``most``.
    """
    cost[0] = 0.0
    host[0] = -1
    for n in range(1, most + 1):
        cost[n] = np.inf
        host[n] = -1
    last = 0
    for h in range(worker.size):
        n = min(most, int(room[h]))
        while n > 0:
            m = ps_inner[n]
            if m >= 0:
                fits = True
                for r in range(alpha.size):
                    if n * alpha[r] + m * beta[r] > free[r, h]:
                        fits = False
                        break
                if fits:
                    break
            n -= 1
        last = max(last, n)
        w, s = worker[h], ps[h]
        while n > 0:
            m = ps_inner[n]
            if m >= 0:
                c = n * w + m * s
                if c < cost[n] * LESS:
                    cost[n] = c
                    host[n] = h
            n -= 1
    return last


@kernel
def _visit(
    h: int,
    price: tuple[float, float],
    free: Floats,
    alpha: Floats,
    beta: Floats,
    n_max: int,
    m_max: int,
    reach: tuple[int, int],
    room: int,
    servers: Ints,
    one: Floats,
    more: Floats,
    keep: bool,
    chosen: Ints,
) -> None:
    """Let machine ``h`` host w workers and s PS, for all (w, s) that fit.

    ``reach`` bounds the workers and PS that the machines visited before can hold.
    ``chosen[0]`` and ``chosen[1]`` of shape (N + 1, M + 1) receive, if ``keep``, what the machine
    hosts in the best ways over one machine and over more: -1 nothing, else 2 (w (M + 1) + s) +
    (1: the rest sits on more than one machine).
    """
    most = min(n_max, room)
    for w in range(most + 1):
        servers[w] = joint_room(free, h, alpha, beta, w, m_max)
    worker, ps = price
    for n in range(min(n_max, reach[0] + most), -1, -1):
        for m in range(min(m_max, reach[1] + max(0, servers[0])), -1, -1):
            best = more[n, m]
            limit = best * LESS
            code = -1
            for w in range(max(0, n - reach[0]), min(n, most) + 1):
                top = min(m, servers[w])
                base = w * worker
                for s in range(max(0 if w > 0 else 1, m - reach[1]), top + 1):
                    c = base + s * ps
                    if w == n and s == m:
                        if c < one[n, m] * LESS:
                            one[n, m] = c
                            if keep:
                                chosen[0, n, m] = 2 * (w * (m_max + 1) + s)
                        continue
                    x, y = one[n - w, m - s], more[n - w, m - s]
                    z = (x if x <= y else y) + c
                    if z < limit:
                        best = z
                        limit = z * LESS
                        code = 2 * (w * (m_max + 1) + s) + (0 if x <= y else 1)
            if code >= 0:
                more[n, m] = best
                if keep:
                    chosen[1, n, m] = code


@kernel
def outer_costs(
    worker: Floats,
    ps: Floats,
    free: Floats,
    alpha: Floats,
    beta: Floats,
    count: Ints,
    room: Floats,
    ps_room: Floats,
    ps_outer: Ints,
    most: int,
    heap: Ints,
    low_worker: Floats,
    low_ps: Floats,
    left: Floats,
    servers: Ints,
    one: Floats,
    more: Floats,
    keep: bool,
    chosen: Ints,
    visited: Ints,
    cost: Floats,
) -> tuple[int, int]:
    """Fill ``cost[n]`` with the least cost of n workers and their PS on two machines or more.

    Parameters
    ----------
    worker, ps, free, alpha, beta, room, ps_outer, most
        As in `inner_costs`; ``room`` counts workers, ``ps_room`` PS, each alone on a machine.
    count : array of shape (H,)
        How many equal machines each entry stands for.
    heap, low_worker, low_ps, left, servers : scratch
        (H,), most + 1, most + 1, (2, H), most + 1.
    one, more : scratch of at least (most + 1, PS + 1)
    keep : bool
        Whether ``chosen[v]`` of shape (2, most + 1, PS + 1) and ``visited[v]``, for the v-th visit,
        are to be filled for `outer_places`.
    cost : array of at least most + 1

    Returns
    -------
    last, visits : int
        The largest n for which there may be a placement (beyond it, costs are inf up to ``most``);
        how many machines were visited.
    """
    for n in range(most + 1):
        cost[n] = np.inf
    cost[0] = 0.0
    n_max = cheapest(worker, room, count, most, heap, low_worker)
    while n_max > 0 and ps_outer[n_max] < 0:
        n_max -= 1
    if n_max == 0:
        return 0, 0
    m_max = cheapest(ps, ps_room, count, ps_outer[n_max], heap, low_ps)
    while n_max > 0 and (ps_outer[n_max] < 0 or ps_outer[n_max] > m_max):
        n_max -= 1
    if n_max == 0:
        return 0, 0
    m_max = ps_outer[n_max]
    for n in range(n_max + 1):
        for m in range(m_max + 1):
            one[n, m], more[n, m] = np.inf, np.inf
    order = np.argsort(worker + ps, kind="mergesort")
    least_w, least_s = np.inf, np.inf  # cheapest single worker and PS on machines not yet visited
    for k in range(order.size - 1, -1, -1):
        left[0, k], left[1, k] = least_w, least_s  # after the k-th has been visited
        h = order[k]
        if room[h] >= 1.0:
            least_w = min(least_w, worker[h])
        if ps_room[h] >= 1.0:
            least_s = min(least_s, ps[h])
    visits, reach_w, reach_s = 0, 0, 0
    for k in range(order.size):
        h = order[k]
        if room[h] < 1.0 and ps_room[h] < 1.0:
            continue
        copies = min(count[h], n_max + m_max)
        for copy in range(copies):
            if keep:
                visited[visits] = h
                for n in range(n_max + 1):
                    for m in range(m_max + 1):
                        chosen[visits, 0, n, m], chosen[visits, 1, n, m] = -1, -1
            _visit(
                h,
                (worker[h], ps[h]),
                free,
                alpha,
                beta,
                n_max,
                m_max,
                (reach_w, reach_s),
                int(room[h]),
                servers,
                one,
                more,
                keep,
                chosen[visits if keep else 0],
            )
            visits += 1
            reach_w = min(n_max, reach_w + int(room[h]))
            reach_s = min(m_max, reach_s + int(ps_room[h]))
            w_left, s_left = left[0, k], left[1, k]
            if copy + 1 < copies:
                if room[h] >= 1.0:
                    w_left = min(w_left, worker[h])
                if ps_room[h] >= 1.0:
                    s_left = min(s_left, ps[h])
            enough = True
            for n in range(n_max, 0, -1):
                m = ps_outer[n]
                bound = min(
                    low_worker[n - 1] + w_left + low_ps[m],
                    low_worker[n] + low_ps[m - 1] + s_left,
                )
                if not more[n, m] * LESS <= bound:
                    enough = False
                    break
            if enough:
                break
        if enough:
            break
    last = 0
    for n in range(1, n_max + 1):
        cost[n] = more[n, ps_outer[n]]
        if cost[n] < np.inf:
            last = n
    return last, visits


@kernel
def outer_places(
    visits: int, visited: Ints, chosen: Ints, n: int, m: int, m_max: int, out: Ints
) -> int:
    """Read the placement of ``n`` workers and ``m`` PS out of what `outer_costs` kept.

    ``out`` receives rows [machine, workers, PS]; returns how many.
    """
    used = 0
    table = 1
    for v in range(visits - 1, -1, -1):
        code = chosen[v, table, n, m]
        if code < 0:
            continue
        table = code % 2
        w, s = divmod(code // 2, m_max + 1)
        out[used, 0], out[used, 1], out[used, 2] = visited[v], w, s
        used += 1
        n -= w
        m -= s
        if n == 0 and m == 0:
            break
    return used
