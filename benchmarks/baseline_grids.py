"""The parameter grids of the baselines, which should run at settings that are good for them.

Every setting runs on the same instances, whose seeds no test and no figure uses. Its score is the
mean, over instances, of its value as a part of the best that any setting of the policy reached
there (where less is better, the best as a part of its value; an instance on which nobody reaches
anything does not count). In addition to the default, the best setting: of equals the first. The
difference of the two has an interval, as any mean of pairs.

    python benchmarks/baseline_grids.py              (about three minutes)

The grids of family oasis are those of its policies (`oasis_baseline_grid.py`). DRF, co-location,
Tiresias and the baselines of family bot have no parameters. What only costs or takes away is in no
grid: a cost of preemption, tasks that are placed as a whole or not at all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from bench import Benchmark, Row, Summary, parse, parser

from optsched.core import simulate
from optsched.families.bipartite.policies.baselines import BinPacking, Fairness, Spreading
from optsched.families.completion.policies import baselines as completion
from optsched.families.dmlrs.policies import baselines as dmlrs
from optsched.papers.estimate import MeanEstimate
from optsched.problem import get_family

FIRST = 900  # seed
Grid = Mapping[str, tuple[Any, ...]]
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
WORKERS = (1, 2, 5, 10, 15, 20, 30)
GRIDS: Mapping[tuple[str, str], tuple[Callable[..., Any], Grid]] = {
    ("dmlrs", "fifo"): (
        dmlrs.Fifo, {"fewest_workers": (1, 5, 15, 30), "most_workers": (1, 5, 15, 30)},
    ),
    ("completion", "fifo"): (completion.Fifo, {"workers": WORKERS, "fewest": (None, 1)}),
    ("completion", "antman"): (
        completion.AntMan, {"share": (0.0, 0.25, 0.5, 0.75, 1.0), "patience": (0, 5, 20, 80)},
    ),
    ("bipartite", "fairness"): (Fairness, {"among": ("jobs", "all")}),
    ("bipartite", "binpacking"): (BinPacking, {"share": SHARES}),
    ("bipartite", "spreading"): (Spreading, {"share": SHARES}),
}  # fmt: skip
DEFAULTS: Mapping[tuple[str, str], Row] = {
    ("dmlrs", "fifo"): {"fewest_workers": 1, "most_workers": 30},
    ("completion", "fifo"): {"workers": 15, "fewest": None},
    ("completion", "antman"): {"share": 0.5, "patience": 20},
    ("bipartite", "fairness"): {"among": "jobs"},
    ("bipartite", "binpacking"): {"share": 1.0},
    ("bipartite", "spreading"): {"share": 1.0},
}
INSTANCES: Mapping[str, Mapping[str, Any]] = {
    "dmlrs": {"preset": "contended", "jobs": 50},
    "completion": {"preset": "paper", "jobs": 50, "machines": 75},
    "bipartite": {"preset": "paper", "slots": 1000},
}
LESS_IS_BETTER = {"completion"}
METHODS = {
    "instances": "; ".join(
        f"{name}: " + ", ".join(f"{k} {v}" for k, v in made.items())
        for name, made in INSTANCES.items()
    )
    + f"; seeds from {FIRST} on"
}


def settings(key: tuple[str, str]) -> list[Row]:
    """Return every combination that makes sense, in the order of the grid."""
    grid = GRIDS[key][1]
    tried = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    return [s for s in tried if s.get("fewest_workers", 0) <= s.get("most_workers", 0)]


def measure(cell: Row) -> Row:
    """Run all settings of a policy on one instance."""
    key = cell["family"], cell["policy"]
    made = dict(INSTANCES[cell["family"]])
    inst = get_family(cell["family"]).generate(made.pop("preset"), seed=cell["seed"], **made)
    policy = GRIDS[key][0]
    return {"values": [simulate(inst, policy(**s)).value for s in settings(key)]}


def scores(values: Sequence[Sequence[float]], *, less: bool) -> np.ndarray:
    """Return parts of the best, in the shape (settings, instances), of values by instance.

    >>> scores([[1.0, 2.0], [4.0, 1.0], [0.0, 0.0]], less=False).tolist()
    [[0.5, 1.0], [1.0, 0.25]]
    >>> scores([[1.0, 2.0], [4.0, 1.0]], less=True).tolist()
    [[1.0, 0.25], [0.5, 1.0]]
    """
    found = np.asarray(values, dtype=float).T
    if less:
        return found.min(axis=0) / found
    best = found.max(axis=0)
    return found[:, best > 0] / best[best > 0]


def summarize(rows: list[Row]) -> Summary:
    """Return a line per policy; all scores are stored as well."""
    lines, stored = [], {}
    for key in GRIDS:
        family, policy = key
        mine = [r["values"] for r in rows if (r["family"], r["policy"]) == key]
        if not mine:
            continue
        tried, part = settings(key), scores(mine, less=family in LESS_IS_BETTER)
        mean = part.mean(axis=1)
        best, usual = int(np.argmax(mean)), tried.index(dict(DEFAULTS[key]))
        apart = MeanEstimate.of((part[best] - part[usual]).tolist(), nothing=None)
        low, high = apart.interval or (apart.mean, apart.mean)
        lines.append(
            [family, policy, len(tried), _words(tried[usual]), f"{mean[usual]:.3f}",
             _words(tried[best]), f"{mean[best]:.3f}",
             f"{apart.mean:.3f} [{low:.3f}, {high:.3f}]", part.shape[1]]
        )  # fmt: skip
        stored[f"{family} {policy}"] = [
            {**s, "score": round(float(x), 4)} for s, x in zip(tried, mean, strict=True)
        ]
    columns = ("family", "policy", "settings", "default", "its score", "best", "its score",
               "best less default [95 %]", "instances")  # fmt: skip
    return Summary(columns, lines, figures=stored)


def _words(setting: Row) -> str:
    return ", ".join(f"{k} {v}" for k, v in setting.items())


BENCHMARK = Benchmark(
    "baseline_grids",
    "Grids of the baselines",
    "Do the baselines run at settings that are good for them?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=10)
    p.add_argument("--families", nargs="+", default=list(INSTANCES), choices=list(INSTANCES))
    options = parse(p, __file__, argv)
    cells = [
        {"family": family, "policy": policy, "seed": FIRST + k}
        for family, policy in GRIDS
        if family in options.families
        for k in range(options.seeds)
    ]
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
