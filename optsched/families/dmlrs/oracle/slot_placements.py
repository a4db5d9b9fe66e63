"""Kernel: slot costs by a dynamic program over machines: cheapest placements of a job in a slot.

It computes theta(t, .) for all amounts at once (Bellman, 1957). n workers either sit on one
machine with all their parameter servers (PS), at the inner rate, or are spread over two or more,
at the outer rate. The first is a scan; the second a dynamic program over machines whose state is
(workers placed, PS placed, one machine used | two or more), since a placement that ends up on one
machine is inner. Machines are visited until lower bounds show that the remaining ones make nothing
cheaper: a few from the one on where worker and PS together are cheapest, then those with the
cheapest of what might still reduce the cost, or of both in turns.

Demands and free amounts are integers in `resources.Units`, held as floats. A *machine* may stand
for ``count`` equal ones; they are visited one by one.

Every function that a kernel calls is compiled, and then once more inside that kernel. So this is
one function, and not one for each step.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.families.dmlrs.oracle.request import Hosts, Request, Scratch
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.schedule import PricedMachines
from optsched.scheduling.oracle.slots import charge_leftovers, cheapest, unit_prices, units_that_fit

WORKER, PS, BOTH = 0, 1, 2  # kind of unit for which the next machine is the cheapest
FEW = 4  # machines that are visited from the one that is cheapest for both on
LESS = 1.0 - 1e-12  # a cost must be lower by this to replace one that was found before


@kernel(error_model="numpy")
def open_slot(
    slot: int,
    job: Request,
    machines: PricedMachines,
    most_inner: int,
    most_outer: int,
    scratch: Scratch,
    hosts: Hosts,
) -> tuple[int, int, int]:
    """Fill ``scratch.parts[0, n]`` and ``[1, n]`` with the least cost of n workers and their PS.

    ``scratch.numbers[0, n]`` receives the host of n inner workers; ``hosts``, if not empty, those
    of outer ones.

    Parameters
    ----------
    most_inner, most_outer : int
        The most workers of interest, on one machine and on more.

    Returns
    -------
    inner_last, outer_last, visits : int
        The largest n for which there may be a placement of either kind (beyond it, costs are inf up
        to the most); how many machines were visited.
    """
    price, free, count = machines.price[slot], machines.free[slot], machines.count
    alpha, beta, ps_inner, ps_outer = job.worker_demand, job.ps_demand, job.ps_inner, job.ps_outer
    machine_floats, machine_ints, parts, numbers, one, more, abandoned, steps = scratch
    visited, chosen = hosts
    keep = visited.size > 0
    entries, resources = count.size, alpha.size
    worker, ps = machine_floats[0, :entries], machine_floats[1, :entries]
    max_units, max_ps = machine_floats[2, :entries], machine_floats[3, :entries]
    unit_prices(price, alpha, worker)
    unit_prices(price, beta, ps)
    units_that_fit(free, alpha, max(most_inner, most_outer), max_units)
    if machines.fragmentation_penalty > 0.0:
        charge_leftovers(price, free, max_units, machines.fragmentation_penalty, worker)
    # on one machine
    for n in range(most_inner + 1):
        parts[0, n] = np.inf
        numbers[0, n] = -1
    parts[0, 0], parts[1, 0] = 0.0, 0.0
    inner_last = 0
    for h in range(entries):
        n = min(most_inner, int(max_units[h]))
        fits = False  # fewer fit as well
        while n > 0:
            m = ps_inner[n]
            if m >= 0 and not fits:
                fits = True
                for r in range(resources):
                    if n * alpha[r] + m * beta[r] > free[r, h]:
                        fits = False
                        break
                if fits:
                    inner_last = max(inner_last, n)
            if m >= 0 and fits:
                c = n * worker[h] + m * ps[h]
                if c < parts[0, n] * LESS:
                    parts[0, n] = c
                    numbers[0, n] = h
            n -= 1
    if most_outer == 0:
        return inner_last, 0, 0
    # on more
    units_that_fit(free, beta, max(0, ps_outer[most_outer]), max_ps)
    for n in range(1, most_outer + 1):
        parts[1, n] = np.inf
    n_max = cheapest(worker, max_units, count, most_outer, machine_ints, parts[2])
    while n_max > 0 and ps_outer[n_max] < 0:
        n_max -= 1
    if n_max == 0:
        return inner_last, 0, 0
    m_max = cheapest(ps, max_ps, count, ps_outer[n_max], machine_ints, parts[3])
    while n_max > 0 and (ps_outer[n_max] < 0 or ps_outer[n_max] > m_max):
        n_max -= 1
    if n_max == 0:
        return inner_last, 0, 0
    m_max = ps_outer[n_max]
    table = float((n_max + 1) * (m_max + 1))
    steps[0] += table
    if steps[0] > steps[1]:
        return 0, 0, 0
    for n in range(n_max + 1):
        for m in range(m_max + 1):
            one[n, m], more[n, m] = np.inf, np.inf
    ahead, both, rest = machine_ints, machine_floats[4], 0  # ahead[:rest]: not yet visited
    for h in range(entries):
        both[h] = worker[h] + ps[h]
        if max_units[h] >= 1.0 or max_ps[h] >= 1.0:
            ahead[rest] = h
            rest += 1
    visits, reach_w, reach_s = 0, 0, 0  # workers and PS that the machines visited before can hold
    enough, h, wanted = False, -1, BOTH
    while True:
        following, following_w, following_s = -1, -1, -1  # places in ahead; few visits: no sorting
        low, least_w, least_s = np.inf, np.inf, np.inf
        steps[0] += 5 * rest
        for j in range(rest):
            i = ahead[j]
            if following < 0 or both[i] < low or (both[i] == low and i < ahead[following]):
                following, low = j, both[i]
            if max_units[i] >= 1.0 and (
                worker[i] < least_w or (worker[i] == least_w and i < ahead[following_w])
            ):
                following_w, least_w = j, worker[i]
            if max_ps[i] >= 1.0 and (
                ps[i] < least_s or (ps[i] == least_s and i < ahead[following_s])
            ):
                following_s, least_s = j, ps[i]
        if h >= 0:
            most, w_price, s_price = min(n_max, int(max_units[h])), worker[h], ps[h]
            for w in range(most + 1):  # PS that fit next to w workers
                top = m_max
                for r in range(resources):
                    left = free[r, h] - w * alpha[r]
                    if left < 0.0:
                        top = -1
                        break
                    if beta[r] > 0.0 and left < top * beta[r]:
                        top = math.floor(left / beta[r])
                numbers[1, w] = top
            ways = most + 1
            for w in range(most + 1):
                ways += 1 + numbers[1, w]
            copies = min(count[h], n_max + m_max)
            for copy in range(copies):
                if keep:
                    steps[0] += table
                    visited[visits] = h
                    for n in range(n_max + 1):
                        for m in range(m_max + 1):
                            chosen[visits, 0, n, m], chosen[visits, 1, n, m] = -1, -1
                m_reach = min(m_max, reach_s + max(0, numbers[1, 0]))
                for n in range(min(n_max, reach_w + most), -1, -1):
                    steps[0] += (m_reach + 1) * ways
                    if steps[0] > steps[1]:
                        return 0, 0, 0
                    for m in range(m_reach, -1, -1):
                        if abandoned[0]:
                            return 0, 0, 0
                        best = more[n, m]
                        limit = best * LESS
                        code = -1
                        for w in range(max(0, n - reach_w), min(n, most) + 1):
                            base = w * w_price
                            first, last = max(0 if w > 0 else 1, m - reach_s), min(m, numbers[1, w])
                            if w == n and first <= m <= last:  # all of it on this machine
                                last -= 1
                                c = base + m * s_price
                                if c < one[n, m] * LESS:
                                    one[n, m] = c
                                    if keep:
                                        chosen[visits, 0, n, m] = 2 * (w * (m_max + 1) + m)
                            for s in range(first, last + 1):
                                c = base + s * s_price
                                x, y = one[n - w, m - s], more[n - w, m - s]
                                z = (x if x <= y else y) + c
                                if z < limit:
                                    best = z
                                    limit = z * LESS
                                    code = 2 * (w * (m_max + 1) + s) + (0 if x <= y else 1)
                        if code >= 0:
                            more[n, m] = best
                            if keep:
                                chosen[visits, 1, n, m] = code
                visits += 1
                reach_w = min(n_max, reach_w + int(max_units[h]))
                reach_s = min(m_max, reach_s + int(max_ps[h]))
                w_left, s_left = least_w, least_s
                if copy + 1 < copies:
                    if max_units[h] >= 1.0:
                        w_left = min(w_left, w_price)
                    if max_ps[h] >= 1.0:
                        s_left = min(s_left, s_price)
                enough = True
                for n in range(n_max, 0, -1):
                    m, found = ps_outer[n], more[n, ps_outer[n]] * LESS
                    by_worker = not found <= parts[2, n - 1] + w_left + parts[3, m]
                    by_ps = not found <= parts[2, n] + parts[3, m - 1] + s_left
                    if by_worker or by_ps:
                        enough = False
                        wanted = WORKER if by_worker else PS
                        if by_worker and by_ps:
                            wanted = BOTH if visits < FEW else visits % 2
                        break
                if enough:
                    break
        if wanted == WORKER:
            following = following_w
        elif wanted == PS:
            following = following_s
        if enough or following < 0:
            break
        h = ahead[following]
        rest -= 1
        ahead[following] = ahead[rest]
    outer_last = 0
    for n in range(1, n_max + 1):
        parts[1, n] = more[n, ps_outer[n]]
        if parts[1, n] < np.inf:
            outer_last = n
    return inner_last, outer_last, visits
