"""Facts about an instance before it is solved: load, fastest runs, warnings."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.modes import Cluster
from optsched.scheduling.jobs import LIGHT, classes_of, share, spread


def headline(inst: CompletionInstance) -> str:
    """Return the size in a phrase."""
    servers = sum(c.count for c in inst.servers)
    return f"{len(inst.jobs)} jobs, {servers} servers"


def offered_load(inst: CompletionInstance) -> dict[str, float]:
    """Return the jobs' demand for each resource, over the capacity until the horizon.

    Each job in the mode that takes the least share of the cluster times slots (of the resource of
    which it takes the most); parameter servers are not counted. inf where there is demand and no
    capacity.
    """
    return dict(_on_empty_servers(inst)[1])


@lru_cache(maxsize=1)  # all that is reported of an instance rests on the modes of its jobs
def _on_empty_servers(
    inst: CompletionInstance,
) -> tuple[tuple[int | None, ...], dict[str, float]]:
    """Return the shortest run of every job (None: it fits nowhere), and the offered load."""
    cluster = Cluster(inst)
    need = np.zeros(len(inst.resources))
    shortest = []
    for job in inst.jobs:
        modes = cluster.task(job).modes
        shortest.append(modes.shortest)
        if modes.size:
            area = (
                cluster.types.worker_demand[modes.worker_type]
                * (modes.workers * modes.duration)[:, None]
            )  # (G, R)
            need += area[int((area / cluster.whole).max(axis=1).argmin())]
    have = cluster.arrays.capacity.sum(axis=0) * inst.horizon
    return tuple(shortest), {
        name: float(n / h) if h else (float("inf") if n else 0.0)
        for name, n, h in zip(inst.resources, need, have, strict=True)
    }


def describe(inst: CompletionInstance) -> dict[str, Any]:
    """Return the facts that `optsched show` prints, by their names."""
    shortest, _ = _on_empty_servers(inst)
    units = inst.units or ("",) * len(inst.resources)
    return {
        "source": inst.source,
        "jobs": len(inst.jobs),
        "slots": inst.horizon,
        "slot seconds": inst.slot_seconds,
        "architecture": inst.architecture,
        "jobs must end by the horizon": inst.enforce_horizon,
        "resources": dict(zip(inst.resources, units, strict=True)),
        "servers": sum(c.count for c in inst.servers),
        "server classes": classes_of(inst.servers, inst.resources),
        "worker types": [
            {"name": w.name} | dict(zip(inst.resources, w.demand, strict=True))
            for w in inst.worker_types
        ],
        "ps types": [
            {"name": p.name} | dict(zip(inst.resources, p.demand, strict=True))
            for p in inst.ps_types
        ],
        "offered load": {"servers": offered_load(inst)},
        "shortest run": spread(s for s in shortest if s is not None),
        "jobs with more than one worker": share(job.chunks > 1 for job in inst.jobs),
        "jobs that can never run": sum(s is None for s in shortest),
        "redrawn": inst.redrawn,
        "drawn": list(inst.drawn),
    }


def warnings(inst: CompletionInstance) -> list[str]:
    """Return warnings: reasons why results of the instance mean little, or nothing."""
    found = []
    runs, _ = _on_empty_servers(inst)
    for j, (job, shortest) in enumerate(zip(inst.jobs, runs, strict=True)):
        if shortest is None:
            found.append(f"job {j} fits on no servers, and every job must run: no schedule exists")
        elif inst.enforce_horizon and job.arrival + shortest > inst.horizon:
            end = job.arrival + shortest
            found.append(
                f"job {j} ends in slot {end} at the earliest, after the horizon {inst.horizon}: "
                "no schedule exists"
            )
    load = max(offered_load(inst).values(), default=0.0)
    if load < LIGHT:
        found.append(f"the offered load is {load:.2g}: any policy may do well")
    if load > 1:
        found.append(f"the offered load is {load:.2g}: the jobs cannot all end by the horizon")
    return found
