"""Feasibility check of family `rigid`, from the definition, in Python's integers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from optsched.families.rigid.instance import RigidInstance, RigidJob, RigidSchedule
from optsched.problem import Verdict, Violation

FINE = 2**64  # a sum of slowdowns is counted in such parts, each rounded upwards


def verify(
    inst: RigidInstance,
    schedule: RigidSchedule,
    *,
    unfinished: bool = False,  # noqa: ARG001
) -> Verdict:
    """Check ``schedule`` and recompute its objective.

    Parameters
    ----------
    inst : RigidInstance
    schedule : RigidSchedule
    unfinished : bool
        Changes nothing: every job must run.

    Returns
    -------
    Verdict
        Every violated equation with its place and amount, or the objective (1).
    """
    jobs, broken = inst.jobs, list[Violation]()
    for name, entries in (("start", schedule.start), ("nodes", schedule.nodes)):
        expected = len(jobs) if name == "start" or inst.packed else 0
        if len(entries) != expected:
            place = f"{name} has {len(entries)} entries, expected {expected}"
            broken.append(Violation(equation="2", place=place, amount=abs(len(entries) - expected)))
    if broken:
        return Verdict(violations=tuple(broken), value=None, completion=(None,) * len(jobs))
    for i, (job, start) in enumerate(zip(jobs, schedule.start, strict=True)):
        if start is None:
            broken.append(Violation(equation="2", place=f"job {i} never starts", amount=1))
        elif start < job.arrival:
            place = f"job {i}, start {start}, before its arrival {job.arrival}"
            broken.append(Violation(equation="2", place=place, amount=job.arrival - start))
    pool = [(i, job.tasks) for i, job in enumerate(jobs)]
    broken += (
        _packed(inst, schedule)
        if inst.packed
        else _overload(inst, schedule, pool, inst.total, "the pool")
    )
    ends = tuple(
        None if start is None else start + job.run
        for job, start in zip(jobs, schedule.start, strict=True)
    )
    value = None if broken else float(_objective(inst, [end for end in ends if end is not None]))
    return Verdict(violations=tuple(broken), value=value, completion=ends)


def _objective(inst: RigidInstance, ends: Sequence[int]) -> Fraction:
    """Return the objective (1) in exact arithmetic; a slowdown is rounded upwards by 2**-64."""
    if inst.objective == "makespan":
        return Fraction(max(ends, default=0))
    total = parts = 0
    for job, end in zip(inst.jobs, ends, strict=True):
        flow = end - job.arrival
        if inst.objective == "flow":
            total += job.weight * flow
        elif inst.objective == "wait":
            total += job.weight * (flow - job.run)
        else:
            long = max(job.run, 10)
            parts -= -job.weight * max(long, flow) * FINE // long
    return (total + Fraction(parts, FINE)) / max(1, sum(job.weight for job in inst.jobs))


def _packed(inst: RigidInstance, schedule: RigidSchedule) -> list[Violation]:
    """Check that every task has a node (4), and (3) of every node."""
    broken = []
    capacity = [m.capacity for m in inst.machines for _ in range(m.count)]
    on_node: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for i, (job, placed) in enumerate(zip(inst.jobs, schedule.nodes, strict=True)):
        named = [h for h, _ in placed]
        wrong = [h for h in named if h >= len(capacity)]
        if wrong:
            place = f"job {i}, node {wrong[0]} does not exist, expected 0..{len(capacity) - 1}"
            broken.append(Violation(equation="4", place=place, amount=len(wrong)))
        if len(set(named)) < len(named):
            place = f"job {i}, a node is named twice"
            broken.append(Violation(equation="4", place=place, amount=1))
        tasks = sum(n for _, n in placed)
        if tasks != job.tasks and schedule.start[i] is not None:
            place = f"job {i}, {tasks} tasks have a node, expected {job.tasks}"
            broken.append(Violation(equation="4", place=place, amount=abs(tasks - job.tasks)))
        for h, n in placed:
            if h < len(capacity):
                on_node[h].append((i, n))
    for h, use in sorted(on_node.items()):
        broken += _overload(inst, schedule, use, capacity[h], f"node {h}")
    return broken


def _overload(
    inst: RigidInstance,
    schedule: RigidSchedule,
    use: Sequence[tuple[int, int]],
    capacity: Sequence[int],
    where: str,
) -> list[Violation]:
    """Return where jobs, each with a number of tasks, take more than there is."""
    running: list[tuple[int, int, RigidJob]] = []
    for i, tasks in use:
        start, job = schedule.start[i], inst.jobs[i]
        if start is not None:
            running += [(start, tasks, job), (start + job.run, -tasks, job)]
    running.sort(key=lambda change: change[0])
    broken, used = [], [0] * len(capacity)
    for at, (second, tasks, job) in enumerate(running):
        for k, need in enumerate(job.need):
            used[k] += tasks * need
        if at + 1 < len(running) and running[at + 1][0] == second:
            continue
        for k, units in enumerate(used):
            if units > capacity[k]:
                place = f"{where}, {inst.resources[k]}, second {second}"
                broken.append(Violation(equation="3", place=place, amount=units - capacity[k]))
    return broken
