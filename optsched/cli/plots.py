"""Figures of comparisons: ratios, convergence, schedules.

Everything draws on figures of its own (no window is opened); `optsched.drawing` writes the files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from optsched.core import Optimum, Ratio, RatioReport, meaning
from optsched.drawing import (
    COLOURS,
    HINDSIGHT,
    colours_of,
    curve_labels,
    finish,
    headline,
    label_at,
    legend,
    new_figure,
    rows_figure,
    save,
    shorts,
    small,
)
from optsched.experiments.campaign import Campaign
from optsched.experiments.ratios_by_policy import RatioSample
from optsched.experiments.statistics import MARK, Summary, ecdf, statistics
from optsched.pages.scales import AxisScale
from optsched.problem import Instance, Schedule, family_of, get_family

DASHES = ("-", "--", "-.", ":")  # of curves, so that they differ without colours
OPEN = "; hatched: range where optima are open"
BEYOND, GAPS = 0.5, 10  # how far the axis of the objective reaches: shares of it, gaps left


def save_report(instance: Instance, report: RatioReport, folder: Path) -> list[Path]:
    """Write all pictures of a comparison into ``folder`` and return their paths."""
    made = [save(ratio_bars(report), folder / "ratios.png")]
    schedules = schedules_of(report)
    if schedules:
        made += save_show(instance, schedules, folder)
    if report.optimum.history:
        measured = family_of(instance).describe(instance).get("objective", "objective")
        made.append(save(convergence(report.optimum, measured), folder / "convergence.png"))
    return made


def save_show(instance: Instance, schedules: Mapping[str, Schedule], folder: Path) -> list[Path]:
    """Write the pictures of an instance, or of the schedules found for it, if there are any."""
    pictures = family_of(instance).pictures
    if pictures is None:
        return []
    drawn = pictures(instance, schedules)
    return [save(figure, folder / f"{name}.png") for name, figure in drawn.items()]


def schedules_of(report: RatioReport) -> dict[str, Schedule]:
    """Return the schedules to draw, the offline optimum first."""
    best = report.optimum.schedule
    found = {} if best is None else {HINDSIGHT: best}
    for name, schedule in report.schedules().items():
        found[f"policy {HINDSIGHT}" if name == HINDSIGHT else name] = schedule
    return found


def convergence(optimum: Optimum, measured: str = "objective") -> Figure:
    """Draw value and bound, which are ``measured``, over time.

    The axis reaches at most half of the objective, or ten times the gap that is left, beyond what
    is known in the end: earlier values may lie outside.
    """
    figure = new_figure(7.2, 4.0)
    axis = figure.subplots()
    ends = []
    for side, colour, dash, name in (
        ("bound", COLOURS[1], "--", "bound: no schedule is better"),
        ("value", COLOURS[0], "-", "value of the best schedule so far"),
    ):
        points = [(p.seconds, getattr(p, side)) for p in optimum.history]
        points = [(x, y) for x, y in points if y is not None and math.isfinite(y)]
        last = getattr(optimum, side)
        if points and last is not None and math.isfinite(last):
            points.append((max(optimum.seconds, points[-1][0]), last))
            ends.append(last)
            axis.step(*zip(*points, strict=True), dash, where="post", color=colour, label=name)
            axis.plot(*points[-1], "o", color=colour, markersize=4)
    if ends:
        reach = max(BEYOND * max(map(abs, ends)), GAPS * (max(ends) - min(ends)))
        low, high = axis.get_ylim()
        axis.set_ylim(max(low, min(ends) - reach), min(high, max(ends) + reach))
        legend(figure, axis)
    finish(axis, "time (s)", measured)
    headline(figure, str(optimum))
    return figure


def _show(axis: Axes, scale: AxisScale) -> None:
    """Give ``axis`` its scale, its ends, and marks that can be read."""
    if scale.log:
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(FixedLocator(scale.steps()))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_xlim(scale.low, scale.high)


def ratio_bars(report: RatioReport) -> Figure:
    """Draw each policy's ratio as a bar that begins at 1, the offline optimum.

    It is solid up to the proven low end, and hatched from there to the high end. An arrow leaves
    the picture where that end is infinite, or where no bound is known.
    """
    rows = list(reversed(report.policies))
    highs = [row.ratio.high for row in rows if row.ratio.high is not None]
    highs += [row.to_relaxation for row in rows if row.to_relaxation is not None]
    extent = AxisScale.of_ratios([row.ratio.low for row in rows], highs)
    optimum = report.optimum
    means = f", {meaning(get_family(optimum.family), optimum.value)}"
    if get_family(optimum.family).measure is not None:
        means = ""
    below = f"ratio{means} ({_scale(extent)})" + OPEN * any(not row.ratio.exact for row in rows)
    names = shorts(row.name for row in report.policies)
    figure, axis = rows_figure([names[row.name] for row in rows], below)
    _show(axis, extent)
    for y, row in enumerate(rows):
        high = math.inf if row.ratio.high is None else row.ratio.high
        _bar(axis, y, (row.ratio.low, high), ratio_text(row.ratio), extent)
    axis.axvline(1.0, color="black", linewidth=1)
    to_lp = [(row.to_relaxation, y) for y, row in enumerate(rows) if row.to_relaxation is not None]
    if to_lp:
        inside = [(x, y) for x, y in to_lp if x <= extent.high]
        where = [x for x, _ in inside], [y for _, y in inside]
        axis.plot(*where, "D", color=COLOURS[1], markersize=5, label="ratio to LP")
        axis.legend(loc="lower right", fontsize=8)
    finish(axis, grid="x")
    headline(figure, str(optimum))
    return figure


def save_means(found: Campaign, folder: Path) -> list[Path]:
    """Write the mean ratios and their distributions, of every group, into ``folder``."""
    samples, made = found.samples(), []
    means = statistics(samples)
    for k, (group, inside) in enumerate(means.groups.items()):
        name = f"{k:02}-" + "".join(c if c.isalnum() else "-" for c in group)[:80]
        ratios = [s for s in samples if s.group == group and s.count]
        notes = [line for line in means.flags() if line.startswith(f"{group}: ")]
        bars = mean_bars(inside, ratios[0].family)
        made.append(save(bars, folder / f"{name}-means.png", below=notes))
        made.append(save(distributions(ratios), folder / f"{name}-ecdf.png"))
    return made


def mean_bars(found: Sequence[Summary], family: str) -> Figure:
    """Draw the mean ratios of a group as `ratio_bars` does, a line for the 95 % interval of each.

    A star marks an interval that may not hold.
    """
    rows = list(reversed(found))
    inside = [end for s in rows if s.interval is not None for end in s.interval]
    extent = AxisScale.of_ratios([s.low for s in rows], [*(s.high for s in rows), *inside])
    below = f"mean {_of_family(family, extent)}; line: 95 % interval"
    if any(s.warning for s in rows):
        below += f" ({MARK}: perhaps not reliable)"
    below += OPEN * any(s.open for s in rows)
    names = shorts(s.named for s in rows)
    figure, axis = rows_figure([names[s.named] for s in rows], below)
    _show(axis, extent)
    for y, s in enumerate(rows):
        text = s.mean.replace(" .. ", "\N{EN DASH}") + MARK * bool(s.warning)
        _bar(axis, y, (s.low, s.high), text, extent)
        if s.interval is not None:
            ends = [min(max(end, extent.low), extent.high) for end in s.interval]
            axis.plot(ends, (y, y), color="black", linewidth=1.2, zorder=2)
    axis.axvline(1.0, color="black", linewidth=1)
    finish(axis, grid="x")
    headline(figure, rows[0].group)
    return figure


def distributions(found: Sequence[RatioSample]) -> Figure:
    """Draw the share of instances with at most some ratio; a band where optima are open."""
    figure = new_figure(7.6, 4.4)
    axis = figure.subplots()
    ends = [np.concatenate([getattr(s, side) for s in found]).tolist() for side in ("low", "high")]
    extent = AxisScale.of_ratios(*ends)
    _show(axis, extent)
    names = [s.policy for s in found]
    colours, labels = colours_of(names), curve_labels(names)
    for name, sample, dash in zip(names, found, cycle(DASHES), strict=False):
        steps = ecdf(sample)
        x = [extent.low, *steps["ratio"].tolist(), extent.high]
        least, most = (
            [0.0, *y.tolist(), y.max(initial=0.0)] for y in (steps["at_least"], steps["at_most"])
        )
        colour = colours[name]
        axis.step(x, most, where="post", label=labels[name], color=colour, linestyle=dash)
        if least != most:
            axis.step(x, least, where="post", linewidth=0.5, color=colour)
            axis.fill_between(x, least, most, step="post", alpha=0.2, linewidth=0, color=colour)
    axis.set_ylim(0, 1.02)
    band = "; band: optima open" * any(sample.open for sample in found)
    finish(
        axis,
        _of_family(found[0].family, extent) + band,
        "share of instances whose ratio is at most x",
    )
    legend(figure, axis)
    headline(figure, found[0].group)
    return figure


def _of_family(family: str, extent: AxisScale) -> str:
    """Return the label of an axis with the ratios of a family."""
    return f"ratio, {meaning(get_family(family))} ({_scale(extent)})"


def _scale(extent: AxisScale) -> str:
    """Return the scale of an axis of ratios, for its label."""
    return ("log scale; " if extent.log else "") + "1: offline optimum"


def _bar(axis: Axes, y: int, ends: tuple[float, float], text: str, extent: AxisScale) -> None:
    low, high = (min(max(end, extent.low), extent.high) for end in ends)
    colour = COLOURS[0]
    axis.barh(y, low - 1, left=1, color=colour, height=0.55)
    axis.barh(
        y, high - low, left=low, color="white", edgecolor=colour, hatch="/////", height=0.55
    )  # fmt: skip
    if ends[1] > extent.high:
        axis.plot(extent.high, y, ">", color=colour, markersize=small(), clip_on=False, zorder=3)
    label_at(axis, text, (1, y), small(), small(), on=axis.get_yaxis_transform())


def ratio_text(ratio: Ratio) -> str:
    """Return the label of a bar."""
    low, high = (
        "?" if end is None else "infinite" if math.isinf(end) else f"{end:.4g}"
        for end in (ratio.low, ratio.high)
    )
    if ratio.exact or low in (high, "infinite"):
        return low
    return f"at least {low}" if ratio.high is None else f"{low}\N{EN DASH}{high}"
