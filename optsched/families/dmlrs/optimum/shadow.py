"""Shadow prices of capacity: the dual values of a certificate in natural units.

A dual value bounds the gain from one more unit of capacity (Dantzig, 1963).
"""

from __future__ import annotations

from optsched.families.dmlrs.certificate.check import CapacityPrices, DmlrsCertificate
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.scheduling.shadow import PricedSide, Row, capacity_rows


def shadow_prices(inst: DmlrsInstance, certificate: DmlrsCertificate) -> list[Row]:
    """Return the most that one more natural unit in a slot earns, in decreasing order.

    A row for every slot, class of machines and resource with a price; ``price`` is for one more GPU
    or GB on one machine of the class. Only prices on capacity alone have that meaning: a
    certificate whose root prices workers gives none, nor does a program over slots.
    """
    root = certificate.nodes[0].prices
    if not isinstance(root, CapacityPrices) or certificate.program is not None:
        return []
    side = PricedSide("machine", inst.arrays.classes, inst.machines, inst.arrays.scale)
    return capacity_rows(inst, side, root.entries, certificate.grid_bits)
