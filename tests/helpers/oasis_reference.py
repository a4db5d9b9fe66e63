"""Loads the reference files of family `oasis` (tests/data/oasis) into instances and schedules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisJob, OasisSchedule
from optsched.numbers.resources import MachineClass

FOLDER = Path(__file__).parents[1] / "data" / "oasis"
FILES = sorted(FOLDER.glob("*.json"))
UTILITY = {"g1": "scale", "g2": "decay", "g3": "target"}


def load(path: Path) -> tuple[OasisInstance, dict[str, Any]]:
    """Return the instance of a reference file (one class per machine) and its known answers."""
    content = json.loads(path.read_text())
    raw = content["instance"]
    jobs = [
        OasisJob(
            arrival=j["arrival"],
            epochs=j["E"],
            chunks=j["N"],
            batches_per_chunk=j["M"],
            batch_time=j["tau"],
            gradient_mb=j["e"],
            worker_bandwidth=j["b"],
            ps_bandwidth=j["B"],
            worker_demand=tuple(j["w"]),
            ps_demand=tuple(j["s"]),
            utility={UTILITY.get(k, k): v for k, v in j["utility"].items()},
        )
        for j in raw["jobs"]
    ]
    inst = OasisInstance(
        slot_seconds=0.008,
        horizon=raw["T"],
        resources=tuple(raw["resources"]),
        worker_machines=tuple(MachineClass(capacity=tuple(c)) for c in raw["worker_capacity"]),
        ps_machines=tuple(MachineClass(capacity=tuple(c)) for c in raw["ps_capacity"]),
        jobs=tuple(jobs),
    )
    return inst, content["reference"]


def schedule(raw: list[Any]) -> OasisSchedule:
    """Return a schedule of the reference format; entries of number 0 are left out."""
    return OasisSchedule(
        jobs=tuple(
            None
            if j is None
            else JobSchedule(
                workers=tuple(tuple(e) for e in j["workers"] if e[2]),
                ps=tuple(tuple(e) for e in j["ps"] if e[2]),
            )
            for j in raw
        )
    )
