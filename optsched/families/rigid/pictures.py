"""Pictures of family `rigid`: queue and use of the machines over time, and a Gantt chart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import (
    COLOURS,
    HINDSIGHT,
    colours_of,
    curve_labels,
    finish,
    legend,
    new_figure,
    shorts,
)
from optsched.families.rigid.instance import RigidInstance, RigidSchedule
from optsched.families.rigid.verify import verify
from optsched.numbers.arrays import Floats, Ints
from optsched.problem import REAL

FEW = 60  # jobs of a Gantt chart
SIDE = 3  # Gantt charts next to each other
CURVES = 6  # of the picture over time
HOUR = 3600.0


def pictures(inst: RigidInstance, schedules: Mapping[str, RigidSchedule]) -> Mapping[str, Figure]:
    """Draw the queue length and the utilization; of few jobs a Gantt chart as well."""
    shown = schedules or {"": RigidSchedule(start=tuple(job.arrival for job in inst.jobs))}
    found = {"over-time": over_time(inst, _few(inst, shown), named=bool(schedules))}
    if schedules and len(inst.jobs) <= FEW:
        found["gantt"] = gantt(inst, dict(list(schedules.items())[:SIDE]))
    return found


def _few(
    inst: RigidInstance, schedules: Mapping[str, RigidSchedule]
) -> Mapping[str, RigidSchedule]:
    """Return the optimum, what was recorded, FCFS, EASY, and the best others: `CURVES` in all."""
    names = [name for name in (HINDSIGHT, REAL, "fcfs", "easy") if name in schedules]
    found = {name: verify(inst, s).value for name, s in schedules.items() if name not in names}
    others = sorted(found, key=lambda name: (found[name] is None, found[name] or 0.0))
    kept = {*names, *others[: max(0, CURVES - len(names))]}
    return {name: s for name, s in schedules.items() if name in kept}


def _steps(times: Ints, changes: Ints) -> tuple[Floats, Ints]:
    """Return when a sum changes, hours, and its values from then on."""
    when, place = np.unique(times, return_inverse=True)
    sums = np.zeros(len(when), np.int64)
    np.add.at(sums, place, changes)
    return when / HOUR, sums.cumsum()


def over_time(
    inst: RigidInstance, schedules: Mapping[str, RigidSchedule], *, named: bool
) -> Figure:
    """Draw waiting jobs and the share in use of every resource, a curve per schedule."""
    panels = ["jobs that wait", *(f"share of {name} in use" for name in inst.resources)]
    if not named:
        panels = [
            "jobs that wait, on unlimited machines",
            *(f"share of {name} requested" for name in inst.resources),
        ]
    figure = new_figure(8.6, 1.0 + 1.9 * len(panels))
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    a, labels, colours = inst.arrays, curve_labels(schedules), colours_of(schedules)
    for name, schedule in schedules.items():
        start = np.array([job.arrival if s is None else s for s, job in
                          zip(schedule.start, inst.jobs, strict=True)], np.int64)  # fmt: skip
        line = {"color": colours[name] if named else COLOURS[0], "linewidth": 1.2}
        one = np.ones(len(start), np.int64)
        when = np.concatenate([a.arrival, start])
        steps = _steps(when, np.concatenate([one, -one]))
        axes[0].step(*steps, where="post", label=labels[name], **line)
        for k, axis in enumerate(axes[1:]):
            used = a.demand[:, k]
            edges = np.concatenate([start, start + a.run])
            hours, units = _steps(edges, np.concatenate([used, -used]))
            axis.step(hours, units / max(1, inst.total[k]), where="post", **line)
    for axis, title in zip(axes, panels, strict=True):
        finish(axis)
        axis.set_title(title, fontsize=9)
        axis.set_ylim(bottom=0)
    axes[-1].set_xlabel("time (h)")
    if named:
        legend(figure, axes[0])
    return figure


def gantt(inst: RigidInstance, schedules: Mapping[str, RigidSchedule]) -> Figure:
    """Draw when jobs wait (grey) and run."""
    figure = new_figure(4.2 * len(schedules), 1.2 + 0.12 * max(8, len(inst.jobs)))
    axes = figure.subplots(1, len(schedules), squeeze=False)[0]
    names = shorts(schedules)
    for axis, (name, schedule) in zip(axes, schedules.items(), strict=True):
        for i, (job, start) in enumerate(zip(inst.jobs, schedule.start, strict=True)):
            if start is None:
                continue
            axis.barh(i, start - job.arrival, left=job.arrival, color="#DDDDDD", height=0.7)
            axis.barh(i, job.run, left=start, color=COLOURS[i % 6], height=0.7)
        axis.invert_yaxis()
        finish(axis, "time (s)", "job", grid="x")
        axis.set_title(names[name], fontsize=9)
    return figure
