"""Branch and bound for the bounded multidimensional knapsack: best pattern of one machine.

A *pattern* is the number of workers (or parameter servers) of every job that one machine hosts in
one slot. It is the pricing subproblem of the machines. The search is depth first by value per size
(Horowitz and Sahni, 1974); bounds come from a surrogate relaxation (Glover, 1968), whose
multipliers a subgradient method improves (Gavish and Pirkul, 1985).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optsched.numbers.argsort import rank
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

STEPS = 60  # of the search for surrogate weights


class Knapsacks(NamedTuple):
    """B integer knapsack problems, one per machine, over I jobs."""

    value: Floats  # (B, I) of one worker, at least 0
    demand: Floats  # (I, R) of one worker, in whole units
    capacity: Floats  # (B, R) of the machine, in whole units
    lower: Ints  # (B, I) fewest workers
    upper: Ints  # (B, I) most workers


class Items(NamedTuple):
    """The jobs of which a machine can host any, the densest first.

    Density is by one *surrogate* resource, a weighted sum of all, of which the machine has 1.
    """

    job: Ints  # (n or more,) index
    value: Floats  # (n or more,) of a worker
    size: Floats  # (n or more,) of a worker, in the surrogate resource
    density: Floats  # (n or more,) value / size, inf where the size is 0
    most: Ints  # (n or more,) workers


class Levels(NamedTuple):
    """Stack of the depth-first search; on level k, k items are fixed."""

    free: Floats  # (n + 1 or more, R) units left
    remaining: Floats  # (n + 1 or more,) left of the surrogate resource
    earned: Floats  # (n + 1 or more,) value so far
    promised: Floats  # (n + 1 or more,) value that the branch may still have
    number: Ints  # (n + 1 or more,) workers of the next item in the branch
    best: Ints  # (n + 1 or more,) workers in the best pattern


class _Candidates(NamedTuple):
    """The jobs of which a machine can host any, n of them, in any order."""

    value: Floats  # (I,) of one worker, by job
    demand: Floats  # (I, R) units of one worker, by job
    free: Floats  # (R,) units
    job: Ints  # (n or more,) index
    most: Ints  # (n or more,) workers


@kernel(nogil=True)
def new_items(n: int) -> Items:
    """Return scratch memory for n items."""
    return Items(
        np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64)
    )


@kernel(nogil=True)
def new_levels(n: int, resources: int) -> Levels:
    """Return what a search of n items writes to."""
    return Levels(
        np.empty((n + 1, resources)),
        np.empty(n + 1),
        np.empty(n + 1),
        np.empty(n + 1),
        np.empty(n + 1, np.int64),
        np.empty(n + 1, np.int64),
    )


@kernel(nogil=True)
def best_patterns(knapsacks: Knapsacks, best: Floats, out: Ints, nodes: int, steps: int) -> None:
    """For each machine, maximize ``value @ y`` with ``lower <= y <= upper`` and what fits.

    What fits is ``demand.T @ y <= capacity``.

    Parameters
    ----------
    knapsacks : Knapsacks
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
    jobs, resources = knapsacks.demand.shape
    free, weight = np.empty(resources), np.empty(resources)
    job, most = np.empty(jobs, np.int64), np.empty(jobs, np.int64)
    size, key, order = np.empty(jobs), np.empty(jobs), np.empty(jobs, np.int64)
    items, levels = new_items(jobs), new_levels(jobs, resources)
    for b in range(knapsacks.value.shape[0]):
        hosted = out[b]
        best[b] = _host_fewest(knapsacks, b, free, hosted)
        if best[b] == -np.inf:
            continue
        candidates = _Candidates(knapsacks.value[b], knapsacks.demand, free, job, most)
        n = _find(candidates, knapsacks.lower[b], knapsacks.upper[b])
        if n == 0:
            continue
        # one surrogate resource: whose fractional knapsack is the tightest (each resource alone,
        # all together, all at prices)
        for k in range(n):  # stays so where nothing is free: then only what needs nothing fits
            size[k], order[k] = 0.0, k
        _enlist(candidates, size, 1.0, order, n, items)
        tightest = np.inf
        for q in range(resources if steps == 0 else 0, resources + (1 if steps == 0 else 2)):
            if q <= resources:
                for r in range(resources):
                    weight[r] = 1.0 if (r == q or q == resources) and free[r] > 0.0 else 0.0
            else:
                resource_prices(candidates, n, steps, weight)
            remaining = weight.sum()
            if remaining <= 0.0:
                continue
            promise = _promise(candidates, weight, remaining, n, size, key, order)
            if promise < tightest:
                tightest = promise
                _enlist(candidates, size, remaining, order, n, items)
        for r in range(resources):
            levels.free[0, r] = free[r]
        best[b] += depth_first(items, knapsacks.demand, n, nodes, levels)
        for k in range(n):
            hosted[items.job[k]] += levels.best[k]


@kernel(inline="always")
def _host_fewest(knapsacks: Knapsacks, b: int, free: Floats, hosted: Ints) -> float:
    """Let machine b host the fewest workers; return their value, -inf if they do not fit.

    ``hosted`` (I,) receives them, ``free`` (R,) the units that are left.
    """
    value = 0.0
    for r in range(free.size):
        free[r] = knapsacks.capacity[b, r]
    for i in range(hosted.size):
        n = knapsacks.lower[b, i]
        hosted[i] = n
        if n > 0:
            value += knapsacks.value[b, i] * n
            for r in range(free.size):
                free[r] -= n * knapsacks.demand[i, r]
    for r in range(free.size):
        if free[r] < 0.0:
            return -np.inf
    return value


@kernel(inline="always")
def _find(candidates: _Candidates, lower: Ints, upper: Ints) -> int:
    """Find the jobs of which more workers than ``lower`` (I,) fit; return their number.

    At most ``upper`` (I,) of them are hosted.
    """
    value, demand, free, job, most = candidates
    n = 0
    for i in range(value.size):
        if value[i] <= 0.0 or upper[i] <= lower[i]:
            continue
        fit = upper[i] - lower[i]
        for r in range(free.size):
            if demand[i, r] > 0.0:
                fit = min(fit, math.floor(free[r] / demand[i, r]))
        if fit > 0:
            job[n], most[n] = i, fit
            n += 1
    return n


@kernel(inline="always")
def _promise(
    candidates: _Candidates,
    weight: Floats,
    remaining: float,
    n: int,
    size: Floats,
    key: Floats,
    order: Ints,
) -> float:
    """Return the value of the fractional knapsack of n candidates with one surrogate resource.

    It is the sum, by ``weight`` (R,), of shares of the free capacity; ``remaining`` is its total.
    ``size`` (n or more,) receives what candidates need of it, ``order`` (n or more,) sorts them,
    the densest first, by ``key`` (n or more,).
    """
    value, demand, free, job, most = candidates
    for k in range(n):
        size[k] = 0.0
        for r in range(free.size):
            if weight[r] > 0.0:
                size[k] += weight[r] * demand[job[k], r] / free[r]
        key[k] = -value[job[k]] / size[k] if size[k] > 0.0 else -np.inf
    rank(key, order, n)
    total, left = 0.0, remaining
    for j in range(n):
        k = order[j]
        part = float(most[k])
        if size[k] > 0.0:
            part = min(part, left / size[k])
            left -= part * size[k]
        total += part * value[job[k]]
    return total


@kernel(inline="always")
def _enlist(
    candidates: _Candidates, size: Floats, remaining: float, order: Ints, n: int, items: Items
) -> None:
    """Write n candidates in an ``order`` (n or more,); ``size`` (n or more,) of ``remaining``."""
    for j in range(n):
        k = order[j]
        i = candidates.job[k]
        items.job[j], items.value[j], items.most[j] = i, candidates.value[i], candidates.most[k]
        items.size[j] = size[k] / remaining
        items.density[j] = items.value[j] / items.size[j] if size[k] > 0.0 else np.inf


@kernel(inline="always")
def resource_prices(candidates: _Candidates, n: int, steps: int, best: Floats) -> None:
    """Find prices of all that is free of each resource at which the relaxed knapsack is tight.

    Subgradient steps on  sum_r u_r + sum_k most_k max(0, value_k - sum_r u_r demand_kr / free_r),
    over the first ``n`` candidates; ``best`` (R,) receives the best u.
    """
    value, demand, free, job, most = candidates
    resources = free.size
    u, slope = np.empty(resources), np.empty(resources)
    top = 0.0
    for k in range(n):
        top = max(top, most[k] * value[job[k]])
    for r in range(resources):
        u[r] = top / resources if free[r] > 0.0 else 0.0
    least = np.inf
    for step in range(steps):
        bound = 0.0
        for r in range(resources):
            bound += u[r]
            slope[r] = 1.0
        for k in range(n):
            rest = value[job[k]]
            for r in range(resources):
                if u[r] > 0.0:
                    rest -= u[r] * demand[job[k], r] / free[r]
            if rest > 0.0:
                bound += most[k] * rest
                for r in range(resources):
                    if free[r] > 0.0:
                        slope[r] -= most[k] * demand[job[k], r] / free[r]
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


@kernel(nogil=True, counted=False)
def depth_first(items: Items, demand: Floats, n: int, nodes: int, levels: Levels) -> float:
    """Search all patterns of n items; cut where the surrogate knapsack promises no more.

    Parameters
    ----------
    items : Items
    demand : shape (I, R)
        Units of one worker, by job.
    n : int
    nodes : int
        How many the search may visit.
    levels : Levels
        Its ``free[0]`` states what the machine has; ``best`` receives the pattern, by item.

    Returns
    -------
    float
        The best value, or the greatest promise that is still open where ``nodes`` ended the search.
    """
    free, remaining, earned, promised, number, found = levels
    resources = demand.shape[1]
    # of the surrogate resource: sums of shares are not exact
    remaining[0], earned[0] = 1.0 + 1e-9, 0.0
    best = -1.0
    for k in range(n):
        found[k] = 0
    k, descend = 0, True
    while k >= 0:
        if k == n:
            if earned[n] > best:
                best = earned[n]
                for j in range(n):
                    found[j] = number[j]
            k, descend = k - 1, False
            continue
        i = items.job[k]
        if descend:
            fit = float(items.most[k])
            for r in range(resources):
                if demand[i, r] > 0.0:
                    fit = min(fit, free[k, r] / demand[i, r])
            number[k] = int(fit)
        else:
            number[k] -= 1
        if number[k] < 0:
            k, descend = k - 1, False
            continue
        for r in range(resources):
            free[k + 1, r] = free[k, r] - number[k] * demand[i, r]
        left = remaining[k] - number[k] * items.size[k]
        promise = earned[k] + number[k] * items.value[k]
        remaining[k + 1], earned[k + 1] = left, promise
        for j in range(k + 1, n):
            whole = items.most[j] * items.size[j]
            if whole > left:
                promise += left * items.density[j]
                break
            left -= whole
            promise += items.most[j] * items.value[j]
        promised[k] = promise
        nodes -= 1
        if nodes < 0:
            for j in range(k + 1):
                best = max(best, promised[j])
            break
        # with fewer of this job, at most its density is left for the others: nothing better below
        # times the best: a promise of less is none
        descend = promise > best * (1.0 + 1e-12)
        k += 1 if descend else -1
    return best


def pattern_steps(upper: Ints) -> float:
    """Return about how many elementary steps `best_patterns` takes, given the most workers."""
    # steps of a search for a pattern, for every job
    return 300 * float(np.count_nonzero(upper) + len(upper))
