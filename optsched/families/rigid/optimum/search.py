"""Primal heuristics: list scheduling and large neighborhood search.

List scheduling (Graham, 1969) starts, whenever something ends or arrives, what fits, in an order
of priority; orders come from ratios (Smith, 1956) and from alpha points, the instants at which a
given share of a job is done in the relaxation (Hall et al., 1997). The large neighborhood search
(Shaw, 1998) moves a job to another place in the order of the starts, near or far. Jobs behind both
places are taken out with it, and all are put back in the new order, each as early as it fits. Worse
schedules are accepted now and then, as in simulated annealing (Kirkpatrick et al., 1983). One walk
goes on from call to call, and keeps the best schedule that it passes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.rigid.optimum.prices import PricedJobs
from optsched.families.rigid.optimum.timeline import BEFORE, earliest, insert, opened, remove
from optsched.families.rigid.profile import holds
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

DRAWS = 12  # random numbers of a round; all but four look for a job that waits


class Load(NamedTuple):
    """Demands of the jobs, and capacities."""

    tasks: Ints  # (n,)
    need: Ints  # (n, K) of one task
    bins: Ints  # (H, K) capacity of each node, or of the pool


class ListQueue(NamedTuple):
    """How far list scheduling has come."""

    arriving: Ints  # (n,) jobs in order of arrival
    rank: Ints  # (n,) of each job, by priority
    waiting: Ints  # (n,) jobs that wait, by rank
    running: Ints  # (n,) jobs that run, a heap by end
    ends: Ints  # (n,) their ends
    free: Ints  # (H, K) units of each resource on each node
    number: Ints  # (3,) jobs that have arrived, that wait, that run


def queue(order: Ints, jobs: PricedJobs, load: Load) -> ListQueue:
    """Return the queue before anything has arrived; ``order`` has shape (n,), jobs by priority."""
    n = order.size
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    waiting, running, ends = np.empty((3, n), np.int64)
    arriving = np.argsort(jobs.low, kind="stable")
    free, number = load.bins.copy(), np.zeros(3, np.int64)
    return ListQueue(arriving, rank, waiting, running, ends, free, number)


@kernel
def listed(
    line: ListQueue,
    jobs: PricedJobs,
    load: Load,
    depth: int,
    most: int,
    start: Ints,
    allocation: Ints,
) -> int:
    """Start jobs by priority whenever something ends or arrives: list scheduling.

    Parameters
    ----------
    line : Queue
        Is taken on, until all jobs have ended or some steps have been made.
    jobs : PricedJobs
    load : Load
    depth : int
        Jobs of the queue that are tried.
    most : int
        About this many elementary steps.
    start : shape (n,)
        Receives the starts.
    allocation : shape (n, H)
        Receives how many tasks run on each node.

    Returns
    -------
    int
        The number of steps, less than ``most`` at the end.
    """
    tasks, need, bins = load
    arriving, rank, waiting, running, ends, free, number = line
    come, m, r = number
    n, steps = arriving.size, 0
    while (come < n or m > 0) and steps < most:
        now = np.int64(2**62)
        if come < n:
            now = jobs.low[arriving[come]]
        if r > 0:
            now = min(now, ends[0])
        while r > 0 and ends[0] == now:
            i = running[0]
            for h in range(bins.shape[0]):
                free[h] += allocation[i, h] * need[i]
            r -= 1
            end, last, at = ends[r], running[r], 0
            while True:
                child = 2 * at + 1
                if child >= r:
                    break
                if child + 1 < r and ends[child + 1] < ends[child]:
                    child += 1
                if ends[child] >= end:
                    break
                ends[at], running[at] = ends[child], running[child]
                at = child
            ends[at], running[at] = end, last
        while come < n and jobs.low[arriving[come]] <= now:
            i = arriving[come]
            at = m
            while at > 0 and rank[waiting[at - 1]] > rank[i]:
                waiting[at] = waiting[at - 1]
                at -= 1
            waiting[at] = i
            steps += 1 + m - at
            m += 1
            come += 1
        left, tried = 0, min(m, depth)
        for k in range(tried):
            i = waiting[k]
            if holds(free, tasks[i], need[i], allocation[i]) == tasks[i]:
                start[i] = now
                for h in range(bins.shape[0]):
                    free[h] -= allocation[i, h] * need[i]
                end, at = now + jobs.run[i], r
                while at > 0 and ends[(at - 1) // 2] > end:
                    ends[at], running[at] = ends[(at - 1) // 2], running[(at - 1) // 2]
                    at = (at - 1) // 2
                ends[at], running[at] = end, i
                r += 1
            else:
                waiting[left] = i
                left += 1
        steps += 4 * tried * bins.shape[0]
        if left < tried:
            for k in range(tried, m):
                waiting[left + k - tried] = waiting[k]
            steps += m - tried
            m -= tried - left
    number[0], number[1], number[2] = come, m, r
    return steps


@kernel
def total(jobs: PricedJobs, late: float, start: Ints) -> float:
    """Return the cost of a schedule; ``late`` is the cost of a second of makespan.

    ``start`` has shape (n,).
    """
    cost, end = 0.0, 0
    for i in range(start.size):
        cost += jobs.rate[i] * max(jobs.floor[i], start[i] - jobs.arrival[i] + jobs.shift[i])
        end = max(end, start[i] + jobs.run[i])
    return cost + late * end


class Walk(NamedTuple):
    """State of the search, and the best schedule so far."""

    start: Ints  # (n,) in seconds
    allocation: Ints  # (n, H) tasks of each job on each node
    best_start: Ints  # (n,) in seconds
    best_allocation: Ints  # (n, H)
    cost: Floats  # (2,) here, and of the best


@kernel
def shake(
    jobs: PricedJobs,
    load: Load,
    late: float,
    walk: Walk,
    most_behind: int,
    draws: Floats,
    heat: float,
) -> int:
    """Go on with the large neighborhood search for some rounds.

    Parameters
    ----------
    jobs : PricedJobs
    load : Load
    late : float
        Cost of a second of makespan.
    walk : Walk
        Receives the schedules.
    most_behind : int
        Jobs behind the old place, and as many behind the new one, that move as well, at most.
    draws : shape (rounds, DRAWS)
        Random numbers of [0, 1).
    heat : float
        About how much worse a schedule may be and still be accepted.

    Returns
    -------
    int
        The number of events that were passed.
    """
    tasks, need, bins = load
    start, allocation, best_start, best_allocation, costs = walk
    n, nodes = start.size, bins.shape[0]
    line = opened(jobs.low, bins)
    passed = near = 0
    order = np.argsort(start)
    for i in order:
        passed += insert(line, i, start[i], jobs.run[i], need[i], allocation[i], near)
        near = 2 + 3 * i
    cost, best = total(jobs, late, start), costs[1]
    most, tries = min(n, 2 * most_behind + 1), DRAWS - 4
    out, old_start, before = np.empty((3, most), np.int64)
    old_allocation = np.empty((most, nodes), np.int64)
    for number in range(draws.shape[0]):
        draw = draws[number]
        # a job, which waits if it is to be earlier, and another place in the order of the starts
        earlier = draw[tries + 2] < 0.5
        at = int(draw[0] * n)
        for k in range(1, tries):
            if not earlier or start[order[at]] > jobs.low[order[at]]:
                break
            at = int(draw[k] * n)
        chosen = order[at]
        apart = int(n ** draw[tries])
        behind = 1 + int(most_behind * draw[tries + 1] ** 3)
        low = high = at
        m = ahead = 0
        if earlier:
            while low > 0 and at - low < apart and start[order[low - 1]] >= jobs.low[chosen]:
                low -= 1
            out[m] = chosen
            m += 1
            for k in range(low, min(at, low + behind)):
                out[m] = order[k]
                m += 1
        else:
            high = min(n - 1, at + apart)
            for k in range(at + 1, min(high, at + behind) + 1):
                out[m] = order[k]
                m += 1
            ahead = m
            out[m] = chosen
            m += 1
        for k in range(high + 1, min(n, high + 1 + behind)):
            out[m] = order[k]
            m += 1
        for k in range(m):
            i = out[k]
            old_start[k], old_allocation[k] = start[i], allocation[i]
            passed += remove(line, i, need[i], allocation[i])
            before[k] = line[2 + 3 * i, BEFORE]
        now, moved, back, limit = cost, False, 0, cost - heat * np.log(1.0 - draw[DRAWS - 1])
        first = 1 if earlier else ahead  # where these return to their old starts, so do all others
        while back < m and (moved or back < first) and now <= limit:
            i = out[back]
            start[i], near, looked = earliest(
                line, i, jobs.run[i], tasks[i], need[i], allocation[i]
            )
            passed += looked + insert(line, i, start[i], jobs.run[i], need[i], allocation[i], near)
            arrived, old = jobs.arrival[i] - jobs.shift[i], old_start[back]
            now += jobs.rate[i] * (
                max(jobs.floor[i], start[i] - arrived) - max(jobs.floor[i], old - arrived)
            )
            moved |= start[i] != old
            back += 1
        if back == m and late > 0:
            now = total(jobs, late, start)
        if back == m and now <= limit:
            cost = now
            if earlier:
                for k in range(high, low, -1):
                    order[k] = order[k - 1]
                order[low] = chosen
            else:
                for k in range(low, high):
                    order[k] = order[k + 1]
                order[high] = chosen
            sort(order, start, low, min(n, low + 1 + behind))
            sort(order, start, high, min(n, high + 1 + behind))
            if now < best - 1e-9 * abs(best):
                best = now
                best_start[:], best_allocation[:] = start, allocation
        else:
            for k in range(back):
                i = out[k]
                passed += remove(line, i, need[i], allocation[i])
            for k in range(m - 1, -1, -1):
                i = out[k]
                start[i], allocation[i] = old_start[k], old_allocation[k]
                passed += insert(line, i, start[i], jobs.run[i], need[i], allocation[i], before[k])
    costs[0], costs[1] = cost, best
    return passed


@kernel
def sort(order: Ints, start: Ints, low: int, end: int) -> None:
    """Sort jobs by their starts, where those before ``low``, and from ``end`` on, are sorted.

    ``order`` and ``start`` are of shape (I,).
    """
    k = max(low, 1)
    while k < order.size and (k < end or start[order[k]] < start[order[k - 1]]):
        i, at = order[k], k
        while at > 0 and start[order[at - 1]] > start[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
        k += 1
