"""What a campaign survives, and whether its statistics hold what they promise.

    python benchmarks/campaign_kills.py                       (about half an hour)
    python benchmarks/campaign_kills.py --only kills disk

Kills of the writer, of workers and of the whole group, some of them during a commit; full disks,
files that are read-only or locked, two runs on one store; policies that end, crash, hang or devour
their process; a Dask cluster whose worker and whose scheduler are killed; shards; the same rows
whatever computes them; and how often intervals hold the truth. Needs the extra `dask`, and Linux
with `unshare` for small and for read-only disks.
"""

from __future__ import annotations

import random
import subprocess
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench import Benchmark, Row, Summary, Target, parse, parser
from campaign_disks import SAID, TROUBLES
from campaign_statistics import SHARES, SKEWED, coverage, differ, skewed
from campaigning import (
    RUN,
    Plan,
    bags,
    calm,
    children,
    cluster,
    command_line,
    digest,
    in_folder,
    in_parts,
    kill,
    load,
    sound,
    start,
    starting,
    until,
    write_plan,
)
from poison import NAMES, begun, numbers

from optsched.experiments.campaign import merge, status
from optsched.experiments.store import CellState

KILLS = (("writer", "any"), ("worker", "any"), ("group", "any"), ("group", "commit"))
REASONS = {
    "Leaves": "its process ended itself with status 7; output: it was me (tried 3 times)",
    "Faults": "its process was ended by SIGSEGV (tried 3 times)",
    "Hangs": "it came to no end within 10 s",
    "Devours": "it needs more than 1 GB of memory",
    "Raises": "KeyError: 'no such thing'",
}
ORDERS = ((1, 2, 3, 4, 5, 6, 7, 7), (5, 6, 7, 1, 2, 3, 4, 1), (7, 3, 7, 6, 2, 5, 1, 4))
HOW = ("1 process", "2 processes", "dask")
MEDIUM = {  # how many small instances, which close; how many larger ones, and these
    "oasis": (1, 3, "paper", {"jobs": 20, "slots": 20, "machines": 10}),
    "dmlrs": (1, 3, "paper", {"jobs": 15, "slots": 15, "machines": 8}),
    "completion": (2, 2, "paper", {}),
    "bipartite": (2, 2, "paper", {}),
    "bot": (2, 2, "heterogeneous", {}),  # they close as well
}
POLICIES = {
    "oasis": ("oasis", "fifo", "drf"),
    "dmlrs": ("pd-ors", "fifo", "drf"),
    "completion": ("a_online", "fifo", "drf"),
    "bipartite": ("ogasched", "drf", "fairness"),
    "bot": ("adaptive", "local-share", "fifo"),
}
DIFFERENT = "the rows differ from those of an undisturbed run"


def kills(cell: Row, folder: Path) -> Row:
    """Kill a campaign again and again, then let it come to its end."""
    rng = random.Random(f"{cell['victim']} {cell['moment']}")
    store, journal = folder / "store", folder / "store-journal"
    wrong: list[str] = []
    killed = journals = again = seeds = 0
    plan: Plan = {}
    while killed < cell["kills"]:
        seeds += 60  # so that something is always left
        plan = bags(seeds, "poison:Counts", "fifo")
        before, first = _stored(store), len(begun("counts", folder))
        process = start(plan, folder, workers=2)
        while process.poll() is None and killed < cell["kills"]:
            _await(cell["moment"], journal, process, rng)
            found = children(process.pid)
            one = [rng.choice(found)] if found else []
            victims = {"writer": [process.pid], "worker": one, "group": [process.pid, *found]}
            if process.poll() is None:
                killed += kill(victims[cell["victim"]])
            if cell["victim"] != "worker":
                process.wait()
        process.wait()
        journals += journal.exists()
        wrong += _flaws(store, before)
        again += len(set(begun("counts", folder)[first:]) & before)
    start(plan, folder, workers=2).wait()
    wrong += _flaws(store, set()) + _differs(store, plan, folder)
    if again:
        wrong.append(f"{again} cells that were stored were run again")
    return {"killed": killed, "half_committed": journals, "cells": 2 * seeds, "wrong": wrong}


def _await(
    moment: str, journal: Path, process: subprocess.Popen[bytes], rng: random.Random
) -> None:
    """Wait for some moment, or for that of a commit."""
    if moment == "any":
        time.sleep(rng.uniform(0.0, 3.0))
        return
    for _ in range(rng.randint(1, 3)):
        until(lambda: not journal.exists() or process.poll() is not None, pause=0.0002)
        until(lambda: journal.exists() or process.poll() is not None, pause=0.0002)


def _stored(store: Path) -> set[int]:
    """Return the seeds of the cells of `counts` that are stored: they tell which cells."""
    if not store.exists() or not store.stat().st_size:
        return set()
    return {row["seed"] for row in numbers(store) if row["policy"] == "counts"}


def _flaws(store: Path, before: set[int]) -> list[str]:
    """Return what is wrong with a store whose writer is gone."""
    if not store.exists() or not store.stat().st_size:
        return []
    wrong = [] if sound(store) else ["the file is damaged"]
    found = status(store)
    if found.count(CellState.ERROR):
        wrong.append(f"{found.count(CellState.ERROR)} errors")
    if found.done != found.count(CellState.DONE, CellState.LIMIT, CellState.ERROR):
        wrong.append("cells that are neither done nor failed")
    if not before <= _stored(store):
        wrong.append("cells that were stored are gone")
    return wrong


def _differs(store: Path, plan: Plan, folder: Path) -> list[str]:
    return [] if numbers(store) == calm(plan, folder / "calm") else [DIFFERENT]


def disk(cell: Row, folder: Path) -> Row:
    """Run where the store cannot be written, then where it can."""
    plan = bags(150, "poison:Counts" if cell["what"] == "two runs" else "fifo", "local-share")
    write_plan(plan, folder / "plan.toml")
    done = TROUBLES[cell["what"]](folder)
    store, wrong = folder / "store", []
    if done.returncode != 2:
        wrong.append(f"exit status {done.returncode}")
    if done.stderr.count("\n") != 1 or SAID[cell["what"]] not in done.stderr:
        wrong.append(f"output: {done.stderr}")
    wrong += _flaws(store, set())
    kept = status(store).done
    again = command_line(*RUN, folder=folder)
    wrong += [f"afterwards: {again.stderr}"] if again.returncode else []
    wrong += _differs(store, plan, folder)
    return {"kept": kept, "cells": 300, "said": done.stderr.strip()[-200:], "wrong": wrong}


def poison(cell: Row, folder: Path) -> Row:
    """Run a policy that does harm next to two that do none."""
    names = NAMES if cell["policy"] == "all" else (cell["policy"],)
    limits = {"memory_gb": 1, "cell_seconds": 10}
    plan = bags(3, "fifo", "poison:Counts", *(f"poison:{n}" for n in names), limits=limits)
    write_plan(plan, folder / "plan.toml")
    done = command_line(*RUN, folder=folder)
    wrong = [] if done.returncode == 1 else [f"exit status {done.returncode}: {done.stderr}"]
    rows = numbers(folder / "store")
    for row in rows:
        name = row["policy"].removeprefix("poison:").capitalize()
        if name in names and REASONS[name] not in (row["message"] or ""):
            wrong.append(f"{name}: {row['message']}")
        if name not in names and row["status"] not in ("done", "limit"):
            wrong.append(f"{name}: {row['message']}")
    if len(rows) != 3 * (2 + len(names)):
        wrong.append(f"{len(rows)} rows")
    tries = Counter((n, seed) for n in names for seed in begun(n.lower(), folder))
    if tries and max(tries.values()) > 3:
        wrong.append(f"a cell was tried {max(tries.values())} times")
    return {"cells": len(rows), "tries": max(tries.values(), default=0), "wrong": wrong}


def dask(_cell: Row, folder: Path) -> Row:
    """Kill a worker of a Dask cluster, then its scheduler; start them again and go on."""
    plan, store, wrong = bags(300, "poison:Counts", "fifo"), folder / "store", []
    write_plan(plan, folder / "plan.toml")
    with cluster(folder, 2) as made:
        words = ("--dask", made.address)
        process = subprocess.Popen(**starting(*RUN, *words, folder=folder))
        until(lambda: len(begun("counts", folder)) > 60)
        made.workers[0].kill()
        until(lambda: len(begun("counts", folder)) > 120)
        made.scheduler.kill()
        _, output = process.communicate()
        if process.returncode != 2 or "scheduler is gone" not in output or output.count("\n") != 1:
            wrong.append(f"exit status {process.returncode}, its output: {output}")
        kept, first = _stored(store), len(begun("counts", folder))
        wrong += _flaws(store, set())
        made.close()
        made.begin(2)
        done = command_line("campaign", "resume", "store", "-q", *words, folder=folder)
        wrong += [f"afterwards: {done.stderr}"] if done.returncode else []
    again = len(set(begun("counts", folder)[first:]) & kept)
    wrong += _flaws(store, kept) + _differs(store, plan, folder)
    if again:
        wrong.append(f"{again} cells that were stored were run again")
    return {"kept": len(kept), "cells": 600, "wrong": wrong}


def shards(cell: Row, folder: Path) -> Row:
    """Run seven parts, and put them together in some order, one of them twice."""
    plan = bags(40, "fifo", "local-share")
    for k in sorted(set(cell["order"])):
        calm(plan, folder / f"part{k}", shard=(k, 7))
    merge(folder / "store", [folder / f"part{k}" for k in cell["order"]])
    return {
        "cells": 80,
        "wrong": _flaws(folder / "store", set()) + _differs(folder / "store", plan, folder),
    }


def equal(cell: Row, folder: Path) -> Row:
    """Run cells of all families, half of whose optima stay open, while both cores are busy."""
    plan = families(cell["times"], cell["effort"])
    write_plan(plan, folder / "plan.toml")
    hashing = {"PYTHONHASHSEED": str(HOW.index(cell["how"]) + 1)}
    with load(cell["busy"]):
        if cell["how"] == "dask":
            with cluster(folder, 2, **hashing) as made:
                done = command_line(*RUN, "--dask", made.address, folder=folder, **hashing)
        else:
            done = command_line(*RUN, "--workers", cell["how"][0], folder=folder, **hashing)
    wrong = [done.stderr] if done.returncode else []
    rows = numbers(folder / "store")
    return {
        "cells": len(rows),
        "open": sum(row["status"] == "limit" for row in rows),
        "digest": digest(folder / "store"),
        "wrong": wrong,
    }


def families(times: int, effort: int) -> Plan:
    """Return a plan of all families: 60 cells, half of whose optima stay open."""
    blocks, policies = [], []
    for family, (few, more, preset, parameters) in MEDIUM.items():
        blocks.append({"family": family, "preset": "small", "seeds": times * few})
        large = {"family": family, "preset": preset, "parameters": parameters}
        short = {"effort": effort, "gap": 0}
        blocks.append(large | {"seeds": times * more, "reference": short})
        policies += [{"name": name, "family": family} for name in POLICIES[family]]
    return {"instances": blocks, "policies": policies}


PARTS: dict[str, Callable[[Row, Path], Row]] = {
    "equal": equal,
    "kills": kills,
    "disk": disk,
    "poison": poison,
    "dask": dask,
    "shards": shards,
    "coverage": coverage,
    "skewed": skewed,
    "differ": differ,
}


def cells(options: Namespace) -> list[Row]:
    """Return the cells of the parts that are requested."""
    o = options
    found: dict[str, list[Row]] = {
        "equal": [{"how": h, "times": o.seeds, "effort": o.effort, "busy": o.busy} for h in HOW],
        "kills": [{"victim": v, "moment": m, "kills": -(-o.kills // 4)} for v, m in KILLS],
        "disk": [{"what": what} for what in SAID],
        "poison": [{"policy": name} for name in (*NAMES, "all")],
        "dask": [{"what": "a worker, then the scheduler killed"}],
        "shards": [{"order": list(order)} for order in ORDERS],
        "coverage": [
            {"open": share, "n": n, "repetitions": o.repetitions}
            for share in SHARES
            for n in (15, 40)
        ],
        "skewed": [
            {"ratios": name, "n": n, "repetitions": o.repetitions}
            for name in SKEWED
            for n in (10, 20, 60)
        ],
        "differ": [{"n": 20, "policies": k, "repetitions": o.repetitions} for k in (2, 4)],
    }
    return in_parts(found, options.only)


def summarize(rows: list[Row]) -> Summary:
    """Return a line per row; what must not be is counted."""
    by = {part: [row for row in rows if row["part"] == part] for part in PARTS}
    lines = [
        [part, *_counts(row), row.get("cells", row.get("repetitions")), len(row["wrong"])]
        for part, mine in by.items()
        for row in mine
    ]
    targets = [
        Target(f"{part}: what went wrong", "", sum(len(row["wrong"]) for row in mine), must=0)
        for part, mine in by.items()
        if mine and part not in ("coverage", "skewed", "differ")
    ]
    if by["equal"]:
        ways = len({row["digest"] for row in by["equal"]})
        targets.append(Target("equal: different tables", "", ways, must=1))
        half = min(row["open"] / row["cells"] for row in by["equal"])
        targets.append(Target("equal: cells with an open optimum", "%", half, 0.5, at_least=True))
    if by["kills"]:
        count = sum(row["killed"] for row in by["kills"])
        within = sum(row["half_committed"] for row in by["kills"])
        targets.append(Target("kills", "", count, must=30, at_least=True))
        targets.append(Target("kills during a commit", "", within, must=1, at_least=True))
    if by["coverage"]:
        least = min(row["held"] for row in by["coverage"])
        targets.append(
            Target("95 % intervals that hold the truth", "%", least, 0.93, at_least=True)
        )
    if by["skewed"]:
        exact = min(min(row["median"], row["share"]) for row in by["skewed"])
        missed = max(row["unmarked"] for row in by["skewed"])
        targets += [
            Target("skewed: exact intervals that hold", "%", exact, 0.94, at_least=True),
            Target("skewed: intervals of the mean that miss, unmarked", "%", missed, 0.15, 0.05),
        ]
    if by["differ"]:
        most = max(row["told"] for row in by["differ"])
        targets.append(Target("equal policies told apart", "%", most, 0.05))
    return Summary(("part", "what", "found", "cells", "wrong"), lines, targets)


def _counts(row: Row) -> tuple[str, str]:
    """Return what was done and what came of it."""
    part = row["part"]
    if part == "kills":
        what = f"{row['victim']}, " + (
            "during a commit" if row["moment"] == "commit" else "at any moment"
        )
        return what, f"{row['killed']} kills, {row['half_committed']} with a half commit"
    if part == "coverage":
        what = f"{row['open']:.0%} open, {row['n']} instances"
        return what, f"held {row['held']:.1%}; plain percentiles {row['percentiles']:.1%}"
    if part == "skewed":
        mean = f"mean: given {row['given']:.1%}, of these held {row['held']:.1%}, "
        mean += f"missed without a mark {row['unmarked']:.1%}; "
        return (
            f"{row['ratios']}, {row['n']} instances",
            f"{mean}median held {row['median']:.1%}, share above 2 {row['share']:.1%}",
        )
    if part == "differ":
        return f"{row['policies']} policies, {row['n']} instances", f"told apart {row['told']:.1%}"
    if part == "equal":
        return row["how"], f"{row['open']} with an open optimum, {row['digest']}"
    if part == "shards":
        return f"in the order {' '.join(map(str, row['order']))}", "merged"
    if part == "poison":
        return row["policy"], f"at most {row['tries']} tries"
    return row["what"], f"{row['kept']} cells were kept"


BENCHMARK = Benchmark(
    name="campaign_kills",
    title="What a campaign survives",
    question="What is lost, repeated or untrue after kills, full disks, poison; do intervals hold?",
    methods={
        "equal": "five families, half of the optima open, on one process, two, and Dask, each with "
        "another PYTHONHASHSEED while two more processes compute: all rows but times",
        "kills": "SIGKILL; then the file is sound, nothing stored is gone or run again, and the "
        "rows are those of an undisturbed run",
        "disk": "one line states what is wrong, and the same command goes on once that is over; "
        "full: a tmpfs of 96 kB; read-only: mounted so",
        "poison": "one row with its reason, all others done, at most three tries",
        "dask": "scheduler and two workers from the command line; `resume` with new ones",
        "shards": "seven, one of them twice, merged: the rows of one run",
        "coverage": "ratios 1 + Exp(0.3), optima open by up to 20 % on either side",
        "skewed": "ratios of which few are large: intervals of the mean, and which of them are "
        "marked; exact ones of the median and of the share above 2",
        "differ": "ratios that differ by chance alone; Wilcoxon and Holm at 5 %",
    },
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=1)
    p.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    p.add_argument("--kills", type=int, default=32)
    p.add_argument("--repetitions", type=int, default=2000)
    p.add_argument("--busy", type=int, default=2, help="processes that compute next to `equal`")
    p.add_argument("--effort", type=int, default=500, help="for optima that stay open")
    options = parse(p, __file__, argv)
    measure = partial(in_folder, PARTS)
    return BENCHMARK.run(
        cells(options), measure, options, lambda row: row["part"] not in options.only
    )


if __name__ == "__main__":
    main()
