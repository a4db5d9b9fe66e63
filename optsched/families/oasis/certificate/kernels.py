"""Integer kernels of the checker: dynamic program for the cheapest schedule of one job.

The dynamic program over slots (Bellman, 1957) is that of the pricing subproblem, written again in
integers. All numbers are ``int64``, and none leaves that range: `limits.Range` chooses units in
which no cost of a schedule reaches ``NONE`` (2**62); an entry ``NONE`` plus any cost stays below
2**63. What a kernel adds beyond that, it bounds where it does. Costs are in units of 2**-grid of
the utility.
"""

from __future__ import annotations

import numpy as np

from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

NONE = 2**62  # the cost of a schedule that does not exist


@kernel
def filling(unit: Ints, max_units: Ints, most: int, order: Ints, cost: Ints) -> None:
    """Fill in the least cost of n = 0..most on classes of machines, NONE beyond their capacity.

    Parameters
    ----------
    unit : shape (C,)
        Price of one worker (or PS) on a machine of each class.
    max_units : shape (C,)
        How many the machines of each class hold together.
    most : int
    order : shape (C,)
        Scratch.
    cost : shape (most + 1,), or longer
    """
    classes = 0
    for c in range(len(unit)):
        if max_units[c] > 0:
            order[classes] = c
            classes += 1
    gap = 1
    while gap < classes:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort; which of two equal prices goes first is the same to the costs
        for j in range(gap, classes):
            c, place = order[j], j
            while place >= gap and unit[order[place - gap]] > unit[c]:
                order[place] = order[place - gap]
                place -= gap
            order[place] = c
        gap //= 3
    cost[0] = 0
    n = 0
    for k in range(classes):
        c = order[k]
        for _ in range(min(max_units[c], most - n)):
            cost[n + 1] = cost[n] + unit[c]
            n += 1
    for k in range(n + 1, most + 1):
        cost[k] = NONE


@kernel
def slot_costs(
    worker_unit: Ints, max_workers: Ints, ps_unit: Ints, max_ps: Ints, ps_needed: Ints
) -> Ints:
    """Return the least cost of n workers and the PS they need in each slot, shape (S, N + 1).

    Parameters
    ----------
    worker_unit, ps_unit : shape (S, C)
        Price of one worker (PS) on a machine of each class.
    max_workers, max_ps : shape (C,)
    ps_needed : shape (N + 1,)
    """
    slots, most = len(worker_unit), len(ps_needed) - 1
    cost = np.empty((slots, most + 1), np.int64)
    servers = np.empty(ps_needed[most] + 1, np.int64)
    order = np.empty(max(len(max_workers), len(max_ps)), np.int64)
    for t in range(slots):
        filling(worker_unit[t], max_workers, most, order, cost[t])
        filling(ps_unit[t], max_ps, ps_needed[most], order, servers)
        for n in range(most + 1):
            cost[t, n] = min(NONE, cost[t, n] + min(servers[ps_needed[n]], NONE - 1))
    return cost


@kernel
def cheapest(cost: Ints, low: Ints, high: Ints, work: int) -> Ints:
    """Return the least cost of a schedule that ends in each slot, NONE without one; shape (S,).

    A dynamic program over the worker-slots done, saturated at ``work``: lower limits may force more
    than ``work``.

    Parameters
    ----------
    cost : shape (S, N + 1)
        Cost of n workers in each slot from the arrival on.
    low, high : shape (S,)
        Limits of the number of workers in each slot up to the completion.
    work : int
    """
    slots = len(cost)
    ends = np.empty(slots, np.int64)
    ends[:] = NONE
    done = np.empty(work + 1, np.int64)  # cheapest cost by worker-slots done
    done[:] = NONE
    done[0] = 0
    after = np.empty(work + 1, np.int64)
    least = np.empty(work + 1, np.int64)  # least[s]: cheapest with s or more
    missing = np.empty(slots + 1, np.int64)  # worker-slots that later slots can still do
    missing[slots] = 0
    for t in range(slots - 1, -1, -1):
        missing[t] = missing[t + 1] + high[t]
    reach = 0  # no state above it is reachable, except `work` itself
    for t in range(slots):
        least[work] = done[work]
        for s in range(work - 1, -1, -1):
            least[s] = min(done[s], least[s + 1])
        after[:] = NONE
        first = max(0, work - missing[t])  # below it, no later slot completes the job
        for n in range(low[t], high[t] + 1):
            c = cost[t, n]
            if c >= NONE:
                continue
            enough = least[max(0, work - n)] + c
            after[work] = min(after[work], enough)
            if n > 0:
                ends[t] = min(ends[t], enough)
            last = min(reach, work - 1 - n)
            if last < first:
                continue
            source = done[first : last + 1]
            target = after[first + n : last + 1 + n]
            for s in range(len(source)):
                target[s] = min(target[s], source[s] + c)
        reach = min(work, reach + max(0, high[t]))
        done, after = after, done
    return ends


@kernel
def useful_slots(cost: Ints, high: Ints, work: int, utility: Ints) -> int:
    """Return how many slots matter: after them, no completion pays its cost.

    n workers cost at least n times the slot's least cost per worker, rounded down; the cheapest
    slots are filled first.

    Parameters
    ----------
    cost : shape (S, N + 1)
    high : shape (S,)
    work : int
    utility : shape (S,)
        Utility of completing in each slot.
    """
    slots = len(cost)
    rate = np.empty(slots, np.int64)
    order = np.empty(slots, np.int64)  # slots so far, by rate
    useful = 0
    for t in range(slots):
        rate[t] = NONE if high[t] < 1 else cost[t, 1]  # times n it is no more than cost[t, n]
        for n in range(2, high[t] + 1):
            rate[t] = min(rate[t], cost[t, n] // n)
        place = t
        while place > 0 and rate[order[place - 1]] > rate[t]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = t
        left, total = work, 0
        for j in range(t + 1):
            n = min(left, high[order[j]])
            if n > 0 and rate[order[j]] < NONE:
                total += n * rate[order[j]]
                left -= n
        if left == 0 and utility[t] > total:
            useful = t + 1
    return useful
