"""Posted prices: exponential in the use of a machine (OASiS (22), PD-ORS (3.12)).

A price rises from L, where nothing is used, to U, where everything is; both are kept as logarithms,
since a time-critical utility makes L as small as exp(-400).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.scheduling.online.ledger import Ledger


class PostedPrices:
    """Prices of one side: ``p = exp(ln L + x (ln U - ln L))`` with x = used / capacity.

    Parameters
    ----------
    ledger : Ledger
    ln_upper : sequence of shape (R,)
        ln U^r; None for a resource without demand, whose price is 0.
    ln_lower : float or None
        ln L; None if there is no demand on this side.
    """

    def __init__(
        self, ledger: Ledger, ln_upper: Sequence[float | None], ln_lower: float | None
    ) -> None:
        self.ledger = ledger
        self.priced = [r for r, u in enumerate(ln_upper) if u is not None and ln_lower is not None]
        lower = 0.0 if ln_lower is None else ln_lower
        self.lower = np.full((len(self.priced), 1), lower)
        self.span = np.array([[ln_upper[r] - lower] for r in self.priced])  # type: ignore[operator]
        capacity = np.array(ledger.capacity, float).T[self.priced]  # (R', H)
        self.empty = capacity == 0.0
        self.capacity = np.where(self.empty, 1.0, capacity)
        # per natural unit, and per unit of the ledger as the oracle expects it; shape (T, R, H)
        self.price: Floats = np.zeros_like(ledger.used)
        self._per_unit = self.price.copy()
        self._scale = list(ledger.scale)
        self.refresh(range(len(ledger.used)))

    def refresh(self, slots: Sequence[int]) -> None:
        """Recompute the prices of ``slots`` from what is used."""
        if not self.priced:
            return
        scale = np.array([self.ledger.scale[r] for r in self.priced], float)[:, None]
        for t in slots:
            share = self.ledger.used[t, self.priced] / (scale * self.capacity)
            share = np.where(self.empty, 1.0, share)
            with np.errstate(over="ignore"):
                self.price[t, self.priced] = np.exp(self.lower + share * self.span)
            self._per_unit[t, self.priced] = self.price[t, self.priced] / scale

    def refresh_at(self, places: Ints) -> None:
        """Recompute the prices of single machines; ``places`` has rows [slot, machine]."""
        if not self.priced:
            return
        t, h = places.T
        for k, r in enumerate(self.priced):
            scale = float(self.ledger.scale[r])
            share = self.ledger.used[t, r, h] / (scale * self.capacity[k, h])
            share[self.empty[k, h]] = 1.0
            with np.errstate(over="ignore"):
                price = np.exp(self.lower[k] + share * self.span[k])
            self.price[t, r, h] = price
            self._per_unit[t, r, h] = price / scale

    def per_unit(self) -> Floats:
        """Return the prices per unit of the ledger, shape (T, R, H)."""
        if self._scale != self.ledger.scale:  # a finer decimal has come up
            self._scale = list(self.ledger.scale)
            self._per_unit = self.price / np.array(self._scale, float)[None, :, None]
        return self._per_unit


def ln_or_none(value: float) -> float | None:
    """Return ``value`` if it is a number, None for -inf."""
    return value if math.isfinite(value) else None
