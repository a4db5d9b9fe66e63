"""Kernel: best insertion of a job on single servers, for the large neighborhood search.

The repair step of a destroy-and-repair move (Ropke and Pisinger, 2006). Completions are tried in
increasing order, with all modes that fit in every slot; bounds on prices skip most of
them.
"""

from __future__ import annotations

import numpy as np

from optsched.families.completion.optimum.board.find_servers import on_many, on_one
from optsched.families.completion.optimum.board.plans import BoardTables, Plans
from optsched.families.completion.optimum.board.scratch import BoardWorkspace
from optsched.families.completion.optimum.board.servers import TAKE, Servers, occupy
from optsched.families.completion.optimum.board.windows import open_window, widen
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.slots import plain_int

NEVER = 1 << 62
STRIDE = 8  # completions that a price can rule out together
LEAST_GAIN = 1e-9  # relative: what is not better than that by price comes too late


@kernel(nogil=True, counted=False, forceinline=True)
def insert(
    tables: BoardTables,
    servers: Servers,
    plans: Plans,
    workspace: BoardWorkspace,
    i: int,
    factor: float,
    latest: int,
) -> bool:
    """Insert job i where weight * completion + factor * cost is least, to end by ``latest``.

    Return whether it fits anywhere.
    Of placements the cheapest workers are tried with every host of PS; other numbers of workers on
    the host only if none of these fits.
    """
    count, price_end = workspace.window_units.size, tables.worker_cost.shape[1] - 1
    begin, rows, total, least = servers.begin, servers.rows, servers.total, tables.least
    weight, base = tables.weight[i], tables.first[i, 0]
    best, best_k, end, tried = np.inf, plain_int(-1), plain_int(0), plain_int(0)
    due, clear, line, after = workspace.due, workspace.clear, workspace.line, workspace.after
    _line_up_all(tables, workspace, i, latest)
    last = plain_int(0)  # the segment with which the windows end
    for c in range(tables.soonest[i], latest + 1):
        here, b = weight * c, min(c, price_end)
        if here >= best:
            break
        y = line[c]
        if y < 0:
            continue
        while begin[last + 1] < c:
            last += 1
        m, opened, first = plain_int(-1), False, last
        while y >= 0:
            x, k, y = y, base + y, after[y]
            if due[x] > c:
                _line_up(workspace, x, latest)
                continue
            if tables.type_of[k] != m:
                m, opened, first = tables.type_of[k], False, last
            n, start = tables.workers[k], c - tables.duration[k]
            if here + factor * n * (least[m, b] - least[m, min(start, price_end)]) >= best:
                due[x] = _cheap_at(tables, k, c + 1, weight, factor, best, latest)
                _line_up(workspace, x, latest)
                continue
            since, clear[x] = max(start, clear[x]), c
            s = last
            while s >= 0 and begin[s + 1] > since and total[rows[s], m] >= n:
                s -= 1
            if s >= 0 and begin[s + 1] > since:  # no window of this mode may contain a part
                due[x] = begin[s + 1] + tables.duration[k]
                _line_up(workspace, x, latest)
                continue
            if not opened:
                open_window(servers, m, last, workspace)
                opened = True
            first, there, whole = widen(servers, m, first, start, workspace)
            together = tables.together[k] == 1
            if there < n or (together and whole < n):
                # nor does any window fit that contains this one, or a part of its ends
                for z in range(tables.first[i, m] - base, tables.first[i, m + 1] - base):
                    most = whole if tables.together[base + z] == 1 else there
                    if tables.workers[base + z] > most:
                        due[z] = max(due[z], begin[first + 1] + tables.duration[base + z])
                _line_up(workspace, x, latest)
                continue
            due[x] = c + 1
            _line_up(workspace, x, latest)
            limit = (best - here) * (1 - LEAST_GAIN)
            place = (k, c, first, last, factor, limit, tried)
            if together:
                cost = on_one(tables, servers, workspace, *place)
            else:
                cost = on_many(tables, servers, workspace, *place)
            if cost < limit:
                best, best_k, end = here + cost, k, c
                tried = 1 - tried
    if best_k < 0:
        return False
    chosen = 1 - tried
    spots, outs = workspace.spots, workspace.outs
    plans.mode[i], plans.start[i] = best_k, end - tables.duration[best_k]
    plans.host[i], plans.kind[i] = spots[chosen, 0], spots[chosen, 1]
    plans.ps[i] = spots[chosen, 2]
    parts = 0
    for h in range(count):
        if outs[chosen, h] > 0:
            plans.where[i, parts], plans.number[i, parts] = h, outs[chosen, h]
            parts += 1
    plans.parts[i] = parts
    occupy(tables, servers, plans, workspace, i, TAKE)
    return True


@kernel(nogil=True, counted=False, forceinline=True)
def _line_up_all(tables: BoardTables, workspace: BoardWorkspace, i: int, latest: int) -> None:
    """Line up the modes of job i where they may end first."""
    line, base = workspace.line, tables.first[i, 0]
    for c in range(latest + 1):
        line[c] = -1
    for k in range(tables.first[i, -1] - 1, base - 1, -1):
        x = k - base
        workspace.due[x], workspace.clear[x] = (
            tables.arrival[i] + tables.duration[k],
            tables.arrival[i],
        )
        _line_up(workspace, x, latest)


@kernel(nogil=True, counted=False, forceinline=True)
def _line_up(workspace: BoardWorkspace, x: int, latest: int) -> None:
    """Line up mode x in the slot in which it may end next, after those of smaller number."""
    line, after, c = workspace.line, workspace.after, workspace.due[x]
    if c > latest:
        return
    y = line[c]
    if y < 0 or y > x:
        line[c], after[x] = x, y
        return
    while after[y] >= 0 and after[y] < x:
        y = after[y]
    after[x], after[y] = after[y], x


@kernel(nogil=True, counted=False, forceinline=True)
def _cheap_at(
    tables: BoardTables, k: int, c: int, weight: float, factor: float, best: float, latest: int
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
