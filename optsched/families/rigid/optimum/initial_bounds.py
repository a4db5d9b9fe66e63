"""Trivial bounds: every job starts when it arrives, or later.

At prices of nothing the Lagrangian bound (Geoffrion, 1974) is that of unlimited capacity.
"""

from __future__ import annotations

from collections.abc import Callable

from optsched.families.rigid.certificate.bound import Prices
from optsched.families.rigid.certificate.check import RigidCertificate, check
from optsched.families.rigid.instance import RigidInstance


def opening(inst: RigidInstance) -> tuple[float, Callable[[], RigidCertificate]]:
    """Return the bound without prices, and the data of its certificate."""
    none = Prices(times=(), price=((),) * len(inst.resources))
    made = RigidCertificate.root(inst, none, 0)
    return check(inst, made), lambda: made
