"""Loads the reference files of family `bipartite` (tests/data/bipartite) into instances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.families.bipartite.instance import BipartiteInstance, Machine, Platform, Port

FOLDER = Path(__file__).parents[1] / "data" / "bipartite"
FILES = sorted(FOLDER.glob("*.json"))


def content(path: Path) -> dict[str, Any]:
    """Return a reference file as it is."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def load(path: Path) -> tuple[BipartiteInstance, dict[str, Any]]:
    """Return the instance of a reference file and its known answers."""
    raw = content(path)["instance"]
    most = np.max(raw["arrivals"], axis=0)
    inst = BipartiteInstance(
        horizon=len(raw["arrivals"]),
        resources=tuple(f"resource {k}" for k in range(raw["resources"])),
        overhead=tuple(raw["beta"]),
        ports=tuple(
            Port(request=tuple(a), most_jobs=max(1, int(j)))
            for a, j in zip(raw["request"], most, strict=True)
        ),
        machines=tuple(
            Machine(
                capacity=tuple(raw["capacity"][r]),
                ports=tuple(sorted(port for port, machine in raw["edges"] if machine == r)),
                utility=tuple(raw["utility"][r]),
            )
            for r in range(raw["instances"])
        ),
        arrivals=tuple(map(tuple, raw["arrivals"])),
    )
    return inst, content(path)["reference"]


def decision(path: Path, platform: Platform, values: Any) -> NDArray[np.float64]:
    """Turn an array by edge and resource into a decision.

    The edges are the instance's, or, where jobs are counted, the ``expanded_edges``.
    """
    found = content(path)
    edges = found["instance"]["edges"]
    if len(values) != len(edges):
        edges = found["reference"]["expanded_edges"]
    a = platform.arrays
    known = {}
    for (copy, machine), amounts in zip(edges, values, strict=True):
        for k, amount in enumerate(amounts):
            known[machine, copy, k] = amount
    return np.array([known.get(a.place(i), 0.0) for i in range(a.channels)])
