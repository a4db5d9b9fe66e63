"""Kernel: linear relaxation of all jobs' multiple-choice knapsacks over slots, at prices.

The pricing subproblem of `capacity` is solved exactly; here a job may distribute its work over
slots in fractions, which bounds its payoff from above in a few microseconds. Convexified costs
make the relaxation greedy, as in the linear multiple-choice knapsack (Sinha and Zoltners, 1979).
It is the subproblem of the subgradient method for large instances.

- The cost of n workers in slot t, with their parameter servers (PS), is replaced by a convex
  function h_t with h_t(0) = 0 and h_t(n) <= cost_t(n) for n = 0, 1, ..., N.
- A schedule that completes in slot c has n_t workers in slots t <= c, of sum at least W, and costs
  sum_t cost_t(n_t) >= sum_t h_t(n_t) >= the least of sum_t h_t(x_t) over real x_t in [0, N] of sum
  at least W. As slopes of h_t are not negative and ascend, that minimum takes the cheapest W units
  of all segments of all h_t, t <= c: merged slopes, kept in a heap.
- So f(c - a) less that minimum is at least the payoff of any schedule that completes in c, and the
  greatest of them over c, or 0, at least the payoff of the job. Hence the bound at these prices, a
  sum of payoffs and of the value of all capacity, only rises.

There are two choices of h_t. *Hulls*: the lower convex hull of cost_t. *Lines*: the PS that n
workers need are at least rho n, with rho = min over n >= 1 of m(n) / n, and m PS cost P(m), convex,
as the cheapest classes are taken first; so W(n) + P(rho n), with W the cost of n workers, is
convex, not above cost_t(n), and needs no loop over n.

A class of machines counts with the total capacity of its machines, as in the certificate:
both choices only relax how work is distributed over slots, and how PS are counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.workload import hull


class SweepJobs(NamedTuple):
    """I jobs, T slots."""

    arrival: Ints  # (I,) slot
    last: Ints  # (I,) the last slot in which completing earns something
    work: Ints  # (I,) worker-slots
    most: Ints  # (I,) workers in a slot on the empty machines; 0: it can never run
    rate: Floats  # (I,) rho: PS per worker, at least
    first: Ints  # (I,) where a job begins in `servers`
    servers: Ints  # PS that 0, 1, ..., most workers need, one job after the other
    utility: Floats  # (I, T) of completing in a slot


class SideDemand(NamedTuple):
    """Workers, or PS, of I jobs on machines in C classes, with R resources."""

    demand: Floats  # (I, R) units of one
    max_units: Floats  # (I, C) how many all machines of a class hold together


class SweepResults(NamedTuple):
    """Solution of each job's pricing subproblem over the convexified costs."""

    payoff: Floats  # (I,) at most this, at least 0
    completion: Ints  # (I,) the slot in which that is so, -1: in none
    cost: Floats  # (I,) of that


class Scratch(NamedTuple):
    """Working arrays of the kernel."""

    unit: tuple[Floats, Floats]  # (C, T) price of one worker, of one PS
    cost: Floats  # (2, N + 1) of workers, or of all; of PS
    slope: Floats  # (K,) of the segments of one slot, ascending
    length: Ints  # (K,) of hulls: workers
    reach: Floats  # (K + 1,) where segments end, in workers
    heap: Floats  # (2, T K) slope and length of the cheapest segments so far
    item: Ints  # (T K,) their slots
    low: Floats  # (T K,) how many workers a slot has without the segment


@kernel(inline="always")
def next_class(unit: Floats, s: int, max_units: Floats, c: int) -> int:
    """Return the class that comes after ``c`` (-1: the first) by price in slot ``s``; or -1.

    ``unit`` (C, T) as in `Scratch`; ``max_units`` (C,) for workers (PS), 0: no part in it.
    """
    found = -1
    for k in range(max_units.size):
        if max_units[k] < 1.0 or k == c:
            continue
        if c >= 0 and (unit[k, s] < unit[c, s] or (unit[k, s] == unit[c, s] and k < c)):
            continue
        if found < 0 or unit[k, s] < unit[found, s]:
            found = k
    return found


@kernel
def _fill(unit: Floats, s: int, max_units: Floats, most: int, cost: Floats) -> int:
    """Fill in the least ``cost[n]`` of n = 0..``most`` workers (PS); return how many there are.

    The others as in `next_class`.
    """
    cost[0], n, c = 0.0, 0, next_class(unit, s, max_units, -1)
    while n < most and c >= 0:
        for _ in range(min(most - n, int(max_units[c]))):
            cost[n + 1] = cost[n] + unit[c, s]
            n += 1
        c = next_class(unit, s, max_units, c)
    return n


@kernel
def _lines(
    unit: tuple[Floats, Floats],
    s: int,
    max_units: tuple[Floats, Floats],
    most: int,
    rate: float,
    scratch: Scratch,
) -> int:
    """Write the segments of W(n) + P(rho n), slopes ascending; return how many there are.

    ``unit`` as in `Scratch`; ``max_units`` (C,) for workers, for PS.
    """
    used, n = 0, 0.0
    c, d = next_class(unit[0], s, max_units[0], -1), next_class(unit[1], s, max_units[1], -1)
    ends = max_units[0][c] if c >= 0 else 0.0
    servers = max_units[1][d] if d >= 0 else 0.0
    while n < most and c >= 0 and (d >= 0 or rate == 0.0):
        last = servers / rate if rate > 0.0 else np.inf
        end = min(float(most), ends, last)
        scratch.slope[used] = unit[0][c, s] + (rate * unit[1][d, s] if rate > 0.0 else 0.0)
        n = end
        scratch.reach[used + 1] = n
        used += 1
        if n >= ends:
            c = next_class(unit[0], s, max_units[0], c)
            ends += max_units[0][c] if c >= 0 else 0.0
        if n >= last:
            d = next_class(unit[1], s, max_units[1], d)
            servers += max_units[1][d] if d >= 0 else 0.0
    return used


@kernel
def _hulls(
    unit: tuple[Floats, Floats],
    s: int,
    max_units: tuple[Floats, Floats],
    most: int,
    servers: Ints,
    scratch: Scratch,
) -> int:
    """Write the segments of the lower hull of the cost; return how many there are.

    ``unit`` and ``max_units`` as in `_lines`; n workers need ``servers[n]`` PS.
    """
    cost, ps = scratch.cost[0], scratch.cost[1]
    _fill(unit[0], s, max_units[0], most, cost)
    _fill(unit[1], s, max_units[1], servers[most], ps)
    for n in range(1, most + 1):
        cost[n] += ps[servers[n]]
    used = hull(cost, most, scratch.slope, scratch.length)
    for k in range(used):
        scratch.reach[k + 1] = scratch.reach[k] + scratch.length[k]
    return used


@kernel
def push(scratch: Scratch, size: int, slope: float, length: float, slot: int, low: float) -> None:
    """Put a segment into the heap of ``size``, whose top has the greatest slope."""
    heap, item, lows = scratch.heap, scratch.item, scratch.low
    k = size
    while k > 0:
        up = (k - 1) >> 1
        if heap[0, up] >= slope:
            break
        heap[0, k], heap[1, k] = heap[0, up], heap[1, up]
        item[k], lows[k] = item[up], lows[up]
        k = up
    heap[0, k], heap[1, k], item[k], lows[k] = slope, length, slot, low


@kernel
def pop(scratch: Scratch, size: int) -> None:
    """Take the segment of greatest slope out of the heap of ``size``."""
    heap, item, lows = scratch.heap, scratch.item, scratch.low
    last = size - 1
    slope, k = heap[0, last], 0
    while True:
        down = 2 * k + 1
        if down >= last:
            break
        if down + 1 < last and heap[0, down + 1] > heap[0, down]:
            down += 1
        if heap[0, down] <= slope:
            break
        heap[0, k], heap[1, k] = heap[0, down], heap[1, down]
        item[k], lows[k] = item[down], lows[down]
        k = down
    heap[0, k], heap[1, k], item[k], lows[k] = slope, heap[1, last], item[last], lows[last]


@kernel
def _use(
    unit: Floats,
    slot: tuple[int, int],
    max_units: Floats,
    demand: Floats,
    part: tuple[float, float, float],
    usage: Floats,
) -> None:
    """Add the use of the workers (PS) from ``part[0]`` to ``part[1]`` of a slot, times ``part[2]``.

    ``slot`` is the one of the job's window, and of the horizon; ``usage`` has shape (C, R, T).
    ``unit`` and ``max_units`` as in `next_class`; ``demand`` (R,) of one.
    """
    s, t = slot
    low, high, share = part
    held, c = 0.0, next_class(unit, s, max_units, -1)
    while c >= 0 and held < high:
        mine = min(high, held + max_units[c]) - max(low, held)
        if mine > 0.0:
            for r in range(demand.size):
                usage[c, r, t] += share * mine * demand[r]
        held += max_units[c]
        c = next_class(unit, s, max_units, c)


@kernel
def unit_prices(
    i: int,
    arrival: int,
    slots: int,
    sides: tuple[SideDemand, SideDemand],
    prices: tuple[Floats, Floats],
    scratch: Scratch,
) -> None:
    """Write the prices of one worker and one PS of job ``i``, by class and slot of its window.

    ``prices`` (C, R, T) of a unit of workers' machines, of PS'.
    """
    for side in range(2):
        unit, price, demand = scratch.unit[side], prices[side], sides[side].demand[i]
        for c in range(price.shape[0]):
            if sides[side].max_units[i, c] < 1.0:
                continue
            unit[c, :slots] = 0.0
            for r in range(demand.size):
                d = demand[r]
                if d > 0.0:
                    for s in range(slots):
                        unit[c, s] += d * price[c, r, arrival + s]


@kernel(nogil=True)
def sweep(
    jobs: SweepJobs,
    sides: tuple[SideDemand, SideDemand],
    prices: tuple[Floats, Floats],
    chosen: Ints,
    hulls: bool,
    found: SweepResults,
    usage: tuple[Floats, Floats],
    scratch: Scratch,
) -> float:
    """Bound the payoffs of some jobs; return their sum.

    Parameters
    ----------
    jobs, sides
    prices : pair of shape (C, R, T)
        Of a unit, on machines for workers and for PS.
    chosen : shape (n,)
        The jobs.
    hulls : bool
        Whether costs are replaced by their hulls; else PS count as a line.
    found : Found
        Receives the results for the chosen jobs.
    usage : pair of shape (C, R, T)
        Receives their use, added to the present values; units.
    scratch : Scratch
    """
    total, heap = 0.0, scratch.heap
    for i in chosen:
        a, work, most = jobs.arrival[i], float(jobs.work[i]), jobs.most[i]
        slots = jobs.last[i] - a + 1
        found.payoff[i], found.completion[i], found.cost[i] = 0.0, -1, 0.0
        if most < 1 or slots < 1 or work > most * slots:
            continue
        unit_prices(i, a, slots, sides, prices, scratch)
        max_units = (sides[0].max_units[i], sides[1].max_units[i])
        servers = jobs.servers[jobs.first[i] : jobs.first[i] + most + 1]
        best, completion, cost = 0.0, -1, 0.0
        for again in range(2):  # the second time, only the segments of the best schedule
            size, held, paid = 0, 0.0, 0.0
            end = slots if again == 0 else completion + 1
            for s in range(end):
                gain = jobs.utility[i, a + s]
                if again == 0 and gain <= best:
                    break
                if hulls:
                    used = _hulls(scratch.unit, s, max_units, most, servers, scratch)
                else:
                    used = _lines(scratch.unit, s, max_units, most, jobs.rate[i], scratch)
                for k in range(used):
                    slope = scratch.slope[k]
                    low, high = scratch.reach[k], scratch.reach[k + 1]
                    if held >= work and slope >= heap[0, 0]:
                        break
                    push(scratch, size, slope, high - low, s, low)
                    size += 1
                    held += high - low
                    paid += (high - low) * slope
                    while size > 0 and held - heap[1, 0] >= work:
                        held -= heap[1, 0]
                        paid -= heap[0, 0] * heap[1, 0]
                        pop(scratch, size)
                        size -= 1
                # worker-slots that may be missing: roundings of sums
                if again == 0 and held >= work - 1e-6:
                    spent = paid - heap[0, 0] * max(0.0, held - work)
                    if gain - spent > best:
                        best, completion, cost = gain - spent, s, spent
            if completion < 0:
                break
        if completion < 0:
            continue
        total += best
        found.payoff[i], found.completion[i], found.cost[i] = best, a + completion, cost
        for k in range(size):
            low, length, s = scratch.low[k], heap[1, k], scratch.item[k]
            share = 1.0 - max(0.0, held - work) / length if k == 0 else 1.0
            slot = (s, a + s)
            part = (low, low + length, share)
            _use(scratch.unit[0], slot, max_units[0], sides[0].demand[i], part, usage[0])
            if hulls:
                part = (float(servers[int(low)]), float(servers[int(low + length)]), share)
            else:
                part = (jobs.rate[i] * low, jobs.rate[i] * (low + length), share)
            _use(scratch.unit[1], slot, max_units[1], sides[1].demand[i], part, usage[1])
    return total
