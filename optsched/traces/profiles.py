"""Measured constants of models: time of a mini-batch, size of the gradients, rates -> one table.

The table has one row per model:

    model              str
    batch_seconds      time of a mini-batch on one worker, s
    gradient_mb        size of the gradients, MB
    batches            mini-batches of an epoch
    inner_gbps         rate between a worker and a parameter server on one machine, Gbit/s
    outer_gbps         the same on two machines

``attrs["skipped"]`` states which rows were left out, and why.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from optsched.problem import InputError
from optsched.traces.columns import Number, missing_columns, read_columns
from optsched.traces.lines import first_row

GBIT_PER_MB = 0.008
COLUMNS = ("model", "batch_seconds", "gradient_mb", "batches", "inner_gbps", "outer_gbps")
MEASURED = (
    *("model", "local_comp_time_s", "model_size_mb", "mini_batches_per_epoch"),
    *("inter_bw_mb_s", "intra_bw_mb_s", "worker_gpu_slots"),
)
POSITIVE = Number("above 0", above_low=True)


def read_profiles(path: Path | str) -> pd.DataFrame:
    """Read a list of models; its columns are those above, or of DL2's measurements (MB/s).

    Raises
    ------
    InputError
        The list is malformed, or no row is left; the message states where and what would be right.
    """
    path = Path(path)
    names = first_row(path).fields
    own, measured = {*COLUMNS} <= {*names}, {*MEASURED} <= {*names}
    if not own and not measured:
        raise missing_columns(path, names, {"models": COLUMNS, "DL2 models": MEASURED})
    columns = read_columns(path, names)
    given = COLUMNS if own else ("model", *MEASURED[1:4], "intra_bw_mb_s", "inter_bw_mb_s")
    table = pd.DataFrame(
        {
            name: columns.text(column) if name == "model" else columns.numbers(column, POSITIVE)
            for name, column in zip(COLUMNS, given, strict=True)
        }
    )
    skipped = []
    if not own:
        table[["inner_gbps", "outer_gbps"]] *= GBIT_PER_MB
        without = columns.numbers("worker_gpu_slots", Number("GPUs")) == 0
        skipped += [f"{name}: without a GPU" for name in table["model"][without]]
        table = table[~without]
    columns.warn_unread("models" if own else "DL2 models")
    slower = table["inner_gbps"] < table["outer_gbps"]
    skipped += [f"{name}: inner bandwidth below the outer one" for name in table["model"][slower]]
    table = table[~slower].reset_index(drop=True)
    if table.empty:
        raise InputError(
            f"{path}: no model is left ({'; '.join(skipped) or 'it is empty'}), expected one with "
            "GPUs and an inner bandwidth of at least the outer one"
        )
    table.attrs["skipped"] = tuple(skipped)
    return table
