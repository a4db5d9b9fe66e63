"""Kernels: sequential knapsack heuristic with value correction, to repack the machines of a slot.

Machines are filled one by one with the most valuable pattern of the remaining workers; jobs that
found no place gain value for the next attempt, as in the sequential value correction of Belov and
Scheithauer (2007). The search uses it to free capacity for a job.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optsched.numbers.arrays import Flags, Floats, Ints, Small
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.patterns import Knapsacks, best_patterns
from optsched.scheduling.oracle.slots import plain_int, units_that_fit


class RepackingSide(NamedTuple):
    """Workers or PS of I jobs on H machines in T slots, and the capacity for the next job."""

    demand: Floats  # (I, R) of one worker, in units
    most: Ints  # (I,) workers in a slot
    unit_value: Floats  # (I, T) of one worker: objective of the patterns of the first try
    capacity: Floats  # (H, R) in units, equal machines next to each other
    weight: Floats  # (T, R, H) value of a free unit, by which a job chooses among machines
    free: Floats  # (T, R, H) in units
    number: Ints  # (T, I) workers that run
    hosted: Small  # (T, H, I) the same by machine
    max_units: Floats  # (T,) workers of the next job that a slot holds
    repacked: Flags  # (T,) whether it holds them only packed anew
    fresh: Small  # (T, H, I) how it is packed anew
    scratch: Floats  # (H,)


@kernel
def count_slots(i: int, first: int, last: int, side: RepackingSide) -> None:
    """Count the workers of job i that fit into each of the slots first..last without repacking."""
    most = side.most[i]
    for t in range(side.max_units.size):
        side.max_units[t], side.repacked[t] = 0.0, False
    for t in range(first, last + 1):
        units_that_fit(side.free[t], side.demand[i], most, side.scratch)
        held = 0.0
        for h in range(side.scratch.size):
            held += side.scratch[h]
        side.max_units[t] = min(float(most), held)


@kernel(inline="always")
def fill_machines(
    number: Ints,
    value: Floats,
    demand: Floats,
    capacity: Floats,
    backwards: bool,
    nodes: int,
    hosted: Ints,
    left: Ints,
) -> None:
    """Fill machines one by one with the most valuable pattern of the remaining workers.

    ``number`` (J,), ``value`` and ``left`` (1, J), ``demand`` (J, R), ``capacity`` (H, R) in units.
    ``nodes`` limits the search for a pattern. ``hosted`` (H, J) receives the numbers, ``left`` what
    found no place.
    """
    machines, resources = capacity.shape
    jobs = number.size
    unit_value = np.empty(1)
    lower, pattern = np.empty((1, jobs), np.int64), np.empty((1, jobs), np.int64)
    steps = plain_int(0)
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
            max_units = capacity[h : h + 1]
            knapsacks = Knapsacks(value, demand, max_units, lower, left)
            best_patterns(knapsacks, unit_value, pattern, nodes, steps)
            last = h
        for j in range(jobs):
            put = pattern[0, j] if todo > 0 else 0
            hosted[h, j] = put
            left[0, j] -= put
        for j in range(jobs):
            todo -= hosted[h, j]


@kernel(inline="always")
def repack(t: int, i: int, want: int, side: RepackingSide, tries: int) -> int:
    """Pack a slot anew, with up to ``want`` workers of job i; return how many found a place.

    What other jobs have in the slot keeps some place, else the answer is -1. From try to try, the
    jobs that found no place gain value. ``side.fresh[t]`` receives the packing.
    """
    number, unit_value, demand = side.number, side.unit_value, side.demand
    capacity, fresh = side.capacity, side.fresh
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
        value[0, k], wanted[k] = unit_value[item[k], t], number[t, item[k]]
        for r in range(resources):
            need[k, r] = demand[item[k], r]
    wanted[n] = want
    # of the search for a machine's best pattern
    best, nodes = -1, plain_int(30)
    for attempt in range(tries):
        fill_machines(wanted, value, need, capacity, attempt % 2 == 1, nodes, hosted, left)
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
    """Fill in the ``total`` (R,) of ``capacity`` (H, R), units of each resource."""
    machines, resources = capacity.shape
    for r in range(resources):
        total[r] = 0.0
        for h in range(machines):
            total[r] += capacity[h, r]


@kernel(inline="always")
def _left(t: int, i: int, side: RepackingSide, total: Floats) -> float:
    """Return how many workers of job i the free amounts of all machines together would hold.

    ``total`` (R,) as in `_all_of_it`.
    """
    demand = side.demand
    bound = float(side.most[i])
    for r in range(total.size):
        if demand[i, r] > 0:
            left = total[r]
            for j in range(demand.shape[0]):
                left -= side.number[t, j] * demand[j, r]
            bound = min(bound, math.floor(left / demand[i, r]))
    return bound


@kernel
def hoped(i: int, first: int, last: int, side: RepackingSide) -> float:
    """Return how many workers of job i the slots first..last can hold at most, packed anew."""
    total, out = np.empty(side.capacity.shape[1]), 0.0
    _all_of_it(side.capacity, total)
    for t in range(first, last + 1):
        out += max(side.max_units[t], _left(t, i, side, total))
    return out


@kernel(nogil=True)  # searches run side by side in threads
def repack_slots(i: int, first: int, last: int, side: RepackingSide, tries: int) -> None:
    """Raise the capacity for job i where a slot can be repacked; mark those slots."""
    total, max_units = np.empty(side.capacity.shape[1]), side.max_units
    _all_of_it(side.capacity, total)
    for t in range(first, last + 1):
        if max_units[t] >= side.most[i]:
            continue
        bound = _left(t, i, side, total)
        if bound > max_units[t]:
            got = repack(t, i, int(bound), side, tries)
            if got > max_units[t]:
                max_units[t] = got
                side.repacked[t] = True


@kernel(nogil=True)
def put(i: int, amount: Ints, side: RepackingSide) -> None:
    """Place ``amount`` (T,) workers of job i in the slots that hold them without repacking.

    They go where they leave the least behind, by value per worker placed.
    """
    demand, weight, free, scratch = side.demand, side.weight, side.free, side.scratch
    _, resources, machines = free.shape
    for t in range(amount.size):
        want = amount[t]
        if want == 0 or side.repacked[t]:
            continue
        side.number[t, i] = want
        units_that_fit(free[t], demand[i], want, scratch)
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
            side.hosted[t, where, i] = take
            for r in range(resources):
                free[t, r, where] -= take * demand[i, r]
            scratch[where] = 0.0
            want -= take


@kernel
def put_repacked(i: int, amount: Ints, side: RepackingSide) -> None:
    """Make the fresh packings the present ones where ``amount`` (T,) workers of job i need them."""
    demand, capacity, free = side.demand, side.capacity, side.free
    fresh, hosted = side.fresh, side.hosted
    machines, resources = capacity.shape
    for t in range(amount.size):
        if amount[t] == 0 or not side.repacked[t]:
            continue
        side.number[t, i] = amount[t]
        extra = -amount[t]
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
