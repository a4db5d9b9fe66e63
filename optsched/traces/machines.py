"""Lists of machines in many formats -> one table.

The table has one row per class of equal machines, in the order of the file:

    name         str
    count        machines of this class, >= 1
    gpu          GPUs of one machine
    cpu          cores of one machine; NaN: not in the list
    memory_gb    memory of one machine, GB of 2^30 bytes; NaN: not in the list
    storage_gb   NaN: not in the list
    nic_gbps     bandwidth of its network card, Gbit/s; NaN: not in the list
    model        GPU model, or ""

``attrs["format"]`` names the format.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from optsched.problem import InputError
from optsched.traces.columns import Columns, Number, missing_columns, must_be_known, read_columns
from optsched.traces.formats import inventories, philly
from optsched.traces.jobs import READERS as JOBS
from optsched.traces.lines import Row, header, read_fields

COLUMNS = ("name", "count", "gpu", "cpu", "memory_gb", "storage_gb", "nic_gbps", "model")
MISSING = {"count": 1, "model": ""}
EQUAL = ["gpu", "cpu", "memory_gb", "storage_gb", "nic_gbps", "model"]
COUNT = Number("machines", low=1, high=1e6, whole=True)
SOME = Number("of one machine", above_low=True)
NONE_OR_SOME = Number("of one machine")
UNKNOWN_OR_SOME = Number("of one machine", above_low=True, may_be_empty=True)

NODES = ("sn", "cpu_milli", "memory_mib", "gpu")
OWN = ("gpu", "cpu", "memory_gb")
OWN_OPTIONAL = ("name", "count", "storage_gb", "nic_gbps", "model")

Table = dict[str, Any]


def read_machines(path: Path | str) -> pd.DataFrame:
    """Read a list of machines; the format is known by its name (``.machines``) or its header.

    Parameters
    ----------
    path : path
        Alibaba's ``openb_node_list_*.csv``; ``*.machines`` beside an SWF log; those of
        `optsched.traces.formats.inventories`; or one's own ``gpu,cpu,memory_gb,...``. Plain or
        gzip.

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
    if path.name.lower().removesuffix(".gz").endswith(".machines"):
        return _finished(path, "SWF machines", _clusters(path))
    if philly.is_log(path):
        raise InputError(f"{path}: is a list of jobs, expected a list of machines")
    names = header(path)
    if any({*jobs} <= {*names} for jobs, _ in JOBS.values()):
        raise InputError(f"{path}: is a list of jobs, expected a list of machines")
    for kind, (needed, read) in READERS.items():
        if {*needed} <= {*names}:
            return _finished(path, kind, read(read_columns(path, names)))
    raise missing_columns(path, names, {kind: needed for kind, (needed, _) in READERS.items()})


def _finished(path: Path, kind: str, table: Table) -> pd.DataFrame:
    """Put equal machines together, in order of first appearance."""
    rows = pd.DataFrame({name: table.get(name, MISSING.get(name, np.nan)) for name in COLUMNS})
    if rows.empty:
        raise InputError(f"{path}: names no machine, expected at least one")
    groups = rows.groupby(EQUAL, sort=False, dropna=False)
    machines = groups.agg(name=("name", "first"), count=("count", "sum")).reset_index()
    machines = machines[list(COLUMNS)].astype({"count": np.int64})
    machines.attrs = {"format": kind}
    return machines


def _nodes(columns: Columns) -> Table:
    gpu = columns.numbers("gpu", Number("GPUs", high=1e6, whole=True))
    cpu = (
        columns.numbers("cpu_milli", Number("thousandths of a core", high=1e12, above_low=True))
        / 1000
    )
    memory = columns.numbers("memory_mib", Number("MiB", high=1e12, above_low=True)) / 1024
    model = columns.text("model")
    return {
        "name": [
            f"{g:.0f} x {m or 'GPU'}, {c:g} cores" if g else f"{c:g} cores, {ram:g} GB"
            for g, m, c, ram in zip(gpu, model, cpu, memory, strict=True)
        ],
        "gpu": gpu,
        "cpu": cpu,
        "memory_gb": memory,
        "model": model,
    }


def _own(columns: Columns) -> Table:
    must_be_known(columns, OWN, OWN_OPTIONAL)
    rest = {
        n: columns.numbers(n, UNKNOWN_OR_SOME) for n in ("storage_gb", "nic_gbps") if n in columns
    }
    return {
        "name": columns.names("name"),
        "model": columns.text("model"),
        **rest,
        "count": columns.numbers("count", COUNT) if "count" in columns else 1,
        "gpu": columns.numbers("gpu", NONE_OR_SOME),
        "cpu": columns.numbers("cpu", SOME),
        "memory_gb": columns.numbers("memory_gb", SOME),
    }


CLUSTER = ("id", "name", "nodes", "cpus per node", "speed", "memory per node")


def _clusters(path: Path) -> Table:
    """Read the list beside an SWF log: tab-separated, no header, memory in KB."""
    expected = f"{len(CLUSTER)} with tabs between: {', '.join(CLUSTER)}"
    rows = read_fields(
        path, lambda line: [f.strip() for f in line.split("\t")], len(CLUSTER), expected
    )
    columns = Columns(path, CLUSTER, (Row(r.line, r.fields[: len(CLUSTER)]) for r in rows))
    return {
        "name": columns.text("name"),
        "count": columns.numbers("nodes", COUNT),
        "gpu": np.zeros(len(columns)),
        "cpu": columns.numbers("cpus per node", SOME),
        "memory_gb": columns.numbers("memory per node", Number("KB", high=1e15, above_low=True))
        / 1024**2,
    }


READERS: dict[str, tuple[tuple[str, ...], Callable[[Columns], Table]]] = {
    "Alibaba GPU v2023 nodes": (NODES, _nodes),
    "Philly machines": (philly.NODES, philly.nodes),
    **inventories.READERS,
    "own machines": (OWN, _own),
}
