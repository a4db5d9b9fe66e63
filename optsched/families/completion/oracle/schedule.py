"""The cheapest schedule of one job at prices: the problem (12), (20), solved exactly.

For nonnegative prices one host of parameter servers (PS) is enough, since (2i) holds for each host
alone. So an optimal distributed placement has a PS host, g of the n workers on it, the others on
the cheapest servers, and max(1, ceil((n - g) b / B)) PS. Enumerating host and g is exact; in a
ring no server may hold all workers.

Servers come in classes of equal ones that have equal prices; online every server is a class.

All workers at the cheapest price of each slot bound a mode and completion from below. The search
is repeated with rising limits above the least of these bounds: once the limit is not below the
optimum, few modes and completions are within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.families.completion.instance import Piece
from optsched.families.completion.modes import Modes, Types
from optsched.families.completion.oracle.bookkeeping import MOST_ROOM, occupy, prefix_sums
from optsched.families.completion.oracle.kernels import cheapest, fill
from optsched.numbers.arrays import Floats, Ints, Small

NO_DEADLINE = 2**40


@dataclass(frozen=True, eq=False)
class State:
    """What is free on servers, for windows that begin in a slot and last 1, 2, 4, ... slots.

    Attributes
    ----------
    free : shape (K, S, H, R)
        Least of what is free; K = S = 1 if it is the same in every slot.
    room : shape (K, S, M, H)
        Workers of each type that one server holds.
    total, top : shape (K, S, M)
        Least of their sum, and of the greatest, over all servers.
    """

    free: Ints
    room: Small
    total: Ints
    top: Ints

    @classmethod
    def of(cls, types: Types, capacity: Ints, count: Ints, slots: int = 0) -> State:
        """Make the state of empty servers, ``capacity`` (H, R); 0 slots: it never changes."""
        demand = types.worker_demand
        room = np.full((len(demand), len(capacity)), MOST_ROOM, np.int16)
        for m, e in enumerate(demand):
            used = np.flatnonzero(e)
            if used.size:
                fits = (capacity[:, used] // e[used]).min(axis=1)
                room[m] = np.minimum(fits, MOST_ROOM)
        shape = (max(1, slots.bit_length()), max(1, slots))
        return cls(
            _repeated(capacity, shape),
            _repeated(room, shape),
            _repeated((room * count).sum(axis=1).astype(np.int64), shape),
            _repeated(room.max(axis=1, initial=0).astype(np.int64), shape),
        )

    def occupy(self, types: Types, start: int, end: int, hosts: Ints, load: Ints) -> None:
        """Take ``load`` (H, R) from some servers; give it back if it is negative."""
        occupy(
            *(start, end, hosts, load, types.worker_demand),
            *(self.free, self.room, self.total, self.top),
        )


def _repeated(array: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    return np.array(np.broadcast_to(array, (*shape, *array.shape)), order="C")


@dataclass(frozen=True, eq=False)
class PricedServers:
    """Servers and the prices of their resources; from slot L on all is free of charge.

    Attributes
    ----------
    worker_cost : shape (M, L + 1, H)
        Cost of one worker of each type from slot 0 to a slot (prefix sums).
    ps_cost : shape (P, L + 1, H)
    least : shape (M, L + 1)
        Prefix sums of the cheapest worker of each slot: a lower bound for any window.
    state : State
    count : shape (H,)
        Servers of each class.
    """

    worker_cost: Floats
    ps_cost: Floats
    least: Floats
    state: State
    count: Ints

    @classmethod
    def of(cls, types: Types, prices: Floats, capacity: Ints, count: Ints) -> PricedServers:
        """Price empty servers: ``prices`` (L, H, R) per unit, ``capacity`` (H, R) of one each."""
        worker, least = prefix_sums(prices, types.worker_demand)
        ps, _ = prefix_sums(prices, types.ps_demand)
        return cls(worker, ps, least, State.of(types, capacity, count), count)


@dataclass(frozen=True, eq=False)
class Found:
    """The cheapest schedule of a job."""

    value: float  # weight * completion + cost
    cost: float
    worker_type: int
    ps_type: int  # ring: 0
    workers: int
    start: int
    duration: int
    host: int  # server class of the PS, or of everything if together; ring, distributed: -1
    at_host: int  # workers on the PS host

    @property
    def completion(self) -> int:
        """The first slot after it."""
        return self.start + self.duration


def best_schedule(
    types: Types,
    modes: Modes,
    servers: PricedServers,
    *,
    arrival: int,
    weight: float,
    deadline: int | None = None,
    cutoff: float = np.inf,
    printed: bool = False,
    starts: tuple[Ints, Ints] | None = None,
) -> Found | None:
    """Return the schedule of least weight * completion + cost, None if none is below ``cutoff``.

    Equal values (1e-9, relative): the earliest completion, fewest workers, q = 1 first, then worker
    type, PS type, duration, fewest PS, workers and then PS on low servers.

    Parameters
    ----------
    types, modes, servers
    arrival : int
        First slot in which the job may run.
    weight : float
        What a slot of delay costs; with 0 there must be a deadline.
    deadline : int, optional
        The first slot that must be idle again.
    cutoff : float
    printed : bool
        Distributed placements as Algorithm 4 prints them: one greedy pass, the last g that is
        possible. Not exact.
    starts : pair of arrays of shape (G,), optional
        First and last start that each mode may have.
    """
    if modes.size == 0:
        return None
    first, last = starts if starts is not None else (NOBODY, NOBODY)
    value, cost, where = cheapest(
        modes.worker_type,
        modes.together,
        modes.workers,
        modes.duration,
        modes.mask,
        arrival,
        weight,
        NO_DEADLINE if deadline is None else deadline,
        cutoff,
        False,
        servers.worker_cost,
        servers.ps_cost,
        servers.least,
        servers.state.free,
        servers.state.room,
        servers.state.total,
        servers.state.top,
        servers.count,
        types.worker_demand,
        types.ps_demand,
        types.ps_needed,
        types.ring,
        np.empty_like(servers.count) if printed else None,
        first,
        last,
    )
    k, p, start, host, at_host = (int(x) for x in where)
    if k < 0:
        return None
    return Found(
        value,
        cost,
        int(modes.worker_type[k]),
        p,
        int(modes.workers[k]),
        start,
        int(modes.duration[k]),
        host,
        at_host,
    )


NOBODY = np.empty(0, np.int64)


def placement(types: Types, servers: PricedServers, found: Found) -> tuple[Ints, Ints]:
    """Return workers and PS on every server (class), each of shape (H,)."""
    m, n, host = found.worker_type, found.workers, found.host
    needed = 0 if types.ring else int(types.ps_needed[m, found.ps_type, n - found.at_host])
    workers, ps = np.zeros_like(servers.count), np.zeros_like(servers.count)
    if host >= 0:
        workers[host], ps[host] = found.at_host, needed
    if found.at_host == n:
        return workers, ps
    fill(
        *(m, n, n - found.at_host, found.start, found.duration, host),
        *(servers.worker_cost, servers.state.room, servers.count, types.ring, workers),
    )
    return workers, ps


def piece_of(found: Found, workers: Ints, ps: Ints, ring: bool, shift: int = 0) -> Piece:
    """Return the schedule with its placement on single servers, ``shift`` slots later."""
    return Piece(
        start=found.start + shift,
        duration=found.duration,
        worker_type=found.worker_type,
        ps_type=None if ring else found.ps_type,
        workers=tuple((int(h), int(workers[h])) for h in np.flatnonzero(workers)),
        ps=tuple((int(h), int(ps[h])) for h in np.flatnonzero(ps)),
    )
