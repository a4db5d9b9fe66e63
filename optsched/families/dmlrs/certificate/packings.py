"""Value of the machines of a slot at prices of workers that sit together, cached by slot.

The slot's subproblem in the Lagrangian dual bound (Geoffrion, 1974); `slot_packing` solves it.
"""

from __future__ import annotations

import numpy as np

from optsched.families.dmlrs.certificate.kernels import NONE
from optsched.families.dmlrs.certificate.limits import PackingPriced, ValueGrid, demands
from optsched.families.dmlrs.certificate.slot_packing import MOST_JOBS, best_packing
from optsched.families.dmlrs.instance import IMPOSSIBLE, LARGEST_UNITS
from optsched.numbers.arrays import Ints
from optsched.proofs.branching import JobLimits
from optsched.proofs.grid import charged, lowered

MEMORY = 2**28  # bytes of results that are kept


class Packings:
    """Value of all machines of a slot, where every job is on one of them."""

    def __init__(
        self,
        scale: ValueGrid,
        capacity: Ints,
        count: Ints,
        tables: list[tuple[Ints, Ints]],
    ) -> None:
        self.scale, self.inst = scale, scale.inst
        self.capacity, self.count = capacity, count
        jobs, most = len(tables), max((len(inner) for inner, _ in tables), default=1)
        alpha, beta = demands(self.inst)
        self.load = np.zeros((jobs, most, capacity.shape[1]), np.int64)
        self.fits = np.zeros((len(capacity), jobs, most), np.bool_)
        for i, (inner, _) in enumerate(tables):
            for n in np.flatnonzero(inner != IMPOSSIBLE).tolist():
                load = n * alpha[i].astype(object) + int(inner[n]) * beta[i].astype(object)
                self.load[i, n] = np.minimum(load, LARGEST_UNITS)  # which fits nowhere
                self.fits[:, i, n] = (self.load[i, n] <= capacity).all(axis=1)
        self._prices: tuple[int, Ints] | None = None
        self._known: dict[tuple[object, ...], int] = {}

    def together(self, priced: PackingPriced) -> Ints:
        """Return the price of n workers that sit together, shape (I, T, N + 1)."""
        if self._prices is None or self._prices[0] != priced.key:
            each = lowered(priced.together, self.scale.shift, self.scale.dearest)
            total = np.pad(each.cumsum(axis=2), ((0, 0), (0, 0), (1, 0)))
            self.charged = self.scale.packings(total).most
            self._prices = (priced.key, total)
        return self._prices[1]

    def value(self, limits: JobLimits, priced: PackingPriced) -> int:
        """Return the value of all slots beyond that of capacity."""
        together = self.together(priced)
        most = np.where(limits.running(self.inst.arrays.arrival), limits.high, 0)
        return sum(
            self._slot(t, together[:, t], priced.prices[t], most[:, t])
            for t in range(self.inst.horizon)
        )

    def _slot(self, t: int, together: Ints, prices: Ints, most: Ints) -> int:
        here = np.flatnonzero((most > 0) & (together[:, -1] > 0))
        if here.size > MOST_JOBS:
            raise ValueError(
                f"slot {t}: {here.size} jobs have prices of workers that sit together, expected at "
                f"most {MOST_JOBS}"
            )
        name = (
            together[here].tobytes(),
            prices.tobytes(),
            here.tobytes(),
            most[here].tobytes(),
        )
        if name not in self._known:
            if len(self._known) * sum(map(len, name[:2])) >= MEMORY:
                self._known.clear()
            number = np.arange(self.load.shape[1])[None, :]
            allowed = number <= most[here, None]
            value = np.full((len(self.capacity), *allowed.shape), -NONE, np.int64)
            for c, price in enumerate(prices):
                cost = charged(self.load[here], price, self.scale.shift, self.charged)
                gain = together[here] - cost
                value[c] = np.where(allowed & self.fits[c, here], gain, -NONE)
            self._known[name] = int(best_packing(value, self.load[here], self.capacity, self.count))
        return self._known[name]
