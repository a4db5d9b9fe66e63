"""Small instances with known answers, converted to the package's own format.

Each file of tests/data/dmlrs holds an instance and what programs that share nothing with the
package found for it, in both readings of locality.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from optsched.families.dmlrs.instance import (
    DmlrsInstance,
    DmlrsJob,
    DmlrsSchedule,
    JobSchedule,
    Locality,
)
from optsched.numbers.resources import MachineClass

FILES = sorted((Path(__file__).parents[1] / "data" / "dmlrs").glob("*.json"))


def load(file: Path, locality: Locality = "job") -> tuple[DmlrsInstance, dict[str, Any]]:
    """Return the instance of a file, and its known answers."""
    content = json.loads(file.read_text())
    raw = content["instance"]
    jobs = tuple(
        DmlrsJob(
            arrival=j["arrival"],
            epochs=j["E"],
            chunks=j["K"],
            batches_per_chunk=j["M"],
            batch_time=j["tau"],
            gradient_mb=j["g"],
            inner_bandwidth=j["b_in"],
            outer_bandwidth=j["b_ex"],
            ps_bandwidth=j["B"],
            worker_demand=tuple(j["alpha"]),
            ps_demand=tuple(j["beta"]),
            utility=utility(j["utility"]),
        )
        for j in raw["jobs"]
    )
    instance = DmlrsInstance(
        slot_seconds=0.008,  # makes g / b a number of slots
        horizon=raw["T"],
        resources=tuple(raw["resources"]),
        machines=tuple(MachineClass(capacity=tuple(c)) for c in raw["capacity"]),
        locality=locality,
        jobs=jobs,
    )
    return instance, content["reference"]


def utility(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a utility in the package's terms."""
    names = {"g1": "scale", "g2": "decay", "g3": "target"}
    return {names.get(k, k): v for k, v in raw.items()}


def schedule(raw: list[dict[str, Any] | None]) -> DmlrsSchedule:
    """Return a schedule of a reference file; entries of nobody are left out."""
    return DmlrsSchedule(
        jobs=tuple(
            None if j is None else JobSchedule(workers=some(j["workers"]), ps=some(j["ps"]))
            for j in raw
        )
    )


def some(entries: list[list[int]]) -> tuple[tuple[int, int, int], ...]:
    """Return the entries [slot, machine, number] whose number is not 0."""
    return tuple((t, h, n) for t, h, n in entries if n != 0)
