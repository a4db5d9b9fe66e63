"""Resource profiles of single servers: segments of slots in which free capacity is constant.

Schedulers with backfilling keep such profiles (Mualem and Feitelson, 2001).
Time is cut where a job starts or ends on any server. A segment holds its numbers for all servers
next to each other, so that kernels process many servers with one instruction; the rows of segments
stay in place, and only their order changes.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from optsched.families.completion.optimum.board.plans import BoardTables, Plans
from optsched.families.completion.optimum.board.scratch import BoardWorkspace
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.families.completion.oracle.servers import MOST_UNITS, units_that_fit
from optsched.numbers.arrays import Ints, Small, Units
from optsched.numbers.kernels import kernel

TAKE, GIVE = (cast(int, np.int64(n)) for n in (1, -1))  # no literals: one kernel serves both


class Kept(NamedTuple):
    """How the segments stood when a move began. Their rows stay as they are until it ends."""

    move: Ints  # (1,) how many have begun; below 0 while none is on
    made: Ints  # (2 K,) the move that has written a row anew
    bound: Ints  # (1,) of ``rows``, those from here on hold what was before the move
    number: Ints  # (1,)
    begin: Ints  # (K + 1,)
    rows: Ints  # (2 K,)


class Servers(NamedTuple):
    """What is free on H servers in their common segments, at most K."""

    number: Ints  # (1,) segments
    begin: Ints  # (K + 1,) first slots of the segments; behind them the number of slots
    rows: Ints  # (2 K,) where the segments begin below; behind them unused rows
    cuts: Ints  # (S + 1,) starts and ends of jobs: where there are some, a segment begins
    free: Units  # (2 K, H R) units of each resource, one server after the other
    max_units: Small  # (2 K, M, H) workers of each type that a server holds
    total: Ints  # (2 K, M) their sum over the servers
    kept: Kept


def unit_of(capacity: Ints) -> type[np.signedinteger]:
    """Return the type of numbers of units: short ones where they do, since kernels are faster."""
    return np.int32 if capacity.max(initial=0) < 2**30 else np.int64


def empty_servers(jobs: JobTables, slots: int) -> Servers:
    """Return empty servers."""
    demand, capacity = jobs.types.worker_demand, jobs.capacity
    max_units = np.array([units_that_fit(capacity, e) for e in demand], np.int16)
    max_units = max_units.reshape(len(demand), len(capacity))
    most = 2 * len(jobs.modes) + 1  # every job starts and ends
    kept = Kept(
        np.full(1, -1),
        np.zeros(2 * most, np.int64),
        np.full(1, 2 * most),
        np.ones(1, np.int64),
        np.zeros(most + 1, np.int64),
        np.arange(2 * most),
    )
    servers = Servers(
        np.ones(1, np.int64),
        np.zeros(most + 1, np.int64),
        np.arange(2 * most),
        np.zeros(slots + 1, np.int64),
        np.zeros((2 * most, capacity.size), unit_of(capacity)),
        np.zeros((2 * most, *max_units.shape), np.int16),
        np.zeros((2 * most, len(demand)), np.int64),
        kept,
    )
    servers.begin[1] = slots
    servers.free[0] = capacity.ravel()
    servers.max_units[0] = max_units
    servers.total[0] = max_units.sum(axis=1, dtype=np.int64)
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
def begin_move(servers: Servers) -> None:
    """Keep the segments as they are, until `end_move`."""
    number, begin, rows, kept = servers.number, servers.begin, servers.rows, servers.kept
    kept.move[0] = abs(kept.move[0]) + 1
    kept.number[0] = number[0]
    for x in range(number[0] + 1):
        kept.begin[x] = begin[x]
    for x in range(rows.size):
        kept.rows[x] = rows[x]


@kernel(nogil=True, counted=False)
def end_move(servers: Servers, undo: bool) -> None:
    """Let go of what was kept, or of all that has changed but ``cuts``."""
    number, begin, rows, kept = servers.number, servers.begin, servers.rows, servers.kept
    kept.move[0] = -kept.move[0]
    kept.bound[0] = rows.size
    if undo:
        number[0] = kept.number[0]
        for x in range(number[0] + 1):
            begin[x] = kept.begin[x]
        for x in range(rows.size):
            rows[x] = kept.rows[x]


@kernel(nogil=True, counted=False)
def cut_again(tables: BoardTables, servers: Servers, plans: Plans, i: int, number: int) -> None:
    """Let job i start and end this many times more, where segments are as if it did."""
    start, cuts = plans.start[i], servers.cuts
    end = start + tables.duration[plans.mode[i]]
    cuts[start] += number
    if end < cuts.size - 1:
        cuts[end] += number


@kernel(nogil=True, counted=False, forceinline=True)
def _copy_row(servers: Servers, old: int, new: int) -> None:
    """Copy a row to one that no segment has, and that is written anew."""
    free, max_units, total = servers.free, servers.max_units, servers.total
    servers.kept.made[new] = servers.kept.move[0]
    for y in range(free.shape[1]):
        free[new, y] = free[old, y]
    for m in range(max_units.shape[1]):
        total[new, m] = total[old, m]
        for h in range(max_units.shape[2]):
            max_units[new, m, h] = max_units[old, m, h]


@kernel(nogil=True, counted=False)
def _shelve(servers: Servers, y: int, row: int) -> None:
    """Put a row that no segment has any more at entry y, or, if a move keeps it, to the end."""
    rows, kept = servers.rows, servers.kept
    if kept.move[0] < 0 or kept.made[row] == kept.move[0]:
        rows[y] = row
        return
    kept.bound[0] -= 1
    rows[y] = rows[kept.bound[0]]
    rows[kept.bound[0]] = row


@kernel(nogil=True, counted=False, forceinline=True)
def _own(servers: Servers, x: int) -> int:
    """Return the row of segment x to write to; a new one if a move keeps it."""
    rows, kept, count = servers.rows, servers.kept, servers.number[0]
    old = rows[x]
    if kept.move[0] < 0 or kept.made[old] == kept.move[0]:
        return int(old)
    new = rows[count]
    _copy_row(servers, old, new)
    rows[x] = new
    _shelve(servers, count, old)
    return int(new)


@kernel(nogil=True, counted=False, forceinline=True)
def _cut(servers: Servers, slot: int) -> int:
    """Let a job start or end in a slot; return the segment that begins there."""
    number, begin, rows, cuts = servers.number, servers.begin, servers.rows, servers.cuts
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
    _copy_row(servers, rows[x], row)
    number[0] = count + 1
    return x + 1


@kernel(nogil=True, counted=False, forceinline=True)
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
    begin[count - 1] = begin[count]
    number[0] = count - 1
    _shelve(servers, count - 1, row)


@kernel(nogil=True, counted=False, forceinline=True)
def _note_loads(
    tables: BoardTables, plans: Plans, workspace: BoardWorkspace, i: int, sign: int
) -> int:
    """Write what job i takes of servers to ``workspace.loads`` and ``.at``; return how many."""
    parts, host, at, loads = plans.parts[i], plans.host[i], workspace.at, workspace.loads
    m, resources = tables.type_of[plans.mode[i]], loads.shape[1]
    count, there = parts, parts
    for x in range(parts):
        at[x] = plans.where[i, x]
        if at[x] == host:
            there = x
        n = sign * plans.number[i, x]
        for r in range(resources):
            loads[x, r] = n * tables.e[m, r]
    if host < 0:
        return int(count)
    if there == parts:  # PS alone
        at[there] = host
        count += 1
        for r in range(resources):
            loads[there, r] = 0
    s, kind = sign * plans.ps[i], plans.kind[i]
    for r in range(resources):
        loads[there, r] += s * tables.z[kind, r]
    return int(count)


@kernel(nogil=True, counted=False, forceinline=True)
def _change(
    tables: BoardTables,
    servers: Servers,
    workspace: BoardWorkspace,
    count: int,
    row: int,
    last: int,
) -> bool:
    """Take the first ``count`` of ``workspace.loads`` from a row; return whether so much was free.

    ``last`` is the row where they were taken before, -1 if there is none.
    """
    free, max_units, total, each = servers.free, servers.max_units, servers.total, tables.each
    at, loads, held, change = workspace.at, workspace.loads, workspace.held, workspace.change
    types, resources = tables.e.shape
    enough, known, before = True, last >= 0, max(last, 0)
    for x in range(count):
        h, same = at[x], known
        y = h * resources
        for r in range(resources):
            left = free[row, y + r] - loads[x, r]
            free[row, y + r] = left
            enough &= left >= 0
            same &= left == free[before, y + r]
        if not same:
            for m in range(types):
                fits = float(MOST_UNITS)
                for r in range(resources):  # no quotient is near a whole number: rounding is safe
                    fits = min(fits, (free[row, y + r] + 0.5) * each[r, m])
                held[x, m] = int(max(0.0, fits))  # below 0: not enough was free
                change[x, m] = held[x, m] - max_units[row, m, h]
        for m in range(types):
            max_units[row, m, h] = held[x, m]
            total[row, m] += change[x, m]
    return enough


@kernel(nogil=True, counted=False, forceinline=True)
def occupy(
    tables: BoardTables,
    servers: Servers,
    plans: Plans,
    workspace: BoardWorkspace,
    i: int,
    sign: int,
) -> bool:
    """Take from the servers what job i uses by its plan: ``sign`` is TAKE; or GIVE it back.

    Return whether so much was free.
    """
    start = plans.start[i]
    end = start + tables.duration[plans.mode[i]]
    if sign > 0:
        first = _cut(servers, start)
        behind = _cut(servers, end)
    else:
        first = segment(servers, start)
        behind = segment(servers, end) if end < servers.cuts.size - 1 else int(servers.number[0])
    count, enough, last = _note_loads(tables, plans, workspace, i, sign), True, -1
    for x in range(first, behind):
        row = _own(servers, x)
        enough &= _change(tables, servers, workspace, count, row, last)
        last = row
    if sign < 0:
        _mend(servers, behind)
        _mend(servers, first)
    return enough
