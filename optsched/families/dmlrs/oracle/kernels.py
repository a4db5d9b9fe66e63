"""Kernel of the oracle: what slots offer one job at prices, or where a schedule sits in them.

Both roles, and the restrictions of a tree's node, are one kernel: it holds all of `open_slot`,
which would be compiled anew inside each of them.
"""

from __future__ import annotations

import numpy as np

from optsched.families.dmlrs.oracle.slot_placements import open_slot
from optsched.families.dmlrs.oracle.work_over_slots import options_hull, slot_options
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.workload import EQUAL, hull_costs, hull_insert

INNER_ONLY, OUTER_ONLY = 1, 2


@kernel(error_model="numpy")
def open_slots(
    first: int,
    last: int,
    total: int,
    inner: int,
    outer: int,
    most_inner: int,
    most_outer: int,
    alpha: Floats,
    beta: Floats,
    ps_inner: Ints,
    ps_outer: Ints,
    utility: Floats,
    price: Floats,
    free: Floats,
    count: Ints,
    stranded: float,
    cutoff: float,
    limits: Ints,
    together: Floats,
    most_together: int,
    placing: bool,
    amount: Ints,
    machine_floats: Floats,
    machine_ints: Ints,
    parts: Floats,
    numbers: Ints,
    one: Floats,
    more: Floats,
    options: Ints,
    cost: Floats,
    size: Ints,
    slopes: Floats,
    lengths: Ints,
    ends: Ints,
    promise: Floats,
    entries: Ints,
) -> tuple[int, float]:
    """Open slots ``first``..``last`` one by one, for what they offer or to place a schedule.

    Parameters
    ----------
    total, inner, outer : int
        Work of the job, and of one worker in a slot at either rate.
    limits : array of shape (3, T) or (3, 0)
        Least and greatest number of workers, and mode, as in `nodes.Node`; none if it is empty.
    together : array of shape (T, N + 1)
        If ``most_together`` is not below 0: the price of n workers at the inner rate, of which it
        is the most; the prices of the machines are for outer placements only.
    placing : bool
        Place ``amount`` (see `Best`): ``entries`` receives rows [side, slot, machine, number].
    options, cost, size
        Receive what the slots from ``first`` on offer, as in `labels.search`.
    slopes, lengths : scratch of shape (2, slots * options)
    ends, promise
        Receive, where there are no limits, in which slots a completion may be best, and its most
        payoff and its price of work.

    Returns
    -------
    number : int
        Of slots in which a completion may be best; or of entries.
    certain : float
        A payoff that is known to be possible, or the cutoff.
    """
    limited = limits.shape[1] > 0
    certain = cutoff  # a payoff that is known to be possible, or uninteresting
    held, opened, placed = int(np.int64(0)), 0, 0  # no literal
    visited, chosen = np.empty(0, np.int64), np.empty((0, 2, 0, 0), np.int64)
    for slot in range(first, last + 1):
        t, kind, n, keep = slot - first, amount[slot], amount[slot] // 2, False
        top_inner, top_outer = most_inner, most_outer
        if placing:
            if kind == 0:
                continue
            keep = kind % 2 == 1
            top_inner, top_outer = (0, n) if keep else (n, 0)
            if keep:
                visits = 0
                for h in range(count.size):
                    visits += min(count[h], n + ps_outer[n])
                visited = np.empty(visits, np.int64)
                chosen = np.empty((visits, 2, n + 1, ps_outer[n] + 1), np.int64)
        elif most_together >= 0:
            top_inner = 0
        elif not limited and utility[slot] <= certain:
            break
        inner_last, outer_last, visits = open_slot(
            price[slot],
            free[slot],
            count,
            alpha,
            beta,
            ps_inner,
            ps_outer,
            top_inner,
            top_outer,
            stranded,
            machine_floats,
            machine_ints,
            parts,
            numbers,
            one,
            more,
            keep,
            chosen,
            visited,
        )
        if placing:
            h, w, s = numbers[0, n], n, ps_inner[n]
            if not keep:
                visits = 1 if inner_last == n else 0
            elif outer_last < n:
                visits = 0
            table, workers, servers = 1, n, ps_outer[n]
            columns = servers + 1
            for v in range(visits - 1, -1, -1):
                if keep:
                    code = chosen[v, table, workers, servers]
                    if code < 0:
                        continue
                    table = code % 2
                    h, w, s = visited[v], code // 2 // columns, code // 2 % columns
                    workers -= w
                    servers -= s
                for side in range(2):
                    number = s if side else w
                    if number > 0:
                        entries[placed, 0], entries[placed, 1] = side, slot
                        entries[placed, 2], entries[placed, 3] = h, number
                        placed += 1
                if workers == 0 and servers == 0:
                    break
            continue
        if most_together >= 0:
            inner_last = min(most_inner, most_together)
            for k in range(inner_last + 1):
                parts[0, k] = together[slot, k]
        if limited:
            for side in range(2):
                shut = limits[2, slot] == (INNER_ONLY if side else OUTER_ONLY)
                most = outer_last if side else inner_last
                for k in range(1, most + 1):
                    if shut or k < limits[0, slot] or k > limits[1, slot]:
                        parts[side, k] = np.inf
                while most > 0 and parts[side, most] == np.inf:
                    most -= 1
                if side:
                    outer_last = most
                else:
                    inner_last = most
        size[t] = slot_options(
            parts[0],
            inner_last,
            inner,
            parts[1],
            outer_last,
            outer,
            total,
            options[0, t],
            cost[t],
            options[1, t],
        )
        if limited:
            continue
        used = options_hull(options[0, t], cost[t], size[t], slopes[1], lengths[1])
        held = hull_insert(slopes[1], lengths[1], used, slopes[0], lengths[0], held, total)
        low, high = hull_costs(slopes[0], lengths[0], held, total)
        promise[0, t] = utility[slot] - low
        promise[1, t] = slopes[0, held - 1] if held > 0 else 0.0
        certain = max(certain, utility[slot] - high)
        opened = t + 1
    if placing:
        return placed, certain
    found = 0
    for t in range(opened):
        if promise[0, t] > cutoff and promise[0, t] >= certain - EQUAL * abs(certain):
            ends[found] = t
            found += 1
    return found, certain
