"""Workloads of the simulator Batsim: JSON with jobs and the profiles that they follow.

A job has `id`, `subtime` (s), `res` (machines at once), `profile` and perhaps a `walltime` (s) at
which it is killed. A profile of type `delay` names the running time; what others take depends on
the platform, so it is not known. `nb_res` states the machines.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from optsched.base import Text
from optsched.files.format import first_error
from optsched.problem import InputError
from optsched.traces.columns import RUN, SUBMIT, TASKS
from optsched.traces.formats.declared import Table
from optsched.traces.lines import begins, read_bytes


class _Job(BaseModel):
    id: Text = Field(coerce_numbers_to_str=True)
    subtime: float = Field(ge=0.0, le=SUBMIT.high)
    res: int = Field(ge=1, le=int(TASKS.high))
    profile: str
    walltime: float | None = Field(default=None, le=RUN.high)


class _Profile(BaseModel):
    type: str
    delay: float = Field(default=np.nan, ge=0.0, le=RUN.high)


class _Workload(BaseModel):
    nb_res: int | None = None
    jobs: list[_Job]
    profiles: dict[str, _Profile]


def is_workload(path: Path) -> bool:
    """Whether ``path`` is an object in JSON, which no other list of jobs is."""
    return begins(path) == b"{"


def read_workload(path: Path) -> Table:
    """Return the table of a workload.

    Raises
    ------
    InputError
        It is no such workload; the first wrong field is named, jobs counted from 0.
    """
    text = read_bytes(path)
    try:
        workload = _Workload.model_validate_json(text)
    except ValidationError as err:
        if b'"kind"' in text:
            raise InputError(
                f"{path}: may be an instance file, expected its name to end in .json, and no gzip"
            ) from err
        raise InputError(
            f"{path}: is no instance file and no job log: {first_error(err)}; expected Philly's "
            "cluster_job_log or a workload of Batsim"
        ) from err
    lacking = next((job for job in workload.jobs if job.profile not in workload.profiles), None)
    if lacking is not None:
        raise InputError(
            f"{path}: job {lacking.id}: profile {lacking.profile!r} is missing, expected it in "
            "profiles"
        )
    delays = np.array([workload.profiles[job.profile].delay for job in workload.jobs], float)
    limits = np.array([job.walltime for job in workload.jobs], float)
    limits[limits <= 0] = np.nan  # -1: none
    return {
        "name": [job.id for job in workload.jobs],
        "submit_seconds": np.array([job.subtime for job in workload.jobs], float),
        "run_seconds": np.where(delays > limits, limits, delays),
        "request_seconds": limits,
        "tasks": np.array([job.res for job in workload.jobs], float),
        "gpu": 0.0,
        "cpu": 1.0,
        "processors": workload.nb_res,
    }
