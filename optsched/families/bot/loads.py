"""Loads of rates that may be infeasible, and scaling of rates to feasibility."""

from __future__ import annotations

import numpy as np

from optsched.families.bot.instance import BotInstance
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel


def relative_loads(inst: BotInstance, rho: Floats) -> tuple[Floats, Floats]:
    """Return load / capacity of nodes (N,) and arcs (2 L,) at ``rho`` (K, N); 0 if both are 0."""
    speed = np.array(inst.speed)
    flop = np.array([app.flop for app in inst.applications])
    # no matrix product: how one is added up depends on where the numbers lie in memory
    node = (flop[:, None] * rho).sum(axis=0)
    arc = np.zeros(2 * len(inst.links))
    for k, (app, way) in enumerate(zip(inst.applications, inst.deployments, strict=True)):
        beyond = rho[k].copy()
        _add_up(way.order, way.before, beyond)
        routed = np.flatnonzero(way.arc >= 0)
        np.add.at(arc, way.arc[routed], app.bytes * beyond[routed])
        if app.return_bytes > 0:
            np.add.at(arc, way.arc[routed] ^ 1, app.return_bytes * beyond[routed])
    return _over(node, speed), _over(arc, inst.bandwidth)


def feasible(inst: BotInstance, rho: Floats) -> Floats:
    """Return ``rho``, without pairs that do not exist, divided by the largest load above 1."""
    rates = np.where(inst.present & np.isfinite(rho), np.maximum(rho, 0.0), 0.0)
    return rates / max(1.0, overload(inst, rates))


def filled(inst: BotInstance, rho: Floats) -> Floats:
    """Return ``rho`` scaled such that the largest load is 1."""
    largest = overload(inst, rho)
    return rho / largest if largest > 0 else rho


def overload(inst: BotInstance, rho: Floats) -> float:
    """Return the largest load / capacity."""
    node, arc = relative_loads(inst, rho)
    return float(max(node.max(), arc.max(initial=0.0)))


def _over(load: Floats, capacity: Floats) -> Floats:
    out = np.zeros(len(load))
    np.divide(load, capacity, out=out, where=capacity > 0)
    out[(capacity == 0) & (load > 0)] = np.inf
    return out


@kernel(error_model="numpy")
def _add_up(order: Ints, before: Ints, sums: Floats) -> None:
    """Add the sums beyond each node to its own, ``sums`` (N,).

    Nodes are in the order of their distance, ``order`` (n,); ``before`` (N,) is the one on the way.
    """
    for place in range(len(order) - 1, 0, -1):
        sums[before[order[place]]] += sums[order[place]]
