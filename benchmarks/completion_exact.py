"""How often the optimum is proved, versus CP-SAT and HiGHS alone.

    python benchmarks/completion_exact.py        (about 40 minutes)

Instances of preset `mid`: 10 jobs on 4 to 8 servers, 15 jobs on 6 to 8 servers. Closed means a
relative gap of at most 1e-6 between the judge's value and a bound. Certified counts only bounds
whose certificate has been re-evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench import Benchmark, Row, Summary, Target, finite, parse, parser
from render import number, percent

from optsched.core import solve
from optsched.engine.interval import CLOSED
from optsched.families.completion import FAMILY
from optsched.families.completion.sources.presets import generate

SIZES = {10: (20, (4, 6, 8)), 15: (30, (6, 7, 8))}  # jobs: slots, servers
LIMITS = {10: 30.0, 15: 90.0}
METHODS = {
    "auto": "column generation by class of servers, neighborhood search, dynamic program over "
    "time; one thread",
    "cpsat": "CP-SAT alone: optional modes, one interval per job, cumulative servers; one thread",
    "compact": "HiGHS alone: the time-indexed program (2), its making counts; one thread",
}


def measure(cell: Row) -> Row:
    """Solve one instance by one method."""
    inst = generate(
        "mid",
        seed=cell["seed"],
        jobs=cell["jobs"],
        machines=cell["machines"],
        slots=cell["slots"],
    )
    found = solve(inst, method=cell["method"], time_limit=cell["time_limit"], check="claimed")
    sure = None if found.certificate is None else FAMILY.check(inst, found.certificate)
    certified = FAMILY.gap(inst, found.value, sure)
    return {
        "value": found.value,
        "bound": found.bound,
        "gap": finite(found.gap),
        "closed": found.status.closed,
        "certified_bound": sure,
        "certified_gap": certified,
        "certified": certified is not None and certified <= CLOSED,
        "seconds": found.seconds,
    }


def summarize(rows: list[Row]) -> Summary:
    """Return the share that is closed by size and method."""
    lines, targets = [], []
    for jobs in SIZES:
        for method in METHODS:
            mine = [r for r in rows if r["jobs"] == jobs and r["method"] == method]
            if not mine:
                continue
            gaps = [r["gap"] for r in mine if r["gap"] is not None]
            sure = sum(r["certified"] for r in mine) / len(mine)
            worst = max(gaps) if len(gaps) == len(mine) else None
            mean = sum(r["seconds"] for r in mine) / len(mine)
            share = sum(r["closed"] for r in mine) / len(mine)
            figures = (percent(share), percent(sure), percent(worst), number(mean))
            lines.append([jobs, method, len(mine), *figures])
            if method == "auto":
                what = f"{jobs} jobs: closed within {LIMITS[jobs]:g} s"
                targets.append(Target(what, "%", share, must=0.9, aim=1.0, at_least=True))
                what = f"{jobs} jobs: certified within {LIMITS[jobs]:g} s"
                targets.append(Target(what, "%", sure))
    columns = ("jobs", "method", "instances", "closed", "certified", "largest gap", "mean s")
    return Summary(columns, lines, tuple(targets))


BENCHMARK = Benchmark(
    "completion_exact",
    "Optima of family completion",
    "How often is the optimum proved?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__)
    p.add_argument("--methods", nargs="+", default=list(METHODS))
    p.add_argument("--alone", type=int, default=3, help="instances of the methods alone, per size")
    p.add_argument("--alone-limit", type=float, default=60.0, help="seconds of these")
    options = parse(p, __file__, argv)
    cells = []
    for jobs, (slots, machines) in SIZES.items():
        for method in options.methods:
            for seed in range(options.seeds if method == "auto" else options.alone):
                limit = LIMITS[jobs] if method == "auto" else options.alone_limit
                size = {"jobs": jobs, "slots": slots, "machines": machines[seed % len(machines)]}
                cells.append({"seed": seed, **size, "method": method, "time_limit": limit})
    for method in METHODS:
        solve(generate("small", seed=0), method=method, time_limit=5.0)
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
