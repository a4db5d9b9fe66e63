"""Solve random instances of any size under a time limit, and look when `solve` returns.

Every size (jobs, slots, machines, chunks, epochs, ...) is drawn from six orders of magnitude, as
far as the instance can still be built. The method is drawn as well, half of the time `auto`. Each
solve has a process of its own. Time for compiling kernels does not count, as documented.

    python benchmarks/time_limits.py                 (500 instances, about an hour)
    python benchmarks/time_limits.py --seeds 15 --limits 0.5 2
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from bench import Benchmark, Row, Summary, Target, parse, parser

import optsched
from optsched.problem import Instance, family_names
from optsched.process import timing

LIMITS = (0.5, 2.0, 10.0)
ORDERS = 6
LARGEST = 10**5  # jobs, ports, nodes: each is an object
NODES = 2**16  # the most that family `rigid` takes
TABLE = 3 * 10**7  # numbers of a table of jobs and slots
MEMORY = 12 << 30  # bytes of address space of one solve
LINGER = 15.0  # seconds for which a thread that was left alone is watched
GIVEN_UP = 300.0  # seconds after which a solve is ended
MARK = "measured: "


def cells(options: Any) -> Iterator[Row]:
    """Yield one solve after the other: families in turn."""
    names = family_names()
    for seed in range(options.seeds):
        yield {
            "family": names[seed % len(names)],
            "seed": seed,
            "limit": options.limits[seed // len(names) % len(options.limits)],
        }


def size(rng: random.Random, most: int = 10**ORDERS) -> int:
    """Return a size from all orders of magnitude up to ``most``."""
    return min(most, round(10 ** rng.uniform(0, ORDERS)))


def drawn(family: str, rng: random.Random) -> tuple[Instance, Row]:
    """Return a random instance and its sizes."""
    if family == "bipartite":
        while True:
            names = ("slots", "ports", "machines")
            sizes = {name: size(rng, LARGEST) for name in names}
            edges = 10 * sizes["ports"] * sizes["machines"]
            if edges <= 10**7 and sizes["slots"] * sizes["ports"] <= 10**7:
                break
        return optsched.get_family(family).generate("paper", seed=0, **sizes), sizes
    if family == "bot":
        while True:
            sizes = {"nodes": 1 + size(rng, LARGEST), "applications": size(rng, LARGEST)}
            if sizes["nodes"] * sizes["applications"] <= TABLE:
                break
        return optsched.get_family(family).generate(seed=0, **sizes), sizes
    if family == "rigid":
        sizes = {name: size(rng) for name in ("jobs", "machines", "runs", "span")}
        sizes = {**sizes, "jobs": min(sizes["jobs"], LARGEST), "machines": size(rng, NODES)}
        content = _rigid(sizes, rng)
        return optsched.get_family(family).instance.model_validate(content), sizes
    while True:
        names = ("jobs", "slots", "machines", "chunks", "epochs", "batches")
        sizes = {name: size(rng) for name in names}
        sizes["jobs"] = min(sizes["jobs"], LARGEST)
        if sizes["jobs"] * sizes["slots"] <= TABLE and sizes["jobs"] * sizes["chunks"] <= TABLE:
            break
    content = TRAINING[family](sizes, rng)
    return optsched.get_family(family).instance.model_validate(content), sizes


def _jobs(sizes: Row, **more: Any) -> Iterator[Row]:
    for i in range(sizes["jobs"]):
        yield {
            "arrival": (i * 7919) % sizes["slots"],
            "epochs": sizes["epochs"],
            "chunks": sizes["chunks"],
            "gradient_mb": 30.0,
        } | {name: make(i) for name, make in more.items()}


def _group(count: int, name: str = "m") -> Row:
    return {"name": name, "count": count, "capacity": [4.0, 8.0]}


def _machines(count: int, name: str = "m") -> list[Row]:
    """Return machines in two classes, as far as there are two."""
    small = {"name": f"{name}s", "count": count // 2, "capacity": [3.0, 5.0]}
    return [_group(count - count // 2, name), *([small] if count > 1 else [])]


def _frame(sizes: Row, rng: random.Random) -> Row:
    return {
        "slot_seconds": 10 ** rng.uniform(0, 4),
        "horizon": sizes["slots"],
        "resources": ["a", "b"],
    }


def _oasis(sizes: Row, rng: random.Random) -> Row:
    target = rng.uniform(0, sizes["slots"])
    jobs = _jobs(
        sizes,
        batches_per_chunk=lambda _: sizes["batches"],
        batch_time=lambda i: 0.1 + i % 5,
        worker_bandwidth=lambda _: 1.0,
        ps_bandwidth=lambda _: 2.0,
        worker_demand=lambda _: [1.0, 2.0],
        ps_demand=lambda _: [1.0, 1.0],
        utility=lambda i: {
            "kind": "sigmoid",
            "scale": 50.0 + i % 17,
            "decay": 0.01,
            "target": target,
        },
    )
    machines = {f"{k}_machines": _machines(sizes["machines"], k) for k in ("worker", "ps")}
    return _frame(sizes, rng) | machines | {"jobs": list(jobs)}


def _dmlrs(sizes: Row, rng: random.Random) -> Row:
    jobs = _jobs(
        sizes,
        batches_per_chunk=lambda _: sizes["batches"],
        batch_time=lambda i: 0.1 + i % 5,
        inner_bandwidth=lambda _: 10.0,
        outer_bandwidth=lambda _: 1.0,
        ps_bandwidth=lambda _: 20.0,
        worker_demand=lambda _: [1.0, 2.0],
        ps_demand=lambda _: [1.0, 1.0],
        utility=lambda i: {"kind": "inverse", "scale": 50.0 + i % 17},
    )
    more = {"machines": _machines(sizes["machines"]), "locality": rng.choice(["job", "link"])}
    return _frame(sizes, rng) | more | {"jobs": list(jobs)}


def _completion(sizes: Row, rng: random.Random) -> Row:
    jobs = _jobs(
        sizes,
        batches_per_chunk=lambda _: sizes["batches"],
        weight=lambda i: 1.0 + i % 7,
        batch_time=lambda i: [0.1 + i % 5, 0.9],
        update_time=lambda _: [0.1],
    )
    return _frame(sizes, rng) | {
        "architecture": "ps",
        "enforce_horizon": rng.random() < 0.3,
        "servers": _machines(sizes["machines"]),
        "worker_types": [
            {"demand": [1.0, 2.0], "bandwidth": 1.0},
            {"demand": [2.0, 1.0], "bandwidth": 2.0},
        ],
        "ps_types": [{"demand": [1.0, 1.0], "bandwidth": 2.0}],
        "jobs": list(jobs),
    }


def _rigid(sizes: Row, rng: random.Random) -> Row:
    """Return parallel jobs: run times up to ``runs`` seconds, arrivals within ``span`` seconds."""
    most = sizes["machines"] if rng.random() < 0.5 else min(sizes["machines"], 8)
    jobs = [
        {
            "arrival": rng.randrange(sizes["span"]),
            "run": (run := rng.randint(1, sizes["runs"])),
            "request": run * rng.randint(1, 5),
            "tasks": min(most, size(rng)),
            "need": [1],
            "weight": rng.choice([1, 1, 7]),
        }
        for _ in range(sizes["jobs"])
    ]
    return {
        "resources": ["cores"],
        "packed": rng.random() < 0.3,
        "objective": rng.choice(["flow", "wait", "slowdown", "makespan"]),
        "machines": [{"name": "m", "count": sizes["machines"], "capacity": [1]}],
        "jobs": jobs,
    }


TRAINING = {"oasis": _oasis, "dmlrs": _dmlrs, "completion": _completion}


def solve_one(cell: Row) -> Row:
    """Draw the instance of a cell, solve it, and return what came of it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rng = random.Random(cell["seed"])
    while True:
        try:
            instance, sizes = drawn(cell["family"], rng)
            break
        except ValueError:  # larger than an input may be
            continue
    methods = optsched.get_family(cell["family"]).methods
    method = "auto" if rng.random() < 0.5 else rng.choice(sorted(methods))
    threads = set(threading.enumerate())
    began, compiled = time.perf_counter(), timing.stopped()
    row: Row = {"sizes": sizes, "method": method}
    try:
        found = optsched.solve(instance, method=method, time_limit=cell["limit"])
    except optsched.InputError as err:  # the method is not for such an instance
        return row | {"refused": str(err), "seconds": 0.0, "overshoot": 0.0, "linger": 0.0}
    seconds = time.perf_counter() - began - (timing.stopped() - compiled)
    row |= found.summary() | {"seconds": seconds, "reported": found.seconds}
    began = time.perf_counter()
    for thread in set(threading.enumerate()) - threads:
        thread.join(max(0.0, LINGER - (time.perf_counter() - began)))
    row["linger"] = time.perf_counter() - began
    return row | {"overshoot": max(0.0, seconds - cell["limit"])}


def measure(cell: Row) -> Row:
    """Solve the instance of a cell in a process of its own."""
    command = [sys.executable, __file__, "--cell", json.dumps(cell)]
    failed: Row = {"seconds": 0.0, "overshoot": GIVEN_UP, "linger": 0.0}
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=GIVEN_UP, check=False)
    except subprocess.TimeoutExpired:
        return failed | {"failed": "ended after five minutes"}
    lines = [line for line in ran.stdout.splitlines() if line.startswith(MARK)]
    if not lines:
        return failed | {"failed": f"status {ran.returncode}: {ran.stderr[-2000:]}"}
    row: Row = json.loads(lines[0].removeprefix(MARK))
    return row | ({"failed": f"status {ran.returncode}"} if ran.returncode else {})


def summarize(rows: list[Row]) -> Summary:
    """Return a line per family and limit."""
    lines = []
    for family in family_names():
        for limit in sorted({r["limit"] for r in rows}):
            mine = [r for r in rows if (r["family"], r["limit"]) == (family, limit)]
            if mine:
                late = sorted(r["overshoot"] for r in mine)
                over = sum(x > 1.0 for x in late), sum(x > 2.0 for x in late)
                failed = sum("failed" in r for r in mine)
                misreported = sum(
                    abs(r["reported"] - r["seconds"]) > 0.1 for r in mine if "reported" in r
                )
                longest = max(r["linger"] for r in mine)
                middle = late[len(late) // 2]
                lines.append(
                    [
                        family,
                        limit,
                        len(mine),
                        middle,
                        late[-1],
                        *over,
                        failed,
                        misreported,
                        longest,
                    ]
                )
    targets = (
        Target("largest overshoot", "s", max(r["overshoot"] for r in rows), must=2.0, aim=1.0),
        Target("solves that failed", "", sum("failed" in r for r in rows), must=0),
    )
    columns = ("family", "limit, s", "solves", "overshoot: median, s", "largest, s")
    more = ("above 1 s", "above 2 s", "failed", "another time reported", "thread left for, s")
    return Summary((*columns, *more), lines, targets)


BENCHMARK = Benchmark(
    name="time_limits",
    title="Time limits on instances of any size",
    question="How long after its limit does `solve` return?",
    methods={
        "solves": "`solve(instance, method=, time_limit=)`; the method is `auto` half of the time, "
        "else drawn; all sizes are drawn from six orders of magnitude (objects: five)",
        "overshoot": "seconds from call to return, without those for compiling, beyond the limit",
        "thread left for": "seconds until the thread ended that the method runs in; at most 15",
    },
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=500)
    p.add_argument("--limits", nargs="+", type=float, default=LIMITS)
    p.add_argument("--processes", type=int, default=1)
    options = parse(p, __file__, argv)
    return BENCHMARK.run(list(cells(options)), measure, options, processes=options.processes)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--cell"]:
        print(MARK + json.dumps(solve_one(json.loads(sys.argv[2])), default=str), flush=True)
    else:
        main()
