"""Subgradient method on capacity prices: dual bound, prices, and start times of the relaxation.

Dantzig-Wolfe decomposition by job (Dantzig and Wolfe, 1960): a column is a job's start. At prices
of capacity that are piecewise constant in time, a job's cost plus its charge, the integral of the
prices while it runs, changes slope only where its start or its end meets a breakpoint. So the
pricing subproblem looks at these starts only, with prefix sums, and stops where the cost alone is
no better than the incumbent: charges are not negative. The Lagrangian bound (Geoffrion, 1974)
rises by subgradient steps of Polyak's length (Held et al., 1974), or by adaptive ones (Kingma and
Ba, 2015). The average of the starts approaches where the relaxation has them, as in the volume
algorithm (Barahona and Anbil, 2000).

Jobs of each size of a resource may pay a surcharge. What those that run at once pay together is at
most the best value of an integer knapsack, of jobs that fit (Gilmore and Gomory, 1961).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel


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
    size: Ints  # (n,) which surcharge it pays; -1: none


class Room(NamedTuple):
    """Capacities; G resources are also packed with whole jobs by integer knapsacks."""

    capacity: Floats  # (K,) units
    sizes: Ints  # (S,) needs of jobs with a surcharge, one knapsack after the other
    ends: Ints  # (G,) behind the last size of each knapsack
    units: Ints  # (G,) to fill


@kernel
def cheapest(
    jobs: PricedJobs, i: int, times: Ints, price: Floats, cumulative: Floats
) -> tuple[float, int, int, int, int]:
    """Return the least cost with charge of job ``i``, the start, and where start and end are.

    The last number is that of the starts that were looked at.

    Parameters
    ----------
    jobs : PricedJobs
    i : int
    times : shape (B + 1,)
        Breakpoints.
    price : shape (K + S, B + 1)
        Of a unit and second from each breakpoint on, and surcharges of a job; 0 from the last.
    cumulative : shape (K + S, B + 1)
        Its integral until each breakpoint.
    """
    low, high, arrival, run, demand, rate, floor, shift, size = jobs
    last, kinds = times.size - 1, demand.shape[1]
    s = low[i]
    p = run[i]
    kink = arrival[i] + floor[i] - shift[i]
    # rows in which start and end are; -1: before the first breakpoint
    x = np.searchsorted(times, s, side="right") - 1
    y = np.searchsorted(times, s + p, side="right") - 1
    best, where, at, to, looked = np.inf, s, x, y, 0
    while True:
        looked += 1
        cost = rate[i] * max(floor[i], s - arrival[i] + shift[i])
        if cost >= best:
            break
        for k in range(kinds + (size[i] >= 0)):
            row = k if k < kinds else kinds + size[i]
            amount = demand[i, k] if k < kinds else 1.0
            if amount:
                charge = 0.0
                if y >= 0:
                    charge = cumulative[row, y] + price[row, y] * (s + p - times[y])
                if x >= 0:
                    charge -= cumulative[row, x] + price[row, x] * (s - times[x])
                cost += amount * charge
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
    return best, where, at, to, looked


@kernel
def evaluate(
    jobs: PricedJobs, times: Ints, price: Floats, room: Room, starts: Ints, over: Floats
) -> tuple[float, int]:
    """Return the Lagrangian bound at some prices, and how many starts were looked at.

    ``starts`` (n,) receives the cheapest starts, and ``over`` (K + S, B + 1) by how much their mean
    use between the breakpoints exceeds capacity, or the number of jobs in the best knapsack.

    Parameters
    ----------
    times : shape (B + 1,)
        Breakpoints.
    price : shape (K + S, B + 1)
        Of a unit and second from each breakpoint on, and surcharges of a job; 0 from the last.
    """
    n, last, kinds = starts.size, times.size - 1, room.capacity.size
    cumulative = np.zeros(price.shape)
    total, looked = 0.0, 0
    for k in range(price.shape[0]):
        for j in range(last):
            cumulative[k, j + 1] = cumulative[k, j] + price[k, j] * (times[j + 1] - times[j])
        if k < kinds:
            total -= cumulative[k, last] * room.capacity[k]
    level = np.zeros(price.shape)
    over[:] = 0.0
    for i in range(n):
        cost, s, x, y, steps = cheapest(jobs, i, times, price, cumulative)
        total += cost
        looked += steps
        starts[i] = s
        end = s + jobs.run[i]
        for k in range(kinds + (jobs.size[i] >= 0)):
            row = k if k < kinds else kinds + jobs.size[i]
            d = jobs.demand[i, k] if k < kinds else 1.0
            if x >= 0:
                over[row, x] -= d * (s - times[x])
            if y >= 0:
                over[row, y] += d * (end - times[y])
            level[row, max(x, 0)] += d
            level[row, max(y, 0)] -= d
    for k in range(price.shape[0]):
        now = -room.capacity[k] if k < kinds else 0.0
        for j in range(last):
            now += level[k, j]
            over[k, j] = now + over[k, j] / (times[j + 1] - times[j])
        over[k, last] = 0.0
    first = 0
    for g in range(room.ends.size):
        end = room.ends[g]
        for j in range(last):
            paid, mine = price[kinds + first : kinds + end, j], over[kinds + first : kinds + end, j]
            best = fill(room.sizes[first:end], room.units[g], paid, mine)
            total -= best * (times[j + 1] - times[j])
        first = end
    return total, looked


@kernel
def fill(sizes: Ints, units: int, price: Floats, over: Floats) -> float:
    """Return the value of the best knapsack of jobs; subtract its numbers from ``over``.

    ``sizes``, ``price`` and ``over`` have shape (S,).
    """
    best = np.zeros(units + 1)
    for k in range(price.size):
        if price[k] > 0:
            size, each = sizes[k], price[k]
            for c in range(size, units + 1):
                best[c] = max(best[c], best[c - size] + each)
    c = units
    while best[c] > 0:
        if best[c - 1] >= best[c]:
            c -= 1
            continue
        taken, most = 0, -1.0
        for k in range(price.size):
            if price[k] > 0 and sizes[k] <= c and best[c - sizes[k]] + price[k] > most:
                taken, most = k, best[c - sizes[k]] + price[k]
        over[taken] -= 1.0
        c -= sizes[taken]
    found: float = best[units]
    return found


@kernel
def ascend(
    jobs: PricedJobs,
    times: Ints,
    price: Floats,
    room: Room,
    target: float,
    steps: int,
    state: Floats,
    mean: Floats,
    spread: Floats,
) -> tuple[float, int]:
    """Improve prices by this many steps; return the best bound, ``price`` receives its prices.

    The second number is that of the starts that were looked at.

    Parameters
    ----------
    times : shape (B + 1,)
        Breakpoints.
    price : shape (K, B + 1)
        Of a unit and second from each breakpoint on; 0 from the last. No surcharges.
    target : float
        A value that the bound is hoped to reach: that of the best schedule.
    state : shape (3,)
        [best bound, relaxation of the step, steps without improvement], from call to call.
    mean, spread : shape (n,)
        Average of the starts, and of their distance from it.
    """
    n, last, kinds = mean.size, times.size - 1, price.shape[0]
    starts = np.empty(n, np.int64)
    over = np.empty(price.shape)
    now, passed = price.copy(), 0
    for _ in range(steps):
        bound, looked = evaluate(jobs, times, now, room, starts, over)
        passed += looked
        if bound > state[0]:
            if bound > state[0] + 1e-4 * abs(target - state[0]):
                state[2] = 0
            state[0] = bound
            price[:] = now
        else:
            state[2] += 1
        if bound >= target:
            break
        for i in range(n):  # the newest starts weigh a tenth
            apart = starts[i] - mean[i]
            mean[i] += 0.1 * apart
            spread[i] += 0.1 * (abs(apart) - spread[i])
        square = 0.0
        for k in range(kinds):
            for j in range(last):
                if over[k, j] < 0 and now[k, j] == 0:
                    over[k, j] = 0.0
                over[k, j] /= max(1.0, room.capacity[k])  # whatever the units of the resource
                square += over[k, j] ** 2 * (times[j + 1] - times[j])
        if square == 0:
            break
        step = state[1] * (target - bound) / square
        if state[2] >= 50:
            state[1] *= 0.8
            state[2] = 0
            now[:] = price
            continue
        for k in range(kinds):
            for j in range(last):
                now[k, j] = max(0.0, now[k, j] + step * over[k, j] / max(1.0, room.capacity[k]))
    best: float = state[0]
    return best, passed


class Steps(NamedTuple):
    """Adaptive steps: averages of the subgradients, and of their squares (Kingma and Ba, 2015)."""

    unit: Floats  # (K + S, B + 1) of prices: the length of a step at rate 1
    first: Floats  # (K + S, B + 1)
    second: Floats  # (K + S, B + 1)
    number: Ints  # (1,) of the steps made


def steps_from(price: Floats) -> Steps:
    """Return steps as long as prices are, or their mean over five intervals.

    Parameters
    ----------
    price : shape (K + S, B + 1)
        As in `evaluate`.
    """
    mean = np.array([np.convolve(row, np.full(5, 0.2), "same") for row in price])
    unit = np.maximum(np.maximum(price, mean), 0.02 * price.max(axis=1, keepdims=True))
    return Steps(unit, np.zeros(unit.shape), np.zeros(unit.shape), np.zeros(1, np.int64))


@kernel
def adapt(
    jobs: PricedJobs,
    times: Ints,
    price: Floats,
    room: Room,
    rate: float,
    most: int,
    steps: Steps,
    best: float,
    best_price: Floats,
) -> tuple[float, int]:
    """Change prices and surcharges by adaptive steps; return the best bound.

    The second number is that of the starts that were looked at.

    Parameters
    ----------
    times : shape (B + 1,)
        Breakpoints.
    price, best_price : shape (K + S, B + 1)
        Where the steps are, and where the bound is the best; as in `evaluate`.
    rate : float
        Of the steps.
    most : int
        Number of steps.
    best : float
        The best bound so far.
    """
    kinds, last = room.capacity.size, times.size - 1
    starts, over = np.empty(jobs.low.size, np.int64), np.empty(price.shape)
    unit, first, second, number = steps
    passed = 0
    for _ in range(most):
        bound, looked = evaluate(jobs, times, price, room, starts, over)
        passed += looked
        if bound > best:
            best = bound
            best_price[:] = price
        number[0] += 1
        one, two = 1 - 0.9 ** number[0], 1 - 0.99 ** number[0]
        for k in range(price.shape[0]):
            # in jobs, four of which take all of a resource; a twentieth makes shorter steps
            scale = 4 / max(1.0, room.capacity[k]) if k < kinds else 1.0
            for j in range(last):
                slope = over[k, j] * scale
                first[k, j] += 0.1 * (slope - first[k, j])
                second[k, j] += 0.01 * (slope * slope - second[k, j])
                step = first[k, j] / one / (np.sqrt(second[k, j] / two) + 0.05)
                price[k, j] = max(0.0, price[k, j] + rate * unit[k, j] * step)
    return best, passed
