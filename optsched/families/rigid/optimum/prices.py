"""Subgradient method on capacity prices: dual bound, prices, and start times of the relaxation.

Dantzig-Wolfe decomposition by job (Dantzig and Wolfe, 1960): a column is a job's start. At prices
of capacity that are piecewise constant in time, a job's cost plus its charge, the integral of the
prices while it runs, changes slope only where its start or its end meets a breakpoint. So the
pricing subproblem looks at these starts only, with prefix sums, and stops where the cost alone is
no better than what was found: charges are not negative. The Lagrangian bound (Geoffrion, 1974)
rises by subgradient steps of Polyak's length (Held et al., 1974). The average of the starts
approaches where the relaxation has them, as in the volume algorithm (Barahona and Anbil, 2000).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

PATIENCE = 50  # steps without a better bound, after which they get shorter
SHRINK = 0.8
AVERAGE = 0.1  # weight of the newest starts in their average


class PricedJobs(NamedTuple):
    """Jobs as the kernel takes them: cost is rate * max(floor, s - arrival + shift)."""

    low: Ints  # (n,) earliest start, in seconds
    high: Ints  # (n,) latest start
    arrival: Ints  # (n,) in seconds
    run: Ints  # (n,) in seconds
    demand: Floats  # (n, K) units, of all tasks
    rate: Floats  # (n,)
    floor: Ints  # (n,)
    shift: Ints  # (n,)


@kernel
def cheapest(
    jobs: PricedJobs, i: int, times: Ints, price: Floats, cumulative: Floats
) -> tuple[float, int, int, int]:
    """Return the least cost with charge of job ``i``, the start, and where start and end are.

    Parameters
    ----------
    jobs : PricedJobs
    i : int
    times : shape (B + 1,)
        Breakpoints.
    price : shape (K, B + 1)
        Of a unit and second from each breakpoint on; 0 from the last.
    cumulative : shape (K, B + 1)
        Its integral until each breakpoint.
    """
    low, high, arrival, run, demand, rate, floor, shift = jobs
    last, kinds = times.size - 1, price.shape[0]
    s = low[i]
    p = run[i]
    kink = arrival[i] + floor[i] - shift[i]
    # rows in which start and end are; -1: before the first breakpoint
    x = np.searchsorted(times, s, side="right") - 1
    y = np.searchsorted(times, s + p, side="right") - 1
    best, where, at, to = np.inf, s, x, y
    while True:
        cost = rate[i] * max(floor[i], s - arrival[i] + shift[i])
        if cost >= best:
            break
        for k in range(kinds):
            if demand[i, k]:
                charge = 0.0
                if y >= 0:
                    charge = cumulative[k, y] + price[k, y] * (s + p - times[y])
                if x >= 0:
                    charge -= cumulative[k, x] + price[k, x] * (s - times[x])
                cost += demand[i, k] * charge
        if cost < best:
            best, where, at, to = cost, s, x, y
        if s >= high[i] or x == last:
            break
        step = times[x + 1]
        if y < last:
            step = min(step, times[y + 1] - p)
        if s < kink:
            step = min(step, kink)
        s = min(step, high[i])
        while x < last and times[x + 1] <= s:
            x += 1
        while y < last and times[y + 1] <= s + p:
            y += 1
    return best, where, at, to


@kernel
def evaluate(
    jobs: PricedJobs, times: Ints, price: Floats, capacity: Floats, starts: Ints, use: Floats
) -> float:
    """Return the Lagrangian bound at some prices.

    ``starts`` (n,) receives the cheapest starts, and ``use`` (K, B + 1) the mean use of each
    resource between the breakpoints.

    Parameters
    ----------
    times : shape (B + 1,)
        Breakpoints.
    price : shape (K, B + 1)
        Of a unit and second from each breakpoint on; 0 from the last.
    capacity : shape (K,)
        Units.
    """
    n, last, kinds = starts.size, times.size - 1, price.shape[0]
    cumulative = np.zeros(price.shape)
    total = 0.0
    for k in range(kinds):
        for j in range(last):
            cumulative[k, j + 1] = cumulative[k, j] + price[k, j] * (times[j + 1] - times[j])
        total -= cumulative[k, last] * capacity[k]
    level = np.zeros(price.shape)
    use[:] = 0.0
    for i in range(n):
        cost, s, x, y = cheapest(jobs, i, times, price, cumulative)
        total += cost
        starts[i] = s
        end = s + jobs.run[i]
        for k in range(kinds):
            d = jobs.demand[i, k]
            if x >= 0:
                use[k, x] -= d * (s - times[x])
            if y >= 0:
                use[k, y] += d * (end - times[y])
            level[k, max(x, 0)] += d
            level[k, max(y, 0)] -= d
    for k in range(kinds):
        now = 0.0
        for j in range(last):
            now += level[k, j]
            use[k, j] = now + use[k, j] / (times[j + 1] - times[j])
        use[k, last] = 0.0
    return total


@kernel
def ascend(
    jobs: PricedJobs,
    times: Ints,
    price: Floats,
    capacity: Floats,
    target: float,
    steps: int,
    state: Floats,
    mean: Floats,
    spread: Floats,
) -> float:
    """Improve prices by this many steps; return the best bound, ``price`` receives its prices.

    Parameters
    ----------
    times : shape (B + 1,)
        Breakpoints.
    price : shape (K, B + 1)
        Of a unit and second from each breakpoint on; 0 from the last.
    capacity : shape (K,)
        Units.
    target : float
        A value that the bound is hoped to reach: that of the best schedule.
    state : shape (3,)
        [best bound, relaxation of the step, steps without improvement], from call to call.
    mean, spread : shape (n,)
        Average of the starts, and of their distance from it.
    """
    n, last, kinds = mean.size, times.size - 1, price.shape[0]
    starts = np.empty(n, np.int64)
    use = np.empty(price.shape)
    now = price.copy()
    for _ in range(steps):
        bound = evaluate(jobs, times, now, capacity, starts, use)
        if bound > state[0]:
            if bound > state[0] + 1e-4 * abs(target - state[0]):
                state[2] = 0
            state[0] = bound
            price[:] = now
        else:
            state[2] += 1
        if bound >= target:
            break
        for i in range(n):
            apart = starts[i] - mean[i]
            mean[i] += AVERAGE * apart
            spread[i] += AVERAGE * (abs(apart) - spread[i])
        square = 0.0
        for k in range(kinds):
            for j in range(last):
                use[k, j] -= capacity[k]
                if use[k, j] < 0 and now[k, j] == 0:
                    use[k, j] = 0.0
                square += use[k, j] ** 2 * (times[j + 1] - times[j])
        if square == 0:
            break
        step = state[1] * (target - bound) / square
        if state[2] >= PATIENCE:
            state[1] *= SHRINK
            state[2] = 0
            now[:] = price
            continue
        for k in range(kinds):
            for j in range(last):
                now[k, j] = max(0.0, now[k, j] + step * use[k, j])
    best: float = state[0]
    return best
