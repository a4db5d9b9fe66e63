"""What one application could reach: by itself on the whole platform, and on its best node.

Plain Python, in a walk over its routes: at hand in a blink, before anything is compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optsched.families.bot.instance import BotInstance

UNLIMITED = float("inf")


def widths(inst: BotInstance, k: int) -> list[float]:
    """Return how many tasks/s of application k the arcs of the link into each node carry."""
    app, way = inst.applications[k], inst.deployments[k]
    bandwidth, out = inst.bandwidth.tolist(), [UNLIMITED] * len(inst.speed)
    for n, arc in enumerate(way.arc.tolist()):
        if arc >= 0:
            if app.bytes > 0:
                out[n] = bandwidth[arc] / app.bytes
            if app.return_bytes > 0:
                out[n] = min(out[n], bandwidth[arc ^ 1] / app.return_bytes)
    return out


def by_node(inst: BotInstance, k: int) -> list[float]:
    """Return the rate of application k on each node if no other node ran any, 0 without a pair."""
    app, way = inst.applications[k], inst.deployments[k]
    before, present, reach = way.before.tolist(), way.present.tolist(), widths(inst, k)
    rates = [0.0] * len(inst.speed)
    for n in way.order.tolist():
        if before[n] >= 0:
            reach[n] = min(reach[n], reach[before[n]])
        if present[n]:
            rates[n] = min(reach[n], inst.speed[n] / app.flop)
    return rates


def single(inst: BotInstance, k: int) -> tuple[int, float]:
    """Return the node that runs most of application k if no other node runs any, and its rate."""
    rates = by_node(inst, k)
    best = max(inst.deployments[k].order.tolist(), key=rates.__getitem__)
    return (best, rates[best]) if rates[best] > 0 else (-1, 0.0)


def alone(inst: BotInstance, k: int) -> float:
    """Return the rate of application k if it had the platform to itself, up to rounding."""
    app, way = inst.applications[k], inst.deployments[k]
    before, present, width = way.before.tolist(), way.present.tolist(), widths(inst, k)
    runs = [w / app.flop if p else 0.0 for w, p in zip(inst.speed, present, strict=True)]
    for n in reversed(way.order.tolist()):
        runs[n] = min(runs[n], width[n])
        if before[n] >= 0:
            runs[before[n]] += runs[n]
    return runs[int(way.order[0])]
