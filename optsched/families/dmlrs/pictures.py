"""Pictures of family `dmlrs`: its schedules, and the capacity that they use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import short
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule
from optsched.families.dmlrs.verify import verify
from optsched.numbers.arrays import Floats
from optsched.scheduling.pictures import Panel, capacity_use, gantt

SHADE = "workers / most workers of the job"
NUMBER = "utility earned"


def pictures(inst: DmlrsInstance, schedules: Mapping[str, DmlrsSchedule]) -> Mapping[str, Figure]:
    """Return Gantt charts and the capacity in use; without schedules each job's shortest run."""
    arrival = [job.arrival for job in inst.jobs]
    if not schedules:
        return {"jobs": gantt([_shortest_runs(inst)], arrival, shade=SHADE, number=None)}
    chosen = sorted(schedules, key=lambda name: (name != "hindsight", name != "pd-ors"))[:2]
    panels = [_panel(inst, name, schedules[name]) for name in chosen]
    used = {name: usage(inst, schedule) for name, schedule in schedules.items()}
    return {
        "schedules": gantt(panels, arrival, shade=SHADE, number=NUMBER),
        "capacity": capacity_use(used),
    }


def _panel(inst: DmlrsInstance, name: str, schedule: DmlrsSchedule) -> Panel:
    verdict = verify(inst, schedule, unfinished=True)
    done = sum(c is not None for c in verdict.completion)
    workers = np.zeros((len(inst.jobs), inst.horizon))
    for i, plan in enumerate(schedule.jobs):
        for slot, _machine, number in () if plan is None else plan.workers:
            workers[i, slot] += number
    most = np.array([job.chunks for job in inst.jobs], float)
    labels = []
    for job, end in zip(inst.jobs, verdict.completion, strict=True):
        utility = 0.0 if end is None else job.utility(end - job.arrival)
        labels.append("" if end is None else f"{utility:.3g}" if utility >= 0.005 else "0")
    earned, jobs = f"value {verdict.value or 0:.5g}", f"{done} of {len(inst.jobs)} jobs"
    return Panel(
        title=f"{short(name)}: {earned}, {jobs} completed",
        shares=workers / np.maximum(most, 1)[:, None],
        completion=verdict.completion,
        labels=labels,
    )


def _shortest_runs(inst: DmlrsInstance) -> Panel:
    """Return each job at its fastest from its arrival on, as far as the horizon reaches."""
    shares = np.zeros((len(inst.jobs), inst.horizon))
    for i, (job, end) in enumerate(zip(inst.jobs, inst.earliest, strict=True)):
        shares[i, job.arrival : inst.horizon if end is None else end + 1] = 1.0
    return Panel(
        title="earliest completion of each job, on the empty machines",
        shares=shares,
        completion=[0 if end is not None else None for end in inst.earliest],
        labels=[""] * len(inst.jobs),
    )


def usage(inst: DmlrsInstance, schedule: DmlrsSchedule) -> dict[str, Floats]:
    """Return the share of all machines' capacity in use, by resource, each of shape (T,).

    There is no entry for a resource of which the machines have nothing.
    """
    used = np.zeros((inst.horizon, len(inst.resources)))
    for job, plan in zip(inst.jobs, schedule.jobs, strict=True):
        if plan is None:
            continue
        for what, demand in (("workers", job.worker_demand), ("ps", job.ps_demand)):
            for slot, _machine, number in getattr(plan, what):
                used[slot] += number * np.array(demand)
    total: Any = np.array(inst.capacity).sum(axis=0)  # (R,)
    return {name: used[:, r] / total[r] for r, name in enumerate(inst.resources) if total[r] > 0}
