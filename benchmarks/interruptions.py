"""Stop `optsched solve` at random moments, and look at what is left.

Twenty SIGINT and ten SIGTERM per family, at moments from the start of the process on; a quarter
each for the smallest and the largest preset, with the kernels compiled and not. The same for
thousands of jobs, in the families that have such instances. Wanted every time: exit status 130 or
143 within two seconds, no traceback, nothing half written, and a file that `verify` accepts, once
the instance has been read: `verify` computes its bound again, from the certificate.

    python benchmarks/interruptions.py                  (about two hours)
    python benchmarks/interruptions.py --sizes presets  (half an hour; the others stay as stored)
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from bench import Benchmark, Row, Summary, Target, parse, parser

from optsched.problem import family_names

SIGNALS = (signal.SIGINT,) * 20 + (signal.SIGTERM,) * 10
PRESETS = {
    "oasis": ("small", "paper"),
    "dmlrs": ("small", "paper"),
    "completion": ("small", "paper"),
    "bipartite": ("small", "large"),
    "bot": ("small", "heterogeneous"),
}
LARGE: Mapping[str, Row] = {
    "oasis": {"preset": "earnable", "jobs": 10_000, "slots": 500, "machines": 1000},
    "dmlrs": {"preset": "contended", "jobs": 10_000, "slots": 500, "machines": 1000},
    "completion": {"preset": "paper", "jobs": 5000, "machines": 500},
}
LATEST = {"presets": 15.0, "thousands": 45.0}  # seconds after the start
ALLOWED = 2.0  # seconds to end in
COMMAND = [sys.executable, "-m", "optsched"]


def cells(options: Namespace) -> Iterator[Row]:
    """Yield when which process gets which signal."""
    for size in options.sizes:
        for family in options.families:
            if size == "thousands" and family not in LARGE:
                continue
            rng = random.Random(f"0 {family}")
            for k, number in enumerate(rng.sample(SIGNALS, options.seeds)):
                made = {"preset": PRESETS[family][k % 2]} if size == "presets" else LARGE[family]
                yield {
                    "family": family,
                    **made,
                    "seed": k,
                    "cold": k % 4 >= 2,
                    "signal": number.name,
                    "moment": rng.uniform(0.1, LATEST[size]),
                }


def size_of(row: Row) -> str:
    """Return of which size the instance of a row is."""
    return "thousands" if "jobs" in row else "presets"


def measure(cell: Row) -> Row:
    """Make an instance, solve it, send the signal, and return what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.json"
        keys = [k for k in ("preset", "seed", "jobs", "slots", "machines") if k in cell]
        drawn = [word for k in keys for word in (f"--{k}", str(cell[k]))]
        command = [*COMMAND, "generate", cell["family"], *drawn, "-o", made]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        cache = {"NUMBA_CACHE_DIR": folder} if cell["cold"] else {}
        number = signal.Signals[cell["signal"]]
        return stop(made, number, cell["moment"], os.environ | cache)


def stop(made: Path, number: int, moment: float, environment: Mapping[str, str]) -> Row:
    """Start a solve, send it a signal, and return what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "result.json"
        process = subprocess.Popen(
            [*COMMAND, "solve", made, "--time-limit", "600", "--gap", "0", "-o", target],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        time.sleep(moment)
        process.send_signal(number)
        began = time.perf_counter()
        _, err = process.communicate()
        took = time.perf_counter() - began
        left = sorted(os.listdir(folder))
        row: Row = {"status": process.returncode, "seconds": took, "file": target.exists()}
        wrong = []
        if process.returncode not in (128 + number, 0):
            wrong.append("status")
        if took > ALLOWED:
            wrong.append("late")
        if "Traceback" in err:
            wrong.append("traceback")
        if left not in ([], [target.name]):
            wrong.append("files")
        if target.exists():
            optimum = json.loads(target.read_text())["optimum"]
            row |= {n: optimum[n] for n in ("value", "bound", "bound_level", "certified_bound")}
            if optimum["certificate"] is None:
                wrong.append("no certificate")
            judged = subprocess.run(
                [*COMMAND, "verify", target], capture_output=True, text=True, check=False
            )
            if judged.returncode:
                wrong.append("verify: " + judged.stdout + judged.stderr)
        elif err.splitlines()[-1:] != ["optsched: interrupted"] and process.returncode:
            wrong.append("no file: " + err)
        return row | {"wrong": wrong}


def summarize(rows: list[Row]) -> Summary:
    """Return a line per size, family and signal."""
    lines = []
    for size, family, name in product(LATEST, family_names(), ("SIGINT", "SIGTERM")):
        key = size, family, name
        mine = [r for r in rows if (size_of(r), r["family"], r["signal"]) == key]
        if mine:
            cold = sum(r["cold"] for r in mine)
            files = sum(r["file"] for r in mine)
            none = sum(r["file"] and r["value"] is None for r in mine)
            wrong = sum(bool(r["wrong"]) for r in mine)
            slowest = round(max(r["seconds"] for r in mine), 2)
            lines.append([size, family, name, len(mine), cold, files, none, slowest, wrong])
    targets = (
        Target("stops that went wrong", "", sum(bool(r["wrong"]) for r in rows), must=0),
        Target("the slowest stop", "s", max(r["seconds"] for r in rows), must=ALLOWED),
    )
    counts = ("stops", "cold", "with a file", "without a schedule", "slowest, s", "wrong")
    columns = ("size", "family", "signal", *counts)
    return Summary(columns, lines, targets)


BENCHMARK = Benchmark(
    name="interruptions",
    title="Stops at any moment",
    question="What is left when a solve is stopped?",
    methods={
        "stopped": "`optsched solve --time-limit 600 --gap 0 -o FILE`, at a random moment of its "
        "first 15 s; smallest and largest preset, half of them with nothing compiled (cold)",
        "thousands": "the same in the first 45 s: `generate --jobs 10000 --horizon 500 --machines "
        "1000` of oasis earnable and dmlrs contended, `--jobs 5000 --machines 500` of completion",
        "with a file": "the instance had been read, so the best so far is on file, and `verify` "
        "accepts it; before, there is one line and no file",
        "wrong": "another exit status than 128 + signal (0 if it was done before), later than 2 s, "
        "a traceback, other files, a file that is refused or has no certificate, no file and no "
        "line",
    },
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=len(SIGNALS))
    p.add_argument("--families", nargs="+", default=list(PRESETS), choices=list(PRESETS))
    sizes = list(LATEST)
    p.add_argument("--sizes", nargs="+", default=sizes, choices=sizes)
    p.add_argument("--processes", type=int, default=1)
    options = parse(p, __file__, argv)
    return BENCHMARK.run(
        list(cells(options)),
        measure,
        options,
        keep=lambda row: size_of(row) not in options.sizes,
        processes=options.processes,
    )


if __name__ == "__main__":
    main()
