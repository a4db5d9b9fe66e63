"""Figures of schedules of jobs: Gantt charts, capacity in use, curves over time.

Where there are too many jobs for a row each, curves over time replace the chart.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from optsched.drawing import (
    CHARACTERS,
    COLOURS,
    HINDSIGHT,
    colours_of,
    curve_labels,
    finish,
    heading,
    label_at,
    legend,
    new_figure,
    short,
    shorts,
)
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.problem import Verdict
from optsched.scheduling.jobs import LoadProfile

ROWS = 400  # most rows of a Gantt chart; of more jobs, curves over time are drawn
STEPS = 60  # most steps of the use of capacity over time: curves of several cross
CELLS = 250  # most cells of a row; more slots than that share cells
NEARLY = 0.95  # of all use: where the picture of capacity ends
ARRIVAL = "#CC3311"
LOAD = "#D8D8D8"  # what jobs request, and how many have come
SHADE = "workers / most workers of the job"
NUMBER = "utility earned"


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


@dataclass(frozen=True)
class Course:
    """Jobs over time under a schedule.

    Attributes
    ----------
    use : mapping
        Resource -> share in use, of shape (T,).
    completion : sequence of int or None
        Slot in which each job completes.
    utilities : sequence of float
        What each job brings when it completes.
    """

    use: Mapping[str, Floats]
    completion: Sequence[int | None]
    utilities: Sequence[float]


def pictures_of(
    inst: Any,
    schedules: Mapping[str, Any],
    *,
    first: str,
    shortest: tuple[str, Callable[[], Sequence[int | None]]],
    verify: Callable[..., Verdict],
    usage: Callable[[Any, Any], dict[str, Floats]],
    load: Callable[[Any], tuple[str, LoadProfile]],
) -> dict[str, Figure]:
    """Return the panels for jobs that have workers and a utility.

    That is the capacity in use, and a Gantt chart, or curves over time where there are too many
    jobs for a row each.

    Parameters
    ----------
    first : str
        The policy that is shown next to the best schedule in hindsight.
    shortest : str, callable
        What is shown where there are no schedules: its title, and the slot before which each job's
        shortest run from its arrival on ends, None if it is not done within the horizon.
    verify, usage : callable
        The family's feasibility check, and what share of each resource a schedule uses.
    load : callable
        The scarcest resource of an instance, as ``usage`` calls it, and the jobs' demand for it.
    """
    arrival = [job.arrival for job in inst.jobs]
    if len(arrival) > ROWS:
        courses = {}
        for name, schedule in schedules.items():
            done = verify(inst, schedule, unfinished=True).completion
            courses[name] = Course(usage(inst, schedule), done, _earned(inst, done))
        found = {"over-time": over_time(courses, arrival, inst.horizon, "utility", *load(inst))}
        used = {name: course.use for name, course in courses.items()}
        return found | ({"capacity": capacity_use(used)} if courses else {})
    if not schedules:
        return {"jobs": gantt([_alone(inst, *shortest)], arrival, shade=SHADE, number=None)}
    chosen = sorted(schedules, key=lambda name: (name != "hindsight", name != first))[:2]
    panels = [
        _panel(inst, name, schedules[name], verify(inst, schedules[name], unfinished=True))
        for name in chosen
    ]
    used = {name: usage(inst, schedule) for name, schedule in schedules.items()}
    return {
        "schedules": gantt(panels, arrival, shade=SHADE, number=NUMBER),
        "capacity": capacity_use(used),
    }


def _alone(inst: Any, title: str, ends: Callable[[], Sequence[int | None]]) -> Panel:
    """Return the panel of each job as it runs alone."""
    shares, known = np.zeros((len(inst.jobs), inst.horizon)), ends()
    for i, (job, end) in enumerate(zip(inst.jobs, known, strict=True)):
        shares[i, job.arrival : end] = 1.0
    done = [None if end is None else 0 for end in known]
    return Panel(title=title, shares=shares, completion=done, labels=[""] * len(known))


def shares_used(
    inst: Any, schedule: Any, sides: Mapping[str, tuple[Any, Sequence[str]]]
) -> dict[str, Floats]:
    """Return the share of the capacity in use, by side and resource, each of shape (T,).

    Parameters
    ----------
    sides : mapping
        By the beginning of their names, capacities (H, R) and what uses them: "workers", "ps".
        A side has no entry for a resource of which its machines have nothing.
    """
    found: dict[str, Floats] = {}
    for side, (capacity, parts) in sides.items():
        used = np.zeros((inst.horizon, len(inst.resources)))
        for job, plan in zip(inst.jobs, schedule.jobs, strict=True):
            for part in parts if plan is not None else ():
                demand = np.array(job.worker_demand if part == "workers" else job.ps_demand)
                for slot, _machine, number in getattr(plan, part):
                    used[slot] += number * demand
        total = np.array(capacity).sum(axis=0)  # (R,)
        there = [(r, name) for r, name in enumerate(inst.resources) if total[r] > 0]
        found |= {f"{side}{name}": used[:, r] / total[r] for r, name in there}
    return found


def _panel(inst: Any, name: str, schedule: Any, verdict: Verdict) -> Panel:
    """Return the panel of a schedule: its workers, and what its jobs earn."""
    done = sum(c is not None for c in verdict.completion)
    workers = np.zeros((len(inst.jobs), inst.horizon))
    for i, plan in enumerate(schedule.jobs):
        for slot, _machine, number in () if plan is None else plan.workers:
            workers[i, slot] += number
    most = np.array([job.chunks for job in inst.jobs], float)
    labels = [
        "" if end is None else f"{utility:.3g}" if utility >= 0.005 else "0"
        for end, utility in zip(verdict.completion, _earned(inst, verdict.completion), strict=True)
    ]
    earned, jobs = f"value {verdict.value or 0:.5g}", f"{done} of {len(inst.jobs)} jobs"
    return Panel(
        title=f"{short(name)}: {earned}, {jobs} completed",
        shares=workers / np.maximum(most, 1)[:, None],
        completion=verdict.completion,
        labels=labels,
    )


def _earned(inst: Any, completion: Sequence[int | None]) -> list[float]:
    """Return the utility of every job, 0 where it does not complete."""
    return [
        0.0 if end is None else job.utility(end - job.arrival)
        for job, end in zip(inst.jobs, completion, strict=True)
    ]


def gantt(
    panels: Sequence[Panel], arrival: Sequence[int], *, shade: str, number: str | None
) -> Figure:
    """Draw jobs as rows and slots as columns, one panel per schedule.

    Parameters
    ----------
    panels : sequence of Panel
    arrival : sequence of int
        Slot in which each job arrives; rows are in this order.
    shade : str
        What a share means.
    number : str or None
        What the labels mean, which are left out where rows are too low for them; None: a single
        panel without a schedule.

    Returns
    -------
    Figure
        Blue: a job that completes; grey: one that does not. Bar: arrival; dot: completion.
    """
    jobs, slots = panels[0].shares.shape
    width, height = min(6.5, 3 + 0.05 * slots), min(13.0, max(2.0, 0.125 * jobs))
    figure = new_figure(2.5 + width * len(panels), 1.7 + height)
    pitch = 72 * height / jobs  # points from row to row
    wide = width * figure.get_figwidth() / (2.5 + width * len(panels))  # of a panel
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    order = sorted(range(jobs), key=lambda i: (arrival[i], i))
    for axis, panel in zip(axes, panels, strict=True):
        _shades(axis, panel, order, pitch)
        _marks(axis, panel, order, arrival, pitch)
        heading(axis, panel.title, wide, 10)
    axes[0].set_ylabel("job, in order of arrival")
    step = max(1, math.ceil(jobs / 50))
    axes[0].set_yticks(range(0, jobs, step), [str(order[k]) for k in range(0, jobs, step)])
    axes[0].tick_params(axis="y", labelsize=7)
    if number is not None:
        bar = figure.colorbar(
            axes[-1].images[-1], ax=list(axes), shrink=min(1.0, 3 / height), pad=0.02
        )
        bar.set_label(shade)
        legend = ["bar: arrival", "dot: completion"]
        # least row height for labels, in points
        if pitch >= 7:
            legend.append(f"number: {number}")
        if any(_unfinished(panel).any() for panel in panels):
            legend.append("grey: not completed")
        letters = int(figure.get_figwidth() * CHARACTERS)
        figure.supxlabel(textwrap.fill(";  ".join(legend), letters), fontsize=9)
    return figure


def _unfinished(panel: Panel) -> Flags:
    """Return which jobs use something and do not complete."""
    done = np.array([c is not None for c in panel.completion])
    return panel.shares.any(axis=1) & ~done


def _shades(axis: Axes, panel: Panel, order: Sequence[int], pitch: float) -> None:
    jobs, slots = panel.shares.shape
    wide = math.ceil(slots / CELLS)
    most = _cells(np.maximum, panel.shares, wide)
    # the least shade
    shares = np.clip(most, 0.25, 1.0)  # one worker can be seen
    late = _unfinished(panel)[:, None]
    for colours, rows in (("Greys", late), ("Blues", ~late)):
        axis.imshow(
            np.where((most > 0) & rows, shares, np.nan)[order],
            aspect="auto",
            interpolation="nearest",
            cmap=colours,
            norm=Normalize(0, 1.3 if colours == "Greys" else 1),  # paler: it earns nothing
            extent=(0, wide * most.shape[1], jobs - 0.5, -0.5),
        )
    line = min(0.8, pitch / 8)
    axis.hlines(np.arange(jobs) - 0.5, 0, slots, color="white", linewidth=line)
    axis.spines[["top", "right"]].set_visible(False)  # labels are there
    axis.set_xlim(0, slots)
    axis.set_xlabel(f"slot (a cell is the most of {wide})" if wide > 1 else "slot")


def _marks(
    axis: Axes, panel: Panel, order: Sequence[int], arrival: Sequence[int], pitch: float
) -> None:
    rows = np.arange(len(order))
    begins = np.array([arrival[i] for i in order])
    axis.vlines(begins, rows - 0.45, rows + 0.45, color=ARRIVAL, linewidth=1.6, clip_on=False)
    for row, i in enumerate(order):
        end = panel.completion[i]
        if end is None or not panel.labels[i]:
            continue
        axis.plot(end + 1, row, ".", color="black", markersize=min(4, pitch), clip_on=False)
        if pitch >= 7:
            label_at(axis, short(panel.labels[i]), (end + 1, row), 3, 6)


def capacity_use(by_name: Mapping[str, Mapping[str, Floats]]) -> Figure:
    """Draw the capacity in use over time: a panel per resource, a row of shades per schedule.

    Where that halves the slots, they end where ``NEARLY`` all of the use of all schedules is done:
    a few late slots of one would squeeze the rest. More than ``CELLS`` of them share cells, which
    show their mean.

    Parameters
    ----------
    by_name : mapping
        Schedule -> resource -> share in use, each of shape (T,). Unused resources are left
        out.
    """
    first = next(iter(by_name.values()))
    kept = [key for key in first if any(u[key].any() for u in by_name.values())] or list(first)
    last, ended = _slots([u[key] for u in by_name.values() for key in kept])
    wide = math.ceil(last / CELLS)
    columns = 1 if len(kept) <= 2 else 2
    rows = math.ceil(len(kept) / columns)
    high = 0.8 + rows * (0.45 + 0.17 * len(by_name))
    figure = new_figure(1.9 + 4.4 * columns, high, flatter=False)
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    names, titles = shorts(by_name), shorts(kept)
    for axis, key in zip(axes.flat, kept, strict=False):
        use = [used[key][:last] for used in by_name.values()]
        shades = axis.imshow(
            [_cells(np.add, shares, wide) for shares in use],
            aspect="auto",
            interpolation="nearest",
            cmap="Blues",
            norm=Normalize(0, 1),
            extent=(0, last, len(use) - 0.5, -0.5),
        )
        axis.hlines(np.arange(1, len(use)) - 0.5, 0, last, color="white", linewidth=1)
        axis.set_title(titles[key], fontsize=9)
        axis.set_xlim(0, last)
        axis.set_yticks(range(len(use)), names.values(), fontsize=8)
        for row, shares in enumerate(use):
            label_at(axis, f"{shares.mean():.0%}", (1, row), 3, 7, on=axis.get_yaxis_transform())
    for axis in axes.flat[len(kept) :]:
        axis.set_visible(False)
        axes[-2, -1].tick_params(labelbottom=True)
    bar = figure.colorbar(
        shades, ax=axes, shrink=min(1.0, 2 / figure.get_figheight()), pad=0.02,
        format=PercentFormatter(1),
    )  # fmt: skip
    bar.set_label("capacity in use", fontsize=8)
    cells = f"; a cell is the mean of {wide} slots" if wide > 1 else ""
    rest = f"\n(not shown: the last {1 - NEARLY:.0%} of all use, until slot {ended - 1})"
    figure.supxlabel(
        f"slot{cells};  right of a row: its mean{rest if last < ended else ''}", fontsize=9
    )
    return figure


def over_time(
    courses: Mapping[str, Course],
    arrival: Sequence[int],
    slots: int,
    utilities: str,
    resource: str,
    load: LoadProfile,
) -> Figure:
    """Draw what is in use, which jobs wait and what is earned over time, a curve per schedule.

    Where the best schedule with hindsight is among others, a panel shows how far they are behind.

    Parameters
    ----------
    courses : mapping
        By the names of schedules; without any, the jobs' demand and arrivals are drawn.
    arrival : sequence of int
        Slot in which each job arrives.
    slots : int
        How many are drawn.
    utilities : str
        What a completed job brings.
    resource : str
        Whose use is drawn.
    load : LoadProfile
        The jobs' demand for it.
    """
    compared = HINDSIGHT in courses and len(courses) > 1
    titles = [f"{resource} in use", "jobs that have arrived"]
    if courses:
        titles[1:] = ["jobs in the system", f"{utilities} of completed jobs"]
        titles += [f"{utilities} behind {HINDSIGHT}"] if compared else []
    figure = new_figure(8.6, 1.0 + 1.9 * len(titles))
    axes = figure.subplots(len(titles), 1, sharex=True)
    names, colours = curve_labels(courses), colours_of(courses)
    wide = math.ceil(slots / STEPS)
    steps, edges = _edges(slots, wide), _edges(slots, math.ceil(slots / CELLS))
    titles[0] += _draw_load(axes[0], load, steps)
    ones = np.ones(len(arrival))
    come = _so_far(arrival, ones, edges)
    earned = {name: _so_far(c.completion, c.utilities, edges) for name, c in courses.items()}
    if not courses:
        axes[1].plot(edges, come, color=COLOURS[0])
    for name, course in courses.items():
        line = {"color": colours[name], "linewidth": 2.4 if name == HINDSIGHT else 1.2}
        if resource in course.use:
            shares = _cells(np.add, course.use[resource], wide)
            axes[0].stairs(shares, steps, baseline=None, **line)
        waiting = come - _so_far(course.completion, ones, edges)
        axes[1].plot(edges, waiting, label=names[name], **line)
        axes[2].plot(edges, earned[name], **line)
        if compared:
            axes[3].plot(edges, earned[HINDSIGHT] - earned[name], **line)
    for axis, title in zip(axes, titles, strict=True):
        finish(axis)
        axis.set_title(title, fontsize=9)
        axis.set_xlim(0, slots)
    axes[0].set_ylim(bottom=0)
    axes[-1].set_xlabel(f"slot (top panel: means of {wide} slots)" if wide > 1 else "slot")
    if courses:
        legend(figure, axes[1])
    return figure


def _edges(slots: int, wide: int) -> Ints:
    """Return the ends of cells of this many slots; the last cell may be shorter."""
    return np.minimum(np.arange(0, slots + wide, wide), slots)


def _so_far(when: Sequence[int | None], amount: Sequence[float] | Floats, edges: Ints) -> Floats:
    """Return how much has come together before each of the ``edges``, in slots."""
    each = np.zeros(edges[-1] + 1)
    known = [(1 + slot, x) for slot, x in zip(when, amount, strict=True) if slot is not None]
    slots, amounts = np.array(known, dtype=float).reshape(-1, 2).T
    np.add.at(each, slots.astype(int), amounts)
    together: Floats = np.cumsum(each)[edges]
    return together


def _draw_load(axis: Axes, load: LoadProfile, edges: Ints) -> str:
    """Draw the jobs' demand for a resource; return its caption."""
    axis.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    if not load.whole:
        return ", of which there is nothing"
    loads = load.between(edges)
    # to which a load is drawn
    axis.stairs(np.minimum(loads, 2.0), edges, fill=True, color=LOAD)
    most = f" (up to {loads.max():.0%})" if loads.max() > 2.0 else ""
    return f"; grey: demand if every job ran at its arrival{most}"


def _slots(shares: Sequence[Floats]) -> tuple[int, int]:
    """Return how many slots to show, and how many there are with any use."""
    done = np.cumsum(np.sum(shares, axis=0))
    nearly, whole = (1 + int(np.argmax(done >= part * done[-1])) for part in (NEARLY, 1.0))
    return (nearly, whole) if 2 * nearly <= whole else (len(done), len(done))


def _cells(join: np.ufunc, shares: Floats, wide: int) -> Floats:
    """Join every ``wide`` slots, the last ones perhaps fewer; a sum becomes a mean."""
    starts = np.arange(0, shares.shape[-1], wide)
    joined: Floats = join.reduceat(shares, starts, axis=-1)
    return joined / np.diff([*starts, shares.shape[-1]]) if join is np.add else joined
