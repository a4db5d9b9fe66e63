"""Lists of jobs that others have published, each known by its columns.

A task is a GPU, a replica or an instance. Gavel, Pollux and Sia name no running times. Where a
file holds several lists (of tenants, samples or experiments), every one has a clock of its own, so
the first is read.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.numbers.arrays import Flags
from optsched.process import messages
from optsched.traces.columns import BEGIN, RUN, UNKNOWN, Columns, Number, missing_columns
from optsched.traces.formats.declared import Table, TraceFormat

PODS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
POD_TIMES = ("creation_time", "deletion_time", "scheduled_time")
POD_NAME = "Alibaba GPU v2023 pods"
GPUS = Number("GPUs", high=1e6, whole=True)
LARGE = Number("of one task", high=1e12)
AMOUNT = Number("of one instance")
ONE_GPU = {"gpu": 1.0}


def first_list(columns: Columns, *keys: str) -> Flags:
    """Return which rows are of the first of the lists that a file holds, told apart by ``keys``."""
    present = [columns.text(key) for key in keys if key in columns]
    if not present or not len(columns):
        return np.ones(len(columns), dtype=np.bool_)
    names = list(zip(*present, strict=True))
    if len({*names}) > 1:
        messages.remark(
            f"{columns.path} holds {len({*names})} lists of jobs, each with a clock of its own; "
            f"the first, {' '.join(names[0])}, is read (keep only the lines of another for that)"
        )
    return np.array([name == names[0] for name in names])


def _pods(columns: Columns) -> Table:
    present = [name for name in POD_TIMES if name in columns]
    if present and len(present) < len(POD_TIMES):
        raise missing_columns(columns.path, tuple(columns.cells), {POD_NAME: PODS + POD_TIMES})
    milli = columns.numbers("gpu_milli", Number("thousandths of a GPU", high=1000, whole=True))
    return {"gpu": columns.numbers("num_gpu", GPUS) * milli / 1000}


def _by_job(columns: Columns) -> Table:
    """Return tasks and their demands where a list has those of whole jobs: a GPU is a task.

    Of a job without GPUs, its share of a machine is.
    """
    gpus, cores = columns.numbers("gpu_num", GPUS), columns.numbers("cpu_num", LARGE)
    nodes = np.maximum(columns.numbers("node_num", GPUS), 1.0)
    tasks = np.where(gpus > 0, gpus, nodes)
    run = columns.numbers("duration", RUN)
    if "start_time" in columns:
        waited = np.isin(columns.text("start_time"), UNKNOWN)
        run = np.where(waited & (run == 0), np.nan, run)  # cancelled in the queue
    demands = {"gpu": (gpus > 0) * 1.0, "cpu": cores / tasks}
    return demands | {"tasks": tasks, "nodes": nodes, "run_seconds": run}


NUMBER = r"-?\d+(\.\d+)?"
UNNAMED = {
    **{"job_type": ".+", "command": ".*", "directory": ".*", "steps option": "--?[a-z].*"},
    **{"needs data": "[01]", "total_steps": NUMBER, "scale_factor": NUMBER},
}
WEIGHTS = {"priority_weight": NUMBER, "slo": NUMBER}
GAVEL = TraceFormat(
    "Gavel jobs",
    needed=("job_type", "total_steps", "scale_factor", "arrival_time_s"),
    columns={
        "submit_seconds": "arrival_time_s",
        "tasks": "scale_factor",
        "user": "vc",
        "model": "job_type",
        "steps": "total_steps",
    },
    constant=ONE_GPU,
    implied=("command", "directory", "steps option", "needs data", "working_dir"),
    lists=("vc", "trace"),
    headless=UNNAMED | WEIGHTS | {"arrival_time_s": NUMBER},
)
SHOCKWAVE = replace(
    GAVEL,
    name="Shockwave jobs",
    needed=(*GAVEL.needed, "duration_s"),
    columns={**GAVEL.columns, "run_seconds": "duration_s"},
    headless=UNNAMED
    | {"mode": "[a-z]+"}
    | WEIGHTS
    | {"duration_s": NUMBER, "arrival_time_s": NUMBER},
)
FORMATS = (
    TraceFormat(
        "Philly jobs",
        needed=("timestamp", "duration", "num_gpus"),
        columns={
            "submit_seconds": "timestamp",
            "run_seconds": "duration",
            "tasks": "num_gpus",
            "user": "cluster",
        },
        constant=ONE_GPU,
        implied=("gpu_time",),
    ),
    TraceFormat(
        POD_NAME,
        needed=PODS,
        columns={
            "name": "name",
            "submit_seconds": "creation_time",
            "start_seconds": "scheduled_time",
            "end_seconds": "deletion_time",
            "cpu": "cpu_milli",
            "memory_gb": "memory_mib",
        },
        per={"cpu": 1000, "memory_gb": 1024},
        rules={
            "cpu": Number("thousandths of a core", high=1e12),
            "memory_gb": Number("MiB", high=1e12),
        },
        constant={"tasks": 1},
        more=_pods,
    ),
    GAVEL,
    SHOCKWAVE,
    TraceFormat(
        "Pollux jobs",
        needed=("time", "application", "num_replicas"),
        columns={
            "name": "name",
            "submit_seconds": "time",
            "tasks": "num_replicas",
            "model": "application",
        },
        constant=ONE_GPU,
        lists=("set", "workload"),
    ),
    TraceFormat(
        "Tiresias jobs",
        needed=("job_id", "num_gpu", "submit_time", "duration"),
        columns={
            "name": "job_id",
            "submit_seconds": "submit_time",
            "start_seconds": "start_time",
            "run_seconds": "duration",
            "tasks": "num_gpu",
            "model": "model_name",
            "steps": "iterations",
        },
        constant=ONE_GPU,
        implied=("interval",),
    ),
    TraceFormat(
        "Alibaba GPU v2020 simulator jobs",
        needed=("job_id", "num_inst", "num_gpu", "submit_time", "duration"),
        columns={
            "name": "job_id",
            "submit_seconds": "submit_time",
            "run_seconds": "duration",
            "tasks": "num_inst",
            "gpu": "num_gpu",
            "cpu": "num_cpu",
            "user": "user",
        },
    ),
    TraceFormat(
        "Alibaba GPU v2025 instances",
        needed=(
            *("instance_sn", "cpu_request", "gpu_request", "memory_request"),
            *("creation_time", "scheduled_time", "deletion_time"),
        ),
        columns={
            "name": "instance_sn",
            "submit_seconds": "creation_time",
            "start_seconds": "scheduled_time",
            "end_seconds": "deletion_time",
            "gpu": "gpu_request",
            "cpu": "cpu_request",
            "memory_gb": "memory_request",
            "user": "app_name",
        },
        rules={"submit_seconds": BEGIN, "gpu": AMOUNT, "cpu": AMOUNT, "memory_gb": AMOUNT},
        constant={"tasks": 1},
    ),
    TraceFormat(
        "Alibaba GenAI requests",
        needed=("gmt_create", "exec_time_seconds", "groupId"),
        columns={
            "submit_seconds": "gmt_create",
            "run_seconds": "exec_time_seconds",
            "user": "groupId",
            "model": "checkpoint_model_version_id",
        },
        constant={"tasks": 1, **ONE_GPU},  # which the list does not state
    ),
    TraceFormat(
        "Helios or Acme jobs",
        needed=("job_id", "gpu_num", "cpu_num", "node_num", "submit_time", "duration"),
        columns={
            "name": "job_id",
            "submit_seconds": "submit_time",
            "start_seconds": "start_time",
            "user": "user",
        },
        implied=("end_time", "queue", "gpu_time"),
        more=_by_job,
    ),
)
