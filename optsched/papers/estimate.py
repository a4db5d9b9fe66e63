"""Numbers of ours with their intervals: means, medians and shares over instances, and leads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optsched.core.intervals import clopper_pearson, median_interval, student

WIDEST = 4.0  # factor between the ends of an interval from which on nothing holds exactly


@dataclass(frozen=True)
class MeanEstimate:
    """A mean over instances."""

    mean: float
    interval: tuple[float, float] | None  # 95 %; None for one number
    count: int
    same: bool = False  # all instances gave exactly `nothing`: neither more nor less
    difference: tuple[float, float] | None = None  # of a ratio: interval of the paired difference
    least: float | None = None  # nothing below it can be; its interval may be

    @classmethod
    def of(cls, sample: Sequence[float], *, nothing: float | None = 0.0) -> MeanEstimate:
        """Return the mean of ``sample``; ``nothing`` is what no effect would give."""
        interval = None
        if len(sample) > 1 and all(map(math.isfinite, sample)):
            low, high = student(np.asarray(sample, dtype=float))
            interval = float(low), float(high)
        same = nothing is not None and all(x == nothing for x in sample)
        return cls(sum(sample) / len(sample), interval, len(sample), same)

    @classmethod
    def median(cls, sample: Sequence[float]) -> MeanEstimate | None:
        """Return the median of ``sample`` with its exact interval; None of nothing."""
        if not sample:
            return None
        x = np.asarray(sample, dtype=float)
        return cls(float(np.median(x)), median_interval(x, x), len(sample))

    @classmethod
    def share(cls, count: int, of: int) -> MeanEstimate:
        """Return a share with its exact interval."""
        return cls(count / of, clopper_pearson(count, of), of)

    @property
    def wide(self) -> bool:
        """Whether the ends of the interval differ by more than a factor of four, or in sign."""
        if self.interval is None:
            return True
        low, high = sorted(map(abs, self.interval))
        return min(self.interval) < 0 < max(self.interval) or high > WIDEST * low


def lead(ours: Sequence[float], theirs: Sequence[float]) -> MeanEstimate | None:
    """Return by how much the mean of ``ours`` is above that of ``theirs``, relatively.

    The numbers are paired: of the same instances, in the same order. The interval is that of a
    ratio of means, which is wide where the mean of ``theirs`` is small; whether there is a lead at
    all is decided by the paired differences. None where the mean of ``theirs`` is not positive: a
    share of it means nothing. Where no number of ``ours`` is negative, there is no lead below -1.

    >>> found = lead([3.0, 3.0], [2.0, 2.0])
    >>> found.mean, found.interval, found.difference
    (0.5, (0.5, 0.5), (1.0, 1.0))
    """
    a, b = (np.asarray(x, dtype=float) for x in (ours, theirs))
    if not b.mean() > 0:
        return None
    ratio = float(a.mean() / b.mean())
    found = MeanEstimate.of((ratio - 1 + (a - ratio * b) / b.mean()).tolist(), nothing=None)
    apart = MeanEstimate.of((a - b).tolist(), nothing=None).interval
    least = -1.0 if (a >= 0).all() else None
    return MeanEstimate(ratio - 1, found.interval, len(a), bool((a == b).all()), apart, least)


def differences(ours: Sequence[float | None], theirs: Sequence[float | None]) -> list[float]:
    """Return by how much each of ``ours`` is above its pair, where both have a number.

    >>> differences([3.0, 2.0, None], [1.0, 2.5, 1.0])
    [2.0, -0.5]
    """
    pairs = zip(ours, theirs, strict=True)
    return [a - b for a, b in pairs if a is not None and b is not None]


def fewer(pairs: Sequence[float], of: Sequence[object], why: str) -> str:
    """Return why there are fewer pairs than instances; "" if there are as many.

    >>> fewer([1.0, 2.0], range(3), "where both have one")
    '2 of 3 instances: where both have one'
    >>> fewer([1.0, 2.0], range(2), "where both have one")
    ''
    """
    return "" if len(pairs) == len(of) else f"{len(pairs)} of {len(of)} instances: {why}"


def apart(ours: Sequence[float], theirs: Sequence[float]) -> MeanEstimate | None:
    """Return how far the mean of ``ours`` is above that of ``theirs``, which are not paired.

    None where one has no numbers.
    """
    if not ours or not theirs:
        return None
    both = [MeanEstimate.of(x, nothing=None) for x in (ours, theirs)]
    mean, ends = both[0].mean - both[1].mean, None
    halves = [(e.interval[1] - e.interval[0]) / 2 for e in both if e.interval is not None]
    if len(halves) == len(both):
        half = math.hypot(*halves)
        ends = mean - half, mean + half
    return MeanEstimate(mean, ends, min(e.count for e in both), False)
