"""How long A_online takes for all its decisions online.

    python benchmarks/completion_online.py        (about a minute)

A time is the sum over all decisions of a run, the least of some runs; compiled code is warm. What
is computed beforehand from the whole instance (F, lambda) is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from bench import Benchmark, Row, Summary, Target, median, parse, parser
from render import number

from optsched.core import simulate
from optsched.families.completion.policies.paper import AOnline
from optsched.families.completion.sources.presets import generate

JOBS = (100, 200)
GOALS = {100: (0.3, 0.1), 200: (1.0, 0.4)}
METHODS = {
    "a_online": "`AOnline()`: Algorithms 1 to 3, the exact oracle (the paper reports up to 2 min)",
    "a_online-density": '`AOnline(order="density")`: jobs by weight per share of the cluster, no '
    "rejection; not the paper's",
}


def warm_up() -> None:
    """Compile everything."""
    for policy in (AOnline(), AOnline(order="density")):
        simulate(generate("small", seed=0), policy)


def measure(cell: Row) -> Row:
    """Run both on one instance."""
    inst = generate(
        "paper",
        seed=cell["seed"],
        jobs=cell["jobs"],
        machines=cell["machines"],
        architecture=cell["architecture"],
    )
    row: Row = {}
    for policy in (AOnline(), AOnline(order="density")):
        runs = [simulate(inst, policy) for _ in range(cell["repeats"])]
        fastest = min(runs, key=lambda run: run.seconds)
        row |= {
            f"{policy.name}_seconds": fastest.seconds,
            f"{policy.name}_slowest": fastest.slowest,
            f"{policy.name}_value": fastest.value,
        }
    return row


def summarize(rows: list[Row]) -> Summary:
    """Return medians and the worst by size; the worst of a size is the figure."""
    lines, targets = [], []
    for jobs, kind, name in product(JOBS, ("ps", "ring"), METHODS):
        mine = [r for r in rows if r["jobs"] == jobs and r["architecture"] == kind]
        if mine:
            seconds = [r[f"{name}_seconds"] for r in mine]
            slowest = max(r[f"{name}_slowest"] for r in mine)
            value = median([r[f"{name}_value"] for r in mine])
            times = (median(seconds), max(seconds), slowest)
            lines.append([jobs, kind, name, len(mine), *map(number, times), number(value, ".4g")])
    for jobs in JOBS:
        seconds = [r["a_online_seconds"] for r in rows if r["jobs"] == jobs]
        must, aim = GOALS[jobs]
        what = f"all decisions of a run, {jobs} jobs, 150 servers, the slowest run"
        targets.append(Target(what, "s", max(seconds, default=None), must=must, aim=aim))
    columns = (
        "jobs",
        "architecture",
        "method",
        "runs",
        "median s",
        "worst s",
        "slowest decision s",
    )
    return Summary((*columns, "median value"), lines, tuple(targets))


BENCHMARK = Benchmark(
    "completion_online",
    "A_online",
    "How long do all decisions of a run take?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__)
    p.add_argument("--machines", type=int, default=150, help="servers")
    p.add_argument("--repeats", type=int, default=3, help="the least time of this many counts")
    options = parse(p, __file__, argv)
    cells = [
        {
            "seed": seed,
            "jobs": jobs,
            "machines": options.machines,
            "architecture": kind,
            "repeats": options.repeats,
        }
        for seed, jobs, kind in product(range(options.seeds), JOBS, ("ps", "ring"))
    ]
    warm_up()
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
