"""What is free on single servers over time: segments of slots in which nothing changes.

A server sees few starts and ends of jobs, however many slots a job lasts. So its time is cut only
where what is free on it changes: neighbouring segments always differ, and what is taken and given
back leaves the same segments.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from optsched.families.completion.optimum.board.notes import Notes
from optsched.families.completion.optimum.board.plans import Plans, Tables
from optsched.families.completion.optimum.prices.capacity import Jobs
from optsched.families.completion.oracle.servers import MOST_ROOM, rooms
from optsched.numbers.arrays import Ints, Small
from optsched.numbers.kernels import kernel

TAKE, GIVE = (cast(int, np.int64(n)) for n in (1, -1))  # no literals: one kernel serves both


class Servers(NamedTuple):
    """What is free on H servers in their segments, at most K of each."""

    number: Ints  # (H,) segments
    begin: Ints  # (H, K + 1) first slots of the segments; behind them the number of slots
    free: Ints  # (H, K, R) units of each resource
    room: Small  # (H, K, M) workers of each type that a server holds
    total: Ints  # (M, S) their sum over the servers in every slot


def empty_servers(jobs: Jobs, slots: int) -> Servers:
    """Return empty servers."""
    demand, capacity = jobs.types.worker_demand, jobs.capacity
    room = np.array([rooms(capacity, e) for e in demand], np.int64)
    room = room.reshape(len(demand), len(capacity)).T
    most = 2 * len(jobs.modes) + 3  # every job starts and ends, and one that changes cuts twice
    servers = Servers(
        np.ones(len(capacity), np.int64),
        np.zeros((len(capacity), most + 1), np.int64),
        np.zeros((len(capacity), most, capacity.shape[1]), np.int64),
        np.zeros((len(capacity), most, len(demand)), np.int16),
        np.repeat(room.sum(axis=0)[:, None], slots, axis=1),
    )
    servers.begin[:, 1] = slots
    servers.free[:, 0] = capacity
    servers.room[:, 0] = room
    return servers


@kernel(nogil=True)
def segment(servers: Servers, h: int, slot: int) -> int:
    """Return the segment of server h that holds a slot."""
    begin = servers.begin
    low, high = 0, servers.number[h]
    while high - low > 1:
        middle = (low + high) >> 1
        if begin[h, middle] <= slot:
            low = middle
        else:
            high = middle
    return low


@kernel(nogil=True)
def _cut(servers: Servers, h: int, x: int, slot: int) -> None:
    """Let segment x of server h end before a slot, with which a new one begins."""
    number, begin, free, room, _ = servers
    count = number[h]
    begin[h, count + 1] = begin[h, count]
    for y in range(count, x, -1):
        begin[h, y] = begin[h, y - 1]
        for r in range(free.shape[2]):
            free[h, y, r] = free[h, y - 1, r]
        for m in range(room.shape[2]):
            room[h, y, m] = room[h, y - 1, m]
    begin[h, x + 1] = slot
    number[h] = count + 1


@kernel(nogil=True)
def _join(servers: Servers, h: int, x: int) -> None:
    """Make one of the segments x - 1 and x of server h, if what is free in them is the same."""
    number, begin, free, room, _ = servers
    count = number[h]
    if x == 0 or x == count:
        return
    for r in range(free.shape[2]):
        if free[h, x - 1, r] != free[h, x, r]:
            return
    for y in range(x, count - 1):
        begin[h, y] = begin[h, y + 1]
        for r in range(free.shape[2]):
            free[h, y, r] = free[h, y + 1, r]
        for m in range(room.shape[2]):
            room[h, y, m] = room[h, y + 1, m]
    begin[h, count - 1] = begin[h, count]
    number[h] = count - 1


@kernel(nogil=True)
def _change(tables: Tables, servers: Servers, notes: Notes, h: int, start: int, end: int) -> bool:
    """Take ``notes.load`` from server h in the slots from ``start`` to before ``end``.

    Return whether so much was free.
    """
    _, begin, free, room, total = servers
    each, load, fits = tables.each, notes.load, notes.fits
    x, enough = segment(servers, h, start), True
    if begin[h, x] < start:
        _cut(servers, h, x, start)
        x += 1
    y = x
    while begin[h, y] < end:
        if begin[h, y + 1] > end:
            _cut(servers, h, y, end)
        for m in range(fits.size):
            fits[m] = MOST_ROOM
        for r in range(load.size):
            free[h, y, r] -= load[r]
            enough &= free[h, y, r] >= 0
            units = free[h, y, r] + 0.5  # no quotient is near a whole number, so rounding is safe
            for m in range(fits.size):
                fits[m] = min(fits[m], units * each[r, m])
        for m in range(fits.size):
            more = int(max(0.0, fits[m])) - room[h, y, m]  # below 0: not enough was free
            if more != 0:
                room[h, y, m] += more
                for t in range(begin[h, y], begin[h, y + 1]):
                    total[m, t] += more
        y += 1
    _join(servers, h, y)
    _join(servers, h, x)
    return enough


@kernel(nogil=True)
def occupy(tables: Tables, servers: Servers, plans: Plans, notes: Notes, i: int, sign: int) -> bool:
    """Take from the servers what job i uses by its plan: ``sign`` is TAKE; or GIVE it back.

    Return whether so much was free.
    """
    k, start, host = plans.mode[i], plans.start[i], plans.host[i]
    m, end = tables.type_of[k], start + tables.duration[k]
    load, resources = notes.load, notes.load.size
    parts, beside, enough = plans.parts[i], host < 0, True
    for x in range(parts + 1):
        h, n = host, 0
        if x < parts:
            h, n = plans.where[i, x], plans.number[i, x]
        elif beside:
            break
        for r in range(resources):
            load[r] = sign * n * tables.e[m, r]
        if h == host:
            beside = True
            s, kind = sign * plans.ps[i], plans.kind[i]
            for r in range(resources):
                load[r] += s * tables.z[kind, r]
        enough &= _change(tables, servers, notes, h, start, end)
    return enough
