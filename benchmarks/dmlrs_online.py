"""How long PD-ORS takes: for one slot, for one job, for a run.

    python benchmarks/dmlrs_online.py        (about two minutes)

Placements of one slot are priced for all numbers of workers at once, on machines of which each has
its own price and is in use by up to half, and next to it Algorithm 4 is requested the same numbers
(linear relaxation and randomized rounding, at most 200 roundings each). A run's time is the sum
over all decisions; compiled code is warm.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from bench import Benchmark, Row, Summary, Target, median, parse, parser
from render import number

from optsched.core import simulate
from optsched.families.dmlrs.oracle.request import NOTHING_KEPT, Scratch, requests
from optsched.families.dmlrs.oracle.slot_placements import open_slot
from optsched.families.dmlrs.policies.paper import PdOrs
from optsched.families.dmlrs.policies.rounding import (
    PlacementRelaxation,
    SlotProblem,
    round_until_feasible,
)
from optsched.families.dmlrs.sources.presets import generate
from optsched.scheduling.oracle.schedule import PricedMachines

RATIOS = (40.0, 5.0, 2.0, 1.0)
METHODS = {
    "exact": "`open_slot`, `PdOrs()`: dynamic programs over machines and labels over slots",
    "Algorithm 4": "HiGHS on (3.22) without integrality, one warm program per slot, then at most "
    "200 randomized roundings with G = 1.006, for every number of workers",
}


class TimedPdOrs(PdOrs):
    """PD-ORS that notes how long every search for a schedule takes."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def find(self, *job):  # type: ignore[no-untyped-def]
        """Find the best schedule of a job."""
        began = time.perf_counter()
        found = super().find(*job)
        self.times.append(time.perf_counter() - began)
        return found


def measure(cell: Row) -> Row:
    """Time one slot for every job, then a run."""
    inst = generate("paper", seed=cell["seed"], jobs=cell["jobs"], ratio=cell["ratio"])
    rng = np.random.default_rng(cell["seed"])
    used = 0.5 * rng.random((1, len(inst.capacity)))
    free = np.floor(inst.arrays.capacity.T * (1 - used)).copy()
    price = np.exp(10 * used) * rng.random(free.shape) / np.maximum(inst.arrays.capacity.T, 1)
    cluster = PricedMachines(price[None], free[None], np.ones(len(inst.capacity), np.int64))
    scratch = Scratch.empty(len(inst.capacity), 20)
    slots, linear = [], []
    for i, q in enumerate(requests(inst)):
        times = []
        for _ in range(3):
            began = time.perf_counter()
            open_slot(0, q, cluster, q.most_inner, q.most_outer, scratch, NOTHING_KEPT)
            times.append(time.perf_counter() - began)
        slots.append(min(times))
        if i < 5:
            began = time.perf_counter()
            problem = SlotProblem.of(q, price, free)
            relaxation = PlacementRelaxation(problem)
            for n in range(1, q.most_outer + 1):
                found = relaxation.solve(n)
                if found is not None:
                    round_until_feasible(problem, found, n, 1.006, 200, rng)
            linear.append(time.perf_counter() - began)
    policy = TimedPdOrs()
    run = simulate(inst, policy)
    return {
        "slot_ms": [1e3 * x for x in slots],
        "algorithm4_slot_ms": [1e3 * x for x in linear],
        "job_ms": [1e3 * x for x in policy.times],
        "run_seconds": run.seconds,
        "value": run.value,
    }


def summarize(rows: list[Row]) -> Summary:
    """Return quantiles by ratio and number of jobs."""
    lines, slot = [], {}
    jobs: list[float] = []
    runs = [row["run_seconds"] for row in rows if row["jobs"] == 200]
    for ratio in dict.fromkeys(row["ratio"] for row in rows):
        mine = [row for row in rows if row["ratio"] == ratio]
        slots = [x for row in mine for x in row["slot_ms"]]
        linear = [x for row in mine for x in row["algorithm4_slot_ms"]]
        found = [x for row in mine for x in row["job_ms"]]
        jobs += found
        slot[ratio] = float(np.quantile(slots, 0.99))
        figures = (median(slots), slot[ratio], median(linear), median(found), max(found))
        lines.append([f"{ratio:g}", len(mine), *(number(x) for x in figures)])
    return Summary(
        (
            *("ratio", "runs", "slot median ms", "slot p99 ms", "Algorithm 4 slot median ms"),
            *("job median ms", "job worst ms"),
        ),
        lines,
        (
            Target("one slot, ratio 40, p99", "ms", slot.get(40.0), must=0.05, aim=0.03),
            Target("one slot, ratio 1, p99", "ms", slot.get(1.0), must=0.25, aim=0.15),
            Target("one job, median", "ms", median(jobs) if jobs else None, must=1.5, aim=1.0),
            Target("one job, worst", "ms", max(jobs, default=None), must=50.0, aim=20.0),
            Target("run of 200 jobs, worst", "s", max(runs, default=None), must=1.0, aim=0.5),
        ),
    )


BENCHMARK = Benchmark(
    "dmlrs_online",
    "PD-ORS online",
    "How long do placements of a slot, schedules of a job, and all decisions of a run take?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=3)
    options = parse(p, __file__, argv)
    cells = [
        {"jobs": jobs, "ratio": ratio, "seed": seed}
        for jobs in (50, 200)
        for ratio in RATIOS
        for seed in range(options.seeds)
    ]
    simulate(generate("small", seed=0), "pd-ors")
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
