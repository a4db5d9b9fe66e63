"""What is known of every instance before anything is searched."""

from __future__ import annotations

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule
from optsched.families.dmlrs.verify import verify


def empty(inst: DmlrsInstance) -> DmlrsSchedule:
    """Return the schedule without any job."""
    return DmlrsSchedule(jobs=(None,) * len(inst.jobs))


def trim(inst: DmlrsInstance, schedule: DmlrsSchedule) -> DmlrsSchedule:
    """Leave out the jobs that do not complete: they earn nothing, and use what others could."""
    completion = verify(inst, schedule, unfinished=True).completion
    kept = zip(schedule.jobs, completion, strict=False)
    return DmlrsSchedule(jobs=tuple(plan if c is not None else None for plan, c in kept))
