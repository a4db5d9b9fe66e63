"""Pictures of comparisons: ratios, convergence, and what the family draws of its schedules.

Everything draws on figures of its own (no window is opened) and is written as PNG.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.drawing import COLOURS, GRID, HINDSIGHT, new_figure, save
from optsched.optimum import Optimum
from optsched.problem import Instance, Schedule, family_of, get_family
from optsched.ratios import Judged, RatioReport


def save_report(instance: Instance, report: RatioReport, folder: Path) -> list[Path]:
    """Write all pictures of a comparison into ``folder`` and return their paths."""
    made = [save(ratio_bars(report), folder / "ratios.png")]
    schedules = _schedules(report)
    if schedules:
        made += save_show(instance, schedules, folder)
    if report.optimum.history:
        made.append(save(convergence(report.optimum), folder / "convergence.png"))
    return made


def save_show(instance: Instance, schedules: Mapping[str, Schedule], folder: Path) -> list[Path]:
    """Write the pictures of an instance, or of the schedules found for it."""
    drawn = family_of(instance).pictures(instance, schedules)
    return [save(figure, folder / f"{name}.png") for name, figure in drawn.items()]


def _schedules(report: RatioReport) -> dict[str, Schedule]:
    """Return what there is to draw, the best with hindsight first."""
    found = {} if report.optimum.schedule is None else {HINDSIGHT: report.optimum.schedule}
    return found | {run.policy: run.schedule for run in report.runs}


def convergence(optimum: Optimum) -> Figure:
    """Draw value and bound over time."""
    figure = new_figure(6.4, 3.8)
    axis = figure.subplots()
    for side, colour, name in (
        ("bound", COLOURS[1], "bound: no schedule is better"),
        ("value", COLOURS[0], "value of the best schedule so far"),
    ):
        points = [
            (p.seconds, getattr(p, side)) for p in optimum.history if getattr(p, side) is not None
        ]
        last = getattr(optimum, side)
        if points and last is not None:
            points.append((max(optimum.seconds, points[-1][0]), last))
            axis.step(*zip(*points, strict=True), where="post", color=colour, label=name)
    axis.set_xlabel("seconds")
    axis.set_ylabel("objective")
    axis.set_title(str(optimum), fontsize=9)
    axis.grid(color=GRID)
    axis.legend(frameon=False)
    return figure


def ratio_bars(report: RatioReport) -> Figure:
    """Draw each policy's ratio: solid up to its proven low end, hatched up to its high end."""
    rows = list(reversed(report.policies))
    figure = new_figure(6.8, 1.5 + 0.5 * len(rows))
    axis = figure.subplots()
    finite = [e for r in rows for e in (r.ratio.low, r.ratio.high) if e and math.isfinite(e)]
    edge = 1.18 * max(finite, default=1.0)
    for y, row in enumerate(rows):
        _bar(axis, y, row, edge)
    axis.axvline(1.0, color="black", linewidth=1)
    axis.set_yticks(range(len(rows)), [row.name for row in rows])
    axis.set_xlim(0, max(edge, 1.2))
    optimum = report.optimum
    meaning = ", optimum / policy" if optimum.sense == "max" else ", policy / optimum"
    if get_family(optimum.family).measure is not None:
        meaning = ""
    axis.set_xlabel(f"ratio{meaning} (1: the best with hindsight)")
    axis.set_title(str(optimum), fontsize=9)
    return figure


def _bar(axis: Axes, y: int, row: Judged, edge: float) -> None:
    low = min(row.ratio.low, edge)
    high = edge if row.ratio.high is None else min(row.ratio.high, edge)
    axis.barh(y, low, color=COLOURS[0], height=0.6)
    axis.barh(
        y, high - low, left=low, color="white", edgecolor=COLOURS[0], hatch="////", height=0.6
    )
    if row.ratio.exact:
        text = f"{row.ratio.low:.3g}"
    elif row.ratio.high is None:
        text = f"at least {row.ratio.low:.3g}"
    else:
        text = f"{row.ratio.low:.3g} .. {row.ratio.high:.3g}"
    inside = high > 0.8 * edge
    axis.annotate(
        text,
        (min(low, high) if inside else high, y),
        xytext=(-4 if inside else 4, 0),
        textcoords="offset points",
        ha="right" if inside else "left",
        va="center",
        fontsize=9,
        color="white" if inside else "black",
    )
