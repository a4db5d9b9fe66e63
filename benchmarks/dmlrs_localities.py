"""What Fact 1 of the thesis changes: the optima of both readings of locality, side by side.

    python benchmarks/dmlrs_localities.py        (about five minutes)

Small instances, whose rates differ by the factor ``ratio``; both programs are solved by HiGHS.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench import Benchmark, Row, Summary, parse, parser
from render import number

from optsched.core import solve
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.sources.presets import generate

RATIOS = (1.0, 2.0, 5.0, 40.0)
METHODS = {
    "job": "`dmlrs_job_ilp`: inner rate if and only if the whole job sits on one machine",
    "link": "`dmlrs_link_ilp`: (3.1) and (3.4) link by link, as printed",
}
SAME = 1e-6


def measure(cell: Row) -> Row:
    """Solve both programs."""
    inst = generate("small", seed=cell["seed"], jobs=4, slots=4, machines=3, ratio=cell["ratio"])
    row: Row = {}
    for locality in METHODS:
        read = DmlrsInstance.model_validate(inst.model_dump() | {"locality": locality})
        found = solve(read, method="compact", time_limit=cell["time_limit"])
        row |= {f"{locality}_value": found.value, f"{locality}_bound": found.bound}
    return row


def _proved(row: Row, locality: str) -> bool:
    value, bound = row[f"{locality}_value"], row[f"{locality}_bound"]
    return bool(bound - value <= SAME * max(1.0, value))


def summarize(rows: list[Row]) -> Summary:
    """Return by ratio how often either optimum is the larger one."""
    lines = []
    for ratio in dict.fromkeys(row["ratio"] for row in rows):
        mine = [r for r in rows if r["ratio"] == ratio and all(_proved(r, x) for x in METHODS)]
        values = [(r["job_value"], r["link_value"]) for r in mine]
        more = sum(job > link * (1 + SAME) for job, link in values)
        less = sum(link > job * (1 + SAME) for job, link in values)
        change = [link / job - 1 for job, link in values if job > 0]
        lines.append(
            [
                f"{ratio:g}",
                len(mine),
                more,
                less,
                *(number(sum(v[k] for v in values) / max(1, len(values))) for k in (0, 1)),
                f"{min(change, default=0.0):+.1%} to {max(change, default=0.0):+.1%}",
            ]
        )
    return Summary(
        (
            *("ratio", "both proved", '"job" larger', '"link" larger'),
            *('mean "job"', 'mean "link"', '"link" over "job"'),
        ),
        lines,
    )


BENCHMARK = Benchmark(
    "dmlrs_localities",
    "DMLRS, both readings of locality",
    "What does it change that the inner rate needs everything on one machine?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=10)
    p.add_argument("--time-limit", type=float, default=20.0, help="seconds per solve")
    options = parse(p, __file__, argv)
    cells = [
        {"ratio": ratio, "seed": seed, "time_limit": options.time_limit}
        for ratio in RATIOS
        for seed in range(options.seeds)
    ]
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
