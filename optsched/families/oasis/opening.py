"""What is known of every instance before anything is searched."""

from __future__ import annotations

from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.verify import verify


def empty(inst: OasisInstance) -> OasisSchedule:
    """Return the schedule without any job."""
    return OasisSchedule(jobs=(None,) * len(inst.jobs))


def trim(inst: OasisInstance, schedule: OasisSchedule) -> OasisSchedule:
    """Leave out the jobs that do not complete: they earn nothing, and use what others could."""
    completion = verify(inst, schedule, unfinished=True).completion
    kept = zip(schedule.jobs, completion, strict=False)
    return OasisSchedule(jobs=tuple(plan if c is not None else None for plan, c in kept))
