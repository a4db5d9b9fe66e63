"""Kernels: the workers of many jobs on the single machines of a slot, packed anew to make room.

Arrays of what machines host are laid out (slot, machine, job), free amounts (slot, resource,
machine) as in `slots`.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.families.oasis.optimum.prices.patterns import best_patterns
from optsched.numbers.arrays import Flags, Floats, Ints, Small
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.slots import plain_int, rooms

Hosted = Small

NODES = 30  # of the search for a machine's best pattern


@kernel
def slot_rooms(
    free: Floats, demand: Floats, most: int, first: int, last: int, scratch: Floats, out: Floats
) -> None:
    """Count the workers of one job that fit into each of the slots first..last, at most ``most``.

    ``free`` (T, R, H), ``scratch`` (H,), ``out`` (T,).
    """
    for t in range(first, last + 1):
        rooms(free[t], demand, most, scratch)
        held = 0.0
        for h in range(scratch.size):
            held += scratch[h]
        out[t] = min(float(most), held)


@kernel(inline="always")
def fill_machines(
    number: Ints,
    value: Floats,
    demand: Floats,
    capacity: Floats,
    backwards: bool,
    hosted: Ints,
    left: Ints,
) -> None:
    """Fill machines one by one with the most valuable pattern of what is left to place.

    ``value`` and ``left`` (1, J), as `best_patterns` takes them. ``hosted`` (H, J) receives the
    numbers, ``left`` what found no place.
    """
    machines, resources = capacity.shape
    jobs = number.size
    worth = np.empty(1)
    lower, pattern = np.empty((1, jobs), np.int64), np.empty((1, jobs), np.int64)
    nodes, steps = plain_int(NODES), plain_int(0)
    todo = 0
    for j in range(jobs):
        lower[0, j], left[0, j] = 0, number[j]
        todo += number[j]
    last = -1
    for k in range(machines):
        h = machines - 1 - k if backwards else k
        again = last >= 0  # whether an equal machine can host the same again
        if again:
            for r in range(resources):
                again = again and capacity[h, r] == capacity[last, r]
            for j in range(jobs):
                again = again and pattern[0, j] <= left[0, j]
        if todo > 0 and not again:
            room = capacity[h : h + 1]
            best_patterns(value, demand, room, lower, left, worth, pattern, nodes, steps)
            last = h
        for j in range(jobs):
            put = pattern[0, j] if todo > 0 else 0
            hosted[h, j] = put
            left[0, j] -= put
        for j in range(jobs):
            todo -= hosted[h, j]


@kernel(inline="always")
def repack(
    t: int,
    i: int,
    want: int,
    number: Ints,
    worth: Floats,
    demand: Floats,
    capacity: Floats,
    tries: int,
    fresh: Hosted,
) -> int:
    """Pack a slot anew, with up to ``want`` workers of job i; return how many found a place.

    What other jobs have in the slot keeps some place, else the answer is -1. From try to try, the
    jobs that found no place gain value.

    Parameters
    ----------
    number : array of shape (T, I)
    worth : array of shape (I, T)
        Of one worker: what the patterns of the first try maximize.
    demand : array of shape (I, R)
    capacity : array of shape (H, R)
    fresh : array of shape (T, H, I)
        Slot t receives the packing.
    """
    machines, resources = capacity.shape
    jobs = demand.shape[0]
    item = np.empty(jobs, np.int64)
    n = 0
    for j in range(jobs):
        if j != i and number[t, j] > 0:
            item[n] = j
            n += 1
    item[n] = i
    value, need = np.empty((1, n + 1)), np.empty((n + 1, resources))
    wanted, left = np.empty(n + 1, np.int64), np.empty((1, n + 1), np.int64)
    hosted = np.empty((machines, n + 1), np.int64)
    for k in range(n + 1):
        value[0, k], wanted[k] = worth[item[k], t], number[t, item[k]]
        for r in range(resources):
            need[k, r] = demand[item[k], r]
    wanted[n] = want
    best = -1
    for attempt in range(tries):
        fill_machines(wanted, value, need, capacity, attempt % 2 == 1, hosted, left)
        all_placed = True
        for k in range(n):
            all_placed = all_placed and left[0, k] == 0
        if all_placed:
            if want - left[0, n] > best:
                best = want - left[0, n]
                fresh[t] = 0
                for h in range(machines):
                    for k in range(n + 1):
                        fresh[t, h, item[k]] = hosted[h, k]
            if best == want:
                break
            value[0, n] *= 1.3
        for k in range(n):
            if left[0, k] > 0:
                value[0, k] *= 1.02 + 0.5 * left[0, k] / wanted[k]
    return best


@kernel(inline="always")
def _all_of_it(capacity: Floats, total: Floats) -> None:
    """Fill in what all machines have of each resource."""
    machines, resources = capacity.shape
    for r in range(resources):
        total[r] = 0.0
        for h in range(machines):
            total[r] += capacity[h, r]


@kernel(inline="always")
def _left(t: int, i: int, most: int, number: Ints, demand: Floats, total: Floats) -> float:
    """Return how many workers of job i the free amounts of all machines together would hold."""
    bound = float(most)
    for r in range(total.size):
        if demand[i, r] > 0:
            left = total[r]
            for j in range(demand.shape[0]):
                left -= number[t, j] * demand[j, r]
            bound = min(bound, math.floor(left / demand[i, r]))
    return bound


@kernel
def hoped(
    i: int,
    most: int,
    first: int,
    last: int,
    number: Ints,
    demand: Floats,
    capacity: Floats,
    room: Floats,
) -> float:
    """Return how many workers of job i the slots first..last can hold at most, packed anew.

    For shapes see `repack`.
    """
    total, out = np.empty(capacity.shape[1]), 0.0
    _all_of_it(capacity, total)
    for t in range(first, last + 1):
        out += max(room[t], _left(t, i, most, number, demand, total))
    return out


@kernel(nogil=True)  # searches run side by side in threads
def make_room(
    i: int,
    most: int,
    first: int,
    last: int,
    number: Ints,
    worth: Floats,
    demand: Floats,
    capacity: Floats,
    tries: int,
    fresh: Hosted,
    room: Floats,
    repacked: Flags,
) -> None:
    """Raise ``room`` (T,) of job i where a slot can be packed anew; mark those slots.

    For shapes see `repack`.
    """
    total = np.empty(capacity.shape[1])
    _all_of_it(capacity, total)
    for t in range(first, last + 1):
        if room[t] >= most:
            continue
        bound = _left(t, i, most, number, demand, total)
        if bound > room[t]:
            got = repack(t, i, int(bound), number, worth, demand, capacity, tries, fresh)
            if got > room[t]:
                room[t] = got
                repacked[t] = True


@kernel(nogil=True)
def put_best_fit(
    t: int,
    i: int,
    want: int,
    demand: Floats,
    weight: Floats,
    hosted: Hosted,
    free: Floats,
    scratch: Floats,
) -> None:
    """Place workers where they leave the least behind, by worth per worker placed.

    ``weight`` (T, R, H) is the worth of a free unit; ``scratch`` (H,).
    """
    resources, machines = free.shape[1:]
    rooms(free[t], demand[i], want, scratch)
    while want > 0:
        least, where, take = np.inf, -1, 0
        for h in range(machines):
            if scratch[h] >= 1.0:
                k = min(want, int(scratch[h]))
                waste = 0.0
                for r in range(resources):
                    waste += weight[t, r, h] * (free[t, r, h] - k * demand[i, r])
                if waste / k < least:
                    least, where, take = waste / k, h, k
        hosted[t, where, i] = take
        for r in range(resources):
            free[t, r, where] -= take * demand[i, r]
        scratch[where] = 0.0
        want -= take


@kernel
def put_repacked(
    t: int,
    i: int,
    want: int,
    demand: Floats,
    capacity: Floats,
    fresh: Hosted,
    hosted: Hosted,
    free: Floats,
) -> None:
    """Make the packing ``fresh`` of a slot the present one, with ``want`` workers of job i."""
    machines, resources = capacity.shape
    extra = -want
    for h in range(machines):
        extra += fresh[t, h, i]
        for j in range(demand.shape[0]):
            hosted[t, h, j] = fresh[t, h, j]
    for h in range(machines - 1, -1, -1):
        fewer = min(extra, int(hosted[t, h, i]))
        hosted[t, h, i] -= fewer
        extra -= fewer
        for r in range(resources):
            free[t, r, h] = capacity[h, r]
            for j in range(demand.shape[0]):
                free[t, r, h] -= hosted[t, h, j] * demand[j, r]
