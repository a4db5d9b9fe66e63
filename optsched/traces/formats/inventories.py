"""Lists of machines that others have published, each known by its columns.

Alibaba GPU v2020       machine, gpu_type, cap_cpu, cap_mem, cap_gpu
Alibaba spot GPU v2026  node_name, gpu_model, gpu_capacity_num, cpu_num (no memory)
Tiresias clusters       num_switch, num_node_p_switch, num_gpu_p_node, num_cpu_p_node, mem_p_node
"""

from __future__ import annotations

import numpy as np

from optsched.numbers.arrays import Floats
from optsched.traces.columns import Columns, Number
from optsched.traces.formats.declared import Table, TraceFormat

PAI = ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu")
SPOT = ("gpu_model", "gpu_capacity_num", "cpu_num", "node_name")
CLUSTER = ("num_switch", "num_node_p_switch", "num_gpu_p_node", "num_cpu_p_node", "mem_p_node")
GPUS = Number("GPUs", high=1e6, whole=True)
SOME = Number("of one machine", above_low=True)
COUNT = Number("how many", low=1, high=1e6, whole=True)
WITHOUT = "CPU"  # what the list of 2020 calls the model of a machine without GPUs


def _pai(columns: Columns) -> Table:
    gpu = columns.numbers("cap_gpu", GPUS)
    model = ["" if m == WITHOUT else m for m in columns.text("gpu_type")]
    return _table(gpu, columns.numbers("cap_cpu", SOME), columns.numbers("cap_mem", SOME), model)


def _spot(columns: Columns) -> Table:
    return _table(
        columns.numbers("gpu_capacity_num", GPUS), columns.numbers("cpu_num", SOME),
        np.full(len(columns), np.nan), columns.text("gpu_model"),
    )  # fmt: skip


def _clusters(columns: Columns) -> Table:
    count = columns.numbers("num_switch", COUNT) * columns.numbers("num_node_p_switch", COUNT)
    return _table(
        columns.numbers("num_gpu_p_node", GPUS), columns.numbers("num_cpu_p_node", SOME),
        columns.numbers("mem_p_node", SOME), [""] * len(columns), count,
    )  # fmt: skip


def _table(
    gpu: Floats, cpu: Floats, memory: Floats, model: list[str], count: Floats | int = 1
) -> Table:
    return {
        "name": [
            f"{g:.0f} x {m or 'GPU'}, {c:g} cores" if g else f"{c:g} cores"
            for g, m, c in zip(gpu, model, cpu, strict=True)
        ],
        "count": count,
        "gpu": gpu,
        "cpu": cpu,
        "memory_gb": memory,
        "model": model,
    }


FORMATS = (
    TraceFormat("Alibaba GPU v2020 machines", PAI, implied=("machine",), more=_pai),
    TraceFormat("Alibaba spot GPU v2026 nodes", SPOT, implied=("node_name",), more=_spot),
    TraceFormat("Tiresias clusters", CLUSTER, more=_clusters),
)
