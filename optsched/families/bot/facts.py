"""Facts about an instance of family `bot`, for `show` and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nlargest
from operator import itemgetter
from typing import Any

import numpy as np

from optsched.families.bot.certificate.check import BotCertificate
from optsched.families.bot.instance import BotInstance


def headline(inst: BotInstance) -> str:
    """Return the size in a phrase."""
    n, k = len(inst.speed), len(inst.applications)
    return f"{n} node{'s' * (n != 1)}, {k} application{'s' * (k != 1)}"


def describe(inst: BotInstance) -> Mapping[str, Any]:
    """Return facts: sizes, speeds, bandwidths, and the cost of each application."""
    speed = np.array(inst.speed)
    working = speed[speed > 0]
    facts: dict[str, Any] = {
        "nodes": len(speed),
        "links": len(inst.links),
        "shape": "tree" if inst.is_tree else "with cycles, routes given",
        "hops from a master, at most": max(
            int(_depth(way.order, way.before)) for way in inst.deployments
        ),
        "speed, flop/s": f"{working.min():.4g} to {working.max():.4g}, {speed.sum():.4g} in all",
        "utility": {1.0: "proportional fairness", 0.0: "total throughput", "inf": "max-min"}.get(
            inst.alpha, f"alpha-fairness, alpha {inst.alpha}"
        ),
    }
    if inst.links:
        width = inst.bandwidth[inst.bandwidth > 0]
        facts["bandwidth, byte/s"] = (
            f"{width.min():.4g} to {width.max():.4g}" if len(width) else "0"
        )
    for k, app in enumerate(inst.applications):
        where = inst.names[app.master] if inst.names else f"node {app.master}"
        name = f" ({app.name})" if app.name else ""
        facts[f"application {k}{name}"] = (
            f"at {where}: {app.flop:.4g} flop, {app.bytes:.4g} bytes"
            + (f", {app.return_bytes:.4g} back" if app.return_bytes else "")
            + f" per task, {int(inst.deployments[k].present.sum())} nodes"
        )
    return facts


def _depth(order: Any, before: Any) -> int:
    hops = [0] * len(before)
    for n in order[1:].tolist():
        hops[n] = hops[before[n]] + 1
    return max(hops)


def warnings(inst: BotInstance) -> Sequence[str]:
    """Return warnings on legal values that are probably unintended."""
    found = []
    for k, way in enumerate(inst.deployments):
        reached = int(way.present.sum())
        if reached == 1 and len(inst.speed) > 1:
            found.append(
                f"application {k}: only node {int(way.present.argmax())} can run its tasks"
            )
    idle = np.flatnonzero((np.array(inst.speed) > 0) & ~inst.present.any(axis=0))
    if len(idle):
        found.append(
            f"{len(idle)} node{'s' * (len(idle) > 1)} that no application may use, "
            f"the first is {idle[0]}"
        )
    return found


def shadow_prices(inst: BotInstance, certificate: BotCertificate) -> list[Mapping[str, Any]]:
    """Return the value of one more unit of speed or bandwidth, in decreasing order.

    The prices of a certificate may all be multiplied; here they are such that all that is there
    costs the sum of the weights, which makes them derivatives of a logarithmic utility.
    """
    if inst.alpha != 1:
        return []
    prices, wide = certificate.levels[0], inst.bandwidth.tolist()
    found = [(price * inst.speed[n], n, "flop/s", price) for n, price in prices.nodes]
    found += [(price * wide[a], a, "byte/s", price) for a, price in prices.arcs]
    pay = sum(row[0] for row in found)
    factor = float(inst.weights.sum()) / pay if pay > 0 else 1.0
    return [
        ({"node": i} if resource == "flop/s" else {"link": inst.arc_name(i)})
        | {"resource": resource, "price": price * factor, "share": value / pay}
        for value, i, resource, price in nlargest(MOST, found, key=itemgetter(0))
        if value > LEAST * pay
    ]


MOST, LEAST = 100, 1e-6  # rows, and the share of all value of a row
