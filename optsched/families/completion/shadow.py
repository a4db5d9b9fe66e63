"""What one more unit of capacity would be worth: the certificate's prices in natural units."""

from __future__ import annotations

from typing import Any

from optsched.families.completion.certificate import CompletionCertificate
from optsched.families.completion.instance import CompletionInstance


def shadow_prices(
    inst: CompletionInstance, certificate: CompletionCertificate
) -> list[dict[str, Any]]:
    """Return, for every slot, class and resource with a price, what one more unit saves at most.

    ``price`` is in units of the objective for one more natural unit (one GPU, one GB) on one server
    of the class in the slot. A certificate with several price lists, a tree, gives none.
    """
    if len(certificate.prices) != 1:
        return []
    arrays = inst.arrays
    names = [c.name for c in inst.servers for _ in range(c.count)]
    found = []
    for slot, group, resource, price in certificate.prices[0]:
        first = arrays.classes[group][0]
        found.append(
            {
                "side": "server",
                "slot": slot,
                "machines": names[first] or f"server {first}",
                "resource": inst.resources[resource],
                "price": float(price * arrays.scale[resource] * 2.0**-certificate.grid_bits),
            }
        )
    return found
