"""What campaigns cost: overhead per cell, thousands of cells, two processes, a worker's start.

    python benchmarks/campaigns.py                     (about half an hour, on an idle machine)
    python benchmarks/campaigns.py --only overhead

Needs the extras `dask` and `benchmarks` (joblib).
"""

from __future__ import annotations

import os
import resource
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from bench import Benchmark, Row, Summary, Target, parse, parser
from campaigning import Plan, bags, cluster, command_line, in_folder, in_parts, start

from optsched import campaign
from optsched.experiments.campaign import status
from optsched.experiments.cells import CellTask
from optsched.experiments.plan import make_plan
from optsched.experiments.store import CellState
from optsched.problem import family_names

METHODS = {
    "overhead": "small bags of tasks, 2 policies, 5 replications. Time on two cores less that of a "
    "plain loop over the same cells in one process, per cell; starts of processes included. Of "
    "CPU: what all processes have spent beyond the loop's",
    "plain loop": "no store, no processes: what the cells alone take",
    "local": "`campaign(workers=2)`: every row in the store, on the disk",
    "dask": "`campaign(dask=...)`, two workers: chunks of about a second",
    "joblib": "`Parallel(n_jobs=2)`, its defaults; the rows are thrown away",
    "dask, a task per cell": "`Client.map`, two workers; the rows are thrown away",
    "many": "preset `small` of oasis, 10 policy settings, 2 processes; closed: at level certified",
    "store": "bags of tasks, 4 policies, 5 replications; status: the command, start included",
    "speedup": "preset `small` of oasis, all policies, optima of at most a second; time with one "
    "against that with two",
    "start": "one cell of the first policy, whose optimum is known: CPU time of a worker's life",
}
SETTINGS = (  # ten policies of oasis
    {"name": "oasis", "grid": {"L_floor": [0.0, 0.01], "U_factor": [1.0, 2.0]}},
    {"name": "fifo", "grid": {"most_workers": [10, 30]}},
    {"name": "drf"},
    {"name": "rrh"},
    {"name": "dorm", "grid": {"theta1": [0.5, 1.0]}},
)
EFFORT = 1000  # for an optimum, where two processes are to share the work
HOW = ("plain loop", "local", "dask", "joblib", "dask, a task per cell")


def small(seeds: int, *policies: str) -> Plan:
    """Return a plan of small bags of tasks, five replications each."""
    return bags(seeds, *policies, replications=5)


def tasks(plan: Plan) -> Iterator[CellTask]:
    """Yield optima and cells of a plan, each for itself."""
    for case in make_plan(plan, Path()).cases():
        yield CellTask(case.key, case.source, case.seed, case.reference)
        for cell in case.cells:
            yield CellTask(
                *(case.key, case.source, case.seed, case.reference, cell.key, cell.contender),
                policy_seed=cell.seed,
                replication=cell.replication,
            )


def compute(task: CellTask) -> object:
    """Return what comes of a task; for pools that are handed functions."""
    return task.compute()


def overhead(cell: Row, folder: Path) -> Row:
    """Compute the same cells in some way."""
    plan = small(cell["instances"], "fifo", "local-share")
    requested = list(tasks(plan))
    requested[0].compute()  # what is imported at the first cell is not part of the plain loop
    how: dict[str, Callable[[], object]] = {
        "plain loop": lambda: [task.compute() for task in requested],
        "local": lambda: campaign(make_plan(plan, folder), folder / "store", workers=2),
        "joblib": lambda: _joblib(requested),
    }
    if cell["how"] in how:
        return {"cells": 10 * cell["instances"], **_timed(how[cell["how"]], [])}
    with cluster(folder, 2) as made:
        how = {
            "dask": lambda: campaign(make_plan(plan, folder), folder / "store", dask=made.address),
            "dask, a task per cell": lambda: _tasks(made.address, requested),
        }
        others = [process.pid for process in (made.scheduler, *made.workers)]
        return {"cells": 10 * cell["instances"], **_timed(how[cell["how"]], others)}


def _timed(work: Callable[[], object], others: Sequence[int]) -> Row:
    """Return the time that something takes, and the CPU time, that of ``others`` included."""

    def spent() -> float:
        found = 0.0
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
            usage = resource.getrusage(who)
            found += usage.ru_utime + usage.ru_stime
        for pid in others:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return found

    before, began = spent(), time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "cpu": spent() - before}


def _joblib(requested: Sequence[CellTask]) -> None:
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    Parallel(n_jobs=2)(delayed(compute)(task) for task in requested)
    get_reusable_executor().shutdown(wait=True)


def _tasks(address: str, requested: Sequence[CellTask]) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.gather(client.map(compute, requested, pure=False))


def many(cell: Row, folder: Path) -> Row:
    """Run thousands of cells whose optima close."""
    plan = {
        "instances": [{"family": "oasis", "preset": "small", "seeds": cell["instances"]}],
        "policies": list(SETTINGS),
    }
    began = time.perf_counter()
    start(plan, folder, workers=2).wait()
    found = status(folder / "store")
    return {
        "cells": found.cells,
        "seconds": time.perf_counter() - began,
        "closed": found.count(CellState.DONE),
        "errors": found.count(CellState.ERROR),
        "certified": _certified(folder / "store"),
    }


def _certified(store: Path) -> int:
    """Return how many cells have an optimum that is certified."""
    from optsched.experiments.campaign import Campaign

    table = Campaign(store).table()
    return int(((table["status"] == "done") & (table["bound_level"] == "certified")).sum())


def store(cell: Row, folder: Path) -> Row:
    """Run very many small cells; weigh the store and request its status."""
    plan = small(cell["instances"], "fifo", "local-share", "adaptive", "naive")
    start(plan, folder, workers=2).wait()
    times = []
    for _ in range(3):
        began = time.perf_counter()
        done = command_line("campaign", "status", "store", folder=folder)
        times.append(time.perf_counter() - began)
    return {
        "cells": status(folder / "store").done,
        "megabytes": (folder / "store").stat().st_size / 1e6,
        "seconds": sorted(times)[1],
        "status": done.returncode,
    }


def speedup(cell: Row, folder: Path) -> Row:
    """Run the same cells with one and with two, of processes or of Dask's workers."""
    block = {"family": "oasis", "preset": "small", "seeds": cell["instances"]}
    # no optimum takes so long that the last one, which nobody can share, decides
    plan = {"instances": [block | {"reference": {"effort": cell["effort"]}}]}
    times = []
    for n in (1, 2):
        (folder / str(n)).mkdir()
        place = folder / str(n)
        if cell["how"] == "dask":
            with cluster(folder, n) as made:
                began = time.perf_counter()
                start(plan, place, dask=made.address).wait()
                times.append(time.perf_counter() - began)
        else:
            began = time.perf_counter()
            start(plan, place, workers=n).wait()
            times.append(time.perf_counter() - began)
    return {"cells": status(place / "store").done, "one": times[0], "two": times[1]}


def begin(cell: Row, folder: Path) -> Row:
    """Have a worker compute one cell; return the CPU time of its life, as the median of three."""
    block = {"family": cell["family"], "preset": "small"}
    spent = []
    for k in range(4):
        place = folder / f"store{k}"
        names = [{"name": name} for name in _policies(cell["family"])]
        campaign({"instances": [block], "policies": names[1:]}, place, workers=1)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        campaign({"instances": [block], "policies": names}, place, workers=1)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"cells": 1, "cpu": sorted(spent[1:])[1]}  # the first has compiled


def _policies(family: str) -> list[str]:
    from optsched.problem import get_family

    return list(get_family(family).policies)[:2]


PARTS: dict[str, Callable[[Row, Path], Row]] = {
    "overhead": overhead,
    "many": many,
    "store": store,
    "speedup": speedup,
    "start": begin,
}


def cells(options: Namespace) -> list[Row]:
    """Return the cells of the parts that are requested."""
    n = options.seeds
    found: dict[str, list[Row]] = {
        "overhead": [{"how": how, "instances": n // 2} for how in HOW],
        "many": [{"instances": n}],
        "store": [{"instances": 5 * n}],
        "speedup": [
            {"how": how, "instances": n // 5, "effort": EFFORT} for how in ("local", "dask")
        ],
        "start": [{"family": family} for family in family_names()],
    }
    return in_parts(found, options.only)


def summarize(rows: list[Row]) -> Summary:
    """Return a line per row, and what was requested."""
    by = {part: [row for row in rows if row["part"] == part] for part in PARTS}
    extra = _overheads(by["overhead"])
    lines = [
        [part, row.get("how") or row.get("family") or "", row["cells"], _throughput(row, extra)]
        for part, mine in by.items()
        for row in mine
    ]
    targets = []
    for how, what, must, aim in (("local", "local", 3, 1), ("dask", "Dask, chunks", 5, 2)):
        if how in extra:
            targets.append(Target(f"overhead per cell: {what}", "ms", extra[how][0], must, aim))
    for row in by["many"]:
        minutes = row["seconds"] / 60
        targets.append(Target(f"{row['cells']} cells of oasis small", "min", minutes, 12, 5))
        open_ = row["cells"] - row["certified"]
        targets.append(Target("of which not closed at level certified", "", open_, 0))
    for row in by["store"]:
        targets.append(Target(f"{row['cells']} cells: store", "MB", row["megabytes"], 60, 30))
        targets.append(Target(f"{row['cells']} cells: status", "s", row["seconds"], 2, 0.5))
    for row in by["speedup"]:
        what = "two Dask workers" if row["how"] == "dask" else "two processes"
        times = row["one"] / row["two"]
        targets.append(Target(f"{what} against one", "times", times, 1.7, 1.9, at_least=True))
    if by["start"]:
        worst = max(row["cpu"] for row in by["start"])
        targets.append(Target("a worker's start to its first cell", "s CPU", worst, 2, 1))
    return Summary(("part", "how", "cells", "found"), lines, targets)


def _overheads(rows: list[Row]) -> dict[str, tuple[float, float]]:
    """Return the milliseconds per cell beyond the plain loop's: on two cores, and of CPU."""
    loop = next((row for row in rows if row["how"] == "plain loop"), None)
    if loop is None:
        return {}
    return {
        row["how"]: (
            1e3 * (2 * row["seconds"] - loop["seconds"]) / row["cells"],
            1e3 * (row["cpu"] - loop["cpu"]) / row["cells"],
        )
        for row in rows
        if row["how"] != "plain loop"
    }


def _throughput(row: Row, extra: dict[str, tuple[float, float]]) -> str:
    """Return what was found, in a phrase."""
    part = row["part"]
    if part == "overhead":
        wall, cpu = extra.get(row["how"], (0.0, 0.0))
        more = f", {wall:.2f} ms per cell, {cpu:.2f} ms of CPU" if row["how"] in extra else ""
        return f"{row['seconds']:.1f} s{more}"
    if part == "many":
        return f"{row['seconds']:.0f} s, {row['certified']} certified, {row['errors']} errors"
    if part == "store":
        return f"{row['megabytes']:.1f} MB, status {row['seconds']:.2f} s"
    if part == "speedup":
        return f"{row['one']:.1f} s with one, {row['two']:.1f} s with two"
    return f"{row['cpu']:.2f} s CPU"


BENCHMARK = Benchmark(
    name="campaigns",
    title="What campaigns cost",
    question="How much time and space does a campaign take besides its cells?",
    methods=METHODS,
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=1000)
    p.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    options = parse(p, __file__, argv)
    os.environ["OPTSCHED_CACHE"] = os.devnull  # no optimum is remembered
    measure = partial(in_folder, PARTS)
    return BENCHMARK.run(
        cells(options), measure, options, lambda row: row["part"] not in options.only
    )


if __name__ == "__main__":
    main()
