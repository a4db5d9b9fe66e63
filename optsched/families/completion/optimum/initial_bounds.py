"""Initial bounds: every job alone on the empty servers, and all jobs one after the other.

The Lagrangian dual bound at prices 0 (Geoffrion, 1974), and a list schedule by arrival. In plain
Python, without kernels and solvers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from optsched.families.completion.certificate.check import CompletionCertificate, Leaf
from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionJob,
    CompletionSchedule,
    Piece,
)
from optsched.numbers.arrays import Flags, Ints
from optsched.numbers.resources import exact
from optsched.proofs.grid import float_below


def opening(inst: CompletionInstance) -> tuple[float, Callable[[], CompletionCertificate]]:
    """Return a bound without prices, and what makes its certificate: every job alone.

    Jobs may have as many workers as all servers hold together. The bound is infinite if some job
    has no time even so.
    """

    def certificate() -> CompletionCertificate:
        return CompletionCertificate(
            instance_sha256=inst.digest(), grid_bits=0, prices=((),), nodes=(Leaf(prices=0),)
        )

    max_units = _units_that_fit(inst)
    total = Fraction(0)
    for job in inst.jobs:
        d = _shortest(inst, job, max_units)
        if d is None or (inst.deadline is not None and job.arrival + d > inst.deadline):
            return math.inf, certificate
        total += exact(job.weight) * (job.arrival + d)
    return float_below(total), certificate


def one_by_one(inst: CompletionInstance) -> CompletionSchedule | None:
    """Return the schedule in which jobs run alone, in the order in which they arrive.

    All workers and PS are on one server, or all PS on one and the workers on others, whichever is
    quicker. None where a job cannot run so, or ends after the deadline.
    """
    max_units = _units_that_fit(inst)
    possible = _possible(inst, max_units)
    pieces: dict[int, Piece] = {}
    free = 0
    for j in sorted(range(len(inst.jobs)), key=lambda j: inst.jobs[j].arrival):
        start = max(free, inst.jobs[j].arrival)
        piece = _alone(inst, inst.jobs[j], max_units, possible, start)
        if piece is None or (inst.deadline is not None and piece.end > inst.deadline):
            return None
        pieces[j], free = piece, piece.end
    return CompletionSchedule(jobs=tuple((pieces[j],) for j in range(len(inst.jobs))))


def _most(inst: CompletionInstance) -> int:
    return max((job.chunks for job in inst.jobs), default=1)


def _units_that_fit(inst: CompletionInstance) -> Ints:
    """Return how many workers of each type every server holds, at most those of any job (M, H)."""
    a, most = inst.arrays, _most(inst)
    max_units = np.full((len(a.worker_demand), len(a.capacity)), most)
    for m, demand in enumerate(a.worker_demand):
        used = np.flatnonzero(demand)
        if used.size:
            max_units[m] = np.minimum((a.capacity[:, used] // demand[used]).min(axis=1), most)
    return max_units


def _shortest(inst: CompletionInstance, job: CompletionJob, max_units: Ints) -> int | None:
    durations = inst.durations(job)
    least = [
        int(durations[m, :, :, :most].min())
        for m, most in enumerate(max_units.sum(axis=1).tolist())
        if most
    ]
    return min(least, default=None)


def _possible(inst: CompletionInstance, max_units: Ints) -> Flags:
    """Return whether n workers fit, shape (M, P, 2, N): apart or together."""
    kinds = max(1, len(inst.ps_types))
    hosts = _hosts(inst, max_units)
    return np.array(
        [
            [[hosts(m, p, q).any(axis=0) for q in (0, 1)] for p in range(kinds)]
            for m in range(len(max_units))
        ]
    )


def _hosts(inst: CompletionInstance, max_units: Ints) -> Callable[[int, int, int], Flags]:
    """Return what states which classes of servers can be the host for n workers, shape (C, N)."""
    a = inst.arrays
    first = [members[0] for members in a.classes]
    number = np.arange(1, _most(inst) + 1)

    def hosts(m: int, p: int, q: int) -> Flags:
        own_units, total = max_units[m, first][:, None], int(max_units[m].sum())
        if inst.ring and q:
            return np.asarray(own_units >= number)
        if inst.ring:  # no server has all of them
            most = np.minimum(max_units[m][:, None], number - 1).sum(axis=0)
            return np.asarray(np.logical_and(most >= number, number > 1))[None]
        if q:
            load = number[:, None] * a.worker_demand[m] + a.ps_needed[m, p, 0] * a.ps_demand[p]
            enough = own_units >= number
        else:
            load = a.ps_needed[m, p, 1 : number.size + 1, None] * a.ps_demand[p]
            enough = total - own_units >= number
        fits = (load <= a.capacity[first][:, None]).all(axis=2)
        return np.asarray(np.logical_and(fits, enough))

    return hosts


def _alone(
    inst: CompletionInstance,
    job: CompletionJob,
    max_units: Ints,
    possible: Flags,
    start: int,
) -> Piece | None:
    """Return how a job runs the quickest on empty servers."""
    durations = inst.durations(job)
    ways = np.flatnonzero(possible[:, :, :, : job.chunks])
    if not ways.size:
        return None
    k = ways[np.argmin(durations.ravel()[ways])]
    m, p, q, n = (int(x) for x in np.unravel_index(k, durations.shape))
    workers, ps = _placed(inst, max_units, m, p, q, n + 1)
    return Piece(
        start=start,
        duration=int(durations[m, p, q, n]),
        worker_type=m,
        ps_type=None if inst.ring else p,
        workers=workers,
        ps=ps,
    )


Hosts = tuple[tuple[int, int], ...]


def _placed(
    inst: CompletionInstance, max_units: Ints, m: int, p: int, q: int, n: int
) -> tuple[Hosts, Hosts]:
    """Return hosts of n workers and their PS, which must fit."""
    a = inst.arrays
    c = int(np.argmax(_hosts(inst, max_units)(m, p, q)[:, n - 1]))
    host = a.classes[c][0]
    ps = () if inst.ring else ((host, int(a.ps_needed[m, p, 0 if q else n])),)
    if q:
        return ((host, n),), ps
    workers, left = [], n
    for h, own_units in enumerate(max_units[m].tolist()):
        here = min(left, own_units, n - 1 if inst.ring else n)
        if here and (inst.ring or h != host):
            workers.append((h, here))
            left -= here
    return tuple(workers), ps
