"""Pictures of family `oasis`: its schedules, and the capacity that they use."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from optsched.families.oasis.facts import load_profile
from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.families.oasis.verify import verify
from optsched.numbers.arrays import Floats
from optsched.scheduling.jobs import LoadProfile
from optsched.scheduling.pictures import pictures_of, shares_used


def pictures(inst: OasisInstance, schedules: Mapping[str, OasisSchedule]) -> Mapping[str, Figure]:
    """Return Gantt charts and the capacity in use; without schedules each job's shortest run."""
    title = "earliest completion of each job, on unlimited machines"
    runs = title, lambda: [j.arrival + n for j, n in zip(inst.jobs, inst.shortest, strict=True)]
    return pictures_of(
        inst, schedules, first="oasis", shortest=runs, verify=verify, usage=usage, load=_load
    )


def usage(inst: OasisInstance, schedule: OasisSchedule) -> dict[str, Floats]:
    """Return the share of the capacity in use, by side and resource, each of shape (T,)."""
    sides = {
        "worker machines: ": (inst.worker_capacity, ("workers",)),
        "PS machines: ": (inst.ps_capacity, ("ps",)),
    }
    return shares_used(inst, schedule, sides)


def _load(inst: OasisInstance) -> tuple[str, LoadProfile]:
    """Return the scarcest resource, as `usage` calls it, and the jobs' demand for it."""
    found = load_profile(inst)
    return f"worker machines: {found.resource}", found
