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
from optsched.proofs.grid import float_above
from optsched.proofs.limits import richest_end


def opening(inst: DmlrsInstance) -> tuple[float, Callable[[], DmlrsCertificate]]:
    """Return the bound at prices 0, and the data of its certificate: jobs alone, at the earliest.

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
    # of the grid, below the most that a job can earn
    bits = min(FINEST_GRID, 40 - size)
    return float_above(bound), partial(DmlrsCertificate.root, inst, None, bits)
