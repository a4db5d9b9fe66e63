"""Pictures of family `oasis`: its schedules, and the capacity that they use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import short
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.verify import verify
from optsched.numbers.arrays import Floats
from optsched.scheduling.pictures import Panel, capacity_use, gantt

SIDES = {"workers": "worker machines", "ps": "PS machines"}
SHADE = "workers / most workers of the job"
NUMBER = "utility earned"


def pictures(inst: OasisInstance, schedules: Mapping[str, OasisSchedule]) -> Mapping[str, Figure]:
    """Return Gantt charts and the capacity in use; without schedules each job's shortest run."""
    arrival = [job.arrival for job in inst.jobs]
    if not schedules:
        return {"jobs": gantt([_shortest_runs(inst)], arrival, shade=SHADE, number=None)}
    chosen = sorted(schedules, key=lambda name: (name != "hindsight", name != "oasis"))[:2]
    panels = [_panel(inst, name, schedules[name]) for name in chosen]
    used = {name: usage(inst, schedule) for name, schedule in schedules.items()}
    return {
        "schedules": gantt(panels, arrival, shade=SHADE, number=NUMBER),
        "capacity": capacity_use(used),
    }


def _panel(inst: OasisInstance, name: str, schedule: OasisSchedule) -> Panel:
    verdict = verify(inst, schedule, unfinished=True)
    done = sum(c is not None for c in verdict.completion)
    most = np.array([job.chunks for job in inst.jobs], float)
    labels = []
    for job, end in zip(inst.jobs, verdict.completion, strict=True):
        utility = 0.0 if end is None else job.utility(end - job.arrival)
        labels.append("" if end is None else f"{utility:.3g}" if utility >= 0.005 else "0")
    earned, jobs = f"value {verdict.value or 0:.5g}", f"{done} of {len(inst.jobs)} jobs"
    return Panel(
        title=f"{short(name)}: {earned}, {jobs} completed",
        shares=_workers(inst, schedule) / np.maximum(most, 1)[:, None],
        completion=verdict.completion,
        labels=labels,
    )


def _shortest_runs(inst: OasisInstance) -> Panel:
    """Return each job at full speed from its arrival on, as far as the horizon reaches."""
    shares = np.zeros((len(inst.jobs), inst.horizon))
    for i, job in enumerate(inst.jobs):
        shares[i, job.arrival : job.arrival + inst.shortest[i]] = 1.0
    return Panel(
        title="earliest completion of each job, on unlimited machines",
        shares=shares,
        completion=[0] * len(inst.jobs),
        labels=[""] * len(inst.jobs),
    )


def _workers(inst: OasisInstance, schedule: OasisSchedule) -> Floats:
    """Return the number of workers of each job in each slot, shape (I, T)."""
    workers = np.zeros((len(inst.jobs), inst.horizon))
    for i, plan in enumerate(schedule.jobs):
        for slot, _machine, number in () if plan is None else plan.workers:
            workers[i, slot] += number
    return workers


def usage(inst: OasisInstance, schedule: OasisSchedule) -> dict[str, Floats]:
    """Return the share of the capacity in use, by side and resource, each of shape (T,).

    A side has no entry for a resource of which its machines have nothing.
    """
    used = {side: np.zeros((inst.horizon, len(inst.resources))) for side in SIDES}
    for job, plan in zip(inst.jobs, schedule.jobs, strict=True):
        if plan is None:
            continue
        for side, demand in (("workers", job.worker_demand), ("ps", job.ps_demand)):
            for slot, _machine, number in getattr(plan, side):
                used[side][slot] += number * np.array(demand)
    there: dict[str, Any] = {"workers": inst.worker_capacity, "ps": inst.ps_capacity}
    shares = {}
    for side, capacity in there.items():
        total = np.array(capacity).sum(axis=0)  # (R,)
        for r, resource in enumerate(inst.resources):
            if total[r] > 0:
                shares[f"{SIDES[side]}: {resource}"] = used[side][:, r] / total[r]
    return shares
