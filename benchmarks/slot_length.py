"""Optima and ratios of the same jobs in slots of an hour and of 15 minutes.

    python benchmarks/slot_length.py --philly philly.csv.gz --hpc2n hpc2n-head.swf.gz

Of each log the jobs that last 2 to 12 hours (of Philly, on two GPUs or more) are divided into
windows. Every window is solved in both slot lengths, with utilities drawn from the same seed:
`recorded` with its own times on a fixed list of machines, `scaled` to a day,
`whole hours` with submissions rounded down and running times rounded up to hours beforehand, so
that slots of an hour round nothing. It takes less than ten minutes.
"""

from __future__ import annotations

import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bench import Benchmark, Row, Summary, Target, parse, parser

import optsched
from optsched.core.inputs import open_input
from optsched.core.intervals import mean_interval, mean_ratio, median_interval, student
from optsched.core.reports import Ratio
from optsched.numbers.arrays import Floats
from optsched.problem import Window, family_of
from optsched.traces import read_jobs

HOUR = 3600
LENGTHS = {"1h": 1, "15min": 4}  # slots of an hour
LOGS = {"philly": (2, "8,48,256,2"), "hpc2n": (1, "0,2,2,20")}
"""The fewest tasks of a job, and the machines: GPUs, cores, GB, how many."""
SETTINGS = (
    ("philly", "oasis", "recorded"),
    ("hpc2n", "oasis", "recorded"),
    ("philly", "oasis", "scaled"),
    ("philly", "dmlrs", "recorded"),
    ("philly", "dmlrs", "whole hours"),
)
JOBS, HOURS, DAY, WORK = 12, 36, 24, 200.0
Estimate = tuple[float, tuple[float, float] | None]  # and its 95 % interval
METHODS = {
    "recorded": f"not scaled: at most {JOBS} jobs of {HOURS} hours; Philly on 2 machines with 8 "
    "GPUs, HPC2N on 20 with 2 cores",
    "scaled": f"`--jobs {JOBS} --horizon` of {DAY} hours, with the default machines and load",
    "whole hours": "as recorded; submissions rounded down, running times rounded up to hours",
    "optimum": f"`--work-limit {WORK:g}`, best value to certified bound",
    "mean, median": "over windows, with 95 % intervals (bootstrap; exact), from low to high ends",
    "paired difference": "15 min minus 1 h in the same window, % of the optimum: of the optimum, "
    "and of what the policy earns of the optimum; mean with its 95 % interval, both gaps included",
}


def cells(options: Namespace) -> Iterator[Row]:
    """Yield every window in both slot lengths."""
    for log, family, times in SETTINGS:
        if getattr(options, log) is None:
            print(f"{log}: is left out, since --{log} names no file", flush=True)
            continue
        for k in range(1, options.seeds + 1):
            for slot in LENGTHS:
                yield {
                    **{"log": log, "family": family, "times": times},
                    **{"window": f"{k}/{options.seeds}", "seed": k, "slot": slot},
                }


@cache
def lists(log: Path, name: str, times: str, folder: Path) -> tuple[Path, Path]:
    """Write the jobs of 2 to 12 hours, and the machines; return both paths."""
    fewest, machines = LOGS[name]
    table: pd.DataFrame = read_jobs(log)
    table = table[table["run_seconds"].between(2 * HOUR, 12 * HOUR) & (table["tasks"] >= fewest)]
    if times == "whole hours":
        table = table.assign(
            submit_seconds=table["submit_seconds"] // HOUR * HOUR,
            run_seconds=-(-table["run_seconds"] // HOUR) * HOUR,
        )
    columns = ["submit_seconds", "run_seconds", "tasks", "gpu", "cpu", "memory_gb"]
    jobs, listed = folder / f"{name}-{times}.csv", folder / f"{name}.machines.csv"
    table[columns].dropna(axis=1, how="all").to_csv(jobs, index=False)
    listed.write_text(f"gpu,cpu,memory_gb,count\n{machines}\n")
    return jobs, listed


def measure(options: Namespace, folder: Path, cell: Row) -> Row:
    """Compare all policies with the optimum of a window."""
    jobs, machines = lists(getattr(options, cell["log"]), cell["log"], cell["times"], folder)
    parts = LENGTHS[cell["slot"]]
    how: dict[str, Any] = {"machines": machines, "as_is": True, "slots": HOURS * parts}
    if cell["times"] == "scaled":
        how = {"slots": DAY * parts}
    same = {"jobs": JOBS, "start": cell["window"], "draw_seed": cell["seed"], "slot": cell["slot"]}
    inst: Any = open_input(jobs, cell["family"], Window(**same, **how))
    facts = family_of(inst).describe(inst)
    found = optsched.compare(inst, work_limit=WORK)
    return {
        "jobs": len(inst.jobs),
        "machines": sum(facts[n] for n in ("worker machines", "machines") if n in facts),
        "status": found.optimum.status,
        "value": found.optimum.value,
        "bound": found.optimum.certified_bound,
        "policies": {p.name: p.value for p in found.policies},
        "seconds": found.optimum.seconds,
    }


def column(rows: Sequence[Row], name: str) -> Floats:
    """Return a figure of all rows, or what a policy earns in them."""
    values = [r[name] if name in r else r["policies"][name] for r in rows]
    return np.array(values, dtype=np.float64)


def mean_and_median(rows: Sequence[Row], what: str) -> tuple[Estimate, Estimate]:
    """Return mean and median of the optima or of the ratios of a policy, with intervals."""
    value, bound = column(rows, "value"), column(rows, "bound")
    if what == "optimum":
        mean = float(value.mean()), mean_interval(value, bound)
        return mean, (float(np.median(value)), median_interval(value, bound))
    every = zip(column(rows, what), value, bound, strict=True)
    found = mean_ratio([Ratio.of("max", *map(float, x)) for x in every])
    return (found.low, found.interval), (found.median, found.median_interval)


def words(estimate: Estimate) -> str:
    """Return a figure and its interval."""
    figure, inside = estimate
    ends = "-" if inside is None else f"{inside[0]:.4g} to {inside[1]:.4g}"
    return f"{figure:.4g} ({ends})"


def overlap(first: Estimate, second: Estimate) -> str:
    """Tell whether two intervals overlap; "-" where one is missing."""
    a, b = first[1], second[1]
    if a is None or b is None:
        return "-"
    return "yes" if max(a[0], b[0]) <= min(a[1], b[1]) else "no"


def paired(hour: Sequence[Row], quarter: Sequence[Row], what: str) -> str:
    """Return the mean difference in the same window, %, with its interval."""
    (v1, b1), (v2, b2) = ([column(s, n) for n in ("value", "bound")] for s in (hour, quarter))
    if what == "optimum":
        known, low, high = v2 / v1 - 1, v2 / b1 - 1, b2 / v1 - 1
    else:
        p1, p2 = column(hour, what), column(quarter, what)
        known, low, high = p2 / v2 - p1 / v1, p2 / b2 - p1 / v1, p2 / v2 - p1 / b1
    ends = student(low)[0], student(high)[1]
    return "{:+.2g} ({:+.2g} to {:+.2g})".format(*(100 * x for x in (known.mean(), *ends)))


def summarize(rows: list[Row]) -> Summary:
    """Return a line for the optimum and for every policy of a setting."""
    lines: list[list[str]] = []
    for setting in dict.fromkeys((r["log"], r["family"], r["times"]) for r in rows):
        mine = [r for r in rows if (r["log"], r["family"], r["times"]) == setting]
        hour, quarter = ([r for r in mine if r["slot"] == slot] for slot in LENGTHS)
        hour = hour[: len(quarter)]  # the last window may be measured in part
        if len(quarter) < 2:  # a spread needs two
            continue
        for what in ("optimum", *hour[0]["policies"]):
            estimates = list(
                zip(mean_and_median(hour, what), mean_and_median(quarter, what), strict=True)
            )
            figures = [words(x) for pair in estimates for x in pair]
            same = [overlap(*pair) for pair in estimates]
            lines.append([", ".join(setting), what, *figures, *same, paired(hour, quarter, what)])
    agree = [x for line in lines for x in line[6:8] if x != "-"]
    share = agree.count("yes") / len(agree) if agree else None
    target = Target("intervals that overlap", "%", share, must=1, aim=1, at_least=True)
    columns = (
        *("log, family, times", "optimum, or ratio of", "mean, 1 h", "mean, 15 min"),
        *("median, 1 h", "median, 15 min", "means overlap", "medians overlap"),
        "paired difference, %",
    )
    closed = {s: sum(r["slot"] == s and r["status"] == "optimal" for r in rows) for s in LENGTHS}
    return Summary(columns, lines, [target], {"windows": len(rows) // 2, "closed": closed})


BENCHMARK = Benchmark(
    "slot_length",
    "Slots of 1 h and of 15 min",
    "Do optima and ratios of the same jobs agree in slots of another length?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=20)
    for name in LOGS:
        p.add_argument(f"--{name}", type=Path, help="its log (default: not measured)")
    options = parse(p, __file__, argv)
    with tempfile.TemporaryDirectory() as place:
        todo = partial(measure, options, Path(place))
        return BENCHMARK.run(list(cells(options)), todo, options)


if __name__ == "__main__":
    main()
