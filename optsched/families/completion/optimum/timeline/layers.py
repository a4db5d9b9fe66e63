"""Compiled: whether what runs in several slots fits on single servers, nobody moving in between.

A layer is a slot. What runs in several layers has one host, and its workers stay where they are.
At first hosts are looked for, while the other workers may be spread anew in every layer; then the
workers of what runs in several layers are spread, server by server.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.completion.optimum.timeline.slot_kernels import (
    NO,
    UNKNOWN,
    YES,
    Items,
    Servers,
    beyond_table,
    host_way,
    least_workers,
    room_for,
    spread,
    take,
)
from optsched.numbers.arrays import Flags, Ints, Medium
from optsched.numbers.kernels import kernel


class Layers(NamedTuple):
    """What is left on the servers while items are placed."""

    within: Flags  # (count, L) which item runs in which layer
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
            one = spread(on.free[t], on.left[t], servers.worker)
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
def _spread_linked(
    servers: Servers, kinds: Ints, linked: Ints, away: Ints, state: Layers, tries: int
) -> tuple[int, int]:
    """Spread the workers of items in several layers: YES, NO or UNKNOWN; and the tries left.

    ``kinds`` are the types of workers of all items, ``linked`` says which items are in several
    layers, ``away`` how many workers are to be spread.
    """
    on = Layers(state.within, state.free.copy(), state.most, state.left.copy(), state.size)
    e, hosts = servers.worker, servers.capacity.shape[0]
    steps = linked.size * hosts  # item by item, server by server
    number, rest = np.zeros(steps, np.int64), np.zeros(steps + 1, np.int64)
    before = np.empty((linked.size, *on.free.shape), np.int64)  # free, as an item begins
    none = np.zeros(e.shape[1], np.int64)
    unsure, step, down = False, 0, True
    while step >= 0:
        if step == steps:
            return UNKNOWN if unsure else YES, tries
        turn, h = step // hosts, step % hosts
        k = linked[turn]
        m = kinds[k]
        if down:
            if h == 0:
                before[turn], rest[step] = on.free, away[k]
            most = _room(on, k, h, e[m], rest[step])
            for a in range(h - 1, -1, -1):  # of equal servers, the first takes the most
                if _alike(before[turn], a, h):
                    most = min(most, number[step - h + a])
                    break
            number[step] = most + 1
        else:
            _put(on, k, h, -number[step], e[m], 0, none)
            _count(on, k, m, 0, number[step])
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
            _put(on, k, h, n, e[m], 0, none)
            _count(on, k, m, 0, -n)
            fits = _still(servers, on, k) if rest[step] else YES
            if fits == NO:
                _put(on, k, h, -n, e[m], 0, none)
                _count(on, k, m, 0, n)
                continue
            unsure |= fits == UNKNOWN
            rest[step + 1] = rest[step] - n
            down = True
            break
        step += 1 if down else -1
    return NO, tries


@kernel
def packs_layers(
    servers: Servers, items: Items, which: Medium, layers: Ints, number: int, tries: int
) -> int:
    """Return whether items fit on single servers in all layers: YES, NO or UNKNOWN.

    ``layers`` holds for every item a bit for each of the ``number`` layers in which it runs.
    """
    count, kinds = which.size, max(1, servers.ps.shape[0])
    e, z = servers.worker, servers.ps
    on = Layers(
        np.zeros((count, number), np.bool_),
        np.empty((number, *servers.capacity.shape), np.int64),
        np.zeros((number, e.shape[0]), np.int64),
        np.zeros((number, e.shape[0]), np.int64),
        np.zeros(number, np.int64),
    )
    on.free[:] = servers.capacity
    least, together = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for k in range(count):
        least[k] = least_workers(items, which[k])
        for t in range(number):
            on.within[k, t] = (layers[k] >> t) & 1
            on.size[t] += on.within[k, t]
            together[k] += on.within[k, t]
        _count(on, k, items.worker_type[which[k]], least[k], least[k])
    for t in range(number):
        if beyond_table(servers, on.most[t], on.size[t]):
            return NO
    linked = np.flatnonzero(together > 1)
    hosts = servers.capacity.shape[0]
    unsure = False
    none = np.zeros(e.shape[1], np.int64)
    # what was tried last: (host, workers on it or, if it is their number, together, PS type)
    at = np.zeros(count + 1, np.int64)
    here = np.full(count, -1, np.int64)  # workers on the host; -1: nothing is taken
    ps, away = np.zeros(count, np.int64), np.zeros(count, np.int64)  # away: to be spread
    level, down = 0, True
    while level >= 0:
        if level == count:
            found, tries = _spread_linked(
                servers, items.worker_type[which], linked, away, on, tries
            )
            if found == YES and not unsure:
                return YES
            if found != NO:
                return UNKNOWN
            level, down = level - 1, False
            continue
        i = which[level]
        m, n = items.worker_type[i], items.apart[i]
        ways = (n + 1) * kinds
        if down:
            at[level] = -1
        elif here[level] >= 0:
            kind = none if servers.ring else z[at[level] % kinds]
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
            kind = none if servers.ring else z[p]
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
