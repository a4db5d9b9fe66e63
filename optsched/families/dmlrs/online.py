"""How an online run of family `dmlrs` turns into a schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from optsched.families.dmlrs.instance import (
    DmlrsInstance,
    DmlrsJob,
    DmlrsSchedule,
    JobSchedule,
    Platform,
)
from optsched.problem import Information
from optsched.scheduling.jobs import Arrivals, arrivals_by_slot
from optsched.scheduling.placement import Placement
from optsched.scheduling.wire import placed_jobs, placements_wire

WIRE = placements_wire(Platform, DmlrsJob)


def events(inst: DmlrsInstance, information: Information = "after") -> Iterator[Arrivals]:
    """Hand over the jobs slot by slot."""
    return arrivals_by_slot(inst.jobs, inst.horizon, information)


def assemble(
    inst: DmlrsInstance, played: Sequence[tuple[Arrivals, Mapping[int, Placement]]]
) -> DmlrsSchedule:
    """Collect the decisions of all slots, one placement per running job and slot."""
    return DmlrsSchedule(jobs=placed_jobs(inst.jobs, played, JobSchedule))
