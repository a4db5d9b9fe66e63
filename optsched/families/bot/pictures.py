"""Pictures of family `bot`: the platform with its loads, rates side by side, and prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from optsched.drawing import (
    COLOURS,
    GRID,
    colours_of,
    curve_labels,
    finish,
    ink,
    label_at,
    legend,
    new_figure,
    short,
    shorts,
)
from optsched.families.bot.instance import BotInstance, BotSchedule
from optsched.families.bot.loads import relative_loads
from optsched.families.bot.optimum.interior import solve_tree
from optsched.families.bot.policies.convergence import PRECISION
from optsched.numbers.arrays import Floats

LOADS = "viridis_r"
LABELLED = 60  # most nodes of a figure that numbers them
DEAREST, LEAST = 15, 1e-4  # bars of prices, and the share below which there is none
BELOW = 15  # how far under the lowest tube a series is shown
MARKS = "osD^v<>PX*"  # of schedules next to their colours
PRICED = 1e-7  # gap to which the prices are found


def pictures(inst: BotInstance, schedules: Mapping[str, BotSchedule]) -> Mapping[str, Figure]:
    """Draw the platform with the loads of each schedule, their rates, and the optimal prices."""
    names = list(schedules)[:3] or [""]
    figure = new_figure(5.2 * len(names), 5.6)
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    for axis, name in zip(axes, names, strict=True):
        draw_platform(axis, inst, _rates(inst, schedules[name]) if name else None)
        axis.set_title(short(name) or "platform", fontsize=9)
    legend(figure, axes[0], marks=0.55)
    found = {"platform": figure}
    if schedules:
        found["rates"] = _rates_of_applications(inst, schedules)
        if inst.is_tree and inst.alpha != "inf":  # where the prices take a moment only
            found["prices"] = new_figure(6.4, 4.0)
            draw_prices(found["prices"].subplots(), inst)
    return found


def _rates(inst: BotInstance, schedule: BotSchedule) -> Floats:
    rho = np.zeros(inst.present.shape)
    for n, k, rate in schedule.rates:
        rho[k, n] = rate
    return rho


def layout(inst: BotInstance) -> Floats:
    """Return places of nodes in the plane, shape (N, 2): the tree from node 0, on rings."""
    order, before, _ = inst.tree_from(0)
    leaves = np.zeros(len(inst.speed))
    depth = np.zeros(len(inst.speed))
    children: list[list[int]] = [[] for _ in inst.speed]
    for n in order[1:].tolist():
        children[before[n]].append(n)
        depth[n] = depth[before[n]] + 1
    for n in order[::-1].tolist():
        leaves[n] = sum(leaves[c] for c in children[n]) or 1
    low, angle = np.zeros(len(leaves)), np.zeros(len(leaves))
    for n in order.tolist():
        angle[n] = low[n] + leaves[n] / 2
        at = low[n]
        for c in children[n]:
            low[c], at = at, at + leaves[c]
    turn = 2 * np.pi * angle / leaves[0]
    return np.column_stack((depth * np.cos(turn), depth * np.sin(turn)))


def draw_platform(axis: Axes, inst: BotInstance, rho: Floats | None = None) -> None:
    """Draw nodes (area: speed), links (width: bandwidth), by load; hexagons: masters."""
    place, speed = layout(inst), np.array(inst.speed)
    width = inst.bandwidth.reshape(-1, 2).min(axis=1) if inst.links else np.zeros(0)
    lines = [(place[link.a], place[link.b]) for link in inst.links]
    thick = 0.5 + 3 * width / max(width.max(initial=1.0), 1e-300)
    colours = Normalize(0, 1)
    shown = LineCollection(lines, linewidths=thick, cmap=LOADS, norm=colours, zorder=1)
    least = 64 if len(speed) <= LABELLED else 12  # space for the number
    size = least + 110 * speed / max(speed.max(), 1e-300) / max(1.0, len(speed) / LABELLED)
    node_load = np.zeros(len(speed))
    if rho is None:
        shown.set_color("#999999")
    else:
        node_load, arc_load = relative_loads(inst, rho)
        shown.set_array(arc_load.reshape(-1, 2).max(axis=1) if inst.links else np.zeros(0))
    axis.add_collection(LineCollection(lines, linewidths=thick + 1, colors="#777777", zorder=0.9))
    axis.add_collection(shown)
    dots = axis.scatter(
        place[:, 0], place[:, 1], s=size, c=node_load, cmap=LOADS, norm=colours,
        edgecolors="#444444", linewidths=0.5, zorder=2, clip_on=False,
    )  # fmt: skip
    if rho is None:
        dots.set(array=None, facecolor=GRID)
    else:
        axis.figure.colorbar(dots, ax=axis, label="load", shrink=0.7)
    names = _applications(inst)
    edges, labels = colours_of(names), curve_labels(names)
    here: Counter[int] = Counter()  # masters of one node are drawn around one another
    for app, name in zip(inst.applications, names, strict=True):
        here[app.master] += 1
        x, y = place[app.master]
        axis.scatter(
            x, y, s=(13 + 4 * here[app.master]) ** 2, marker="h", facecolors="none",
            linewidths=1.8, zorder=3, edgecolors=edges[name], label=labels[name], clip_on=False,
        )  # fmt: skip
    if len(speed) <= LABELLED:
        for n, (x, y) in enumerate(place.tolist()):
            axis.annotate(
                str(n), (x, y), fontsize=5, ha="center", va="center", zorder=4,
                color=ink(GRID if rho is None else colormaps[LOADS](node_load[n])),
            )  # fmt: skip
    axis.margins(0.12)
    axis.set_axis_off()
    axis.set_aspect("equal")


def _applications(inst: BotInstance) -> list[str]:
    """Return a distinct label of each application."""
    return [f"{k} {app.name}".strip() for k, app in enumerate(inst.applications)]


def _rates_of_applications(inst: BotInstance, schedules: Mapping[str, BotSchedule]) -> Figure:
    """Draw the rate of each application, a mark per schedule; rates of 0 at the left edge."""
    labels = shorts(_applications(inst))
    totals = {name: _rates(inst, s).sum(axis=1) for name, s in schedules.items()}
    figure = new_figure(7.2, 1.6 + 0.16 * len(labels) * (1 + len(totals)))
    axis = figure.subplots()
    some = np.concatenate(list(totals.values()))
    some = some[some > 0]
    low, high = (some.min() / 3, some.max() * 2) if len(some) else (0.1, 1.0)
    colours, curve_names = colours_of(totals), curve_labels(totals)
    wide = 1 / (1 + len(totals))
    for i, (name, rates) in enumerate(totals.items()):
        at = np.arange(len(labels)) + wide * (i + 1) - 0.5
        shown = np.maximum(rates, low)
        axis.hlines(at, low, shown, color=colours[name], linewidth=1)
        axis.plot(
            shown, at, MARKS[i % len(MARKS)], color=colours[name], label=curve_names[name],
            markersize=6, clip_on=False, zorder=3,
        )  # fmt: skip
        for y in at[rates <= 0]:
            label_at(axis, "0", (low, y), 6, 7)
    axis.hlines(np.arange(1, len(labels)) - 0.5, low, high, color=COLOURS[6], linewidth=0.8)
    axis.set_yticks(range(len(labels)), labels.values(), fontsize=8)
    axis.set_ylim(len(labels) - 0.5, -0.5)
    axis.set_xscale("log")
    axis.tick_params(axis="x", which="minor", labelsize=5.5)
    axis.set_xlim(low, high)
    finish(axis, "rate (tasks / s)", grid="x")
    legend(figure, axis)
    return figure


def draw_prices(axis: Axes, inst: BotInstance) -> None:
    """Draw the nodes and arcs that limit the optimum: price x capacity, as a share of all."""
    found = solve_tree(inst, PRICED)
    rent = np.concatenate((found.nodes * np.array(inst.speed), found.arcs * inst.bandwidth))
    rent /= rent.sum()
    dearest = np.argsort(-rent, kind="stable")[:DEAREST]
    dearest = dearest[rent[dearest] > LEAST]
    nodes = len(inst.speed)
    of_node = inst.names or [f"node {n}" for n in range(nodes)]
    names = [of_node[i] if i < nodes else inst.arc_name(i - nodes) for i in dearest.tolist()]
    kind = [COLOURS[0] if i < nodes else COLOURS[1] for i in dearest.tolist()]
    axis.barh(range(len(dearest)), rent[dearest], color=kind)
    axis.set_yticks(range(len(dearest)), shorts(names).values(), fontsize=7)
    axis.invert_yaxis()
    rest = 1 - float(rent[dearest].sum())
    axis.set_title(f"what limits the optimum; the rest has {max(rest, 0.0):.0%}", fontsize=9)
    finish(axis, "share of price x capacity at the optimum", grid="x")


def draw_tube(
    axis: Axes,
    series: Mapping[str, Floats],
    optima: Sequence[tuple[int, int, float]],
    objective: str = "objective",
) -> None:
    """Draw objectives by iteration, and tubes around optima (first, last iteration, value)."""
    for k, (name, values) in enumerate(series.items()):
        at = np.arange(1, len(values) + 1)
        axis.plot(at, values, color=COLOURS[k % len(COLOURS)], label=name, linewidth=1)
    half = -np.log(PRECISION)
    for first, last, value in optima:
        axis.fill_between((first, last), value - half, value + half, color=COLOURS[6], alpha=0.4)
        axis.plot((first, last), (value, value), color=COLOURS[7], linewidth=0.8)
    heights = [value for _, _, value in optima]
    seen = np.concatenate([heights, *(v[np.isfinite(v)] for v in series.values())])
    axis.set_ylim(max(seen.min(), min(heights) - BELOW) - 1, min(seen.max(), max(heights) + 5) + 1)
    finish(axis, "iteration", objective, legend=8)
