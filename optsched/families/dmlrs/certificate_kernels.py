"""Integer kernels of the certificate's checker: cheapest placements and schedules, best loads.

All numbers are ``int64``. `certificate_limits.Scale` chooses units so that no sum of costs here
reaches ``NONE`` (2**62), and an entry ``NONE`` plus any cost stays below 2**63. A job's work is
below 2**56, that of one slot's workers below twice that; amounts of resources are at most 2**50.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.kernels import kernel

Ints = NDArray[np.int64]

NONE = 2**62  # the cost of a schedule that does not exist
INNER_ONLY, OUTER_ONLY = 1, 2
MOST_LABELS = 50_000  # above it, neighbours are joined into one that is better than both
COARSE = 36  # binary digits of work that the prices of missing work leave out
STEEPEST = 2**38  # the greatest price of missing work, of all slots together
SURROGATE = 2**20  # the whole of a resource, in the one measure of size that bounds a load
NARROW = 2**42  # capacities from here on are measured without their last digits


@kernel
def holds(free: Ints, alpha: Ints, beta: Ints, n: int, m: int) -> bool:
    """Whether n workers and m PS fit; by division, since products might be too large."""
    for r in range(free.size):
        left = free[r]
        if beta[r] > 0:
            if m > left // beta[r]:
                return False
            left -= m * beta[r]
        if alpha[r] > 0 and n > left // alpha[r]:
            return False
    return True


@kernel
def share(demand: int, capacity: int) -> int:
    """Return ``demand`` as a part of ``capacity``, in units of 1 / SURROGATE, rounded down.

    Of numbers above 2**42 the last digits do not count, so that no product reaches 2**63.
    """
    drop = 0
    while capacity >> drop >= NARROW:
        drop += 1
    return int((demand >> drop) * SURROGATE // ((capacity >> drop) + min(drop, 1)))


@kernel
def inner_costs(
    worker: Ints, ps: Ints, free: Ints, alpha: Ints, beta: Ints, needed: Ints, most: int
) -> Ints:
    """Return the least cost of n workers and their PS on one machine, n = 0..most.

    Parameters
    ----------
    worker, ps : shape (C,)
        Price of one worker, one PS, on a machine of each class.
    free : shape (C, R)
    alpha, beta : shape (R,)
    needed : shape (N + 1,)
        PS that n workers need, below 0: impossible.
    """
    cost = np.full(most + 1, NONE, np.int64)
    cost[0] = 0
    for n in range(1, most + 1):
        m = needed[n]
        if m < 0:
            continue
        for c in range(worker.size):
            if holds(free[c], alpha, beta, n, m):
                cost[n] = min(cost[n], n * worker[c] + m * ps[c])
    return cost


@kernel
def outer_costs(
    worker: Ints,
    ps: Ints,
    free: Ints,
    count: Ints,
    alpha: Ints,
    beta: Ints,
    needed: Ints,
    most: int,
) -> Ints:
    """Return the least cost of n workers and their PS on two machines or more, n = 0..most.

    A dynamic program over the machines, ``count[c]`` of each class. ``one[n, m]``: n workers and m
    PS on exactly one machine; ``more[n, m]``: on two or more.
    """
    cost = np.full(most + 1, NONE, np.int64)
    cost[0] = 0
    servers = 0
    for n in range(most + 1):
        servers = max(servers, needed[n])
    one = np.full((most + 1, servers + 1), NONE, np.int64)
    more = np.full((most + 1, servers + 1), NONE, np.int64)
    room = np.empty(most + 1, np.int64)
    for c in range(worker.size):
        top = -1  # workers that fit
        for w in range(most + 1):
            room[w] = servers
            for r in range(alpha.size):
                left = free[c, r] - w * alpha[r]
                if left < 0:
                    room[w] = -1
                    break
                if beta[r] > 0:
                    room[w] = min(room[w], left // beta[r])
            if room[w] < 0:
                break
            top = w
        if top < 0 or (top == 0 and room[0] == 0):
            continue
        for _ in range(min(count[c], most + servers)):
            for n in range(most, -1, -1):
                for m in range(servers, -1, -1):
                    best = more[n, m]
                    for w in range(min(n, top) + 1):
                        for s in range(min(m, room[w]) + 1):
                            if w + s == 0 or (w == n and s == m):
                                continue
                            before = min(one[n - w, m - s], more[n - w, m - s])
                            best = min(best, before + w * worker[c] + s * ps[c])
                    more[n, m] = best
                    if n + m > 0 and n <= top and m <= room[n]:
                        one[n, m] = min(one[n, m], n * worker[c] + m * ps[c])
    for n in range(1, most + 1):
        if needed[n] >= 0:
            cost[n] = min(NONE, more[n, needed[n]])
    return cost


@kernel
def slot_options(
    inner: Ints, outer: Ints, rates: Ints, total: int, low: int, high: int, mode: int
) -> tuple[Ints, Ints]:
    """Return the work and cost of what a slot may run, both rising; dominated options left out."""
    work = np.empty(inner.size + outer.size, np.int64)
    cost = np.empty_like(work)
    size = 0
    i, j = inner.size - 1, outer.size - 1
    least = NONE
    while i > 0 or j > 0:  # from the most work to the least
        a = min(total, i * rates[0]) if i > 0 else -1
        b = min(total, j * rates[1]) if j > 0 else -1
        take = a >= b
        n, w, c = (i, a, inner[i]) if take else (j, b, outer[j])
        allowed = low <= n <= high and mode != (OUTER_ONLY if take else INNER_ONLY)
        if allowed and c < least:
            if size > 0 and work[size - 1] == w:
                size -= 1
            work[size], cost[size] = w, c
            least = c
            size += 1
        if take:
            i -= 1
        else:
            j -= 1
    return work[:size][::-1].copy(), cost[:size][::-1].copy()


@kernel
def density(work: Ints, cost: Ints, size: Ints, total: int) -> int:
    """Return a price of 2**COARSE units of work: that of the dearest slot which has to be used."""
    slots = size.size
    price = np.full(slots, NONE, np.int64)
    amount = np.zeros(slots, np.int64)
    for t in range(slots):
        for k in range(size[t]):
            each = cost[t, k] // max(1, work[t, k] >> COARSE)
            if each < price[t]:
                price[t], amount[t] = each, work[t, k]
    done = 0
    for t in np.argsort(price):
        if price[t] == NONE:
            break
        done += amount[t]
        if done >= total:
            return int(min(price[t], 2**40))
    return 0


@kernel
def best_payoff(
    work: Ints,
    cost: Ints,
    size: Ints,
    forced: Ints,
    total: int,
    worth: Ints,
    first: int,
    last: int,
    floor: int,
) -> int:
    """Return the greatest worth - cost of a schedule that completes in first..last.

    Parameters
    ----------
    work, cost : shape (S, options)
        What each slot may run.
    size : shape (S,)
        How many options.
    forced : shape (S,)
        1 where one of them must run; none after ``last``.
    total : int
        Work of the job; a schedule may do more.
    worth : shape (S,)
        Utility of completing in each slot; never rises.
    floor : int
        Only greater payoffs count (-NONE: all); returned if there is none.
    """
    best = floor
    until = first
    for t in range(forced.size):
        if forced[t] == 1:
            until = max(until, t)
    # a lower bound on the cost of what is still missing, and of the slots from t on
    rate = density(work[: last + 1], cost[: last + 1], size[: last + 1], total)
    rate = min(rate, STEEPEST // (last + 1))  # no sum overflows; any price is valid
    surplus = np.zeros(last + 2, np.int64)
    for t in range(last, -1, -1):
        least = 0
        for k in range(size[t]):
            least = min(least, cost[t, k] - rate * ((work[t, k] >> COARSE) + 1))
        surplus[t] = surplus[t + 1] + least
    done, paid = np.zeros(1, np.int64), np.zeros(1, np.int64)  # labels, work falling
    for t in range(last + 1):
        if worth[t] <= best:
            break
        new_done, new_paid = np.empty(0, np.int64), np.empty(0, np.int64)
        if forced[t] == 0:
            new_done, new_paid = done, paid
        for k in range(size[t]):
            more = np.minimum(total, done + work[t, k])
            dearer = paid + cost[t, k]
            if t >= until:
                for j in range(more.size):
                    if more[j] < total:
                        break
                    best = max(best, worth[t] - dearer[j])
            new_done, new_paid = merged(new_done, new_paid, more, dearer)
        if t == last:
            break
        kept = 0
        for j in range(new_done.size):
            missing = rate * ((total - new_done[j]) >> COARSE) + surplus[t + 1]
            if worth[t + 1] - new_paid[j] - max(0, missing) > best:
                new_done[kept], new_paid[kept] = new_done[j], new_paid[j]
                kept += 1
        if kept == 0:
            break
        done, paid = joined(new_done[:kept].copy(), new_paid[:kept].copy())
    return best


@kernel
def merged(work: Ints, paid: Ints, more: Ints, dearer: Ints) -> tuple[Ints, Ints]:
    """Merge two lists of labels with falling work; those that another dominates are left out."""
    n, m = work.size, more.size
    out, cost = np.empty(n + m, np.int64), np.empty(n + m, np.int64)
    i, j, size = 0, 0, 0
    least = NONE
    while i < n or j < m:
        if j >= m or (i < n and work[i] >= more[j]):
            w, c = work[i], paid[i]
            i += 1
        else:
            w, c = more[j], dearer[j]
            j += 1
        if c < least:
            if size > 0 and out[size - 1] == w:
                size -= 1
            out[size], cost[size] = w, c
            least = c
            size += 1
    return out[:size].copy(), cost[:size].copy()


@kernel
def joined(work: Ints, paid: Ints) -> tuple[Ints, Ints]:
    """Join neighbours, as more work for the lower cost, until there are not too many labels."""
    while work.size > MOST_LABELS:
        half = (work.size + 1) // 2
        w, c = np.empty(half, np.int64), np.empty(half, np.int64)
        for k in range(half):
            w[k], c[k] = work[2 * k], paid[min(2 * k + 1, work.size - 1)]
        work, paid = w, c
    return work, paid


MOST_STEPS = 20_000  # of the search for the best load of one machine


@kernel
def best_load(value: Ints, most: Ints, demand: Ints, capacity: Ints) -> int:
    """Return the greatest ``value @ y`` with 0 <= y <= most and ``demand.T @ y <= capacity``.

    Depth first, densest items first; cut where the fractional knapsack of one surrogate resource
    promises no more. After ``MOST_STEPS`` that knapsack is the answer, which is no less.

    Parameters
    ----------
    value, most : shape (n,)
        Values of at least 0.
    demand : shape (n, R)
    capacity : shape (R,)
    """
    resources = capacity.size
    items = np.empty(value.size, np.int64)
    n = 0
    for i in range(value.size):
        fits = value[i] > 0 and most[i] > 0
        for r in range(resources):
            fits = fits and demand[i, r] <= capacity[r]
        if fits:
            items[n] = i
            n += 1
    # one surrogate resource: whose fractional knapsack is the tightest (the last: all together)
    size, order = np.zeros(value.size, np.int64), items[:n]
    relaxed, whole = NONE, 0
    for q in range(resources + 1):
        measure, limit = np.zeros(value.size, np.int64), 0
        for r in range(resources):
            if capacity[r] > 0 and q in (r, resources):
                limit += SURROGATE
                for i in items[:n]:
                    measure[i] += share(demand[i, r], capacity[r])
        if limit == 0:
            continue
        rank = np.array(
            [-(value[i] // measure[i]) - 1 if measure[i] else -NONE for i in items[:n]], np.int64
        )
        ranked = items[:n][np.argsort(rank)]
        promise = fractional(value, measure, most, ranked, 0, limit)
        if promise < relaxed:
            size, order, relaxed, whole = measure, ranked, promise, limit
    if relaxed == NONE:  # no capacity at all: what fits asks for nothing
        relaxed = 0
        for i in items[:n]:
            relaxed += most[i] * value[i]
        return relaxed
    free = np.empty((n + 1, resources), np.int64)
    free[0] = capacity
    left = np.empty(n + 1, np.int64)
    left[0] = whole
    earned = np.zeros(n + 1, np.int64)
    number = np.zeros(n + 1, np.int64)
    best, k, down = 0, 0, True
    steps = 0
    while k >= 0:
        steps += 1
        if steps > MOST_STEPS:
            return max(best, relaxed)
        if k == n:
            best = max(best, earned[n])
            k, down = k - 1, False
            continue
        i = order[k]
        if down:
            number[k] = most[i]
            for r in range(resources):
                if demand[i, r] > 0:
                    number[k] = min(number[k], free[k, r] // demand[i, r])
        else:
            number[k] -= 1
        if number[k] < 0:
            k, down = k - 1, False
            continue
        for r in range(resources):
            free[k + 1, r] = free[k, r] - number[k] * demand[i, r]
        left[k + 1] = left[k] - number[k] * size[i]
        earned[k + 1] = earned[k] + number[k] * value[i]
        promise = earned[k + 1] + fractional(value, size, most, order, k + 1, left[k + 1])
        if promise <= best:
            # fewer of this item leave no more than its density, but for the rounding of densities
            if promise + most[i] * size[i] <= best:
                k -= 1
            down = False
            continue
        k, down = k + 1, True
    return best


@kernel
def fractional(value: Ints, size: Ints, most: Ints, order: Ints, first: int, left: int) -> int:
    """Return a bound on the worth of the items from position ``first`` of ``order`` on.

    The fractional knapsack, with every density rounded up to a whole number, by which ``order`` is
    sorted: so it is one of items that are worth no less.
    """
    total = 0
    for k in range(first, order.size):
        j = order[k]
        if size[j] == 0:
            total += most[j] * value[j]
            continue
        taken = min(max(0, left), most[j] * size[j])
        total += taken * (value[j] // size[j] + 1)
        left -= taken
    return int(total)
