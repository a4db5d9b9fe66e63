"""Measured training speeds by kind of GPU -> one table.

The file is JSON, plain or gzip: ``{gpu: {"('model (batch size b)', n)": {"null": x, ...}}}``, where
x is the number of mini-batches per second of the job alone on n workers. Other keys (two jobs on
one GPU), and GPUs whose name ends in ``_unconsolidated``, are left out.

    model              str, with its batch size
    gpu                str
    batches_per_second of one worker alone, > 0
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from optsched.problem import InputError
from optsched.traces.columns import AMOUNT, shown
from optsched.traces.lines import read_lines

ALONE = "null"
SPREAD = "_unconsolidated"
JOB = re.compile(r"""\((["'])(.+)\1, (\d{1,9})\)""")  # a pair as Python writes it


def read_throughputs(path: Path | str) -> pd.DataFrame:
    """Read measured speeds of single workers, sorted by model and GPU.

    Raises
    ------
    InputError
        The file is no such JSON, or names no speed of a single worker.
    """
    path = Path(path)
    text = "\n".join(line for _, line in read_lines(path))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as err:
        raise InputError(f"{path}: is no JSON: {err}, expected measured speeds by GPU") from err
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds {type(content).__name__}, expected speeds by GPU")
    rows = []
    for gpu, jobs in content.items():
        if gpu.endswith(SPREAD):
            continue
        if not isinstance(jobs, dict):
            raise InputError(f"{path}, {gpu}: holds {type(jobs).__name__}, expected jobs")
        for name, speeds in jobs.items():
            model, workers = _job(path, gpu, name)
            speed = speeds.get(ALONE) if isinstance(speeds, dict) else None
            if workers == 1 and speed is not None and _speed(path, gpu, name, speed) > 0:
                rows.append((model, gpu, float(speed)))
    if not rows:
        raise InputError(f"{path}: names no speed of a single worker, expected at least one")
    table = pd.DataFrame(rows, columns=["model", "gpu", "batches_per_second"])
    return table.sort_values(["model", "gpu"], ignore_index=True)


def _job(path: Path, gpu: str, name: str) -> tuple[str, int]:
    found = JOB.fullmatch(name)
    if not found:
        raise InputError(
            f"{path}, {gpu}: job {shown(name)}, expected \"('model (batch size b)', workers)\""
        )
    return found[2], int(found[3])


def _speed(path: Path, gpu: str, name: str, speed: Any) -> float:
    number = isinstance(speed, int | float) and not isinstance(speed, bool)
    if not number or not 0 <= speed <= AMOUNT:
        raise InputError(
            f"{path}, {gpu}, {name}: speed {shown(json.dumps(speed))}, expected a number of "
            f"at least 0 and at most {AMOUNT:g}"
        )
    return float(speed)
