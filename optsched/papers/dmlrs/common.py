"""What the figures of the PD-ORS thesis share: references, and lines with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from optsched.drawing import COLOURS
from optsched.optimum import solve
from optsched.papers.experiment import Row, mean_with_interval
from optsched.problem import Instance

LABELS = {"pd-ors": "PD-ORS", "oasis": "OASiS", "value": "best schedule known", "bound": "bound"}


def reference(instance: Instance, time_limit: float, seed: int) -> Row:
    """Return what is known of the optimum with hindsight: its value, at least and at most."""
    found = solve(instance, time_limit=time_limit, seed=seed)
    return {"value": found.value or 0.0, "bound": found.bound, "bound_level": found.bound_level}


def means(rows: Sequence[Row], names: Sequence[str]) -> dict[str, Any]:
    """Return mean and interval of several numbers of the rows."""
    return {name: mean_with_interval([row[name] for row in rows]) for name in names}


def lines(axis: Axes, x: Sequence[float], points: Sequence[Any], names: Sequence[str]) -> None:
    """Draw a line with its interval for every name."""
    for k, name in enumerate(names):
        colour, mine = COLOURS[k % len(COLOURS)], [p[name] for p in points]
        style = "--" if name in ("value", "bound") else "o-"
        axis.plot(
            x, [p["mean"] for p in mine], style, color=colour, label=LABELS[name], markersize=4
        )
        if all(p["interval"] for p in mine):
            low, high = zip(*(p["interval"] for p in mine), strict=True)
            axis.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axis.set_ylim(bottom=0)
    axis.grid(color="#EEEEEE")
    axis.legend(frameon=False, fontsize=8)
