"""What is known of every instance before anything is searched: a first bound, a first schedule."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optsched.families.oasis.certificate.bound import LeafBounds
from optsched.families.oasis.certificate.format import FINEST_GRID, OasisCertificate
from optsched.families.oasis.facts import fastest
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.verify import verify
from optsched.problem import Method
from optsched.proofs.grid import ceil_log2, float_above
from optsched.scheduling.units import InUnits, unit_of

BITS = 40  # of the grid, below the greatest utility
WIDEST = 900  # bits that a utility may be above the best that can be earned, where it is scaled


def opening(inst: OasisInstance) -> tuple[float, OasisCertificate]:
    """Return the bound at prices 0, and its certificate: every job alone on the empty machines.

    Without compiled kernels: it is there at once.
    """
    richest = max((job.utility.upper(0) for job in inst.jobs), default=Fraction(0))
    bits = min(FINEST_GRID, BITS - ceil_log2(richest))  # no float is smaller
    bound = LeafBounds(inst, bits).unpriced()
    return float_above(bound), OasisCertificate.root(inst, None, bits)


def empty(inst: OasisInstance) -> OasisSchedule:
    """Return the schedule without any job."""
    return OasisSchedule(jobs=(None,) * len(inst.jobs))


def trim(inst: OasisInstance, schedule: OasisSchedule) -> OasisSchedule:
    """Leave out the jobs that do not complete: they earn nothing, and use what others could."""
    completion = verify(inst, schedule, unfinished=True).completion
    kept = zip(schedule.jobs, completion, strict=False)
    return OasisSchedule(jobs=tuple(plan if c is not None else None for plan, c in kept))


def in_units(method: Method) -> Method:
    """Return the method for instances whose utilities are in any unit: see `scheduling.units`."""

    def run(inst: OasisInstance, progress: Any, *, threads: int, seed: int) -> None:
        exponent = _exponent(inst)
        if exponent == 0:
            method(inst, progress, threads=threads, seed=seed)
            return
        twin = inst.shifted(-exponent)

        def back(certificate: OasisCertificate) -> OasisCertificate:
            return certificate.model_copy(
                update={
                    "instance_sha256": inst.digest(),
                    "grid_bits": certificate.grid_bits - exponent,
                }
            )

        method(twin, InUnits(progress, twin, exponent, back), threads=threads, seed=seed)

    return run


def _exponent(inst: OasisInstance) -> int:
    """Return the unit of what the best job can earn on the empty machines."""
    least = {i: d for i, d in enumerate(fastest(inst)) if d is not None}
    earned = [
        inst.jobs[i].utility(d - 1)
        for i, d in least.items()
        if inst.jobs[i].arrival + d <= inst.horizon
    ]
    richest = max((job.utility(0) for job in inst.jobs), default=0.0)
    exponent = unit_of(max(earned, default=0.0) or richest)
    return max(exponent, unit_of(richest) - WIDEST)
