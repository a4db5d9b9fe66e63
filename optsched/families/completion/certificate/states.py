"""Kernels: states of the bounded dynamic program over time, and the steps between them.

States are expanded slot by slot; a state is dropped if its Lagrangian dual bound exceeds the limit
(Morin and Marsten, 1976), if its items exceed the cluster, or if they hold a conflict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.completion.certificate.holding import (
    END,
    ONE,
    ZERO,
    Conflicts,
    Memory,
    mix,
    remembered,
    sort_in,
)
from optsched.numbers.arrays import Flags, Ints, Medium
from optsched.numbers.kernels import kernel

NOTHING = 2**62  # fills the lists of what runs; a cost that nothing has
ITEM_BITS = 14  # of an entry of these lists: end << ITEM_BITS | item
ITEM = 2**ITEM_BITS - 1
DONE, FULL = 0, 1


class Demand(NamedTuple):
    """The jobs at K lists of prices, in units of the grid."""

    first: Ints  # (J + 1,) choices of every job
    item: Ints  # (N,) of a choice
    duration: Ints  # (N,)
    arrival: Ints  # (J,)
    weight: Ints  # (J,)
    shortest: Ints  # (J,) duration
    deadline: int
    rent: Ints  # (I, L + 1, L + 1, K) least cost of an item from a slot to another
    least: Ints  # (J, L + 1, K) least cost of a job from a slot on
    charge: Ints  # (L + 1, K) of all capacity from a slot on
    use: Ints  # (I, R) of the cluster, at least
    whole: Ints  # (R,) the cluster


class StatePool(NamedTuple):
    """States that were reached: what is over, and what runs on."""

    slot: Ints  # (N,) slots that have passed
    mask: Ints  # (N,) jobs that have started
    value: Ints  # (N,) weight * completion of these, on the cheapest path
    ended: Flags  # (N,) whether some job ends there
    runs: Ints  # (N, J) ascending
    chosen: Ints  # (N, J, 2) choice and start of those that have started, on the cheapest path
    table: Medium  # hash table of states
    size: Ints  # (1,)


class Transitions(NamedTuple):
    """The steps between states, in the order of the slots in which they begin."""

    source: Medium  # (E,)
    target: Medium  # (E,) -1: all jobs have started
    cost: Ints  # (E,) weight * completion of what is started
    first: Medium  # (E + 1,) of the choices
    choice: Medium  # that are started
    size: Ints  # (1,) steps


class Stack(NamedTuple):
    """Space for the starts that are tried in a state, on a stack of this many (levels)."""

    use: Ints  # (J + 1, R) of what runs
    runs: Ints  # (J + 1, J)
    number: Ints  # (J + 1,) of these
    mask: Ints  # (J + 1,) jobs that have started
    value: Ints  # (J + 1,)
    cost: Ints  # (J + 1, K) of what has started and what runs, less all capacity
    job: Ints  # (J + 1,) the next to start, and its choice
    row: Ints  # (J + 1,)
    chosen: Ints  # (J, 2) as in `StatePool`
    picked: Medium  # (J,) choices that are started
    order: Medium  # (J,) items
    onward: Ints  # (J,) what runs on
    others: Ints  # (K,) the cost, and the cheapest of all the others but one
    bounds: Ints  # (K,)


@kernel
def least_costs(demand: Demand) -> None:
    """Fill in what the jobs cost at least from every slot on, ``demand.least``."""
    jobs, slots, lists = demand.least.shape
    last = slots - 1
    for j in range(jobs):
        a, b = demand.first[j], demand.first[j + 1]
        end = max(last, demand.arrival[j]) + demand.shortest[j]
        for k in range(lists):
            demand.least[j, last, k] = NOTHING
            if end <= demand.deadline:
                demand.least[j, last, k] = demand.weight[j] * end
        for t in range(last - 1, -1, -1):
            for k in range(lists):
                demand.least[j, t, k] = demand.least[j, t + 1, k]
            if t < demand.arrival[j]:
                continue
            for c in range(a, b):
                end = t + demand.duration[c]
                if end <= demand.deadline:
                    paid, i = demand.weight[j] * end, demand.item[c]
                    for k in range(lists):
                        cost = paid + demand.rent[i, t, min(end, last), k]
                        demand.least[j, t, k] = min(demand.least[j, t, k], cost)


@kernel
def _add_rent(demand: Demand, i: int, a: int, b: int, out: Ints) -> None:
    """Add the least cost of item i from slot a to b to ``out`` (K,), at each list of prices.

    Nothing has a price from L on.
    """
    last = demand.charge.shape[0] - 1
    if a < last:
        rent = demand.rent[i, a, min(b, last)]
        for k in range(out.size):
            out[k] += rent[k]


@kernel
def _add_least(demand: Demand, j: int, t: int, out: Ints) -> bool:
    """Add what job j costs at least if it starts in slot t or later; False if it cannot.

    That is added to ``out`` (K,), at each list of prices.
    """
    last = demand.charge.shape[0] - 1
    if t <= last:
        least = demand.least[j, t]
        for k in range(out.size):
            out[k] += least[k]
        return bool(least[0] < NOTHING)
    end = max(t, demand.arrival[j]) + demand.shortest[j]
    for k in range(out.size):
        out[k] += demand.weight[j] * end
    return bool(end <= demand.deadline)


@kernel
def bound(demand: Demand, slot: int, mask: int, value: int, runs: Ints, out: Ints) -> bool:
    """Fill in what a schedule costs at least at all lists, ``out`` (K,); False if there is none.

    ``runs`` (J,) are a row of `StatePool`.
    """
    charge = demand.charge[min(slot, demand.charge.shape[0] - 1)]
    for k in range(out.size):
        out[k] = value - charge[k]
    for j in range(runs.size):
        if not (mask >> j) & 1 and not _add_least(demand, j, slot, out):
            return False
    for entry in runs:
        if entry == NOTHING:
            break
        _add_rent(demand, entry & ITEM, slot, entry >> ITEM_BITS, out)
    return True


@kernel
def bounds(demand: Demand, pool: StatePool, states: Ints) -> Ints:
    """Return the bounds of states (N,) at all prices, shape (N, K)."""
    out = np.empty((states.size, demand.charge.shape[1]), np.int64)
    for n, s in enumerate(states):
        if not bound(demand, pool.slot[s], pool.mask[s], pool.value[s], pool.runs[s], out[n]):
            out[n] = NOTHING
    return out


@kernel
def _reach(
    pool: StatePool, slot: int, ended: bool, mask: int, value: int, runs: Ints, chosen: Ints
) -> int:
    """Add a state, or improve the one that is there; return which, -1 if the pool is full.

    ``runs`` (J,) and ``chosen`` (J, 2) are rows of `StatePool`.
    """
    jobs, size = runs.size, pool.table.size
    h = mix(slot, mask)
    for x in runs:
        if x == NOTHING:
            break
        h = mix(h, x)
    k = h & (size - 1)
    while pool.table[k] >= 0:
        s = pool.table[k]
        same = pool.slot[s] == slot and pool.mask[s] == mask
        for i in range(jobs):
            same = same and pool.runs[s, i] == runs[i]
        if same:
            break
        k = (k + 1) & (size - 1)
    s = pool.table[k]
    if s < 0:
        s = pool.size[0]
        if s == pool.mask.size:
            return -1
        pool.size[0] += 1
        pool.table[k] = s
        pool.slot[s], pool.mask[s] = slot, mask
        for i in range(jobs):
            pool.runs[s, i] = runs[i]
        pool.ended[s], pool.value[s] = False, NOTHING
    pool.ended[s] |= ended
    if value < pool.value[s]:
        pool.value[s] = value
        for i in range(jobs):
            pool.chosen[s, i, 0], pool.chosen[s, i, 1] = chosen[i, 0], chosen[i, 1]
    return int(s)


@kernel
def _note(
    steps: Transitions, source: int, target: int, cost: int, rows: Medium, count: int
) -> bool:
    """Add a step that starts ``count`` choices, in ``rows`` (J,); return whether there is space."""
    n = steps.size[0]
    a = steps.first[n]
    if n == steps.source.size or a + count > steps.choice.size:
        return False
    steps.source[n], steps.target[n], steps.cost[n] = source, target, cost
    for k in range(count):
        steps.choice[a + k] = rows[k]
    steps.first[n + 1] = a + count
    steps.size[0] = n + 1
    return True


@kernel
def _onward(runs: Ints, until: int, out: Ints) -> None:
    """Fill ``out`` (J,) with what of ``runs`` (J,) still runs in slot ``until``, ascending."""
    for k in range(out.size):
        out[k] = NOTHING
    kept = ZERO
    for entry in runs:
        if entry < NOTHING and entry >> ITEM_BITS > until:
            sort_in(out, kept, entry)
            kept += 1


@kernel
def expand(
    demand: Demand,
    conflicts: Conflicts,
    memory: Memory,
    pool: StatePool,
    steps: Transitions,
    stack: Stack,
    states: Ints,
    limit: int,
) -> int:
    """Start jobs in ``states`` (N,) of a slot in all ways; go on to the next slot with an event.

    States that cannot end at ``limit`` or below are dropped. Returns DONE, or FULL where there is
    no space for a state or step, or the memory's work is at an end.
    """
    use, runs, number, mask, value, cost, job, row = stack[:8]
    chosen, picked, order, onward, others, sums = stack[8:]
    last, jobs, resources = demand.charge.shape[0] - 1, demand.arrival.size, demand.whole.size
    arrival, lists = demand.arrival, others.size
    strict = ZERO  # the list that was the last to show that something is too dear
    for s in states:
        t = pool.slot[s]
        number[0], mask[0], value[0], job[0] = 0, pool.mask[s], pool.value[s], 0
        for k in range(jobs):
            chosen[k, 0], chosen[k, 1] = pool.chosen[s, k, 0], pool.chosen[s, k, 1]
            runs[0, k] = pool.runs[s, k]
        for k in range(lists):
            cost[0, k] = value[0] - demand.charge[min(t, last), k]
        for r in range(resources):
            use[0, r] = 0
        while number[0] < jobs and runs[0, number[0]] < NOTHING:
            entry = runs[0, number[0]]
            for r in range(resources):
                use[0, r] += demand.use[entry & ITEM, r]
            _add_rent(demand, entry & ITEM, t, entry >> ITEM_BITS, cost[0])
            number[0] += 1
        level, fresh = ZERO, True
        while level >= 0:
            if fresh:  # start no more
                fresh = False
                row[level] = demand.first[job[level]]
                spent = value[level] - value[0]
                if mask[level] == (ONE << jobs) - 1:
                    if value[level] <= limit and not _note(steps, s, END, spent, picked, level):
                        return FULL
                else:
                    end = NOTHING
                    for k in range(number[level]):
                        end = min(end, runs[level, k] >> ITEM_BITS)
                    until = end
                    for j in range(jobs):
                        if not (mask[level] >> j) & 1 and arrival[j] > t:
                            until = min(until, arrival[j])
                    if until < NOTHING:
                        _onward(runs[level], until, onward)
                        some = (mask[level], value[level], onward, sums)
                        dear = not bound(demand, until, *some)
                        for k in range(lists):
                            dear |= sums[k] > limit
                        if not dear:
                            target = _reach(
                                *(pool, until, until == end, mask[level], value[level]),
                                *(onward, chosen),
                            )
                            if target < 0 or not _note(steps, s, target, spent, picked, level):
                                return FULL
            # the next start
            found = False
            while job[level] < jobs and not found:
                j = job[level]
                late = arrival[j] > t or (arrival[j] < t and not pool.ended[s])
                if not late and not (mask[level] >> j) & 1:
                    for k in range(lists):
                        others[k] = cost[level, k]
                    possible = True
                    for i in range(jobs):
                        if i != j and not (mask[level] >> i) & 1:
                            later = t + 1 if i < j else t
                            possible = possible and _add_least(demand, i, later, others)
                    if not possible:
                        row[level] = demand.first[j + 1]
                    while row[level] < demand.first[j + 1]:
                        c = row[level]
                        row[level] += 1
                        memory.work[0] -= 1
                        i, end = demand.item[c], t + demand.duration[c]
                        dear, paid = end > demand.deadline, demand.weight[j] * end
                        if dear:
                            continue
                        rent = demand.rent[i, min(t, last), min(end, last)]
                        if others[strict] + paid + rent[strict] > limit:
                            continue
                        for k in range(lists):
                            sums[k] = paid + rent[k]
                            if others[k] + sums[k] > limit:
                                dear, strict = True, k
                                break
                        if dear:
                            continue
                        large = False
                        for r in range(resources):
                            use[level + 1, r] = use[level, r] + demand.use[i, r]
                            large |= use[level + 1, r] > demand.whole[r]
                        if large:
                            continue
                        n = number[level]
                        for k in range(n):
                            sort_in(order, k, runs[level, k] & ITEM)
                        sort_in(order, n, i)
                        if remembered(conflicts, memory, order, n + 1):
                            continue
                        for k in range(jobs):
                            runs[level + 1, k] = runs[level, k]
                        runs[level + 1, n] = (end << ITEM_BITS) | i
                        number[level + 1] = n + 1
                        mask[level + 1] = mask[level] | (ONE << j)
                        value[level + 1] = value[level] + paid
                        for k in range(lists):
                            cost[level + 1, k] = cost[level, k] + sums[k]
                        chosen[j, 0], chosen[j, 1], picked[level] = c, t, c
                        found = True
                        break
                if not found:
                    job[level] += 1
                    row[level] = demand.first[min(job[level], jobs)]
            if memory.work[0] < 0:
                return FULL
            if found:
                level += 1
                job[level] = job[level - 1] + 1
                if job[level] == jobs:
                    row[level] = demand.first[jobs]
                fresh = True
            else:
                level -= 1
    return DONE
