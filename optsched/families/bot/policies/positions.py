"""Instances as arrays in the order of the waves: one row per application, masters first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.bot.instance import BotInstance
from optsched.numbers.arrays import Flags, Floats, Ints


class Positions(NamedTuple):
    """Routes of all applications by place: a node comes after the one before it.

    A place that no route leads to is not there; rows shorter than N are filled with place 0.
    """

    size: Ints  # (K,) number of places
    node: Ints  # (K, N) node at each place
    up: Ints  # (K, N) place before
    arc: Ints  # (K, N) arc from there, -1 at the master
    present: Flags  # (K, N)
    flop: Floats  # (K,)
    bytes: Floats  # (K,)
    back: Floats  # (K,) bytes returned
    weights: Floats  # (K,)
    speed: Floats  # (N,)
    bandwidth: Floats  # (2 L,)

    @classmethod
    def of(cls, inst: BotInstance, active: Flags | None = None) -> Positions:
        """Arrange ``inst``; applications that are not ``active`` have no pairs."""
        apps, n = len(inst.applications), len(inst.speed)
        size = np.zeros(apps, np.int64)
        node, up, arc = (np.zeros((apps, n), np.int64) for _ in range(3))
        present = np.zeros((apps, n), bool)
        for k, way in enumerate(inst.deployments):
            count = size[k] = len(way.order)
            place = np.zeros(n, np.int64)
            place[way.order] = np.arange(count)
            node[k, :count] = way.order
            up[k, 1:count] = place[way.before[way.order[1:]]]
            arc[k, :count] = way.arc[way.order]
            present[k, :count] = way.present[way.order]
        if active is not None:
            present[~active] = False
        arc[:, 0] = -1
        return cls(
            size, node, up, arc, present,
            np.array([app.flop for app in inst.applications]),
            np.array([app.bytes for app in inst.applications]),
            np.array([app.return_bytes for app in inst.applications]),
            inst.weights, np.array(inst.speed), inst.bandwidth,
        )  # fmt: skip

    def by_node(self, values: Floats) -> Floats:
        """Return an array by place (K, N) as one by node; 0 where no route leads."""
        out = np.zeros(values.shape)
        for k, count in enumerate(self.size):
            out[k, self.node[k, :count]] = values[k, :count]
        return out

    def by_place(self, values: Floats) -> Floats:
        """Return an array by node (K, N) as one by place."""
        out = np.zeros(values.shape)
        for k, count in enumerate(self.size):
            out[k, :count] = values[k, self.node[k, :count]]
        return out
