"""The certified gap at 100 jobs, and how soon the bound is near that of the linear program.

    python benchmarks/completion_large.py        (about 25 minutes)

Preset `paper`, 150 and 50 servers, as late as need be. The bound is certified; the last bound of a
run stands for the linear program.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from bench import Benchmark, Row, Summary, Target, median, parse, parser
from render import number, percent

from optsched.families.completion.presets import generate
from optsched.optimum import solve

GOALS = {150: (0.035, 0.015), 50: (0.13, 0.07)}
NEAR = 0.01
METHODS = {
    "auto": "column generation on grids of 16 and 4 slots, then a neighbourhood search per thread",
    "cpsat": 'CP-SAT alone (`method="cpsat"`), as many threads (two by default)',
}


def measure(cell: Row) -> Row:
    """Solve one instance."""
    inst = generate("paper", seed=cell["seed"], jobs=cell["jobs"], machines=cell["machines"])
    level = "certified" if cell["method"] == "auto" else "claimed"
    found = solve(
        inst,
        method=cell["method"],
        time_limit=cell["time_limit"],
        threads=cell["threads"],
        check=level,
    )
    last = found.bound
    near = None
    if last is not None:
        near = next(
            (p.seconds for p in found.history if p.bound and p.bound >= last * (1 - NEAR)), None
        )
    return {
        "value": found.value,
        "bound": last,
        "gap": found.gap,
        "near_seconds": near,
        "seconds": found.seconds,
    }


def summarize(rows: list[Row]) -> Summary:
    """Return gaps by size and method; the mean is the figure."""
    lines, targets = [], []
    for machines, method in product(dict.fromkeys(r["machines"] for r in rows), METHODS):
        mine = [r for r in rows if r["machines"] == machines and r["method"] == method]
        if not mine:
            continue
        gaps = [r["gap"] for r in mine if r["gap"] is not None]
        mean = sum(gaps) / len(gaps) if gaps else None
        near = [r["near_seconds"] for r in mine if r["near_seconds"] is not None]
        worst = max(gaps, default=None)
        figures = (percent(mean), percent(worst), number(median(near)))
        lines.append([machines, method, len(mine), len(gaps), *figures])
        if method == "auto" and machines in GOALS:
            must, aim = GOALS[machines]
            what = f"mean certified gap, {machines} servers"
            targets.append(Target(what, "%", mean, must=must, aim=aim))
            what = f"bound within 1 % of the last, {machines} servers, the slowest run"
            targets.append(Target(what, "s", max(near, default=None), must=10.0, aim=3.0))
    columns = ("servers", "method", "instances", "with a schedule", "mean gap", "largest gap")
    return Summary((*columns, "median s to 1 %"), lines, tuple(targets))


BENCHMARK = Benchmark(
    "completion_large",
    "Family completion at 100 jobs",
    "How close do value and certified bound come?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, time_limit=60.0)
    p.add_argument("--jobs", type=int, default=100)
    p.add_argument("--machines", type=int, nargs="+", default=[150, 50], help="servers")
    p.add_argument("--alone", type=int, default=1, help="instances of CP-SAT alone")
    p.add_argument("--alone-limit", type=float, default=120.0, help="seconds of these")
    p.add_argument("--threads", type=int, default=2, help="of either method")
    options = parse(p, __file__, argv)
    cells = []
    for machines, method in product(options.machines, METHODS):
        for seed in range(options.seeds if method == "auto" else options.alone):
            limit = options.time_limit if method == "auto" else options.alone_limit
            size = {"jobs": options.jobs, "machines": machines}
            how = {"method": method, "time_limit": limit, "threads": options.threads}
            cells.append({"seed": seed, **size, **how})
    solve(generate("small", seed=0), method="auto", time_limit=5.0, threads=options.threads)
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
