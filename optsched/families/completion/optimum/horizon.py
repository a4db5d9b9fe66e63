"""Latest completions of jobs that may run on after the horizon, from a greedy upper bound.

The greedy schedule inserts jobs by weight per share of the cluster, a generalization of Smith's
ratio (Smith, 1956). In any better schedule no job can complete later than the remaining cost
allows.
"""

from __future__ import annotations

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.families.completion.optimum.search.neighborhood import (
    Neighborhood,
    cost,
    schedule_of,
)

LARGE = 15_000  # jobs times servers, above which the search of small instances makes too few moves


def size(inst: CompletionInstance) -> int:
    """Return how many jobs there are, times servers."""
    return len(inst.jobs) * sum(c.count for c in inst.servers)


def greedy(jobs: JobTables, progress: Progress | None) -> Neighborhood | None:
    """Insert all jobs at no prices, on servers for long enough, and report the schedule.

    The most weight per share of the cluster goes first. With a deadline not all may fit: then
    None.
    """
    free = np.zeros((1, *jobs.class_capacity.shape))
    order = np.argsort([-task.density for task in jobs.tasks], kind="stable").tolist()
    shortest = max((modes.shortest or 1 for modes in jobs.modes), default=1)
    slots = jobs.inst.deadline or 2 * jobs.inst.horizon + shortest
    for _ in range(12):
        area = Neighborhood(jobs, free, slots)
        area.construct(order, 1.0)
        if None not in area.plans:
            if progress is not None:
                progress.incumbent(cost(jobs, area.plans), schedule_of(area.plans))
            return area
        if jobs.inst.deadline is not None:
            return None
        slots *= 2
    raise RuntimeError("the greedy schedule does not end")


def makespan(area: Neighborhood) -> int:
    """Return when the last job ends."""
    return max((plan.piece.end for plan in area.plans if plan is not None), default=1)


def latest_ends(jobs: JobTables, progress: Progress | None = None) -> list[int]:
    """Return by which slot every job ends in all schedules that are better than the best known.

    Where they are not many, a greedy one is made for it.
    """
    if jobs.inst.deadline is not None:
        return [jobs.inst.deadline] * len(jobs.modes)
    if progress is not None and progress.value is not None and size(jobs.inst) > LARGE:
        return ends_below(jobs, progress.value)
    area = greedy(jobs, progress)
    assert area is not None
    value = cost(jobs, area.plans)
    if progress is not None and progress.value is not None:
        value = min(value, progress.value)
    return ends_below(jobs, value)


def ends_below(jobs: JobTables, value: float) -> list[int]:
    """Return by which slot every job ends in all schedules of at most a weighted completion.

    A job that ends in C costs w C, and every other at least w (a + shortest): so C is at most what
    is left of ``value``, over w.
    """
    if jobs.inst.deadline is not None:
        return [jobs.inst.deadline] * len(jobs.modes)
    alone = jobs.weight * (jobs.arrival + np.array([m.shortest or 1 for m in jobs.modes]))
    latest = (value - float(alone.sum()) + alone) / jobs.weight
    return [int(x) + 1 for x in latest.tolist()]
