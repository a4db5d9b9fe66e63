"""Shadow prices of capacity: the dual values of a certificate in natural units.

A dual value bounds the gain from one more unit of capacity (Dantzig, 1963).
"""

from __future__ import annotations

import numpy as np

from optsched.families.oasis.certificate.check import CapacityPrices, OasisCertificate, SlotPrices
from optsched.families.oasis.instance import OasisInstance
from optsched.scheduling.oracle.patterns import STEPS, Knapsacks, best_patterns
from optsched.scheduling.shadow import PricedSide, Row, capacity_rows, class_name, dearest_first
from optsched.scheduling.units import times_two_to

NODES = 2000  # limit of the search for the pattern of a machine; beyond it, a bound on its value


def shadow_prices(inst: OasisInstance, certificate: OasisCertificate) -> list[Row]:
    """Return the most that more capacity in one slot earns, in decreasing order.

    Prices on capacity give a row for every slot, class and resource: ``price`` is for one more
    natural unit (one GPU, one GB) on one machine of the class. Prices per worker give a row for
    every slot and class, whose ``resource`` is "machine": ``price`` is for one more machine.
    """
    root = certificate.nodes[0].prices
    bits = certificate.grid_bits
    if isinstance(root, CapacityPrices):
        return _by_resource(inst, root, bits)
    if isinstance(root, SlotPrices):
        return _by_machine(inst, root, bits)
    return []


def _sides(inst: OasisInstance) -> tuple[PricedSide, PricedSide]:
    a = inst.arrays
    return (
        PricedSide("worker", a.worker_classes, inst.worker_machines, a.worker_scale),
        PricedSide("ps", a.ps_classes, inst.ps_machines, a.ps_scale),
    )


def _by_resource(inst: OasisInstance, root: CapacityPrices, bits: int) -> list[Row]:
    rows = []
    for k, side in enumerate(_sides(inst)):
        entries = ((t, c, r, p) for s, t, c, r, p in root.entries if s == k)
        rows += capacity_rows(inst, side, entries, bits)
    return dearest_first(rows)


def _by_machine(inst: OasisInstance, root: SlotPrices, bits: int) -> list[Row]:
    prices = np.zeros((2, len(inst.jobs), inst.horizon))
    for s, job, slot, price in root.entries:
        if s < 2 and job < len(inst.jobs) and slot < inst.horizon:  # others prove nothing
            prices[s, job, slot] = times_two_to(float(price), -bits)
    rows = []
    a = inst.arrays
    loads = ((a.worker_demand, a.worker_capacity), (a.ps_demand, a.ps_capacity))
    for k, (side, (demand, capacity)) in enumerate(zip(_sides(inst), loads, strict=True)):
        slots = np.flatnonzero(prices[k].any(axis=0))
        value = np.ascontiguousarray(prices[k][:, slots].T)
        most = [job.chunks if k == 0 else max(inst.ps_needed(i)) for i, job in enumerate(inst.jobs)]
        upper = np.where(value > 0, np.array(most, np.int64), 0)
        for members in side.classes:
            free = np.tile(capacity[members[0]].astype(float), (slots.size, 1))
            best, out = np.empty(slots.size), np.zeros_like(upper)
            knapsacks = Knapsacks(value, demand.astype(float), free, np.zeros_like(upper), upper)
            best_patterns(knapsacks, best, out, NODES, STEPS)
            name = class_name(side.machines, members)
            rows += [
                {"side": side.name, "slot": t, "machines": name, "resource": "machine", "price": p}
                for t, p in zip(slots.tolist(), best.tolist(), strict=True)
                if p > 0
            ]
    return dearest_first(rows)
