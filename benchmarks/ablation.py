"""What each mechanism of `auto` is good for: the same instances with it, and without it.

    python benchmarks/ablation.py                            (about an hour on one core)
    python benchmarks/ablation.py --kinds "oasis, Fig. 5"    (one kind; the others stay as stored)

All runs have one thread and a work limit, so that a busy machine changes nothing. A mechanism is
switched off by parameters. It stays if that costs more than one point of gap, three of fifty
instances closed, or a factor of 1.5 in work on some kind, for 600 lines of its code. Rows of
mechanisms that are gone were measured before they went, and are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import Benchmark, Row, Summary, Target, finite, parse, parser
from render import number

import optsched
from optsched.engine.interval import CLOSED
from optsched.problem import get_family


@dataclass(frozen=True)
class Kind:
    """Instances of a family, one per seed, all solved with the same work limit."""

    family: str
    sizes: Row  # of `generate`
    work: float = 30_000.0
    vary: tuple[str, tuple[int, ...]] | None = None  # a size that differs from seed to seed
    times: int = 1  # so many times the seeds, where most instances close
    changes: Row = field(default_factory=dict)  # what differs from what is generated


KINDS: Mapping[str, Kind] = {
    "oasis, paper": Kind("oasis", {"preset": "paper"}, work=60_000.0),
    "oasis, earnable": Kind("oasis", {"preset": "earnable"}, work=60_000.0),
    "oasis, Fig. 5": Kind(
        "oasis",
        {"preset": "paper", "jobs": 10, "slots": 10},
        vary=("machines", (20, 40, 60, 80, 100)),
        times=2,
    ),
    "oasis, 1000 jobs": Kind("oasis", {"preset": "earnable", "jobs": 1000}),
    "completion, small": Kind(
        "completion", {"preset": "small", "jobs": 6, "slots": 12}, work=10_000.0, times=5
    ),
    "completion, 10 jobs": Kind(
        "completion",
        {"preset": "mid", "jobs": 10, "slots": 20},
        vary=("machines", (4, 6, 8)),
        times=3,
    ),
    "completion, 15 jobs": Kind(
        "completion",
        {"preset": "mid", "jobs": 15, "slots": 30},
        vary=("machines", (6, 7, 8)),
    ),
    "completion, 100 jobs": Kind("completion", {"preset": "paper"}),
    "dmlrs, 10 jobs": Kind(
        "dmlrs",
        {"preset": "paper", "jobs": 10, "slots": 10, "g_unit": "Mbit"},
        vary=("machines", (4, 10)),
        times=3,
    ),
    "dmlrs, small": Kind("dmlrs", {"preset": "small"}),
    "dmlrs, small, link by link": Kind(
        "dmlrs",
        {"preset": "small", "jobs": 4},
        work=5_000.0,
        times=2,
        changes={"locality": "link"},
    ),
    "dmlrs, 100 jobs": Kind("dmlrs", {"preset": "contended"}),
    "rigid, 10 jobs": Kind("rigid", {"preset": "lublin", "jobs": 10}, work=10_000.0, times=5),
    "rigid, 1000 jobs": Kind("rigid", {"preset": "lublin", "jobs": 1000}),
}
ALL = "everything on"
UNIT, POINTS, CLOSINGS, FACTOR = 600, 1.0, 3, 1.5  # lines, and what this many must be good for


@dataclass(frozen=True)
class Mechanism:
    """What is switched off, and by what."""

    off: Mapping[str, Mapping[str, Any]]  # parameters, by component
    kinds: tuple[str, ...]  # on which it runs
    files: tuple[str, ...] = ()  # of its own, below the family's folder


LARGER = ("oasis, paper", "oasis, earnable")
FIG5 = ("oasis, Fig. 5",)
TEN, FIFTEEN = ("completion, 10 jobs",), ("completion, 15 jobs",)
MECHANISMS: Mapping[str, Mechanism] = {
    "dives on the configuration LP": Mechanism(
        {"auto": {"dives": False}}, LARGER, ("optimum/configuration_lp",)
    ),
    "search on single jobs before them": Mechanism({"auto": {"single_share": 0.0}}, LARGER),
    "cutting planes": Mechanism(
        {"auto": {"tighten_share": 0.0}},
        LARGER,
        ("optimum/relaxations/cutting_planes.py", "optimum/relaxations/knapsack_cuts.py"),
    ),
    "first prices and schedule": Mechanism({"auto": {"soon": 1.0}}, (*LARGER, "oasis, 1000 jobs")),
    "branch and price": Mechanism(
        {"auto": {"small": 0}}, FIG5, ("optimum/tree", "optimum/relaxations/unit_price.py")
    ),
    "fix and optimize": Mechanism(
        {"repair": {"share": 0.0, "stuck_share": 0.0}},
        FIG5,
        ("optimum/search/slot_repair.py", "optimum/search/fix_and_optimize.py"),
    ),
    "restarts in branch and price": Mechanism({"auto": {"search_share": 0.0}}, FIG5),
    "CP-SAT where choices are few": Mechanism(
        {"auto": {"choices": 0}}, ("completion, small", *TEN)
    ),
    "dynamic program over time": Mechanism(
        {"prover": {"failures": 0}},
        TEN + FIFTEEN,
        (
            "optimum/timeline",
            "optimum/relaxations/repricing.py",
            "certificate/conflicts.py",
            "certificate/holding.py",
            "certificate/paths.py",
            "certificate/program.py",
            "certificate/states.py",
            "certificate/timeline.py",
        ),
    ),
    "prices between its runs": Mechanism(
        {"prover": {"repricing_share": 0.0}}, TEN + FIFTEEN, ("optimum/relaxations/repricing.py",)
    ),
    "beam search between its runs": Mechanism({"prover": {"beam_share": 0.0}}, TEN + FIFTEEN),
    "conflicts of frequent jobs": Mechanism({"prover": {"conflict_states": 2**61}}, FIFTEEN),
    "prices of a dispatched schedule": Mechanism(
        {"auto": {"dispatch_share": 0.0}}, ("completion, 100 jobs",)
    ),
    "column generation at 100 jobs": Mechanism(
        {"auto": {"span_shares": ()}}, ("completion, 100 jobs",)
    ),
    "dynamic program over slots": Mechanism(
        {"auto": {"dynamic_program": False}},
        ("dmlrs, 10 jobs", "dmlrs, small"),
        ("optimum/dynamic_program.py", "certificate/program.py"),
    ),
    "branch and price of slots": Mechanism(
        {"auto": {"branch_and_price": False}},
        ("dmlrs, 10 jobs", "dmlrs, small"),
        (
            "optimum/tree/branching.py",
            "optimum/relaxations/slot_packing.py",
            "optimum/relaxations/unit_price.py",
            "certificate/joint.py",
            "certificate/links.py",
            "certificate/packings.py",
            "certificate/slot_packing.py",
        ),
    ),
    "CP-SAT and the compact program": Mechanism(
        {"auto": {"program": 0}},
        ("dmlrs, 10 jobs", "dmlrs, small", "dmlrs, small, link by link"),
    ),
    "column generation": Mechanism({"auto": {"price_share": 0.0}}, ("dmlrs, 100 jobs",)),
    "tree over start times": Mechanism(
        {"auto": {"small": 0}}, ("rigid, 10 jobs",), ("optimum/tree.py",)
    ),
    "prices of job sizes": Mechanism({"auto": {"sizes": False}}, ("rigid, 1000 jobs",)),
    "alpha points": Mechanism({"auto": {"alphas": ()}}, ("rigid, 1000 jobs",)),
}


def lines_of(mechanism: Mechanism) -> int:
    """Return the lines of its own files."""
    folder = Path(optsched.__file__).parent / "families" / KINDS[mechanism.kinds[0]].family
    paths = [
        p
        for f in map(folder.joinpath, mechanism.files)
        for p in (f.rglob("*.py") if f.is_dir() else [f])
    ]
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def measure(cell: Row) -> Row:
    """Solve an instance without a mechanism."""
    kind, seed = KINDS[cell["kind"]], cell["seed"]
    sizes = dict(kind.sizes)
    if kind.vary is not None:
        name, values = kind.vary
        sizes[name] = values[seed % len(values)]
    inst = get_family(kind.family).generate(seed=seed, **sizes)
    if kind.changes:
        inst = type(inst).model_validate(inst.model_dump() | dict(kind.changes))
    off = MECHANISMS[cell["without"]].off if cell["without"] != ALL else None
    found = optsched.solve(inst, work_limit=cell["work"], params=off)
    gap = found.certified_gap
    return {
        "value": found.value,
        "bound": found.bound,
        "gap": None if gap is None else finite(gap),
        "seconds": (found.effort or 0.0) / 1000,
    }


def cells(kinds: Sequence[str], seeds: int) -> Iterator[Row]:
    """Yield all measurements."""
    for name in kinds:
        off = [without for without, m in MECHANISMS.items() if name in m.kinds]
        for without in (ALL, *off):
            for seed in range(seeds * KINDS[name].times):
                yield {"kind": name, "without": without, "work": KINDS[name].work, "seed": seed}


def _mean(rows: Sequence[Row], name: str) -> float | None:
    """Return the mean; None where something has none."""
    found = [row[name] for row in rows]
    return None if None in found or not found else sum(found) / len(found)


def earned(lines: int, every: Sequence[Row], mine: Sequence[Row]) -> bool:
    """Whether this many lines pay on these instances: with all mechanisms, and without one."""
    share = max(lines, 1) / UNIT
    gaps = _mean(every, "gap"), _mean(mine, "gap")
    if gaps[0] is None or gaps[1] is None:
        return gaps[0] is not None
    closed = (closed_of(every) - closed_of(mine)) * 50 / len(mine)
    times = (_mean(every, "seconds") or 0.0), (_mean(mine, "seconds") or 0.0)
    return (
        100 * (gaps[1] - gaps[0]) > POINTS * share
        or closed > CLOSINGS * share
        or times[1] > times[0] * FACTOR**share
    )


def closed_of(rows: Sequence[Row]) -> int:
    """Return how many are closed."""
    return sum(row["gap"] is not None and row["gap"] <= CLOSED for row in rows)


def summarize(rows: list[Row]) -> Summary:
    """Return a line for every mechanism and kind; a mechanism pays where it does for one kind."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["kind"], row["without"]), []).append(row)
    lines, pays = [], dict[str, bool]()
    for (kind, without), mine in groups.items():
        if without == ALL:
            continue
        seeds = {row["seed"] for row in mine}
        every = [r for r in groups.get((kind, ALL), ()) if r["seed"] in seeds]
        some = mine[0].get("beside") or every
        size = lines_of(MECHANISMS[without]) if without in MECHANISMS else mine[0]["lines"]
        line: list[Any] = [without, size or "-", kind, len(mine)]
        for found in (some, mine):
            gap = _mean(found, "gap")
            line += [number(None if gap is None else 100 * gap, ".2f"), closed_of(found)]
            line.append(number(_mean(found, "seconds")))
        lines.append([*line, mine[0].get("decision", "stays")])
        if size and without in MECHANISMS:
            pays[without] = pays.get(without, False) or earned(size, every, mine)
    names = ("gap, %", "closed", "thousand work units")
    figures = [f"{name}, {who}" for who in ("with", "without") for name in names]
    return Summary(
        ("without", "its lines", "kind", "seeds", *figures, "decision"),
        lines,
        (Target("mechanisms that do not pay", "", sum(not x for x in pays.values()), must=0),),
    )


BENCHMARK = Benchmark(
    "ablation",
    "What each mechanism is good for",
    "What is lost if a mechanism of `auto` is switched off?",
    {
        "optsched": "`auto`, gap 1e-6, one thread, seed 0, 30,000 units of work (60,000 for "
        "`paper` and `earnable`, 10,000 for rigid with ten jobs and small completion, 5,000 link "
        "by link); bounds are certified; lines are those of the mechanism's own files",
    },
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=3)
    p.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    options = parse(p, __file__, argv)
    todo = list(cells(options.kinds, options.seeds))

    def keep(row: Row) -> bool:
        return row["kind"] not in options.kinds

    return BENCHMARK.run(todo, measure, options, keep=keep)


if __name__ == "__main__":
    main()
