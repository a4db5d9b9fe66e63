"""Initial bound: the Lagrangian dual bound at prices 0.

At prices 0 every job runs alone on the empty machines (Geoffrion, 1974). It needs no kernel and no
solver, so every solve starts with it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from optsched.families.dmlrs.certificate.check import FINEST_GRID, DmlrsCertificate
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.process import work_units
from optsched.proofs.grid import float_above
from optsched.proofs.limits import richest_end

FEW_TYPES = 100  # of machines, whose work is not counted
TYPE, LINKED = 0.02, 4e-3  # work units of a type for each job; and of its workers, link by link


def opening(inst: DmlrsInstance) -> tuple[float, Callable[[], DmlrsCertificate]]:
    """Return the bound at prices 0, and the data of its certificate: jobs alone, at the earliest.

    Without compiled kernels: it is there at once.
    """
    types, link = max(0, len(inst.machines) - FEW_TYPES), inst.locality == "link"
    work_units.begin(types * sum(TYPE + LINKED * link * job.chunks for job in inst.jobs))
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
    # of the grid, below the most that a job can earn
    bits = min(FINEST_GRID, 40 - size)
    return float_above(bound), partial(DmlrsCertificate.root, inst, None, bits)
