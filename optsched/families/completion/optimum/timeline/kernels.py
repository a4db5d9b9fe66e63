"""Compiled parts of the dynamic program over time; `timeline` says what it does."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from optsched.families.completion.modes import Modes
from optsched.families.completion.optimum.timeline.layers import Fit, mix, remembered, sort_in
from optsched.families.completion.optimum.timeline.slot_kernels import NOBODY, ZERO
from optsched.families.completion.oracle.kernels import Plain, cheapest
from optsched.numbers.arrays import Flags, Floats, Ints, Medium
from optsched.numbers.kernels import kernel

NOTHING = 2**30  # fills the lists of what runs
ITEM_BITS = 14  # of an entry of these lists: end << ITEM_BITS | item
ITEM = 2**ITEM_BITS - 1
STARTS = 2_000_000  # that are tried in one state
DONE, FULL, LONG = 0, 1, 2
AT_ONCE = cast(bool, np.bool_(True))  # no literal


class Rows(NamedTuple):
    """What every job may do, one job after the other: an item, for so many slots."""

    first: Ints  # (J + 1,)
    item: Ints  # (C,)
    duration: Ints  # (C,)
    cost: Floats  # (K, C, S + 1): weight * completion + rent by start; inf: not allowed


class Demand(NamedTuple):
    """The jobs at K lists of prices."""

    rows: Rows
    arrival: Ints  # (J,)
    weight: Floats  # (J,)
    least: Floats  # (K, J, S + 1): least cost from a slot on
    worth: Floats  # (K, S + 1): of all capacity from a slot on
    rent: Floats  # (K, I, S + 1, S + 1): least cost of an item from a slot to another


class Pool(NamedTuple):
    """States that were reached: what is over, and what runs on."""

    slot: Ints  # (N,)
    mask: Ints  # (N,) jobs that have started
    value: Floats  # (N,) weight * completion of these
    bound: Floats  # (N,) nothing that follows costs less
    ended: Flags  # (N,) whether some job ends there
    runs: Medium  # (N, J) ascending
    chosen: Medium  # (N, J) row * (S + 1) + start
    after: Ints  # (N,) next state of the same slot
    head: Ints  # (S + 1,) first state of a slot
    table: Medium  # hash table of states
    size: Ints  # (1,)


class Steps(NamedTuple):
    """The steps between states that were reached, in the order of the slots.

    None are noted where there is no room for any.
    """

    source: Medium  # (E,)
    target: Medium  # (E,) -1: all jobs have started
    first: Medium  # (E + 1,) of the rows
    row: Medium  # rows that are started
    size: Ints  # (1,) steps; as many as there is room for: some are missing


class Stack(NamedTuple):
    """Room for the starts that are tried in a state, so many of them (level) one upon the other."""

    use: Ints  # (J + 1, R) of what runs
    runs: Medium  # (J + 1, J)
    number: Ints  # (J + 1,) of these
    mask: Ints  # (J + 1,) jobs that have started
    value: Floats  # (J + 1,)
    cost: Floats  # (J + 1, K) of what has started and what runs, less all capacity
    job: Ints  # (J + 1,) the next to start, and its row
    row: Ints  # (J + 1,)
    chosen: Medium  # (J,) row * (S + 1) + start
    picked: Medium  # (J,) rows that are started
    order: Medium  # (J,) items
    onward: Medium  # (J,) what runs on
    others: Floats  # (K,) the cost, and the cheapest of all the others but one
    best: Medium  # (J,) as `chosen`, of the least that was found


@kernel
def _note(steps: Steps, source: int, target: int, rows: Medium, count: int) -> None:
    """Add a step that starts ``count`` rows, if there is room."""
    n = steps.size[0]
    if n == steps.source.size:
        return
    a = steps.first[n]
    if a + count > steps.row.size:
        steps.size[0] = steps.source.size
        return
    steps.source[n], steps.target[n] = source, target
    for k in range(count):
        steps.row[a + k] = rows[k]
    steps.first[n + 1] = a + count
    steps.size[0] = n + 1


@kernel
def costs(demand: Demand, pool: Pool, steps: Steps, job: Ints) -> tuple[Floats, Floats]:
    """Return the cost of every step (E,), and the least cost that follows a state (N + 1,).

    The last entry stands for the end. ``job`` (C,) is that of every row.
    """
    out, rest = np.zeros(steps.size[0]), np.zeros(pool.size[0] + 1)
    for s in range(rest.size - 1):
        rest[s] = np.inf
    for n in range(out.size - 1, -1, -1):  # what follows a state begins after all that leads to it
        s = steps.source[n]
        for k in range(steps.first[n], steps.first[n + 1]):
            c = steps.row[k]
            out[n] += demand.weight[job[c]] * (pool.slot[s] + demand.rows.duration[c])
        rest[s] = min(rest[s], out[n] + rest[steps.target[n]])
    return out, rest


@kernel
def _reach(
    pool: Pool,
    slot: int,
    ended: bool,
    mask: int,
    value: float,
    bound: float,
    runs: Medium,
    chosen: Medium,
) -> int:
    """Add a state, or improve the one that is there; return which, -1 if the pool is full."""
    jobs, size = runs.size, pool.table.size
    h = mix(slot, mask)
    for x in runs:
        if x == NOTHING:
            break
        h = mix(h, x + ZERO)  # 64 bits
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
        pool.ended[s], pool.value[s] = ended, np.inf
        pool.after[s], pool.head[slot] = pool.head[slot], s
    pool.ended[s] |= ended
    if value < pool.value[s]:
        pool.value[s], pool.bound[s] = value, bound
        for i in range(jobs):
            pool.chosen[s, i] = chosen[i]
    return int(s)


@kernel
def _onward(runs: Medium, until: int, out: Medium) -> None:
    """Fill ``out`` with what still runs in slot ``until``, ascending."""
    for k in range(out.size):
        out[k] = NOTHING
    kept = ZERO
    for entry in runs:
        if entry < NOTHING and entry >> ITEM_BITS > until:
            sort_in(out, kept, entry + ZERO)
            kept += 1


@kernel
def _bound(demand: Demand, k: int, slot: int, mask: int, value: float, runs: Medium) -> float:
    """Return what a schedule costs at least at list k of the prices."""
    bound = value - demand.worth[k, slot]
    for j in range(runs.size):
        if not (mask >> j) & 1:
            bound += demand.least[k, j, slot]
    for entry in runs:
        if entry == NOTHING:
            break
        bound += demand.rent[k, entry & ITEM, slot, entry >> ITEM_BITS]
    return float(bound)


@kernel
def bounds(demand: Demand, pool: Pool, states: Ints) -> Floats:
    """Return the bounds of states (N,) at all prices, shape (K, N)."""
    out = np.empty((demand.worth.shape[0], states.size))
    for n, s in enumerate(states):
        for k in range(out.shape[0]):
            out[k, n] = _bound(demand, k, pool.slot[s], pool.mask[s], pool.value[s], pool.runs[s])
    return out


@kernel
def expand(
    fit: Fit,
    demand: Demand,
    pool: Pool,
    steps: Steps,
    stack: Stack,
    s: int,
    limit: float,
    least_found: float,
) -> tuple[float, int]:
    """Start jobs in a state in all ways, and go on to the next slot in which something happens.

    Returns the least value of states in which all jobs have started (their choices in
    ``stack.best``) or ``least_found``, and how it ended: DONE; FULL, no more states; LONG, too many
    starts were tried. Where steps are noted, the limit stays as it is.
    """
    rows, arrival, _, least, worth, rent = demand
    use, runs, number, mask, value, cost, job, row = stack[:8]
    chosen, picked, order, onward, others, best = stack[8:]
    whole, items, keep = fit.servers.whole, fit.items, steps.source.size > 0
    lists, jobs, last = worth.shape[0], arrival.size, worth.shape[1] - 1
    t = pool.slot[s]
    resources = whole.size
    number[0], mask[0], value[0], job[0] = 0, pool.mask[s], pool.value[s], 0
    for k in range(jobs):
        chosen[k], runs[0, k] = pool.chosen[s, k], pool.runs[s, k]
    for k in range(lists):
        cost[0, k] = value[0] - worth[k, t]
    for r in range(resources):
        use[0, r] = 0
    while number[0] < jobs and runs[0, number[0]] < NOTHING:
        entry = runs[0, number[0]]
        for r in range(resources):
            use[0, r] += items.use[entry & ITEM, r]
        for k in range(lists):
            cost[0, k] += rent[k, entry & ITEM, t, entry >> ITEM_BITS]
        number[0] += 1
    level, taken, fresh = ZERO, 0, True
    while level >= 0:
        if fresh:  # start no more
            fresh = False
            row[level] = rows.first[job[level]]
            if mask[level] == (1 << jobs) - 1:
                if keep and value[level] < limit:
                    _note(steps, s, NOBODY, picked, level)
                if value[level] < least_found:
                    least_found = value[level]
                    for k in range(jobs):
                        best[k] = chosen[k]
                    if not keep:
                        limit = min(limit, least_found)
            else:
                end = last
                for k in range(number[level]):
                    end = min(end, runs[level, k] >> ITEM_BITS)
                until = end
                for j in range(jobs):
                    if not (mask[level] >> j) & 1 and arrival[j] > t:
                        until = min(until, arrival[j])
                if until < last:
                    _onward(runs[level], until, onward)
                    bound = -np.inf
                    for k in range(lists):
                        one = _bound(demand, k, until, mask[level], value[level], onward)
                        bound = max(bound, one)
                        if bound >= limit:
                            break
                    if bound < limit:
                        target = _reach(
                            *(pool, until, until == end, mask[level], value[level], bound),
                            *(onward, chosen),
                        )
                        if target < 0:
                            return least_found, FULL
                        if keep:
                            _note(steps, s, target, picked, level)
        # the next start
        found = False
        while job[level] < jobs and not found:
            j = job[level]
            late = arrival[j] > t or (arrival[j] < t and not pool.ended[s])
            if not late and not (mask[level] >> j) & 1:
                for k in range(lists):
                    others[k] = cost[level, k]
                    for i in range(jobs):
                        if i != j and not (mask[level] >> i) & 1:
                            others[k] += least[k, i, t + 1 if i < j else t]
                while row[level] < rows.first[j + 1]:
                    c = row[level]
                    row[level] += 1
                    dear = False
                    for k in range(lists):
                        if others[k] + rows.cost[k, c, t] >= limit:
                            dear = True
                            break
                    if dear:
                        continue
                    taken += 1
                    i = rows.item[c]
                    large = False
                    for r in range(resources):
                        use[level + 1, r] = use[level, r] + items.use[i, r]
                        large |= use[level + 1, r] > whole[r]
                    if large:
                        continue
                    n = number[level]
                    for k in range(n):
                        sort_in(order, k, runs[level, k] & ITEM)
                    sort_in(order, n, i)
                    if not remembered(fit, order[: n + 1]):
                        continue
                    end = t + rows.duration[c]
                    for k in range(jobs):
                        runs[level + 1, k] = runs[level, k]
                    runs[level + 1, n] = (end << ITEM_BITS) | i
                    number[level + 1] = n + 1
                    mask[level + 1] = mask[level] | (1 << j)
                    value[level + 1] = value[level] + demand.weight[j] * end
                    for k in range(lists):
                        cost[level + 1, k] = cost[level, k] + rows.cost[k, c, t]
                    chosen[j], picked[level] = c * (last + 1) + t, c
                    found = True
                    break
            if not found:
                job[level] += 1
                row[level] = rows.first[min(job[level], jobs)]
        if taken > STARTS:
            return least_found, LONG
        if found:
            level += 1
            job[level] = job[level - 1] + 1
            if job[level] == jobs:
                row[level] = rows.first[jobs]
            fresh = True
        else:
            level -= 1
    return least_found, DONE


@kernel
def rents(
    types: Plain, modes: Modes, first: Ints, longest: Ints, slots: int, servers: Plain
) -> Floats:
    """Return the least cost of every item from a slot to another, shape (I, S + 1, S + 1).

    The modes of an item are those from ``first`` (I + 1,) on, their durations are for notes;
    ``longest`` (I,) is that of an item. Types and servers are plain, as in `oracle.kernels`.
    """
    out = np.zeros((longest.size, slots + 1, slots + 1))
    none = np.empty(0, np.int64)
    last = min(slots, servers[0].shape[1] - 1)  # from then on all is free of charge
    for i in range(longest.size):
        x, y = first[i], first[i + 1]
        kind, q, workers, duration, mask = modes
        duration = duration[x:y]
        some = (kind[x:y], q[x:y], workers[x:y], duration, mask[x:y])
        for a in range(last):
            for d in range(1, min(longest[i], last - a) + 1):
                for k in range(y - x):
                    duration[k] = d
                ask = (a, 1.0, a + d, np.inf, AT_ONCE, none, none)
                _, out[i, a, a + d], _ = cheapest(types, some, servers, ask, None)
            for end in range(last + 1, slots + 1):
                out[i, a, end] = out[i, a, last]
    return out
