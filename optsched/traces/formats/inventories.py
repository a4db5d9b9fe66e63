"""Lists of machines that others have published, each known by its columns.

Alibaba GPU v2020       machine, gpu_type, cap_cpu, cap_mem, cap_gpu
Alibaba GPU v2023       sn, cpu_milli, memory_mib, gpu, model
Alibaba spot GPU v2026  node_name, gpu_model, gpu_capacity_num, cpu_num (no memory)
Slurm, `sinfo`          NODELIST, CPUS, MEMORY, GRES
Philly                  machineId, number of GPUs, single GPU mem (no cores, no memory)
Tiresias clusters       num_switch, num_node_p_switch, num_gpu_p_node, num_cpu_p_node, mem_p_node
"""

from __future__ import annotations

import re

import numpy as np

from optsched.numbers.arrays import Floats
from optsched.process import messages
from optsched.traces.columns import Columns, Number
from optsched.traces.formats.declared import Table, TraceFormat

GPUS = {"gpu": Number("GPUs", high=1e6, whole=True)}
COUNT = Number("how many", low=1, high=1e6, whole=True)
GRES = re.compile(r"(?:^|,)gpu(?::([^:,()]+))?:(\d+)")
OUT = re.compile("down|drain|drng|fail|maint")  # states
MANY = 5  # names that a message lists
WITHOUT = "CPU"  # what the list of 2020 calls the model of a machine without GPUs


def gpus_in(columns: Columns, name: str) -> Floats:
    """Return how many GPUs a column of Slurm's generic resources states."""
    found = [GRES.findall(text) for text in columns.text(name)]
    gpus = np.array([sum(float(n) for _, n in some) for some in found])
    columns.refuse(name, GPUS["gpu"].wrong(gpus), str(GPUS["gpu"]))
    return gpus


def _models(columns: Columns) -> Table:
    return {"model": ["" if m == WITHOUT else m for m in columns.text("gpu_type")]}


def _count(columns: Columns) -> Table:
    switches, nodes = (columns.numbers(n, COUNT) for n in ("num_switch", "num_node_p_switch"))
    return {"count": switches * nodes}


def _slurm(columns: Columns) -> Table:
    states = zip(columns.text("NODELIST"), columns.text("STATE"), strict=True)
    if lost := sorted({nodes for nodes, state in states if OUT.match(state.lower())}):
        messages.remark(
            f"{columns.path}: nodes that are down, drained or in maintenance count like the "
            f"others: {', '.join(lost[:MANY])}"
            + (f" and {len(lost) - MANY} more" if lost[MANY:] else "")
            + "; expected a list without those that the jobs of the log could not use"
        )
    found = [GRES.findall(text) for text in columns.text("GRES")]
    return {
        "gpu": gpus_in(columns, "GRES"),
        "gpu_type": [",".join(f"gpu:{x}:{n}" for x, n in some if x) for some in found],
        "model": [" and ".join(x for x, _ in some if x) for some in found],
        "partition": [text.rstrip("*") for text in columns.text("PARTITION")],  # * the default
    }


V2023 = TraceFormat(
    "Alibaba GPU v2023 nodes",
    needed=("sn", "cpu_milli", "memory_mib", "gpu"),
    columns={"gpu": "gpu", "cpu": "cpu_milli", "memory_gb": "memory_mib", "model": "model"},
    per={"cpu": 1000, "memory_gb": 1024},
    rules=GPUS
    | {
        "cpu": Number("thousandths of a core", high=1e12, above_low=True),
        "memory_gb": Number("MiB", high=1e12, above_low=True),
    },
    implied=("sn",),
)
SLURM = TraceFormat(
    "Slurm nodes",
    needed=("NODELIST", "CPUS", "MEMORY", "GRES"),
    columns={"name": "NODELIST", "cpu": "CPUS", "memory_gb": "MEMORY"},
    per={"memory_gb": 1024},
    rules={"memory_gb": Number("MB", high=1e12, above_low=True)},
    implied=("NODES", "AVAIL", "TIMELIMIT", "STATE"),
    more=_slurm,
)
SINFO = 'sinfo --Node --format="%N|%c|%m|%G|%R"'  # writes such a list
PHILLY = TraceFormat(
    "Philly machines",
    needed=("machineId", "number of GPUs", "single GPU mem"),
    columns={"gpu": "number of GPUs", "model": "single GPU mem"},
    rules=GPUS,
    implied=("machineId",),
)
FORMATS = (
    V2023,
    SLURM,
    PHILLY,
    TraceFormat(
        "Alibaba GPU v2020 machines",
        needed=("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"),
        columns={"gpu": "cap_gpu", "cpu": "cap_cpu", "memory_gb": "cap_mem"},
        rules=GPUS,
        implied=("machine",),
        more=_models,
    ),
    TraceFormat(
        "Alibaba spot GPU v2026 nodes",
        needed=("gpu_model", "gpu_capacity_num", "cpu_num", "node_name"),
        columns={"gpu": "gpu_capacity_num", "cpu": "cpu_num", "model": "gpu_model"},
        rules=GPUS,
        implied=("node_name",),
    ),
    TraceFormat(
        "Tiresias clusters",
        needed=(
            *("num_switch", "num_node_p_switch", "num_gpu_p_node", "num_cpu_p_node"),
            "mem_p_node",
        ),
        columns={"gpu": "num_gpu_p_node", "cpu": "num_cpu_p_node", "memory_gb": "mem_p_node"},
        rules=GPUS,
        more=_count,
    ),
)


def name(form: TraceFormat, gpu: float, cpu: float, memory_gb: float, model: str) -> str:
    """Return the name of a machine: its GPUs and cores, as far as the list states them."""
    if form is PHILLY:
        return f"{gpu:.0f} x GPU of {model}"
    if gpu:
        return f"{gpu:.0f} x {model or 'GPU'}, {cpu:g} cores"
    return f"{cpu:g} cores" + f", {memory_gb:g} GB" * (form is V2023)
