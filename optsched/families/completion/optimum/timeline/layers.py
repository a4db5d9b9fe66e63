"""Compiled: whether what runs in some slots fits on single servers, nobody moving in between.

A layer is a slot. What runs in several layers has one host, and its workers stay where they are.
What was found out about a single slot is remembered.
At first hosts are looked for, while the other workers may be spread anew in every layer; then the
workers of what runs in several layers are spread, server by server.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.families.completion.optimum.timeline.slot_kernels import (
    NO,
    ONE,
    UNKNOWN,
    YES,
    ZERO,
    Items,
    Servers,
    beyond_table,
    host_way,
    least_workers,
    room_for,
    spread,
    take,
)
from optsched.numbers.arrays import Ints, Medium
from optsched.numbers.kernels import kernel


class Memory(NamedTuple):
    """Lists of items that were tried on the servers."""

    items: Medium  # (N, J)
    fits: NDArray[np.int8]  # (N,) -1: free place
    size: Ints  # (1,)
    tries: Ints  # (1,) steps to find out; then a list counts as fitting


class Fit(NamedTuple):
    """What may run on which servers, and what is known of it."""

    servers: Servers
    items: Items
    memory: Memory


class Layers(NamedTuple):
    """What is left on the servers while items are placed."""

    within: Ints  # (count, L) 1: the item runs in the layer
    free: Ints  # (L, H, R)
    most: Ints  # (L, M) workers: as many as were chosen, or least
    left: Ints  # (L, M) workers that are to be spread, or least of items that have no host yet
    size: Ints  # (L,) items


@kernel
def _twin(free: Ints, h: int) -> bool:
    """Whether a server before h has as much left of everything in every layer (L, H, R)."""
    found = False
    for a in range(h):
        found |= _alike(free, a, h)
    return found


@kernel
def _alike(free: Ints, a: int, b: int) -> bool:
    for t in range(free.shape[0]):
        for r in range(free.shape[2]):
            if free[t, a, r] != free[t, b, r]:
                return False
    return True


@kernel
def _put(on: Layers, k: int, h: int, n: int, e: Ints, s: int, z: Ints) -> None:
    """Take n workers and s PS on server h in all layers of item k."""
    for t in range(on.size.size):
        if on.within[k, t]:
            take(on.free[t], h, n, e, s, z)


@kernel
def _count(on: Layers, k: int, m: int, most: int, left: int) -> None:
    """Count workers of type m in all layers of item k."""
    for t in range(on.size.size):
        if on.within[k, t]:
            on.most[t, m] += most
            on.left[t, m] += left


@kernel
def _still(servers: Servers, on: Layers, k: int) -> int:
    """Whether the workers still fit in all layers of item k, each layer by itself."""
    for t in range(on.size.size):
        if on.within[k, t] and beyond_table(servers, on.most[t], on.size[t]):
            return NO
    sure = YES
    for t in range(on.size.size):
        if on.within[k, t]:
            one = spread(on.free[t], on.left[t], servers.types.worker_demand)
            if one == NO:
                return NO
            sure = one if sure == YES else sure
    return sure


@kernel
def _room(on: Layers, k: int, h: int, e: Ints, most: int) -> int:
    """How many workers fit on server h in all layers of item k."""
    for t in range(on.size.size):
        if on.within[k, t]:
            most = room_for(on.free[t, h], e, most)
    return most


@kernel
def _copy(source: Ints, target: Ints) -> None:
    """Copy what is free, (L, H, R)."""
    for t in range(source.shape[0]):
        for h in range(source.shape[1]):
            for r in range(source.shape[2]):
                target[t, h, r] = source[t, h, r]


@kernel
def _spread_linked(
    servers: Servers, kinds: Ints, linked: Ints, away: Ints, state: Layers, tries: int
) -> tuple[int, int]:
    """Spread the workers of items in several layers: YES, NO or UNKNOWN; and the tries left.

    ``kinds`` (count,) are the types of workers of all items, ``linked`` says which items are in
    several layers, ``away`` (count,) how many workers are to be spread.
    """
    layers, hosts, resources = state.free.shape
    free = np.empty((layers, hosts, resources), np.int64)
    _copy(state.free, free)
    e = servers.types.worker_demand
    left = np.empty((layers, e.shape[0]), np.int64)
    for t in range(layers):
        for m in range(e.shape[0]):
            left[t, m] = state.left[t, m]
    on = Layers(state.within, free, state.most, left, state.size)
    steps = linked.size * hosts  # item by item, server by server
    number, rest = np.zeros(steps, np.int64), np.zeros(steps + 1, np.int64)
    before = np.empty((linked.size, layers, hosts, resources), np.int64)  # free, as an item begins
    unsure, step, down = False, ZERO, True
    while step >= 0:
        if step == steps:
            return UNKNOWN if unsure else YES, tries
        turn, h = step // hosts, step % hosts
        k = linked[turn]
        m = kinds[k]
        if down:
            if h == 0:
                _copy(on.free, before[turn])
                rest[step] = away[k]
            most = _room(on, k, h, e[m], rest[step])
            for a in range(h - 1, -1, -1):  # of equal servers, the first takes the most
                if _alike(before[turn], a, h):
                    most = min(most, number[step - h + a])
                    break
            number[step] = most + 1
        else:
            _put(on, k, h, -number[step], e[m], ZERO, e[m])
            _count(on, k, m, ZERO, number[step])
        down = False
        ahead = 0
        for a in range(h + 1, hosts):
            ahead += _room(on, k, a, e[m], rest[step])
        while number[step] > 0 and rest[step] - number[step] + 1 <= ahead:
            number[step] -= 1
            n = number[step]
            tries -= 1
            if tries < 0:
                return UNKNOWN, tries
            _put(on, k, h, n, e[m], ZERO, e[m])
            _count(on, k, m, ZERO, -n)
            fits = _still(servers, on, k) if rest[step] else YES
            if fits == NO:
                _put(on, k, h, -n, e[m], ZERO, e[m])
                _count(on, k, m, ZERO, n)
                continue
            unsure |= fits == UNKNOWN
            rest[step + 1] = rest[step] - n
            down = True
            break
        step += 1 if down else -1
    return NO, tries


@kernel
def packs(
    servers: Servers, items: Items, which: Medium, layers: Ints, number: int, tries: int
) -> int:
    """Return whether items fit on single servers in all layers: YES, NO or UNKNOWN.

    One host holds the PS of an item, and so many of its workers that they suffice; the others are
    spread over all servers. ``layers`` (count,) holds for every item of ``which`` (count,) a bit
    for each of the ``number`` layers in which it runs.
    """
    count, kinds = which.size, max(1, servers.types.ps_demand.shape[0])
    e, z, ring = servers.types.worker_demand, servers.types.ps_demand, servers.types.ring
    hosts, resources = servers.capacity.shape
    on = Layers(
        np.zeros((count, number), np.int64),
        np.empty((number, hosts, resources), np.int64),
        np.zeros((number, e.shape[0]), np.int64),
        np.zeros((number, e.shape[0]), np.int64),
        np.zeros(number, np.int64),
    )
    for t in range(number):
        for h in range(hosts):
            for r in range(resources):
                on.free[t, h, r] = servers.capacity[h, r]
    least, types = np.zeros(count, np.int64), np.zeros(count, np.int64)
    linked, some = np.zeros(count, np.int64), 0
    for k in range(count):
        least[k], types[k] = least_workers(items, which[k]), items.worker_type[which[k]]
        together = 0
        for t in range(number):
            on.within[k, t] = (layers[k] >> t) & 1
            on.size[t] += on.within[k, t]
            together += on.within[k, t]
        _count(on, k, types[k], least[k], least[k])
        if together > 1:
            linked[some] = k
            some += 1
    for t in range(number):
        if beyond_table(servers, on.most[t], on.size[t]):
            return NO
    unsure = False
    none = np.zeros(resources, np.int64)
    # what was tried last: (host, workers on it or, if it is their number, together, PS type)
    at = np.zeros(count + 1, np.int64)
    here = np.zeros(count, np.int64)  # workers on the host; -1: nothing is taken
    ps, away = np.zeros(count, np.int64), np.zeros(count, np.int64)  # away: to be spread
    level, down = ZERO, True
    while level >= 0:
        if level == count:
            found, tries = _spread_linked(servers, types, linked[:some], away, on, tries)
            if found == YES and not unsure:
                return YES
            if found != NO:
                return UNKNOWN
            level, down = level - 1, False
            continue
        i = which[level]
        m, n = types[level], items.apart[i]
        ways = (n + 1) * kinds
        if down:
            at[level] = -1
        elif here[level] >= 0:
            kind = none if ring else z[at[level] % kinds]
            _put(on, level, at[level] // ways, -here[level], e[m], -ps[level], kind)
            change = here[level] + away[level] - least[level]
            _count(on, level, m, -change, least[level] - away[level])
        here[level] = -1
        down = False
        while at[level] + 1 < hosts * ways:
            at[level] += 1
            h, p = at[level] // ways, at[level] % kinds
            g, rest, s = host_way(servers, items, i, h, at[level] % ways // kinds, p)
            if g < 0:
                continue
            kind = none if ring else z[p]
            fits = True
            for t in range(number):
                if on.within[level, t]:
                    for r in range(none.size):
                        fits &= g * e[m, r] + s * kind[r] <= on.free[t, h, r]
            if not fits or _twin(on.free, h):
                continue
            tries -= 1
            if tries < 0:
                return UNKNOWN
            _put(on, level, h, g, e[m], s, kind)
            _count(on, level, m, g + rest - least[level], rest - least[level])
            room = _still(servers, on, level)
            if room == NO:
                _put(on, level, h, -g, e[m], -s, kind)
                _count(on, level, m, least[level] - g - rest, least[level] - rest)
                continue
            unsure |= room == UNKNOWN
            here[level], ps[level], away[level] = g, s, rest
            down = True
            break
        level += 1 if down else -1
    return NO


@kernel
def mix(h: int, x: int) -> int:
    """Return a hash that also depends on ``x``."""
    mixed = np.int64(h ^ (h >> 29)) * np.int64(-4658895280553007687) + np.int64(x)
    return int(mixed ^ (mixed >> 32))


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
        h = mix(h, i + ZERO)  # 64 bits
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
def remembered(fit: Fit, which: Medium) -> bool:
    """Return :func:`packs` of an ascending list in a single layer, worked out once."""
    servers, items, memory = fit
    workers = np.zeros(servers.types.worker_demand.shape[0], np.int64)
    for i in which:
        workers[items.worker_type[i]] += least_workers(items, i)
    if beyond_table(servers, workers, which.size):
        return False
    fits = memory.fits[place_of(memory, which)]
    if fits < 0:
        layers = np.empty(which.size, np.int64)
        for k in range(which.size):
            layers[k] = 1
        fits = packs(servers, items, which, layers, ONE, memory.tries[0])
        learn(memory, which, fits)
    return bool(fits != NO)
