"""Lists of machines in many formats -> one table.

The table has one row per class of equal machines, in the order of the file; next to counts, names
of your own list are those of classes:

    name         str
    count        machines of this class, >= 1
    gpu          GPUs of one machine
    cpu          cores of one machine; NaN: not in the list
    memory_gb    memory of one machine, GB of 2^30 bytes; NaN: not in the list
    storage_gb   NaN: not in the list
    nic_gbps     bandwidth of its network card, Gbit/s; NaN: not in the list
    model        GPU model, or ""
    partition    partitions that may use the machine, with commas between, or ""

``attrs["format"]`` names the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from optsched.problem import InputError
from optsched.traces.columns import Columns, Number, read_columns
from optsched.traces.formats import inventories
from optsched.traces.formats.declared import Table, TraceFormat, recognized
from optsched.traces.frames import as_file
from optsched.traces.jobs import FORMATS as JOBS
from optsched.traces.jobs import has_columns
from optsched.traces.lines import TextLine, first_row, read_fields

COLUMNS = (
    *("name", "count", "gpu", "cpu", "memory_gb", "storage_gb", "nic_gbps", "model", "partition"),
)
MISSING = {"count": 1, "model": "", "partition": ""}
EQUAL = ["gpu", "cpu", "memory_gb", "storage_gb", "nic_gbps", "model", "partition"]
COUNT = Number("machines", low=1, high=1e6, whole=True)
SOME = Number("of one machine", above_low=True)
NONE_OR_SOME = Number("of one machine")
UNKNOWN_OR_SOME = Number("of one machine", above_low=True, may_be_empty=True)

RULES = {
    "count": COUNT,
    "gpu": NONE_OR_SOME,
    "cpu": SOME,
    "memory_gb": SOME,
    "storage_gb": UNKNOWN_OR_SOME,
    "nic_gbps": UNKNOWN_OR_SOME,
}


def read_machines(source: Path | str | pd.DataFrame) -> pd.DataFrame:
    """Read a list of machines; the format is known by its name (``.machines``) or its header.

    Parameters
    ----------
    source : path or DataFrame
        Alibaba's ``openb_node_list_*.csv``; ``*.machines`` next to an SWF log; those of
        `optsched.traces.formats.inventories`; or your own ``gpu,cpu,memory_gb,...``. Plain or
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
    with as_file(source) as path:
        return _read_machines(path)


def _read_machines(path: Path) -> pd.DataFrame:
    if path.name.lower().removesuffix(".gz").endswith(".machines"):
        return _finished("SWF machines", _rows(path, _clusters(path)))
    if not has_columns(path) or any(form.fits(first_row(path).fields) for form in JOBS):
        raise InputError(f"{path}: is a list of jobs, expected a list of machines")
    form, names = recognized(path, (*inventories.FORMATS, OWN))
    columns = read_columns(path, names)
    table = form.table(columns, RULES)
    if form is OWN:
        table.setdefault("name", columns.names())
    columns.warn_unread(form.name, form.implied)
    machines = _rows(path, table)
    if form is not OWN:
        named = machines[["gpu", "cpu", "memory_gb", "model"]].itertuples(index=False)
        machines["name"] = [inventories.name(form, *machine) for machine in named]
    types = form is OWN and {"name", "count"} <= {*names}
    return _finished(form.name, machines, ["name", *EQUAL] if types else EQUAL)


def _rows(path: Path, table: Table) -> pd.DataFrame:
    """Return the machines of a list, a row each."""
    rows = pd.DataFrame({name: table.get(name, MISSING.get(name, np.nan)) for name in COLUMNS})
    if rows.empty:
        raise InputError(f"{path}: names no machine, expected at least one")
    return rows


def _finished(kind: str, rows: pd.DataFrame, equal: Sequence[str] = EQUAL) -> pd.DataFrame:
    """Put machines together that are ``equal``, in order of first appearance."""
    groups = rows.assign(first=rows["name"]).groupby([*equal], sort=False, dropna=False)
    machines = groups.agg(first=("first", "first"), count=("count", "sum")).reset_index()
    machines = machines.assign(name=machines["first"])[[*COLUMNS]].astype({"count": np.int64})
    machines.attrs = {"format": kind}
    return machines


CLUSTER = ("id", "name", "nodes", "cpus per node", "speed", "memory per node")


def _clusters(path: Path) -> Table:
    """Read the list next to an SWF log: tab-separated, no header, memory in KB."""
    expected = f"{len(CLUSTER)} with tabs between: {', '.join(CLUSTER)}"
    rows = read_fields(
        path, lambda line: [f.strip() for f in line.split("\t")], len(CLUSTER), expected
    )
    columns = Columns(path, CLUSTER, (TextLine(r.line, r.fields[: len(CLUSTER)]) for r in rows))
    return {
        "name": columns.text("name"),
        "count": columns.numbers("nodes", COUNT),
        "gpu": np.zeros(len(columns)),
        "cpu": columns.numbers("cpus per node", SOME),
        "memory_gb": columns.numbers("memory per node", Number("KB", high=1e15, above_low=True))
        / 1024**2,
    }


OWN = TraceFormat(
    "own machines",
    needed=("gpu", "cpu"),
    columns={name: name for name in COLUMNS},
)
