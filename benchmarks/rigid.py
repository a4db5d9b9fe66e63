"""Time and gap of family `rigid`: logs as they were recorded, ten jobs, policies on long logs.

    python benchmarks/rigid.py --hpc2n HPC2N.swf.gz --nasa NASA-iPSC.swf.gz --lcg LCG.swf.gz

The first 1,000 jobs of HPC2N run on a pool of 240 and of 100 processors (without those that are
wider, and without memory), 10,000 jobs of other logs on as many processors as the log used at once.
Ten jobs of preset `lublin` are closed by `auto` and by CP-SAT in turn. Policies schedule 100,000
jobs of it.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench import Benchmark, Row, Summary, Target, parse, parser

import optsched
from optsched.families.rigid.instance import Machine, RigidInstance
from optsched.problem import Level, Status, Window, get_family

RIGID = get_family("rigid")
LOGS = ("hpc2n", "nasa", "lcg")
HPC2N = {240: (0.05, 0.02), 100: (0.18, 0.08)}  # processors: gap, must and aim
LONG = 100_000
POLICIES = ("easy", "conservative")


def cells(options: Namespace) -> Iterator[Row]:
    """Yield one measurement after the other."""
    for log in LOGS:
        path = getattr(options, log)
        if path is None:
            continue
        file = str(path)
        if log == "hpc2n":
            for processors in HPC2N:
                yield {
                    "part": log,
                    "jobs": 1000,
                    "processors": processors,
                    "limit": 60.0,
                    "file": file,
                }
        else:
            yield {"part": log, "jobs": 10_000, "processors": None, "limit": 600.0, "file": file}
    for seed in range(options.seeds):
        yield {"part": "ten jobs", "jobs": 10, "seed": seed, "limit": 10.0}
    for policy in POLICIES:
        yield {"part": policy, "jobs": LONG, "seed": 0}


def read(cell: Row) -> RigidInstance:
    """Return the beginning of a log, on so many processors."""
    inst: RigidInstance = RIGID.open_trace(Path(cell["file"]), Window(jobs=cell["jobs"]))
    if cell["processors"] is None:
        return inst
    jobs = (job.model_copy(update={"need": job.need[:1]}) for job in inst.jobs)
    fit = tuple(job for job in jobs if job.tasks * job.need[0] <= cell["processors"])
    pool = Machine(capacity=(cell["processors"],))
    return RigidInstance(resources=inst.resources[:1], machines=(pool,), jobs=fit)


def measure(cell: Row) -> Row:
    """Solve, or run the policy."""
    if "limit" not in cell:
        inst = RIGID.generate("lublin", seed=cell["seed"], jobs=cell["jobs"])
        began = time.perf_counter()
        run = optsched.simulate(inst, cell["part"])
        return {"value": run.value, "seconds": time.perf_counter() - began}
    if cell["part"] == "ten jobs":
        inst = RIGID.generate("lublin", seed=cell["seed"], jobs=cell["jobs"])
        mine = optsched.solve(inst, time_limit=cell["limit"])
        other = optsched.solve(inst, method="cpsat", time_limit=cell["limit"])
        proved = mine.status is Status.OPTIMAL and mine.bound_level is Level.CERTIFIED
        return {"closed": proved, "seconds": mine.seconds, "cpsat": other.seconds}
    inst = read(cell)
    found = optsched.solve(inst, time_limit=cell["limit"], threads=2)
    gap = 1 - found.certified_bound / found.value
    return {
        "value": found.value,
        "bound": found.certified_bound,
        "gap": gap,
        "seconds": found.seconds,
    }


def summarize(rows: list[Row]) -> Summary:
    """Return a line per log, policy, and for all instances of ten jobs."""
    lines, targets = [], []
    for row in rows:
        jobs, processors = row["jobs"], row.get("processors") or ""
        if "gap" in row:
            must, aim = HPC2N[processors] if processors else (0.12, 0.06)
            name = f"{row['part']}, {jobs} jobs" + (
                f", {processors} processors" if processors else ""
            )
            targets.append(Target(f"{name}: certified gap", "%", row["gap"], must, aim))
            hours = (round(row["value"] / 3600, 3), round(row["bound"] / 3600, 3))
            lines.append(
                [row["part"], jobs, processors, *hours, round(100 * row["gap"], 2), row["seconds"]]
            )
        elif row["part"] in POLICIES:
            targets.append(Target(f"{row['part']}, {jobs} jobs", "s", row["seconds"], 60, 15))
            lines.append(
                [row["part"], jobs, "", round(row["value"] / 3600, 3), "", "", row["seconds"]]
            )
    ten = [row for row in rows if row["part"] == "ten jobs"]
    if ten:
        closed = sum(row["closed"] for row in ten) / len(ten)
        speed = median(row["cpsat"] / row["seconds"] for row in ten)
        targets.append(Target("ten jobs: certified in 10 s", "%", closed, 0.95, 1, at_least=True))
        targets.append(
            Target("ten jobs: CP-SAT's time / ours, median", "", speed, 2, 5, at_least=True)
        )
        lines.append(["ten jobs", 10, "", "", "", "", median(row["seconds"] for row in ten)])
    columns = ("part", "jobs", "processors", "mean flow, h", "bound, h", "gap, %", "s")
    return Summary(columns, lines, targets)


BENCHMARK = Benchmark(
    name="rigid",
    title="Rigid jobs",
    question="How close do schedule and certified bound come on recorded logs?",
    methods={
        "optsched": "`auto`, two threads on logs, one for ten jobs",
        "CP-SAT": "intervals and a cumulative constraint",
    },
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=40)
    for log in LOGS:
        p.add_argument(f"--{log}", type=Path, help="the log in SWF (default: not measured)")
    options = parse(p, __file__, argv)
    return BENCHMARK.run(list(cells(options)), measure, options)


if __name__ == "__main__":
    main()
