"""Facts about an instance before it is solved: loads, fastest runs, warnings."""

from __future__ import annotations

from typing import Any

from optsched.families.oasis.instance import OasisInstance
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


def fastest(inst: OasisInstance) -> tuple[int | None, ...]:
    """Return the slots that each job needs on the empty machines; None: no worker fits."""
    return tuple(-(-w // n) if n else None for w, n in zip(inst.work, inst.most, strict=True))


def offered_load(inst: OasisInstance) -> dict[str, dict[str, float]]:
    """Return the jobs' demand, as a multiple of the capacity.

    The load of a resource is (sum over jobs of worker-slots x demand of a worker) / (capacity of
    all machines x slots). A parameter server (PS) is counted in every slot in which the job needs
    it at full speed. Jobs that could not finish on unlimited machines are left out: W_i > N_i (T -
    a_i).

    Returns
    -------
    dict
        ``{"worker": {resource: load}, "ps": {resource: load}}``; inf where there is demand and no
        capacity.
    """
    totals = inst.total_demand
    sides = (inst.worker_machines, inst.ps_machines)
    worker, ps = (load_of(total, side, inst) for total, side in zip(totals, sides, strict=True))
    return {"worker": worker, "ps": ps}


def load_profile(inst: OasisInstance) -> LoadProfile:
    """Return the jobs' demand for the workers' scarcest resource, at full speed."""
    loads = offered_load(inst)["worker"]
    name = max(loads, key=lambda resource: loads[resource])
    r = inst.resources.index(name)
    return LoadProfile(
        resource=name,
        arrival=[job.arrival for job in inst.jobs],
        slots=[
            w / job.chunks if w <= job.chunks * (inst.horizon - job.arrival) else 0.0
            for w, job in zip(inst.work, inst.jobs, strict=True)
        ],
        amount=[job.chunks * job.worker_demand[r] for job in inst.jobs],
        whole=sum(c.count * c.capacity[r] for c in inst.worker_machines),
    )


def describe(inst: OasisInstance) -> dict[str, Any]:
    """Return the facts that `optsched show` prints, by their names."""
    units = inst.units or ("",) * len(inst.resources)
    need, most = fastest(inst), load_profile(inst)
    can_finish = [
        d is not None and job.arrival + d <= inst.horizon
        for d, job in zip(need, inst.jobs, strict=True)
    ]
    return {
        "source": inst.source,
        "jobs": len(inst.jobs),
        "slots": inst.horizon,
        "slot seconds": inst.slot_seconds,
        "resources": dict(zip(inst.resources, units, strict=True)),
        "worker machines": sum(c.count for c in inst.worker_machines),
        "worker machine classes": classes_of(inst.worker_machines, inst.resources),
        "ps machines": sum(c.count for c in inst.ps_machines),
        "ps machine classes": classes_of(inst.ps_machines, inst.resources),
        "offered load": offered_load(inst),
        "offered load over time": {f"worker {most.resource}": most.tenths(inst.horizon)},
        "worker-slots": spread(inst.work),
        "jobs with more than one worker": share(j.chunks > 1 for j in inst.jobs),
        "jobs that can never finish": can_finish.count(False),
        "jobs that can earn": sum(
            done and d is not None and job.utility(d - 1) > EARNS * job.utility(0)
            for done, d, job in zip(can_finish, need, inst.jobs, strict=True)
        ),
        "redrawn": inst.redrawn,
        "drawn": list(inst.drawn),
    }


def warnings(inst: OasisInstance) -> list[str]:
    """Return warnings about a valid instance, such as jobs that no algorithm can admit."""
    found: list[str] = []
    for i, job in enumerate(inst.jobs):
        left = inst.horizon - job.arrival
        most = inst.most[i]
        if most == 0:
            found.append(f"job {i}: {misfit(job, inst.worker_machines, inst.ps_machines, inst)}")
        elif inst.work[i] > most * left:
            found.append(
                f"job {i} can never finish: needs {inst.work[i]} worker-slots, "
                f"at most {left * most} are possible (slots left: {left}, workers in each: {most})"
            )
    found = abridged(found, len(inst.jobs))
    load = max(max(loads.values()) for loads in offered_load(inst).values())
    return found + (warn_of_low_load(load) if inst.jobs else [])
