"""Figures of numbers: bars of ratios, distributions, and how an optimum was approached."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from optsched.core import EvaluatedPolicy, Optimum
from optsched.experiments.ratios_by_policy import RatioSample
from optsched.experiments.statistics import Summary, ecdf
from optsched.numbers.arrays import Floats
from optsched.pages.blocks import Bar, Bars, Curve, Plot
from optsched.pages.scales import AxisScale

WIDE, HIGH = 1000, 500  # of the box of curves, which is stretched to the available width
STEPS = 150  # most steps of a curve: a million cells make no larger page than a thousand
DRAWN = 10  # colours; whatever comes after them is grey
SAME = 1e-6  # ends of an interval that differ by less are one


def colours(names: Iterable[str]) -> dict[str, int]:
    """Return a colour per name, by its number; all after the tenth have the last one."""
    return {name: min(k, DRAWN) for k, name in enumerate(sorted(set(names)))}


def mean_bars(found: Sequence[Summary], label: str, colour: Mapping[str, int]) -> Bars:
    """Return the mean ratios of the policies of a group, in their order."""
    inside = [end for s in found if s.interval is not None for end in s.interval]
    scale = AxisScale.of_ratios([s.low for s in found], [*(s.high for s in found), *inside])
    return Bars(
        title="Mean ratio of each policy",
        label=label,
        bars=[_bar(s, scale, colour[s.policy]) for s in found],
        scale=scale,
        note="Bar: from 1, the offline optimum, to the certified low end of the mean; hatched: the "
        "rest of its range, where optima are open; line: 95 % interval of the mean.",
    )


def _bar(s: Summary, scale: AxisScale, colour: int) -> Bar:
    inside = ""
    if s.interval is not None:
        inside = ", 95 % interval {:.4g} to {:.4g}".format(*s.interval)
        inside += f" (perhaps not reliable: {s.warning})" if s.warning else ""
    opened = f"{s.open} optima open" if s.open else "all optima closed"
    return Bar(
        name=s.policy,
        colour=colour,
        text=s.mean,
        tip=f"{s.policy}: mean ratio {s.mean}{inside}; median {s.half}, worst {s.greatest}; "
        f"{s.instances} instances, {opened}",
        low=100 * scale.at(s.low),
        high=100 * scale.at(s.high),
        inside=None
        if s.interval is None
        else (100 * scale.at(s.interval[0]), 100 * scale.at(s.interval[1])),
        open=s.high > s.low * (1 + SAME),
        beyond=s.high > scale.high,
    )


def ratio_bars(rows: Sequence[EvaluatedPolicy], label: str, colour: Mapping[str, int]) -> Bars:
    """Return the ratios of policies on one instance, the lowest first."""
    order = sorted(rows, key=lambda row: (row.ratio.low, row.name))
    highs = [math.inf if row.ratio.high is None else row.ratio.high for row in order]
    scale = AxisScale.of_ratios([row.ratio.low for row in order], highs)
    return Bars(
        title="Ratio of each policy",
        label=label,
        bars=[
            Bar(
                name=row.name,
                colour=colour[row.name],
                text=row.ratio.ends,
                tip=str(row),
                low=100 * scale.at(row.ratio.low),
                high=100 * scale.at(high),
                open=not row.ratio.exact,
                beyond=high > scale.high,
            )
            for row, high in zip(order, highs, strict=True)
        ],
        scale=scale,
        note="Bar: from 1, the offline optimum, to the certified low end of the ratio; hatched: "
        "the rest of its range, where the optimum is open.",
    )


def distributions(found: Sequence[RatioSample], label: str, colour: Mapping[str, int]) -> Plot:
    """Return the empirical distribution functions of the ratios, as intervals."""
    lows = np.concatenate([s.low for s in found])
    highs = np.concatenate([s.high for s in found])
    x, y = AxisScale.of_ratios(lows.tolist(), highs.tolist()), AxisScale(0.0, 1.0)
    curves = []
    for sample in found:
        steps = _thinned(ecdf(sample))
        least, most = steps["at_least"], steps["at_most"]
        lines = [steps_path(steps["ratio"], most, x, y)]
        band = ""
        if (least != most).any() or not np.isfinite(sample.high).all():
            lines.append(steps_path(steps["ratio"], least, x, y))
            there, back = (_points(steps["ratio"], side, x, y) for side in (most, least))
            band = _path([*there, *reversed(back)]) + "Z"
        numbers = {name: [float(f"{v:.6g}") for v in values] for name, values in steps.items()}
        curves.append(Curve(sample.policy, colour[sample.policy], lines, band, numbers))
    return Plot(
        title="Share of instances whose ratio is at most x (the empirical distribution function)",
        x_label=label,
        y_label="share of instances",
        x=x,
        y=y,
        curves=curves,
        note="Farther up and left is better. Where optima are open a curve is a band: the share "
        "lies between its two ends.",
    )


def _thinned(steps: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return some of the steps of a distribution, spread evenly over the shares of either end."""
    n = len(steps["ratio"])
    if n <= STEPS:
        return dict(steps)
    wanted = np.linspace(0.0, 1.0, STEPS // 2)
    kept = {0, n - 1}
    for name in ("at_least", "at_most"):
        kept |= set(np.minimum(np.searchsorted(steps[name], wanted), n - 1).tolist())
    chosen = sorted(kept)
    return {name: values[chosen] for name, values in steps.items()}


def _points(x: Floats, y: Floats, across: AxisScale, up: AxisScale) -> list[tuple[str, str]]:
    """Return the corners of steps, from the left end of the box to the right one."""
    level = 0.0
    found = [("0", _down(level, up))]
    for place, value in zip(x.tolist(), y.tolist(), strict=True):
        at = f"{WIDE * across.at(place):.1f}"
        found += [(at, _down(level, up)), (at, _down(value, up))]
        level = value
    return [*found, (str(WIDE), _down(level, up))]


def _down(value: float, up: AxisScale) -> str:
    return f"{HIGH * (1 - up.at(value)):.1f}"


def steps_path(x: Floats, y: Floats, across: AxisScale, up: AxisScale) -> str:
    """Return the path of steps that begin at ``x``."""
    return _path(_points(x, y, across, up))


def _path(points: Iterable[tuple[str, str]]) -> str:
    return "M" + "L".join(" ".join(p) for p in points)


def convergence(optimum: Optimum) -> Plot | None:
    """Return value and bound over time; None where nothing was noted."""
    sides = {}
    for side, name in (("value", "best schedule so far"), ("bound", "bound: none is better")):
        points = [(p.seconds, getattr(p, side)) for p in optimum.history]
        points = [(t, v) for t, v in points if v is not None and math.isfinite(v)]
        last = getattr(optimum, side)
        if points and last is not None and math.isfinite(last):
            sides[name] = [*points, (max(optimum.seconds, points[-1][0]), last)]
    if not sides:
        return None
    finals = [points[-1][1] for points in sides.values()]
    reach = max(0.5 * max(map(abs, finals)), 10 * (max(finals) - min(finals)))
    everything = [v for points in sides.values() for _, v in points]
    low, high = (min(finals) - reach, max(finals) + reach)
    x = AxisScale(0.0, max(t for points in sides.values() for t, _ in points) or 1.0)
    y = AxisScale.of(v for v in everything if low <= v <= high)
    curves = []
    for k, (name, points) in enumerate(sides.items()):
        n = len(points)  # some of them, the first and the last one included
        kept = np.linspace(0, n - 1, min(n, STEPS)).round().astype(int)
        points = [points[i] for i in sorted(set(kept.tolist()))]
        at = [(f"{WIDE * x.at(t):.1f}", _down(v, y)) for t, v in points]
        corners = [at[0]]
        for (_, before), (place, value) in pairwise(at):
            corners += [(place, before), (place, value)]
        numbers = {"seconds": [t for t, _ in points], "value": [v for _, v in points]}
        curves.append(Curve(name, k, [_path(corners)], "", numbers))
    return Plot(
        title="How the optimum was approached",
        x_label="seconds",
        y_label="objective",
        x=x,
        y=y,
        curves=curves,
        note="The last values were checked; when the others were reached is as the file states.",
    )
