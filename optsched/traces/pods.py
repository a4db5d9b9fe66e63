"""Arrivals of jobs, with or without device restrictions -> one table.

The table has one row per job, in the order of arrival (equal times: the order of the file):

    name             str
    submit_seconds   s from the first arrival
    run_seconds      s from creation to deletion; 0 where it is not needed
    tasks            1
    gpus             number of GPUs, whole
    gpu              GPUs, 0.25 is a shared one
    cpu              cores; NaN: not in the list
    memory_gb        GB of 2^30 bytes; NaN: not in the list
    models           GPU models on which it may run, sorted, with | between; "": any
    type             what else distinguishes jobs: what they train, or whose they are; or ""

It is made of Alibaba's pods (GPU v2023) with their device restrictions, of any list of jobs that
`read_jobs` knows, or of counts of arrivals by slots (Helios).

``attrs["format"]`` names the format.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from optsched.problem import InputError
from optsched.traces.columns import SECONDS, Columns, Number, missing_columns, read_columns
from optsched.traces.jobs import has_columns, read_jobs
from optsched.traces.lines import MOST_ROWS, first_row

PODS = (
    *("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"),
    *("creation_time", "deletion_time"),
)
NAME = "Alibaba GPU v2023 pods with times"
TIME = Number("seconds", high=SECONDS)
COUNTS = ("time", "submit_job_all", "submit_gpu_job", "submit_gpu_num")
COUNTED = "Helios arrivals"
MANY = Number("jobs or GPUs", high=1e6, whole=True)


def read_arrivals(path: Path | str) -> pd.DataFrame:
    """Read jobs that arrive: pods, counts by slots, or any list of jobs.

    Raises
    ------
    InputError
        The list is malformed, empty, or has no times; the message states where and what would be
        right.
    """
    path = Path(path)
    if has_columns(path):
        names = first_row(path).fields
        if {*PODS} <= {*names}:
            return read_pods(path)
        if {*COUNTS} <= {*names}:
            return _counted(path, read_columns(path, names))
    jobs = read_jobs(path)
    if jobs["submit_seconds"].isna().any():
        raise InputError(f"{path}: has no times of submission, expected a list that does")
    gpu = jobs["gpu"].fillna(0.0)
    return _table(
        jobs.attrs["format"],
        jobs.attrs["start"],
        name=jobs["name"],
        submit_seconds=jobs["submit_seconds"],
        gpus=(np.ceil(gpu) * jobs["tasks"]).astype(np.int64),
        gpu=gpu * jobs["tasks"],
        cpu=jobs["cpu"] * jobs["tasks"],
        memory_gb=jobs["memory_gb"] * jobs["tasks"],
        type=jobs["model"] if jobs["model"].any() else jobs["user"],
    )


def _table(kind: str, start: pd.Timestamp | None, **columns: Any) -> pd.DataFrame:
    """Return the table of jobs with these columns; ``start`` is the date of the first."""
    usual = {"run_seconds": 0.0, "tasks": 1, "models": "", "type": ""}
    table = pd.DataFrame(usual | columns)
    table = table.sort_values("submit_seconds", kind="stable", ignore_index=True)
    table.attrs = {"format": kind, "start": start}
    return table


def _counted(path: Path, columns: Columns) -> pd.DataFrame:
    """Return a row per GPU job of each slot; those of a slot share its GPUs equally.

    Jobs without GPUs are left out: nothing states what they request.
    """
    start, (since,) = columns.times("time")
    jobs = columns.numbers("submit_gpu_job", MANY).astype(np.int64)
    gpus = columns.numbers("submit_gpu_num", MANY)
    columns.refuse("submit_gpu_num", (gpus > 0) & (jobs == 0), "0, since no GPU job is submitted")
    if not jobs.any():
        raise InputError(f"{path}: counts no GPU job, expected at least one")
    if jobs.sum() > MOST_ROWS:
        raise InputError(f"{path}: counts {jobs.sum()} jobs, expected at most {MOST_ROWS}")
    of = np.repeat(np.arange(len(jobs)), jobs)  # the slot of every job
    seconds, names = since[of], columns.names()
    each = gpus[of] / jobs[of]
    if start is not None:
        start += pd.Timedelta(seconds=float(seconds.min()))
    columns.warn_unread(COUNTED)
    return _table(
        COUNTED,
        start,
        name=[names[k] for k in of],
        submit_seconds=seconds - seconds.min(),
        gpus=np.ceil(each).astype(np.int64),
        gpu=each,
        cpu=np.nan,
        memory_gb=np.nan,
    )


def read_pods(path: Path | str) -> pd.DataFrame:
    """Read ``openb_pod_list_*.csv``, plain or gzip.

    Raises
    ------
    InputError
        The list is malformed or empty; the message names file, line, field, value and what would
        be right.
    """
    path = Path(path)
    names = first_row(path).fields
    if not {*PODS} <= {*names}:
        raise missing_columns(path, names, {NAME: PODS})
    columns = read_columns(path, names)
    if not len(columns):
        raise InputError(f"{path}: names no pod, expected at least one")
    created = columns.numbers("creation_time", TIME)
    run = columns.numbers("deletion_time", TIME) - created
    columns.refuse("deletion_time", run < 0, "at least the creation_time of the same line")
    gpus = columns.numbers("num_gpu", Number("GPUs", high=1e6, whole=True))
    milli = columns.numbers("gpu_milli", Number("thousandths of a GPU", high=1000, whole=True))
    cpu = columns.numbers("cpu_milli", Number("thousandths of a core", high=1e12))
    memory = columns.numbers("memory_mib", Number("MiB", high=1e12))
    models = [
        "|".join(sorted({part.strip() for part in text.split("|") if part.strip()}))
        for text in columns.text("gpu_spec")
    ]
    columns.warn_unread(NAME)
    return _table(
        NAME,
        None,
        name=columns.text("name"),
        submit_seconds=created - created.min(),
        run_seconds=run,
        gpus=gpus.astype(np.int64),
        gpu=gpus * milli / 1000,
        cpu=cpu / 1000,
        memory_gb=memory / 1024,
        models=models,
    )
