"""Initial bounds: the Lagrangian dual bound at prices 0, and the empty schedule.

At prices 0 every job runs alone on the empty machines (Geoffrion, 1974). It needs no kernel and no
solver, so every solve starts with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from optsched.families.oasis.certificate.bound import LeafBounds
from optsched.families.oasis.certificate.check import FINEST_GRID, OasisCertificate
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.verify import verify
from optsched.proofs.grid import ceil_log2, float_above
from optsched.proofs.limits import richest_end
from optsched.scheduling import units

BITS = 40  # of the grid, below the most that a job can earn


def opening(inst: OasisInstance) -> tuple[float, Callable[[], OasisCertificate]]:
    """Return the bound at prices 0, and the data of its certificate: every job alone, all is empty.

    Without compiled kernels: it is there at once.
    """
    bits = min(FINEST_GRID, BITS - ceil_log2(richest_end(inst)))  # no float is smaller
    bound = LeafBounds(inst, bits).unpriced()
    return float_above(bound), partial(OasisCertificate.root, inst, None, bits)


def empty(inst: OasisInstance) -> OasisSchedule:
    """Return the schedule without any job."""
    return OasisSchedule(jobs=(None,) * len(inst.jobs))


def trim(inst: OasisInstance, schedule: OasisSchedule) -> OasisSchedule:
    """Leave out the jobs that do not complete: they earn nothing, and use capacity of others."""
    completion = verify(inst, schedule, unfinished=True).completion
    kept = zip(schedule.jobs, completion, strict=False)
    return OasisSchedule(jobs=tuple(plan if c is not None else None for plan, c in kept))


def _earned(inst: OasisInstance) -> Iterator[float]:
    """Yield the values of the jobs that can complete on the empty machines."""
    for job, end in zip(inst.jobs, inst.earliest, strict=True):
        if end is not None:
            yield job.utility(end - job.arrival)


in_units = partial(units.in_units, earned=_earned)
