"""Facts about an instance: sizes, loads, warnings; shadow prices of capacity."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from optsched.families.bipartite.certificate.check import BipartiteCertificate
from optsched.families.bipartite.instance import BipartiteInstance
from optsched.numbers.arrays import Floats

LIGHT = 1.0  # load below which no job takes capacity from another


def headline(inst: BipartiteInstance) -> str:
    """Return the size in a phrase."""
    return f"{len(inst.ports)} ports, {len(inst.machines)} machines, {inst.horizon} slots"


def offered_load(inst: BipartiteInstance) -> dict[str, float]:
    """Return the mean demand of the jobs of a slot over the capacity, by resource.

    A job may request a_l^k on each of its machines; inf where there is no capacity.
    """
    a = inst.arrays
    often = inst.counts / inst.horizon
    demand = np.bincount(a.row % a.resources, a.upper * often[a.port], minlength=a.resources)
    there = a.capacity.reshape(-1, a.resources).sum(axis=0)
    return {
        name: float(x / c) if c > 0 else (float("inf") if x > 0 else 0.0)
        for name, x, c in zip(inst.resources, demand, there, strict=True)
    }


def describe(inst: BipartiteInstance) -> dict[str, Any]:
    """Return the facts that `optsched show` prints, by their names."""
    a = inst.arrays
    kinds = Counter(u.kind for machine in inst.machines for u in machine.utility)
    units = inst.units or ("",) * len(inst.resources)
    return {
        "source": inst.source,
        "ports": len(inst.ports),
        "machines": len(inst.machines),
        "slots": inst.horizon,
        "slot seconds": inst.slot_seconds,
        "resources": dict(zip(inst.resources, units, strict=True)),
        "edges": sum(len(m.ports) for m in inst.machines),
        "ports per machine": _spread(np.array([len(m.ports) for m in inst.machines], float)),
        "channels": a.channels,
        "jobs": int(inst.jobs.sum()),
        "jobs per slot": _spread(inst.jobs.sum(axis=1).astype(float)),
        "most jobs of a port in a slot": max(port.most_jobs for port in inst.ports),
        "patterns of jobs": len(inst.patterns[0]),
        "gain": "of the sum over machines" if a.summed else "of each machine",
        "utilities": {kind: kinds[kind] for kind in sorted(kinds)},
        "overhead": dict(zip(inst.resources, inst.overhead, strict=True)),
        "offered load": offered_load(inst),
        "drawn": list(inst.drawn),
    }


def _spread(values: Floats) -> dict[str, float]:
    return {
        "min": float(values.min()),
        "mean": float(values.mean()),
        "max": float(values.max()),
    }


def warnings(inst: BipartiteInstance) -> list[str]:
    """Return warnings about a valid instance."""
    found = []
    connected = {p for machine in inst.machines for p in machine.ports}
    for i in range(len(inst.ports)):
        if i not in connected:
            found.append(f"port {i}: connected to no machine, its jobs earn nothing")
    if not inst.jobs.any():
        found.append("no job arrives: every decision earns 0")
    load = max(offered_load(inst).values())
    if load < LIGHT:
        found.append(f"the offered load is {load:.2g}: all jobs fit, and policies may look alike")
    if all(u.kind == "linear" for machine in inst.machines for u in machine.utility):
        found.append("all utilities are linear: every greedy rule is near the optimum")
    return found


def shadow_prices(
    inst: BipartiteInstance, certificate: BipartiteCertificate
) -> list[dict[str, Any]]:
    """Return, for every machine and resource with a price, the most that one more unit earns.

    ``price`` is in units of the objective for one more unit on that machine in all slots; in
    decreasing order. A dual value bounds the gain from one more unit of capacity (Dantzig, 1963):
    these are the certificate's prices, summed over all slots.
    """
    prices = np.array([p.nu for p in certificate.prices], float) * 2.0**-certificate.nu_bits
    if certificate.scope == "stationary":
        total = prices[0]
    else:
        sets = np.bincount(certificate.assigned, inst.pattern_times, minlength=len(prices))
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
