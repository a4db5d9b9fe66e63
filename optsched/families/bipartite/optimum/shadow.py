"""Shadow prices of capacity: the certificate's prices, summed over all slots.

A dual value bounds the gain from one more unit of capacity (Dantzig, 1963).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.families.bipartite.certificate.check import BipartiteCertificate
from optsched.families.bipartite.instance import BipartiteInstance


def shadow_prices(
    inst: BipartiteInstance, certificate: BipartiteCertificate
) -> list[dict[str, Any]]:
    """Return, for every machine and resource with a price, the most that one more unit earns.

    ``price`` is in units of the objective for one more unit on that machine in all slots; in
    decreasing order.
    """
    prices = np.array([p.nu for p in certificate.prices], float) * 2.0**-certificate.nu_bits
    if certificate.scope == "stationary":
        total = prices[0]
    else:
        patterns, which = inst.patterns
        times = np.bincount(which, minlength=len(patterns))
        sets = np.bincount(certificate.assigned, times, minlength=len(prices))
        total = sets @ prices
    names, k = inst.resources, len(inst.resources)
    order = np.argsort(-total, kind="stable")[: np.count_nonzero(total > 0)]
    return [
        {
            "machine": row // k,
            "name": inst.machines[row // k].name,
            "resource": names[row % k],
            "price": price,
        }
        for row, price in zip(order.tolist(), total[order].tolist(), strict=True)
    ]
