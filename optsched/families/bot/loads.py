"""Loads of rates that may be infeasible, scaling to feasibility, and shares of nodes and arcs."""

from __future__ import annotations

import numpy as np

from optsched.families.bot.instance import BotInstance, widths
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


def equal_shares(inst: BotInstance) -> Floats:
    """Return the rates if all that use a node or an arc have a share of it by weight.

    Where an arc is too narrow for what an application could run beyond it, all of that is slowed
    down alike. The rates are feasible.

    Returns
    -------
    array of shape (K, N)
        Tasks/s, above 0 for every pair that exists.
    """
    g = inst.weights[:, None]
    nodes = g * inst.present
    arcs = g * _users(inst)
    return _rates(inst, nodes / _sum(nodes), arcs / _sum(arcs))


def equal_turns(inst: BotInstance) -> Floats:
    """Return the rates if all that use a node or an arc have one task served there in turn.

    Large tasks then get more of the node (or of the arc) than small ones. Shape (K, N).
    """
    flop = np.array([[app.flop] for app in inst.applications])
    nodes = flop * inst.present
    arcs = _users(inst) * np.array([[app.bytes + app.return_bytes] for app in inst.applications])
    return _rates(inst, nodes / _sum(nodes), arcs / _sum(arcs))


def _sum(shares: Floats) -> Floats:
    total = shares.sum(axis=0)
    return np.where(total > 0, total, 1.0)


def _users(inst: BotInstance) -> Floats:
    """Return which applications have somewhere to go through each link, by arc, (K, 2 L)."""
    used = np.zeros((len(inst.applications), len(inst.bandwidth)))
    unlimited = np.full(len(inst.speed), np.inf)
    for k, (app, way) in enumerate(zip(inst.applications, inst.deployments, strict=True)):
        beyond, _ = _filled(way.order, way.before, unlimited, way.present.astype(np.float64))
        there = way.arc[(way.arc >= 0) & (beyond > 0)]  # routes part: each link in one direction
        used[k, there] = app.bytes > 0
        used[k, there ^ 1] = app.return_bytes > 0
    return used


def _rates(inst: BotInstance, node_share: Floats, arc_share: Floats) -> Floats:
    speed = np.array(inst.speed)
    rates = np.zeros((len(inst.applications), len(speed)))
    for k, (app, way) in enumerate(zip(inst.applications, inst.deployments, strict=True)):
        width = widths(inst, k, arc_share[k])
        own = node_share[k] * speed / app.flop
        _, slowed = _filled(way.order, way.before, width, own)
        rates[k] = own * slowed
    return rates


def _filled(order: Ints, before: Ints, width: Floats, own: Floats) -> tuple[Floats, Floats]:
    """Return the flow into each node, and the factor that slows it down.

    Node n could run ``own``, and the arc into it carries at most ``width``.
    """
    wanted, slowed = own.copy(), np.ones(len(own))
    _fill(order, before, width, wanted, slowed)
    return wanted, slowed


@kernel(error_model="numpy")
def _fill(order: Ints, before: Ints, width: Floats, wanted: Floats, slowed: Floats) -> None:
    """Turn the rates that nodes could run, ``wanted`` (N,), into flows; return the factors.

    That is a factor, ``slowed`` (N,), 1 before; ``width`` (N,) in tasks/s, like the rates, is the
    most that the arc into each node carries. The order of nodes as in `_add_up`: ``order`` (n,) and
    ``before`` (N,).
    """
    for place in range(len(order) - 1, 0, -1):
        n = order[place]
        if wanted[n] > width[n]:
            slowed[n] = width[n] / wanted[n]
            wanted[n] = width[n]
        wanted[before[n]] += wanted[n]
    for place in range(1, len(order)):
        n = order[place]
        slowed[n] *= slowed[before[n]]
