"""Kernel: best-fit placement of a job in its window, so that little capacity is stranded.

A best-fit rule (Johnson, 1974) by price, lost room and gaps. Room is lost within the window, to
workers that no longer fit, and before and after it: gaps between two jobs on a server are rarely
filled, so a job goes where others end and begin with it.
"""

from __future__ import annotations

import numpy as np

from optsched.families.completion.optimum.board.notes import Notes
from optsched.families.completion.optimum.board.plans import Tables
from optsched.families.completion.optimum.board.servers import Servers, segment
from optsched.families.completion.optimum.board.windows import (
    find_left,
    fits,
    idle_beside,
    open_window,
    price_of,
    widen,
)
from optsched.families.completion.oracle.servers import MOST_ROOM
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.slots import plain_int


@kernel(nogil=True, counted=False)
def lost_room(tables: Tables, notes: Notes, g: int, h: int) -> float:
    """Return what the room is worth that ``notes.load`` takes of ``notes.left`` on server h.

    The sum over types of workers, of which one has ``notes.value[g]``.
    """
    left, load, each, value = notes.left, notes.load, tables.each, notes.value
    was, now = notes.fits, notes.less
    for m in range(was.size):
        was[m] = now[m] = MOST_ROOM
    for r in range(load.size):
        # no quotient is near a whole number: rounding is safe
        before = left[h * load.size + r] + 0.5
        after = before - load[r]
        for m in range(was.size):
            was[m] = min(was[m], before * each[r, m])
            now[m] = min(now[m], after * each[r, m])
    lost = 0.0
    for m in range(was.size):
        lost += value[g, m] * (np.floor(was[m]) - np.floor(now[m]))
    return lost


@kernel(nogil=True, counted=False, forceinline=True)
def arrange(
    tables: Tables,
    servers: Servers,
    notes: Notes,
    k: int,
    end: int,
    factor: float,
    tried: int,
) -> bool:
    """Place mode k where price, lost room and gaps are least, one server after the other.

    It ends before slot ``end``. False if that finds no place for the PS. What is found goes into
    the notes as in `on_one`.
    """
    m, n, count = tables.type_of[k], tables.workers[k], tables.class_of.size
    begin, whole = end - tables.duration[k], tables.together[k] == 1
    rooms, load, spots, outs = notes.rooms, notes.load, notes.spots, notes.outs
    price, value, score, taken = notes.unit, notes.value, notes.score, notes.taken
    types, resources = tables.e.shape
    for g in range(tables.worker_cost.shape[2]):
        price[g] = factor * price_of(tables.worker_cost, m, begin, end, g)
        for x in range(types):
            value[g, x] = tables.share[x] * price_of(tables.worker_cost, x, begin, end, g)
    most = n - 1 if tables.ring and not whole else n
    for h in range(count):
        taken[h], outs[tried, h] = 0, 0
    last = segment(servers, end - 1)
    open_window(servers, m, last, notes)
    first, _, _ = widen(servers, m, last, begin, notes)
    find_left(servers, first, last, notes)
    rest = 0 if whole and not tables.ring else n  # PS on the same server are placed with it
    while rest > 0:
        low, chosen = np.inf, plain_int(-1)
        for h in range(count):
            take = min(rest, min(most, rooms[h]))
            if take <= 0 or outs[tried, h] > 0 or (whole and take < n):
                continue
            g = tables.class_of[h]
            if taken[h] != take:
                if price[g] >= low:
                    continue  # no room is worth less than nothing
                taken[h] = take
                for r in range(resources):
                    load[r] = take * tables.e[m, r]
                gaps = idle_beside(servers, m, first, last, begin, end, h, take)
                score[h] = price[g] * (1 + gaps / take) + lost_room(tables, notes, g, h) / take
            if score[h] < low:
                low, chosen = score[h], h
        if chosen < 0:
            return False
        take = min(rest, min(most, rooms[chosen]))
        outs[tried, chosen] = take
        rest -= take
    spots[tried, 0], spots[tried, 1], spots[tried, 2] = -1, 0, 0
    return tables.ring or _host(tables, servers, notes, k, end, first, last, factor, tried)


@kernel(nogil=True, counted=False, forceinline=True)
def _host(
    tables: Tables,
    servers: Servers,
    notes: Notes,
    k: int,
    end: int,
    first: int,
    last: int,
    factor: float,
    tried: int,
) -> bool:
    """Place the PS of mode k, whose workers are in the notes, or with them on the same server.

    The window has segments ``first`` to ``last``.
    """
    m, n, count = tables.type_of[k], tables.workers[k], tables.class_of.size
    begin, whole, mask = end - tables.duration[k], tables.together[k] == 1, tables.mask[k]
    rooms, left, load, order = notes.rooms, notes.left, notes.load, notes.order
    spots, outs, price = notes.spots, notes.outs, notes.unit
    parts = 0
    for h in range(count):
        if outs[tried, h] > 0:
            x = parts
            while x > 0 and outs[tried, order[x - 1]] < outs[tried, h]:
                order[x] = order[x - 1]
                x -= 1
            order[x] = h
            parts += 1
    for h in range(count):
        if outs[tried, h] == 0:
            order[parts] = h
            parts += 1
    best, beside = np.inf, False
    for x in range(count):
        h = order[x]
        here = n if whole else outs[tried, h]
        if here == 0 and beside:
            break  # PS beside workers are fewer
        if rooms[h] < here or (not whole and here == n):
            continue
        g, base, workers = tables.class_of[h], -1.0, 0.0
        if whole:
            gaps = idle_beside(servers, m, first, last, begin, end, h, n)
            workers = (n + gaps) * price[g]
        for p in range(tables.z.shape[0]):
            if not (mask >> p) & 1:
                continue
            s = tables.needed[m, p, n - here]
            cost = workers + factor * s * price_of(tables.ps_cost, p, begin, end, g)
            if cost >= best or not fits(tables, m, here, p, s, left, h):
                continue
            if base < 0.0:
                for r in range(load.size):
                    load[r] = here * tables.e[m, r]
                base = 0.0 if whole or here == 0 else lost_room(tables, notes, g, h)
            for r in range(load.size):
                load[r] = here * tables.e[m, r] + s * tables.z[p, r]
            cost += lost_room(tables, notes, g, h) - base
            if cost < best:
                best, beside = cost, here > 0
                spots[tried, 0], spots[tried, 1], spots[tried, 2] = h, p, s
    if whole and spots[tried, 0] >= 0:
        outs[tried, spots[tried, 0]] = n
    return bool(spots[tried, 0] >= 0)
