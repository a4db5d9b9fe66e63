"""Shadow prices of capacity: the dual values of a certificate in natural units.

A dual value bounds what one more unit of capacity would save (Dantzig, 1963).
"""

from __future__ import annotations

from optsched.families.completion.certificate.check import CompletionCertificate
from optsched.families.completion.instance import CompletionInstance
from optsched.scheduling.shadow import PricedSide, Row, capacity_rows


def shadow_prices(inst: CompletionInstance, certificate: CompletionCertificate) -> list[Row]:
    """Return, for every slot, class and resource with a price, what one more unit saves at most.

    ``price`` is in units of the objective for one more natural unit (one GPU, one GB) on one server
    of the class in the slot. A certificate with several price lists, a tree, gives none.
    """
    if len(certificate.prices) != 1:
        return []
    side = PricedSide("server", inst.arrays.classes, inst.servers, inst.arrays.scale)
    return capacity_rows(inst, side, certificate.prices[0], certificate.grid_bits)
