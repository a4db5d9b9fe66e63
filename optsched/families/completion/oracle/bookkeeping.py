"""Bookkeeping of servers: what their time costs, and what is free on them."""

from __future__ import annotations

import numpy as np

from optsched.numbers.arrays import Floats, Ints, Small
from optsched.numbers.kernels import kernel

MOST_ROOM = 10_000


def prefix_sums(prices: Floats, demand: Ints) -> tuple[Floats, Floats]:
    """Return the cost of each demand (D, L + 1, H) up to a slot, and of the cheapest (D, L + 1)."""
    slots, servers, _ = prices.shape
    total = np.zeros((len(demand), slots + 1, servers))
    least = np.zeros((len(demand), slots + 1))
    if servers:
        _add_up(prices, demand.astype(np.float64), total, least)
    return total, least


@kernel
def _add_up(prices: Floats, demand: Floats, total: Floats, least: Floats) -> None:
    for k in range(demand.shape[0]):
        for t in range(prices.shape[0]):
            low = np.inf
            for h in range(prices.shape[1]):
                unit = 0.0
                for r in range(prices.shape[2]):
                    unit += prices[t, h, r] * demand[k, r]
                total[k, t + 1, h] = total[k, t, h] + unit
                if unit < low:
                    low = unit
            least[k, t + 1] = least[k, t] + low


def occupy(
    start: int,
    end: int,
    hosts: Ints,
    load: Ints,  # (H, R) taken, negative: given back
    e: Ints,
    free: Ints,  # (K, S, H, R)
    room: Small,  # (K, S, M, H)
    total: Ints,  # (K, S, M)
    top: Ints,  # (K, S, M)
) -> None:
    """Change what is free on some servers in a window, and all that is derived from it."""
    levels, slots = free.shape[:2]
    now = free[0, start:end, hosts] - load[hosts, None]  # (hosts, slots of the window, R)
    free[0, start:end, hosts] = now
    for m, demand in enumerate(e):
        used = np.flatnonzero(demand)
        fits = np.full(now.shape[:2], MOST_ROOM)
        if used.size:
            fits = np.minimum(fits, (now[:, :, used] // demand[used]).min(axis=2))
        total[0, start:end, m] += (fits - room[0, start:end, m, hosts]).sum(axis=0)
        room[0, start:end, m, hosts] = fits
    top[0, start:end] = room[0, start:end].max(axis=2, initial=0)
    for level in range(1, levels):
        half = 1 << (level - 1)
        first, last = max(0, start - 2 * half + 1), min(end, slots - 2 * half + 1)
        if first >= last:
            continue
        near, far = slice(first, last), slice(first + half, last + half)
        for array in (free, room.swapaxes(2, 3)):  # (K, S, H, ...)
            array[level, near, hosts] = np.minimum(
                array[level - 1, near, hosts], array[level - 1, far, hosts]
            )
        for array in (total, top):
            array[level, near] = np.minimum(array[level - 1, near], array[level - 1, far])
