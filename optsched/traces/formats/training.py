"""Lists of jobs that others have published, each known by its columns.

    Gavel, Shockwave   job_type, total_steps, scale_factor, arrival_time_s (Shockwave: duration_s)
    Pollux, Sia        time, application, num_replicas
    Tiresias           job_id, num_gpu, submit_time, duration
    Alibaba GPU v2025  instance_sn, cpu_request, gpu_request, memory_request, creation_time, ...
    Alibaba GenAI      gmt_create, exec_time_seconds, groupId

A task is a GPU, a replica or an instance. Gavel, Pollux and Sia name no running times. Where a
file holds several lists (of tenants, samples or experiments), every one has a clock of its own, so
the first is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from optsched.numbers.arrays import Flags
from optsched.process import talk
from optsched.traces.columns import BEGIN, RUN, SUBMIT, TASKS, Columns, Number

STEPS = ("job_type", "total_steps", "scale_factor", "arrival_time_s")
REPLICAS = ("time", "application", "num_replicas")
TESTBED = ("job_id", "num_gpu", "submit_time", "duration")
INSTANCES = (
    *("instance_sn", "cpu_request", "gpu_request", "memory_request"),
    *("creation_time", "scheduled_time", "deletion_time"),
)
REQUESTS = ("gmt_create", "exec_time_seconds", "groupId")
WHOLE_STEPS = Number("mini-batches", low=1, high=1e15, whole=True)
AMOUNT = Number("of one instance")

Table = dict[str, Any]
Found = tuple[Table, "pd.Timestamp | None"]


def first_list(columns: Columns, *keys: str) -> Flags:
    """Return which rows are of the first of the lists that a file holds, told apart by ``keys``."""
    present = [columns.text(key) for key in keys if key in columns]
    if not present or not len(columns):
        return np.ones(len(columns), dtype=np.bool_)
    names = list(zip(*present, strict=True))
    if len({*names}) > 1:
        talk.remark(
            f"{columns.path} holds {len({*names})} lists of jobs, each with a clock of its own; "
            f"the first, {' '.join(names[0])}, is read (keep only the lines of another for that)"
        )
    return np.array([name == names[0] for name in names])


def _only(table: Table, rows: Flags) -> Table:
    return {name: np.asarray(column)[rows] for name, column in table.items()}


def _steps(columns: Columns) -> Found:
    table: Table = {
        "name": columns.names(),
        "submit_seconds": columns.numbers("arrival_time_s", SUBMIT),
        "tasks": columns.numbers("scale_factor", TASKS),
        "gpu": np.ones(len(columns)),
        "user": columns.text("vc"),
        "model": columns.text("job_type"),
        "steps": columns.numbers("total_steps", WHOLE_STEPS),
    }
    if "duration_s" in columns:
        table["run_seconds"] = columns.numbers("duration_s", RUN)
    return _only(table, first_list(columns, "vc", "trace")), None


def _replicas(columns: Columns) -> Found:
    table: Table = {
        "name": columns.names("name"),
        "submit_seconds": columns.numbers("time", SUBMIT),
        "tasks": columns.numbers("num_replicas", TASKS),
        "gpu": np.ones(len(columns)),
        "model": columns.text("application"),
    }
    return _only(table, first_list(columns, "set", "workload")), None


def _testbed(columns: Columns) -> Found:
    table: Table = {
        "name": columns.text("job_id"),
        "submit_seconds": columns.numbers("submit_time", SUBMIT),
        "run_seconds": columns.numbers("duration", RUN),
        "tasks": columns.numbers("num_gpu", TASKS),
        "gpu": np.ones(len(columns)),
        "model": columns.text("model_name"),
    }
    if "iterations" in columns:
        table["steps"] = columns.numbers("iterations", WHOLE_STEPS)
    return table, None


def _instances(columns: Columns) -> Found:
    """Read services, but for those whose beginning or end is not in the list."""
    created, begin, end = (
        columns.numbers(name, BEGIN)
        for name in ("creation_time", "scheduled_time", "deletion_time")
    )
    run = end - begin
    columns.refuse("deletion_time", run < 0, "at least the scheduled_time of the same line")
    columns.refuse("scheduled_time", begin < created, "at least the creation_time of that line")
    known = np.isfinite(created) & np.isfinite(run)
    return {
        "name": columns.text("instance_sn"),
        "submit_seconds": np.where(known, created, 0.0),
        "start_seconds": begin,
        "run_seconds": run,
        "tasks": np.where(known, 1.0, np.nan),
        "gpu": columns.numbers("gpu_request", AMOUNT),
        "cpu": columns.numbers("cpu_request", AMOUNT),
        "memory_gb": columns.numbers("memory_request", AMOUNT),
        "user": columns.text("app_name"),
    }, None


def _requests(columns: Columns) -> Found:
    """Read requests for pictures; each is taken to have one GPU, which the list does not say."""
    stamps, seconds = columns.times("gmt_create")
    return {
        "name": columns.names(),
        "submit_seconds": seconds,
        "run_seconds": columns.numbers("exec_time_seconds", RUN),
        "tasks": np.ones(len(columns)),
        "gpu": np.ones(len(columns)),
        "user": columns.text("groupId"),
        "model": columns.text("checkpoint_model_version_id"),
    }, None if len(columns) == 0 else stamps.min()


READERS: dict[str, tuple[tuple[str, ...], Callable[[Columns], Found]]] = {
    "Gavel jobs": (STEPS, _steps),
    "Pollux jobs": (REPLICAS, _replicas),
    "Tiresias jobs": (TESTBED, _testbed),
    "Alibaba GPU v2025 instances": (INSTANCES, _instances),
    "Alibaba GenAI requests": (REQUESTS, _requests),
}
