"""What is free on single servers in all of a window of slots, and what a window costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.completion.optimum.search.plans import Tables
from optsched.families.completion.optimum.search.servers import Servers
from optsched.families.completion.oracle.servers import MOST_ROOM
from optsched.numbers.arrays import Floats, Ints, Small
from optsched.numbers.kernels import kernel


class Notes(NamedTuple):
    """Arrays that an insertion writes to, made once: on H servers of C classes."""

    last: Ints  # (H,) segments with the last slot of the window
    first: Ints  # (H,) segments with the first slot that ``rooms`` speaks of
    rooms: Small  # (H,) workers of a type that fit in all slots from there on
    left: Ints  # (H, R) least free units in the window
    known: Ints  # (H,) whether ``left`` is that of the window
    load: Ints  # (R,) units
    spots: Ints  # (2, 3) where the PS are: host, type, number; of what is tried, and of the best
    outs: Ints  # (2, H) workers on every server, the same
    fill: Ints  # (H,) workers on every server
    due: Ints  # (modes of a job,) slots in which each may end next
    clear: Ints  # (modes of a job,) before these slots its next window has room by the sums
    soon: Ints  # (M,) the first of them of the modes of a type
    ranks: Ints  # (C,) cheap classes first
    unit: Floats  # (C,) price of a worker in the window
    rent: Floats  # (C, P) price of a PS in the window
    value: Floats  # (C, M) of room for a worker of each type
    score: Floats  # (H,) price and lost room for a worker
    taken: Ints  # (H,) workers that ``score`` speaks of
    order: Ints  # (H,) servers, those with most workers first


def notes_of(tables: Tables) -> Notes:
    """Return room for what insertions note down."""
    servers, classes = tables.class_of.size, tables.worker_cost.shape[2]
    (types, resources), kinds = tables.e.shape, len(tables.z)
    modes = int((tables.first[:, -1] - tables.first[:, 0]).max(initial=0))

    def whole(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    return Notes(
        last=whole(servers),
        first=whole(servers),
        rooms=np.zeros(servers, np.int16),
        left=whole(servers, resources),
        known=whole(servers),
        load=whole(resources),
        spots=whole(2, 3),
        outs=whole(2, servers),
        fill=whole(servers),
        due=whole(modes),
        clear=whole(modes),
        soon=whole(types),
        ranks=whole(classes),
        unit=np.zeros(classes),
        rent=np.zeros((classes, kinds)),
        value=np.zeros((classes, types)),
        score=np.zeros(servers),
        taken=whole(servers),
        order=whole(servers),
    )


@kernel(nogil=True)
def end_at(servers: Servers, end: int, notes: Notes) -> None:
    """Let ``notes.last`` be the segments with the slot before ``end``; it was near there."""
    begin, last = servers.begin, notes.last
    for h in range(last.size):
        x = last[h]
        while begin[h, x + 1] < end:
            x += 1
        while begin[h, x] >= end:
            x -= 1
        last[h] = x


@kernel(nogil=True)
def open_window(servers: Servers, m: int, notes: Notes) -> None:
    """Let ``notes.rooms`` be the room for workers of type m in the last segments."""
    room, last, first, rooms = servers.room, notes.last, notes.first, notes.rooms
    for h in range(last.size):
        first[h] = last[h]
        rooms[h] = room[h, last[h], m]


@kernel(nogil=True)
def widen(servers: Servers, m: int, start: int, notes: Notes) -> None:
    """Lower ``notes.rooms`` to what fits from slot ``start`` on, too."""
    begin, room, first, rooms = servers.begin, servers.room, notes.first, notes.rooms
    for h in range(first.size):
        x = first[h]
        if begin[h, x] > start:
            low = rooms[h]
            while begin[h, x] > start:
                x -= 1
                low = min(low, room[h, x, m])
            first[h], rooms[h] = x, low


@kernel(nogil=True)
def find_left(servers: Servers, h: int, notes: Notes) -> None:
    """Let ``notes.left`` be what is free on server h in the whole window."""
    free, left = servers.free, notes.left
    for r in range(left.shape[1]):
        low = free[h, notes.first[h], r]
        for x in range(notes.first[h] + 1, notes.last[h] + 1):
            low = min(low, free[h, x, r])
        left[h, r] = low


@kernel(nogil=True)
def fits(tables: Tables, m: int, n: int, p: int, s: int, left: Ints) -> bool:
    """Whether n workers and s PS fit into what is ``left`` (R,), in units."""
    fits = True
    for r in range(left.size):
        fits &= n * tables.e[m, r] + s * tables.z[p, r] <= left[r]
    return fits


@kernel(nogil=True)
def price_of(cost: Floats, begin: int, end: int, g: int) -> float:
    """Return the cost of a unit on class g in a window; ``cost`` (L + 1, C) has prefix sums."""
    last = cost.shape[0] - 1
    return float(cost[min(end, last), g] - cost[min(begin, last), g])
