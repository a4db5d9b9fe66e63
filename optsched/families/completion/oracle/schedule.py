"""Pricing subproblem of one job: the problem (12), (20), solved exactly by enumeration.

It prices the columns of the Dantzig-Wolfe decomposition (Lübbecke and Desrosiers, 2005), and is
the online algorithm's subproblem.

For nonnegative prices one host of parameter servers (PS) is enough, since (2i) holds for each host
alone. So an optimal distributed placement has a PS host, g of the n workers on it, the others on
the cheapest servers, and max(1, ceil((n - g) b / B)) PS. Enumerating host and g is exact; in a
ring no server may hold all workers.

Servers come in classes of equal ones that have equal prices; online every server is a class.

All workers at the lowest price of each slot bound a mode and completion from below. The search is
repeated with rising limits above the least of these bounds: once the limit is not below the
optimum, few modes and completions are within it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.completion.instance import Piece
from optsched.families.completion.modes import Modes, Types
from optsched.families.completion.oracle.kernels import Request, cheapest, fill
from optsched.families.completion.oracle.servers import PricedServers
from optsched.numbers.arrays import Ints

NO_DEADLINE = 2**40


class CheapestSchedule(NamedTuple):
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
) -> CheapestSchedule | None:
    """Return the schedule of least weight * completion + cost, None if none is below ``cutoff``.

    Equal values (1e-9, relative): the earliest completion, fewest workers, q = 1 first, then worker
    type, PS type, duration, fewest PS, workers and then PS on low servers.

    Parameters
    ----------
    types, modes, servers
    arrival : int
        First slot in which the job may run.
    weight : float
        Cost of a slot of delay; with 0 there must be a deadline.
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
    end = NO_DEADLINE if deadline is None else deadline
    first, last = starts or (NOBODY, NOBODY)
    request = Request(arrival, weight, end, cutoff, first, last)
    value, cost, where = cheapest(types[:], modes[:], servers[:], request[:], printed or None)
    k, p, start, host, at_host = (int(x) for x in where)
    if k < 0:
        return None
    m, n, d = int(modes.worker_type[k]), int(modes.workers[k]), int(modes.duration[k])
    return CheapestSchedule(value, cost, m, p, n, start, d, host, at_host)


NOBODY = np.empty(0, np.int64)


def placement(types: Types, servers: PricedServers, found: CheapestSchedule) -> tuple[Ints, Ints]:
    """Return workers and PS on every server (class), each of shape (H,)."""
    m, n, host = found.worker_type, found.workers, found.host
    needed = 0 if types.ring else int(types.ps_needed[m, found.ps_type, n - found.at_host])
    workers, ps = np.zeros_like(servers.number), np.zeros_like(servers.number)
    if host >= 0:
        workers[host], ps[host] = found.at_host, needed
    if found.at_host < n:
        most = n - 1 if types.ring else n
        where = found.start, found.completion, n - found.at_host
        fill(servers[:], m, *where, most, host, workers)
    return workers, ps


def load_of(types: Types, found: CheapestSchedule, workers: Ints, ps: Ints) -> Ints:
    """Return the units that a placement takes, shape (H, R)."""
    load: Ints = workers[:, None] * types.worker_demand[found.worker_type]
    return load if types.ring else load + ps[:, None] * types.ps_demand[found.ps_type]


def piece_of(found: CheapestSchedule, workers: Ints, ps: Ints, ring: bool, shift: int = 0) -> Piece:
    """Return the schedule with its placement on single servers, ``shift`` slots later."""
    return Piece(
        start=found.start + shift,
        duration=found.duration,
        worker_type=found.worker_type,
        ps_type=None if ring else found.ps_type,
        workers=tuple((int(h), int(workers[h])) for h in np.flatnonzero(workers)),
        ps=tuple((int(h), int(ps[h])) for h in np.flatnonzero(ps)),
    )
