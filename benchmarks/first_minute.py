"""What a newcomer waits for: start-up, compiling, the first answer.

    python benchmarks/first_minute.py        (about 15 minutes; with --tests 10 more)

Every row is a process of its own (with all that it starts). "Cold" is an empty compile cache;
processor time is that of the process and its children, as the operating system counts it.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import Benchmark, Row, Summary, Target, parse, parser
from render import number

from optsched.problem import families, get_family

METHODS = {
    "start": "`optsched --help`, `optsched info`, `import optsched`: the median of five",
    "ratio": "`optsched ratio small.json`, all policies, compile cache empty, then full",
    "solve": "`optsched solve --time-limit 5` with an empty compile cache, every preset",
    "readme": "the first command of README.md after installation, with an empty compile cache",
    "tests": "the second command of README.md from a clean clone",
}
STARTS = {
    "--help": ["-m", "optsched", "--help"],
    "info": ["-m", "optsched", "info"],
    "import": ["-c", "import optsched"],
}
ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^[│|]?\s*(oasis|fifo|drf|rrh|dorm)\b")  # a policy's line in a table


def spent(command: Sequence[str], cache: str | None = None, **how: Any) -> Row:
    """Run ``command``; return its processor time, its time, and what it reported."""
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, **how
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "cpu": cpu,
        "seconds": time.perf_counter() - began,
        "status": done.returncode,
        "said": done.stdout,
    }


def start(what: str) -> Row:
    """Return the median of five starts, after one that is not counted."""
    found = sorted(spent(STARTS[what])["cpu"] for _ in range(6))[:5]
    return {"cpu": sorted(found)[2]}


def ratio(family: str) -> Row:
    """Compare all policies on a small instance, cold and then warm."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/small.json"
        spent(["-m", "optsched", "generate", family, "--preset", "small", "-o", file])
        command = ["-m", "optsched", "ratio", file, "--time-limit", "20", "--no-cache"]
        cold, warm = (spent(command, f"{folder}/cache") for _ in range(2))
    return {
        "cold_cpu": cold["cpu"],
        "cold_seconds": cold["seconds"],
        "warm_cpu": warm["cpu"],
        "warm_seconds": warm["seconds"],
        "status": max(cold["status"], warm["status"]),
    }


def solve(family: str, preset: str) -> Row:
    """Solve for five seconds with an empty cache; return what stands in the result."""
    with tempfile.TemporaryDirectory() as folder:
        file, result = f"{folder}/instance.json", f"{folder}/result.json"
        spent(["-m", "optsched", "generate", family, "--preset", preset, "-o", file])
        command = ["-m", "optsched", "solve", file, "--time-limit", "5", "-o", result]
        found = spent(command, f"{folder}/cache")
        optimum = json.loads(Path(result).read_text())["optimum"] if found["status"] == 0 else {}
    return {
        "cpu": found["cpu"],
        "seconds": found["seconds"],
        "certified": optimum.get("certified_bound") is not None,
        "schedule": optimum.get("schedule") is not None,
        "gap": optimum.get("certified_gap"),
    }


def readme() -> Row:
    """Run README's first command; note when the first policy's row is there."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["-m", "optsched", "ratio", "sample", "--time-limit", "60", "--plot", folder]
        environment = os.environ | {
            "NUMBA_CACHE_DIR": f"{folder}/cache",
            "OPTSCHED_CACHE": f"{folder}/optima",
        }
        began, first = time.perf_counter(), None
        with subprocess.Popen(
            [sys.executable, *command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if first is None and ROW.match(line):
                    first = time.perf_counter() - began
        return {"first_row": first, "seconds": time.perf_counter() - began}


def tests() -> Row:
    """Run README's second command in a clean clone, after what it installs."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    with tempfile.TemporaryDirectory() as folder:
        clone = f"{folder}/clone"
        subprocess.run(["git", "clone", "-q", str(ROOT), clone], check=True)
        subprocess.run(["make", ".venv/.dev"], cwd=clone, check=True)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(["bash", "-ec", blocks[1]], cwd=clone, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "seconds": time.perf_counter() - began, "status": done.returncode}


def measure(cell: Row) -> Row:
    """Measure one row."""
    kind = cell["kind"]
    if kind == "start":
        return start(cell["what"])
    if kind == "ratio":
        return ratio(cell["what"])
    if kind == "solve":
        return solve(*cell["what"].split())
    return readme() if kind == "readme" else tests()


def _worst(rows: list[Row], kind: str, name: str, *only: str) -> float | None:
    found = [r[name] for r in rows if r["kind"] == kind and (not only or r["what"] in only)]
    return None if not found or None in found else max(found)


def summarize(rows: list[Row]) -> Summary:
    """Return a line per row, and the worst of each kind as the figure."""
    solved = [row for row in rows if row["kind"] == "solve"]
    missing = sum(not (r["certified"] and r["schedule"]) for r in solved) if solved else None
    columns = {
        "cpu": "CPU, s",
        "cold_cpu": "CPU with an empty cache, s",
        "warm_cpu": "CPU when compiled, s",
        "first_row": "until the first row, s",
        "seconds": "in all, s",
        "certified": "certified",
        "gap": "gap",
    }
    lines = [
        [
            row["kind"],
            row["what"],
            *("-" if row.get(n) is None else number(row[n], ".3g") for n in columns),
        ]
        for row in rows
    ]
    wanted = (
        ("`--help`, `info`", "s CPU", _worst(rows, "start", "cpu", "--help", "info"), 0.6, 0.3),
        ("`import optsched`", "s CPU", _worst(rows, "start", "cpu", "import"), 0.3, 0.15),
        ("`ratio`, empty cache, any family", "s CPU", _worst(rows, "ratio", "cold_cpu"), 25, 12),
        ("`ratio`, compiled, any family", "s CPU", _worst(rows, "ratio", "warm_cpu"), 4, 2),
        ("README's first command: first row", "s", _worst(rows, "readme", "first_row"), 20, 8),
        ("README's first command: the end", "s", _worst(rows, "readme", "seconds"), 110, 80),
        ("5 s, empty cache: no certified bound or schedule", "runs", missing, 0, None),
        ("README's second command", "s", _worst(rows, "tests", "seconds"), 240, 150),
    )
    targets = tuple(Target(*want) for want in wanted)
    return Summary(("kind", "what", *columns.values()), lines, targets)


BENCHMARK = Benchmark(
    "first_minute",
    "The first minute",
    "What does a newcomer wait for?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__)
    p.add_argument("--tests", action="store_true", help="also the test command, in a clean clone")
    options = parse(p, __file__, argv)
    cells: list[Row] = [{"kind": "start", "what": what} for what in STARTS]
    cells += [{"kind": "ratio", "what": family} for family in families()]
    cells += [
        {"kind": "solve", "what": f"{family} {preset}"}
        for family in families()
        for preset in get_family(family).presets
    ]
    cells.append({"kind": "readme", "what": "first command"})
    if options.tests:
        cells.append({"kind": "tests", "what": "second command"})
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
