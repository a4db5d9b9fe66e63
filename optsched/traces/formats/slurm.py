"""Accounting records of Slurm: `sacct --parsable2` (fields separated by "|").

Rows of job steps (`123.batch`) are parts of a job. A task is a GPU, of a job without GPUs a core.
A job that still ran when the log was taken has run for its elapsed time, which the state decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from optsched.numbers.arrays import Floats
from optsched.problem import InputError
from optsched.process import messages
from optsched.traces.columns import AMOUNT, BEGIN, SUBMIT, TASKS, UNKNOWN, Columns, Number, shown
from optsched.traces.formats.declared import Table, TraceFormat
from optsched.traces.hostlists import hosts_in

DURATION = re.compile(r"(?:(\d+)-(?=\d+:\d+:))?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")
OF_PANDAS = re.compile(r"\d+\.\d+")  # how a DataFrame's durations are written, in seconds
UNLIMITED = (*UNKNOWN, "UNLIMITED", "INVALID", "Partition_Limit")
GPUS = re.compile(r"(?:^|,)gres/gpu(:[^=,]+)?=(\d+)")  # with a model, or all of them
CORES = re.compile(r"(?:^|,)cpu=(\d+)")
NODES = re.compile(r"(?:^|,)node=(\d+)")
COUNTS = re.compile(r"(?:^|,)(?:cpu|node|gres/gpu(?::[^=,]+)?)=(\d+)")
OF_JOB = re.compile(r"(?:^|,)mem=(\d+(?:\.\d+)?)([KMGTP]?)")
COMMAND = (
    "sacct --allusers --duplicates --starttime=2026-11-16 --endtime=2026-11-23 --parsable2 "
    "--format=JobID,Submit,Eligible,Start,Elapsed,State,NCPUS,NNodes,ReqMem,AllocTRES,ReqTRES,"
    "Timelimit,User,Partition,NodeList"
)
SPAN = re.compile(r"(\d+)(?:-(\d+)(?::0*([1-9]\d*))?)?")
ARRAY = re.compile(rf".*_\[({SPAN.pattern}(?:,{SPAN.pattern})*)(?:%\d+)?\]")  # tasks that wait
MEMORY = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)([cn]?)")
PENDING, RUNNING = "PENDING", "RUNNING"  # states when the log was taken
CANCELLED = "CANCELLED"  # without a run time: in the queue
UNFINISHED = (PENDING, "SUSPENDED")  # what such a job has run is not known
STAGES = {PENDING: 0, "SUSPENDED": 1, RUNNING: 1, "COMPLETING": 1}  # by state
ENDED = 2  # any other state
MINUTE = 60
FEW = 20  # jobs of a log that is not expected to have several users and states
COMPLETE = (
    "is the log complete? expected that of all users (sacct --allusers), in all states, of the "
    "whole period (--starttime, --endtime); what is missing makes the cluster look free"
)
ALLOCATED = Number("allocated", high=TASKS.high, whole=True)
ARRAY_TASKS = Number("tasks of an array", low=1, whole=True)
GB = {"K": 1 / 1024**2, "": 1 / 1024, "M": 1 / 1024, "G": 1.0, "T": 1024.0, "P": 1024.0**2}


def leave_out_repeated(columns: Columns) -> None:
    """Keep one of equal rows, and of a job the last state: earlier exports state earlier ones."""
    jobs = [*zip(columns.text("JobID"), columns.text("Submit"), strict=True)]
    stages = [
        (STAGES.get(state.partition(" ")[0], ENDED), run)
        for state, run in zip(
            columns.text("State"), np.nan_to_num(_run_times(columns)).tolist(), strict=True
        )
    ]
    last: dict[tuple[str, ...], tuple[int, float]] = {}
    for job, stage in zip(jobs, stages, strict=True):
        last[job] = max(stage, last.get(job, stage))
    seen, kept = set[tuple[str, ...]](), []
    rows = zip(*columns.cells.values(), strict=True)
    for k, (job, stage, row) in enumerate(zip(jobs, stages, rows, strict=True)):
        ended = stage[0] == ENDED
        key = row if ended else job
        if key not in seen and (ended or stage == last[job]):
            kept.append(k)
            seen.add(key)
    if left_out := len(jobs) - len(kept):
        columns.keep(kept)
        messages.remark(
            f"{columns.path}: {left_out} {'row is' if left_out == 1 else 'rows are'} left out, "
            "which repeat another one or an earlier state of its job (exports that overlap)"
        )


def _details(columns: Columns) -> Table:
    resources = _resources(columns)
    cores = _cores(columns, resources)  # 0: it never ran
    gpus = np.array([_gpus(text) for text in resources], float)
    tasks = np.where(gpus > 0, gpus, np.where(cores > 0, cores, np.nan))
    table: Table = {"tasks": tasks, "gpu": (gpus > 0) * 1.0, "cpu": cores / tasks}
    table["gpu_type"] = [",".join(sorted(_types(text))) for text in columns.text("ReqTRES")]
    if "NNodes" in columns:
        nodes = columns.numbers("NNodes", ALLOCATED)
        table["nodes"] = np.where(nodes > 0, nodes, np.nan)
    else:
        named = zip(resources, columns.text("NodeList"), strict=True)
        table["nodes"] = [_nodes(text) or len(hosts_in(hosts)) or np.nan for text, hosts in named]
    memory = _memory(columns, cores, resources)
    if memory is not None:
        table["memory_gb"] = memory / tasks
    if "Timelimit" in columns:
        table["request_seconds"] = _durations(columns, "Timelimit", UNLIMITED)
    elif "TimelimitRaw" in columns:
        table["request_seconds"] = _raw(columns, "TimelimitRaw", UNLIMITED, 60, "minutes")
    states = np.array([text.partition(" ")[0] for text in columns.text("State")])  # CANCELLED by 7
    run = _run_times(columns)
    run[np.isin(states, UNFINISHED)] = np.nan
    run[(run == 0) & (states == CANCELLED)] = np.nan
    if "Start" in columns:
        run[[text in UNKNOWN for text in columns.text("Start")]] = np.nan
    else:
        run[(run == 0) & (states != RUNNING)] = np.nan
    if {"Start", "End"} <= {*columns.cells}:
        _told_if_clocks_differ(columns, run)
    _told_if_partial(columns, states.tolist())
    copies = np.array([_tasks_of_array(name) for name in columns.text("JobID")])
    columns.refuse("JobID", ARRAY_TASKS.wrong(copies), str(ARRAY_TASKS))
    table["array"] = copies.astype(int)
    return table | {"run_seconds": run, "state": states}


def _run_times(columns: Columns) -> Floats:
    """Return the run time of every job, s: elapsed or, where no column states it, until the end.

    Raises
    ------
    InputError
        No column states them, or one is malformed.
    """
    if "Elapsed" in columns:
        return _durations(columns, "Elapsed", UNKNOWN)
    if "ElapsedRaw" in columns:
        return _raw(columns, "ElapsedRaw", UNKNOWN, 1, "seconds")
    if not {"Start", "End"} <= {*columns.cells}:
        raise InputError(
            f"{columns.path}: states no run times, expected a column Elapsed or ElapsedRaw, or "
            f"Start and End, as in {COMMAND}"
        )
    run = _from_start_to_end(columns)
    columns.refuse("End", run < 0, "at least the Start of the same line")
    return run


def _from_start_to_end(columns: Columns) -> Floats:
    """Return End - Start of every job, s; NaN where one of them is not known."""
    _, (_, start, end) = columns.times("Submit", "Start", "End", rules=(BEGIN,) * 3)
    length: Floats = end - start
    if 2 * (length < 0).sum() > np.isfinite(length).sum():
        raise InputError(
            f"{columns.path}: End is before Start in {(length < 0).sum()} rows, expected the other "
            "way around: the two columns seem swapped"
        )
    return length


def _told_if_clocks_differ(columns: Columns, run: Floats) -> None:
    """State which jobs did not run from start to end: clocks change, or they were suspended."""
    length = _from_start_to_end(columns)
    off = np.flatnonzero(np.abs(length - run) > MINUTE)
    if off.size:
        k = off[0]
        messages.remark(
            f"{columns.path}: End - Start differs from Elapsed for {off.size} "
            f"{'job' if off.size == 1 else 'jobs'}, the first is {columns.names('JobID')[k]}: "
            f"{length[k]:.0f} s and {run[k]:.0f} s; run times are those of Elapsed (times "
            "without a time zone when clocks changed, or jobs that were suspended)"
        )


def _told_if_partial(columns: Columns, states: Sequence[str]) -> None:
    """State that only one user, or only one state, is in a log of more than a few jobs."""
    users = {*columns.text("User")} - {""}
    one = [f"all are of user {name}" for name in users if len(users) == 1]
    one += ["all are COMPLETED"] * ({*states} == {"COMPLETED"})
    if one and len(columns) > FEW:
        messages.remark(f"{columns.path}: of {len(columns)} jobs, {' and '.join(one)}: {COMPLETE}")


def _tasks_of_array(name: str) -> float:
    """Return how many jobs the row of a job, or of the tasks of an array, stands for.

    >>> [_tasks_of_array(name) for name in ("7", "7_1", "7_[0-7]", "7_[1,4-8:2%3]")]
    [1.0, 1.0, 8.0, 4.0]
    """
    found = ARRAY.fullmatch(name)
    spans = SPAN.findall(found[1]) if found else [("1", "", "")]
    return sum(
        (float(last or first) - float(first)) // float(step or 1) + 1 for first, last, step in spans
    )


def _resources(columns: Columns) -> list[str]:
    """Return the resources that each job had; of one that did not run, those that it requested."""
    had, requested = columns.text("AllocTRES"), columns.text("ReqTRES")
    resources = [a or b for a, b in zip(had, requested, strict=True)]
    large = np.array([_is_large(text) for text in resources], bool)
    most = f"at most {TASKS.high:g} of cpu, node and gres/gpu, and {AMOUNT:g} GB of mem"
    columns.refuse("AllocTRES", large & (np.array(had) != ""), most)
    columns.refuse("ReqTRES", large, most)
    types = [_types(text) for text in resources]
    known = sorted(set().union(*types))
    if len(known) > 1 and "ReqTRES" not in columns:
        messages.remark(
            f"{columns.path}: GPUs of {sum(map(bool, types))} jobs are of the types "
            f"{', '.join(known)}, which are not distinguished: a job may run on any GPU; which "
            "jobs requested a type, ReqTRES states: add it to --format of sacct"
        )
    return resources


def _is_large(text: str) -> bool:
    counts = map(float, COUNTS.findall(text))
    return max(counts, default=0.0) > TASKS.high or _gb(OF_JOB.search(text)) > AMOUNT


def _types(text: str) -> set[str]:
    """Return the types of GPUs that resources name."""
    return {model[1:].lower() for model, _ in GPUS.findall(text) if model}


def _cores(columns: Columns, resources: Sequence[str]) -> Floats:
    """Return the cores of each job, 0 where they are not known.

    Raises
    ------
    InputError
        No column states them.
    """
    for name in ("NCPUS", "AllocCPUS"):
        if name in columns:
            return columns.numbers(name, ALLOCATED)
    found = [CORES.search(text) for text in resources]
    if not any(found) and "ReqCPUS" in columns:
        return columns.numbers("ReqCPUS", ALLOCATED)
    if not any(found) and len(columns):
        raise InputError(
            f"{columns.path}: states no cores, expected a column NCPUS, AllocCPUS, AllocTRES or "
            f"ReqCPUS, as in {COMMAND}"
        )
    return np.array([float(m[1]) if m else 0.0 for m in found])


def _gpus(text: str) -> float:
    found = GPUS.findall(text)
    return sum(float(n) for model, n in found if not model) or sum(float(n) for _, n in found)


def _nodes(text: str) -> float:
    found = NODES.search(text)
    return float(found[1]) if found else 0.0


def _durations(columns: Columns, name: str, unknown: Sequence[str] = ()) -> Floats:
    """Return a column of durations in seconds, NaN where it is one of the words ``unknown``."""
    texts = columns.text(name)
    found = np.array([_seconds(text) for text in texts], float)
    bad = SUBMIT.wrong(found) & ~np.isin(texts, unknown)
    columns.refuse(name, bad, f"a time such as 1-02:03:04, of at most {SUBMIT.high:g} s")
    return found


def _seconds(text: str) -> float | None:
    """Return a duration in seconds; None: it is none.

    >>> _seconds("1-01:00:00"), _seconds("02:30"), _seconds("90.0")
    (90000.0, 150.0, 90.0)
    >>> _seconds("90"), _seconds("1-02:30")  # Slurm itself never writes these
    (None, None)
    """
    if OF_PANDAS.fullmatch(text):
        return float(text)
    match, units = DURATION.fullmatch(text), (86400, 3600, 60, 1)
    return (
        sum(float(n or 0) * u for n, u in zip(match.groups(), units, strict=True))
        if match
        else None
    )


def _raw(columns: Columns, name: str, unknown: Sequence[str], length: int, unit: str) -> Floats:
    """Return a column of whole units of this length, s; NaN where it is a word of ``unknown``."""
    texts = columns.text(name)
    found = np.array([length * float(x) if x.isdecimal() else np.nan for x in texts], float)
    bad = SUBMIT.wrong(found) & ~np.isin(texts, unknown)
    columns.refuse(name, bad, f"a number of {unit}, of at most {SUBMIT.high:g} s")
    return found


def _memory(columns: Columns, cores: Floats, resources: Sequence[str]) -> Floats | None:
    """Return the memory of whole jobs, GB; None if it is not known.

    ReqMem is per core (c), per node (n), or of the job; where it states none, memory is that of the
    allocation.
    """
    whole = [OF_JOB.search(text) for text in resources]
    memory = np.array([_gb(m) for m in whole])
    found = [MEMORY.fullmatch(text) for text in columns.cells.get("ReqMem", ())]
    per_node = any(m and m[3] == "n" for m in found)
    if "ReqMem" not in columns or (per_node and "NNodes" not in columns):
        return memory if any(whole) else None
    nodes = columns.numbers("NNodes", ALLOCATED) if "NNodes" in columns else np.ones(len(columns))
    columns.read.add("ReqMem")
    for k, (m, c, n) in enumerate(zip(found, cores, nodes, strict=True)):
        if m and float(m[1]):  # 0: all of a machine
            memory[k] = _gb(m) * {"c": c, "n": n, "": 1.0}[m[3]]
    columns.refuse("ReqMem", memory > AMOUNT, f"at most {AMOUNT:g} GB")
    odd = [
        x
        for x, m, known in zip(columns.cells["ReqMem"], found, memory, strict=True)
        if not (m or x in UNKNOWN) and np.isnan(known)
    ]
    if odd:
        messages.remark(
            f"{columns.path}: the memory of {len(odd)} jobs counts as not known: ReqMem is "
            f"{shown(odd[0])}, expected a size such as 8G, 8Gn or 8Gc"
        )
    return memory


def _gb(size: re.Match[str] | None) -> float:
    """Return an amount of memory in GB, NaN where it is 0 or none."""
    return float(size[1]) * GB[size[2]] or np.nan if size else np.nan


FORMAT = TraceFormat(
    "Slurm jobs",
    needed=("JobID", "Submit"),
    columns={
        "name": "JobID",
        "submit_seconds": "Submit",
        "eligible_seconds": "Eligible",
        "start_seconds": "Start",
        "user": "User",
        "partition": "Partition",
        "hosts": "NodeList",
    },
    skip=("JobID", "."),
    implied=("End", "ElapsedRaw", "ReqCPUS", "JobName", "ExitCode"),
    more=_details,
)
