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
from optsched.families.completion.optimum.board.windows import end_at, open_window, widen
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.slots import plain_int

NEVER = 1 << 62
STRIDE = 8  # completions that a price can rule out together
LEAST_GAIN = 1e-9  # relative: what is not better than that by price comes too late


@kernel(nogil=True)
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
    types, count = tables.e.shape[0], servers.number.size
    last = tables.worker_cost.shape[1] - 1
    total, least = servers.total, tables.least
    weight, arrival, first = tables.weight[i], tables.arrival[i], tables.first[i]
    best, best_k, end, tried = np.inf, plain_int(-1), plain_int(0), plain_int(0)
    due, clear, soon, base = notes.due, notes.clear, notes.soon, first[0]
    for m in range(types):
        for k in range(first[m], first[m + 1]):
            due[k - base], clear[k - base] = arrival + tables.duration[k], arrival
        soon[m] = due[first[m] - base] if first[m] < first[m + 1] else NEVER
    notes.last[:] = 0
    while True:
        c = plain_int(NEVER)
        for m in range(types):
            c = min(c, soon[m])
        here, b = weight * c, min(c, last)
        if c > latest or here >= best:
            break
        ended = False  # whether the notes know where this window ends
        for m in range(types):
            if soon[m] > c:
                continue
            opened, number = False, 0
            for k in range(first[m], first[m + 1]):
                if due[k - base] > c:
                    continue
                n, begin = tables.workers[k], c - tables.duration[k]
                due[k - base] = c + 1
                if here + factor * n * (least[m, b] - least[m, min(begin, last)]) >= best:
                    due[k - base] = _cheap_at(tables, k, c + 1, weight, factor, best, latest)
                    continue
                since, clear[k - base] = max(begin, clear[k - base]), c
                t = c - 1
                while t >= since and total[m, t] >= n:
                    t -= 1
                if t >= since:  # no window of this mode may contain this slot
                    due[k - base] = t + 1 + tables.duration[k]
                    continue
                if not ended:
                    end_at(servers, c, notes)
                    ended = True
                if not opened:
                    number = open_window(tables, servers, m, notes)
                    opened = True
                number, there, whole = widen(servers, m, begin, number, notes)
                if there < n or (tables.together[k] == 1 and whole < n):
                    # neither has any window room that this one is a part of
                    for x in range(first[m], first[m + 1]):
                        if tables.workers[x] > there:
                            due[x - base] = max(due[x - base], begin + 1 + tables.duration[x])
                    continue
                limit = (best - here) * (1 - LEAST_GAIN)
                if tables.together[k] == 1:
                    cost = on_one(tables, servers, notes, k, begin, c, factor, limit, tried)
                else:
                    cost = on_many(
                        tables, servers, notes, k, begin, c, factor, limit, number, tried
                    )
                if cost < limit:
                    best, best_k, end = here + cost, k, c
                    tried = 1 - tried
            soon[m] = NEVER
            for k in range(first[m], first[m + 1]):
                soon[m] = min(soon[m], due[k - base])
    if best_k < 0:
        return False
    begin = end - tables.duration[best_k]
    chosen = 1 - tried
    if arrange(tables, servers, notes, best_k, begin, end, factor, tried):
        chosen = tried
    spot, out = notes.spots[chosen], notes.outs[chosen]
    plans.mode[i], plans.start[i] = best_k, begin
    plans.host[i], plans.kind[i], plans.ps[i] = spot[0], spot[1], spot[2]
    parts = 0
    for h in range(count):
        if out[h] > 0:
            plans.where[i, parts], plans.number[i, parts] = h, out[h]
            parts += 1
    plans.parts[i] = parts
    occupy(tables, servers, plans, notes, i, TAKE)
    return True


@kernel(nogil=True)
def _cheap_at(
    tables: Tables, k: int, c: int, weight: float, factor: float, best: float, latest: int
) -> int:
    """Return the first completion from c to ``latest`` at which mode k may be below ``best``."""
    least, last = tables.least[tables.type_of[k]], tables.least.shape[1] - 1
    unit, duration = factor * tables.workers[k], tables.duration[k]
    while c <= latest and weight * c < best:
        far = min(c + STRIDE - 1 - duration, last)  # no window is cheaper in the whole stride
        if weight * c + unit * (least[min(c, last)] - least[far]) >= best:
            c += STRIDE
        elif weight * c + unit * (least[min(c, last)] - least[min(c - duration, last)]) >= best:
            c += 1
        else:
            return c
    return NEVER
