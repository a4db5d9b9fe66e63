"""Pictures of family `dmlrs`: its schedules, and the capacity that they use."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from optsched.families.dmlrs.facts import load_profile
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule
from optsched.families.dmlrs.verify import verify
from optsched.numbers.arrays import Floats
from optsched.scheduling.jobs import LoadProfile
from optsched.scheduling.pictures import pictures_of, shares_used


def pictures(inst: DmlrsInstance, schedules: Mapping[str, DmlrsSchedule]) -> Mapping[str, Figure]:
    """Return Gantt charts and the capacity in use; without schedules each job's shortest run."""
    title = "earliest completion of each job, on the empty machines"
    runs = title, lambda: [None if end is None else end + 1 for end in inst.earliest]
    return pictures_of(
        inst, schedules, first="pd-ors", shortest=runs, verify=verify, usage=usage, load=_load
    )


def usage(inst: DmlrsInstance, schedule: DmlrsSchedule) -> dict[str, Floats]:
    """Return the share of all machines' capacity in use, by resource, each of shape (T,)."""
    return shares_used(inst, schedule, {"": (inst.capacity, ("workers", "ps"))})


def _load(inst: DmlrsInstance) -> tuple[str, LoadProfile]:
    """Return the scarcest resource, as `usage` calls it, and the jobs' demand for it."""
    found = load_profile(inst)
    return found.resource, found
