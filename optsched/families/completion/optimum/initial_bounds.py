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
from optsched.numbers.arrays import Ints
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
    hosts = _hosts(inst, max_units)
    pieces: dict[int, Piece] = {}
    free = 0
    for j in sorted(range(len(inst.jobs)), key=lambda j: inst.jobs[j].arrival):
        start = max(free, inst.jobs[j].arrival)
        piece = _alone(inst, inst.jobs[j], max_units, hosts, start)
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


def _hosts(inst: CompletionInstance, max_units: Ints) -> Ints:
    """Return the server for n workers and their PS (apart: for the PS), -1: none, (M, P, 2, N)."""
    a, first = inst.arrays, np.array([members[0] for members in inst.arrays.classes])
    number = np.arange(1, _most(inst) + 1)
    hosts = np.empty((len(max_units), max(1, len(inst.ps_types)), 2, number.size), np.int64)
    for m, p, q in np.ndindex(hosts.shape[:3]):
        own_units = max_units[m, first][:, None]  # (C, 1)
        good = own_units >= number if q else int(max_units[m].sum()) - own_units >= number
        if inst.ring and not q:  # no server has all of them
            most = np.minimum(max_units[m][:, None], number - 1).sum(axis=0)
            good[:] = (most >= number) & (number > 1)
        if not inst.ring:
            needed = a.ps_needed[m, p, 0 * number if q else number]
            load = q * number[:, None] * a.worker_demand[m] + needed[:, None] * a.ps_demand[p]
            good &= (load <= a.capacity[first][:, None]).all(axis=2)
        hosts[m, p, q] = np.where(good.any(axis=0), first[good.argmax(axis=0)], -1)
    return hosts


def _alone(
    inst: CompletionInstance, job: CompletionJob, max_units: Ints, hosts: Ints, start: int
) -> Piece | None:
    """Return how a job runs the quickest on empty servers."""
    durations = inst.durations(job)
    ways = np.flatnonzero(hosts[:, :, :, : job.chunks] >= 0)
    if not ways.size:
        return None
    k = ways[np.argmin(durations.ravel()[ways])]
    m, p, q, n = (int(x) for x in np.unravel_index(k, durations.shape))
    left, host = n + 1, int(hosts[m, p, q, n])
    workers = [(host, left)] if q else []
    for h, own_units in enumerate([] if q else max_units[m].tolist()):
        here = min(left, own_units, n if inst.ring else n + 1)
        if here and (inst.ring or h != host):
            workers.append((h, here))
            left -= here
    ps = int(inst.arrays.ps_needed[m, p, 0 if q else n + 1]) if not inst.ring else 0
    return Piece(
        start=start,
        duration=int(durations[m, p, q, n]),
        worker_type=m,
        ps_type=None if inst.ring else p,
        workers=tuple(workers),
        ps=((host, ps),) if ps else (),
    )
