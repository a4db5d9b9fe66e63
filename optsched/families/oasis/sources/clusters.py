"""The machines of a trace: who hosts what."""

from __future__ import annotations

import math

import pandas as pd

from optsched.families.oasis.sources.presets import NIC
from optsched.numbers.resources import MachineClass
from optsched.numbers.streams import Streams
from optsched.scheduling.shapes import MACHINES
from optsched.traces.windows import classes_of


def host_classes(
    table: pd.DataFrame, streams: Streams
) -> tuple[tuple[MachineClass, ...], tuple[MachineClass, ...], tuple[str, ...]]:
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


def _classes(table: pd.DataFrame, streams: Streams, stream: str) -> tuple[MachineClass, ...]:
    nic = [
        float(streams(stream, c).integers(*NIC, endpoint=True)) if math.isnan(x) else float(x)
        for c, x in enumerate(table["nic_gbps"])
    ]
    return classes_of(table.assign(nic_gbps=nic), ("gpu", "cpu", "memory_gb", "nic_gbps"))
