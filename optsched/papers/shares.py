"""Shares of platforms: their intervals, and bars beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from optsched.core.intervals import clopper_pearson, student
from optsched.drawing import COLOURS

WIDTH = 0.25  # of a bar; the places of groups are 1 apart


@dataclass(frozen=True)
class Share:
    """A share, its 95 % interval, and what stands above its bar."""

    value: float
    interval: tuple[float, float] | None
    label: str

    @classmethod
    def of(cls, count: int, number: int) -> Share:
        """Return ``count`` of ``number``, which are drawn one by one."""
        return cls(count / number, clopper_pearson(count, number), f"{count} / {number}")


def mean_share(sample: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of a mean of shares, one for each platform.

    >>> mean_share([0.25, 0.75, 0.5])[0] > 0
    False
    """
    if all(x in (0.0, 1.0) for x in sample):
        return clopper_pearson(int(sum(sample)), len(sample))
    if len(sample) < 2:
        return None
    low, high = student(np.asarray(sample, dtype=float))
    return max(0.0, float(low)), min(1.0, float(high))


def bars(axis: Axes, groups: Mapping[str, Sequence[Share | None]], ticks: Sequence[str]) -> None:
    """Draw a bar per share that is known, names side by side; with intervals if all have one."""
    for k, (name, shares) in enumerate(groups.items()):
        known = {i + (WIDTH + 0.02) * k: s for i, s in enumerate(shares) if s is not None}
        reach = [
            (s.value - s.interval[0], s.interval[1] - s.value) for s in known.values() if s.interval
        ]
        ends = np.maximum(reach, 0.0).T if len(reach) == len(known) > 0 else None
        drawn = axis.bar(
            [*known], [s.value for s in known.values()], WIDTH, yerr=ends, label=name,
            color=COLOURS[k], error_kw={"linewidth": 1, "capsize": 2},
        )  # fmt: skip
        axis.bar_label(drawn, [s.label for s in known.values()], fontsize=7, padding=1)
    middle = (WIDTH + 0.02) * (len(groups) - 1) / 2
    axis.set_xticks([i + middle for i in range(len(ticks))], ticks, fontsize=8)
    axis.set_ylim(0, 1.3)
    axis.set_yticks(np.linspace(0, 1, 6))
