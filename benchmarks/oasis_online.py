"""How long OASiS takes for all its decisions online.

    python benchmarks/oasis_online.py        (about a minute)

A time is the sum over all decisions of a run, the least of some runs; compiled code is warm.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from bench import Benchmark, Row, Summary, Target, add_sizes, median, parse, parser, sizes
from render import number

from optsched.core import simulate
from optsched.families.oasis.policies.paper import Oasis
from optsched.families.oasis.sources.traces import generate

GRANULARITIES = ("exact", "chunk")
METHODS = {
    "exact": "`Oasis()`: a slot does worker-slots",
    "chunk": '`Oasis(granularity="chunk")`: the paper\'s Algorithm 2, a slot does whole chunks '
    "(the paper reports < 1 s per job)",
}


def warm_up() -> None:
    """Compile everything."""
    inst = generate("small", seed=0)
    for granularity in GRANULARITIES:
        simulate(inst, Oasis(granularity=granularity))


def measure(cell: Row) -> Row:
    """Run both on one instance."""
    inst = generate(cell["preset"], seed=cell["seed"], **sizes(cell))
    row: Row = {}
    for name in GRANULARITIES:
        runs = [simulate(inst, Oasis(granularity=name)) for _ in range(cell["repeats"])]
        fastest = min(runs, key=lambda run: run.seconds)
        row |= {
            f"{name}_seconds": fastest.seconds,
            f"{name}_slowest": fastest.slowest,
            f"{name}_value": fastest.value,
            f"{name}_completed": sum(c is not None for c in fastest.completion),
        }
    return row


def summarize(rows: list[Row]) -> Summary:
    """Return medians and the worst by preset; the worst of all is the figure."""
    if not rows:
        return Summary((), ())
    lines = []
    for preset, name in product(dict.fromkeys(row["preset"] for row in rows), GRANULARITIES):
        mine = [row for row in rows if row["preset"] == preset]
        seconds = [row[f"{name}_seconds"] for row in mine]
        slowest = max(row[f"{name}_slowest"] for row in mine)
        value = median([row[f"{name}_value"] for row in mine])
        times = (median(seconds), max(seconds), 1e3 * slowest)
        lines.append([preset, name, len(mine), *map(number, times), number(value, ".4g")])
    worst = max(row["exact_seconds"] for row in rows)
    return Summary(
        ("preset", "method", "runs", "median s", "worst s", "slowest decision ms", "median value"),
        lines,
        (Target("all decisions of a run, the slowest run", "s", worst, must=0.2, aim=0.1),),
    )


BENCHMARK = Benchmark(
    "oasis_online",
    "OASiS online",
    "How long do all decisions of a run take?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__)
    add_sizes(p, jobs=100, slots=100, machines=100)
    p.add_argument("--repeats", type=int, default=3, help="the least time of this many counts")
    options = parse(p, __file__, argv)
    cells = [
        {
            "preset": preset,
            "seed": seed,
            **sizes(options),
            "repeats": options.repeats,
        }
        for seed, preset in product(range(options.seeds), options.presets)
    ]
    warm_up()
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
