"""Pictures of family `completion`: Gantt charts, and the capacity in use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import short
from optsched.families.completion.facts import offered_load
from optsched.families.completion.instance import CompletionInstance, CompletionSchedule
from optsched.families.completion.modes import Cluster
from optsched.families.completion.verify import verify
from optsched.numbers.arrays import Floats
from optsched.scheduling.jobs import LoadProfile
from optsched.scheduling.pictures import ROWS, Course, Panel, capacity_use, gantt, over_time

SHADE = "workers / most workers of the job"
NUMBER = "worker type and workers"


def pictures(
    inst: CompletionInstance, schedules: Mapping[str, CompletionSchedule]
) -> Mapping[str, Figure]:
    """Return Gantt charts and the capacity in use; without schedules each job's shortest run."""
    arrival = [job.arrival for job in inst.jobs]
    if len(arrival) > ROWS:
        return _over_time(inst, schedules)
    if not schedules:
        return {"jobs": gantt([_shortest_runs(inst)], arrival, shade=SHADE, number=None)}
    chosen = sorted(schedules, key=lambda name: (name != "hindsight", name != "a_online"))[:2]
    ends = {name: [p.end for job in s.jobs for p in job] for name, s in schedules.items()}
    slots = _shown(inst, [end for name in chosen for end in ends[name]])
    panels = [_panel(inst, name, schedules[name], slots) for name in chosen]
    slots = _shown(inst, [end for each in ends.values() for end in each])
    used = {name: usage(inst, s, slots) for name, s in schedules.items()}
    return {
        "schedules": gantt(panels, arrival, shade=SHADE, number=NUMBER),
        "capacity": capacity_use(used),
    }


def _over_time(
    inst: CompletionInstance, schedules: Mapping[str, CompletionSchedule]
) -> Mapping[str, Figure]:
    """Return the events over time, and the capacity in use: too many jobs for a row each."""
    resource, load = _load(inst)
    ends = [p.end for s in schedules.values() for job in s.jobs for p in job]
    slots = _shown(
        inst, ends or [math.ceil(a + n) for a, n in zip(load.arrival, load.slots, strict=True)]
    )
    courses = {}
    for name, schedule in schedules.items():
        done = verify(inst, schedule, unfinished=True).completion
        before = [None if c is None else c - 1 for c in done]
        use = usage(inst, schedule, slots)
        courses[name] = Course(use, before, [job.weight for job in inst.jobs])
    found = {"over-time": over_time(courses, load.arrival, slots, "weight", resource, load)}
    used = {name: course.use for name, course in courses.items()}
    return found | ({"capacity": capacity_use(used)} if courses else {})


def _load(inst: CompletionInstance) -> tuple[str, LoadProfile]:
    """Return the scarcest resource, and the jobs' demand for it, each in its shortest mode."""
    loads, cluster = offered_load(inst), Cluster(inst)
    name = max(loads, key=lambda resource: loads[resource])
    r = inst.resources.index(name)
    slots, amount = [], []
    for job in inst.jobs:
        modes = cluster.task(job).modes
        slots.append(float(modes.shortest or 0))
        kind = inst.worker_types[modes.worker_type[0]] if modes.size else None
        amount.append(0.0 if kind is None else float(modes.workers[0] * kind.demand[r]))
    whole = float(sum(machine[r] for machine in inst.capacity))
    return name, LoadProfile(name, [job.arrival for job in inst.jobs], slots, amount, whole)


def _shown(inst: CompletionInstance, ends: Sequence[int]) -> int:
    """Return how many slots to show: until the last arrival and end; horizons may be far off."""
    return max([*(job.arrival + 1 for job in inst.jobs), *ends])


def usage(inst: CompletionInstance, schedule: CompletionSchedule, slots: int) -> dict[str, Floats]:
    """Return the share of all capacity that is in use, by resource and slot."""
    whole = np.maximum(np.array(inst.capacity, float).sum(axis=0), 1e-300)  # (R,)
    load = np.zeros((slots, len(inst.resources)))
    for pieces in schedule.jobs:
        for piece in pieces:
            demand = piece.number * np.array(inst.worker_types[piece.worker_type].demand, float)
            if piece.ps_type is not None:
                number = sum(n for _, n in piece.ps)
                demand = demand + number * np.array(inst.ps_types[piece.ps_type].demand, float)
            load[piece.start : piece.end] += demand
    shares = load / whole
    return {name: shares[:, r] for r, name in enumerate(inst.resources)}


def _panel(inst: CompletionInstance, name: str, schedule: CompletionSchedule, slots: int) -> Panel:
    verdict = verify(inst, schedule, unfinished=True)
    shares = np.zeros((len(inst.jobs), slots))
    labels = []
    for j, (job, pieces) in enumerate(zip(inst.jobs, schedule.jobs, strict=True)):
        for piece in pieces:
            shares[j, piece.start : piece.end] = piece.number / job.chunks
        last = pieces[-1] if pieces else None
        kind = "" if last is None else inst.worker_types[last.worker_type].name
        labels.append("" if last is None else f"{kind} x{last.number}".strip())
    return Panel(
        title=f"{short(name)}: weighted completion {verdict.value or 0:.6g}",
        shares=shares,
        completion=[None if c is None else c - 1 for c in verdict.completion],
        labels=labels,
    )


def _shortest_runs(inst: CompletionInstance) -> Panel:
    """Return each job in its shortest mode from its arrival on, as if it were alone."""
    cluster = Cluster(inst)
    modes = [cluster.task(job).modes for job in inst.jobs]
    ends = [job.arrival + (m.shortest or 0) for job, m in zip(inst.jobs, modes, strict=True)]
    shares = np.zeros((len(inst.jobs), _shown(inst, ends)))
    for j, (job, mode) in enumerate(zip(inst.jobs, modes, strict=True)):
        if mode.size:
            shares[j, job.arrival : ends[j]] = mode.workers[0] / job.chunks
    return Panel(
        title="shortest run of each job, if it were alone",
        shares=shares,
        completion=[0] * len(inst.jobs),
        labels=[""] * len(inst.jobs),
    )
