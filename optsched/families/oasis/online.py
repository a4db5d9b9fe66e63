"""How an online run of family `oasis` turns into a schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from optsched.families.oasis.instance import (
    JobSchedule,
    OasisInstance,
    OasisJob,
    OasisSchedule,
    Platform,
)
from optsched.problem import Information
from optsched.scheduling.jobs import Arrivals, arrivals_by_slot
from optsched.scheduling.placement import Placement
from optsched.scheduling.wire import must_have_arrived, placements_wire

WIRE = placements_wire(Platform, OasisJob)


def events(inst: OasisInstance, information: Information = "after") -> Iterator[Arrivals]:
    """Hand over the jobs slot by slot."""
    return arrivals_by_slot(inst.jobs, inst.horizon, information)


def assemble(
    inst: OasisInstance, played: Sequence[tuple[Arrivals, Mapping[int, Placement]]]
) -> OasisSchedule:
    """Collect the decisions of all slots, one placement per running job and slot.

    Raises
    ------
    ValueError
        A job has not arrived yet.
    """
    workers: list[list[tuple[int, int, int]]] = [[] for _ in inst.jobs]
    ps: list[list[tuple[int, int, int]]] = [[] for _ in inst.jobs]
    for event, decision in played:
        for i, placement in decision.items():
            must_have_arrived(inst.jobs, i, event.slot)
            workers[i] += [(event.slot, h, n) for h, n in sorted(placement.workers.items()) if n]
            ps[i] += [(event.slot, k, m) for k, m in sorted(placement.ps.items()) if m]
    jobs = [
        JobSchedule(workers=tuple(w), ps=tuple(s)) if w or s else None
        for w, s in zip(workers, ps, strict=True)
    ]
    return OasisSchedule(jobs=tuple(jobs))
