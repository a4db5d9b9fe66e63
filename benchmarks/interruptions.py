"""Stops `optsched solve` at random moments, and looks at what is left.

Twenty SIGINT and ten SIGTERM per family, at moments from the start of the process on; a quarter
each for the smallest and the largest preset, with the kernels compiled and not. Wanted every time:
exit status 130 or 143 within two seconds, no traceback, nothing half written, and a file that
`verify` accepts, once the instance has been read.

    python benchmarks/interruptions.py --family oasis --seed 1
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from optsched.problem import families

SIGNALS = (signal.SIGINT,) * 20 + (signal.SIGTERM,) * 10
PRESETS = {
    "oasis": ("small", "paper"),
    "dmlrs": ("small", "paper"),
    "completion": ("small", "paper"),
    "bipartite": ("small", "large"),
    "bot": ("small", "heterogeneous"),
}
LATEST = 15.0  # seconds after the start
ALLOWED = 2.0  # seconds to end in
COMMAND = [sys.executable, "-m", "optsched"]


def stop(
    made: Path, number: int, moment: float, environment: Mapping[str, str]
) -> dict[str, object]:
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
        row: dict[str, object] = {"status": process.returncode, "seconds": round(took, 2)}
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
            row |= {n: optimum[n] for n in ("value", "bound", "bound_level")}
            judged = subprocess.run(
                [*COMMAND, "verify", target], capture_output=True, text=True, check=False
            )
            if judged.returncode:
                wrong.append("verify: " + judged.stdout + judged.stderr)
        elif err != "optsched: interrupted\n":
            wrong.append("no file: " + err)
        return row | {"wrong": wrong}


def main() -> None:
    """Run what the command line asks for; exit status 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", nargs="*", default=list(families()))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--signals", type=int, default=len(SIGNALS))
    options = parser.parse_args()
    bad = 0
    for family in options.family:
        rng = random.Random(f"{options.seed} {family}")
        for k, number in enumerate(rng.sample(SIGNALS, options.signals)):
            preset, cold = PRESETS[family][k % 2], k % 4 >= 2
            moment = rng.uniform(0.1, LATEST)
            with tempfile.TemporaryDirectory() as folder:
                made = Path(folder) / "made.json"
                subprocess.run(
                    [
                        *COMMAND,
                        "generate",
                        family,
                        "--preset",
                        preset,
                        "--seed",
                        str(k),
                        "-o",
                        made,
                    ],
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
                cache = {"NUMBA_CACHE_DIR": folder} if cold else {}
                row = stop(made, number, moment, os.environ | cache)
            bad += bool(row["wrong"])
            kind = f"{family} {preset} {'cold' if cold else 'warm'}"
            print(f"{kind}, {signal.strsignal(number)} after {moment:.2f} s: {row}", flush=True)
    print(f"{bad} went wrong")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
