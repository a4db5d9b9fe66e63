"""Axes: position of a number on one, and its tick marks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

SQUEEZED = 4  # largest ratio / median ratio from which an axis of ratios is logarithmic
HUGE = 1e12  # larger ratios are drawn like infinite ones
MARKS = 5  # about this many marks, which fit on a phone


@dataclass(frozen=True)
class AxisScale:
    """An axis from ``low`` to ``high``."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def of(cls, numbers: Iterable[float]) -> Self:
        """Return a linear axis that holds all finite numbers."""
        known = [x for x in numbers if math.isfinite(x)] or [0.0]
        low, high = min(known), max(known)
        margin = 0.04 * (high - low or abs(high) or 1.0)
        return cls(low - margin, high + margin)

    @classmethod
    def of_ratios(cls, lows: Iterable[float], others: Iterable[float] = ()) -> Self:
        """Return an axis that holds ratios, and 1; infinite and huge ones are beyond it.

        It is logarithmic where the largest is more than ``SQUEEZED`` times the median of ``lows``:
        else half of the policies would share a quarter of it.
        """
        known = [x for x in lows if 1 / HUGE <= x <= HUGE]
        ends = [1.0, *known, *(x for x in others if 1 / HUGE <= x <= HUGE)]
        low, high = min(ends), max(ends)
        if high > SQUEEZED * max(1.0, statistics.median_low(known or [1.0])):
            margin = max(high / low, 2.0) ** 0.04
            return cls(low / margin, high * margin, log=True)
        margin = 0.04 * max(high - low, 0.1)
        return cls(low - margin, max(high, low + 0.1) + margin)

    def at(self, x: float) -> float:
        """Return the position of a number, from 0 to 1; numbers outside are at the end.

        >>> AxisScale(0.0, 4.0).at(1.0), AxisScale(1.0, 100.0, log=True).at(10.0)
        (0.25, 0.5)
        >>> AxisScale(0.0, 1.0).at(7.0)
        1.0
        """
        x = min(max(x, self.low), self.high)
        if self.log:
            return math.log(x / self.low) / math.log(self.high / self.low)
        return (x - self.low) / (self.high - self.low)

    def marks(self) -> list[tuple[float, str]]:
        """Return places of marks (0 to 1) and what is written there.

        >>> [text for _, text in AxisScale(0.9, 2.1).marks()]
        ['1', '1.2', '1.4', '1.6', '1.8', '2']
        >>> [text for _, text in AxisScale(0.9, 1100.0, log=True).marks()]
        ['1', '10', '100', '1000']
        """
        return [(self.at(x), f"{x:.6g}") for x in self.steps()]

    def steps(self) -> list[float]:
        """Return the numbers that are marked."""
        if self.log:
            return self._powers()
        rough = (self.high - self.low) / MARKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = min((k * power for k in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / rough)))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]

    def _powers(self) -> list[float]:
        decades = math.log10(self.high / self.low)
        every = max(1, math.ceil(decades / MARKS))
        digits = [1.0, 1.5, 2.0, 3.0, 5.0]
        if decades > 1:
            digits = [1.0, 2.0, 5.0] if decades <= 2.2 else [1.0]
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [d * 10.0**k for k in powers if k % every == 0 for d in digits]
        return [x for x in found if self.low <= x <= self.high]
