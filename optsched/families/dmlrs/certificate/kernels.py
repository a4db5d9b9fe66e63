"""Integer kernels of the checker: cheapest placements, and a label-setting dynamic program.

Labels (work, cost) with dominance give the best payoff of one job (Desrochers and Soumis, 1988),
written independently of the solver. All numbers are ``int64``. `limits.ValueGrid` chooses units so
that no sum of costs here reaches ``NONE`` (2**62), and an entry ``NONE`` plus any cost stays below
2**63. A job's work is below 2**56, that of one slot's workers below twice that; amounts of
resources are at most 2**50.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.numbers.argsort import rank
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

NONE = 2**62  # the cost of a schedule that does not exist
MOST_LABELS = 50_000  # above it, neighbours are joined into one that is better than both
COARSE = 36  # binary digits of work that the prices of missing work leave out
STEEPEST = 2**38  # the greatest price of missing work, of all slots together
SURROGATE = 2**20  # the whole of a resource, in the one measure of size that bounds a load
NARROW = 2**42  # capacities from here on are measured without their last digits


class SlotChoices(NamedTuple):
    """Options of a job in each of S slots."""

    work: Ints  # (S, options) that it does
    cost: Ints  # (S, options) in units of 2**-grid
    size: Ints  # (S,) how many options
    forced: Ints  # (S,) 1 where one of them must run


@kernel(error_model="numpy")
def holds(free: Ints, alpha: Ints, beta: Ints, n: int, m: int) -> bool:
    """Whether n workers and m PS fit; by division, since products might be too large.

    ``free``, ``alpha`` and ``beta`` have shape (R,): units of a machine, of a worker, of a PS.
    """
    for r in range(free.size):
        left = free[r]
        if beta[r] > 0:
            if m > left // beta[r]:
                return False
            left -= m * beta[r]
        if alpha[r] > 0 and n > left // alpha[r]:
            return False
    return True


@kernel(error_model="numpy")
def share(demand: int, capacity: int) -> int:
    """Return ``demand`` as a part of ``capacity``, in units of 1 / SURROGATE, rounded down.

    Of numbers above 2**42 the last digits do not count, so that no product reaches 2**63.
    """
    drop = 0
    while capacity >> drop >= NARROW:
        drop += 1
    return int((demand >> drop) * SURROGATE // ((capacity >> drop) + min(drop, 1)))


# Numba compiles a kernel anew for every literal that another one hands to it, also where a variable
# that begins as one is meant. So the numbers that are handed on begin as ``zero``.


@kernel
def inner_costs(
    worker: Ints, ps: Ints, free: Ints, alpha: Ints, beta: Ints, needed: Ints, most: int
) -> Ints:
    """Return the least cost of n workers and their PS on one machine, n = 0..most.

    Parameters
    ----------
    worker, ps : shape (C,)
        Price of one worker, one PS, on a machine of each class.
    free : shape (C, R), units
    alpha, beta : shape (R,), units of a worker, a PS
    needed : shape (N + 1,)
        PS that n workers need, below 0: impossible.
    """
    cost = np.empty(most + 1, np.int64)
    for n in range(most + 1):
        cost[n] = NONE if n > 0 else 0
        m = needed[n]
        if n == 0 or m < 0:
            continue
        for c in range(worker.size):
            if holds(free[c], alpha, beta, n, m):
                cost[n] = min(cost[n], n * worker[c] + m * ps[c])
    return cost


@kernel(error_model="numpy")
def outer_costs(
    worker: Ints,
    ps: Ints,
    free: Ints,
    count: Ints,
    alpha: Ints,
    beta: Ints,
    needed: Ints,
    most: int,
    abandoned: Ints,
    steps: Floats,
) -> Ints:
    """Return the least cost of n workers and their PS on two machines or more, n = 0..most.

    A dynamic program over the machines, ``count[c]`` of each class. ``one[n, m]``: n workers and m
    PS on exactly one machine; ``more[n, m]``: on two or more. The arguments are as in
    `inner_costs`; ``count`` has shape (C,). Returns at once if ``abandoned[0]`` becomes 1, or if
    ``steps[0]``, the elementary steps so far, exceeds ``steps[1]``.
    """
    servers = 0
    for n in range(most + 1):
        servers = max(servers, needed[n])
    one = np.empty((most + 1, servers + 1), np.int64)
    more = np.empty((most + 1, servers + 1), np.int64)
    for n in range(most + 1):
        for m in range(servers + 1):
            one[n, m], more[n, m] = NONE, NONE
    max_units, cost = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    for c in range(worker.size):
        top = -1  # workers that fit
        for w in range(most + 1):
            max_units[w] = servers
            for r in range(alpha.size):
                left = free[c, r] - w * alpha[r]
                if left < 0:
                    max_units[w] = -1
                    break
                if beta[r] > 0:
                    max_units[w] = min(max_units[w], left // beta[r])
            if max_units[w] < 0:
                break
            top = w
        if top < 0 or (top == 0 and max_units[0] == 0):
            continue
        ways = 2 + top
        for w in range(top + 1):
            ways += max_units[w]
        for _ in range(min(count[c], most + servers)):
            changed = False  # else one machine more makes nothing cheaper
            for n in range(most, -1, -1):
                steps[0] += (servers + 1) * ways
                for m in range(servers, -1, -1):
                    if abandoned[0] or steps[0] > steps[1]:
                        return cost
                    best = more[n, m]
                    for w in range(min(n, top) + 1):
                        for s in range(min(m, max_units[w]) + 1):
                            if w + s == 0 or (w == n and s == m):
                                continue
                            before = min(one[n - w, m - s], more[n - w, m - s])
                            best = min(best, before + w * worker[c] + s * ps[c])
                    if best < more[n, m]:
                        more[n, m] = best
                        changed = True
                    if n + m > 0 and n <= top and m <= max_units[n]:
                        alone = n * worker[c] + m * ps[c]
                        if alone < one[n, m]:
                            one[n, m] = alone
                            changed = True
            if not changed:
                break
    for n in range(most + 1):
        cost[n] = min(NONE, more[n, needed[n]]) if needed[n] >= 0 else NONE
    cost[0] = 0
    return cost


@kernel
def slot_options(
    inner: Ints, outer: Ints, rates: Ints, total: int, low: int, high: int
) -> tuple[Ints, Ints]:
    """Return the work and cost of the options of a slot, both rising; dominated options left out.

    Parameters
    ----------
    inner, outer : shape (N + 1,)
        Cost of n workers on one machine, on more.
    rates : shape (2,)
        Work of a worker, inner and outer.
    total : int
        Work of the job.
    """
    i, j = inner.size - 1, outer.size - 1
    first = i + j  # of the options so far, which are written from the last on
    work, cost = np.empty(first, np.int64), np.empty(first, np.int64)
    least = NONE
    while i > 0 or j > 0:  # from the most work to the least
        a = min(total, i * rates[0]) if i > 0 else -1
        b = min(total, j * rates[1]) if j > 0 else -1
        take = a >= b
        n, w, c = (i, a, inner[i]) if take else (j, b, outer[j])
        if low <= n <= high and c < least:
            if first == work.size or work[first] != w:
                first -= 1
            work[first], cost[first] = w, c
            least = c
        if take:
            i -= 1
        else:
            j -= 1
    return work[first:], cost[first:]


@kernel(error_model="numpy")
def best_payoff(
    options: SlotChoices, total: int, utility: Ints, first: int, last: int, floor: int
) -> int:
    """Return the greatest value - cost of a schedule that completes in first..last.

    Parameters
    ----------
    options : SlotChoices
        Options of each slot; none is forced after ``last``.
    total : int
        Work of the job; a schedule may do more.
    utility : shape (S,)
        Utility of completing in each slot; never rises.
    floor : int
        Only greater payoffs count (-NONE: all); returned if there is none.
    """
    work, cost, size, forced = options
    slots = last + 1
    best, until = floor, first
    for t in range(forced.size):
        if forced[t] == 1:
            until = max(until, t)
    # a price of 2**COARSE units of work: that of the most expensive slot that is needed
    price, amount = np.empty(slots, np.int64), np.empty(slots, np.int64)
    order, surplus = np.empty(slots, np.int64), np.empty(slots + 1, np.int64)
    for t in range(slots):
        price[t], amount[t], order[t] = NONE, 0, t
        for k in range(size[t]):
            each = cost[t, k] // max(1, work[t, k] >> COARSE)
            if each < price[t]:
                price[t], amount[t] = each, work[t, k]
    rank(price, order, slots)
    rate, reached = 0, 0
    for k in range(slots):
        t = order[k]
        if price[t] == NONE:
            break
        reached += amount[t]
        if reached >= total:
            rate = min(price[t], 2**40)
            break
    # a lower bound on the cost of the remaining work, and of the slots from t on
    rate = min(rate, STEEPEST // slots)  # no sum overflows; any price is valid
    surplus[slots] = 0
    for t in range(last, -1, -1):
        least = 0
        for k in range(size[t]):
            least = min(least, cost[t, k] - rate * ((work[t, k] >> COARSE) + 1))
        surplus[t] = surplus[t + 1] + least
    done, paid, labels = np.empty(1, np.int64), np.empty(1, np.int64), 1  # work falling
    done[0], paid[0] = 0, 0
    for t in range(slots):
        if utility[t] <= best:
            break
        new_done, new_paid, n = done, paid, 0
        for o in range(0 if forced[t] == 1 else -1, size[t]):  # -1: nothing runs
            step, dearer = (work[t, o], cost[t, o]) if o >= 0 else (0, 0)
            for j in range(labels if o >= 0 and t >= until else 0):
                if done[j] + step < total:
                    break
                best = max(best, utility[t] - paid[j] - dearer)
            # merge the labels with this option; dominated labels are left out
            out, cheap = np.empty(n + labels, np.int64), np.empty(n + labels, np.int64)
            i, j, m, least = 0, 0, 0, NONE
            while i < n or j < labels:
                w = min(total, done[j] + step) if j < labels else -1
                if i < n and new_done[i] >= w:
                    w, c = new_done[i], new_paid[i]
                    i += 1
                else:
                    c = paid[j] + dearer
                    j += 1
                if c < least:
                    if m > 0 and out[m - 1] == w:
                        m -= 1
                    out[m], cheap[m] = w, c
                    least = c
                    m += 1
            new_done, new_paid, n = out, cheap, m
        if t == last:
            break
        labels = 0
        for j in range(n):
            missing = rate * ((total - new_done[j]) >> COARSE) + surplus[t + 1]
            if utility[t + 1] - new_paid[j] - max(0, missing) > best:
                new_done[labels], new_paid[labels] = new_done[j], new_paid[j]
                labels += 1
        if labels == 0:
            break
        while labels > MOST_LABELS:  # join neighbours, as more work for the lower cost
            half = (labels + 1) // 2
            for k in range(half):
                new_done[k] = new_done[2 * k]
                new_paid[k] = new_paid[min(2 * k + 1, labels - 1)]
            labels = half
        done, paid = new_done, new_paid
    return best
