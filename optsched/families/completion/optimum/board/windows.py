"""What is free on single servers in all of a window of slots, and what a window costs."""

from __future__ import annotations

from optsched.families.completion.optimum.board.notes import Notes
from optsched.families.completion.optimum.board.plans import Tables
from optsched.families.completion.optimum.board.servers import Servers
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel


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
def open_window(tables: Tables, servers: Servers, m: int, notes: Notes) -> int:
    """Note which servers have room for workers of type m in the last segments; return how many."""
    last, first, rooms, opened = notes.last, notes.first, notes.rooms, notes.open
    number = 0
    for h in tables.by_class:
        rooms[h] = servers.room[h, last[h], m]
        if rooms[h] > 0:
            first[h], opened[number] = last[h], h
            number += 1
    return number


@kernel(nogil=True)
def widen(servers: Servers, m: int, start: int, number: int, notes: Notes) -> tuple[int, int, int]:
    """Lower the rooms of so many open servers to what fits from slot ``start`` on, too.

    Return how many of them stay open, the sum of their rooms, and the largest.
    """
    begin, room = servers.begin, servers.room
    first, rooms, opened = notes.first, notes.rooms, notes.open
    kept, there, whole = 0, 0, 0
    for y in range(number):
        h = opened[y]
        x, low = first[h], rooms[h]
        while low > 0 and begin[h, x] > start:
            x -= 1
            low = min(low, room[h, x, m])
        first[h], rooms[h] = x, low
        if low > 0:
            opened[kept] = h
            kept += 1
            there, whole = there + low, max(whole, low)
    return kept, there, whole


@kernel(nogil=True)
def find_left(servers: Servers, h: int, start: int, notes: Notes) -> None:
    """Let ``notes.left`` be what is free on server h from slot ``start`` to the window's end."""
    begin, free, left = servers.begin, servers.free, notes.left
    x = notes.last[h]
    for r in range(left.shape[1]):
        left[h, r] = free[h, x, r]
    while begin[h, x] > start:
        x -= 1
        for r in range(left.shape[1]):
            left[h, r] = min(left[h, r], free[h, x, r])


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
