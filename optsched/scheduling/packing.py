"""Kernels: the workers of many jobs on the single machines of a slot, packed anew to make room.

Arrays of what machines host are laid out (slot, machine, job), free amounts (slot, resource,
machine) as in `slots`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.kernels import kernel
from optsched.scheduling.patterns import best_pattern
from optsched.scheduling.slots import Floats, Ints, plain_int, rooms

Hosted = NDArray[np.int16]
Flags = NDArray[np.bool_]

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
        out[t] = min(float(most), scratch.sum())


@kernel
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

    ``hosted`` (H, J) receives the numbers, ``left`` (J,) what found no place.
    """
    machines, resources = capacity.shape
    left[:] = number
    hosted[:] = 0
    lower, pattern = np.zeros_like(number), np.zeros_like(number)
    todo = number.sum()
    last = -1
    for k in range(machines):
        if todo == 0:
            return
        h = machines - 1 - k if backwards else k
        again = last >= 0  # whether an equal machine can host the same again
        if again:
            for r in range(resources):
                again = again and capacity[h, r] == capacity[last, r]
            for j in range(number.size):
                again = again and pattern[j] <= left[j]
        if not again:
            nodes, steps = plain_int(NODES), plain_int(0)
            best_pattern(value, demand, capacity[h], lower, left, pattern, nodes, steps)
            last = h
        for j in range(number.size):
            hosted[h, j] = pattern[j]
            left[j] -= pattern[j]
            todo -= pattern[j]


@kernel
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
    jobs, machines = demand.shape[0], capacity.shape[0]
    item = np.empty(jobs, np.int64)
    n = 0
    for j in range(jobs):
        if j != i and number[t, j] > 0:
            item[n] = j
            n += 1
    item[n] = i
    item = item[: n + 1]
    need = demand[item]
    value, wanted = np.empty(n + 1), np.empty(n + 1, np.int64)
    for k in range(n + 1):
        value[k], wanted[k] = worth[item[k], t], number[t, item[k]]
    wanted[n] = want
    hosted, left = np.zeros((machines, n + 1), np.int64), np.zeros(n + 1, np.int64)
    best = -1
    for attempt in range(tries):
        fill_machines(wanted, value, need, capacity, attempt % 2 == 1, hosted, left)
        if left[:n].sum() == 0:
            if want - left[n] > best:
                best = want - left[n]
                fresh[t] = 0
                for h in range(machines):
                    for k in range(n + 1):
                        fresh[t, h, item[k]] = hosted[h, k]
            if best == want:
                break
            value[n] *= 1.3
        for k in range(n):
            if left[k] > 0:
                value[k] *= 1.02 + 0.5 * left[k] / wanted[k]
    return best


@kernel
def _left(t: int, i: int, most: int, number: Ints, demand: Floats, total: Floats) -> float:
    """Return how many workers of job i the free amounts of all machines together would hold."""
    bound = float(most)
    for r in range(total.size):
        if demand[i, r] > 0:
            left = total[r]
            for j in range(demand.shape[0]):
                left -= number[t, j] * demand[j, r]
            bound = min(bound, np.floor(left / demand[i, r]))
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
    total, out = capacity.sum(axis=0), 0.0
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
    total = capacity.sum(axis=0)
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
    hosted[t] = fresh[t]
    extra = -want
    for h in range(machines):
        extra += hosted[t, h, i]
    for h in range(machines - 1, -1, -1):
        fewer = min(extra, int(hosted[t, h, i]))
        hosted[t, h, i] -= fewer
        extra -= fewer
        for r in range(resources):
            free[t, r, h] = capacity[h, r]
            for j in range(demand.shape[0]):
                free[t, r, h] -= hosted[t, h, j] * demand[j, r]
