"""Ten times the paper's scale: 1000 jobs, T = 300, 500 + 500 machines.

    python benchmarks/oasis_large.py        (about half an hour)

Every measurement is a process of its own, and reports the most memory that it held. What has no
usual alternative is measured alone: the program per machine has up to 300 million variables here.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Sequence
from itertools import product
from multiprocessing.connection import Connection

from bench import Benchmark, Row, Summary, Target, add_sizes, finite, parse, parser, sizes
from render import number, percent

from optsched.core import simulate, solve
from optsched.families.oasis import FAMILY
from optsched.families.oasis.policies.paper import Oasis
from optsched.families.oasis.sources.traces import generate
from optsched.problem import Level

METHODS = {
    "online": "`Oasis()`; the time is that of all decisions, compiled code warm",
    "optimum": 'solve(method="auto", threads=1, seed=0, check="certified")',
}
GIB = 4.0  # of memory
MINUTES = 10.0
WARM = 60.0  # seconds at most that each method runs before, to compile its kernels


def measure(cell: Row) -> Row:
    """Run one measurement in a fresh process.

    Raises
    ------
    RuntimeError
        The process died.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(cell, theirs))
    process.start()
    theirs.close()
    try:
        row: Row = ours.recv()
    except EOFError as err:
        process.join()
        raise RuntimeError(f"the process died (exit code {process.exitcode}): {cell}") from err
    finally:
        process.join()
    return row


def _child(cell: Row, pipe: Connection) -> None:
    began = time.perf_counter()
    inst = generate(cell["preset"], seed=cell["seed"], **sizes(cell))
    row: Row = {"generate_seconds": time.perf_counter() - began}
    if cell["what"] == "online":
        simulate(generate("small", seed=0), Oasis())  # compiles
        run = simulate(inst, Oasis())
        row |= {"seconds": run.seconds, "slowest": run.slowest, "value": run.value}
        row["completed"] = sum(c is not None for c in run.completion)
    else:
        solve(generate("small", seed=0), time_limit=WARM)  # compiles everything
        optimum = solve(inst, method="auto", time_limit=cell["time_limit"], threads=1)
        both = [p.seconds for p in optimum.history if None not in (p.value, p.bound)]
        row |= {
            "value": optimum.value,
            "bound": optimum.bound,
            "level": None if optimum.bound_level is None else str(optimum.bound_level),
            "gap": finite(optimum.gap),
            "seconds": optimum.seconds,
            "seconds_to_both": both[0] if both else None,
            "first_bound": next((p.bound for p in optimum.history if p.bound is not None), None),
            "check_seconds": None,
        }
        if optimum.certificate is not None:
            began = time.perf_counter()
            FAMILY.check(inst, optimum.certificate)
            row["check_seconds"] = time.perf_counter() - began
    row["peak_gib"] = _peak()
    pipe.send(row)
    pipe.close()


def _peak() -> float:
    """Return the most memory that this process has held, GiB."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes on macOS, KiB on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def known_after(row: Row) -> float | None:
    """Return the seconds until schedule and bound were known, the check of the bound included."""
    if row["seconds_to_both"] is None or row["check_seconds"] is None:
        return None
    return float(row["seconds_to_both"] + row["check_seconds"])


def summarize(rows: list[Row]) -> Summary:
    """Return a line per measurement; the worst of each kind are the figures."""
    lines = []
    for row in rows:
        name = f"{row['preset']}, seed {row['seed']}"
        memory, value = f"{row['peak_gib']:.2f} GiB", number(row["value"], ".5g")
        if row["what"] == "online":
            lines.append(["online", name, f"{number(row['seconds'])} s", memory, value, "", ""])
            continue
        known, seconds = number(known_after(row)), number(row["seconds"])
        times = f"both after {known} s, ended after {seconds} s"
        bound = f"{number(row['bound'], '.5g')} ({row['level']})"
        lines.append(["optimum", name, times, memory, value, bound, percent(row["gap"])])
    online = [row for row in rows if row["what"] == "online"]
    optimum = [row for row in rows if row["what"] == "optimum"]
    targets = []
    if rows:
        peak = max(row["peak_gib"] for row in rows)
        targets.append(Target("memory", "GiB", peak, must=GIB))
    if online:
        slowest = max(row["seconds"] for row in online)
        targets.append(Target("online, all decisions", "s", slowest, must=5.0))
    if optimum:
        known_by = [known_after(row) for row in optimum]
        after = None if None in known_by else max(x for x in known_by if x is not None)
        gaps = [row["gap"] if row["level"] == Level.CERTIFIED else None for row in optimum]
        worst = None if None in gaps else max(x for x in gaps if x is not None)
        minutes = f"after {number(optimum[0]['time_limit'])} s"
        targets += [
            Target("schedule and certified bound known", "s", after, must=60 * MINUTES),
            Target(f"certified gap {minutes}, worst", "%", worst, aim=0.10),
        ]
    return Summary(("what", "instance", "time", "memory", "value", "bound", "gap"), lines, targets)


BENCHMARK = Benchmark(
    "oasis_large",
    "Ten times the paper's scale",
    "Does it still work, within 4 GiB of memory?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=1, time_limit=60 * MINUTES)
    p.add_argument("--what", nargs="+", choices=list(METHODS), default=list(METHODS))
    add_sizes(p, jobs=1000, slots=300, machines=1000)
    options = parse(p, __file__, argv)
    cells = [
        {
            "what": what,
            "preset": preset,
            "seed": seed,
            **sizes(options),
            **({"time_limit": options.time_limit} if what == "optimum" else {}),
        }
        for what, seed, preset in product(options.what, range(options.seeds), options.presets)
    ]
    return BENCHMARK.run(cells, measure, options, keep=lambda row: row["what"] not in options.what)


if __name__ == "__main__":
    main()
