"""Elimination order of the Newton systems: an instance on its tree, without fill-in (Parter, 1961).

Rates are in units of equal shares, loads in units of capacity. The limits of nodes and
arcs are numbered as in `kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.families.bot.instance import BotInstance
from optsched.families.bot.shares import equal_shares
from optsched.numbers.arrays import Flags, Floats, Ints


@dataclass(frozen=True)
class ScaledTree:
    """An instance on its tree, nodes in breadth-first order, everything scaled."""

    order: Ints  # (N,) node at each place
    parent: Ints  # (N,) place of the parent, -1 for the root
    master: Ints  # (K,) place of each master
    inside: Flags  # (N, K) whether the master lies at or below the node, which is not the root
    arc: Ints  # (2 N,) arc from the parent and back, for each node; -1 where there is none
    v: Floats  # (3 N, K) load of a limit per unit, 1 = full; negative where the master lies below
    present: Floats  # (N, K) 1 where the pair exists
    log_weights: Floats  # (K,) in the scaled units, the largest 0
    alpha: float
    unit: Floats  # (K,) tasks/s of one unit of rate
    start: Floats  # (N, K) strictly feasible rates

    @classmethod
    def of(cls, inst: BotInstance) -> ScaledTree:
        """Scale ``inst``, whose platform must be a tree."""
        n, apps = len(inst.speed), len(inst.applications)
        order, before, arc_to = inst.tree_from(0)
        place = np.empty(n, np.int64)
        place[order] = np.arange(n)
        parent = np.where(before[order] >= 0, place[before[order]], -1)
        shares = equal_shares(inst)  # (K, N)
        unit = shares.sum(axis=1)
        speed = np.array(inst.speed)[order]
        flop = np.array([app.flop for app in inst.applications]) * unit
        present = np.ascontiguousarray(inst.present.T[order].astype(float))
        arc = np.full(2 * n, -1)
        arc[2::2] = arc_to[order[1:]]
        arc[3::2] = arc_to[order[1:]] ^ 1
        width = np.append(inst.bandwidth, 0.0)[arc]
        v = np.zeros((3 * n, apps))
        v[:n] = present * flop / np.where(speed > 0, speed, 1.0)[:, None]
        master = np.array([place[app.master] for app in inst.applications])
        inside = np.array([_above(parent, int(m)) for m in master]).T.copy()
        for k, app in enumerate(inst.applications):
            there, back = app.bytes * unit[k], app.return_bytes * unit[k]
            v[n::2, k] = np.where(inside[:, k], -back, there)
            v[n + 1 :: 2, k] = np.where(inside[:, k], -there, back)
        v[n:] /= np.where(width > 0, width, 1.0)[:, None]
        v[n:][(arc < 0) | (width <= 0)] = 0.0
        power = 1.0 - float(inst.alpha)
        log_weights = np.log(inst.weights) + power * np.log(unit)
        log_weights -= log_weights.max()
        # the start takes this share of what equal shares give
        start = np.ascontiguousarray((0.5 * shares / unit[:, None]).T[order])
        return cls(
            order, parent, master, inside, arc, v, present, log_weights, float(inst.alpha), unit,
            start,
        )  # fmt: skip

    def natural(self, x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Return rates (K, N), prices per full node (N,) and per full arc (2 L,) by number."""
        n = len(self.order)
        rho = np.zeros((x.shape[1], n))
        rho[:, self.order] = x.T * self.unit[:, None]
        nodes, arcs = np.zeros(n), np.zeros(2 * (n - 1))
        nodes[self.order] = y[:n]
        used = self.arc >= 0
        arcs[self.arc[used]] = y[n:][used]
        return rho, nodes, arcs


def _above(parent: Ints, place: int) -> Flags:
    """Return whether each place lies on the way from ``place`` to the root, without the root."""
    inside = np.zeros(len(parent), bool)
    while place > 0:
        inside[place] = True
        place = int(parent[place])
    return inside
