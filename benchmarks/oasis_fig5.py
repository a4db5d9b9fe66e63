"""The optimum of the paper's Fig. 5 (10 jobs, 10 slots), versus HiGHS on the program by class.

    python benchmarks/oasis_fig5.py        (up to 100 minutes; less the faster the instances close)

Closed means: a schedule that the judge accepts and a bound that its certificate proves, relatively
1e-6 apart, within the limit, the check of the certificate included. HiGHS closes where it calls its
optimum one, and that is not above the bound: the program by class promises what no schedule earns
where workers do not sit on single machines. For the comparison both methods have the same limit
(the smaller one), and a run that did not close counts as twice that limit. Both have as many
threads (two by default).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import product

import oasis_by_class
from bench import (
    Benchmark,
    Row,
    Summary,
    Target,
    finite,
    geometric_mean,
    median,
    par2,
    parse,
    parser,
    sizes,
)
from render import number, percent

from optsched.core import Optimum, solve
from optsched.engine.interval import CLOSED
from optsched.families.oasis import FAMILY
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.sources.traces import generate
from optsched.problem import Level, Status

MACHINES = (20, 40, 60, 80, 100)
WARM = 60.0  # seconds at most that each method runs before, to compile its kernels
CLOSED_IN_TIME = "closed within the limit"
METHODS = {
    "optsched": 'solve(method="auto", gap=1e-6, seed=0, check="certified")',
    "HiGHS": "the program by class of machines (benchmarks/oasis_by_class.py), handed over as a "
    "matrix, without presolve, mip_rel_gap 1e-6; the time includes building, and not to find out "
    "whether its numbers sit on single machines",
}


def measure(cell: Row) -> Row:
    """Solve one instance both ways."""
    inst = generate("paper", seed=cell["seed"], **sizes(cell))
    threads = cell["threads"]
    ours = solve(inst, method="auto", time_limit=cell["time_limit"], threads=threads)
    row = {**_figures(ours), **_certificate(inst, ours)}
    row["seconds_to_value"] = next(
        (p.seconds for p in ours.history if p.value == ours.value and p.value is not None), None
    )
    limit = cell["alternative_limit"]
    theirs = oasis_by_class.measure(inst, time_limit=limit, threads=threads)
    return row | {f"highs_{name}": x for name, x in theirs.items()}


def _figures(optimum: Optimum) -> Row:
    return {
        "status": str(optimum.status),
        "value": optimum.value,
        "bound": optimum.bound,
        "level": None if optimum.bound_level is None else str(optimum.bound_level),
        "gap": finite(optimum.gap),
        "seconds": optimum.seconds,
    }


def _certificate(inst: OasisInstance, optimum: Optimum) -> Row:
    """Check the certificate once more, by the clock."""
    certificate = optimum.certificate
    if certificate is None:
        return {"nodes": None, "certificate_bytes": None, "check_seconds": None}
    began = time.perf_counter()
    FAMILY.check(inst, certificate)
    seconds = time.perf_counter() - began
    size = len(certificate.model_dump_json())
    nodes = len(certificate.nodes)  # type: ignore[attr-defined]
    return {"nodes": nodes, "certificate_bytes": size, "check_seconds": seconds}


def closed(row: Row, prefix: str, limit: float) -> bool:
    """Whether a method closed the instance in time."""
    in_time = bool(row[f"{prefix}seconds"] <= limit)
    return in_time and Status(row[f"{prefix}status"]).closed


def answered(row: Row, limit: float) -> bool:
    """Whether HiGHS found an optimum in time that a schedule may earn, for all that is proved."""
    most = row["bound"] * (1 + CLOSED) + CLOSED
    return closed(row, "highs_", limit) and bool(row["highs_value"] <= most)


def certified(row: Row) -> bool:
    """Whether the instance was closed by a certificate, within its limit."""
    return closed(row, "", row["time_limit"]) and row["level"] == Level.CERTIFIED


def contradicts(row: Row) -> bool:
    """Whether the methods disagree: a value above the other's bound.

    HiGHS's value is one only where it sits on single machines.
    """
    pairs = [("value", "highs_bound")] + [("highs_value", "bound")] * row["highs_packs"]
    return any(
        None not in (row[v], row[b]) and row[v] > row[b] * (1 + CLOSED) + CLOSED for v, b in pairs
    )


def speed_up(rows: Sequence[Row]) -> float:
    """Return how many times faster, by geometric means of PAR2 at the same limit."""
    times: tuple[list[float], list[float]] = ([], [])
    for row in rows:
        limit = min(row["time_limit"], row["alternative_limit"])
        done = answered(row, limit), closed(row, "", limit)
        for prefix, is_done, taken in zip(("highs_", ""), done, times, strict=True):
            taken.append(par2(row[f"{prefix}seconds"] if is_done else None, limit))
    return geometric_mean(times[0]) / geometric_mean(times[1])


def line(name: str, rows: Sequence[Row]) -> list[str]:
    """Return a line of the table."""
    seconds = [row["seconds"] for row in rows]
    gaps = [row["gap"] for row in rows if row["gap"] is not None]
    checks = [row["check_seconds"] for row in rows if row["check_seconds"] is not None]
    nodes = [row["nodes"] for row in rows if row["nodes"] is not None]
    theirs = sum(answered(row, row["alternative_limit"]) for row in rows)
    return [
        name,
        f"{sum(map(certified, rows))} of {len(rows)}",
        number(median(seconds)),
        number(max(seconds)),
        percent(max(gaps) if len(gaps) == len(rows) else None),
        number(median(nodes), ".0f"),
        number(max(checks, default=None)),
        f"{theirs} of {len(rows)}",
        number(median([row["highs_seconds"] for row in rows])),
        number(speed_up(rows)),
    ]


def summarize(rows: list[Row]) -> Summary:
    """Return a line per number of machines, and one for all."""
    if not rows:
        return Summary((), ())
    numbers = sorted({row["machines"] for row in rows})
    lines = [line(str(m), [row for row in rows if row["machines"] == m]) for m in numbers]
    lines.append(line("all", rows))
    share = sum(map(certified, rows)) / len(rows)
    claimed = sum(row["level"] == Level.CLAIMED for row in rows)
    middle = median([row["seconds"] for row in rows])
    return Summary(
        (
            *("machines", "closed", "median s", "max s", "worst gap", "median nodes"),
            *("longest check s", "HiGHS closed", "HiGHS median s", "times faster (PAR2)"),
        ),
        lines,
        (
            Target(CLOSED_IN_TIME, "%", share, must=0.9, aim=1.0, at_least=True),
            Target("bounds that are only claimed", "", claimed, must=0),
            Target("values or bounds that contradict HiGHS's", "", sum(map(contradicts, rows)), 0),
            Target("median", "s", middle, aim=5.0),
            Target("times faster than HiGHS (PAR2)", "", speed_up(rows), 5.0, 10.0, at_least=True),
        ),
        {"open": [[row["machines"], row["seed"]] for row in rows if not certified(row)]},
    )


BENCHMARK = Benchmark(
    "oasis_fig5",
    "The optimum of Fig. 5",
    "How soon is the optimum proven? (The paper: 2 days.)",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, time_limit=60.0, alternative_limit=60.0)
    p.add_argument("--machines", nargs="+", type=int, default=list(MACHINES))
    p.add_argument("--jobs", type=int, default=10)
    p.add_argument("--slots", type=int, default=10)
    p.add_argument("--threads", type=int, default=2, help="of either method")
    options = parse(p, __file__, argv)
    cells = [
        {
            "machines": machines,
            "seed": seed,
            "jobs": options.jobs,
            "slots": options.slots,
            "time_limit": options.time_limit,
            "alternative_limit": options.alternative_limit,
            "threads": options.threads,
        }
        for seed, machines in product(range(options.seeds), options.machines)
    ]
    warm = generate("small", seed=0)  # compiles and imports everything
    solve(warm, time_limit=WARM, threads=options.threads)
    oasis_by_class.measure(warm, time_limit=WARM, threads=options.threads)
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
