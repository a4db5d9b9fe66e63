"""Facts about an instance before it is solved: fastest runs, loads, warnings."""

from __future__ import annotations

from typing import Any

from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.scheduling.jobs import (
    EARNS,
    LoadProfile,
    abridged,
    classes_of,
    load_of,
    misfit,
    share,
    spread,
    warn_of_low_load,
)


def offered_load(inst: DmlrsInstance) -> dict[str, float]:
    """Return the jobs' demand, as a multiple of the capacity, by resource.

    Every job counts as it runs fastest on the empty machines, with its workers and parameter
    servers; jobs that can never finish are left out. The load is demand x slots over the capacity
    of all machines x slots; inf where there is demand and no capacity.
    """
    return load_of(inst.total_demand, inst.machines, inst)


def load_profile(inst: DmlrsInstance) -> LoadProfile:
    """Return the jobs' demand for the scarcest resource, each at full speed."""
    loads = offered_load(inst)
    name = max(loads, key=lambda resource: loads[resource])
    r = inst.resources.index(name)
    return LoadProfile(
        resource=name,
        arrival=[job.arrival for job in inst.jobs],
        slots=[
            0.0 if end is None else needs.work / pace.work
            for pace, needs, end in zip(inst.paces, inst.needs, inst.earliest, strict=True)
        ],
        amount=[
            pace.workers * job.worker_demand[r] + pace.ps * job.ps_demand[r]
            for pace, job in zip(inst.paces, inst.jobs, strict=True)
        ],
        whole=sum(c.count * c.capacity[r] for c in inst.machines),
    )


def describe(inst: DmlrsInstance) -> dict[str, Any]:
    """Return the facts that `optsched show` prints, by their names."""
    units = inst.units or ("",) * len(inst.resources)
    ends, paces, most = inst.earliest, inst.paces, load_profile(inst)
    return {
        "source": inst.source,
        "jobs": len(inst.jobs),
        "slots": inst.horizon,
        "slot seconds": inst.slot_seconds,
        "locality": inst.locality,
        "resources": dict(zip(inst.resources, units, strict=True)),
        "machines": sum(c.count for c in inst.machines),
        "machine classes": classes_of(inst.machines, inst.resources),
        "offered load": offered_load(inst),
        "offered load over time": {most.resource: most.tenths(inst.horizon)},
        "slots of the fastest run": spread(
            [e - j.arrival + 1 for j, e in zip(inst.jobs, ends, strict=True) if e is not None]
        ),
        "inner rate / outer rate": spread(
            [round(j.inner_bandwidth / j.outer_bandwidth, 3) for j in inst.jobs]
        ),
        "jobs with more than one worker": share([j.chunks > 1 for j in inst.jobs]),
        "jobs that run fastest on one machine": share(
            [p.work == p.workers * n.inner for p, n in zip(paces, inst.needs, strict=True)]
        ),
        "jobs that can never finish": ends.count(None),
        "jobs that can earn": sum(
            e is not None and j.utility(e - j.arrival) > EARNS * j.utility(0)
            for e, j in zip(ends, inst.jobs, strict=True)
        ),
        "redrawn": inst.redrawn,
        "drawn": list(inst.drawn),
    }


def warnings(inst: DmlrsInstance) -> list[str]:
    """Return warnings about a valid instance, such as jobs that no algorithm can admit."""
    found: list[str] = []
    for i, (job, needs) in enumerate(zip(inst.jobs, inst.needs, strict=True)):
        pace = inst.paces[i]
        if not pace.work:
            found.append(f"job {i}: {misfit(job, inst.machines, inst.machines, inst)}")
        elif needs.work > pace.work * (inst.horizon - job.arrival):
            slots = -(-needs.work // pace.work)
            found.append(
                f"job {i} can never finish: needs {slots} slots at its fastest, "
                f"{inst.horizon - job.arrival} are left after its arrival"
            )
    found = abridged(found, len(inst.jobs))
    load = max(offered_load(inst).values())
    return found + (warn_of_low_load(load) if inst.jobs else [])
