"""Whole traces: ten thousand jobs, a bound at every second.

    python benchmarks/large.py                  (about six hours)
    python benchmarks/large.py --part gap       (one part; the others stay as stored)

make    generate, trace and show large instances: see `traces.py`
online  all decisions of OASiS, PD-ORS and A_online
gap     the certified gap after ten minutes; when the first bound stood, and the first with prices;
        the most memory; what `optsched verify` takes. One row of each family is at load 1
month   the same for jobs of a real trace as they were, on the machines that they ran on (`--trace`)
limit   by how much `time_limit=10` is exceeded, by every method, judge and check included
minute  certified gaps of ordinary instances after a minute
growth  seconds until a gap is reached, by jobs; stores a picture as well

Processor time is that of a process; memory is the most that it held, import included. Whatever is
compiled on the way counts as processor time, and for no limit.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import traces
from bench import Benchmark, Row, finite, megabytes, parse, parser, watched
from large_rows import cells
from large_tables import picture, summarize

from optsched.core import solve
from optsched.drawing import save
from optsched.files.format import load_instance, save_instance
from optsched.problem import get_family
from optsched.process import timing
from optsched.results.load import load_run
from optsched.results.result import save_result

PATIENCE = 5.0  # times its limit and two minutes, after which a run is stopped
DRAWN = ("jobs", "slots", "machines", "load", "speeds")  # what `generate` is told
MACHINES = "gpu,cpu,memory_gb,count\n8,64,512,231\n2,16,128,321\n"
"""Of Philly: its `cluster_machine_list` has 231 machines with 8 GPUs and 321 with 2, 2490 in all.

Cores and memory are made up, and nobody in the trace requests them. The utilization log of the same
release has machines of other sizes (msr-fiddle/philly-traces, issue 8): the list is what was
published, and may not be what jobs ran on.
"""


class Bench:
    """Measures cells; keeps the last instance for those that come next."""

    def __init__(self, folder: Path, trace: Path | None) -> None:
        self.folder, self.trace = folder, trace
        self.drawn: Row | None = None
        self.load: float | None = None

    def measure(self, cell: Row) -> Row:
        """Measure a cell."""
        if cell["part"] == "make":
            return traces.measure({k: v for k, v in cell.items() if k != "part"})
        found = PARTS[cell["part"]](self, cell)
        return found if self.load is None else {"offered_load": self.load} | found

    def instance(self, cell: Row) -> Path:
        """Return the file of the instance of a cell."""
        path = self.folder / "instance.json"
        wanted = {k: cell[k] for k in ("family", "preset", "seed", *DRAWN) if k in cell}
        if wanted != self.drawn:
            family = get_family(cell["family"])
            how = {k: v for k, v in wanted.items() if k != "family"}
            save_instance(family.generate(how.pop("preset"), **how), path)
            loads = "offered load" in family.describe(load_instance(path))
            self.drawn, self.load = wanted, traces.load_of(family.name, path) if loads else None
        return path

    def online(self, cell: Row) -> Row:
        """Let a policy decide."""
        run = self.folder / "run.json"
        path, policy = str(self.instance(cell)), ["--policy", cell["policy"]]
        row = watched(["run", path, *policy, "-o", str(run)], self.folder)
        found = load_run(run)
        return row | {"decisions": found.seconds, "slowest": found.slowest, "value": found.value}

    def gap(self, cell: Row) -> Row:
        """Solve, and verify what came of it."""
        path, result = self.instance(cell), self.folder / "result.json"
        row = _apart(path, {"time_limit": cell["time_limit"]}, result)
        verified = watched(["verify", str(result)], self.folder)
        return row | {f"verify_{k}": verified[k] for k in ("cpu", "seconds", "megabytes")}

    def month(self, cell: Row) -> Row:
        """Solve jobs of a trace as they were."""
        assert self.trace is not None  # or there is no such cell
        machines = self.folder / "machines.csv"
        machines.write_text(MACHINES)
        size = ["--jobs", cell["jobs"], "--slot-length", cell["slot"], "--horizon", cell["slots"]]
        size += ["--start", cell["start"]]
        how = ["--family", cell["family"], "--machines", machines, "--no-scaling", *size]
        path = self.folder / "month.json"
        watched(["trace", *map(str, [self.trace, *how, "-o", path])], self.folder)
        self.load = traces.load_of(cell["family"], path)
        row = _apart(path, {"time_limit": cell["time_limit"]}, None)
        few = row["value"] is None or row["bound"] is None or row["value"] <= 0
        return row | {"spread": None if few else row["bound"] / row["value"]}

    def limit(self, cell: Row) -> Row:
        """Solve by a method within a time."""
        how = {"method": cell["method"], "time_limit": cell["time_limit"]}
        row = _apart(self.instance(cell), how, None)
        return row | {"over": max(0.0, row["wall"] - row["compiling"] - cell["time_limit"])}

    def minute(self, cell: Row) -> Row:
        """Solve within a minute."""
        how = {k: cell[k] for k in ("time_limit", "threads") if k in cell}
        return _apart(self.instance(cell), how, None)

    def growth(self, cell: Row) -> Row:
        """Solve until a gap is reached."""
        how = {"time_limit": cell["time_limit"], "gap": cell["gap_limit"]}
        row = _apart(self.instance(cell), how, None)
        reached = row["gap"] is not None and row["gap"] <= cell["gap_limit"]
        return row | {"reached": row["seconds"] if reached else None}


PARTS: Mapping[str, Callable[[Bench, Row], Row]] = {
    name: getattr(Bench, name) for name in ("online", "gap", "month", "limit", "minute", "growth")
}


def _apart(path: Path, how: Row, result: Path | None) -> Row:
    """Solve an instance in a fresh process; stop it where it does not end by itself."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(path, how, result, theirs))
    process.start()
    theirs.close()
    most = PATIENCE * how["time_limit"] + 120.0
    try:
        if ours.poll(most):
            row: Row = ours.recv()
            return row
        process.kill()
        nothing = ("value", "bound", "gap", "first_bound", "first_priced", "cpu", "megabytes")
        none = dict.fromkeys(nothing)
        return none | {"wall": most, "seconds": most, "compiling": 0.0, "killed": True}
    except EOFError as err:
        raise RuntimeError(f"the process died: {path.name}, {how}") from err
    finally:
        process.join()


def _child(path: Path, how: Row, result: Path | None, pipe: Connection) -> None:
    row = solved(path, how, result)
    used = resource.getrusage(resource.RUSAGE_SELF)
    pipe.send(row | {"megabytes": megabytes(used)})
    pipe.close()


def solved(path: Path, how: Row, result: Path | None) -> Row:
    """Solve an instance, in this process, and store what was found."""
    inst = load_instance(path)
    opening = get_family(inst.family).opening
    free = None if opening is None else opening(inst)[0]  # no prices
    began, worked = time.perf_counter(), time.process_time()
    found = solve(inst, **how)
    wall, cpu = time.perf_counter() - began, time.process_time() - worked
    if result is not None:
        save_result(result, inst, found)
    bounds = [(p.seconds, p.bound) for p in found.history if p.bound is not None]
    return {
        "value": found.value,
        "bound": found.certified_bound,
        "gap": finite(found.certified_gap),
        "first_bound": bounds[0][0] if bounds else None,
        "first_priced": next((s for s, bound in bounds if bound != free), None),
        "seconds": found.seconds,
        "wall": wall,
        "compiling": timing.stopped(),
        "cpu": cpu,
    }


BENCHMARK = Benchmark(
    "large",
    "Whole traces",
    "Does it work for ten thousand jobs, and is there a bound at every second?",
    {
        "online": "`optsched run FILE --policy ...`",
        "gap": '`solve(method="auto", threads=1, seed=0, check="certified")` in a fresh process; '
        "then `optsched verify` of its file",
        "month": "`optsched trace FILE --no-scaling`, then the same; of the machines, 231 have 8 "
        "GPUs and 321 have 2",
        "limit": "the wall clock of `solve(method=..., time_limit=10)`, judge and check included; "
        "not compiling and reading the file",
        "minute": "`solve(time_limit=60)`; in `oasis` and `completion`, where all threads search, "
        "with `threads=2`",
        "growth": "`solve(gap=...)`; the line through the logarithms gives the exponent",
    },
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure, store, draw."""
    p = parser(__doc__, time_limit=600.0, short=10.0)
    parts = ["make", *PARTS]
    p.add_argument("--part", nargs="+", choices=parts, default=parts)
    p.add_argument("--trace", type=Path, help="jobs of a cluster, for part month")
    p.add_argument("--month", type=int, default=720, help="slots of an hour, for part month")
    p.add_argument("--start", default="0", help="where it begins, for part month")
    options = parse(p, __file__, argv)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.trace)
        todo = list(cells(options))
        content = BENCHMARK.run(
            todo, bench.measure, options, keep=lambda row: row["part"] not in options.part
        )
    if content["figures"]["growth"]:
        save(picture(content["figures"]["growth"]), options.results / "large.png")
    return content


if __name__ == "__main__":
    main()
