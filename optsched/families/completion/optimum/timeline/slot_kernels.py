"""Compiled part of `slot_items`: whether what runs in a slot fits on single servers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.numbers.arrays import Ints, Medium
from optsched.numbers.kernels import kernel

NO, YES, UNKNOWN = 0, 1, 2
MOST_SPREAD = 10_000  # entries of a table of workers that are spread


class Servers(NamedTuple):
    """Servers, and what workers and parameter servers (PS) take of them."""

    capacity: Ints  # (H, R)
    worker: Ints  # (M, R)
    ps: Ints  # (P, R)
    needed: Ints  # (M, P, most + 1): PS for k workers elsewhere
    ring: bool
    sizes: Ints  # (M,) of the table: one more than the most workers of each type but the last, PS
    most: Ints  # most workers of the last type beside those, flat; empty: there is no table


class Items(NamedTuple):
    """What may run in a slot: workers of one type, apart or together, whichever job they are of."""

    worker_type: Ints  # (I,)
    apart: Ints  # (I,) workers on at least two servers; 0: they may not be
    apart_ps: Ints  # (I,) then: bits of the PS types
    together: Ints  # (I,) workers on one server, with all PS; 0: they may not be
    together_ps: Ints  # (I,)
    use: Ints  # (I, R) of the cluster, at least


class Memory(NamedTuple):
    """Lists of items that were tried on the servers."""

    items: Medium  # (N, J)
    fits: NDArray[np.int8]  # (N,) -1: free place
    size: Ints  # (1,)
    tries: Ints  # (1,) steps to find out; then a list counts as fitting


@kernel
def mix(h: int, x: int) -> int:
    """Return a hash that also depends on ``x``."""
    mixed = np.int64(h ^ (h >> 29)) * np.int64(-4658895280553007687) + np.int64(x)
    return int(mixed ^ (mixed >> 32))


@kernel
def room_for(free: Ints, e: Ints, most: int) -> int:
    """Return how many workers of demand e fit, at most ``most``."""
    for r in range(e.size):
        if e[r] > 0:
            most = min(most, free[r] // e[r])
    return most


@kernel
def take(free: Ints, h: int, n: int, e: Ints, s: int, z: Ints) -> None:
    """Take n workers of demand e and s PS of demand z from server h."""
    for r in range(e.size):
        free[h, r] -= n * e[r] + s * z[r]


@kernel
def _fill(free: Ints, left: Ints, e: Ints) -> int:
    """Whether so many workers of each type fit: YES if one after the other, NO or UNKNOWN."""
    rest, sure = free.copy(), True
    for m in range(left.size):
        if left[m] == 0:
            continue
        alone, need = 0, left[m]
        for h in range(free.shape[0]):
            alone += room_for(free[h], e[m], left[m])
            n = room_for(rest[h], e[m], need)
            need -= n
            for r in range(e.shape[1]):
                rest[h, r] -= n * e[m, r]
        if alone < left[m]:
            return NO
        sure &= need == 0
    return YES if sure else UNKNOWN


@kernel
def spread(free: Ints, left: Ints, e: Ints) -> int:
    """Whether so many workers of each type fit on the servers: YES, NO, or UNKNOWN if many."""
    quick = _fill(free, left, e)
    if quick != UNKNOWN:
        return quick
    last, kinds, size = 0, 0, 1
    for m in range(left.size):
        last = m if left[m] > left[last] else last
    others, here = np.empty(left.size, np.int64), np.empty(left.size, np.int64)
    for m in range(left.size):
        if m != last and left[m] > 0:
            others[kinds] = m
            kinds += 1
            size *= left[m] + 1
    if size > MOST_SPREAD:
        return UNKNOWN
    # most workers of the last type beside so many of the others on the servers so far
    most, more = np.empty(size, np.int64), np.empty(size, np.int64)
    for x in range(size):
        most[x] = 0 if x == 0 else -1
    rest = np.empty(e.shape[1], np.int64)
    for h in range(free.shape[0]):
        for x in range(size):
            more[x] = -1
        for r in range(rest.size):
            rest[r] = free[h, r]
        for k in range(kinds):
            here[k] = 0
        while True:
            room, shift = room_for(rest, e[last], left[last]), 0
            for k in range(kinds):
                shift = shift * (left[others[k]] + 1) + here[k]
            for x in range(size - shift):
                if most[x] < 0 or most[x] + room <= more[x + shift]:
                    continue
                fits, place = True, x  # no digit of the sum overflows
                for k in range(kinds - 1, -1, -1):
                    digit = place % (left[others[k]] + 1)
                    place //= left[others[k]] + 1
                    fits &= digit + here[k] <= left[others[k]]
                if fits:
                    more[x + shift] = most[x] + room
            k = 0  # the next numbers of the others on this server
            while k < kinds:
                m = others[k]
                if here[k] < left[m] and room_for(rest, e[m], 1) == 1:
                    here[k] += 1
                    for r in range(rest.size):
                        rest[r] -= e[m, r]
                    break
                for r in range(rest.size):
                    rest[r] += here[k] * e[m, r]
                here[k] = 0
                k += 1
            if k == kinds:
                break
        most, more = more, most
    return YES if most[size - 1] >= left[last] else NO


@kernel
def _twin(free: Ints, h: int) -> bool:
    """Whether a server before h has as much left of everything."""
    found = False
    for a in range(h):
        same = True
        for r in range(free.shape[1]):
            same &= free[a, r] == free[h, r]
        found |= same
    return found


@kernel
def least_workers(items: Items, i: int) -> int:
    """Return the least number of workers of an item, whichever locality."""
    apart, together = items.apart[i], items.together[i]
    return int(max(apart, together) if min(apart, together) == 0 else min(apart, together))


@kernel
def beyond_table(servers: Servers, count: Ints, ps: int) -> bool:
    """Whether the servers cannot hold workers (M,) and so many of the smallest PS."""
    if servers.most.size == 0:
        return False
    place, last = 0, count.size - 1
    for m in range(last):
        if count[m] >= servers.sizes[m]:
            return True
        place = place * servers.sizes[m] + count[m]
    if servers.ring:
        ps = 0
    if ps >= servers.sizes[last]:
        return True
    return bool(count[last] > servers.most[place * servers.sizes[last] + ps])


@kernel
def host_way(
    servers: Servers, items: Items, i: int, h: int, g: int, p: int
) -> tuple[int, int, int]:
    """Return workers of an item on host h, workers elsewhere, and PS, for its g-th way, PS type p.

    The g-th way of n workers apart has g of them on the host; the n-th has all workers together.
    The first figure is -1 where there is no such way, or where one with fewer workers will do.
    """
    m, n = items.worker_type[i], items.apart[i]
    if g == n:
        together = items.together[i]
        if together == 0 or not (items.together_ps[i] >> p) & 1:
            return -1, 0, 0
        return together, 0, 0 if servers.ring else servers.needed[m, p, 0]
    if not (items.apart_ps[i] >> p) & 1:
        return -1, 0, 0
    if servers.ring:  # no PS, so no host: the first one stands for all
        return (-1, 0, 0) if h > 0 or g > 0 else (0, n, 0)
    s = servers.needed[m, p, n - g]
    if g > 0 and s == servers.needed[m, p, n - g + 1]:
        return -1, 0, 0
    return g, n - g, s


@kernel
def packs(servers: Servers, items: Items, which: Medium, most_tries: int) -> int:
    """Return whether items fit on single servers side by side: YES, NO or UNKNOWN.

    One host holds the PS of an item, and so many of its workers that they suffice; the others are
    spread over all servers.
    """
    count = which.size
    most = np.zeros(servers.worker.shape[0], np.int64)  # workers: as many as were chosen, or least
    for i in which:
        most[items.worker_type[i]] += least_workers(items, i)
    if beyond_table(servers, most, count):
        return NO
    e, z = servers.worker, servers.ps
    free = servers.capacity.copy()
    hosts, kinds = free.shape[0], max(1, z.shape[0])
    left = most.copy()  # workers that are to be spread, or least of items that have no host yet
    unsure = False
    none = np.zeros(e.shape[1], np.int64)
    # what was tried last: (host, workers on it or, if it is their number, together, PS type)
    at = np.zeros(count + 1, np.int64)
    here = np.full(count, -1, np.int64)  # workers on the host; -1: nothing is taken
    ps = np.zeros(count, np.int64)
    away = np.zeros(count, np.int64)  # workers to be spread
    level, down = 0, True
    while level >= 0:
        if level == count:
            return UNKNOWN if unsure else YES
        i = which[level]
        m, n = items.worker_type[i], items.apart[i]
        ways, least = (n + 1) * kinds, least_workers(items, i)
        if down:
            at[level] = -1
        elif here[level] >= 0:
            p = at[level] % kinds
            kind = none if servers.ring else z[p]
            take(free, at[level] // ways, -here[level], e[m], -ps[level], kind)
            left[m] += least - away[level]
            most[m] -= here[level] + away[level] - least
        here[level] = -1
        down = False
        while at[level] + 1 < hosts * ways:
            at[level] += 1
            h, p = at[level] // ways, at[level] % kinds
            g, rest, s = host_way(servers, items, i, h, at[level] % ways // kinds, p)
            if g < 0:
                continue
            kind = none if servers.ring else z[p]
            fits = True
            for r in range(none.size):
                fits &= g * e[m, r] + s * kind[r] <= free[h, r]
            if not fits or _twin(free, h):
                continue
            most_tries -= 1
            if most_tries < 0:
                return UNKNOWN
            most[m] += g + rest - least
            left[m] += rest - least
            take(free, h, g, e[m], s, kind)
            room = NO if beyond_table(servers, most, count) else spread(free, left, e)
            if room == NO:
                most[m] -= g + rest - least
                left[m] -= rest - least
                take(free, h, -g, e[m], -s, kind)
                continue
            unsure |= room == UNKNOWN
            here[level], ps[level], away[level] = g, s, rest
            down = True
            break
        level += 1 if down else -1
    return NO


@kernel
def sort_in(out: Medium, length: int, x: int) -> None:
    """Insert x into the ascending first ``length`` entries."""
    while length > 0 and out[length - 1] > x:
        out[length] = out[length - 1]
        length -= 1
    out[length] = x


@kernel
def place_of(memory: Memory, which: Medium) -> int:
    """Return where an ascending list is remembered, or the free place for it."""
    count, size = which.size, memory.fits.size
    h = count
    for i in which:
        h = mix(h, i)
    k = h & (size - 1)
    while memory.fits[k] >= 0:
        same = count == memory.items.shape[1] or memory.items[k, count] < 0
        for i in range(count):
            same = same and memory.items[k, i] == which[i]
        if same:
            break
        k = (k + 1) & (size - 1)
    return int(k)


@kernel
def learn(memory: Memory, which: Medium, fits: int) -> None:
    """Note what was found out about an ascending list, if there is room."""
    k, count = place_of(memory, which), which.size
    if memory.fits[k] < 0:
        if 2 * memory.size[0] >= memory.fits.size:
            return
        for i in range(count):
            memory.items[k, i] = which[i]
        if count < memory.items.shape[1]:
            memory.items[k, count] = -1
        memory.size[0] += 1
    memory.fits[k] = fits


@kernel
def remembered(servers: Servers, items: Items, memory: Memory, which: Medium) -> bool:
    """Return :func:`packs` of an ascending list, worked out once."""
    workers = np.zeros(servers.worker.shape[0], np.int64)
    for i in which:
        workers[items.worker_type[i]] += least_workers(items, i)
    if beyond_table(servers, workers, which.size):
        return False
    fits = memory.fits[place_of(memory, which)]
    if fits < 0:
        fits = packs(servers, items, which, memory.tries[0])
        learn(memory, which, fits)
    return bool(fits != NO)
