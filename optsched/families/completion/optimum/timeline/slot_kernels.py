"""Compiled part of `slot_items`: servers, items, and whether workers can be spread in a slot."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from optsched.families.completion.modes import Types
from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

NO, YES, UNKNOWN = 0, 1, 2
MOST_SPREAD = 10_000  # entries of a table of workers that are spread
# no literals, for each of which a kernel is compiled anew
ZERO, ONE, NOBODY = (cast(int, np.int64(n)) for n in (0, 1, -1))


class Servers(NamedTuple):
    """Servers, and what workers and parameter servers (PS) take of them."""

    capacity: Ints  # (H, R)
    whole: Ints  # (R,) of all servers
    types: Types
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


@kernel
def room_for(free: Ints, e: Ints, most: int) -> int:
    """Return how many workers of demand e (R,) fit into ``free`` (R,), at most ``most``."""
    for r in range(e.size):
        if e[r] > 0:
            most = min(most, free[r] // e[r])
    return most


@kernel
def take(free: Ints, h: int, n: int, e: Ints, s: int, z: Ints) -> None:
    """Take n workers of demand e (R,) and s PS of demand z (R,) from server h; ``free`` (H, R)."""
    for r in range(e.size):
        free[h, r] -= n * e[r] + s * z[r]


@kernel
def _fill(free: Ints, left: Ints, e: Ints) -> int:
    """Whether so many workers of each type fit: YES if one after the other, NO or UNKNOWN.

    ``left`` (M,) workers of demand ``e`` (M, R) into what is ``free`` (H, R).
    """
    rest, sure = np.empty(free.shape, np.int64), True
    for h in range(free.shape[0]):
        for r in range(free.shape[1]):
            rest[h, r] = free[h, r]
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
    """Whether so many workers of each type fit on the servers: YES, NO, or UNKNOWN if many.

    ``left`` (M,) workers of demand ``e`` (M, R) into what is ``free`` (H, R).
    """
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
                if here[k] < left[m] and room_for(rest, e[m], ONE) == 1:
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
    if servers.types.ring:
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
        return together, 0, 0 if servers.types.ring else servers.types.ps_needed[m, p, 0]
    if not (items.apart_ps[i] >> p) & 1:
        return -1, 0, 0
    if servers.types.ring:  # no PS, so no host: the first one stands for all
        return (-1, 0, 0) if h > 0 or g > 0 else (0, n, 0)
    s = servers.types.ps_needed[m, p, n - g]
    if g > 0 and s == servers.types.ps_needed[m, p, n - g + 1]:
        return -1, 0, 0
    return g, n - g, s
