"""Servers at prices: what their time costs, and what is free on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.families.completion.modes import Types
from optsched.numbers.arrays import Floats, Ints, Small
from optsched.numbers.kernels import kernel

MOST_ROOM = 10_000


class State(NamedTuple):
    """What is free on servers, for windows that begin in a slot and last 1, 2, 4, ... slots."""

    free: Ints  # (K, S, H, R) least free units; K = S = 1 if they are the same in every slot
    room: Small  # (K, S, M, H) workers of each type that one server holds
    total: Ints  # (K, S, M) least of their sum over all servers
    top: Ints  # (K, S, M) least of the greatest

    @classmethod
    def of(cls, types: Types, capacity: Ints, number: Ints, slots: int = 0) -> State:
        """Make the state of empty servers, ``capacity`` (H, R); 0 slots: it never changes."""
        room = np.array([rooms(capacity, e) for e in types.worker_demand], np.int16)
        room = room.reshape(len(types.worker_demand), len(capacity))
        shape = (max(1, slots.bit_length()), max(1, slots))
        return cls(
            _repeated(capacity, shape),
            _repeated(room, shape),
            _repeated((room * number).sum(axis=1).astype(np.int64), shape),
            _repeated(room.max(axis=1, initial=0).astype(np.int64), shape),
        )

    def occupy(self, types: Types, start: int, end: int, hosts: Ints, load: Ints) -> None:
        """Take ``load`` (H, R) from some servers; give it back if it is negative."""
        free, room, total, top = self
        now = free[0, start:end, hosts] - load[hosts, None]  # (hosts, slots of the window, R)
        free[0, start:end, hosts] = now
        for m, e in enumerate(types.worker_demand):
            fits = rooms(now, e)
            total[0, start:end, m] += (fits - room[0, start:end, m, hosts]).sum(axis=0)
            room[0, start:end, m, hosts] = fits
        top[0, start:end] = room[0, start:end].max(axis=2, initial=0)
        for level in range(1, len(free)):
            half = 1 << (level - 1)
            first, last = max(0, start - 2 * half + 1), min(end, free.shape[1] - 2 * half + 1)
            if first >= last:
                continue
            near, far = slice(first, last), slice(first + half, last + half)
            for array in (free, room.swapaxes(2, 3)):  # (K, S, H, ...)
                array[level, near, hosts] = np.minimum(
                    array[level - 1, near, hosts], array[level - 1, far, hosts]
                )
            for array in (total, top):
                array[level, near] = np.minimum(array[level - 1, near], array[level - 1, far])


def rooms(free: Ints, e: Ints) -> Ints:
    """Return how many workers of demand e (R,) fit into ``free`` (..., R)."""
    used = np.flatnonzero(e)
    fits: Ints = (free[..., used] // e[used]).min(axis=-1, initial=MOST_ROOM)
    return fits


def _repeated(array: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    return np.array(np.broadcast_to(array, (*shape, *array.shape)), order="C")


class PricedServers(NamedTuple):
    """Servers and the prices of their resources; from slot L on all is free of charge."""

    worker_cost: Floats  # (M, L + 1, H) of one worker from slot 0 to a slot (prefix sums)
    ps_cost: Floats  # (P, L + 1, H) of one PS
    least: Floats  # (M, L + 1) of the cheapest worker of each slot: a bound for any window
    free: Ints  # (K, S, H, R) units, as in `State`
    room: Small  # (K, S, M, H) workers
    total: Ints  # (K, S, M) workers
    top: Ints  # (K, S, M) workers
    number: Ints  # (H,) servers of each class

    @classmethod
    def of(cls, types: Types, prices: Floats, capacity: Ints, number: Ints) -> PricedServers:
        """Price empty servers: ``prices`` (L, H, R) per unit, ``capacity`` (H, R) of one each."""
        worker, least = prefix_sums(prices, types.worker_demand)
        ps, _ = prefix_sums(prices, types.ps_demand)
        return cls(worker, ps, least, *State.of(types, capacity, number), number)


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
    """Fill ``total`` (D, L + 1, H), ``least`` (D, L + 1); unit prices (L, H, R), demand (D, R)."""
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
