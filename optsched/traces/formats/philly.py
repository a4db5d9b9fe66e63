"""The job log of Philly, as Microsoft has published it.

`cluster_job_log` is JSON, a list of jobs: `jobid`, `vc` (the tenant), `submitted_time`,
`attempts`. An attempt has `start_time`, `end_time`, and in `detail` the GPUs of every host (`ip`,
`gpus`). A job that failed was tried again, on as many GPUs or on others. Its work is that of all
attempts: a task is a GPU, there are as many as in the last attempt, and they run as long as the
GPU-hours of all take. An attempt that has no start or no end counts nothing; where it is the last
one, the job ran on when the log was taken, and its running time is not known. Times are local:
what ends before it began, in the hour in which clocks are put back, takes no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, TypeAdapter, ValidationError

from optsched.base import Text
from optsched.files.format import first_error
from optsched.numbers.arrays import Floats
from optsched.problem import InputError
from optsched.traces.columns import UNKNOWN
from optsched.traces.formats.declared import Table
from optsched.traces.lines import begins, read_bytes

DATE = "%Y-%m-%d %H:%M:%S"


class _Host(BaseModel):
    gpus: list[str]


class _Attempt(BaseModel):
    start_time: str | None = None
    end_time: str | None = None
    detail: list[_Host] = []

    @property
    def gpus(self) -> int:
        return sum(len(host.gpus) for host in self.detail)


class _Job(BaseModel):
    jobid: Text
    submitted_time: str
    vc: Text = ""
    attempts: list[_Attempt] = []


JOBS = TypeAdapter(list[_Job])


def is_log(path: Path) -> bool:
    """Whether ``path`` is a list in JSON, which no other list of jobs is."""
    return begins(path) == b"["


def log(path: Path) -> tuple[Table, pd.Timestamp | None]:
    """Return the table of a job log, and the date of its first submission.

    Raises
    ------
    InputError
        It is no such log; the first wrong field is named, jobs counted from 0.
    """
    try:
        jobs = JOBS.validate_json(read_bytes(path))
    except ValidationError as err:
        raise InputError(
            f"{path}: job {first_error(err)}; expected Philly's cluster_job_log"
        ) from err
    submitted = _dates(
        path, "submitted_time", [job.submitted_time for job in jobs], range(len(jobs))
    )
    owner = [k for k, job in enumerate(jobs) for _ in job.attempts]
    attempts = [attempt for job in jobs for attempt in job.attempts]
    begun = _dates(path, "start_time", [a.start_time for a in attempts], owner)
    ended = _dates(path, "end_time", [a.end_time for a in attempts], owner)
    tried = pd.DataFrame(
        {
            "job": owner,
            "begun": begun,
            "took": np.maximum(ended - begun, 0.0),
            "gpus": np.array([a.gpus for a in attempts], float),
        }
    )
    tried["work"] = tried["took"] * tried["gpus"]
    by_job = tried.groupby("job")
    last = by_job.nth(-1).set_index("job").reindex(range(len(jobs)))
    tasks = np.where(last["gpus"] >= 1, last["gpus"], np.nan)
    work = by_job["work"].sum().reindex(range(len(jobs))).to_numpy()
    start = by_job["begun"].min().reindex(range(len(jobs))).to_numpy()  # NaN: no attempt has one
    first = float(np.min(submitted, initial=np.inf))
    return {
        "name": [job.jobid for job in jobs],
        "submit_seconds": submitted - first,
        "start_seconds": np.maximum(start, submitted) - first,
        "run_seconds": np.where(last["took"].notna(), work / tasks, np.nan),
        "tasks": tasks,
        "gpu": np.ones(len(jobs)),
        "user": [job.vc for job in jobs],
    }, pd.Timestamp(first, unit="s") if jobs else None


def _dates(path: Path, name: str, texts: Sequence[str | None], owner: Sequence[int]) -> Floats:
    """Return dates of jobs as seconds, NaN where they are not known; submissions must be."""
    known: pd.Series[Any] = pd.Series([*texts], dtype=object)
    if name != "submitted_time":
        known = known.mask(known.isin(UNKNOWN))
    dates = pd.to_datetime(known, format=DATE, errors="coerce")
    wrong = np.flatnonzero(dates.isna() & known.notna())
    if wrong.size:
        k = int(wrong[0])
        raise InputError(
            f"{path}: job {owner[k]}, {name}: is {texts[k]!r}, expected a date such as "
            "2017-10-09 07:01:55"
        )
    return np.asarray((dates - pd.Timestamp(0)).dt.total_seconds(), dtype=np.float64)
