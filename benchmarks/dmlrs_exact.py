"""The exact optimum of small instances, versus the compact program and CP-SAT.

    python benchmarks/dmlrs_exact.py        (about half an hour on one core, most for the others)

Ten jobs in ten slots of 300 s, gradients in Mbit. One thread each; a time-out counts twice (PAR2).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from bench import Benchmark, Row, Summary, Target, median, parse, parser
from render import number

from optsched.core import solve
from optsched.families.dmlrs.sources.presets import generate

MACHINES = (4, 10)
METHODS = {
    "auto": "column generation, neighborhood search, branch and price; certified",
    "compact": "the program of `models/dmlrs.py`, HiGHS with presolve off",
    "cpsat": "the definition in CP-SAT",
}


def measure(cell: Row) -> Row:
    """Solve one instance in one way."""
    inst = generate(
        "paper",
        seed=cell["seed"],
        jobs=10,
        slots=10,
        machines=cell["machines"],
        g_unit="Mbit",
    )
    found = solve(inst, method=cell["method"], time_limit=cell["time_limit"])
    closed = found.gap is not None and found.gap <= 1e-6
    return {
        "value": found.value,
        "bound": found.bound,
        "closed": closed,
        "seconds": found.seconds,
        "par2": found.seconds if closed else 2 * cell["time_limit"],
    }


def warm_up() -> None:
    """Compile the kernels, so that no cell is timed with it."""
    solve(generate("paper", seed=0, jobs=5, slots=6, machines=3, g_unit="Mbit"), time_limit=60)


def summarize(rows: list[Row]) -> Summary:
    """Return shares closed and times by machines and method."""
    lines = []
    par2: dict[str, list[float]] = {}
    closed: list[bool] = []
    ours: list[float] = []
    for machines, method in product(dict.fromkeys(r["machines"] for r in rows), METHODS):
        mine = [r for r in rows if (r["machines"], r["method"]) == (machines, method)]
        if not mine:
            continue
        share = sum(r["closed"] for r in mine) / len(mine)
        times = [r["seconds"] for r in mine]
        mean = float(np.exp(np.mean(np.log([max(r["par2"], 1e-3) for r in mine]))))
        par2.setdefault(method, []).extend(r["par2"] for r in mine)
        if method == "auto":
            closed += [r["closed"] for r in mine]
            ours += times
        lines.append(
            [machines, method, len(mine), f"{share:.0%}", number(median(times)), number(mean)]
        )
    mean = {m: float(np.exp(np.mean(np.log(np.maximum(x, 1e-3))))) for m, x in par2.items()}
    faster = mean["compact"] / mean["auto"] if {"compact", "auto"} <= mean.keys() else None
    share = sum(closed) / len(closed) if closed else None
    return Summary(
        ("machines", "method", "instances", "closed", "median s", "geometric mean of PAR2, s"),
        lines,
        (
            Target("share closed in time", "", share, must=0.95, aim=1.0, at_least=True),
            Target("median time", "s", median(ours) if ours else None, aim=2.0),
            Target("times faster than HiGHS (PAR2)", "", faster, aim=5.0, at_least=True),
        ),
    )


BENCHMARK = Benchmark(
    "dmlrs_exact",
    "DMLRS, exact optimum",
    "How soon is the optimum of ten jobs proved?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=20)
    p.add_argument("--time-limit", type=float, default=20.0, help="seconds per solve")
    p.add_argument(
        "--other-limit", type=float, default=20.0, help="seconds per solve of the other methods"
    )
    p.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    options = parse(p, __file__, argv)
    warm_up()
    cells = [
        {
            "machines": m,
            "seed": seed,
            "method": method,
            "time_limit": options.time_limit if method == "auto" else options.other_limit,
        }
        for seed in range(options.seeds)
        for m in MACHINES
        for method in options.methods
    ]
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
