"""Lagrangian dual bound for many jobs: convex hull relaxation of costs, in integers only.

The exact dynamic program over worker-slots (`kernels.cheapest`) takes too long where there are
thousands of large jobs. Here a job may distribute its work over slots in fractions: the cost of n
workers in a slot is replaced by a convex function that is nowhere above it, so that the cheapest
distribution takes the cheapest segments of all slots up to the completion (Sinha and Zoltners,
1979). That bounds the cost of every schedule from below, so the bound remains valid.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optsched.families.oasis.certificate.kernels import NONE, filling
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

SLACK = 20  # bits: a payoff may be called higher by 2**-20 of itself, so that fewer are looked at


@kernel
def minorant(cost: Ints, most: int, slope: Ints, length: Ints) -> int:
    """Write a convex function below ``cost``; return of how many segments it consists.

    It is 0 at 0, grows by whole numbers ``slope`` >= 0, ascending, over ``length`` workers each,
    and is at most cost[n] at n = 0, ..., most: a point that would bend it downwards replaces the
    segments before it by one, whose slope is rounded down, and which so lies below all of them.

    Parameters
    ----------
    cost : shape (N + 1,)
        Not negative, from 0 at 0; an entry `NONE` ends it.
    most : int
    slope, length : shape (N,)
    """
    used, at, height = 0, 0, 0  # the last corner, and the function's value there
    for n in range(1, most + 1):
        if cost[n] >= NONE:
            break
        width, rise = n - at, cost[n] - height
        steep = rise // width
        while used > 0 and steep <= slope[used - 1]:
            used -= 1
            width += length[used]
            rise += length[used] * slope[used]
            steep = rise // width
        slope[used], length[used] = steep, width
        used += 1
        at, height = n, cost[n] - rise + slope[used - 1] * width
    return used


@kernel(nogil=True)
def least_costs(
    unit: tuple[Ints, Ints], max_units: tuple[Ints, Ints], ps_needed: Ints, work: int
) -> Ints:
    """Return the cost of a schedule at least that ends in each slot, or before; shape (S,).

    `NONE` where there is none. No sum leaves 64 bits: the segments that are held cost no more than
    a schedule that takes all of them (`limits.Range`: below NONE), and one slot more.

    Parameters
    ----------
    unit : pair of shape (S, C)
        Price of one worker, and of one PS, on a machine of each class.
    max_units : pair of shape (C,)
        How many the machines of each class hold together.
    ps_needed : shape (N + 1,)
        PS that 0, 1, ..., N workers need; N is the most in a slot.
    work : int
        Worker-slots.
    """
    slots, most = len(unit[0]), len(ps_needed) - 1
    ends = np.empty(slots, np.int64)
    cost, servers = np.empty(most + 1, np.int64), np.empty(ps_needed[most] + 1, np.int64)
    order = np.empty(max(len(max_units[0]), len(max_units[1])), np.int64)
    slope, length = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    held = np.empty(
        (2, min(work, slots * most) + most + 2), np.int64
    )  # a heap, the most expensive on top
    size, total, paid = 0, 0, 0
    for t in range(slots):
        filling(unit[0][t], max_units[0], most, order, cost)
        filling(unit[1][t], max_units[1], ps_needed[most], order, servers)
        for n in range(most + 1):
            cost[n] = min(NONE, cost[n] + min(servers[ps_needed[n]], NONE - 1))
        for j in range(minorant(cost, most, slope, length)):
            one, number = slope[j], length[j]
            if total >= work and one >= held[0, 0]:
                break
            k = size
            while k > 0 and held[0, (k - 1) >> 1] < one:
                held[0, k], held[1, k] = held[0, (k - 1) >> 1], held[1, (k - 1) >> 1]
                k = (k - 1) >> 1
            held[0, k], held[1, k] = one, number
            size, total, paid = size + 1, total + number, paid + one * number
            while total - held[1, 0] >= work:
                total, paid = total - held[1, 0], paid - held[0, 0] * held[1, 0]
                size -= 1
                one, k = held[0, size], 0
                while 2 * k + 1 < size:
                    down = 2 * k + 1
                    if down + 1 < size and held[0, down + 1] > held[0, down]:
                        down += 1
                    if held[0, down] <= one:
                        break
                    held[0, k], held[1, k] = held[0, down], held[1, down]
                    k = down
                held[0, k], held[1, k] = one, held[1, size]
        ends[t] = paid - (total - work) * held[0, 0] if total >= work else NONE
    return ends


def best_payoff(ends: Ints, utility: Callable[[int], int], likely: Floats) -> int:
    """Return at least the greatest of 0 and value - cost over all completions, and little more.

    Utilities are fractions, and dear. They never increase, nor do costs: so the completions from
    one to another pay no more than the first earns less the cost of the last.

    Parameters
    ----------
    ends : shape (S,)
        Costs, `NONE` first; they never increase.
    utility : callable
        Utility by completion; non-increasing.
    likely : shape (S,)
        About the same: where to look first.
    """
    rising = -ends
    first = int(np.searchsorted(rising, -NONE, side="right"))
    if first == ends.size:
        return 0
    guess = first + int(np.argmax(likely[first:] - ends[first:]))
    best = max(0, utility(guess) - int(ends[guess]))
    enough, c = best + (best >> SLACK), first
    while c < ends.size:
        most = utility(c)
        # the first from c on that could pay more than enough, if it earned as much
        pays = int(np.searchsorted(rising, enough - most, side="right"))
        if pays <= c:
            best = max(best, most - int(ends[c]))
            enough = best + (best >> SLACK)
            c += 1
        else:
            c = pays
    return enough
