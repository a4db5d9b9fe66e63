"""What is free on single servers over time: segments of slots in which nothing changes.

Time is cut where a job starts or ends, on whatever servers. A segment has its numbers for all
servers side by side, so that kernels look at many servers with one instruction; segments are kept
in rows that stay where they are, and only the order of the rows changes.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from optsched.families.completion.optimum.board.notes import Notes
from optsched.families.completion.optimum.board.plans import Plans, Tables
from optsched.families.completion.optimum.prices.capacity import Jobs
from optsched.families.completion.oracle.servers import MOST_ROOM, rooms
from optsched.numbers.arrays import Ints, Small, Units
from optsched.numbers.kernels import kernel

TAKE, GIVE = (cast(int, np.int64(n)) for n in (1, -1))  # no literals: one kernel serves both


class Servers(NamedTuple):
    """What is free on H servers in their common segments, at most K."""

    number: Ints  # (1,) segments
    begin: Ints  # (K + 1,) first slots of the segments; behind them the number of slots
    rows: Ints  # (K,) where below the segments stand; behind them the rows that none has
    cuts: Ints  # (S + 1,) starts and ends of jobs: where there are some, a segment begins
    free: Units  # (K, R, H) units of each resource
    room: Small  # (K, M, H) workers of each type that a server holds
    total: Ints  # (K, M) their sum over the servers


def unit_of(capacity: Ints) -> type[np.signedinteger]:
    """Return the type of numbers of units: short ones where they do, since kernels are faster."""
    return np.int32 if capacity.max(initial=0) < 2**30 else np.int64


def empty_servers(jobs: Jobs, slots: int) -> Servers:
    """Return empty servers."""
    demand, capacity = jobs.types.worker_demand, jobs.capacity
    room = np.array([rooms(capacity, e) for e in demand], np.int16)
    room = room.reshape(len(demand), len(capacity))
    most = 2 * len(jobs.modes) + 1  # every job starts and ends
    servers = Servers(
        np.ones(1, np.int64),
        np.zeros(most + 1, np.int64),
        np.arange(most),
        np.zeros(slots + 1, np.int64),
        np.zeros((most, *capacity.T.shape), unit_of(capacity)),
        np.zeros((most, *room.shape), np.int16),
        np.zeros((most, len(demand)), np.int64),
    )
    servers.begin[1] = slots
    servers.free[0] = capacity.T
    servers.room[0] = room
    servers.total[0] = room.sum(axis=1, dtype=np.int64)
    return servers


@kernel(nogil=True, counted=False)
def segment(servers: Servers, slot: int) -> int:
    """Return the segment that holds a slot."""
    begin = servers.begin
    low, high = 0, servers.number[0]
    while high - low > 1:
        middle = (low + high) >> 1
        if begin[middle] <= slot:
            low = middle
        else:
            high = middle
    return low


@kernel(nogil=True, counted=False)
def _cut(servers: Servers, slot: int) -> int:
    """Let a job start or end in a slot; return the segment that begins there."""
    number, begin, rows, cuts, free, room, total = servers
    count = number[0]
    if slot >= begin[count]:
        return int(count)
    x = segment(servers, slot)
    cuts[slot] += 1
    if begin[x] == slot:
        return x
    row = rows[count]
    begin[count + 1] = begin[count]
    for y in range(count, x + 1, -1):
        begin[y], rows[y] = begin[y - 1], rows[y - 1]
    begin[x + 1], rows[x + 1] = slot, row
    old = rows[x]
    for r in range(free.shape[1]):
        for h in range(free.shape[2]):
            free[row, r, h] = free[old, r, h]
    for m in range(room.shape[1]):
        total[row, m] = total[old, m]
        for h in range(room.shape[2]):
            room[row, m, h] = room[old, m, h]
    number[0] = count + 1
    return x + 1


@kernel(nogil=True, counted=False)
def _mend(servers: Servers, x: int) -> None:
    """Forget that a job starts or ends in the slot with which segment x begins."""
    number, begin, rows, cuts = servers.number, servers.begin, servers.rows, servers.cuts
    count = number[0]
    if x >= count:
        return
    cuts[begin[x]] -= 1
    if x == 0 or cuts[begin[x]] > 0:
        return
    row = rows[x]
    for y in range(x, count - 1):
        begin[y], rows[y] = begin[y + 1], rows[y + 1]
    begin[count - 1], rows[count - 1] = begin[count], row
    number[0] = count - 1


@kernel(nogil=True, counted=False)
def _change(
    tables: Tables, servers: Servers, notes: Notes, h: int, first: int, behind: int
) -> bool:
    """Take ``notes.load`` from server h in segments from ``first`` to before ``behind``.

    Return whether so much was free.
    """
    rows, free, room, total = servers.rows, servers.free, servers.room, servers.total
    each, load, fits, held = tables.each, notes.load, notes.fits, notes.held
    enough, last = True, -1
    for x in range(first, behind):
        row, same = rows[x], last >= 0
        for r in range(load.size):
            left = free[row, r, h] - load[r]
            free[row, r, h] = left
            enough &= left >= 0
            same = same and left == free[last, r, h]
        if not same:
            for m in range(fits.size):
                fits[m] = MOST_ROOM
            for r in range(load.size):
                units = (
                    free[row, r, h] + 0.5
                )  # no quotient is near a whole number: rounding is safe
                for m in range(fits.size):
                    fits[m] = min(fits[m], units * each[r, m])
            for m in range(fits.size):
                held[m] = int(max(0.0, fits[m]))  # below 0: not enough was free
        for m in range(held.size):
            total[row, m] += held[m] - room[row, m, h]
            room[row, m, h] = held[m]
        last = row
    return enough


@kernel(nogil=True, counted=False)
def occupy(tables: Tables, servers: Servers, plans: Plans, notes: Notes, i: int, sign: int) -> bool:
    """Take from the servers what job i uses by its plan: ``sign`` is TAKE; or GIVE it back.

    Return whether so much was free.
    """
    k, start, host = plans.mode[i], plans.start[i], plans.host[i]
    m, end = tables.type_of[k], start + tables.duration[k]
    load, resources = notes.load, notes.load.size
    parts, beside, enough = plans.parts[i], host < 0, True
    if sign > 0:
        first = _cut(servers, start)
        behind = _cut(servers, end)
    else:
        first = segment(servers, start)
        behind = segment(servers, end) if end < servers.cuts.size - 1 else int(servers.number[0])
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
        enough &= _change(tables, servers, notes, h, first, behind)
    if sign < 0:
        _mend(servers, behind)
        _mend(servers, first)
    return enough
