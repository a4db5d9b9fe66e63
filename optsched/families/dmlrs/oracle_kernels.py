"""Kernels of the oracle: what one slot offers, the best schedule of a job, and where it sits.

Scratch arrays come from `oracle.new_scratch`, in its order.
"""

from __future__ import annotations

import numpy as np

from optsched.families.dmlrs.labels import options_hull, slot_options, slot_surplus, spread
from optsched.families.dmlrs.theta import inner_costs, outer_costs, outer_places
from optsched.kernels import kernel
from optsched.scheduling.slots import Floats, Ints, charge_leftovers, rooms, unit_prices
from optsched.scheduling.workload import EQUAL, hull_costs, hull_insert


@kernel
def open_slot(
    price: Floats,
    free: Floats,
    count: Ints,
    alpha: Floats,
    beta: Floats,
    ps_inner: Ints,
    ps_outer: Ints,
    most_inner: int,
    most_outer: int,
    stranded: float,
    machine_floats: Floats,
    machine_ints: Ints,
    parts: Floats,
    numbers: Ints,
    one: Floats,
    more: Floats,
    keep: bool,
    chosen: Ints,
    visited: Ints,
) -> tuple[int, int, int]:
    """Price all placements of one slot: ``parts[0, n]`` inner, ``parts[1, n]`` outer.

    ``price`` and ``free`` have shape (R, H). Returns the largest n of both kinds, and how many
    machines were visited; ``numbers[0, n]`` is the host of n inner workers.
    """
    h = count.size
    worker, ps = machine_floats[0, :h], machine_floats[1, :h]
    room, ps_room = machine_floats[2, :h], machine_floats[3, :h]
    unit_prices(price, alpha, worker)
    unit_prices(price, beta, ps)
    most = max(most_inner, most_outer)
    rooms(free, alpha, most, room)
    if stranded > 0.0:
        charge_leftovers(price, free, room, stranded, worker)
    inner_last = inner_costs(
        worker, ps, free, alpha, beta, room, ps_inner, most_inner, parts[0], numbers[0]
    )
    if most_outer == 0:
        return inner_last, 0, 0
    rooms(free, beta, max(0, ps_outer[most_outer]), ps_room)
    outer_last, visits = outer_costs(
        worker,
        ps,
        free,
        alpha,
        beta,
        count,
        room,
        ps_room,
        ps_outer,
        most_outer,
        machine_ints,
        parts[2],
        parts[3],
        machine_floats[5:7],
        numbers[1],
        one,
        more,
        keep,
        chosen,
        visited,
        parts[1],
    )
    return inner_last, outer_last, visits


@kernel
def useful_workers(work: int, rate: int, table: Ints) -> int:
    """Return the most workers that can matter in a slot: no more than do the whole work."""
    most = min(table.size - 1, -(-work // rate))
    while most > 0 and table[most] < 0:
        most -= 1
    return most


@kernel
def best_schedule(
    arrival: int,
    total: int,
    rates: tuple[int, int],
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
    amount: Ints,
    machine_floats: Floats,
    machine_ints: Ints,
    parts: Floats,
    numbers: Ints,
    one: Floats,
    more: Floats,
    chosen: Ints,
    visited: Ints,
) -> tuple[float, int]:
    """Return (payoff, completion) of the best schedule; completion -1: none beats ``cutoff``.

    ``amount`` receives the kinds of `Best`. See `Oracle` and `Request` for shapes.
    """
    horizon = utility.size
    most = (useful_workers(total, rates[0], ps_inner), useful_workers(total, rates[1], ps_outer))
    width = most[0] + most[1]
    if width == 0:
        return -np.inf, -1
    window = horizon - arrival
    work = np.empty((window, width), np.int64)
    cost = np.empty((window, width))
    kind = np.empty((window, width), np.int64)
    size = np.zeros(window, np.int64)
    slopes, lengths = np.empty(window * width), np.empty(window * width, np.int64)
    slope, length = np.empty(width), np.empty(width, np.int64)
    promise, rate = np.empty(window), np.empty(window)
    certain = cutoff  # a payoff that is known to be possible, or uninteresting
    held = 0
    opened = 0
    for t in range(window):
        if utility[arrival + t] <= certain:
            break
        inner_last, outer_last, _ = open_slot(
            price[arrival + t],
            free[arrival + t],
            count,
            alpha,
            beta,
            ps_inner,
            ps_outer,
            most[0],
            most[1],
            stranded,
            machine_floats,
            machine_ints,
            parts,
            numbers,
            one,
            more,
            False,
            chosen,
            visited,
        )
        size[t] = slot_options(
            parts[0],
            inner_last,
            rates[0],
            parts[1],
            outer_last,
            rates[1],
            total,
            work[t],
            cost[t],
            kind[t],
        )
        used = options_hull(work[t], cost[t], size[t], slope, length)
        held = hull_insert(slope, length, used, slopes, lengths, held, total)
        low, high = hull_costs(slopes, lengths, held, total)
        promise[t] = utility[arrival + t] - low
        rate[t] = slopes[held - 1] if held > 0 else 0.0
        certain = max(certain, utility[arrival + t] - high)
        opened = t + 1
    best, completion = among_slots(
        total,
        utility[arrival:],
        work,
        cost,
        kind,
        size,
        promise[:opened],
        rate,
        certain,
        cutoff,
        amount[arrival:],
    )
    amount[:arrival] = 0
    return best, completion + arrival if completion >= 0 else -1


@kernel
def among_slots(
    total: int,
    utility: Floats,
    work: Ints,
    cost: Floats,
    kind: Ints,
    size: Ints,
    promise: Floats,
    rate: Floats,
    certain: float,
    cutoff: float,
    amount: Ints,
) -> tuple[float, int]:
    """Return (payoff, completion) of the best schedule, in slots from the arrival on.

    ``promise`` (of a completion in each slot that was opened, at most) and ``rate`` (of the hull)
    say where it is worth while to look. The rest is as in `labels.spread`.
    """
    opened = promise.size
    found = 0
    ends = np.empty(opened, np.int64)
    for t in range(opened):
        if promise[t] > cutoff and promise[t] >= certain - EQUAL * abs(certain):
            ends[found] = t
            found += 1
    if found == 0:
        return -np.inf, -1
    surplus = np.zeros((found, opened + 1))
    prices = np.empty(found)
    for c in range(found):
        prices[c] = rate[ends[c]]
        for t in range(ends[c], -1, -1):
            surplus[c, t] = surplus[c, t + 1] + slot_surplus(work[t], cost[t], size[t], prices[c])
    return spread(
        0,
        ends[found - 1],
        total,
        utility,
        work,
        cost,
        kind,
        size,
        ends[:found],
        prices,
        surplus,
        certain,
        cutoff,
        amount,
    )


@kernel
def slot_places(
    kind: int,
    price: Floats,
    free: Floats,
    count: Ints,
    alpha: Floats,
    beta: Floats,
    ps_inner: Ints,
    ps_outer: Ints,
    stranded: float,
    machine_floats: Floats,
    machine_ints: Ints,
    parts: Floats,
    numbers: Ints,
    one: Floats,
    more: Floats,
) -> Ints:
    """Return rows [machine, workers, PS] of the cheapest placement of a kind; none if none fits."""
    n, outer = kind // 2, kind % 2 == 1
    m = ps_outer[n] if outer else ps_inner[n]
    visits = 1
    if outer:
        visits = 0
        for h in range(count.size):
            visits += min(count[h], n + m)
    chosen = np.empty((visits, 2, n + 1, max(m, 0) + 1), np.int64)
    visited = np.empty(visits, np.int64)
    inner_last, outer_last, seen = open_slot(
        price,
        free,
        count,
        alpha,
        beta,
        ps_inner,
        ps_outer,
        0 if outer else n,
        n if outer else 0,
        stranded,
        machine_floats,
        machine_ints,
        parts,
        numbers,
        one,
        more,
        outer,
        chosen,
        visited,
    )
    rows = np.empty((visits, 3), np.int64)
    used = 0
    if outer:
        if outer_last == n:
            used = outer_places(seen, visited, chosen, n, m, m, rows)
    elif inner_last == n:
        rows[0, 0], rows[0, 1], rows[0, 2] = numbers[0, n], n, m
        used = 1
    return rows[:used]


@kernel
def place_schedule(
    amount: Ints,
    arrival: int,
    completion: int,
    alpha: Floats,
    beta: Floats,
    ps_inner: Ints,
    ps_outer: Ints,
    price: Floats,
    free: Floats,
    count: Ints,
    stranded: float,
    machine_floats: Floats,
    machine_ints: Ints,
    parts: Floats,
    numbers: Ints,
    one: Floats,
    more: Floats,
) -> Ints:
    """Return the entries [side, slot, machine, number] of a schedule, cheapest placements."""
    most = 0
    for t in range(arrival, completion + 1):
        n = amount[t] // 2
        most += 2 * n  # never more PS than workers
    entries = np.empty((most, 4), np.int64)
    used = 0
    for t in range(arrival, completion + 1):
        if amount[t] == 0:
            continue
        rows = slot_places(
            amount[t],
            price[t],
            free[t],
            count,
            alpha,
            beta,
            ps_inner,
            ps_outer,
            stranded,
            machine_floats,
            machine_ints,
            parts,
            numbers,
            one,
            more,
        )
        for k in range(rows.shape[0]):
            for side in range(2):
                if rows[k, 1 + side] > 0:
                    entries[used, 0], entries[used, 1] = side, t
                    entries[used, 2], entries[used, 3] = rows[k, 0], rows[k, 1 + side]
                    used += 1
    return entries[:used].copy()
