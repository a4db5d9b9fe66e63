"""Certified gaps at the size of the thesis.

python benchmarks/dmlrs_large.py        (about 25 minutes)
"""

from __future__ import annotations

from collections.abc import Sequence

from bench import Benchmark, Row, Summary, Target, finite, median, parse, parser
from render import number

from optsched.core import simulate, solve
from optsched.families.dmlrs.sources.presets import generate

SIZES = ((50, 12), (200, 50))  # jobs, machines
MUST = {(50, 12): (0.03, 0.015), (200, 50): (0.06, 0.03)}
METHODS = {"auto": "search, column generation from its columns, search at the prices found"}


def measure(cell: Row) -> Row:
    """Solve one instance; run PD-ORS for comparison."""
    inst = generate("paper", seed=cell["seed"], jobs=cell["jobs"], machines=cell["machines"])
    found = solve(inst, time_limit=cell["time_limit"])
    return {
        "value": found.value,
        "bound": found.bound,
        "level": found.bound_level,
        "gap": finite(found.gap),
        "seconds": found.seconds,
        "pd_ors": simulate(inst, "pd-ors").value,
    }


def summarize(rows: list[Row]) -> Summary:
    """Return gaps by size."""
    lines, targets = [], []
    for jobs, machines in SIZES:
        mine = [r for r in rows if (r["jobs"], r["machines"]) == (jobs, machines)]
        gaps = [r["gap"] for r in mine]
        middle = median(gaps) if gaps else None
        must, aim = MUST[jobs, machines]
        what = f"certified gap, {jobs} jobs on {machines} machines, median"
        targets.append(Target(what, "", middle, must=must, aim=aim))
        if not mine:
            continue
        ratio = median([r["value"] / max(r["pd_ors"], 1e-12) for r in mine])
        lines.append(
            [jobs, machines, len(mine), f"{middle:.2%}", f"{max(gaps):.2%}", number(ratio)]
        )
    return Summary(
        ("jobs", "machines", "instances", "median gap", "worst gap", "best known / PD-ORS"),
        lines,
        tuple(targets),
    )


BENCHMARK = Benchmark(
    "dmlrs_large",
    "DMLRS, certified gaps",
    "How close do schedule and bound come in a minute?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=10)
    p.add_argument("--time-limit", type=float, default=60.0, help="seconds per solve")
    options = parse(p, __file__, argv)
    cells = [
        {"jobs": n, "machines": m, "seed": seed, "time_limit": options.time_limit}
        for n, m in SIZES
        for seed in range(options.seeds)
    ]
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
