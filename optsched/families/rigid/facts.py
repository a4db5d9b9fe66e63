"""Facts about an instance before it is solved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from optsched.families.rigid.certificate.bound import values
from optsched.families.rigid.certificate.check import RigidCertificate
from optsched.families.rigid.instance import SHORTEST, RigidInstance
from optsched.policies.knowledge import own
from optsched.scheduling.jobs import LIGHT, share, spread

OBJECTIVES = {
    "flow": "mean flow time, s",
    "wait": "mean waiting time, s",
    "slowdown": "mean bounded slowdown",
    "makespan": "makespan, s",
}
RUN_TIMES = "run_times"  # prior knowledge of policies
EMPTY = (
    "warning: the window begins with an empty cluster: jobs that still waited or ran then are left "
    "out, so that waiting times of policies and the optimum may be shorter than in the whole log"
)
DOWN = "fit on the machines, which were probably down or reserved"  # of jobs that waited
BUSY = "the log seems to begin on a busy cluster"


def objective(inst: RigidInstance, name: str) -> str:
    """Return what an objective is, with its unit; means are weighted where weights differ."""
    weighted = name != "makespan" and len({job.weight for job in inst.jobs}) > 1
    return "weighted " * weighted + OBJECTIVES[name]


def headline(inst: RigidInstance) -> str:
    """Return the size in a phrase."""
    nodes, goal = sum(m.count for m in inst.machines), objective(inst, inst.objective)
    parts, has = by_partition(inst), inst.amounts(inst.total)
    place = f"a pool of {parts or has}"
    if inst.packed:
        there = f"({parts})" if parts else f"with {has}{' in all' * (nodes > 1)}"
        place = f"{nodes} node{'s' * (nodes > 1)} {there}"
    left = inst.source.partition("; ")[2]  # what of a log is left out
    return f"{len(inst.jobs)} jobs, {goal}, {place}" + (f" ({left})" if left else "")


def are_pools(inst: RigidInstance) -> bool:
    """Whether there are no nodes, but one pool for all or for each partition."""
    return not inst.packed and all(
        m.count == 1 and (m.name in ("", "pool") or m.name.startswith("pool of "))
        for m in inst.machines
    )


def resource_model(inst: RigidInstance) -> str:
    """Return how resources of several nodes are counted, in a sentence; "" for a single one."""
    if inst.packed:
        return (
            "Jobs are placed on the nodes. The lower end of the optimum assumes that free units on "
            "different nodes can be used together."
        )
    nodes = sum(m.count for m in inst.machines)
    if nodes == 1 or are_pools(inst):
        return ""
    pools = f"The {nodes} nodes count as one pool{' per partition' * bool(by_partition(inst))}"
    if all(sum(job.need) <= 1 for job in inst.jobs):
        return f"{pools}: each task is one unit of one resource, so its node makes no difference."
    return (
        f"{pools}: a job may use any free units. On single nodes, waiting times may be longer or "
        "shorter (--packed places jobs on nodes, which whatif does by default)."
    )


def in_words(inst: RigidInstance, value: float | None, bound: float | None) -> Sequence[str]:
    """Return value and bound in hours, of the mean waiting time too, and the resource model."""
    name, unit = objective(inst, inst.objective).partition(", ")[::2]
    less = {name: 0.0}
    if inst.objective == "flow":  # the same schedules have the least waiting time
        run = sum(job.weight * job.run for job in inst.jobs) / inst.weight
        less = {objective(inst, "wait").partition(", ")[0]: run, name: 0.0}
    lines = []
    if unit and value is not None and bound is not None:
        each = [
            " to ".join(dict.fromkeys(f"{max(0.0, x - run) / 3600:.3g}" for x in (bound, value)))
            for run in less.values()
        ]
        found = ", ".join(f"{what} {hours} h" for what, hours in zip(less, each, strict=True))
        lines.append(f"Optimum: {found} (certified bound to best schedule found).")
    return [*lines, *filter(None, [resource_model(inst)])]


def by_partition(inst: RigidInstance) -> str:
    """Return how much there is by partitions that share it; "" without partitions."""
    found: dict[str, list[str]] = {}
    for k, units in enumerate(inst.total):
        found.setdefault(inst.of_partition(k), []).append(inst.counted(k, units))
    told = "; ".join(f"{name}: {', '.join(has)}" for name, has in found.items())
    return "" if "" in found else told


def columns(
    inst: RigidInstance, ends: Sequence[int | None], policy: str | None, knows: Sequence[str]
) -> Mapping[str, float | str]:
    """Return the columns of a schedule in tables, next to its value.

    Means are weighted, as the objective is; the slowdown is bounded, with a threshold of 10 s.
    """
    a, end = inst.arrays, np.array([end or 0 for end in ends], float)
    weight, flow = np.where(end > 0, a.weight, 0.0), end - a.arrival
    total = weight.sum() or 1.0
    slow = np.maximum(1.0, flow / np.maximum(a.run, SHORTEST))
    exact = RUN_TIMES in knows or all(job.request == job.run for job in inst.jobs)
    known = "none" if policy == "fcfs" else "exact" if exact else "requested"
    return {
        "mean wait, h": float(weight @ (flow - a.run) / total) / 3600,
        "mean slowdown": float(weight @ slow / total),
        "run times known": "-" if policy is None else ", ".join([known, *own(knows)]),
        "preempts": "no",
    }


def offered_load(inst: RigidInstance) -> dict[str, float]:
    """Return what all jobs need of each resource, over its capacity between the arrivals."""
    last = max((job.arrival for job in inst.jobs), default=0)
    first = min((job.arrival for job in inst.jobs), default=0)
    longest = max((job.run for job in inst.jobs), default=1)
    seconds = (last - first) or longest
    return {
        inst.within(k, name): sum(job.run * job.tasks * job.need[k] for job in inst.jobs)
        / (seconds * c)
        for k, (name, c) in enumerate(zip(inst.resources, inst.total, strict=True))
        if c
    }


def describe(inst: RigidInstance) -> Mapping[str, Any]:
    """Return the facts that `optsched show` prints, by their names."""
    return {
        "source": inst.source,
        "jobs": len(inst.jobs),
        "objective": objective(inst, inst.objective),
        "tasks": resource_model(inst) or "in one pool",
        "resources": by_partition(inst) or dict(zip(inst.resources, inst.total, strict=True)),
        "nodes": [
            {"name": m.name, "count": m.count} | dict(zip(inst.resources, m.capacity, strict=True))
            for m in inst.machines
        ],
        "offered load": offered_load(inst),
        "run time, s": spread(job.run for job in inst.jobs),
        "requested time over run time": spread(job.request / job.run for job in inst.jobs),
        "jobs of one task": share(job.tasks == 1 for job in inst.jobs),
        "users": len({job.user for job in inst.jobs}),
        "drawn": list(inst.drawn),
    }


def warnings(inst: RigidInstance) -> list[str]:
    """Return warnings: reasons why results of the instance mean little."""
    load = max(offered_load(inst).values(), default=0.0)
    if load < LIGHT:
        return [f"the offered load is {load:.2g}: any policy may do well"]
    if load > 1:
        return [
            f"the offered load is {load:.2g}: jobs need more than the machines can do while they "
            "arrive, so a queue is likely"
        ]
    return []


def run_times(inst: RigidInstance) -> list[int]:
    """Return the run time of every job, s."""
    return [job.run for job in inst.jobs]


def shadow_prices(
    inst: RigidInstance, certificate: RigidCertificate
) -> Iterator[Mapping[str, Any]]:
    """Yield, for every interval and resource with a price, the most that one more unit saves.

    ``price`` is in seconds of the objective for one more unit during the whole interval. A tree,
    or the makespan, gives none.
    """
    for k, name in enumerate(inst.resources):
        more = [int(j == k) for j in range(len(inst.resources))]
        unit = f"{objective(inst, inst.objective)}, per {inst.amounts(more)}"
        for begin, end, price in saved(inst, certificate, more):
            yield {"resource": name, "from": begin, "until": end, "price": price, "unit": unit}


def saved(
    inst: RigidInstance, certificate: RigidCertificate, more: Sequence[int]
) -> Iterator[tuple[int, int, float]]:
    """Yield the beginning and the end of every interval, and by how much the bound falls.

    That is if there are ``more`` units of each resource during the interval, in seconds of the
    objective. The value of a knapsack is not linear in its capacity: a node of eight processors
    may save more than eight times what one processor saves, or less.
    """
    if len(certificate.prices) != 1 or certificate.deadline is not None:
        return
    (prices,) = certificate.prices
    filled, larger = values(inst, prices), values(inst, prices, more)
    for j, (begin, end) in enumerate(pairwise(prices.times)):
        price = sum(u * row[j] for u, row in zip(more, prices.price, strict=True))
        price += larger[j] - filled[j]
        if price:
            seconds = Fraction(price * (end - begin), 2**certificate.grid_bits)
            yield begin, end, float(seconds) / inst.weight
