"""Kernel: the best schedule of one job at prices, inside the restrictions of a tree's node."""

from __future__ import annotations

import numpy as np

from optsched.families.dmlrs.labels import slot_options, windowed
from optsched.families.dmlrs.oracle_kernels import open_slot, useful_workers
from optsched.kernels import kernel
from optsched.scheduling.slots import Floats, Ints

INNER_ONLY, OUTER_ONLY = 1, 2


@kernel
def restrict_costs(parts: Floats, last: Ints, lower: int, upper: int, mode: int) -> None:
    """Make the placements of a slot impossible that a node forbids; ``last`` has both largest n."""
    for side in range(2):
        shut = (side == 0 and mode == OUTER_ONLY) or (side == 1 and mode == INNER_ONLY)
        for n in range(1, last[side] + 1):
            if shut or n < lower or n > upper:
                parts[side, n] = np.inf
        while last[side] > 0 and parts[side, last[side]] == np.inf:
            last[side] -= 1


@kernel
def restricted_schedule(
    arrival: int,
    first: int,
    latest: int,
    total: int,
    rates: tuple[int, int],
    alpha: Floats,
    beta: Floats,
    ps_inner: Ints,
    ps_outer: Ints,
    utility: Floats,
    worker: Floats,
    most_inner: int,
    price: Floats,
    free: Floats,
    count: Ints,
    lower: Ints,
    upper: Ints,
    mode: Ints,
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
    """Return (payoff, completion) of the best schedule that completes in first..latest.

    ``lower``, ``upper`` and ``mode`` of shape (T,) as in `nodes.Node`. (-inf, -1) if there is none.
    If ``most_inner`` is not below 0, it limits the workers at the inner rate; ``worker[t, n]`` is
    the price of n of them, and the prices of the machines are for outer placements only.
    """
    window = latest + 1 - arrival
    most = (useful_workers(total, rates[0], ps_inner), useful_workers(total, rates[1], ps_outer))
    most = (max(most[0], 0), max(most[1], 0))
    fewest = 0
    for t in range(lower.size):
        fewest = max(fewest, lower[t])
    # forced numbers may be more than are useful
    most = (_raised(most[0], fewest, ps_inner), _raised(most[1], fewest, ps_outer))
    width = most[0] + most[1]
    if width == 0 or window <= 0:
        return -np.inf, -1
    work, kind = np.empty((window, width), np.int64), np.empty((window, width), np.int64)
    cost = np.empty((window, width))
    size, forced = np.zeros(window, np.int64), np.zeros(lower.size - arrival, np.int64)
    last = np.empty(2, np.int64)
    for t in range(lower.size - arrival):
        forced[t] = 1 if lower[arrival + t] > 0 else 0
    for t in range(window):
        slot = arrival + t
        last[0], last[1], _ = open_slot(
            price[slot],
            free[slot],
            count,
            alpha,
            beta,
            ps_inner,
            ps_outer,
            most[0] if most_inner < 0 else 0,
            most[1],
            0.0,
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
        if most_inner >= 0:
            last[0] = min(most[0], most_inner)
            for n in range(last[0] + 1):
                parts[0, n] = worker[slot, n]
        restrict_costs(parts, last, lower[slot], upper[slot], mode[slot])
        size[t] = slot_options(
            parts[0],
            last[0],
            rates[0],
            parts[1],
            last[1],
            rates[1],
            total,
            work[t],
            cost[t],
            kind[t],
        )
    best, completion = windowed(
        max(0, first - arrival),
        window - 1,
        total,
        utility[arrival:],
        work,
        cost,
        kind,
        size,
        forced,
        amount[arrival:],
    )
    for t in range(arrival):
        amount[t] = 0
    return best, completion + arrival if completion >= 0 else -1


@kernel
def _raised(most: int, fewest: int, table: Ints) -> int:
    """Return the larger of both, as far as the table of PS allows it."""
    n = max(most, min(fewest, table.size - 1))
    while n > 0 and table[n] < 0:
        n -= 1
    return n
