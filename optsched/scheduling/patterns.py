"""Kernels: the best pattern of workers on one machine, and the cheapest work inside windows.

A *pattern* says how many workers (or parameter servers) of every job one machine hosts in one slot:
an integer knapsack with several resources.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.kernels import kernel
from optsched.scheduling.slots import Floats, Ints, plain_int

STEPS = 60  # of the search for surrogate weights


@kernel
def best_pattern(
    value: Floats,
    demand: Floats,
    capacity: Floats,
    lower: Ints,
    upper: Ints,
    out: Ints,
    nodes: int,
    steps: int,
) -> float:
    """Maximize ``value @ y`` with ``lower <= y <= upper`` and ``demand.T @ y <= capacity``.

    Parameters
    ----------
    value : array of shape (I,)
        At least 0.
    demand : array of shape (I, R)
    capacity : array of shape (R,)
    lower, upper : arrays of shape (I,)
    out : array of shape (I,)
        Receives a best pattern, the best that was found if ``nodes`` ended the search.
    nodes : int
        How many nodes the search may visit.
    steps : int
        Of `resource_prices`; 0 looks at all resources together only, which is quick.

    Returns
    -------
    float
        The greatest value, an upper bound on it if ``nodes`` ended the search; -inf if ``lower``
        does not fit.
    """
    jobs, resources = demand.shape
    free = capacity.copy()
    base = 0.0
    for i in range(jobs):
        out[i] = lower[i]
        base += value[i] * lower[i]
        for r in range(resources):
            free[r] -= lower[i] * demand[i, r]
    for r in range(resources):
        if free[r] < 0.0:
            return -np.inf
    # candidates, and how many of each fit alone
    item = np.empty(jobs, np.int64)
    most = np.empty(jobs, np.int64)
    n = plain_int(0)
    for i in range(jobs):
        if value[i] > 0.0 and upper[i] > lower[i]:
            fit = upper[i] - lower[i]
            for r in range(resources):
                if demand[i, r] > 0.0:
                    fit = min(fit, math.floor(free[r] / demand[i, r]))
            if fit > 0:
                item[n] = i
                most[n] = fit
                n += 1
    if n == 0:
        return base
    # one surrogate resource: whose fractional knapsack is the tightest (each resource alone, all
    # together, all at prices)
    size = np.empty(n)
    chosen = np.zeros(n)  # stays so where nothing is free: then only what needs nothing fits
    order = np.arange(n)
    weight = np.zeros(resources)
    tightest = np.inf
    for q in range(resources if steps == 0 else 0, resources + (1 if steps == 0 else 2)):
        if q < resources:
            weight[:] = 0.0
            weight[q] = 1.0 if free[q] > 0.0 else 0.0
        elif q == resources:
            for r in range(resources):
                weight[r] = 1.0 if free[r] > 0.0 else 0.0
        else:
            resource_prices(value, demand, free, item[:n], most, steps, weight)
        room = weight.sum()
        if room <= 0.0:
            continue
        for k in range(n):
            size[k] = 0.0
            for r in range(resources):
                if weight[r] > 0.0:
                    size[k] += weight[r] * demand[item[k], r] / free[r]
        density = np.empty(n)
        for k in range(n):
            density[k] = -value[item[k]] / size[k] if size[k] > 0.0 else -np.inf
        ranked = np.argsort(density)
        bound = 0.0
        left = room
        for k in ranked:
            fits = float(most[k])
            if size[k] > 0.0:
                fits = min(fits, left / size[k])
                left -= fits * size[k]
            bound += fits * value[item[k]]
        if bound < tightest:
            tightest = bound
            chosen[:] = size / room
            order[:] = ranked
    return base + _depth_first(value, demand, free, item, most, chosen, order, n, nodes, out)


@kernel
def resource_prices(
    value: Floats, demand: Floats, free: Floats, item: Ints, most: Ints, steps: int, best: Floats
) -> None:
    """Find prices of all that is free of each resource at which the relaxed knapsack is tight.

    Subgradient steps on  sum_r u_r + sum_k most_k max(0, value_k - sum_r u_r demand_kr / free_r);
    ``best`` receives the best u.
    """
    resources = free.size
    u, slope = np.zeros(resources), np.empty(resources)
    top = 0.0
    for k in range(item.size):
        top = max(top, most[k] * value[item[k]])
    for r in range(resources):
        u[r] = top / resources if free[r] > 0.0 else 0.0
    least = np.inf
    for step in range(steps):
        bound = u.sum()
        slope[:] = 1.0
        for k in range(item.size):
            rest = value[item[k]]
            for r in range(resources):
                if u[r] > 0.0:
                    rest -= u[r] * demand[item[k], r] / free[r]
            if rest > 0.0:
                bound += most[k] * rest
                for r in range(resources):
                    if free[r] > 0.0:
                        slope[r] -= most[k] * demand[item[k], r] / free[r]
        if bound < least:
            least = bound
            best[:] = u
        norm = 0.0
        for r in range(resources):
            if free[r] > 0.0 and (u[r] > 0.0 or slope[r] < 0.0):
                norm += slope[r] * slope[r]
        if norm <= 0.0:
            return
        for r in range(resources):
            if free[r] > 0.0:
                u[r] = max(0.0, u[r] - top / (1.0 + step) / math.sqrt(norm) * slope[r])


@kernel
def _depth_first(
    value: Floats,
    demand: Floats,
    free: Floats,
    item: Ints,
    most: Ints,
    size: Floats,
    order: Ints,
    n: int,
    nodes: int,
    out: Ints,
) -> float:
    """Search all patterns, densest job first; cut where the surrogate knapsack promises no more.

    Returns the best value, or the greatest promise that is still open after ``nodes`` nodes.
    """
    resources = free.size
    level_free = np.empty((n + 1, resources))
    level_free[0] = free
    level_left = np.empty(n + 1)
    level_left[0] = 1.0 + 1e-9
    level_value = np.zeros(n + 1)
    y = np.zeros(n, np.int64)
    best = -1.0
    best_y = np.zeros(n, np.int64)
    promised = np.zeros(n)  # by the branch that is being searched, at every level
    bound = -1.0
    k = 0
    descend = True
    while k >= 0:
        if k == n:
            if level_value[n] > best:
                best = level_value[n]
                best_y[:] = y
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
        level_left[k + 1] = level_left[k] - y[k] * size[job]
        level_value[k + 1] = level_value[k] + y[k] * value[i]
        promise = level_value[k + 1]
        left = level_left[k + 1]
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
            bound = promised[: k + 1].max()
            break
        if promise <= best * (1.0 + 1e-12):
            # fewer of this job leave at most its density for the others: nothing better below
            k -= 1
            descend = False
            continue
        k += 1
        descend = True
    for k in range(n):
        out[item[order[k]]] += best_y[k]
    return max(best, bound)


@kernel
def best_patterns(
    value: Floats,
    demand: Floats,
    capacity: Floats,
    lower: Ints,
    upper: Ints,
    best: Floats,
    out: Ints,
    nodes: int,
) -> None:
    """Solve `best_pattern` for many machines.

    ``value`` (B, I), ``capacity`` (B, R), ``lower`` and ``upper`` (B, I); fills ``best`` (B,) and
    ``out`` (B, I).
    """
    steps = plain_int(STEPS)
    for b in range(value.shape[0]):
        best[b] = best_pattern(
            value[b], demand, capacity[b], lower[b], upper[b], out[b], nodes, steps
        )


@kernel(fastmath={"nnan", "nsz"})
def _shift_min(old: Floats, new: Floats, n: int, cost: float, work: int) -> None:
    for s in range(n, work):
        x = old[s - n] + cost
        new[s] = x if x < new[s] else new[s]


@kernel
def windowed_costs(
    worker_price: Floats,
    ps_price: Floats,
    ps_needed: Ints,
    lower: Ints,
    upper: Ints,
    first: int,
    last: int,
    work: int,
    table: Floats,
    ending: Floats,
) -> None:
    """Cheapest cost of a job that runs ``lower[t] <= n_t <= upper[t]`` workers in slot t.

    ``table[t - first + 1, s]`` is the least cost with s worker-slots done after slot t, where s =
    work stands for "work or more"; ``ending[t]`` the least cost of a job whose last worker runs in
    slot t.
    """
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
    worker_price: Floats,
    ps_price: Floats,
    ps_needed: Ints,
    lower: Ints,
    upper: Ints,
    first: int,
    completion: int,
    work: int,
    table: Floats,
    ending: Floats,
    amount: Ints,
) -> None:
    """Read a cheapest job that ends in ``completion`` out of `windowed_costs`' table."""
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
