"""Kernel: parallel schedule generation scheme, which starts jobs by priority as soon as they fit.

See Kolisch (1996): time moves from one arrival or completion to the next. Waiting jobs are tried
in priority order, each with the modes on its list, and start in the first mode that fits now;
later jobs may overtake those that do not fit. Jobs go to servers by best fit (Johnson, 1974):
where the least value of capacity is left free. It schedules thousands of jobs in milliseconds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.completion.optimum.relaxations.offers import JobRuns
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.kernels import kernel


class ServerArrays(NamedTuple):
    """H servers, M types of workers, P of parameter servers (PS), R resources; in units."""

    capacity: Ints  # (H, R)
    worker: Ints  # (M, R) of one worker
    ps: Ints  # (P, R) of one PS; one row of zeros in a ring
    needed: Ints  # (M, P, N + 1) PS for this many workers elsewhere
    ring: bool
    steps: Ints  # (1,) elementary ones of the search for servers, so far


class Placed(NamedTuple):
    """Starts and placements of J jobs; at most W servers host the workers of one."""

    way: Ints  # (J,) index among all offers; -1: does not run
    start: Ints  # (J,) slot
    host: Ints  # (J,) server of the PS; -1 in a ring
    ps: Ints  # (J,)
    parts: Ints  # (J,) servers of the workers
    where: Ints  # (J, W) which
    number: Ints  # (J, W) how many workers on each


def nothing_placed(jobs: int, most: int) -> Placed:
    """Return a state in which no job runs."""
    one = [np.full(jobs, -1, np.int64) for _ in range(3)]
    counts = [np.zeros(jobs, np.int64) for _ in range(2)]
    wide = [np.zeros((jobs, most), np.int64) for _ in range(2)]
    return Placed(one[0], one[1], one[2], counts[0], counts[1], wide[0], wide[1])


@kernel
def _change(
    platform: ServerArrays,
    h: int,
    load: tuple[int, int, int, int],
    free: Ints,
    max_units: Ints,
    total: Ints,
) -> None:
    """Take n workers of type m and s PS of type p off server h: ``load`` is (m, n, p, s).

    ``free`` (H, R) units, ``max_units`` (M, H) workers of each type, ``total`` (M,) their sum.
    """
    m, n, p, s = load
    for r in range(free.shape[1]):
        free[h, r] -= n * platform.worker[m, r] + s * platform.ps[p, r]
    for k in range(max_units.shape[0]):
        fits = 1 << 30
        for r in range(free.shape[1]):
            if platform.worker[k, r] > 0:
                fits = min(fits, free[h, r] // platform.worker[k, r])
        total[k] += fits - max_units[k, h]
        max_units[k, h] = fits


@kernel
def _best_server(
    platform: ServerArrays, load: tuple[int, int, int, int], weights: Floats, free: Ints
) -> int:
    """Return the server with capacity for a load (m, n, p, s) that has the least left, or -1.

    ``weights`` (R,) is that of a unit, ``free`` (H, R).
    """
    m, n, p, s = load
    best, least = -1, np.inf
    platform.steps[0] += free.size
    for h in range(free.shape[0]):
        left, fits = 0.0, True
        for r in range(free.shape[1]):
            rest = free[h, r] - n * platform.worker[m, r] - s * platform.ps[p, r]
            if rest < 0:
                fits = False
                break
            left += weights[r] * rest
        if fits and left < least:
            best, least = h, left
    return best


@kernel
def _place(
    platform: ServerArrays,
    offers: JobRuns,
    k: int,
    j: int,
    weights: Floats,
    free: Ints,
    max_units: Ints,
    total: Ints,
    placed: Placed,
) -> bool:
    """Let job ``j`` run in way ``k`` now, if it fits; free capacity is updated.

    ``weights`` (R,) of a unit; ``free`` (H, R), ``max_units`` (M, H), ``total`` (M,).
    """
    m, n, p = offers.worker_type[k], offers.workers[k], offers.kind[k]
    if offers.together[k] == 1:
        h = _best_server(platform, (m, n, p, offers.ps[k]), weights, free)
        if h < 0:
            return False
        placed.host[j], placed.ps[j] = -1 if platform.ring else h, offers.ps[k]
        placed.parts[j], placed.where[j, 0], placed.number[j, 0] = 1, h, n
        _change(platform, h, (m, n, p, offers.ps[k]), free, max_units, total)
        placed.way[j] = k
        return True
    host, s = -1, 0
    if not platform.ring:
        s = platform.needed[m, p, n]
        host = _best_server(platform, (m, 0, p, s), weights, free)
        if host < 0:
            return False
        _change(platform, host, (m, 0, p, s), free, max_units, total)
    most = n - 1 if platform.ring else n  # not all workers of a ring may be on one server
    left, parts = n, 0
    if total[m] >= n:
        while left > 0:
            best, least = -1, np.inf
            platform.steps[0] += free.size + free.shape[0] * parts
            for h in range(free.shape[0]):
                if max_units[m, h] == 0 or (parts > 0 and _named(placed, j, parts, h)):
                    continue
                take = min(left, min(max_units[m, h], most))
                if not platform.ring and h == host and take == n:
                    take -= 1  # it would be together
                    if take == 0:
                        continue
                rest = 0.0
                for r in range(free.shape[1]):
                    rest += weights[r] * (free[h, r] - take * platform.worker[m, r])
                if rest < least:
                    best, least = h, rest
            if best < 0:
                break
            take = min(left, min(max_units[m, best], most))
            if not platform.ring and best == host and take == n:
                take -= 1
            placed.where[j, parts], placed.number[j, parts] = best, take
            parts += 1
            left -= take
            _change(platform, best, (m, take, p, 0), free, max_units, total)
    placed.parts[j], placed.host[j], placed.ps[j] = parts, host, s
    placed.way[j] = k
    if left > 0:
        _take_out(platform, offers, j, free, max_units, total, placed)
        placed.way[j] = -1
        return False
    return True


@kernel
def _named(placed: Placed, j: int, parts: int, h: int) -> bool:
    """Whether server h already hosts workers of job j, on the first ``parts`` of its servers."""
    named = False
    for i in range(parts):
        named |= placed.where[j, i] == h
    return named


@kernel
def _take_out(
    platform: ServerArrays,
    offers: JobRuns,
    j: int,
    free: Ints,
    max_units: Ints,
    total: Ints,
    placed: Placed,
) -> None:
    """Give back what job j has: ``free`` (H, R) units, ``max_units`` (M, H), ``total`` (M,)."""
    k = placed.way[j]
    m, p = offers.worker_type[k], offers.kind[k]
    for i in range(placed.parts[j]):
        load = (m, -placed.number[j, i], p, 0)
        _change(platform, placed.where[j, i], load, free, max_units, total)
    if placed.host[j] >= 0:
        _change(platform, placed.host[j], (m, 0, p, -placed.ps[j]), free, max_units, total)


@kernel
def _sift(heap: Ints, size: int, item: int, end: Ints) -> None:
    """Put ``item`` into the heap (J,) of ``size`` jobs: its top has the least ``end`` (J,)."""
    k = size
    while k > 0:
        up = (k - 1) >> 1
        if end[heap[up]] <= end[item]:
            break
        heap[k] = heap[up]
        k = up
    heap[k] = item


@kernel
def _drop(heap: Ints, size: int, end: Ints) -> None:
    """Take the top out of the heap (J,) of ``size`` jobs by ``end`` (J,)."""
    last, k = heap[size - 1], 0
    while True:
        down = 2 * k + 1
        if down >= size - 1:
            break
        if down + 1 < size - 1 and end[heap[down + 1]] < end[heap[down]]:
            down += 1
        if end[heap[down]] >= end[last]:
            break
        heap[k] = heap[down]
        k = down
    heap[k] = last


@kernel(nogil=True)
def placeable(platform: ServerArrays, offers: JobRuns, weights: Floats, placed: Placed) -> Flags:
    """Return which ways to run, one for each of as many jobs, fit on the empty servers.

    ``weights`` (R,) is that of a unit; ``placed`` is scratch memory.
    """
    types, free = platform.worker.shape[0], platform.capacity.copy()
    max_units, total = np.zeros((types, free.shape[0]), np.int64), np.zeros(types, np.int64)
    for h in range(free.shape[0]):
        _change(platform, h, (0, 0, 0, 0), free, max_units, total)
    found = np.empty(offers.duration.size, np.bool_)
    for k in range(found.size):
        found[k] = _place(platform, offers, k, k, weights, free, max_units, total, placed)
        if found[k]:
            _take_out(platform, offers, k, free, max_units, total, placed)
    return found


@kernel(nogil=True)
def dispatch(
    platform: ServerArrays,
    offers: JobRuns,
    menu: Ints,
    order: Ints,
    arrival: Ints,
    weight: Floats,
    weights: Floats,
    limit: float,
    placed: Placed,
) -> float:
    """Start all jobs in an order; return their weighted completion.

    Parameters
    ----------
    platform, offers
    menu : shape (J, K)
        Ways to run of each job, the best first; -1: no more.
    order : shape (J,)
        The jobs, those considered first in front.
    arrival : shape (J,)
        First slot of each job.
    weight : shape (J,)
        Of a slot until completion.
    weights : shape (R,)
        Of a free unit: servers are filled up by it.
    limit : float
        Infinity is returned unless the value is smaller.
    placed : Placed
        Receives how they run.
    """
    jobs, types = order.size, platform.worker.shape[0]
    platform.steps[0] += platform.capacity.size * types
    free = platform.capacity.copy()
    max_units, total = np.zeros((types, free.shape[0]), np.int64), np.zeros(types, np.int64)
    for h in range(free.shape[0]):
        _change(platform, h, (0, 0, 0, 0), free, max_units, total)
    waiting, count = order.copy(), jobs
    coming = np.sort(arrival)
    heap, running, end = np.empty(jobs, np.int64), 0, np.zeros(jobs, np.int64)
    kinds = platform.ps.shape[0]
    failed = np.empty((types, kinds, 2), np.int64)  # this many workers did not fit
    cost, now, next_arrival, started = 0.0, 0, 0, 0
    placed.way[:] = -1
    pending = 0.0  # weight of those that do not run yet
    for j in range(jobs):
        pending += weight[j]
    while count > 0:
        # the next moment: an arrival or an end
        if started > 0 or next_arrival > 0:
            moment = 1 << 62
            if next_arrival < jobs:
                moment = coming[next_arrival]
            if running > 0:
                moment = min(moment, end[heap[0]])
            if moment == 1 << 62:
                return np.inf  # a job never fits
            now = moment
        else:
            now = coming[0]
        while next_arrival < jobs and coming[next_arrival] <= now:
            next_arrival += 1
        while running > 0 and end[heap[0]] <= now:
            _take_out(platform, offers, heap[0], free, max_units, total, placed)
            _drop(heap, running, end)
            running -= 1
        if cost + pending * now >= limit:
            return np.inf
        failed[:] = 1 << 30
        kept = 0
        for i in range(count):
            j = waiting[i]
            done = False
            if arrival[j] <= now:
                for x in range(menu.shape[1]):
                    k = menu[j, x]
                    if k < 0:
                        break
                    m, n, p = offers.worker_type[k], offers.workers[k], offers.kind[k]
                    q = offers.together[k]
                    if total[m] < n or n >= failed[m, p, q]:
                        continue
                    if _place(platform, offers, k, j, weights, free, max_units, total, placed):
                        done = True
                        break
                    failed[m, p, q] = n
            if done:
                k = placed.way[j]
                placed.start[j], end[j] = now, now + offers.duration[k]
                cost += weight[j] * end[j]
                pending -= weight[j]
                _sift(heap, running, j, end)
                running += 1
                started += 1
            else:
                waiting[kept] = j
                kept += 1
        count = kept
    return cost if cost < limit else np.inf
