"""What one more unit of capacity would be worth: the certificate's prices in natural units."""

from __future__ import annotations

from typing import Any

from optsched.families.oasis.certificate import CapacityPrices, OasisCertificate
from optsched.families.oasis.instance import OasisInstance

SIDES = ("worker", "ps")


def shadow_prices(inst: OasisInstance, certificate: OasisCertificate) -> list[dict[str, Any]]:
    """Return, for every slot, class and resource with a price, what one more unit earns at most.

    ``price`` is in units of the objective for one more natural unit (one GPU, one GB) on one
    machine of the class in the slot. Only prices on capacity have that meaning: a certificate whose
    root holds prices per worker gives none.
    """
    root = certificate.nodes[0].prices
    if not isinstance(root, CapacityPrices):
        return []
    arrays = inst.arrays
    scales = (arrays.worker_scale, arrays.ps_scale)
    classes = (arrays.worker_classes, arrays.ps_classes)
    capacity = (inst.worker_machines, inst.ps_machines)
    found = []
    for side, slot, group, resource, price in root.entries:
        members = classes[side][group]
        found.append(
            {
                "side": SIDES[side],
                "slot": slot,
                "machines": _name(capacity[side], members[0]) or f"machine {members[0]}",
                "resource": inst.resources[resource],
                "price": float(price * scales[side][resource] * 2.0**-certificate.grid_bits),
            }
        )
    return found


def _name(classes: Any, machine: int) -> str:
    """Return the name of the class that a single machine belongs to."""
    for machines in classes:
        if machine < machines.count:
            return str(machines.name)
        machine -= machines.count
    return ""
