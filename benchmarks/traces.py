"""What it takes to make and to look at large instances.

    python benchmarks/traces.py        (about 5 minutes)

Every row is a command in a process of its own, import included; processor time and memory are that
of the process. The trace is drawn: 100,000 jobs in 60 days whose running times have a long tail, in
the format of your own lists, with recorded starts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bench import Benchmark, Row, Summary, Target, parse, parser, watched

from optsched.problem import get_family

SLOTS = 500
PRESETS = {"oasis": "paper", "dmlrs": "contended", "completion": "paper"}
METHODS = {
    "generate": "`optsched generate FAMILY --preset paper|contended --jobs J --horizon 500 "
    "--machines M`",
    "at load 1": "the same with `--load 1` in place of the machines; `load` is what came out",
    "trace": "`optsched trace jobs.csv --family F --jobs J --horizon 500 --slot-length 1h "
    "--load L`, with the load that takes about M machines",
    "as is": "`optsched trace jobs.csv --machines machines.csv --no-scaling --jobs J "
    "--horizon 500`; M machines with 4 GPUs; what the cluster did is placed and written too",
    "show": "`optsched show jobs.csv` with all jobs and 100 slots",
}


def draw_trace(folder: Path, jobs: int, machines: int, seed: int) -> tuple[Path, Path]:
    """Write a list of jobs and a list of machines; return both paths."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 60 * 86400, jobs))
    start = submit + rng.exponential(1800, jobs).astype(int)
    run = np.minimum(rng.lognormal(7.5, 1.8, jobs), 5e5).astype(int) + 1
    tasks = rng.choice([1, 1, 1, 1, 2, 4, 8], jobs)
    lines = ["submit_seconds,start_seconds,run_seconds,tasks,gpu"]
    lines += [f"{a},{b},{c},{n},1" for a, b, c, n in zip(submit, start, run, tasks, strict=True)]
    (folder / "jobs.csv").write_text("\n".join(lines) + "\n")
    (folder / "machines.csv").write_text(f"gpu,cpu,memory_gb,count\n4,48,256,{machines}\n")
    return folder / "jobs.csv", folder / "machines.csv"


def command_of(cell: Row, folder: Path) -> list[str]:
    """Return the command of a cell, which writes ``made.json`` or prints JSON."""
    what, family, jobs, machines = (cell[n] for n in ("what", "family", "jobs", "machines"))
    made = ["-o", str(folder / "made.json")]
    if what in ("generate", "at load 1"):
        size = ["--load", "1"] if what == "at load 1" else ["--machines", str(machines)]
        drawn = ["--preset", PRESETS[family], "--jobs", str(jobs), "--seed", str(cell["seed"])]
        slots = [] if family == "completion" else ["--horizon", str(cell["slots"])]
        return ["generate", family, *drawn, *slots, *size, *made]
    whole = max(jobs, cell["listed"])
    paths = draw_trace(folder, whole, machines, cell["seed"])
    trace = [str(paths[0]), "--family", family, "--jobs", str(jobs), "--slot-length", "1h"]
    if what == "show":
        return ["show", *trace, "--horizon", str(cell["slots"]), "-q", "--json"]
    if what == "as is":
        return [
            "trace",
            *trace,
            "--machines",
            str(paths[1]),
            "--no-scaling",
            "--horizon",
            "500",
            *made,
        ]
    load = str(cell["load"])
    return ["trace", *trace, "--horizon", str(cell["slots"]), "--load", load, *made]


def measure(cell: Row) -> Row:
    """Run a command; return what it took, and what it made."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        row = watched(command_of(cell, folder), folder)
        if cell["what"] == "at load 1":
            row["load"] = load_of(cell["family"], folder / "made.json")
        return row


def load_of(family: str, path: Path) -> float:
    """Return the offered load of an instance file."""
    facts = get_family(family).describe(load(path))["offered load"]
    sides = facts.values() if all(isinstance(x, dict) for x in facts.values()) else [facts]
    return max(x for side in sides for x in side.values())


def load(path: Path) -> object:
    """Read an instance."""
    from optsched.files.format import load_instance

    return load_instance(path)


def cells(options: object) -> list[Row]:
    """Return what is measured, for every seed."""
    jobs, machines, listed = (getattr(options, n) for n in ("jobs", "machines", "listed"))
    found: list[Row] = []
    for seed in range(getattr(options, "seeds")):  # noqa: B009
        same = {"seed": seed, "machines": machines, "listed": listed, "slots": SLOTS}
        for family in PRESETS:
            few = jobs // 10 if family == "completion" else jobs
            found.append({"what": "generate", "family": family, "jobs": few, **same})
            found.append({"what": "at load 1", "family": family, "jobs": few, **same})
            found.append({"what": "trace", "family": family, "jobs": jobs, "load": 0.05, **same})
        found += [
            {"what": "as is", "family": family, "jobs": jobs, **same}
            for family in ("oasis", "dmlrs")
        ]
        found += [
            {"what": "show", "family": family, "jobs": listed, **same, "slots": 100}
            for family in ("oasis", "dmlrs")
        ]
    return found


def summarize(rows: list[Row]) -> Summary:
    """Return a line per command, and the slowest of each kind."""
    lines = []
    for key in dict.fromkeys((r["what"], r["family"], r["jobs"]) for r in rows):
        mine = [r for r in rows if (r["what"], r["family"], r["jobs"]) == key]
        figures = [max(r[n] for r in mine) for n in ("cpu", "seconds", "megabytes")]
        loads = ", ".join(f"{r['load']:.3g}" for r in mine if "load" in r and key[0] != "trace")
        lines.append([*key, *(round(x, 2) for x in figures), loads or "-"])

    def worst(*whats: str) -> float | None:
        return max((r["cpu"] for r in rows if r["what"] in whats), default=None)

    off = [abs(r["load"] - 1) for r in rows if r["what"] == "at load 1"]
    targets = (
        Target("`generate`, 10,000 jobs, 1000 machines", "s CPU", worst("generate"), 8, 5),
        Target("`trace` of 10,000 jobs, scaled", "s CPU", worst("trace"), 8, 5),
        Target("`trace --no-scaling` of 10,000 jobs, 1000 machines", "s CPU", worst("as is"), 8, 5),
        Target("`show` of a trace of 100,000 jobs", "s CPU", worst("show"), 15, 8),
        Target("`generate --load 1`: off by", "", max(off, default=None), 0.05, 0.02),
        Target("memory", "MB", max(r["megabytes"] for r in rows), 4096, 2048),
    )
    columns = ("what", "family", "jobs", "s CPU", "s", "MB", "load")
    return Summary(columns, lines, targets)


BENCHMARK = Benchmark(
    "traces",
    "Large instances and traces",
    "How long does it take to make and to look at large instances?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=1)
    p.add_argument("--jobs", type=int, default=10_000)
    p.add_argument("--machines", type=int, default=1000)
    p.add_argument("--listed", type=int, default=100_000, help="jobs of the list that is shown")
    options = parse(p, __file__, argv)
    return BENCHMARK.run(cells(options), measure, options)


if __name__ == "__main__":
    main()
