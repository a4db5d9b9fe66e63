"""Loads the reference files of family `completion` (tests/data/completion)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionJob,
    CompletionSchedule,
    Piece,
    PsType,
    WorkerType,
)
from optsched.numbers.resources import MachineClass

FOLDER = Path(__file__).parents[1] / "data" / "completion"
FILES = sorted(FOLDER.glob("*.json"))


def load(path: Path, *, enforce_horizon: bool = True) -> tuple[CompletionInstance, dict[str, Any]]:
    """Return the instance of a reference file (one class per server) and its known answers."""
    content = json.loads(path.read_text())
    raw = content["instance"]
    jobs = [
        CompletionJob(
            arrival=j["arrival"],
            weight=j["weight"],
            epochs=j["E"],
            chunks=j["D"],
            batches_per_chunk=j["K"],
            batch_time=tuple(j["v"]),
            update_time=tuple(j["U"]) if isinstance(j["U"], list) else (j["U"],),
            gradient_mb=j["pi"],
        )
        for j in raw["jobs"]
    ]
    inst = CompletionInstance(
        architecture=raw["arch"],
        slot_seconds=0.008,
        horizon=raw["T"],
        enforce_horizon=enforce_horizon,
        resources=tuple(raw["resources"]),
        servers=tuple(MachineClass(capacity=tuple(c)) for c in raw["capacity"]),
        worker_types=tuple(
            WorkerType(demand=tuple(w["e"]), bandwidth=w["b"]) for w in raw["worker_types"]
        ),
        ps_types=tuple(PsType(demand=tuple(p["z"]), bandwidth=p["B"]) for p in raw["ps_types"]),
        jobs=tuple(jobs),
    )
    return inst, content["reference"]


def schedule(raw: list[Any]) -> CompletionSchedule:
    """Return a schedule of the reference format; entries of number 0 are left out."""
    return CompletionSchedule(jobs=tuple((piece(j),) for j in raw))


def piece(raw: dict[str, Any]) -> Piece:
    """Return how one job runs."""
    return Piece(
        start=raw["start"],
        duration=raw["duration"],
        worker_type=raw["worker_type"],
        ps_type=raw["ps_type"],
        workers=tuple((h, n) for h, n in enumerate(raw["workers"]) if n),
        ps=tuple((h, n) for h, n in enumerate(raw["ps"]) if n),
    )
