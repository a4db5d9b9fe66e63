"""Compiled bookkeeping of servers: what their time costs, and what is free on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.kernels import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Small = NDArray[np.int16]

MOST_ROOM = 10_000


@kernel
def prefix_sums(prices: Floats, demand: Floats) -> tuple[Floats, Floats]:
    """Return the cost of each demand (D, L + 1, H) up to a slot, and of the cheapest (D, L + 1)."""
    slots, servers, resources = prices.shape
    total = np.zeros((demand.shape[0], slots + 1, servers))
    least = np.zeros((demand.shape[0], slots + 1))
    for k in range(demand.shape[0]):
        for t in range(slots):
            low = np.inf
            for h in range(servers):
                unit = 0.0
                for r in range(resources):
                    unit += prices[t, h, r] * demand[k, r]
                total[k, t + 1, h] = total[k, t, h] + unit
                low = min(low, unit)
            least[k, t + 1] = least[k, t] + (low if servers else 0.0)
    return total, least


@kernel
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
    levels, slots, servers, resources = free.shape
    types = e.shape[0]
    for t in range(start, end):
        for h in hosts:
            for r in range(resources):
                free[0, t, h, r] -= load[h, r]
            for m in range(types):
                fits = MOST_ROOM
                for r in range(resources):
                    if e[m, r] > 0:
                        fits = min(fits, free[0, t, h, r] // e[m, r])
                total[0, t, m] += fits - room[0, t, m, h]
                room[0, t, m, h] = fits
        for m in range(types):
            high = 0
            for h in range(servers):
                high = max(high, room[0, t, m, h])
            top[0, t, m] = high
    for level in range(1, levels):
        half = 1 << (level - 1)
        for t in range(max(0, start - 2 * half + 1), min(end, slots - 2 * half + 1)):
            for h in hosts:
                for r in range(resources):
                    free[level, t, h, r] = min(
                        free[level - 1, t, h, r], free[level - 1, t + half, h, r]
                    )
                for m in range(types):
                    room[level, t, m, h] = min(
                        room[level - 1, t, m, h], room[level - 1, t + half, m, h]
                    )
            for m in range(types):
                total[level, t, m] = min(total[level - 1, t, m], total[level - 1, t + half, m])
                top[level, t, m] = min(top[level - 1, t, m], top[level - 1, t + half, m])
