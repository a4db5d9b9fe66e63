"""The feasible rates as rows of a linear program, with columns scaled to what their pair can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from optsched.families.bot.instance import BotInstance
from optsched.families.bot.instance_alone import by_node
from optsched.numbers.arrays import Floats, Ints


class Region:
    """Rates x >= 0, one per pair that exists, whose loads are at most 1.

    A pair at x = 1 has the rate that it could have alone, so that it fills what limits it: the
    largest entry of a column is 1, whatever the sizes of tasks, nodes and links.
    """

    def __init__(self, inst: BotInstance) -> None:
        self.inst = inst
        self.apps, self.nodes = np.nonzero(inst.present)
        alone = np.array([by_node(inst, k) for k in range(len(inst.applications))])
        self.most = alone[self.apps, self.nodes]  # tasks/s of a pair at x = 1
        flop = np.array([app.flop for app in inst.applications])
        share = flop[self.apps] * self.most / np.array(inst.speed)[self.nodes]
        columns = np.arange(len(self.apps))
        rows, cols, entries = [self.nodes], [columns], [share]
        offset = len(inst.speed)
        for k, (app, way) in enumerate(zip(inst.applications, inst.deployments, strict=True)):
            for size, turn in ((app.bytes, 0), (app.return_bytes, 1)):
                if size > 0:
                    for c in columns[self.apps == k].tolist():
                        used = _route(way.before, way.arc, int(self.nodes[c])) ^ turn
                        rows.append(offset + used)
                        cols.append(np.full(len(used), c))
                        entries.append(size * self.most[c] / inst.bandwidth[used])
        shape = (offset + len(inst.bandwidth), len(columns))
        where = (np.concatenate(rows), np.concatenate(cols))
        self.matrix: Any = csc_array((np.concatenate(entries), where), shape=shape)

    def rates(self, x: Floats) -> Floats:
        """Return rates by node, shape (K, N)."""
        rho = np.zeros(self.inst.present.shape)
        rho[self.apps, self.nodes] = np.maximum(x, 0.0) * self.most
        return rho

    def totals(self, unit: Floats) -> Any:
        """Return the matrix that turns x into the total of each application, in its unit (K,)."""
        columns = np.arange(len(self.apps))
        entries = self.most / unit[self.apps]
        return csc_array((entries, (self.apps, columns)), shape=(len(unit), len(columns)))

    def cheapest(self, duals: Floats) -> Floats:
        """Return what a task of each application costs at prices of whole rows, shape (K,)."""
        first = np.searchsorted(self.apps, np.arange(len(self.inst.applications)))
        price: Floats = np.minimum.reduceat((self.matrix.T @ duals) / self.most, first)
        return price

    def prices(self, duals: Floats) -> tuple[Floats, Floats]:
        """Return prices per flop (N,) and per byte (2 L,) of prices of whole rows."""
        speed, wide = np.array(self.inst.speed), self.inst.bandwidth
        node, arc = np.maximum(duals[: len(speed)], 0.0), np.maximum(duals[len(speed) :], 0.0)
        node = np.where(speed > 0, node / np.where(speed > 0, speed, 1.0), 0.0)
        return node, np.where(wide > 0, arc / np.where(wide > 0, wide, 1.0), 0.0)


def _route(before: Ints, arc: Ints, node: int) -> Ints:
    """Return the arcs from the master to a node."""
    used: list[int] = []
    while before[node] >= 0:
        used.append(int(arc[node]))
        node = int(before[node])
    return np.array(used, np.int64)


def scaled(values: Sequence[float] | Floats) -> Floats:
    """Return numbers divided by the largest."""
    array = np.asarray(values, float)
    return np.asarray(array / array.max())
