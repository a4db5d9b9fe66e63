"""Pictures: schedules side by side, use of capacity, convergence, ratios.

Everything draws on figures of its own (no window is opened) and is written as PNG.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from optsched.files import write_whole
from optsched.optimum import Optimum
from optsched.problem import Instance, Schedule, family_of
from optsched.ratios import Judged, RatioReport

COLOURS = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#BBBBBB", "#222222")
DPI = 130
HINDSIGHT = "hindsight"  # the best schedule known, whether it was proved to be optimal or not


def save(figure: Figure, path: Path) -> Path:
    """Write ``figure`` as PNG, whole or not at all."""
    FigureCanvasAgg(figure)
    data = BytesIO()
    figure.savefig(data, format="png")
    write_whole(path, data.getvalue())
    return path


def save_report(instance: Instance, report: RatioReport, folder: Path) -> list[Path]:
    """Write all pictures of a comparison into ``folder`` and return their paths."""
    schedules = _schedules(report)
    chosen = sorted(schedules, key=lambda name: (name != HINDSIGHT, name != "oasis"))
    beside = {name: schedules[name] for name in chosen[:2]}
    made = [save(ratio_bars(report), folder / "ratios.png")]
    if schedules:
        made.append(save(gantt(instance, beside), folder / "schedules.png"))
        made.append(save(capacity_use(instance, schedules), folder / "capacity.png"))
    if report.optimum.history:
        made.append(save(convergence(report.optimum), folder / "convergence.png"))
    return made


def save_show(instance: Instance, schedules: Mapping[str, Schedule], folder: Path) -> list[Path]:
    """Write the pictures of an instance, or of the schedules found for it."""
    if not schedules:
        return [save(gantt(instance, {}), folder / "jobs.png")]
    return [
        save(gantt(instance, schedules), folder / "schedules.png"),
        save(capacity_use(instance, schedules), folder / "capacity.png"),
    ]


def _schedules(report: RatioReport) -> dict[str, Schedule]:
    """Return what there is to draw, the best with hindsight first."""
    found = {} if report.optimum.schedule is None else {HINDSIGHT: report.optimum.schedule}
    return found | {run.policy: run.schedule for run in report.runs}


def gantt(instance: Any, schedules: Mapping[str, Schedule]) -> Figure:
    """Draw jobs as rows and slots as columns, one panel per schedule.

    Parameters
    ----------
    instance : Instance
    schedules : mapping of name to Schedule
        Drawn side by side. Without any, one panel shows the shortest run of each job.

    Returns
    -------
    Figure
        Blue: a job that completes; grey: one that does not, and earns nothing. Shade: workers, as
        a share of the most that the job can use. Bar: arrival; dot: completion; the number behind
        it is the utility earned.
    """
    jobs, slots = len(instance.jobs), instance.horizon
    panels = max(1, len(schedules))
    size = (2.5 + min(6.5, 3 + 0.05 * slots) * panels, 1.7 + min(13.0, max(2.0, 0.125 * jobs)))
    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    axes = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
    order = sorted(range(jobs), key=lambda i: (instance.jobs[i].arrival, i))
    if not schedules:
        _panel(axes[0], instance, order, _shortest_runs(instance), [0] * jobs)
        axes[0].set_title("earliest completion of each job, on unlimited machines", fontsize=10)
    for axis, (name, schedule) in zip(axes, schedules.items(), strict=False):
        verdict = family_of(instance).verify(instance, schedule, unfinished=True)
        _panel(axis, instance, order, _workers(instance, schedule), verdict.completion)
        _completions(axis, instance, order, verdict.completion)
        done = sum(c is not None for c in verdict.completion)
        title = f"{name}: value {verdict.value or 0:.5g}, {done} of {jobs} jobs completed"
        axis.set_title(title, fontsize=10)
    axes[0].set_ylabel("job, in order of arrival")
    step = max(1, math.ceil(jobs / 50))
    axes[0].set_yticks(range(0, jobs, step), [str(order[k]) for k in range(0, jobs, step)])
    axes[0].tick_params(axis="y", labelsize=7)
    if schedules:
        shade = figure.colorbar(axes[-1].images[-1], ax=list(axes), shrink=0.6, pad=0.02)
        shade.set_label("workers / most workers of the job")
        legend = "bar: arrival;  dot: completion;  number: utility earned;  grey: not completed"
        figure.supxlabel(legend, fontsize=9)
    return figure


def _panel(
    axis: Axes,
    instance: Any,
    order: Sequence[int],
    workers: NDArray[np.float64],  # (I, T)
    completion: Sequence[int | None],
) -> None:
    """Draw workers as shades, and the arrivals."""
    most = np.array([job.chunks for job in instance.jobs], float)
    shares = np.clip(workers / np.maximum(most, 1)[:, None], 0.15, 1.0)  # one worker can be seen
    completed = np.array([c is not None for c in completion])[:, None]
    for colours, rows in (("Greys", ~completed), ("Blues", completed)):
        axis.imshow(
            np.where((workers > 0) & rows, shares, np.nan)[order],
            aspect="auto",
            interpolation="nearest",
            cmap=colours,
            norm=Normalize(0, 1.4 if colours == "Greys" else 1),  # paler: it earns nothing
            extent=(0, instance.horizon, len(order) - 0.5, -0.5),
        )
    rows = np.arange(len(order))
    axis.hlines(rows - 0.5, 0, instance.horizon, color="white", linewidth=0.8)
    arrival = np.array([instance.jobs[i].arrival for i in order])
    axis.vlines(arrival, rows - 0.45, rows + 0.45, color="#BB5566", linewidth=1.6)
    axis.set_xlim(0, instance.horizon)
    axis.set_xlabel("slot")


def _completions(
    axis: Axes, instance: Any, order: Sequence[int], completion: Sequence[int | None]
) -> None:
    for row, i in enumerate(order):
        end = completion[i]
        if end is None:
            continue
        job = instance.jobs[i]
        earned = job.utility(end - job.arrival)
        axis.plot(end + 1, row, ".", color="black", markersize=4)
        axis.annotate(
            f"{earned:.3g}" if earned >= 0.005 else "0",
            (end + 1, row),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=6,
            annotation_clip=False,
        )


def _shortest_runs(instance: Any) -> NDArray[np.float64]:
    """Return each job at full speed from its arrival on, as far as the horizon reaches; (I, T)."""
    workers = np.zeros((len(instance.jobs), instance.horizon))
    for i, job in enumerate(instance.jobs):
        workers[i, job.arrival : job.arrival + instance.shortest[i]] = job.chunks
    return workers


def _workers(instance: Any, schedule: Any) -> NDArray[np.float64]:
    """Return the number of workers of each job in each slot, shape (I, T)."""
    workers = np.zeros((len(instance.jobs), instance.horizon))
    for i, plan in enumerate(schedule.jobs):
        for slot, _machine, number in () if plan is None else plan.workers:
            workers[i, slot] += number
    return workers


def usage(instance: Any, schedule: Any) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return the share of the capacity in use, by side and resource, each of shape (T,).

    A side has no entry for a resource of which its machines have nothing.
    """
    slots, resources = instance.horizon, instance.resources
    used = {side: np.zeros((slots, len(resources))) for side in ("workers", "ps")}
    for job, plan in zip(instance.jobs, schedule.jobs, strict=True):
        if plan is None:
            continue
        for side, demand in (("workers", job.worker_demand), ("ps", job.ps_demand)):
            for slot, _machine, number in getattr(plan, side):
                used[side][slot] += number * np.array(demand)
    there = {"workers": instance.worker_capacity, "ps": instance.ps_capacity}
    shares = {}
    for side, capacity in there.items():
        total = np.array(capacity).sum(axis=0)  # (R,)
        for r, resource in enumerate(resources):
            if total[r] > 0:
                shares[side, resource] = used[side][:, r] / total[r]
    return shares


def capacity_use(instance: Any, schedules: Mapping[str, Schedule]) -> Figure:
    """Draw the capacity in use over time: a panel per side and resource, a line per schedule."""
    by_name = {name: usage(instance, schedule) for name, schedule in schedules.items()}
    first = next(iter(by_name.values()))
    kept = [key for key in first if any(u[key].any() for u in by_name.values())] or list(first)
    columns = min(3, len(kept))
    rows = math.ceil(len(kept) / columns)
    figure = Figure(figsize=(4.2 * columns, 2.3 * rows + 0.8), dpi=DPI, layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    title = {"workers": "worker machines", "ps": "PS machines"}
    for axis, key in zip(axes.flat, kept, strict=False):
        for colour, (name, shares) in zip(_colours(by_name), by_name.items(), strict=True):
            width, front = (2.0, 3) if name == HINDSIGHT else (1.1, 2)
            axis.stairs(100 * shares[key], color=colour, linewidth=width, label=name, zorder=front)
        axis.set_title(f"{title[key[0]]}: {key[1]}", fontsize=9)
        axis.set_xlim(0, instance.horizon)
        axis.set_ylim(0, 103)
        axis.grid(color="#EEEEEE")
    for axis in axes.flat[len(kept) :]:
        axis.set_visible(False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    figure.supylabel("capacity in use, %", fontsize=9)
    figure.supxlabel("slot", fontsize=9)
    return figure


def _colours(names: Mapping[str, Any]) -> list[str]:
    """Return a colour per name: black for hindsight, the palette in turn for the others."""
    others = iter(COLOURS[:-1] * (1 + len(names) // len(COLOURS)))
    return [COLOURS[-1] if name == HINDSIGHT else next(others) for name in names]


def convergence(optimum: Optimum) -> Figure:
    """Draw value and bound over time."""
    figure = Figure(figsize=(6.4, 3.8), dpi=DPI, layout="constrained")
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
    axis.grid(color="#EEEEEE")
    axis.legend(frameon=False)
    return figure


def ratio_bars(report: RatioReport) -> Figure:
    """Draw each policy's ratio: solid up to its proven low end, hatched up to its high end."""
    rows = list(reversed(report.policies))
    figure = Figure(figsize=(6.8, 1.5 + 0.5 * len(rows)), dpi=DPI, layout="constrained")
    axis = figure.subplots()
    finite = [e for r in rows for e in (r.ratio.low, r.ratio.high) if e and math.isfinite(e)]
    edge = 1.18 * max(finite, default=1.0)
    for y, row in enumerate(rows):
        _bar(axis, y, row, edge)
    axis.axvline(1.0, color="black", linewidth=1)
    axis.set_yticks(range(len(rows)), [row.name for row in rows])
    axis.set_xlim(0, max(edge, 1.2))
    optimum = report.optimum
    meaning = "optimum / policy" if optimum.sense == "max" else "policy / optimum"
    axis.set_xlabel(f"ratio, {meaning} (1: the best with hindsight)")
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
