"""Instances made of recorded logs: times in seconds, nothing is scaled.

What one task requests is that of the list; where the list of machines is missing, there is one pool
with as much as the recorded schedule used at once (a job without a recorded start, as if it had
started when it was submitted), and the processors that an SWF log states.
Requested times are those of the log; of a job without one, the longest of its partition. They are
at least run times, which they all are where the log has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from optsched.families.rigid.facts import BUSY, DOWN, EMPTY
from optsched.families.rigid.instance import (
    HEAVIEST,
    MOST_TASKS,
    Machine,
    Platform,
    RigidInstance,
    RigidJob,
    RigidSchedule,
    Submission,
)
from optsched.families.rigid.sources.gpu_types import with_types
from optsched.families.rigid.sources.idle import CYCLE, MATTERS, Record
from optsched.families.rigid.sources.partitions import Share, shares, split
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.problem import InputError, Window, option_name
from optsched.process import messages
from optsched.traces.formats.inventories import SINFO
from optsched.traces.formats.slurm import COMPLETE, FEW, FORMAT
from optsched.traces.hostlists import hosts_in
from optsched.traces.machines import read_machines
from optsched.traces.tables import Tables, read_tables
from optsched.traces.windows import take_window

PARTS = {"gpu": 100, "cpu": 100, "memory_gb": 1024}  # units of one, where amounts are not whole
MANY = 8  # partitions that a remark names
MOSTLY = 0.6  # of waiting times: less may be due to how the recorded schedule was made
HOUR = 3600
USUAL = 1000  # jobs of a log, as far as it has them
NAMES = {"gpu": "GPU", "cpu": "core", "memory_gb": "GB"}


def _window(source: Path, window: Window) -> tuple[Tables, pd.DataFrame]:
    """Return the tables, and the jobs of the window; for nodes, a task is a job's share of one."""
    for name in ("slot", "slots"):
        if getattr(window, name) is not None:
            raise InputError(
                f"{option_name(name)}: family rigid has no slots (times are in seconds), expected "
                "it left out, or a family with slots (--family oasis, dmlrs, completion, bipartite)"
            )
    chosen = window.settle(
        "rigid",
        **{"machines": None, "jobs": None, "start": "0", "min_tasks": 1, "as_is": True},
        packed=False,
        skip_unfit=False,
        objective="flow",
        draw_seed=0,  # of a campaign; nothing is drawn
    )
    if chosen["packed"] and chosen["machines"] is None:
        raise InputError("--packed: tasks are placed on nodes, expected a list of them, --machines")
    tables = read_tables(source, chosen["machines"], whole=False, typed=True)
    if tables.machines is not None:  # jobs take the first nodes with space: spare the GPUs
        few = tables.machines.sort_values("gpu", kind="stable", ignore_index=True)
        tables = replace(tables, machines=few)
    return tables, window_of(tables, window)


def window_of(tables: Tables, window: Window) -> pd.DataFrame:
    """Return the jobs of a window, those that fit on the machines if others are skipped.

    Where tasks are packed, a task is a job's share of one node.
    """
    taken = take_window(
        tables.jobs, window.jobs, window.start or "0", window.min_tasks or 1, usual=USUAL
    )
    if window.packed:
        tasks = taken["nodes"].fillna(taken["tasks"])
        share = {n: taken[n] * taken["tasks"] / tasks for n in PARTS}
        taken = taken.assign(tasks=tasks, **share)
    if not window.skip_unfit or tables.machines is None:
        return taken
    with messages.unremarked():  # what is stated on types and partitions, `open_trace` does again
        _, listed, _, _, limits, need = _model(tables, taken)
    assert listed is not None
    platform = Platform(
        resources=tuple(x.name for x in limits),
        units=tuple(x.unit for x in limits),
        machines=_machines(listed, limits),
        packed=bool(window.packed),
    )
    pairs = zip(taken["tasks"].tolist(), need.tolist(), strict=True)
    jobs = [Submission(request=1, tasks=n, need=tuple(each)) for n, each in pairs]
    fits = np.array([platform.fits(job) for job in jobs])
    if fits.all() or not fits.any():  # of none, `open_trace` states what one needs
        return taken
    k, left = int(np.argmin(fits)), taken[fits]
    left.attrs["begin"] = taken.index[0]
    left.attrs["unfit"] = (
        f"left out, since they never fit on the machines: {len(taken) - len(left)} of {len(taken)} "
        f"jobs, the first is {_names(taken)[k]} ({platform.requested(jobs[k])})"
        f"{_cause(platform, jobs[k], k, taken, listed)}; your cluster ran "
        "them, policies and the optimum do not: part of the difference may be due to them"
    )
    return left


def _cause(
    platform: Platform, job: Submission, k: int, taken: pd.DataFrame, listed: pd.DataFrame
) -> str:
    """Return why job ``k`` never fits, if names in the list of machines may be wrong; else ""."""
    label = str(taken["partition"].iloc[k])
    units = [platform.unit_of(r)[0] for r, d in enumerate(job.need) if d > platform.total[r] == 0]
    kinds = dict.fromkeys(unit.partition(" of ")[0] for unit in units)
    parted = any(listed["partition"])
    of = f" of partition {label}" if label and parted else ""
    found = [f"no node{of} has {', '.join(kinds)}"] if kinds else []
    unused = _without_jobs(taken, listed) if parted else ""
    found += [f"{unused} (is the name right?)"] if unused else []
    return f": {', and '.join(found)}" if found else ""


def _without_jobs(taken: pd.DataFrame, listed: pd.DataFrame) -> str:
    """Return which partitions of the list no job of the log is in; "": there are none."""
    there, used = (set().union(*map(split, table["partition"])) for table in (listed, taken))
    lost = sorted(there - used) if all(taken["partition"]) else []  # else a job may use any node
    return f"no job of the log is in partition {' or '.join(lost[:MANY])}" if lost else ""


def _model(
    tables: Tables, taken: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame | None, list[str], list[Share], list[Limit], Ints]:
    """Return jobs and machines with their types of GPUs, partitions, resources and needs."""
    taken, listed, types = with_types(taken, tables.machines)
    labels = [str(label) for label in taken["partition"]]
    parts = shares(labels, _partitions(tables, labels))
    return taken, listed, labels, parts, *_limits(taken, labels, parts, types)


def open_trace(source: Path, window: Window) -> RigidInstance:
    """Make an instance of a window of the job list ``source``.

    Raises
    ------
    InputError
        A file or an option is wrong, there are fewer jobs than are requested, or the list of
        machines lacks a resource of the jobs' demand.
    """
    tables, taken = _window(source, window)
    if unfit := taken.attrs.get("unfit"):
        messages.remark(unfit)
    taken, listed, labels, parts, limits, need = _model(tables, taken)
    slurm = tables.jobs.attrs.get("format") == FORMAT.name
    arrivals, lengths = _whole_seconds(taken)
    runs = taken["run_seconds"].to_numpy(dtype=np.float64)
    requested = _requests(tables.jobs, taken)
    if exceeded := int((runs > taken["request_seconds"]).sum()):
        limit = (
            "its limit; its limit is taken to be its run time"
            if exceeded == 1
            else "their limits; their limits are taken to be their run times"
        )
        messages.remark(f"{exceeded} of {len(taken)} jobs ran longer than {limit}")
    jobs = []
    for arrival, length, request, tasks, amount, user, partition, weight in zip(
        arrivals, lengths, np.ceil(np.fmax(requested, runs)).tolist(), taken["tasks"].tolist(),
        need.tolist(), taken["user"].tolist(), labels, _weights(taken), strict=True,
    ):  # fmt: skip
        jobs.append(
            RigidJob(
                arrival=arrival,
                run=length,
                request=max(length, int(request)),
                tasks=int(tasks),
                need=tuple(amount),
                user=str(user),
                partition=partition,
                weight=weight,
            )
        )
    names = _names(taken)
    units, resources = tuple(x.unit for x in limits), tuple(x.name for x in limits)
    if listed is None:
        most = _most_used(jobs, _starts(taken, jobs))
        stated = tables.jobs.attrs.get("processors") or 0
        known = len(parts) == 1 and stated >= max(job.tasks for job in jobs)
        if known:  # a task of such a log is a processor
            core = [limit.kind for limit in limits].index("cpu")
            most[core] = stated * int(need[0][core])
        machines = tuple(
            Machine(
                name="pool" if len(parts) == 1 else f"pool of {part}",
                capacity=tuple(
                    c if limit.rows == part.rows else 0
                    for c, limit in zip(most, limits, strict=True)
                ),
            )
            for part in parts
        )
        platform = Platform(resources=resources, units=units, machines=machines)
        pool = "a pool" if len(parts) == 1 else "every partition is a pool"
        used = "the recorded schedule used at once"
        if unknown := int(taken["start_seconds"].isna().sum()):
            used = (
                f"would be used at once if the {unknown} jobs without a recorded start had started "
                "when they were submitted, often far too much (expected --machines)"
            )
        messages.remark(
            f"no list of machines: {pool} with as much as {used}"
            + (", and the processors that the log states" if known else "")
            + f": {platform.amounts(most)}"
        )
    else:
        machines = _machines(listed, limits)
        if len(parts) > 1:
            unused = _without_jobs(taken, listed)
            messages.remark(
                "a job runs on nodes of its partition only: "
                + "; ".join(filter(None, [_told(listed), unused]))
            )
        gpus = int((listed["gpu"] * listed["count"]).sum())
        if gpus and not (tables.jobs["gpu"] > 0).any():
            messages.remark(
                f"the list of machines has {gpus} GPUs, the log names none"
                + ": add AllocTRES to --format of sacct" * slurm
            )
        memory = listed["memory_gb"].notna().any()
        if memory and not (tables.jobs["memory_gb"] > 0).any():
            messages.remark("the log names no memory of jobs: the nodes' memory is no limit")
        if window.packed:
            nodes = sum(machine.count for machine in machines)
            known = int(taken["nodes"].notna().sum())
            divided = (
                f"{known} of {len(jobs)} jobs are each split into as many equal shares as the log "
                "states nodes, rounded up to whole units; several shares may be placed on one node"
                + "; of the other jobs each task is placed alone"
                * (known < len(jobs))
            )
            if not known:
                divided = "the log states no numbers of nodes, so each task is placed alone"
            there = f"{nodes} node{'s' * (nodes > 1)}"
            messages.remark(f"tasks are placed on {there}: {divided}")
    platform = Platform(
        resources=resources, units=units, machines=machines, packed=bool(window.packed)
    )
    if lost := [i for i, job in enumerate(jobs) if not platform.fits(job)]:
        k = lost[0]
        cause = "" if listed is None else _cause(platform, jobs[k], k, taken, listed)
        raise InputError(
            f"{source}: {len(lost)} of {len(jobs)} jobs never fit{'s' * (len(lost) == 1)} on the "
            f"{'nodes' if window.packed else 'machines'}, the first is {names[k]} "
            f"({platform.requested(jobs[k])}){cause}; expected "
            f"{'nodes for them' if cause else 'larger ones'}, or --skip-unfit, which leaves such "
            "jobs out"
        )
    why = tables.jobs.attrs.get("why")
    inst = RigidInstance(
        resources=resources,
        units=units,
        machines=machines,
        packed=bool(window.packed),
        objective=window.objective or "flow",
        jobs=tuple(jobs),
        source=(
            f"{tables.jobs.attrs.get('format', 'table')}: {len(jobs)} jobs, the first is "
            f"{taken['name'].iloc[0]}, times are not scaled"
            + (f"; left out of the log: {why}" if why else "")
        ),
    )
    if _carried(tables.jobs, taken):
        messages.remark(EMPTY)
    elif (window.min_tasks or 1) == 1 and not unfit:
        record = Record(inst, _starts(taken, jobs))
        share, hours, number = record.free_while_waiting()
        if taken["start_seconds"].notna().all():
            when = beginning(tables.jobs, taken)
            _tell_of_standstill(record, when)
            if len(jobs) > FEW:
                _tell_of_beginning(record, when)
        parted, several = listed is not None and any(listed["partition"]), len({*labels} - {""}) > 1
        told = COMPLETE if slurm else re.sub(r" \([^)]*\)", "", COMPLETE)
        known = listed is not None and parted >= several
        if share > MOSTLY and number > FEW and known:  # else their nodes are not known
            of = "of their partitions " * (parted and any(labels))
            messages.remark(
                f"for {share:.0%} of the {hours:.3g} h that {number} jobs waited (each more than "
                f"{CYCLE} s), the nodes {of}together had enough free for them in the recorded "
                "schedule. Reasons may be that the "
                "scheduler kept it for a larger job or started jobs in order, limits of users, "
                f"reservations, free units on different nodes, or missing jobs: {told}"
            )
    return inst


def beginning(jobs: pd.DataFrame, taken: pd.DataFrame) -> int | None:
    """Return when the first job of a window arrived, in s since 1970 of the log's own clock."""
    start = jobs.attrs["start"]
    if start is None:
        return None
    return int(start.tz_localize(None).timestamp() + taken["submit_seconds"].iloc[0])


def _tell_of_standstill(record: Record, begin: int | None) -> None:
    """State when no job ran although jobs waited, with their waiting time."""
    found = record.standstill()
    if found is None:
        return
    number = len(found.periods)
    first, last = (_period(begin, *found.periods[k]) for k in (0, -1))
    length = sum(b - a for a, b in found.periods) / HOUR
    when = f"from {first}"
    if number > 1:
        when = (
            f"in {number} periods ({length:.3g} h in all, the first {when}, the last from {last})"
        )
    some = f"at most {found.running} job{'s' * (found.running > 1)}"
    these, them = ("this period", "it") if number == 1 else ("these periods", "them")
    messages.remark(
        f"{some if found.running else 'no job'} ran {when} although up to {found.waiting} "
        f"job{'s' * (found.waiting > 1)} waited that {DOWN}; policies and the optimum run jobs "
        f"then. {found.inside / HOUR:.3g} h {_of_mean(record)} lie in {these}, and "
        f"{found.whole / HOUR:.3g} h are those of the jobs that waited in {them}. Waits of other "
        f"jobs before {them}, if they would not have ended in time, and after {them}, in the queue "
        "that was left, may have the same cause"
    )


def _tell_of_beginning(record: Record, begin: int | None) -> None:
    """State how long jobs waited, it seems, for others that ended before the log begins."""
    waited, number = record.before_first_end()
    later, _, _ = record.free_while_waiting(record.first_end)
    if waited > MATTERS * record.mean and later <= MOSTLY:  # else jobs waited so at any time
        messages.remark(
            f"{BUSY}: {number} job{'s' * (number > 1)} submitted before its first job ended "
            f"({_period(begin, record.first_end)}) waited although the jobs of the log left space, "
            "probably for earlier ones, which policies and the optimum do not have; "
            f"{waited / HOUR:.3g} h {_of_mean(record)} are theirs"
        )


def _of_mean(record: Record) -> str:
    return f"of the recorded {record.mean / HOUR:.3g} h mean waiting time"


def _period(begin: int | None, *ends: int) -> str:
    """Write times, as dates or else in hours since the first submission.

    >>> _period(1763453700, 1200, 30000), _period(None, 5400, 9000)
    ('Tue 2025-11-18 08:35 to 16:35', 'hour 1.5 to 2.5')
    """
    if begin is None:
        return "hour " + " to ".join(f"{end / HOUR:.4g}" for end in ends)
    dates = [datetime.fromtimestamp(begin + end, UTC) for end in ends]
    same = len({date.date() for date in dates}) == 1
    texts = [f"{x:{'%H:%M' if k and same else '%a %Y-%m-%d %H:%M'}}" for k, x in enumerate(dates)]
    return " to ".join(texts)


def recorded(
    source: Path, window: Window, inst: RigidInstance
) -> tuple[RigidSchedule | None, list[str]] | None:
    """Return the recorded schedule of a log, and the parts that do not fit; None: no record."""
    tables, taken = _window(source, window)
    if taken["start_seconds"].isna().any():
        return None
    starts = _starts(taken, inst.jobs)
    most = _most_used(inst.jobs, starts)
    beyond = [used > there for used, there in zip(most, inst.total, strict=True)]
    if any(beyond):
        used, there = (
            inst.amounts([x * more for x, more in zip(units, beyond, strict=True)])
            for units in (most, inst.total)
        )
        short = bool((taken["run_seconds"] < 1).any())
        return None, [
            f"what your cluster did is left out: it used {used} at once, more than the machines "
            f"have ({there or 'none'}); expected the machines it ran on"
            + _lacking(tables, taken)
            + " (jobs shorter than a second count as 1 s)" * short
        ]
    line = f"what your cluster did: {len(starts)} of {len(starts)} jobs run as recorded"
    if not inst.packed:
        return RigidSchedule(start=tuple(starts)), [line]
    names = _names(taken)
    named = _on_hosts(inst, starts, taken["hosts"].tolist(), names)
    if not isinstance(named, str):
        return RigidSchedule(start=tuple(starts), nodes=named), [f"{line}, on the nodes it names"]
    nodes = _placed(inst, starts)
    if isinstance(nodes, int):
        fullest = _placed(inst, starts, fullest=True)
        nodes = nodes if isinstance(fullest, int) else fullest
    if isinstance(nodes, int):
        return None, [
            f"what your cluster did is left out: {names[nodes]} finds no nodes at its recorded "
            f"start if each job takes the first or the fullest ones with space; {named}"
        ]
    return RigidSchedule(start=tuple(starts), nodes=nodes), [f"{line}, on any nodes: {named}"]


def _lacking(tables: Tables, taken: pd.DataFrame) -> str:
    """Return which nodes that the log names a list of Slurm lacks; "": none, or another list."""
    listed = () if tables.machines is None else tables.machines.attrs.get("hosts", ())
    named = dict.fromkeys(host for text in taken["hosts"] for host in hosts_in(text))
    lost = sorted(host for host in named if host not in listed)
    if not lost or len(lost) == len(named):  # else these are names of other things
        return ""
    more = f" and {len(lost) - MANY} more" if len(lost) > MANY else ""
    return f": the list lacks {', '.join(lost[:MANY])}{more}; {SINFO} lists all nodes"


def _on_hosts(
    inst: RigidInstance, starts: Sequence[int], lists: Sequence[str], jobs: Sequence[str]
) -> tuple[tuple[tuple[int, int], ...], ...] | str:
    """Return the nodes of every job that the log names, or why they are not those of the list.

    A name is one of the listed nodes that have what its jobs used at once; ``jobs`` are names.
    """
    if not any(map(hosts_in, lists)):
        return "the log does not name the nodes of its jobs (NodeList of sacct)"
    names: dict[str, int] = {}
    on: list[tuple[list[int], int]] = []  # of each job: its nodes, and its tasks on each
    for i, (job, text) in enumerate(zip(inst.jobs, lists, strict=True)):
        hosts = hosts_in(text)
        if not hosts:
            return f"the log names no nodes of {jobs[i]}"
        each, rest = divmod(job.tasks, len(hosts))
        if rest:
            return f"the {job.tasks} tasks of {jobs[i]} have no equal share on {len(hosts)} nodes"
        on.append(([names.setdefault(host, len(names)) for host in hosts], each))
    used = np.zeros((len(names), len(inst.resources)), np.int64)
    most = used.copy()
    ends = [start + job.run for start, job in zip(starts, inst.jobs, strict=True)]
    events = [(end, -1, i) for i, end in enumerate(ends)]
    events += [(start, 1, i) for i, start in enumerate(starts)]
    for _, sign, i in sorted(events):
        mine, each = on[i]
        used[mine] += sign * each * np.array(inst.jobs[i].need)
        most[mine] = np.maximum(most[mine], used[mine])
    capacity = np.array([m.capacity for m in inst.machines], np.int64)
    fits = np.all(most[:, None, :] <= capacity, axis=2)
    somewhere = np.any(fits, axis=1)
    if not np.all(somewhere):
        h = int(np.argmin(somewhere))
        return (
            f"the jobs on node {[*names][h]} used {inst.amounts(most[h].tolist())} at once, more "
            "than a node of the list has"
        )
    place = _matched(fits, [m.count for m in inst.machines])
    if len(place) < len(names):
        return f"the log names {len(names)} nodes, of which the list has {len(place)}"
    return tuple(tuple(sorted((place[h], each) for h in mine)) for mine, each in on)


def _matched(fits: Flags, counts: Sequence[int]) -> dict[int, int]:
    """Return a node for as many names as possible, by a maximum flow.

    ``fits`` has shape (N, M): which names each type of node may have; ``counts`` are its nodes.
    """
    kinds, kind = np.unique(fits, axis=0, return_inverse=True)
    k, m = kinds.shape
    arcs = np.zeros((k + m + 2, k + m + 2), np.int32)  # source, kinds of names, types, sink
    arcs[0, 1 : k + 1] = np.bincount(kind.ravel())
    arcs[1 : k + 1, k + 1 : -1] = kinds * len(fits)
    arcs[k + 1 : -1, -1] = counts
    flow = maximum_flow(csr_array(arcs), 0, k + m + 1).flow.toarray()[1 : k + 1, k + 1 : -1]
    free = np.cumsum([0, *counts]).tolist()  # the next node of each type
    place = {}
    for which, row in enumerate(flow):
        names = iter(np.flatnonzero(kind.ravel() == which).tolist())
        for t, number in enumerate(row.tolist()):
            for _ in range(number):
                place[next(names)] = free[t]
                free[t] += 1
    return place


def _placed(
    inst: RigidInstance, starts: Sequence[int], *, fullest: bool = False
) -> tuple[tuple[tuple[int, int], ...], ...] | int:
    """Return nodes of every job at its recorded start, or the first job that finds none.

    A job takes the first nodes with space, those first that have least of what it does not need;
    ``fullest``: among these, those first that have least left of what it needs.
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
            order[used] = inst.bins[:, need == 0].sum(axis=1)
        room = (free[:, need > 0] // need[need > 0]).min(axis=1, initial=MOST_TASKS)
        nodes = np.lexsort((room, order[used]) if fullest else (order[used],))
        before = np.minimum(np.cumsum(room[nodes]), job.tasks)
        if before[-1] < job.tasks:
            return i
        count = np.diff(before, prepend=0)
        there = zip(nodes.tolist(), count.tolist(), strict=True)
        placed[i] = tuple(sorted((h, n) for h, n in there if n))
        for h, n in placed[i]:
            free[h] -= n * need
    return tuple(placed[i] for i in range(len(inst.jobs)))


def _names(taken: pd.DataFrame) -> list[str]:
    """Return the jobs as the log names them, or by its lines."""
    return [f"job {'of ' * str(x).startswith('line ')}{x}" for x in taken["name"]]


def _carried(jobs: pd.DataFrame, taken: pd.DataFrame) -> bool:
    """Whether jobs submitted before the window still waited or ran when it began."""
    earlier = jobs.loc[: taken.attrs.get("begin", taken.index[0])].iloc[:-1]
    start = earlier["start_seconds"].fillna(earlier["submit_seconds"])
    return bool((start + earlier["run_seconds"] > taken["submit_seconds"].iloc[0]).any())


def _requests(jobs: pd.DataFrame, taken: pd.DataFrame) -> Floats:
    """Return requested times; where a job has none, the longest of its partition, else of all."""
    known = jobs["request_seconds"]
    longest = taken["partition"].map(known.groupby(jobs["partition"]).max()).fillna(known.max())
    if known.isna().all():
        messages.remark(
            "the list has no requested times: policies that plan with them know exact run times"
        )
    elif number := taken["request_seconds"].isna().sum():
        messages.remark(
            f"{number} of {len(taken)} jobs have no time limit: policies plan with the longest "
            "limit of their partition, or else of the log, and at least with the run time"
        )
    return taken["request_seconds"].fillna(longest).to_numpy(dtype=np.float64)


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
    if len({*weights.tolist()}) > 1:
        messages.remark("all means are weighted by the column weight of the log")
    return [int(w) for w in weights.tolist()]


def _whole_seconds(taken: pd.DataFrame) -> tuple[list[int], list[int]]:
    """Return arrivals and run times, whole seconds, the latter at least 1.

    Submissions, starts and ends are rounded down: what ended before another job started still does.
    """
    start, run = taken["start_seconds"], taken["run_seconds"].to_numpy(dtype=np.float64)
    length = _floor(start + run, taken) - _floor(start, taken)
    length = np.where(start.isna(), np.ceil(run), length)
    arrival = _floor(taken["submit_seconds"], taken)
    return arrival.astype(np.int64).tolist(), np.fmax(1, length).astype(np.int64).tolist()


def _floor(times: pd.Series[float], taken: pd.DataFrame) -> Floats:
    """Return times in whole seconds from the first submission on."""
    since = (times - taken["submit_seconds"].iloc[0]).to_numpy(dtype=np.float64)
    whole: Floats = np.floor(np.round(since, 3))  # a sum may be just below a whole number
    return whole


def _starts(taken: pd.DataFrame, jobs: Sequence[RigidJob]) -> list[int]:
    recorded = _floor(taken["start_seconds"].fillna(taken["submit_seconds"]), taken)
    return [max(int(s), job.arrival) for s, job in zip(recorded, jobs, strict=True)]


def _most_used(jobs: Sequence[RigidJob], starts: Sequence[int]) -> list[int]:
    """Return how much of each resource a schedule uses at once."""
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
    return most


def _machines(listed: pd.DataFrame, limits: Sequence[Limit]) -> tuple[Machine, ...]:
    for kind in dict.fromkeys(limit.kind for limit in limits):
        if listed[kind].isna().any():
            raise InputError(
                f"jobs request {kind}, and the list of machines does not state how much of it they "
                "have, expected a list that does"
            )
    names = _type_names(listed)
    return tuple(
        Machine(
            name=names[h],
            count=int(row["count"]),
            capacity=tuple(
                int(float(row[limit.kind]) * limit.per) if h in limit.rows else 0
                for limit in limits
            ),
        )
        for h, row in enumerate(listed.to_dict("records"))
    )


def _type_names(listed: pd.DataFrame) -> list[str]:
    """Return the name of every row of machines, with partition or memory if others have it."""
    names = listed["name"].astype(str)
    parts = [f" of {part}" if part else "" for part in listed["partition"]]
    for more in (parts, [f", {gb:g} GB" if gb > 0 else "" for gb in listed["memory_gb"]]):
        alike = names.duplicated(keep=False)
        names = names.where(~alike, names + more)
    return names.tolist()


def types_of_nodes(machines: Path) -> dict[str, str]:
    """Return the type of every node that a list of machines names."""
    listed = read_machines(machines)
    names = _type_names(listed)
    return {node: names[row] for node, row in listed.attrs.get("hosts", {}).items()}


def _partitions(tables: Tables, labels: Sequence[str]) -> Sequence[str]:
    """Return the partitions of every row of machines; without a list, each partition is a row.

    A queue of SWF is no partition: it has no nodes of its own.
    """
    named = [*dict.fromkeys(label for label in labels if label)]
    if tables.machines is not None:
        there = [str(label) for label in tables.machines["partition"]]
        if len(named) > 1 and not any(there):
            messages.remark(
                f"the {len(named)} partitions of the log are not modeled, since the list of "
                "machines has no column partition: a job may use any node, so optimum and policies "
                "may wait less than partitions allow"
            )
        if any(there) and not named:
            messages.remark("the log names no partitions: a job may use the nodes of all")
        return there
    if tables.jobs.attrs.get("format") == "SWF" or not all(labels):
        return [""]
    return named


def _told(listed: pd.DataFrame) -> str:
    """Return how many nodes are of which partitions, as the list states it."""
    counts = listed.groupby("partition", sort=False)["count"].sum()
    shown = [f"{n} of {str(label).replace(',', ' and ')}" for label, n in counts.items()]
    return ", ".join(shown[:MANY]) + (f" and {len(shown) - MANY} more" if shown[MANY:] else "")


@dataclass(frozen=True)
class Limit:
    """A resource of the instance: a kind, on some nodes."""

    kind: str
    per: int  # units of one
    part: str  # partitions; "": all
    rows: frozenset[int]  # of the list of machines

    @property
    def name(self) -> str:
        """Name of the resource; 1024 units of memory are 1 GB."""
        return ("memory_mb" if self.per == 1024 else self.kind) + self.part

    @property
    def unit(self) -> str:
        """Name of its unit, and how many of them are one."""
        if self.per == 1024:
            return "MB" + self.part
        name = NAMES.get(self.kind, self.kind[4:])  # gpu:TYPE
        return name + self.part + (f" / {self.per}" if self.per > 1 else "")


def _limits(
    taken: pd.DataFrame, labels: Sequence[str], parts: Sequence[Share], types: Sequence[str]
) -> tuple[list[Limit], Ints]:
    """Return the resources that jobs request, and how much one task of each job needs."""
    names = [n for n in PARTS if (taken[n].fillna(0.0) > 0).any()] or ["cpu"]
    names[1:1] = types  # after gpu
    need = taken[names].fillna(0.0)
    if not (need > 0).any(axis=None):
        need = need.assign(cpu=1.0)  # a task is a processor
    limits, columns = list[Limit](), list[Ints]()
    for kind in names:
        amounts = need[kind].to_numpy(dtype=np.float64)
        per = 1 if (amounts == np.rint(amounts)).all() else PARTS.get(kind, PARTS["gpu"])
        units = np.ceil(np.round(amounts * per, 6)).astype(np.int64)
        for part in parts:
            users = {*part.labels}
            inside = np.where([label in users for label in labels], units, 0)
            if inside.any():
                name = f" of {part}" if len(parts) > 1 else ""
                limits.append(Limit(kind, per, name, part.rows))
                columns.append(inside)
    return limits, np.column_stack(columns)
