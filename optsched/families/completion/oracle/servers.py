"""Prefix sums of prices, and what is free on servers slot by slot (Mualem and Feitelson, 2001)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.families.completion.modes import Types
from optsched.numbers.arrays import Floats, Ints, Small
from optsched.numbers.kernels import kernel

MOST_UNITS = 10_000


class ServerState(NamedTuple):
    """Free capacity of servers by slot; S = 1 if it is the same in every slot."""

    free: Ints  # (S, H, R) units
    max_units: Small  # (S, M, H) workers of each type that one server holds
    total: Ints  # (S, M) their sum over all servers
    top: Ints  # (S, M) the greatest

    @classmethod
    def of(cls, types: Types, capacity: Ints, number: Ints, slots: int = 1) -> ServerState:
        """Make the state of empty servers, ``capacity`` (H, R)."""
        max_units = np.array([units_that_fit(capacity, e) for e in types.worker_demand], np.int16)
        max_units = max_units.reshape(len(types.worker_demand), len(capacity))
        return cls(
            _repeated(capacity, slots),
            _repeated(max_units, slots),
            _repeated((max_units * number).sum(axis=1).astype(np.int64), slots),
            _repeated(max_units.max(axis=1, initial=0).astype(np.int64), slots),
        )

    def occupy(self, types: Types, start: int, end: int, hosts: Ints, load: Ints) -> None:
        """Take ``load`` (H, R) from some servers; give it back if it is negative."""
        _occupy(tuple(self), types.worker_demand, start, end, hosts, load)


@kernel
def _occupy(
    state: tuple[Any, ...], demand: Ints, start: int, end: int, hosts: Ints, load: Ints
) -> None:
    """Take ``load`` (H, R) from some servers in the slots from ``start`` to before ``end``.

    ``hosts`` (servers,) are which; ``demand`` (M, R) of a worker and ``load`` are in units;
    ``state`` is a plain `ServerState`.
    """
    free, max_units, total, top = state
    for t in range(start, end):
        for h in hosts:
            for r in range(demand.shape[1]):
                free[t, h, r] -= load[h, r]
        for m in range(demand.shape[0]):
            for h in hosts:
                fits = MOST_UNITS
                for r in range(demand.shape[1]):
                    if demand[m, r] > 0:
                        fits = min(fits, free[t, h, r] // demand[m, r])
                total[t, m] += fits - max_units[t, m, h]
                max_units[t, m, h] = fits
            high = 0
            for h in range(max_units.shape[2]):
                high = max(high, int(max_units[t, m, h]))
            top[t, m] = high


def units_that_fit(free: Ints, e: Ints) -> Ints:
    """Return how many workers of demand e (R,) fit into ``free`` (..., R)."""
    used = np.flatnonzero(e)
    fits: Ints = (free[..., used] // e[used]).min(axis=-1, initial=MOST_UNITS)
    return fits


def _repeated(array: NDArray[Any], slots: int) -> NDArray[Any]:
    return np.array(np.broadcast_to(array, (slots, *array.shape)), order="C")


class PricedServers(NamedTuple):
    """Servers and the prices of their resources; from slot L on all is free of charge."""

    worker_cost: Floats  # (M, L + 1, H) of one worker from slot 0 to a slot (prefix sums)
    ps_cost: Floats  # (P, L + 1, H) of one PS
    least: Floats  # (M, L + 1) of the cheapest worker of each slot: a bound for any window
    free: Ints  # (S, H, R) units, as in `ServerState`
    max_units: Small  # (S, M, H) workers
    total: Ints  # (S, M) workers
    top: Ints  # (S, M) workers
    number: Ints  # (H,) servers of each class

    @classmethod
    def of(cls, types: Types, prices: Floats, capacity: Ints, number: Ints) -> PricedServers:
        """Price empty servers: ``prices`` (L, H, R) per unit, ``capacity`` (H, R) of one each."""
        worker, least = prefix_sums(prices, types.worker_demand)
        ps, _ = prefix_sums(prices, types.ps_demand)
        return cls(worker, ps, least, *ServerState.of(types, capacity, number), number)


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
