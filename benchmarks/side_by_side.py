"""Oracles, policies and optima next to those of another checkout: times, and whether results agree.

    python benchmarks/side_by_side.py --other CHECKOUT [--python PYTHON]    (about five minutes)

CHECKOUT is a folder with another version of the source, PYTHON an interpreter that has what it
needs (default: this one). Instances have the sizes of the stored benchmarks, or nearly.

Each version answers in some processes, on one thread, in turns: this, the other, this, the other.
Several, since where a process happens to lie in memory makes a tenth. The first run of each is not
counted: it compiles. Of the others, the least time that the processor worked is. Oracles answer for
all jobs of an instance; of policies only the decisions count. An optimum is found and proved from
nothing: there is no ratio where only one version proves it in 20 seconds, for methods have become
better since. Optima of small instances are shown without a target: in their milliseconds nearly all
is what judges, makes and checks certificates, some of which did not exist before.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import Benchmark, Row, Summary, Target, parse, parser
from render import number

from optsched.engine.interval import Interval
from optsched.problem import InputError, Instance, get_family

HERE = Path(__file__).resolve().parent
HUNDRED = {"jobs": 100, "slots": 100, "machines": 100}
SERVERS = {"jobs": 100, "machines": 150}
TEN = {"jobs": 10, "slots": 10, "g_unit": "Mbit"}
TASKS: dict[str, tuple[str, dict[str, Any]]] = {  # kind, family, how: preset, changes
    "oracle oasis distinct": ("paper", HUNDRED),
    "oracle oasis classes": ("paper", HUNDRED),
    "oracle dmlrs distinct": ("paper", {"jobs": 50}),
    "oracle dmlrs classes": ("paper", {"jobs": 50}),
    "oracle completion distinct": ("paper", SERVERS),
    "oracle completion classes": ("paper", SERVERS),
    "policy oasis oasis": ("paper", HUNDRED),
    "policy oasis fifo": ("paper", HUNDRED),
    "policy oasis drf": ("paper", HUNDRED),
    "policy dmlrs pd-ors": ("paper", {"jobs": 50}),
    "policy dmlrs drf": ("paper", {"jobs": 50}),
    "policy completion a_online": ("paper", SERVERS),
    "policy completion drf": ("paper", SERVERS),
    "policy bipartite ogasched": ("paper", {"slots": 1000}),
    "policy bipartite drf": ("paper", {"slots": 1000}),
    "policy bot adaptive": ("heterogeneous", {}),
    "optimum oasis auto": ("earnable", {"jobs": 8, "slots": 12, "machines": 6}),
    "optimum dmlrs auto": ("paper", TEN | {"machines": 4}),
    "optimum completion auto": ("mid", {"jobs": 10, "slots": 20, "machines": 6}),
    "optimum bipartite auto": ("paper", {"slots": 1000}),
    "optimum bipartite stationary": ("large", {"slots": 2000}),
    "optimum bot auto": ("heterogeneous", {"nodes": 5000}),
    "small oasis auto": ("small", {"seed": 3}),
    "small dmlrs auto": ("small", {"seed": 4}),
    "small completion auto": ("small", {"seed": 2}),
    "small bipartite auto": ("small", {}),
    "small bot auto": ("small", {}),
}
PROVED = ("optimum", "small")
LONG = 12.0  # seconds of counted runs after which a task is not repeated any more
CLOSED = 1e-5  # of a gap
EQUAL = 1e-6  # relative difference of values that are the same, and not proved optima
LIMIT = 1.03
METHODS = {
    "this": "the version that is measured",
    "other": "the version next to it",
}


class Side:
    """A process that runs tasks with one version."""

    def __init__(self, python: str, checkout: Path, folder: str, stack: ExitStack) -> None:
        one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
        self.process = stack.enter_context(
            subprocess.Popen(
                [python, str(HERE / "side_tasks.py"), str(checkout), folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | one,
            )
        )

    def run(self, task: str) -> Row:
        """Run a task once."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{task}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise InputError(f"{task}: the process has ended")
        found: Row = json.loads(line)
        return found


def compared(sides: dict[str, list[Side]], task: str, repeats: int, made: Instance) -> Row:
    """Run a task in turns; return the least seconds of each side, and whether results agree.

    Optima of an instance, ``made``, are proved up to a gap: they agree if no more is between them.
    """
    used = {name: side[:1] if task.startswith(PROVED) else side for name, side in sides.items()}
    for side in (side for all_of in used.values() for side in all_of):
        side.run(task)
    seconds, last = dict.fromkeys(sides, math.inf), dict[str, Row]()
    spent = 0.0
    for _ in range(repeats):
        for name, all_of in used.items():
            runs = [side.run(task) for side in all_of]
            took, last[name] = [run["seconds"] for run in runs], runs[-1]
            seconds[name] = min(seconds[name], *took)
            spent += sum(took)
        if spent > LONG:
            break
    proved = {name: run.get("gap", 0.0) for name, run in last.items()}
    closed = {name: gap is not None and gap <= CLOSED for name, gap in proved.items()}
    values = [run["values"] for run in last.values()]
    agree = partial(_near, task, made) if task.startswith(PROVED) else _alike
    same = len(values[0]) == len(values[1]) and all(map(agree, *values))
    return {**seconds, "closed": closed, "gaps": proved, "different": not same}


def _alike(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=EQUAL)


def _near(task: str, made: Instance, a: float | None, b: float | None) -> bool:
    """Return whether optima are as near as each was proved, by what the family calls a gap."""
    if a is None or b is None:
        return a is b
    family = get_family(task.split()[1])
    low, high = sorted((a, b))
    value, bound = (low, high) if family.sign > 0 else (high, low)  # as if it bounded the worse
    gap = Interval(family, made, value, bound).gap
    return gap is not None and gap <= CLOSED


def summarize(rows: list[Row]) -> Summary:
    """Return times side by side, and the largest ratio of each kind."""
    lines, ratios = [], dict[str, list[float]]()
    for row in rows:
        kind, family, how = row["task"].split()
        both = all(row["closed"].values())
        ratio = row["this"] / row["other"] if both else None
        if ratio is not None and kind != "small":
            ratios.setdefault(kind, []).append(ratio)
        proved = "" if both else ", ".join(n for n, closed in row["closed"].items() if closed)
        times = (number(1e3 * row[name]) for name in METHODS)
        outcome = "differ" if row["different"] and both else f"proved by {proved or 'none'}"
        results = "same" if both and not row["different"] else outcome
        lines.append([kind, family, how, *times, number(ratio, ".3f"), results])
    targets = [
        Target(f"{kind}, the largest ratio of times", "", max(found), must=LIMIT)
        for kind, found in ratios.items()
    ]
    different = sum(row["different"] and all(row["closed"].values()) for row in rows)
    return Summary(
        ("kind", "family", "how", "this, ms", "other, ms", "this / other", "results"),
        lines,
        (*targets, Target("results that differ", "", different, must=0)),
        {"other": sorted({row["beside"] for row in rows})},
    )


BENCHMARK = Benchmark(
    "side_by_side",
    "Compared with another version",
    "Is anything slower than in an earlier version of the source?",
    METHODS,
    summarize,
)


def commit(checkout: Path) -> str:
    """Return the commit of a checkout, or its name."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return outcome or checkout.name


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__)
    p.add_argument("--other", type=Path, required=True, help="folder of the other version")
    p.add_argument("--python", default=sys.executable, help="its interpreter")
    p.add_argument("--repeats", type=int, default=9, help="the least time of this many counts")
    p.add_argument("--processes", type=int, default=3, help="of each version")
    p.add_argument("--tasks", nargs="+", default=[""], help="those that begin so")
    options = parse(p, __file__, argv)
    options.command = "python benchmarks/side_by_side.py --other CHECKOUT"
    other = options.other.resolve()
    chosen = [task for task in TASKS if task.startswith(tuple(options.tasks))]
    cells = [{"task": t, "repeats": options.repeats, "beside": commit(other)} for t in chosen]
    with TemporaryDirectory() as folder, ExitStack() as stack:
        instances = dict[str, Instance]()
        for task in chosen:
            preset, changes = TASKS[task]
            made = get_family(task.split()[1]).generate(preset, **({"seed": 1} | changes))
            (Path(folder) / f"{task}.json").write_text(made.model_dump_json())
            instances[task] = made
        sides = {
            name: [Side(python, root, folder, stack) for _ in range(options.processes)]
            for name, python, root in (
                ("this", sys.executable, HERE.parent),
                ("other", options.python, other),
            )
        }

        def run(cell: Row) -> Row:
            return compared(sides, cell["task"], cell["repeats"], instances[cell["task"]])

        return BENCHMARK.run(cells, run, options)


if __name__ == "__main__":
    main()
