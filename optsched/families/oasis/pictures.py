"""Pictures of family `oasis`: its schedules, and the capacity that they use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.verify import verify
from optsched.numbers.arrays import Floats
from optsched.scheduling.pictures import Panel, pictures_of

SIDES = {"workers": "worker machines", "ps": "PS machines"}


def pictures(inst: OasisInstance, schedules: Mapping[str, OasisSchedule]) -> Mapping[str, Figure]:
    """Return Gantt charts and the capacity in use; without schedules each job's shortest run."""
    runs = partial(_shortest_runs, inst)
    return pictures_of(inst, schedules, first="oasis", shortest=runs, verify=verify, usage=usage)


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
