"""Compiled insertion of a job on single servers, for the neighbourhood search.

An insertion looks at completions in order, and at all modes that have enough room in every slot by
itself. What it finds at least price is then arranged so that little room is lost: prices count
classes of servers, and do not see that a server's last GPU is of no use without memory beside it.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from optsched.families.completion.optimum.search.servers import TAKE, Plans, Servers, Tables, occupy
from optsched.families.completion.oracle.servers import MOST_ROOM
from optsched.numbers.arrays import Floats, Ints, Small
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.slots import plain_int

LEAST_GAIN = 1e-9  # relative: what is not better than that by price comes too late
SPOT = cast(int, np.int64(3))  # where the PS are: host, type, number; no literal


@kernel(nogil=True)
def insert(
    tables: Tables, servers: Servers, plans: Plans, i: int, factor: float, latest: int
) -> bool:
    """Insert job i where weight * completion + factor * cost is least, to end by ``latest``.

    Return whether it fits anywhere.
    Of placements the cheapest workers are tried with every host of PS; other numbers of workers on
    the host only if none of these fits.
    """
    types, count = servers.room.shape[1:]
    last = tables.worker_cost.shape[1] - 1
    weight, arrival, first = tables.weight[i], tables.arrival[i], tables.first[i]
    best, best_k, end = np.inf, plain_int(-1), plain_int(0)
    spot, best_spot = np.empty(SPOT, np.int64), np.empty(SPOT, np.int64)
    out, best_out = np.empty(count, np.int64), np.empty(count, np.int64)
    rooms = np.empty(count, np.int16)
    # the last slots that no window of a mode, or of any mode of a type, may contain
    blocked = np.empty(first[types] - first[0], np.int64)
    closed, fewest = np.empty(types, np.int64), np.empty(types, np.int64)
    for m in range(types):
        closed[m], fewest[m] = arrival - 1, MOST_ROOM
        for k in range(first[m], first[m + 1]):
            blocked[k - first[0]] = arrival - 1
            fewest[m] = min(fewest[m], tables.workers[k])
    for c in range(arrival + 1, latest + 1):
        here, b = weight * c, min(c, last)
        if here >= best:
            break
        for m in range(types):
            narrow, now = c, servers.total[m, c - 1]
            if now < fewest[m]:
                closed[m] = c - 1
                continue
            seen, low, low_at = c, now, c - 1  # least room from slot ``seen`` on, and where
            for k in range(first[m], first[m + 1]):
                n, begin = tables.workers[k], c - tables.duration[k]
                if begin <= closed[m]:
                    break  # the others last longer
                if now < n:
                    blocked[k - first[0]] = c - 1
                if begin <= blocked[k - first[0]]:
                    continue
                a = min(begin, last)
                if here + factor * n * (tables.least[m, b] - tables.least[m, a]) >= best:
                    continue
                while seen > begin:
                    seen -= 1
                    if servers.total[m, seen] < low:
                        low, low_at = servers.total[m, seen], seen
                if low < n:
                    blocked[k - first[0]] = low_at
                    continue
                if narrow == c:
                    for h in range(count):
                        rooms[h] = MOST_ROOM
                _narrow(servers, m, begin, narrow, rooms)
                narrow = begin
                whole, there = 0, 0
                for h in range(count):
                    whole, there = max(whole, rooms[h]), there + rooms[h]
                if there < n or (tables.together[k] == 1 and whole < n):
                    # neither has any window room that this one is a part of
                    blocked[k - first[0]] = begin
                    for x in range(first[m], first[m + 1]):
                        if tables.workers[x] > there:
                            blocked[x - first[0]] = max(blocked[x - first[0]], begin)
                    continue
                limit = (best - here) * (1 - LEAST_GAIN)
                if tables.together[k] == 1:
                    cost = _on_one(tables, servers, k, begin, c, factor, limit, rooms, spot, out)
                else:
                    cost = _on_many(tables, servers, k, begin, c, factor, limit, rooms, spot, out)
                if cost < limit:
                    best, best_k, end = here + cost, k, c
                    best_spot, spot = spot, best_spot
                    best_out, out = out, best_out
    if best_k < 0:
        return False
    begin = end - tables.duration[best_k]
    if arrange(tables, servers, best_k, begin, end, factor, spot, out):
        best_spot, best_out = spot, out
    plans.mode[i], plans.start[i] = best_k, begin
    plans.host[i], plans.kind[i], plans.ps[i] = best_spot[0], best_spot[1], best_spot[2]
    parts = 0
    for h in range(count):
        if best_out[h] > 0:
            plans.where[i, parts], plans.number[i, parts] = h, best_out[h]
            parts += 1
    plans.parts[i] = parts
    occupy(tables, servers, plans, i, TAKE)
    return True


@kernel(nogil=True)
def _narrow(servers: Servers, m: int, first: int, last: int, rooms: Small) -> None:
    """Lower ``rooms`` (H,) to what fits in the slots first .. last - 1 too."""
    for t in range(first, last):
        row = servers.room[t, m]
        for h in range(rooms.size):
            rooms[h] = min(rooms[h], row[h])


@kernel(nogil=True)
def _left(servers: Servers, h: int, begin: int, end: int, out: Ints) -> None:
    """Fill ``out`` (R,) with the least that is free on server h in a window."""
    free = servers.free
    for r in range(out.size):
        out[r] = free[h, begin, r]
    for t in range(begin + 1, end):
        for r in range(out.size):
            out[r] = min(out[r], free[h, t, r])


@kernel(nogil=True)
def _fits(tables: Tables, m: int, n: int, p: int, s: int, left: Ints) -> bool:
    """Whether n workers and s PS fit into what is ``left`` (R,)."""
    fits = True
    for r in range(left.size):
        fits &= n * tables.e[m, r] + s * tables.z[p, r] <= left[r]
    return fits


@kernel(nogil=True)
def _window(cost: Floats, begin: int, end: int, g: int) -> float:
    """Return the cost of a unit on class g in a window; ``cost`` (L + 1, C) has prefix sums."""
    last = cost.shape[0] - 1
    return float(cost[min(end, last), g] - cost[min(begin, last), g])


@kernel(nogil=True)
def _on_one(
    tables: Tables,
    servers: Servers,
    k: int,
    begin: int,
    end: int,
    factor: float,
    limit: float,
    rooms: Small,
    spot: Ints,
    out: Ints,
) -> float:
    """Find the cheapest server for a whole job; return its cost, ``limit`` if that is not less.

    Of servers with ``rooms`` (H,) for workers; ``spot`` (3,) becomes the place of the PS, and
    ``out`` (H,) the workers on each server.
    """
    m, n = tables.type_of[k], tables.workers[k]
    left = np.empty(tables.e.shape[1], np.int64)
    best, chosen = limit, plain_int(-1)
    for h in range(rooms.size):
        out[h] = 0
        if rooms[h] < n:
            continue
        g = tables.class_of[h]
        cost = factor * n * _window(tables.worker_cost[m], begin, end, g)
        if cost >= best:
            continue
        if tables.ring:
            best, chosen = cost, h
            spot[0], spot[1], spot[2] = -1, 0, 0
            continue
        _left(servers, h, begin, end, left)
        for p in range(tables.z.shape[0]):
            if not (tables.mask[k] >> p) & 1:
                continue
            s = tables.needed[m, p, 0]
            full = cost + factor * s * _window(tables.ps_cost[p], begin, end, g)
            if full < best and _fits(tables, m, n, p, s, left):
                best, chosen = full, h
                spot[0], spot[1], spot[2] = h, p, s
    if chosen >= 0:
        out[chosen] = n
    return best


@kernel(nogil=True)
def _fill(n: int, most: int, skip: int, ranks: Ints, of: Ints, rooms: Small, out: Ints) -> int:
    """Put n workers on classes as ranked, at most ``most`` per server; return how many are left.

    ``ranks`` (C,) are the classes, ``of`` (H,) the class of a server, ``rooms`` (H,) and ``out``
    (H,) workers on it.
    """
    for h in range(out.size):
        out[h] = 0
    for x in range(ranks.size):
        g = ranks[x]
        for h in range(out.size):
            if of[h] == g and h != skip and rooms[h] > 0:
                out[h] = min(n, min(rooms[h], most))
                n -= out[h]
        if n == 0:
            break
    return n


@kernel(nogil=True)
def _on_many(
    tables: Tables,
    servers: Servers,
    k: int,
    begin: int,
    end: int,
    factor: float,
    limit: float,
    rooms: Small,
    spot: Ints,
    out: Ints,
) -> float:
    """Find servers for workers and PS; return their cost, ``limit`` if that is not less.

    The arrays are as in `_on_one`.
    """
    m, n, kinds = tables.type_of[k], tables.workers[k], tables.z.shape[0]
    classes = tables.worker_cost.shape[2]
    unit, ranks = np.empty(classes), np.empty(classes, np.int64)  # cheap classes first
    for g in range(classes):
        unit[g] = factor * _window(tables.worker_cost[m], begin, end, g)
        x = g
        while x > 0 and unit[ranks[x - 1]] > unit[g]:
            ranks[x] = ranks[x - 1]
            x -= 1
        ranks[x] = g
    # the literal has a kernel of its own, without the server to skip: a tenth of the time in rings
    if _fill(n, n - 1 if tables.ring else n, -1, ranks, tables.class_of, rooms, out) > 0:
        return limit
    cost = _sum(out, unit, tables.class_of)
    if tables.ring or cost >= limit:
        spot[0], spot[1], spot[2] = -1, 0, 0
        return min(cost, limit)
    left = np.empty(tables.e.shape[1], np.int64)
    price = np.empty((classes, kinds))
    for g in range(classes):
        for p in range(kinds):
            price[g, p] = factor * _window(tables.ps_cost[p], begin, end, g)
    best = limit
    for turn in range(2):  # hosts of workers need the fewest PS
        for h in range(rooms.size):
            if (out[h] > 0) != (turn == 0) or out[h] == n:
                continue
            if best <= cost:
                break
            known = False
            for p in range(kinds):
                s = tables.needed[m, p, n - out[h]]
                full = cost + s * price[tables.class_of[h], p]
                if not (tables.mask[k] >> p) & 1 or full >= best:
                    continue
                if not known:
                    _left(servers, h, begin, end, left)
                    known = True
                if _fits(tables, m, out[h], p, s, left):
                    best = full
                    spot[0], spot[1], spot[2] = h, p, s
    if best < limit:
        return best
    fill, there = np.empty(out.size, np.int64), 0
    for h in range(rooms.size):
        there += rooms[h]
    for h in range(rooms.size):
        if rooms[h] == 0:  # without workers it was tried above
            continue
        others, most = there - rooms[h], min(n - 1, rooms[h])
        _left(servers, h, begin, end, left)
        for p in range(kinds):
            if not (tables.mask[k] >> p) & 1:
                continue
            if not _fits(tables, m, 0, p, tables.needed[m, p, n - most], left):
                continue
            for g in range(most, -1, -1):
                s = tables.needed[m, p, n - g]
                ps = s * price[tables.class_of[h], p]
                if others < n - g or cost + ps >= best:
                    break
                if not _fits(tables, m, g, p, s, left):
                    continue
                _fill(n - g, n, h, ranks, tables.class_of, rooms, fill)
                fill[h] = g
                full = _sum(fill, unit, tables.class_of) + ps
                if full < best:
                    best = full
                    spot[0], spot[1], spot[2] = h, p, s
                    for x in range(out.size):
                        out[x] = fill[x]
                break
    return best


@kernel(nogil=True)
def _sum(out: Ints, unit: Floats, of: Ints) -> float:
    """Return the cost of workers ``out`` (H,) at ``unit`` (C,) each, ``of`` (H,) these classes."""
    cost = 0.0
    for h in range(out.size):
        cost += out[h] * unit[of[h]]
    return cost


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
    k: int,
    begin: int,
    end: int,
    factor: float,
    spot: Ints,
    out: Ints,
) -> bool:
    """Place mode k in a window where price and lost room are least, one server after the other.

    False if that finds no place for the PS. ``spot`` (3,) and ``out`` (H,) as in `_on_one`.
    """
    m, n, count = tables.type_of[k], tables.workers[k], out.size
    types, resources = tables.e.shape
    classes = tables.worker_cost.shape[2]
    price, value = np.empty(classes), np.empty((classes, types))
    for g in range(classes):
        price[g] = factor * _window(tables.worker_cost[m], begin, end, g)
        for x in range(types):
            value[g, x] = tables.share[x] * _window(tables.worker_cost[x], begin, end, g)
    rooms = np.empty(count, np.int16)
    left, known = np.empty((count, resources), np.int64), np.empty(count, np.int64)
    whole = tables.together[k] == 1
    most = n - 1 if tables.ring and not whole else n
    score, taken, load = np.empty(count), np.empty(count, np.int64), np.empty(resources, np.int64)
    for h in range(count):
        known[h], taken[h], out[h], rooms[h] = 0, 0, 0, MOST_ROOM
    _narrow(servers, m, begin, end, rooms)
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
                    _left(servers, h, begin, end, left[h])
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
    order, parts = taken, 0  # most workers first
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
            cost = factor * s * _window(tables.ps_cost[p], begin, end, g)
            if whole:
                cost += n * price[g]
            if not (tables.mask[k] >> p) & 1 or cost >= best:
                continue
            if known[h] == 0:
                known[h] = 1
                _left(servers, h, begin, end, left[h])
            if not _fits(tables, m, here, p, s, left[h]):
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
