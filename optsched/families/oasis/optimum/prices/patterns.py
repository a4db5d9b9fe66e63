"""Kernels: the best pattern of workers on one machine, and the cheapest work inside windows.

A *pattern* says how many workers (or parameter servers) of every job one machine hosts in one slot:
an integer knapsack with several resources.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

STEPS = 60  # of the search for surrogate weights
PATTERN_STEPS = 300  # elementary ones of a search for a pattern, for every job
WINDOW_STEPS = 18  # the same for the cheapest work, for every slot and unit of work


class Knapsacks(NamedTuple):
    """What B machines may host of I jobs."""

    value: Floats  # (B, I) of one worker, at least 0
    demand: Floats  # (I, R) of one worker, in units
    capacity: Floats  # (B, R) of the machine, in units
    lower: Ints  # (B, I) fewest workers
    upper: Ints  # (B, I) most workers


class Window(NamedTuple):
    """One job that runs some workers in every slot."""

    worker_price: Floats  # (T,) of one worker in a slot
    ps_price: Floats  # (T,) of one PS in a slot
    ps_needed: Ints  # (N + 1,) PS that 0, 1, ... workers need
    lower: Ints  # (T,) fewest workers
    upper: Ints  # (T,) most workers
    work: int  # worker-slots


class _Items(NamedTuple):
    """The jobs of which a machine can host any, n of them, and what is free on it."""

    value: Floats  # (I,) of one worker, by job
    demand: Floats  # (I, R) units of one worker, by job
    free: Floats  # (R,) units
    job: Ints  # (n or more,) index
    most: Ints  # (n or more,) workers


@kernel(nogil=True)
def best_patterns(asked: Knapsacks, best: Floats, out: Ints, nodes: int, steps: int) -> None:
    """For each machine, maximize ``value @ y`` with ``lower <= y <= upper`` and what fits.

    What fits is ``demand.T @ y <= capacity``.

    Parameters
    ----------
    asked : Knapsacks
    best : array of shape (B,)
        Receives the greatest values, an upper bound where ``nodes`` ended the search; -inf where
        ``lower`` does not fit.
    out : array of shape (B, I)
        Receives best patterns, the best that were found where ``nodes`` ended the search.
    nodes : int
        How many nodes the search of one machine may visit.
    steps : int
        Of `resource_prices`; 0 looks at all resources together only, which is quick.
    """
    demand = asked.demand
    jobs, resources = demand.shape
    free, weight = np.empty(resources), np.empty(resources)
    item, most = np.empty(jobs, np.int64), np.empty(jobs, np.int64)
    size, density, chosen = np.empty(jobs), np.empty(jobs), np.empty(jobs)
    ranked, order = np.empty(jobs, np.int64), np.empty(jobs, np.int64)
    for b in range(asked.value.shape[0]):
        worth, low, high, hosted = asked.value[b], asked.lower[b], asked.upper[b], out[b]
        base, fits = 0.0, True
        for r in range(resources):
            free[r] = asked.capacity[b, r]
        for i in range(jobs):
            hosted[i] = low[i]
            if low[i] > 0:
                base += worth[i] * low[i]
                for r in range(resources):
                    free[r] -= low[i] * demand[i, r]
        for r in range(resources):
            fits = fits and free[r] >= 0.0
        best[b] = base if fits else -np.inf
        if not fits:
            continue
        # candidates, and how many of each fit alone
        n = 0
        for i in range(jobs):
            if worth[i] > 0.0 and high[i] > low[i]:
                fit = high[i] - low[i]
                for r in range(resources):
                    if demand[i, r] > 0.0:
                        fit = min(fit, math.floor(free[r] / demand[i, r]))
                if fit > 0:
                    item[n] = i
                    most[n] = fit
                    n += 1
        if n == 0:
            continue
        items = _Items(worth, demand, free, item, most)
        # one surrogate resource: whose fractional knapsack is the tightest (each resource alone,
        # all together, all at prices)
        for k in range(n):  # stays so where nothing is free: then only what needs nothing fits
            chosen[k], order[k] = 0.0, k
        tightest = np.inf
        for q in range(resources if steps == 0 else 0, resources + (1 if steps == 0 else 2)):
            if q <= resources:
                for r in range(resources):
                    weight[r] = 1.0 if (r == q or q == resources) and free[r] > 0.0 else 0.0
            else:
                resource_prices(items, n, steps, weight)
            room = 0.0
            for r in range(resources):
                room += weight[r]
            if room <= 0.0:
                continue
            for k in range(n):
                size[k] = 0.0
                for r in range(resources):
                    if weight[r] > 0.0:
                        size[k] += weight[r] * demand[item[k], r] / free[r]
                density[k] = -worth[item[k]] / size[k] if size[k] > 0.0 else -np.inf
            rank(density, n, ranked)
            bound = 0.0
            left = room
            for j in range(n):
                k = ranked[j]
                part = float(most[k])
                if size[k] > 0.0:
                    part = min(part, left / size[k])
                    left -= part * size[k]
                bound += part * worth[item[k]]
            if bound < tightest:
                tightest = bound
                for k in range(n):
                    chosen[k], order[k] = size[k] / room, ranked[k]
        best[b] += _depth_first(items, chosen, order, n, nodes, hosted)


@kernel(inline="always")
def rank(key: Floats, n: int, order: Ints) -> None:
    """Sort the first n of ``key`` (n,); ``order`` (n,) says where they were. Ties by that place."""
    for j in range(n):
        order[j] = j
    gap = n
    while gap > 1:  # Shell's sort
        gap = max(1, 5 * gap // 11)
        for j in range(gap, n):
            mine, k, place = key[j], order[j], j
            while place >= gap:
                theirs, other = key[place - gap], order[place - gap]
                if theirs < mine or (theirs == mine and other < k):
                    break
                key[place], order[place] = theirs, other
                place -= gap
            key[place], order[place] = mine, k


@kernel(inline="always")
def resource_prices(items: _Items, n: int, steps: int, best: Floats) -> None:
    """Find prices of all that is free of each resource at which the relaxed knapsack is tight.

    Subgradient steps on  sum_r u_r + sum_k most_k max(0, value_k - sum_r u_r demand_kr / free_r),
    over the first ``n`` items; ``best`` (R,) receives the best u.
    """
    value, demand, free, item, most = items
    resources = free.size
    u, slope = np.empty(resources), np.empty(resources)
    top = 0.0
    for k in range(n):
        top = max(top, most[k] * value[item[k]])
    for r in range(resources):
        u[r] = top / resources if free[r] > 0.0 else 0.0
    least = np.inf
    for step in range(steps):
        bound = 0.0
        for r in range(resources):
            bound += u[r]
            slope[r] = 1.0
        for k in range(n):
            rest = value[item[k]]
            for r in range(resources):
                if u[r] > 0.0:
                    rest -= u[r] * demand[item[k], r] / free[r]
            if rest > 0.0:
                bound += most[k] * rest
                for r in range(resources):
                    if free[r] > 0.0:
                        slope[r] -= most[k] * demand[item[k], r] / free[r]
        norm = 0.0
        for r in range(resources):
            if bound < least:
                best[r] = u[r]
            if free[r] > 0.0 and (u[r] > 0.0 or slope[r] < 0.0):
                norm += slope[r] * slope[r]
        least = min(least, bound)
        if norm <= 0.0:
            break
        for r in range(resources):
            if free[r] > 0.0:
                u[r] = max(0.0, u[r] - top / (1.0 + step) / math.sqrt(norm) * slope[r])


@kernel(inline="always")
def _depth_first(items: _Items, size: Floats, order: Ints, n: int, nodes: int, out: Ints) -> float:
    """Search all patterns, densest job first; cut where the surrogate knapsack promises no more.

    ``size`` (n or more,) is what an item takes of the surrogate resource, ``order`` (n or more,)
    names the items by density; ``out`` (I,) receives the pattern on top of what it holds. Returns
    the best value, or the greatest promise that is still open after ``nodes`` nodes.
    """
    value, demand, free, item, most = items
    resources = free.size
    # by level: what is left of each resource, of the surrogate, and the value so far
    level_free = np.empty((n + 1, resources))
    level_left, level_value = np.empty(n + 1), np.empty(n + 1)
    for r in range(resources):
        level_free[0, r] = free[r]
    level_left[0], level_value[0] = 1.0 + 1e-9, 0.0
    promised = np.empty(n)  # by the branch that is being searched, at every level
    y, best_y = np.empty(n, np.int64), np.empty(n, np.int64)
    best = bound = -1.0
    for k in range(n):
        best_y[k] = 0
    k = 0
    descend = True
    while k >= 0:
        if k == n:
            if level_value[n] > best:
                best = level_value[n]
                for j in range(n):
                    best_y[j] = y[j]
            k -= 1
            descend = False
            continue
        job = order[k]
        i = item[job]
        if descend:
            fit = most[job]
            for r in range(resources):
                if demand[i, r] > 0.0:
                    fit = min(fit, math.floor(level_free[k, r] / demand[i, r]))
            y[k] = fit
        else:
            y[k] -= 1
        if y[k] < 0:
            k -= 1
            descend = False
            continue
        for r in range(resources):
            level_free[k + 1, r] = level_free[k, r] - y[k] * demand[i, r]
        left = level_left[k] - y[k] * size[job]
        promise = level_value[k] + y[k] * value[i]
        level_left[k + 1], level_value[k + 1] = left, promise
        for j in range(k + 1, n):
            other = order[j]
            fits = float(most[other])
            if size[other] > 0.0 and fits * size[other] > left:
                promise += left / size[other] * value[item[other]]
                break
            left -= fits * size[other]
            promise += fits * value[item[other]]
        promised[k] = promise
        nodes -= 1
        if nodes < 0:
            for j in range(k + 1):
                bound = max(bound, promised[j])
            break
        # with fewer of this job, at most its density is left for the others: nothing better below
        descend = promise > best * (1.0 + 1e-12)
        k += 1 if descend else -1
    for k in range(n):
        out[item[order[k]]] += best_y[k]
    return max(best, bound)


@kernel(fastmath={"nnan", "nsz"})
def _shift_min(old: Floats, new: Floats, n: int, cost: float, work: int) -> None:
    """Let n more workers at ``cost`` compete: ``new[s]`` is at most that beyond ``old[s - n]``."""
    for s in range(n, work):
        x = old[s - n] + cost
        new[s] = x if x < new[s] else new[s]


@kernel(nogil=True)
def windowed_costs(job: Window, first: int, last: int, table: Floats, ending: Floats) -> None:
    """Cheapest cost of a job that runs ``lower[t] <= n_t <= upper[t]`` workers in slot t.

    ``table[t - first + 1, s]`` is the least cost with s worker-slots done after slot t, where s =
    work stands for "work or more"; ``ending[t]`` the least cost of a job whose last worker runs in
    slot t. Shapes (T + 1, work + 1 or more) and (T,).
    """
    worker_price, ps_price, ps_needed, lower, upper, work = job
    table[0, : work + 1] = np.inf
    table[0, 0] = 0.0
    for t in range(first, last + 1):
        old, new = table[t - first], table[t - first + 1]
        new[: work + 1] = np.inf
        ending[t] = np.inf
        lam, sig = worker_price[t], ps_price[t]
        enough = np.inf  # least cost of work - n or more, updated as n grows
        at = work + 1
        for n in range(upper[t] + 1):
            while at > max(0, work - n):
                at -= 1
                enough = min(enough, old[at])
            if n < lower[t]:
                continue
            cost = lam * n + sig * ps_needed[n]
            new[work] = min(new[work], enough + cost)
            if n > 0:
                ending[t] = min(ending[t], enough + cost)
            _shift_min(old, new, n, cost, work)


@kernel
def windowed_backtrack(
    job: Window, first: int, completion: int, table: Floats, ending: Floats, amount: Ints
) -> None:
    """Read a cheapest job that ends in ``completion`` out of a table.

    ``table`` and ``ending`` as in `windowed_costs`; ``amount`` (T,) receives its workers.
    """
    worker_price, ps_price, ps_needed, lower, upper, work = job
    s = work
    for t in range(completion, first - 1, -1):
        old = table[t - first]
        goal = ending[t] if t == completion else table[t - first + 1, s]
        start = max(1, lower[t]) if t == completion else lower[t]
        found = False
        for n in range(start, upper[t] + 1):
            cost = worker_price[t] * n + ps_price[t] * ps_needed[n]
            if s == work:
                for before in range(max(0, work - n), work + 1):
                    if old[before] + cost <= goal:
                        s = before
                        found = True
                        break
            elif n <= s and old[s - n] + cost <= goal:
                s -= n
                found = True
            if found:
                amount[t] = n
                break


def pattern_steps(upper: Ints) -> float:
    """Return about how many elementary steps `best_patterns` takes, given the most workers."""
    return PATTERN_STEPS * float(np.count_nonzero(upper) + len(upper))


def window_steps(first: int, last: int, work: int) -> float:
    """Return about how many elementary steps the cheapest work in a window takes."""
    return WINDOW_STEPS * (last - first + 1.0) * (work + 1)
