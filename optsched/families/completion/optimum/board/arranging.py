"""Compiled arrangement of a job in its window so that little room is lost beside it."""

from __future__ import annotations

import numpy as np

from optsched.families.completion.optimum.board.notes import Notes
from optsched.families.completion.optimum.board.plans import Tables
from optsched.families.completion.optimum.board.servers import Servers
from optsched.families.completion.optimum.board.windows import (
    end_at,
    find_left,
    fits,
    open_window,
    price_of,
    widen,
)
from optsched.families.completion.oracle.servers import MOST_ROOM
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel


@kernel(nogil=True, error_model="numpy")
def lost_room(tables: Tables, value: Floats, left: Ints, load: Ints) -> float:
    """Return what the room is worth that ``load`` (R,) takes of units ``left`` (R,) on a server.

    The sum over types of workers, of which one has ``value`` (M,).
    """
    lost = 0.0
    for m in range(value.size):
        if value[m] == 0.0:
            continue
        was = now = float(MOST_ROOM)
        for r in range(left.size):
            if tables.e[m, r] > 0:
                was = min(was, left[r] / tables.e[m, r])
        if was < 1.0:
            continue
        for r in range(left.size):
            if tables.e[m, r] > 0:
                now = min(now, (left[r] - load[r]) / tables.e[m, r])
        lost += value[m] * (np.floor(was) - np.floor(now))
    return lost


@kernel(nogil=True)
def arrange(
    tables: Tables,
    servers: Servers,
    notes: Notes,
    k: int,
    begin: int,
    end: int,
    factor: float,
    tried: int,
) -> bool:
    """Place mode k in a window where price and lost room are least, one server after the other.

    False if that finds no place for the PS. What is found goes into the notes as in `on_one`.
    """
    m, n, count = tables.type_of[k], tables.workers[k], tables.class_of.size
    rooms, left, known, load = notes.rooms, notes.left, notes.known, notes.load
    spot, out, order = notes.spots[tried], notes.outs[tried], notes.order
    price, value, score, taken = notes.unit, notes.value, notes.score, notes.taken
    types, resources = tables.e.shape
    classes = tables.worker_cost.shape[2]
    for g in range(classes):
        price[g] = factor * price_of(tables.worker_cost[m], begin, end, g)
        for x in range(types):
            value[g, x] = tables.share[x] * price_of(tables.worker_cost[x], begin, end, g)
    whole = tables.together[k] == 1
    most = n - 1 if tables.ring and not whole else n
    for h in range(count):
        known[h], taken[h], out[h] = 0, 0, 0
    end_at(servers, end, notes)
    widen(servers, m, begin, open_window(tables, servers, m, notes), notes)
    rest = 0 if whole and not tables.ring else n  # PS on the same server are placed with it
    while rest > 0:
        low, chosen = np.inf, -1
        for h in range(count):
            take = min(rest, min(most, rooms[h]))
            if take <= 0 or out[h] > 0 or (whole and take < n):
                continue
            g = tables.class_of[h]
            if taken[h] != take:
                if price[g] >= low:
                    continue  # no room is worth less than nothing
                if known[h] == 0:
                    known[h] = 1
                    find_left(servers, h, begin, notes)
                taken[h] = take
                for r in range(resources):
                    load[r] = take * tables.e[m, r]
                lost = lost_room(tables, value[g], left[h], load)
                score[h] = price[g] + lost / take
            if score[h] < low:
                low, chosen = score[h], h
        if chosen < 0:
            return False
        out[chosen] = min(rest, min(most, rooms[chosen]))
        rest -= out[chosen]
    spot[0], spot[1], spot[2] = -1, 0, 0
    if tables.ring:
        return True
    parts = 0
    for h in range(count):
        if out[h] > 0:
            x = parts
            while x > 0 and out[order[x - 1]] < out[h]:
                order[x] = order[x - 1]
                x -= 1
            order[x] = h
            parts += 1
    for h in range(count):
        if out[h] == 0:
            order[parts] = h
            parts += 1
    best, beside = np.inf, False
    for x in range(count):
        h = order[x]
        here = n if whole else out[h]
        if here == 0 and beside:
            break  # PS beside workers are fewer
        if rooms[h] < here or (not whole and here == n):
            continue
        g = tables.class_of[h]
        for r in range(resources):
            load[r] = here * tables.e[m, r]
        base = 0.0 if whole or here == 0 else lost_room(tables, value[g], left[h], load)
        for p in range(tables.z.shape[0]):
            s = tables.needed[m, p, n - here]
            cost = factor * s * price_of(tables.ps_cost[p], begin, end, g)
            if whole:
                cost += n * price[g]
            if not (tables.mask[k] >> p) & 1 or cost >= best:
                continue
            if known[h] == 0:
                known[h] = 1
                find_left(servers, h, begin, notes)
            if not fits(tables, m, here, p, s, left[h]):
                continue
            for r in range(resources):
                load[r] = here * tables.e[m, r] + s * tables.z[p, r]
            cost += lost_room(tables, value[g], left[h], load) - base
            if cost < best:
                best, beside = cost, here > 0
                spot[0], spot[1], spot[2] = h, p, s
    if whole and spot[0] >= 0:
        out[spot[0]] = n
    return bool(spot[0] >= 0)
