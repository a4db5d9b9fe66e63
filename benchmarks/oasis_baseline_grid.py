"""The parameter grids of the OASiS baselines: which settings are the defaults, and why.

Every setting of a policy's grid runs on the same instances, whose seeds no test and no other
benchmark uses. A setting's score is the mean, over instances, of its value as a part of the best
value that any setting of the policy earned there (an instance on which none earns anything does not
count). The best score is the default; of equals, the first in the grid. FIFO and DRF have no free
parameters. Dorm solves an integer program at every decision, so its instances are small.

    python benchmarks/oasis_baseline_grid.py
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from optsched.core import simulate
from optsched.families.oasis.policies import BASELINES
from optsched.families.oasis.sources.traces import generate
from optsched.files.provenance import machine, versions

SEEDS = range(900, 903)
PRESETS = ("paper", "earnable")
SIZES = {
    "rrh": {"jobs": 60, "slots": 60, "machines": 60},
    "dorm": {"jobs": 15, "slots": 40, "machines": 50},
}
RESULT = Path(__file__).parent / "results" / "oasis_baseline_grid.json"


def settings(grid: Mapping[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Return every combination, in the order of the grid."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def scores(values: np.ndarray) -> np.ndarray:
    """Return the score of every setting; ``values`` has the shape (settings, instances)."""
    best = values.max(axis=0)
    return (values[:, best > 0] / best[best > 0]).mean(axis=1)


def tune(name: str) -> dict[str, Any]:
    """Run the grid of one policy."""
    instances = [generate(p, seed=s, **SIZES[name]) for p in PRESETS for s in SEEDS]
    tried = settings(BASELINES[name].grid)
    began = time.perf_counter()
    values = np.array(
        [[simulate(inst, BASELINES[name](**s)).value for inst in instances] for s in tried]
    )
    score = scores(values)
    best = int(np.argmax(score))
    print(
        f"{name}: best of {len(tried)} settings: {tried[best]}, score {score[best]:.3f}", flush=True
    )
    return {
        "best": tried[best],
        "seconds": round(time.perf_counter() - began, 1),
        "settings": [
            {**s, "score": round(float(x), 4), "mean_value": round(float(v.mean()), 4)}
            for s, x, v in zip(tried, score, values, strict=True)
        ],
    }


def main() -> None:
    """Run all grids and store the result."""
    result = {
        "command": "python benchmarks/oasis_baseline_grid.py",
        "machine": machine(),
        "versions": versions(),
        "instances": {"presets": PRESETS, "seeds": list(SEEDS), "sizes": SIZES},
        "policies": {name: tune(name) for name in SIZES},
    }
    RESULT.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
