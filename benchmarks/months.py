"""A whole month of a real log, from one command: policies, hindsight, what the cluster did.

    python benchmarks/months.py --philly philly.csv.gz --hpc2n hpc2n-head.swf.gz

Nothing is scaled: real times in slots of an hour, exactly the machines of the list. The extract of
Philly's log has no machines; MACHINES of `large.py` are those that were published with it. It has
no recorded starts either (the log itself has them, see docs/traces.md), so only HPC2N has a row for
the schedule that was run. The picture of each month is stored next to the figures. It takes a
quarter of an hour.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from bench import Benchmark, Row, Summary, Target, parse, parser, watched
from large import MACHINES
from render import number

HOURS = 720
LOGS = {"philly": ["--start", "2017-11-23"], "hpc2n": []}
"""Which part of a log is taken; else from its beginning."""
METHODS = {
    "month": "`optsched ratio LOG --family oasis --machines LIST --no-scaling --slot-length 1h "
    f"--horizon {HOURS} --time-limit S --plot FOLDER`; Philly with `--start 2017-11-23`",
    "high / low": "the certified bound over the value of the best schedule that is known",
}


def cells(options: Namespace) -> Iterator[Row]:
    """Yield the months of the logs that are named."""
    for name in LOGS:
        if (log := getattr(options, name)) is None:
            print(f"{name}: is left out, since --{name} names no file", flush=True)
        else:
            yield {"month": name, "log": log.name, "time_limit": options.time_limit}


def measure(options: Namespace, cell: Row) -> Row:
    """Compare all policies on a month; store its picture."""
    name, log = cell["month"], getattr(options, cell["month"])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        machines = log.with_name(log.name.removesuffix(".gz") + ".machines")
        if not machines.exists():
            machines = folder / "machines.csv"
            machines.write_text(MACHINES)
        result, pictures = folder / "made.json", folder / "pictures"
        how = [
            "--family",
            "oasis",
            "--machines",
            machines,
            "--no-scaling",
            "--slot-length",
            "1h",
            "--horizon",
            HOURS,
            *LOGS[name],
        ]
        limit = ["--time-limit", cell["time_limit"], "--no-cache", "-q", "--json"]
        words = [log, *how, *limit, "-o", result, "--plot", pictures]
        row = watched(["ratio", *map(str, words)], folder)
        printed = (folder / "output").read_text()
        found, _ = json.JSONDecoder().raw_decode(printed, printed.index("{"))
        picture = pictures / "over-time.png"  # or a Gantt chart, if there are few jobs
        if picture.exists():
            options.results.mkdir(parents=True, exist_ok=True)
            shutil.copy(picture, options.results / f"months-{name}.png")
    return {
        "jobs": found["facts"]["jobs"],
        "offered_load": found["facts"]["offered_load"],
        "status": found["reference"]["status"],
        "value": found["reference"]["value"],
        "bound": found["reference"]["certified_bound"],
        "policies": [
            {key: p[key] for key in ("name", "value", "completed", "seconds")}
            | {key: p["ratio"][key] for key in ("low", "high")}
            for p in found["policies"]
        ],
        "cpu": row["cpu"],
        "seconds": row["seconds"],
        "megabytes": row["megabytes"],
    }


def summarize(rows: list[Row]) -> Summary:
    """Return a line per month and policy, and how far apart value and bound are."""
    lines, targets = [], []
    for row in rows:
        month = f"{row['month']}, {row['jobs']} jobs, load {row['offered_load']:.3g}"
        for p in row["policies"]:
            ratio = f"{number(p['low'], '.4f')} .. {number(p['high'], '.4f')}"
            done = f"{p['completed']} of {row['jobs']}"
            lines.append([month, p["name"], number(p["value"], ".6g"), done, ratio])
        spread = row["bound"] / row["value"]
        lines.append([month, "hindsight", number(row["value"], ".6g"), "", row["status"]])
        targets.append(Target(f"high / low: {month}", "", spread, must=1.3, aim=1.1))
    return Summary(("month", "policy", "utility", "jobs done", "ratio"), lines, targets)


BENCHMARK = Benchmark(
    "months",
    "Whole months as they were",
    "How far from the best was a month of a real cluster, with nothing scaled?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, time_limit=120.0)
    for name in LOGS:
        p.add_argument(f"--{name}", type=Path, help="its log; FILE.machines next to it is its list")
    options = parse(p, __file__, argv)
    options.command = "python benchmarks/months.py"
    return BENCHMARK.run(list(cells(options)), partial(measure, options), options)


if __name__ == "__main__":
    main()
