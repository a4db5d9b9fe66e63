"""Pods with device restrictions (Alibaba GPU v2023) -> one table.

The table has one row per pod, in the order of creation (equal times: the order of the file):

    name             str
    submit_seconds   s from the first creation
    run_seconds      s from creation to deletion
    tasks            1
    gpus             number of GPUs, whole
    gpu              GPUs, 0.25 is a shared one
    cpu              cores
    memory_gb        GB of 2^30 bytes
    models           GPU models on which it may run, sorted, with | between; "": any

``attrs["format"]`` names the format.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from optsched.problem import InputError
from optsched.traces.columns import SECONDS, Number, missing_columns, read_columns
from optsched.traces.lines import header

PODS = (
    *("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"),
    *("creation_time", "deletion_time"),
)
NAME = "Alibaba GPU v2023 pods with times"
TIME = Number("seconds", high=SECONDS)


def read_pods(path: Path | str) -> pd.DataFrame:
    """Read ``openb_pod_list_*.csv``, plain or gzip.

    Raises
    ------
    InputError
        The list is malformed or empty; the message names file, line, field, value and what would
        be right.
    """
    path = Path(path)
    names = header(path)
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
    pods = pd.DataFrame(
        {
            "name": columns.text("name"),
            "submit_seconds": created - created.min(),
            "run_seconds": run,
            "tasks": np.ones(len(columns), np.int64),
            "gpus": gpus.astype(np.int64),
            "gpu": gpus * milli / 1000,
            "cpu": cpu / 1000,
            "memory_gb": memory / 1024,
            "models": [_sorted(text) for text in columns.text("gpu_spec")],
        }
    ).sort_values("submit_seconds", kind="stable", ignore_index=True)
    pods.attrs = {"format": NAME, "start": None}
    return pods


def _sorted(text: str) -> str:
    return "|".join(sorted({part.strip() for part in text.split("|") if part.strip()}))
