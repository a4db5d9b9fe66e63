"""The machines of a trace: who hosts what, and how many of them give an offered load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optsched.families.oasis.presets import NIC
from optsched.problem import InputError
from optsched.resources import MachineClass
from optsched.streams import Streams

MOST_MACHINES = 100_000

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


def host_classes(
    table: pd.DataFrame, streams: Streams
) -> tuple[list[MachineClass], list[MachineClass], tuple[str, ...]]:
    """Return the classes that host workers, those that host PS, and what was drawn of them."""
    workers, servers = table[table["gpu"] > 0], table[table["gpu"] == 0]
    drawn: tuple[str, ...] = ()
    if not len(workers):
        workers = servers
    if not len(servers):
        servers = MACHINES[MACHINES["gpu"] == 0]
        drawn += ("ps_machines",)
    if workers["nic_gbps"].isna().any() or servers["nic_gbps"].isna().any():
        drawn += ("bandwidth of the machines",)
    return _classes(workers, streams, "worker nic"), _classes(servers, streams, "ps nic"), drawn


def _classes(table: pd.DataFrame, streams: Streams, stream: str) -> list[MachineClass]:
    nic = [
        float(streams(stream, c).integers(*NIC, endpoint=True)) if math.isnan(x) else float(x)
        for c, x in enumerate(table["nic_gbps"])
    ]
    rows = zip(
        *(table[name] for name in ("name", "count", "gpu", "cpu", "memory_gb")), nic, strict=True
    )
    return [
        MachineClass(
            name=str(name), count=int(count), capacity=(*(round(float(x), 3) for x in amounts),)
        )
        for name, count, *amounts in rows
    ]


def scaled(
    classes: Sequence[MachineClass],
    total: Sequence[Fraction],
    slots: int,
    load: float,
    *,
    nearest: bool,
) -> tuple[MachineClass, ...]:
    """Return as few machines, in the proportions of ``classes``, as bring the load to ``load``.

    With ``nearest``, one machine fewer if that comes nearer (as a ratio).
    """
    weights = np.array([c.count for c in classes])
    capacity = np.array([c.capacity for c in classes], dtype=np.float64)  # (C, R)
    need = np.array([float(t) for t in total]) / slots  # (R,)
    need[capacity.sum(axis=0) == 0] = 0.0  # no number of machines would do

    def load_of(number: int) -> float:
        have = _apportioned(weights, number) @ capacity
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.where(need > 0, need / have, 0.0).max())

    mean = weights @ capacity / weights.sum()
    ideal = float(np.divide(need, mean * load, out=np.zeros_like(need), where=need > 0).max())
    if ideal > MOST_MACHINES:
        raise InputError(
            f"load {load:g} asks for {ideal:.0f} machines, expected at most {MOST_MACHINES}; raise "
            "the load"
        )
    number = max(1, math.floor(ideal) - len(classes))
    while load_of(number) > load:
        number += 1
    if nearest and number > 1 and load_of(number - 1) / load < load / load_of(number):
        number -= 1
    return tuple(
        c.model_copy(update={"count": int(n)})
        for c, n in zip(classes, _apportioned(weights, number), strict=True)
        if n
    )


def _apportioned(weights: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Split ``number`` in the proportions of ``weights``: largest remainder, ties to the first."""
    shares: NDArray[np.int64] = weights * number // weights.sum()
    rest = weights * number % weights.sum()
    first = np.argsort(-rest, kind="stable")[: number - int(shares.sum())]
    shares[first] += 1
    return shares
