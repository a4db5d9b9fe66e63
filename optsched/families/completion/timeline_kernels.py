"""Compiled parts of the dynamic program over time; `timeline` says what it does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NOTHING = 2**60  # fills the lists of what runs
ITEM_BITS = 20  # of an entry of these lists: end << ITEM_BITS | item
ITEM = 2**ITEM_BITS - 1
DONE, FULL, LONG = 0, 1, 2
NO, YES, UNKNOWN, STALE = 0, 1, 2, 3


class Servers(NamedTuple):
    """Servers, and what workers and parameter servers (PS) take of them."""

    capacity: Ints  # (H, R)
    worker: Ints  # (M, R)
    ps: Ints  # (P, R)
    needed: Ints  # (M, P, most + 1): PS for k workers elsewhere
    ring: bool
    sizes: Ints  # (M,) of the table: one more than the most workers of each type but the last
    most: Ints  # most workers of the last type beside others, flat; empty: there is no table


class Items(NamedTuple):
    """What may run in a slot, whichever job it belongs to."""

    worker_type: Ints  # (I,)
    ps_type: Ints
    together: Ints
    workers: Ints
    use: Ints  # (I, R) of the cluster, at least
    rent: Floats  # (I, S + 2, S + 2): least cost from a slot to another


class Rows(NamedTuple):
    """The modes of all jobs, one job after the other."""

    first: Ints  # (J + 1,)
    item: Ints  # (K,)
    duration: Ints  # (K,)
    cost: Floats  # (K, S + 2): weight * completion + rent by start; inf: not allowed


class Demand(NamedTuple):
    """The jobs at prices."""

    arrival: Ints  # (J,)
    weight: Floats  # (J,)
    least: Floats  # (J, S + 2): least cost from a slot on
    worth: Floats  # (S + 2,): of all capacity from a slot on


class Pool(NamedTuple):
    """States that were reached: what is over, and what runs on."""

    slot: Ints  # (N,)
    mask: Ints  # (N,) jobs that have started
    value: Floats  # (N,) weight * completion of these
    ended: NDArray[np.bool_]  # (N,) whether some job ends there
    runs: Ints  # (N, J) ascending
    chosen: Ints  # (N, J) row * (S + 2) + start
    after: Ints  # (N,) next state of the same slot
    head: Ints  # (S + 2,) first state of a slot
    table: Ints  # hash table of states
    size: Ints  # (1,)


class Memory(NamedTuple):
    """Lists of items that were tried on the servers."""

    items: Ints  # (N, J)
    fits: NDArray[np.int8]  # (N,) -1: free place
    size: Ints  # (1,)
    tries: Ints  # (1,) steps to find out; then a list counts as fitting


@njit(cache=True)
def _mix(h: int, x: int) -> int:
    """Return a hash that also depends on ``x``."""
    mixed = np.int64(h ^ (h >> 29)) * np.int64(-4658895280553007687) + np.int64(x)
    return int(mixed ^ (mixed >> 32))


@njit(cache=True)
def _room(free: Ints, e: Ints, most: int) -> int:
    for r in range(e.size):
        if e[r] > 0:
            most = min(most, free[r] // e[r])
    return most


@njit(cache=True)
def _take(free: Ints, h: int, n: int, e: Ints, s: int, z: Ints) -> None:
    for r in range(e.size):
        free[h, r] -= n * e[r] + s * z[r]


@njit(cache=True)
def _spread(free: Ints, left: Ints, e: Ints, tries: Ints) -> bool:
    """Whether so many workers of each type fit on the servers; leaves ``free`` as it was."""
    types, servers = e.shape[0], free.shape[0]
    for m in range(types):
        total = 0
        for h in range(servers):
            total += _room(free[h], e[m], left[m])
        if total < left[m]:
            return False
    levels = types * servers
    here, low = np.zeros(levels, np.int64), np.zeros(levels, np.int64)
    none = np.zeros(e.shape[1], np.int64)
    rest = left.copy()
    level, down, fits = 0, True, False
    while level >= 0:
        if level == levels:
            fits = True
            level -= 1
            down = False
            continue
        m, h = level // servers, level % servers
        if down:
            tries[0] -= 1
            beyond = 0
            for k in range(h + 1, servers):
                beyond += _room(free[k], e[m], rest[m])
            here[level] = _room(free[h], e[m], rest[m]) + 1
            low[level] = max(0, rest[m] - beyond)
        else:
            _take(free, h, -here[level], e[m], 0, none)
            rest[m] += here[level]
        here[level] -= 1
        if tries[0] < 0 or fits or here[level] < low[level]:
            fits = fits or tries[0] < 0
            level -= 1
            down = False
            continue
        _take(free, h, here[level], e[m], 0, none)
        rest[m] -= here[level]
        level += 1
        down = True
    return fits


@njit(cache=True)
def _twin(free: Ints, h: int) -> bool:
    """Whether a server before h has as much left of everything."""
    found = False
    for a in range(h):
        found |= bool((free[a] == free[h]).all())
    return found


@njit(cache=True)
def _beyond_table(servers: Servers, items: Items, which: Ints) -> bool:
    """Whether the servers cannot hold the workers, even without PS."""
    if servers.most.size == 0:
        return False
    count = np.zeros(servers.sizes.size, np.int64)
    for i in which:
        count[items.worker_type[i]] += items.workers[i]
    place = 0
    for m in range(count.size - 1):
        if count[m] >= servers.sizes[m]:
            return True
        place = place * servers.sizes[m] + count[m]
    return bool(count[-1] > servers.most[place])


@njit(cache=True)
def packs(servers: Servers, items: Items, which: Ints, most_tries: int) -> int:
    """Return whether items fit on single servers side by side: YES, NO or UNKNOWN.

    One host holds the PS of an item, and so many of its workers that they suffice; the others are
    spread over all servers.
    """
    if _beyond_table(servers, items, which):
        return NO
    e, z, needed = servers.worker, servers.ps, servers.needed
    free = servers.capacity.copy()
    hosts, types = free.shape[0], e.shape[0]
    count = which.size
    left, tries = np.zeros(types, np.int64), np.full(1, most_tries, np.int64)
    none = np.zeros(e.shape[1], np.int64)
    at = np.zeros(count + 1, np.int64)  # host and workers on it, tried last
    ps = np.zeros(count, np.int64)  # on the host; -1: nothing is taken
    level, down = 0, True
    while level >= 0:
        if level == count:
            if _spread(free, left, e, tries):
                return YES if tries[0] >= 0 else UNKNOWN
            level -= 1
            down = False
            continue
        i = which[level]
        m, p, n = items.worker_type[i], items.ps_type[i], items.workers[i]
        kind = none if servers.ring else z[p]
        if down:
            at[level], ps[level] = -1, -1
        elif ps[level] >= 0:
            g = at[level] % (n + 1)
            _take(free, at[level] // (n + 1), -g, e[m], -ps[level], kind)
            left[m] -= n - g
            ps[level] = -1
        down = False
        while at[level] + 1 < hosts * (n + 1):
            at[level] += 1
            h, g = at[level] // (n + 1), at[level] % (n + 1)
            if servers.ring and items.together[i] == 0:
                if h > 0 or g > 0:
                    continue
                s = 0
            elif (items.together[i] == 1) != (g == n):
                continue
            else:
                s = 0 if servers.ring else needed[m, p, n - g]
                if 0 < g < n and s == needed[m, p, n - g + 1]:
                    continue  # fewer workers here will do
            fits = True
            for r in range(none.size):
                fits &= g * e[m, r] + s * kind[r] <= free[h, r]
            if not fits or _twin(free, h):
                continue
            tries[0] -= 1
            if tries[0] < 0:
                return UNKNOWN
            _take(free, h, g, e[m], s, kind)
            left[m] += n - g
            ps[level] = s
            down = True
            break
        level += 1 if down else -1
    return NO


@njit(cache=True)
def _sort_in(out: Ints, length: int, x: int) -> None:
    """Insert x into the ascending first ``length`` entries."""
    while length > 0 and out[length - 1] > x:
        out[length] = out[length - 1]
        length -= 1
    out[length] = x


@njit(cache=True)
def _remembered(servers: Servers, items: Items, memory: Memory, which: Ints) -> bool:
    """Return :func:`packs` of an ascending list, worked out once."""
    count, size = which.size, memory.fits.size
    h = count
    for i in which:
        h = _mix(h, i)
    k = h & (size - 1)
    while memory.fits[k] >= 0:
        same = count == memory.items.shape[1] or memory.items[k, count] < 0
        for i in range(count):
            same = same and memory.items[k, i] == which[i]
        if same:
            if memory.fits[k] == STALE:
                memory.fits[k] = packs(servers, items, which, memory.tries[0])
            return bool(memory.fits[k] != NO)
        k = (k + 1) & (size - 1)
    fits = packs(servers, items, which, memory.tries[0])
    if 2 * memory.size[0] < size:
        memory.items[k, :count] = which
        memory.fits[k] = fits
        memory.size[0] += 1
    return fits != NO


@njit(cache=True)
def _reach(
    pool: Pool, slot: int, ended: bool, mask: int, value: float, runs: Ints, chosen: Ints
) -> bool:
    """Add a state, or improve the one that is there; False if the pool is full."""
    jobs, size = runs.size, pool.table.size
    h = _mix(slot, mask)
    for x in runs:
        h = _mix(h, x)
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
            return False
        pool.size[0] += 1
        pool.table[k] = s
        pool.slot[s], pool.mask[s], pool.runs[s] = slot, mask, runs
        pool.ended[s], pool.value[s] = ended, np.inf
        pool.after[s], pool.head[slot] = pool.head[slot], s
    pool.ended[s] |= ended
    if value < pool.value[s]:
        pool.value[s], pool.chosen[s] = value, chosen
    return True


@njit(cache=True)
def expand(
    servers: Servers,
    items: Items,
    rows: Rows,
    demand: Demand,
    pool: Pool,
    memory: Memory,
    s: int,
    limit: float,
    steps: int,
    best: Ints,
) -> tuple[float, int]:
    """Start jobs in a state in all ways, and go on to the next slot in which something happens.

    Returns the least value below ``limit`` of states in which all jobs have started (their choices
    in ``best``) or ``limit``, and how it ended: DONE; FULL, no more states; LONG, no more steps.
    """
    arrival, least = demand.arrival, demand.least
    jobs, last = arrival.size, demand.worth.size - 1
    t = pool.slot[s]
    total = servers.capacity.sum(axis=0)
    use = np.zeros((jobs + 1, total.size), np.int64)
    runs = np.full((jobs + 1, jobs), NOTHING, np.int64)
    number = np.zeros(jobs + 1, np.int64)
    mask, value, cost = np.zeros(jobs + 1, np.int64), np.zeros(jobs + 1), np.zeros(jobs + 1)
    job, row = np.zeros(jobs + 1, np.int64), np.zeros(jobs + 1, np.int64)
    chosen, order, onward = (
        pool.chosen[s].copy(),
        np.zeros(jobs, np.int64),
        np.zeros(jobs, np.int64),
    )
    mask[0], value[0], cost[0] = pool.mask[s], pool.value[s], pool.value[s] - demand.worth[t]
    runs[0] = pool.runs[s]
    while number[0] < jobs and runs[0, number[0]] < NOTHING:
        entry = runs[0, number[0]]
        use[0] += items.use[entry & ITEM]
        cost[0] += items.rent[entry & ITEM, t, entry >> ITEM_BITS]
        number[0] += 1
    level, taken, fresh = 0, 0, True
    while level >= 0:
        if fresh:  # start no more
            fresh = False
            row[level] = rows.first[job[level]]
            if mask[level] == (1 << jobs) - 1:
                if value[level] < limit:
                    limit = value[level]
                    best[:] = chosen
            else:
                end = last
                for k in range(number[level]):
                    end = min(end, runs[level, k] >> ITEM_BITS)
                until = end
                for j in range(jobs):
                    if not (mask[level] >> j) & 1 and arrival[j] > t:
                        until = min(until, arrival[j])
                bound = value[level] - demand.worth[until]
                for j in range(jobs):
                    if not (mask[level] >> j) & 1:
                        bound += least[j, until]
                onward[:] = NOTHING
                kept = 0
                for k in range(number[level]):
                    entry = runs[level, k]
                    if entry >> ITEM_BITS > until:
                        bound += items.rent[entry & ITEM, until, entry >> ITEM_BITS]
                        _sort_in(onward, kept, entry)
                        kept += 1
                if (
                    until < last
                    and bound < limit
                    and not _reach(
                        pool, until, until == end, mask[level], value[level], onward, chosen
                    )
                ):
                    return limit, FULL
        # the next start
        found = False
        while job[level] < jobs and not found:
            j = job[level]
            late = arrival[j] > t or (arrival[j] < t and not pool.ended[s])
            if not late and not (mask[level] >> j) & 1:
                others = cost[level]
                for i in range(jobs):
                    if i != j and not (mask[level] >> i) & 1:
                        others += least[i, t + 1 if i < j else t]
                while row[level] < rows.first[j + 1]:
                    c = row[level]
                    row[level] += 1
                    if others + rows.cost[c, t] >= limit:
                        continue
                    taken += 1
                    i = rows.item[c]
                    use[level + 1] = use[level] + items.use[i]
                    if (use[level + 1] > total).any():
                        continue
                    n = number[level]
                    for k in range(n):
                        _sort_in(order, k, runs[level, k] & ITEM)
                    _sort_in(order, n, i)
                    if not _remembered(servers, items, memory, order[: n + 1]):
                        continue
                    end = t + rows.duration[c]
                    runs[level + 1] = runs[level]
                    runs[level + 1, n] = (end << ITEM_BITS) | i
                    number[level + 1] = n + 1
                    mask[level + 1] = mask[level] | (1 << j)
                    value[level + 1] = value[level] + demand.weight[j] * end
                    cost[level + 1] = cost[level] + rows.cost[c, t]
                    chosen[j] = c * (last + 1) + t
                    found = True
                    break
            if not found:
                job[level] += 1
                row[level] = rows.first[min(job[level], jobs)]
        if taken > steps:
            return limit, LONG
        if found:
            level += 1
            job[level] = job[level - 1] + 1
            if job[level] == jobs:
                row[level] = rows.first[jobs]
            fresh = True
        else:
            level -= 1
    return limit, DONE
