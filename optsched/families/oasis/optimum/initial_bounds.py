"""Initial bound: the Lagrangian dual bound at prices 0.

At prices 0 every job runs alone on the empty machines (Geoffrion, 1974). It needs no kernel and no
solver, so every solve starts with it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from optsched.families.oasis.certificate.bound import LeafBounds
from optsched.families.oasis.certificate.check import FINEST_GRID, OasisCertificate
from optsched.families.oasis.instance import OasisInstance
from optsched.proofs.grid import ceil_log2, float_above
from optsched.proofs.limits import richest_end

BITS = 40  # of the grid, below the most that a job can earn


def opening(inst: OasisInstance) -> tuple[float, Callable[[], OasisCertificate]]:
    """Return the bound at prices 0, and the data of its certificate: every job alone, all is empty.

    Without compiled kernels: it is there at once.
    """
    bits = min(FINEST_GRID, BITS - ceil_log2(richest_end(inst)))  # no float is smaller
    bound = LeafBounds(inst, bits).unpriced()
    return float_above(bound), partial(OasisCertificate.root, inst, None, bits)
