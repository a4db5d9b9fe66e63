"""What one application could reach: by itself on the whole platform, and on its best node.

Without a kernel, in a walk over its routes: at hand in a blink, before anything is compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched.numbers.arrays import Floats
from optsched.process.interrupts import leave_if_abandoned

if TYPE_CHECKING:
    from optsched.families.bot.instance import BotInstance

UNLIMITED = float("inf")


def widths(inst: BotInstance, k: int) -> Floats:
    """Return how many tasks/s of application k the arcs of the link into each node carry, (N,)."""
    leave_if_abandoned()
    app, way = inst.applications[k], inst.deployments[k]
    out = np.full(len(inst.speed), UNLIMITED)
    routed = np.flatnonzero(way.arc >= 0)
    arc = way.arc[routed]
    if app.bytes > 0:
        out[routed] = inst.bandwidth[arc] / app.bytes
    if app.return_bytes > 0:
        out[routed] = np.minimum(out[routed], inst.bandwidth[arc ^ 1] / app.return_bytes)
    return out


def by_node(inst: BotInstance, k: int) -> Floats:
    """Return the rate of application k on each node if no other ran any, 0 without a pair, (N,)."""
    app, way = inst.applications[k], inst.deployments[k]
    beyond, reach = way.order[1:], widths(inst, k).tolist()
    for n, last in zip(beyond.tolist(), way.before[beyond].tolist(), strict=True):
        if reach[last] < reach[n]:
            reach[n] = reach[last]
    return np.where(way.present, np.minimum(reach, np.array(inst.speed) / app.flop), 0.0)


def single(inst: BotInstance, k: int) -> tuple[int, float]:
    """Return the node that runs most of application k if no other node runs any, and its rate."""
    order = inst.deployments[k].order
    rates = by_node(inst, k)[order]
    best = int(rates.argmax())
    return (int(order[best]), float(rates[best])) if rates[best] > 0 else (-1, 0.0)


def alone(inst: BotInstance, k: int) -> float:
    """Return the rate of application k if it had the platform to itself, up to rounding."""
    app, way = inst.applications[k], inst.deployments[k]
    before, present, width = way.before.tolist(), way.present.tolist(), widths(inst, k).tolist()
    runs = [w / app.flop if p else 0.0 for w, p in zip(inst.speed, present, strict=True)]
    for n in reversed(way.order.tolist()):
        runs[n] = min(runs[n], width[n])
        if before[n] >= 0:
            runs[before[n]] += runs[n]
    return runs[int(way.order[0])]
