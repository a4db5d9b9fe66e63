"""What the figures of the PD-ORS thesis share: references, and lines with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from optsched.core import solve
from optsched.drawing import COLOURS, finish
from optsched.papers.experiment import OPEN, Row, Rows, Setting, line, mean_with_interval
from optsched.problem import Instance

LABELS = {
    "pd-ors": "PD-ORS",
    "oasis": "OASiS",
    "colocate": "first machine with room",
    "value": "best schedule known",
    "bound": "certified bound",
}
COMMON: tuple[Setting, ...] = (
    Setting("jobs, demands, rates", "preset paper", 'Sec. 4.1: "E_i in [50, 150], ..."'),
    Setting("utility", "1 / (1 + delay)", "Sec. 4.1"),
    Setting("machines", "EC2-like, with 1 to 16 GPUs", f"{OPEN}"),
)


def reference(instance: Instance, time_limit: float, seed: int) -> Row:
    """Return what is known of the optimum with hindsight: its value, at least and at most."""
    found = solve(instance, time_limit=time_limit, seed=seed)
    return {"value": found.value or 0.0, "bound": found.bound, "bound_level": found.bound_level}


def means(rows: Rows, names: Sequence[str]) -> dict[str, Any]:
    """Return mean and interval of several numbers of the rows."""
    return {name: mean_with_interval([row[name] for row in rows]) for name in names}


def lines(axis: Axes, of: str, label: str, points: Sequence[Any], names: Sequence[str]) -> None:
    """Draw a line of utilities with its interval for every name, against one of the points' own."""
    for k, name in enumerate(names):
        style = {"value": "--", "bound": ":", "colocate": "s:"}.get(name, "o-")
        x, y = [p[of] for p in points], [p[name] for p in points]
        line(axis, x, y, COLOURS[k], LABELS[name], style)
    axis.set_ylim(bottom=0)
    finish(axis, label, "total utility (mean, 95 % interval)", legend=8)
