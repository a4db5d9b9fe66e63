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
    gpu_type     types of its GPUs as Slurm names them (gpu:a100:8), else their model or the name of
                 the type of machine, or ""

``attrs["format"]`` names the format; ``attrs["hosts"]`` are the nodes of a list that names each,
with their rows.
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
from optsched.traces.hostlists import MOST_HOSTS, hosts_in
from optsched.traces.jobs import FORMATS as JOBS
from optsched.traces.jobs import has_columns
from optsched.traces.lines import TextLine, first_row, read_fields

COLUMNS = (
    *("name", "count", "gpu", "cpu", "memory_gb", "storage_gb", "nic_gbps", "model", "partition"),
    "gpu_type",
)
MISSING = {"count": 1, "model": "", "partition": "", "gpu_type": ""}
EQUAL = [*COLUMNS[2:]]
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
    try:
        form, names = recognized(path, (*inventories.FORMATS, OWN))
    except InputError as error:
        text = " ".join(first_row(path).fields)
        if any(
            word in text
            for word in ("NODELIST", "HOSTNAMES", "GRES", "=", "#", "|", "gpu:", "(null)")
        ):
            raise InputError(f"{error}; of Slurm, this writes one: {inventories.SINFO}") from None
        raise
    columns = read_columns(path, names)
    table = form.table(columns, RULES)
    if form is OWN:
        table.setdefault("name", columns.names())
    columns.warn_unread(form.name, form.implied)
    types = form is OWN and {"name", "count"} <= {*names}
    machines = _rows(path, table)
    if form is inventories.SLURM:
        unnamed = np.array([not hosts_in(text) for text in machines["name"]])
        columns.refuse("NODELIST", unnamed, f"names of at most {MOST_HOSTS} nodes")
        machines = _by_node(machines)
    own = form is OWN and "name" in names and not types and machines["name"].is_unique
    hosts = machines["name"].tolist() if form is inventories.SLURM or own else []
    other = machines["model"].where(machines["model"] != "", machines["name"] if types else "")
    machines["gpu_type"] = machines["gpu_type"].where(machines["gpu_type"] != "", other)
    if form is not OWN:
        named = machines[["gpu", "cpu", "memory_gb", "model"]].itertuples(index=False)
        machines["name"] = [inventories.name(form, *machine) for machine in named]
    equal = ["name", *EQUAL] if types else EQUAL
    finished = _finished(form.name, machines, equal)
    rows = machines.groupby(equal, sort=False, dropna=False).ngroup()
    finished.attrs["hosts"] = dict(zip(hosts, rows.tolist(), strict=False))
    return finished


def _rows(path: Path, table: Table) -> pd.DataFrame:
    """Return the machines of a list, a row each."""
    rows = pd.DataFrame({name: table.get(name, MISSING.get(name, np.nan)) for name in COLUMNS})
    if rows.empty:
        raise InputError(f"{path}: names no machine, expected at least one")
    return rows


def _by_node(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row of each node, with all of its partitions, of rows with several nodes."""
    nodes = rows.assign(name=rows["name"].map(hosts_in)).explode("name")
    of = nodes.groupby("name", sort=False)["partition"].agg(lambda x: ",".join(sorted({*x})))
    nodes = nodes.drop_duplicates("name")
    return nodes.assign(partition=nodes["name"].map(of)).reset_index(drop=True)


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


def _types(columns: Columns) -> Table:
    """Return types of GPUs: of a column gres, or of columns that are called as types are.

    The latter hold whole numbers of at most those of all GPUs.
    """
    found = columns.text("gres" if "gres" in columns else "gpu_type")
    inventories.gpus_in(columns, "gres")
    gpus = columns.numbers("gpu", NONE_OR_SOME)
    for name in [name for name in columns.cells if name not in (*COLUMNS, "gres")]:
        numbers = pd.to_numeric(pd.Series(columns.cells[name]), errors="coerce").to_numpy(float)
        if ((numbers >= 0) & (numbers <= gpus) & (numbers % 1 == 0)).all() and numbers.any():
            columns.read.add(name)
            found = [f"{x},gpu:{name}:{n:.0f}" for x, n in zip(found, numbers, strict=True)]
    return {"gpu_type": found}


OWN = TraceFormat(
    "own machines",
    needed=("gpu", "cpu"),
    columns={name: name for name in COLUMNS},
    more=_types,
)
