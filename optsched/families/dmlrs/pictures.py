"""Pictures of family `dmlrs`: its schedules, and the capacity that they use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule
from optsched.families.dmlrs.verify import verify
from optsched.numbers.arrays import Floats
from optsched.scheduling.pictures import Panel, pictures_of


def pictures(inst: DmlrsInstance, schedules: Mapping[str, DmlrsSchedule]) -> Mapping[str, Figure]:
    """Return Gantt charts and the capacity in use; without schedules each job's shortest run."""
    runs = partial(_shortest_runs, inst)
    return pictures_of(inst, schedules, first="pd-ors", shortest=runs, verify=verify, usage=usage)


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
