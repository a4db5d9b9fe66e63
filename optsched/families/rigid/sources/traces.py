"""Instances made of recorded logs: times in seconds, nothing is scaled.

What one task requests is that of the list; where the list of machines is missing, there is one pool
with as much as the recorded schedule used at once. Requested times are those of the log, and run
times where it has none, or shorter ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from optsched.families.rigid.instance import (
    HEAVIEST,
    Machine,
    RigidInstance,
    RigidJob,
    RigidSchedule,
)
from optsched.numbers.arrays import Ints
from optsched.problem import InputError, Window
from optsched.process import messages
from optsched.traces.tables import Tables, read_tables
from optsched.traces.windows import take_window

PARTS = {"gpu": 100, "cpu": 100, "memory_gb": 1024}  # units of one, where amounts are not whole
EMPTY = (
    "warning: the window begins with an empty cluster: jobs that still waited or ran then are left "
    "out, so that waiting times are shorter"
)
USUAL = 1000  # jobs of a log, as far as it has them
NAMES = {"gpu": "GPU", "cpu": "core", "memory_gb": "GB"}


def _window(source: Path, window: Window) -> tuple[Tables, pd.DataFrame]:
    """Return the tables, and the jobs of the window; for nodes, a task is a job's share of one."""
    chosen = window.settle(
        "rigid",
        **{"machines": None, "jobs": None, "start": "0", "min_tasks": 1, "as_is": True},
        packed=False,
        draw_seed=0,  # of a campaign; nothing is drawn
    )
    if chosen["packed"] and chosen["machines"] is None:
        raise InputError("--packed: tasks are placed on nodes, expected a list of them, --machines")
    tables = read_tables(source, chosen["machines"], whole=False)
    where = chosen["start"], chosen["min_tasks"]
    taken = take_window(tables.jobs, chosen["jobs"], *where, usual=USUAL)
    if chosen["packed"]:
        tasks = taken["nodes"].fillna(taken["tasks"])
        share = {n: taken[n] * taken["tasks"] / tasks for n in PARTS}
        taken = taken.assign(tasks=tasks, **share)
    return tables, taken


def open_trace(source: Path, window: Window) -> RigidInstance:
    """Make an instance of a window of the job list ``source``.

    Raises
    ------
    InputError
        A file or an option is wrong, there are fewer jobs than are requested, or the list of
        machines lacks a resource of the jobs' demand.
    """
    tables, taken = _window(source, window)
    names = [n for n in PARTS if (taken[n].fillna(0.0) > 0).any()] or ["cpu"]
    need = taken[names].fillna(0.0)
    if not (need > 0).any(axis=None):
        need = need.assign(cpu=1.0)  # a task is a processor
    listed = tables.machines
    if taken["request_seconds"].isna().all():
        messages.remark(
            "the list has no requested times: policies that plan with them know exact run times"
        )
    partitions = taken["partition"].nunique()
    if partitions > 1 and listed is not None:
        messages.remark(
            f"the {partitions} partitions are not modeled: a job may use any node, so optimum and "
            "policies may wait less than partitions allow; give the jobs and nodes of one partition"
        )
    units = {}
    for name in names:
        amounts = need[name].to_numpy(dtype=np.float64)
        units[name] = 1 if (amounts == np.rint(amounts)).all() else PARTS[name]
    begin = float(taken["submit_seconds"].iloc[0])
    times = (taken["submit_seconds"].to_numpy(dtype=np.float64) - begin).tolist()
    runs = taken["run_seconds"].to_numpy(dtype=np.float64)
    requested = taken["request_seconds"].to_numpy(dtype=np.float64)
    jobs = []
    for submit, run, request, tasks, amount, user, partition, weight in zip(
        times, runs.tolist(), np.fmax(requested, runs).tolist(), taken["tasks"].tolist(),
        need.to_numpy(dtype=np.float64).tolist(), taken["user"].tolist(),
        taken["partition"].tolist(), _weights(taken), strict=True,
    ):  # fmt: skip
        length = max(1, int(np.ceil(run)))
        jobs.append(
            RigidJob(
                arrival=int(submit),
                run=length,
                request=max(length, int(np.ceil(request))),
                tasks=int(tasks),
                need=tuple(
                    int(np.ceil(round(x * units[n], 6))) for n, x in zip(names, amount, strict=True)
                ),
                user=str(user),
                partition=str(partition),
                weight=weight,
            )
        )
    if listed is None:
        starts = _starts(taken, jobs)
        machines: tuple[Machine, ...] = (_most_used(jobs, starts),)
        shown = zip(machines[0].capacity, (f"{NAMES[n]} / {units[n]}" for n in names), strict=True)
        messages.remark(
            "no list of machines: a pool with as much as the recorded schedule used at once: "
            + ", ".join(f"{c} {name}".removesuffix(" / 1") for c, name in shown)
        )
    else:
        machines = _machines(listed, names, units)
        nodes = sum(machine.count for machine in machines)
        if window.packed:
            known = int(taken["nodes"].notna().sum())
            messages.remark(
                f"tasks are placed on {nodes} nodes: {known} of {len(jobs)} jobs have equal shares "
                "on as many nodes as the log states, rounded up to whole units; tasks of the "
                "others are those of the log"
            )
        elif nodes > 1:
            messages.remark(
                f"the {nodes} nodes are one pool: a job may use any free units; limits of single "
                "nodes are not modeled, so waiting times on them may be longer (--packed)"
            )
    if _carried(tables.jobs, taken):
        messages.remark(EMPTY)
    why = tables.jobs.attrs.get("why")
    return RigidInstance(
        resources=tuple(names),
        units=tuple(NAMES[n] if units[n] == 1 else f"{NAMES[n]} / {units[n]}" for n in names),
        machines=machines,
        packed=bool(window.packed),
        jobs=tuple(jobs),
        source=(
            f"{tables.jobs.attrs.get('format', 'table')}: {len(jobs)} jobs from "
            f"{taken['name'].iloc[0]} on, as recorded"
            + (f"; left out of the log: {why}" if why else "")
        ),
    )


def recorded(
    source: Path, window: Window, inst: RigidInstance
) -> tuple[RigidSchedule | None, list[str]] | None:
    """Return the recorded schedule of a log, and the parts that do not fit; None: no record."""
    _, taken = _window(source, window)
    if taken["start_seconds"].isna().any():
        return None
    starts = _starts(taken, inst.jobs)
    most = _most_used(inst.jobs, starts)
    if any(used > there for used, there in zip(most.capacity, inst.total, strict=True)):
        used = ", ".join(f"{u} {n}" for u, n in zip(most.capacity, inst.resources, strict=True))
        return None, [
            f"what your cluster did is left out: it used {used} at once, more than the list of "
            f"machines has ({', '.join(map(str, inst.total))}); expected the machines it ran on"
        ]
    nodes = _placed(inst, starts) if inst.packed else ()
    if isinstance(nodes, int):
        return None, [
            f"what your cluster did is left out: job {nodes} finds no nodes at its recorded start, "
            "where each job takes the first ones with space (which it really had is not read)"
        ]
    lines = [f"what your cluster did: {len(starts)} of {len(starts)} jobs run as recorded"]
    return RigidSchedule(start=tuple(starts), nodes=nodes), lines


def _placed(
    inst: RigidInstance, starts: Sequence[int]
) -> tuple[tuple[tuple[int, int], ...], ...] | int:
    """Return nodes of every job at its recorded start, or the first job that finds none.

    A job takes the first nodes with space, those first that have least of what it does not need.
    """
    free = inst.bins.copy()
    order: dict[tuple[bool, ...], Ints] = {}
    placed: dict[int, tuple[tuple[int, int], ...]] = {}
    changes = [(s, 1, i) for i, s in enumerate(starts)]
    changes += [
        (s + job.run, 0, i) for i, (s, job) in enumerate(zip(starts, inst.jobs, strict=True))
    ]
    for _, begins, i in sorted(changes):
        job = inst.jobs[i]
        need = np.array(job.need)
        if not begins:
            for h, n in placed[i]:
                free[h] += n * need
            continue
        used = tuple((need > 0).tolist())
        if used not in order:
            order[used] = np.argsort(inst.bins[:, need == 0].sum(axis=1), kind="stable")
        hold = (free[:, need > 0] // need[need > 0]).min(axis=1, initial=job.tasks)[order[used]]
        before = np.minimum(np.cumsum(hold), job.tasks)
        if before[-1] < job.tasks:
            return i
        count = np.diff(before, prepend=0)
        there = zip(order[used].tolist(), count.tolist(), strict=True)
        placed[i] = tuple(sorted((h, n) for h, n in there if n))
        for h, n in placed[i]:
            free[h] -= n * need
    return tuple(placed[i] for i in range(len(inst.jobs)))


def _carried(jobs: pd.DataFrame, taken: pd.DataFrame) -> bool:
    """Whether jobs submitted before the window still waited or ran when it began."""
    earlier = jobs.loc[: taken.index[0]].iloc[:-1]
    start = earlier["start_seconds"].fillna(earlier["submit_seconds"])
    return bool((start + earlier["run_seconds"] > taken["submit_seconds"].iloc[0]).any())


def _weights(taken: pd.DataFrame) -> list[int]:
    """Return the weights of jobs, 1 where the log states none."""
    weights = taken["weight"].fillna(1.0).to_numpy(dtype=np.float64)
    bad = (weights != np.rint(weights)) | (weights > HEAVIEST)
    if bad.any():
        k = int(np.argmax(bad))
        raise InputError(
            f"job {taken['name'].iloc[k]}: weight is {weights[k]:g}, expected a whole number of "
            f"1..{HEAVIEST} (multiply all weights by the same number)"
        )
    return [int(w) for w in weights.tolist()]


def _starts(taken: pd.DataFrame, jobs: Sequence[RigidJob]) -> list[int]:
    begin = float(taken["submit_seconds"].iloc[0])
    recorded = taken["start_seconds"].fillna(taken["submit_seconds"]).to_numpy(dtype=np.float64)
    return [
        max(int(s), job.arrival) for s, job in zip((recorded - begin).tolist(), jobs, strict=True)
    ]


def _most_used(jobs: Sequence[RigidJob], starts: Sequence[int]) -> Machine:
    """Return a pool with as much as a schedule uses at once."""
    changes = sorted(
        (when, sign, job.tasks, job.need)
        for start, job in zip(starts, jobs, strict=True)
        for when, sign in ((start, 1), (start + job.run, -1))
    )
    used = [0] * len(jobs[0].need)
    most = list(used)
    for _, sign, tasks, need in changes:
        used = [u + sign * tasks * d for u, d in zip(used, need, strict=True)]
        most = [max(a, b) for a, b in zip(most, used, strict=True)]
    return Machine(name="pool", capacity=tuple(most))


def _machines(
    listed: pd.DataFrame, names: Sequence[str], units: dict[str, int]
) -> tuple[Machine, ...]:
    for name in names:
        if listed[name].isna().any():
            raise InputError(
                f"jobs request {name}, and the list of machines does not state how much of it they "
                "have, expected a list that does"
            )
    return tuple(
        Machine(
            name=str(row["name"]),
            count=int(row["count"]),
            capacity=tuple(int(float(row[n]) * units[n]) for n in names),
        )
        for row in listed.to_dict("records")
    )
