"""Pictures of schedules of jobs: Gantt charts, and the capacity in use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from optsched.drawing import GRID, HINDSIGHT, colours_of, new_figure

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """One schedule of a Gantt chart.

    Attributes
    ----------
    title : str
    shares : array of shape (I, T)
        How much of the most that it can use a job uses in a slot, from 0 to 1.
    completion : sequence of int or None
        Slot in which each job completes.
    labels : sequence of str
        What is written behind the completion of each job.
    """

    title: str
    shares: Floats
    completion: Sequence[int | None]
    labels: Sequence[str]


def gantt(
    panels: Sequence[Panel], arrival: Sequence[int], *, shade: str, legend: str | None
) -> Figure:
    """Draw jobs as rows and slots as columns, one panel per schedule.

    Parameters
    ----------
    panels : sequence of Panel
    arrival : sequence of int
        Slot in which each job arrives; rows are in this order.
    shade : str
        What a share means.
    legend : str or None
        Explains the marks; None: a single panel without a schedule.

    Returns
    -------
    Figure
        Blue: a job that completes; grey: one that does not. Bar: arrival; dot: completion.
    """
    jobs, slots = panels[0].shares.shape
    figure = new_figure(
        2.5 + min(6.5, 3 + 0.05 * slots) * len(panels), 1.7 + min(13.0, max(2.0, 0.125 * jobs))
    )
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    order = sorted(range(jobs), key=lambda i: (arrival[i], i))
    for axis, panel in zip(axes, panels, strict=True):
        _shades(axis, panel, order)
        _marks(axis, panel, order, arrival)
        axis.set_title(panel.title, fontsize=10)
    axes[0].set_ylabel("job, in order of arrival")
    step = max(1, math.ceil(jobs / 50))
    axes[0].set_yticks(range(0, jobs, step), [str(order[k]) for k in range(0, jobs, step)])
    axes[0].tick_params(axis="y", labelsize=7)
    if legend is not None:
        bar = figure.colorbar(axes[-1].images[-1], ax=list(axes), shrink=0.6, pad=0.02)
        bar.set_label(shade)
        figure.supxlabel(legend, fontsize=9)
    return figure


def _shades(axis: Axes, panel: Panel, order: Sequence[int]) -> None:
    jobs, slots = panel.shares.shape
    shares = np.clip(panel.shares, 0.15, 1.0)  # one worker can be seen
    done = np.array([c is not None for c in panel.completion])[:, None]
    for colours, rows in (("Greys", ~done), ("Blues", done)):
        axis.imshow(
            np.where((panel.shares > 0) & rows, shares, np.nan)[order],
            aspect="auto",
            interpolation="nearest",
            cmap=colours,
            norm=Normalize(0, 1.4 if colours == "Greys" else 1),  # paler: it earns nothing
            extent=(0, slots, jobs - 0.5, -0.5),
        )
    axis.hlines(np.arange(jobs) - 0.5, 0, slots, color="white", linewidth=0.8)
    axis.set_xlim(0, slots)
    axis.set_xlabel("slot")


def _marks(axis: Axes, panel: Panel, order: Sequence[int], arrival: Sequence[int]) -> None:
    rows = np.arange(len(order))
    begins = np.array([arrival[i] for i in order])
    axis.vlines(begins, rows - 0.45, rows + 0.45, color="#BB5566", linewidth=1.6)
    for row, i in enumerate(order):
        end = panel.completion[i]
        if end is None or not panel.labels[i]:
            continue
        axis.plot(end + 1, row, ".", color="black", markersize=4)
        axis.annotate(
            panel.labels[i],
            (end + 1, row),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=6,
            annotation_clip=False,
        )


def capacity_use(by_name: Mapping[str, Mapping[str, Floats]]) -> Figure:
    """Draw the capacity in use over time: a panel per resource, a line per schedule.

    Parameters
    ----------
    by_name : mapping
        Schedule -> resource -> share in use, each of shape (T,). Resources of which nobody uses
        anything are left out.
    """
    first = next(iter(by_name.values()))
    kept = [key for key in first if any(u[key].any() for u in by_name.values())] or list(first)
    columns = min(3, len(kept))
    rows = math.ceil(len(kept) / columns)
    figure = new_figure(4.2 * columns, 2.3 * rows + 0.8)
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    colours = colours_of(by_name)
    for axis, key in zip(axes.flat, kept, strict=False):
        for name, shares in by_name.items():
            width, front = (2.0, 3) if name == HINDSIGHT else (1.1, 2)
            axis.stairs(
                100 * shares[key], color=colours[name], linewidth=width, label=name, zorder=front
            )
        axis.set_title(key, fontsize=9)
        axis.set_xlim(0, len(first[key]))
        axis.set_ylim(0, 103)
        axis.grid(color=GRID)
    for axis in axes.flat[len(kept) :]:
        axis.set_visible(False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    figure.supylabel("capacity in use, %", fontsize=9)
    figure.supxlabel("slot", fontsize=9)
    return figure
