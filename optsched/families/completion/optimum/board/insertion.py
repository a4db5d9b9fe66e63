"""Compiled insertion of a job on single servers, for the neighbourhood search.

An insertion looks at completions in order, and at all modes that have enough room in every slot by
itself. What it finds at least price is then arranged so that little room is lost: prices count
classes of servers, and do not see that a server's last GPU is of no use without memory beside it.
"""

from __future__ import annotations

import numpy as np

from optsched.families.completion.optimum.board.arranging import arrange
from optsched.families.completion.optimum.board.notes import Notes
from optsched.families.completion.optimum.board.placing import on_many, on_one
from optsched.families.completion.optimum.board.plans import Plans, Tables
from optsched.families.completion.optimum.board.servers import TAKE, Servers, occupy
from optsched.families.completion.optimum.board.windows import open_window, widen
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.slots import plain_int

NEVER = 1 << 62
STRIDE = 8  # completions that a price can rule out together
LEAST_GAIN = 1e-9  # relative: what is not better than that by price comes too late


@kernel(nogil=True, counted=False)
def insert(
    tables: Tables,
    servers: Servers,
    plans: Plans,
    notes: Notes,
    i: int,
    factor: float,
    latest: int,
) -> bool:
    """Insert job i where weight * completion + factor * cost is least, to end by ``latest``.

    Return whether it fits anywhere.
    Of placements the cheapest workers are tried with every host of PS; other numbers of workers on
    the host only if none of these fits.
    """
    types, count = tables.e.shape[0], notes.rooms.size
    price_end = tables.worker_cost.shape[1] - 1
    begin, rows, total, least = servers.begin, servers.rows, servers.total, tables.least
    weight, arrival = tables.weight[i], tables.arrival[i]
    best, best_k, end, tried = np.inf, plain_int(-1), plain_int(0), plain_int(0)
    due, clear, soon, base = notes.due, notes.clear, notes.soon, tables.first[i, 0]
    for m in range(types):
        for k in range(tables.first[i, m], tables.first[i, m + 1]):
            due[k - base], clear[k - base] = arrival + tables.duration[k], arrival
        soon[m] = NEVER
        if tables.first[i, m] < tables.first[i, m + 1]:
            soon[m] = due[tables.first[i, m] - base]
    last = plain_int(0)  # the segment with which the windows end
    while True:
        c = plain_int(NEVER)
        for m in range(types):
            c = min(c, soon[m])
        here, b = weight * c, min(c, price_end)
        if c > latest or here >= best:
            break
        while begin[last + 1] < c:
            last += 1
        for m in range(types):
            if soon[m] > c:
                continue
            opened, first = False, last
            begins, ends = tables.first[i, m], tables.first[i, m + 1]
            for k in range(begins, ends):
                if due[k - base] > c:
                    continue
                n, start = tables.workers[k], c - tables.duration[k]
                due[k - base] = c + 1
                if here + factor * n * (least[m, b] - least[m, min(start, price_end)]) >= best:
                    due[k - base] = _cheap_at(tables, k, c + 1, weight, factor, best, latest)
                    continue
                since, clear[k - base] = max(start, clear[k - base]), c
                x = last
                while x >= 0 and begin[x + 1] > since and total[rows[x], m] >= n:
                    x -= 1
                if x >= 0 and begin[x + 1] > since:  # no window of this mode may contain a part
                    due[k - base] = begin[x + 1] + tables.duration[k]
                    continue
                if not opened:
                    open_window(servers, m, last, notes)
                    opened = True
                first, there, whole = widen(servers, m, first, start, notes)
                together = tables.together[k] == 1
                if there < n or (together and whole < n):
                    # neither has any window room that this one, or a part of its ends, is part of
                    for x in range(begins, ends):
                        most = whole if tables.together[x] == 1 else there
                        if tables.workers[x] > most:
                            due[x - base] = max(
                                due[x - base], begin[first + 1] + tables.duration[x]
                            )
                    continue
                limit = (best - here) * (1 - LEAST_GAIN)
                place = (k, c, first, last, factor, limit, tried)
                if together:
                    cost = on_one(tables, servers, notes, *place)
                else:
                    cost = on_many(tables, servers, notes, *place)
                if cost < limit:
                    best, best_k, end = here + cost, k, c
                    tried = 1 - tried
            soon[m] = NEVER
            for k in range(begins, ends):
                soon[m] = min(soon[m], due[k - base])
    if best_k < 0:
        return False
    chosen = 1 - tried
    if arrange(tables, servers, notes, best_k, end, factor, tried):
        chosen = tried
    spots, outs = notes.spots, notes.outs
    plans.mode[i], plans.start[i] = best_k, end - tables.duration[best_k]
    plans.host[i], plans.kind[i] = spots[chosen, 0], spots[chosen, 1]
    plans.ps[i] = spots[chosen, 2]
    parts = 0
    for h in range(count):
        if outs[chosen, h] > 0:
            plans.where[i, parts], plans.number[i, parts] = h, outs[chosen, h]
            parts += 1
    plans.parts[i] = parts
    occupy(tables, servers, plans, notes, i, TAKE)
    return True


@kernel(nogil=True, counted=False)
def _cheap_at(
    tables: Tables, k: int, c: int, weight: float, factor: float, best: float, latest: int
) -> int:
    """Return the first completion from c to ``latest`` at which mode k may be below ``best``."""
    least, m, last = tables.least, tables.type_of[k], tables.least.shape[1] - 1
    unit, duration = factor * tables.workers[k], tables.duration[k]
    while c <= latest and weight * c < best:
        until = least[m, min(c, last)]
        far = min(c + STRIDE - 1 - duration, last)  # no window is cheaper in the whole stride
        if weight * c + unit * (until - least[m, far]) >= best:
            c += STRIDE
        elif weight * c + unit * (until - least[m, min(c - duration, last)]) >= best:
            c += 1
        else:
            return c
    return NEVER
