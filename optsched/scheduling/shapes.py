"""Demands of workers and parameter servers, drawn where a trace does not record them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from optsched.numbers.resources import MachineClass
from optsched.numbers.streams import Streams

WORKER_SHAPES = pd.DataFrame(
    [(1, 4, 16), (1, 6, 24), (1, 8, 32), (1, 10, 40), (1, 12, 48), (1, 16, 64)],
    columns=["gpu", "cpu", "memory_gb"],
    dtype=float,
)
"""Demand of a worker in addition to its GPU."""

PS_SHAPES = pd.DataFrame(
    [(0, 2, 8), (0, 4, 16), (0, 8, 16), (0, 8, 32), (0, 12, 48)],
    columns=["gpu", "cpu", "memory_gb"],
    dtype=float,
)
"""Demand of a parameter server."""

MACHINES = pd.DataFrame(
    [
        ("8 GPU, 96 cores", 3, 8, 96, 512),
        ("4 GPU, 48 cores", 3, 4, 48, 256),
        ("2 GPU, 32 cores", 2, 2, 32, 128),
        ("64 cores, 256 GB", 2, 0, 64, 256),
        ("32 cores, 128 GB", 2, 0, 32, 128),
    ],
    columns=["name", "count", "gpu", "cpu", "memory_gb"],
).assign(nic_gbps=np.nan)
"""The machines of a trace that comes without a list of machines."""


Shape = tuple[float, float, float]  # GPUs, cores, GB


class Shapes:
    """Fills the gaps in GPUs, cores and GB of memory.

    Parameters
    ----------
    streams : Streams
        Of the attributes "worker_demand" and "ps_demand".
    pool : DataFrame, optional
        Columns gpu, cpu, memory_gb: shapes to draw from (rows without GPU: of parameter servers).
    """

    def __init__(self, streams: Streams, pool: pd.DataFrame | None) -> None:
        self.streams, self.pool = streams, pool
        self._known: dict[tuple[bool, float | None], list[Shape]] = {}

    def workers(
        self, window: pd.DataFrame, machines: Sequence[MachineClass]
    ) -> list[tuple[float, ...]]:
        """Fill the gaps (NaN) in what a worker of each job of a window requests.

        The shape is scaled down until it fits on some machine. It has as many GPUs as the worker
        if there is one such. Memory goes with the cores, where these are known.
        """
        requested = [_with_gaps(window[name]) for name in ("gpu", "cpu", "memory_gb")]
        pools = {gpu: self._shapes(math.nan if gpu is None else gpu) for gpu in set(requested[0])}
        last = np.array([len(pools[gpu]) - 1 for gpu in requested[0]], dtype=np.int64)
        picked = self.streams.wholes("worker_demand", range(len(window)), 0, last).tolist()
        known: dict[tuple[Any, ...], tuple[float, ...]] = {}  # jobs of a trace are much alike
        found = []
        for key in zip(*requested, picked, strict=True):
            if key not in known:
                gpu, cpu, memory = (math.nan if x is None else x for x in key[:3])
                known[key] = _filled(gpu, cpu, memory, pools[key[0]][key[3]], machines)
            found.append(known[key])
        return found

    def servers(self, jobs: int, machines: Sequence[MachineClass]) -> list[tuple[float, ...]]:
        """Draw what a parameter server of each job requests, made to fit on some machine."""
        fitted = [
            (0.0, *(round(x, 3) for x in _fitted(0.0, cpu, memory, machines)))
            for _, cpu, memory in self._shapes(None)
        ]
        picked = self.streams.wholes("ps_demand", range(jobs), 0, len(fitted) - 1)
        return [fitted[k] for k in picked.tolist()]

    def _shapes(self, gpu: float | None) -> list[Shape]:
        """Return what a worker with this many GPUs (NaN: not known) may request, or (None) a PS."""
        kind = (gpu is not None, None if gpu is None or math.isnan(gpu) else gpu)
        if kind not in self._known:
            pool = self._of_kind(PS_SHAPES if gpu is None else WORKER_SHAPES, with_gpu=bool(gpu))
            alike = pool[pool["gpu"] == gpu]
            rows = alike if gpu is not None and len(alike) else pool
            self._known[kind] = [
                (float(g), float(c), float(m)) for g, c, m in rows.itertuples(index=False)
            ]
        return self._known[kind]

    def _of_kind(self, default: pd.DataFrame, *, with_gpu: bool) -> pd.DataFrame:
        """Return the shapes with (or without) GPUs, the default ones if there are none."""
        if self.pool is not None:
            rows = self.pool[["gpu", "cpu", "memory_gb"]].dropna()
            rows = rows[((rows["gpu"] > 0) == with_gpu) & (rows["cpu"] > 0)]
            if len(rows):
                return rows
        return default


def drawn_demands(window: pd.DataFrame) -> list[str]:
    """Name the demands of workers that are drawn for some job of a trace."""
    names = {"gpu": "gpu", "cpu": "cpu", "memory_gb": "memory"}
    return [
        f"worker_demand of {name}" for column, name in names.items() if window[column].isna().any()
    ]


def _with_gaps(column: pd.Series[Any]) -> list[float | None]:
    """Return the numbers of a column, None where there is none: unlike NaN, it equals itself."""
    return [None if math.isnan(x) else x for x in column.to_numpy(dtype=np.float64).tolist()]


def _filled(
    gpu: float, cpu: float, memory: float, shape: Shape, machines: Sequence[MachineClass]
) -> tuple[float, ...]:
    """Fill the gaps (NaN) in what a worker requests as ``shape`` has it."""
    if not any(map(math.isnan, (gpu, cpu, memory))):
        return round(gpu, 3), round(cpu, 3), round(memory, 3)
    gpu = shape[0] if math.isnan(gpu) else gpu
    if math.isnan(cpu):
        cpu, shape_memory = _fitted(gpu, *shape[1:], machines)
    else:
        densest = max(c.capacity[2] / c.capacity[1] for c in machines)
        shape_memory = cpu * min(shape[2] / shape[1], densest)
    memory = shape_memory if math.isnan(memory) else memory
    return round(gpu, 3), round(cpu, 3), round(memory, 3)


def _fitted(
    gpu: float, cpu: float, memory: float, machines: Sequence[MachineClass]
) -> tuple[float, float]:
    """Scale cores and memory down until the demand fits on a machine that has the GPUs."""
    shrink = [
        min(1.0, c.capacity[1] / cpu, c.capacity[2] / memory if memory else 1.0)
        for c in machines
        if c.capacity[0] >= gpu
    ]
    scale = max(shrink, default=1.0)
    return scale * cpu, scale * memory
