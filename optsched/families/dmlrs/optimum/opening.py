"""What is known of every instance before anything is searched: a first bound, a first schedule."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optsched.families.dmlrs.certificate.format import FINEST_GRID, DmlrsCertificate
from optsched.families.dmlrs.certificate.limits import richest_end
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule
from optsched.families.dmlrs.verify import verify
from optsched.problem import Method
from optsched.proofs.grid import float_above
from optsched.scheduling.units import InUnits, unit_of

BITS = 40  # of the grid, below the most that a job can earn
WIDEST = 900  # bits that a utility may be above the best that can be earned, where it is scaled


def opening(inst: DmlrsInstance) -> tuple[float, DmlrsCertificate]:
    """Return the bound at prices 0, and its certificate: every job alone, as early as can be.

    Without compiled kernels: it is there at once.
    """
    richest = richest_end(inst)
    size = richest.numerator.bit_length() - richest.denominator.bit_length()
    bound = sum(
        (
            job.utility.upper(end - job.arrival)
            for job, end in zip(inst.jobs, inst.earliest, strict=True)
            if end is not None
        ),
        Fraction(0),
    )
    return float_above(bound), DmlrsCertificate.root(inst, None, min(FINEST_GRID, BITS - size))


def empty(inst: DmlrsInstance) -> DmlrsSchedule:
    """Return the schedule without any job."""
    return DmlrsSchedule(jobs=(None,) * len(inst.jobs))


def trim(inst: DmlrsInstance, schedule: DmlrsSchedule) -> DmlrsSchedule:
    """Leave out the jobs that do not complete: they earn nothing, and use what others could."""
    completion = verify(inst, schedule, unfinished=True).completion
    kept = zip(schedule.jobs, completion, strict=False)
    return DmlrsSchedule(jobs=tuple(plan if c is not None else None for plan, c in kept))


def in_units(method: Method) -> Method:
    """Return the method for instances whose utilities are in any unit: see `scheduling.units`."""

    def run(inst: DmlrsInstance, progress: Any, *, threads: int, seed: int) -> None:
        exponent = _exponent(inst)
        if exponent == 0:
            method(inst, progress, threads=threads, seed=seed)
            return
        twin = inst.shifted(-exponent)

        def back(certificate: DmlrsCertificate) -> DmlrsCertificate:
            bits = certificate.grid_bits - exponent
            return certificate.model_copy(
                update={"instance_sha256": inst.digest(), "grid_bits": bits}
            )

        method(twin, InUnits(progress, twin, exponent, back), threads=threads, seed=seed)

    return run


def _exponent(inst: DmlrsInstance) -> int:
    """Return the unit of what the best job can earn on the empty machines."""
    earned = [
        job.utility(end - job.arrival)
        for job, end in zip(inst.jobs, inst.earliest, strict=True)
        if end is not None
    ]
    richest = max((job.utility(0) for job in inst.jobs), default=0.0)
    exponent = unit_of(max(earned, default=0.0) or richest)
    return max(exponent, unit_of(richest) - WIDEST)
