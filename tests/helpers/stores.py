"""Stores of campaigns that nobody has run: rows as they are requested."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from optsched.experiments.store import CellRow, CellState, Store, StoredOptimum
from optsched.problem import Level

REFERENCE = {"check": "certified", "effort": 100.0, "gap": 1e-6, "method": "auto", "seed": 0}
REFERENCE |= {"time_limit": None}
VERSIONS = {"optsched": "0.1.0", "python": "3.11.7"}


def made_up(
    path: Path,
    policies: Sequence[str],
    instances: int,
    *,
    opened: int = 0,
    name: str = "made up",
    preset: str = "small",
) -> Path:
    """Write a store of oasis: ratios above 1, this many optima open, one error and one infinity.

    The first policy fails on the last instance, and earns nothing on the one before.
    """
    plan = {
        "name": name,
        "instances": [{"family": "oasis", "preset": preset, "seeds": list(range(instances))}],
        "policies": [{"name": policy} for policy in policies],
        "reference": {"effort": 100.0},
    }
    source = {"family": "oasis", "parameters": {"preset": preset}}
    ratios = 1 + np.random.default_rng(1).exponential(0.4, (instances, len(policies)))
    with Store.create(path) as store, store.batch():
        store.state(plan=json.dumps(plan), cells=str(instances * len(policies)))
        for i in range(instances):
            key = hashlib.sha256(str(i).encode()).digest()
            number = store.instance(key[:16], source, i, key)
            end = 12.0 if i < opened else 10.0
            found = StoredOptimum(
                key,
                *(
                    CellState.LIMIT if i < opened else CellState.DONE,
                    10.0,
                    end,
                    Level.CERTIFIED,
                    end,
                ),
                effort=5.0,
            )
            store.add_best(key[:16], found, reference=REFERENCE, versions=VERSIONS)
            for k, policy in enumerate(policies):
                low = float(ratios[i, k])
                row = CellRow(
                    key, CellState.DONE, 10 / low, 10 / low, low, low * end / 10, seconds=0.1 * k
                )
                if k == 0 and i == instances - 2:
                    row = CellRow(key, CellState.DONE, 0.0, 0.0, float("inf"), float("inf"))
                if k == 0 and i == instances - 1:
                    row = CellRow(key, CellState.ERROR, message="it <b>failed</b>")
                store.add_row(
                    hashlib.sha256(f"{i} {k}".encode()).digest()[:16],
                    row,
                    instance=number,
                    reference=REFERENCE,
                    policy={"policy": policy},
                    replication=0,
                    seed=i,
                    versions=VERSIONS,
                )
    return path
