"""Pictures: the graph of an instance; rewards, gain and overhead, and allocations of schedules."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from optsched.drawing import (
    COLOURS,
    HINDSIGHT,
    OTHERS,
    colours_of,
    curve_labels,
    finish,
    legend,
    new_figure,
    shorts,
)
from optsched.families.bipartite.instance import BipartiteInstance, BipartiteSchedule
from optsched.families.bipartite.instance_utilities import gain
from optsched.families.bipartite.online import repeat
from optsched.families.bipartite.optimum.initial_bounds import gains_of
from optsched.families.bipartite.verify import Verifier, row_sums
from optsched.numbers.arrays import Flags, Floats

MOST_MACHINES = 200  # in a picture of allocations
SAMPLES = 50  # slots of which gain and overhead are drawn
PANELS = 5  # of such a picture, side by side


def pictures(
    inst: BipartiteInstance, schedules: Mapping[str, BipartiteSchedule]
) -> dict[str, Figure]:
    """Return the pictures by name; without schedules, those of the instance."""
    if not schedules:
        return {"graph": graph(inst)}
    rewards = {name: rewards_of(inst, schedule) for name, schedule in schedules.items()}
    kept = {name: s for name, s in schedules.items() if s.decisions}
    found = {"rewards": reward_curves(rewards)}
    if kept:
        found["gain-and-overhead"] = gain_and_overhead(inst, kept)
        found["allocations"] = allocations(inst, kept)
    return found


def rewards_of(inst: BipartiteInstance, schedule: BipartiteSchedule) -> Floats:
    """Return q(t) of a schedule, shape (T,)."""
    if schedule.rewards:
        return np.array(schedule.rewards)
    if schedule.record is not None:
        return np.array(repeat(inst, schedule.record).rewards)
    verifier = Verifier(inst)
    decisions = [np.array(d, float) for d in schedule.decisions]
    for t, d in enumerate(schedule.used):
        verifier.slot(t, inst.jobs[t], decisions[d])
    return np.array(verifier.rewards)


def reward_curves(rewards: Mapping[str, Sequence[float] | Floats]) -> Figure:
    """Draw the average reward until each slot, and the cumulative reward."""
    figure = new_figure(10, 4.4)
    average, cumulative = figure.subplots(1, 2)
    colours, labels = colours_of(rewards), curve_labels(rewards)
    for name, q in rewards.items():
        total = np.cumsum(q)
        slots = np.arange(1, len(total) + 1)
        look: dict[str, Any] = {
            "color": colours[name],
            "label": labels[name],
            "linewidth": 2.0 if name == HINDSIGHT else 1.3,
            "zorder": 1.9 if colours[name] == OTHERS else 2,
        }
        average.plot(slots, total / slots, **look)
        cumulative.plot(slots, total, **look)
    finish(average, "slot t", "average reward until slot t")
    finish(cumulative, "slot t", "cumulative reward")
    average.set_xscale("log")
    legend(figure, average)
    return figure


def split(inst: BipartiteInstance, y: Floats, jobs: Flags) -> tuple[float, float]:
    """Return gain and overhead of a decision in a slot with ``jobs``; their difference is (8)."""
    a = inst.arrays
    totals = np.zeros((a.copies, a.resources))
    np.add.at(totals, (a.port, a.row % a.resources), y)
    live = np.flatnonzero(jobs[a.port] & (y > 0))
    if a.summed:
        gains = float(gains_of(*a.of_sum, totals[jobs]).sum())
    else:
        gains = sum(gain(a.kind[a.row[i]], a.alpha[a.row[i]], y[i]) for i in live)
    return float(gains), float((a.beta * totals).max(axis=1)[jobs].sum())


def gain_and_overhead(
    inst: BipartiteInstance, schedules: Mapping[str, BipartiteSchedule]
) -> Figure:
    """Draw mean gain and overhead of a slot, over some slots spread evenly."""
    slots = np.unique(np.linspace(0, inst.horizon - 1, min(SAMPLES, inst.horizon)).astype(int))
    parts = {
        name: np.mean(
            [split(inst, np.array(s.decisions[s.used[t]]), inst.jobs[t]) for t in slots], axis=0
        )
        for name, s in schedules.items()
    }
    figure = new_figure(7.2, 1.2 + 0.36 * max(3, len(parts)))
    axis = figure.subplots()
    bars(axis, list(shorts(parts).values()), *np.transpose([*parts.values()]))
    legend(figure, axis)
    return figure


def bars(axis: Axes, names: Sequence[str], gains: Sequence[float], lost: Sequence[float]) -> None:
    """Draw gain and overhead of each name, one above the other."""
    at = np.arange(len(names))
    axis.barh(at - 0.2, gains, 0.38, color=COLOURS[0], label="gain")
    axis.barh(at + 0.2, lost, 0.38, color=COLOURS[1], label="overhead")
    axis.set_yticks(at, names, fontsize=8)
    axis.invert_yaxis()
    finish(axis, "reward of a slot (mean)", grid="x")


def allocations(inst: BipartiteInstance, schedules: Mapping[str, BipartiteSchedule]) -> Figure:
    """Draw how full each machine is, on average, by resource: one panel per schedule."""
    a = inst.arrays
    shown = min(MOST_MACHINES, len(inst.machines))
    columns = min(PANELS, len(schedules))
    rows = math.ceil(len(schedules) / columns)
    figure = new_figure(1.6 + 1.9 * columns, 0.5 + rows * (1.7 + min(4.0, 0.05 * shown)))
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    names, resources = shorts(schedules), shorts(inst.resources)
    letters = 20 * figure.get_figwidth() / (1.6 + 1.9 * columns)
    for axis, (name, schedule) in zip(axes.flat, schedules.items(), strict=False):
        times = np.bincount(schedule.used, minlength=len(schedule.decisions))
        mean = np.zeros(a.channels)
        for y, n in zip(schedule.decisions, times, strict=True):
            mean += np.array(y) * (n / inst.horizon)
        with np.errstate(divide="ignore", invalid="ignore"):
            full = np.where(a.capacity > 0, row_sums(mean, a) / a.capacity, np.nan)
        image = axis.imshow(
            full.reshape(-1, a.resources)[:shown], aspect="auto", cmap="Blues", vmin=0, vmax=1
        )
        axis.set_title(textwrap.fill(names[name], int(letters)), fontsize=9)
        axis.set_xticks(range(a.resources), resources.values(), rotation=90, fontsize=7)
        axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    for axis in axes.flat[len(schedules) :]:
        axis.set_visible(False)
    for axis in axes.flat[len(schedules) - columns : len(schedules)]:
        axis.tick_params(labelbottom=True)
    part = "machine" if shown == len(inst.machines) else f"machine (the first {shown})"
    figure.supylabel(part, fontsize=9)
    shade = figure.colorbar(
        image, ax=axes, shrink=min(1.0, 2.4 / figure.get_figheight()), format=PercentFormatter(1)
    )
    shade.set_label("used of capacity, mean of all slots", fontsize=8)
    return figure


def graph(inst: BipartiteInstance) -> Figure:
    """Draw which port may use which machine, and how often its jobs come."""
    edges = np.zeros((len(inst.ports), len(inst.machines)))
    for r, machine in enumerate(inst.machines):
        edges[list(machine.ports), r] = 1
    figure = new_figure(9, 1.5 + min(5.0, 0.2 * len(inst.ports)))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(4, 1))
    left.imshow(edges, aspect="auto", cmap="Blues", vmin=0, vmax=1.3, interpolation="nearest")
    left.set_xlabel("machine")
    left.set_ylabel("port")
    often = np.array(inst.arrivals).mean(axis=0)
    right.barh(np.arange(len(inst.ports)), often, color=COLOURS[0])
    finish(right, "jobs per slot", grid="x")
    left.set_title(f"{int(edges.sum())} edges", fontsize=9)
    for side in (left.xaxis, left.yaxis):
        side.set_major_locator(MaxNLocator(integer=True))
    return figure
