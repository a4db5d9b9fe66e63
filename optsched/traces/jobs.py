"""Lists of jobs in many formats -> one table.

The table has one row per job, in the order of submission (equal times: the order of the file):

    name             str
    submit_seconds   s from the first submission; NaN if the list has no times
    start_seconds    when it was started, s from the first submission; NaN: not in the list
    run_seconds      s, with all tasks at once; NaN if the list has none
    tasks            workers, GPUs or processors that the job uses at once, whole, >= 1
    gpu              GPUs of one task, 0.25 is a shared one; NaN: not in the list
    cpu              cores of one task; NaN: not in the list
    memory_gb        memory of one task, GB of 2^30 bytes; NaN: not in the list
    user             tenant, or ""
    model            what the job trains, or ""
    steps            mini-batches of all tasks together, whole, >= 1; NaN: not in the list

``attrs["format"]`` names the format, ``attrs["dropped"]`` counts rows that name no running time
(or no processors), ``attrs["start"]`` is the date of the first submission, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from optsched.problem import InputError
from optsched.process import talk
from optsched.traces.columns import (
    BEGIN,
    DEMAND,
    RUN,
    SECONDS,
    SUBMIT,
    TASKS,
    Columns,
    Number,
    missing_columns,
    must_be_known,
    read_columns,
)
from optsched.traces.formats import inventories, philly, training
from optsched.traces.lines import Row, header, read_fields

COLUMNS = (
    *("name", "submit_seconds", "start_seconds", "run_seconds", "tasks"),
    *("gpu", "cpu", "memory_gb", "user", "model", "steps"),
)
MISSING = {"user": "", "model": ""}

PHILLY = ("timestamp", "duration", "num_gpus")
PODS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
POD_TIMES = ("creation_time", "deletion_time", "scheduled_time")
OWN = ("submit_seconds", "run_seconds", "tasks")
OWN_OPTIONAL = ("name", "start_seconds", "gpu", "cpu", "memory_gb", "user")
MACHINE_HEADS = (
    {"sn", "cpu_milli"},
    {"cpu", "memory_gb", "gpu", "count"},
    {*philly.NODES},
    *(set(needed) for needed, _ in inventories.READERS.values()),
)

Table = dict[str, Any]


def read_jobs(path: Path | str) -> pd.DataFrame:
    """Read a list of jobs; the format is known by its name (SWF) or its header.

    A file may hold several lists, each with a clock of its own; then the first is read, and said.

    Parameters
    ----------
    path : path
        ``*.swf``; Philly's ``cluster_job_log``, or ``timestamp,duration,num_gpus,...``; Alibaba's
        ``openb_pod_list_*.csv``; those of `optsched.traces.formats.training`; or one's own
        ``submit_seconds,run_seconds,tasks,...``. Plain or gzip.

    Returns
    -------
    DataFrame
        The columns above.

    Raises
    ------
    InputError
        The list is malformed or empty; the message names file, line, field, value and what would
        be right.
    """
    path = Path(path)
    if is_swf(path):
        return _finished(path, "SWF", *_swf(path))
    if philly.is_log(path):
        return _finished(path, "Philly log", *philly.log(path))
    names = header(path)
    for kind, (needed, read) in READERS.items():
        if {*needed} <= {*names}:
            return _finished(path, kind, *read(read_columns(path, names)))
    if any(heads <= {*names} for heads in MACHINE_HEADS):
        raise InputError(f"{path}: is a list of machines, expected a list of jobs")
    raise missing_columns(path, names, {kind: needed for kind, (needed, _) in READERS.items()})


def is_swf(path: Path) -> bool:
    """Whether ``path`` names a log in the Standard Workload Format."""
    return path.name.lower().removesuffix(".gz").endswith(".swf")


def _finished(path: Path, kind: str, table: Table, start: pd.Timestamp | None) -> pd.DataFrame:
    """Drop what has no running time, put in order, start the clock at the first submission."""
    jobs = pd.DataFrame({name: table.get(name, MISSING.get(name, np.nan)) for name in COLUMNS})
    if jobs.empty:
        raise InputError(f"{path}: names no job, expected at least one")
    timed = jobs["submit_seconds"].notna() & ("run_seconds" in table)
    known = jobs["tasks"].notna() & (jobs["run_seconds"].notna() | ~timed)
    dropped = int((~known).sum())
    jobs = jobs[known].sort_values("submit_seconds", kind="stable", ignore_index=True)
    if jobs.empty:
        raise InputError(
            f"{path}: none of {dropped} jobs has a known running time and number of tasks, "
            "expected at least one"
        )
    if dropped:
        talk.remark(
            f"{path}: {dropped} of {len(known)} jobs are left out, since their running time or "
            "number of tasks is not known"
        )
    first = jobs["submit_seconds"].iloc[0]
    if start is not None:
        start += pd.Timedelta(seconds=float(first))
    jobs[["submit_seconds", "start_seconds"]] -= first
    jobs = jobs.astype({"tasks": np.int64})
    jobs.attrs = {"format": kind, "dropped": dropped, "start": start}
    return jobs


def _philly(columns: Columns) -> tuple[Table, pd.Timestamp | None]:
    stamps, seconds = columns.times("timestamp")
    return {
        "name": columns.names(),
        "submit_seconds": seconds,
        "run_seconds": columns.numbers("duration", RUN),
        "tasks": columns.numbers("num_gpus", TASKS),
        "gpu": np.ones(len(columns)),
        "user": columns.text("cluster"),
    }, None if len(columns) == 0 else stamps.min()


def _pods(columns: Columns) -> tuple[Table, None]:
    milli = columns.numbers("gpu_milli", Number("thousandths of a GPU", high=1000, whole=True))
    gpus = columns.numbers("num_gpu", Number("GPUs", high=1e6, whole=True))
    submit = begin = run = np.full(len(columns), np.nan)
    present = [name for name in POD_TIMES if name in columns]
    if present and len(present) < len(POD_TIMES):
        raise missing_columns(
            columns.path, tuple(columns.cells), {"Alibaba GPU v2023 pods": PODS + POD_TIMES}
        )
    if present:
        submit = columns.numbers("creation_time", SUBMIT)
        begin = columns.numbers("scheduled_time", BEGIN)
        end = columns.numbers("deletion_time", SUBMIT)
        run = end - begin  # NaN: never started
        columns.refuse("deletion_time", run < 0, "at least the scheduled_time of the same line")
    return {
        "name": columns.text("name"),
        "submit_seconds": submit,
        "start_seconds": begin,
        "run_seconds": run,
        "tasks": np.ones(len(columns)),
        "gpu": gpus * milli / 1000,
        "cpu": columns.numbers("cpu_milli", Number("thousandths of a core", high=1e12)) / 1000,
        "memory_gb": columns.numbers("memory_mib", Number("MiB", high=1e12)) / 1024,
    }, None


def _own(columns: Columns) -> tuple[Table, None]:
    must_be_known(columns, OWN, OWN_OPTIONAL)
    submit = columns.numbers("submit_seconds", SUBMIT)
    begin = np.full(len(columns), np.nan)
    if "start_seconds" in columns:
        begin = columns.numbers("start_seconds", BEGIN)
        columns.refuse(
            "start_seconds", begin < submit, "at least the submit_seconds of the same line"
        )
    return {
        "name": columns.names("name"),
        "submit_seconds": submit,
        "start_seconds": begin,
        "run_seconds": columns.numbers("run_seconds", RUN),
        "tasks": columns.numbers("tasks", TASKS),
        **{n: columns.numbers(n, DEMAND) for n in ("gpu", "cpu", "memory_gb") if n in columns},
        "user": columns.text("user"),
    }, None


SWF_FIELDS = 18
SWF = {
    **{1: "job", 2: "submit", 3: "wait", 4: "run time", 5: "used", 8: "requested"},
    **{10: "memory", 12: "user"},
}
ANY = Number("-1: unknown", low=-1e12, high=1e12)


def _swf(path: Path) -> tuple[Table, None]:
    """Read the Standard Workload Format: one task is one processor.

    A negative time and a processor number below 1 mean unknown. Column 10 is memory per
    processor in KB; where a log adds columns of its own (more than 18) it is known to mean
    something else, and is left out.
    """
    extended = False

    def rows() -> Iterator[Row]:
        nonlocal extended
        expected = f"the {SWF_FIELDS} of the Standard Workload Format"
        split = methodcaller("split", maxsplit=SWF_FIELDS)
        for row in read_fields(path, split, SWF_FIELDS, expected):
            extended = extended or len(row.fields) > SWF_FIELDS
            yield Row(row.line, [row.fields[k - 1] for k in SWF])

    columns = Columns(path, list(SWF.values()), rows())
    run = columns.numbers("run time", Number("seconds; negative: unknown", low=-1e12, high=SECONDS))
    wait = columns.numbers("wait", Number("seconds; negative: unknown", low=-1e12, high=SECONDS))
    submit = columns.numbers("submit", SUBMIT)
    used, asked = columns.numbers("used", ANY), columns.numbers("requested", ANY)
    memory = columns.numbers("memory", ANY)
    tasks = np.where(used >= 1, used, asked)
    columns.refuse("used", tasks != np.floor(tasks), "a whole number of processors, or -1")
    columns.refuse("used", tasks > TASKS.high, f"at most {TASKS.high:g} processors")
    return {
        "name": columns.text("job"),
        "submit_seconds": submit,
        "start_seconds": np.where(wait >= 0, submit + wait, np.nan),
        "run_seconds": np.where(run >= 0, run, np.nan),
        "tasks": np.where(tasks >= 1, tasks, np.nan),
        "gpu": np.zeros(len(columns)),
        "cpu": np.ones(len(columns)),
        "memory_gb": np.where((memory > 0) & (not extended), memory / 1024**2, np.nan),
        "user": columns.text("user"),
    }, None


READERS: dict[str, tuple[tuple[str, ...], Callable[[Columns], tuple[Table, Any]]]] = {
    "Philly jobs": (PHILLY, _philly),
    "Alibaba GPU v2023 pods": (PODS, _pods),
    **training.READERS,
    "own jobs": (OWN, _own),
}
