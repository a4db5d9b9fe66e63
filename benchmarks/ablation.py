"""What each mechanism of `auto` is good for: the same instances with it, and without it.

    python benchmarks/ablation.py                    (about an hour)
    python benchmarks/ablation.py --kinds fig5       (one kind; the others stay as stored)

All runs have the same effort and one thread, so that a busy machine changes nothing. A mechanism is
switched off by parameters. It stays if that costs more than one point of gap,
three of fifty instances closed, or a factor of 1.5 in time on some kind, for 600 lines of its code.
Rows of mechanisms that are gone were measured before they went, and are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import Benchmark, Row, Summary, Target, finite, parse, parser
from render import number

import optsched
from optsched.engine.interval import CLOSED
from optsched.engine.params import read_params
from optsched.engine.progress import Progress
from optsched.families.oasis import FAMILY
from optsched.families.oasis.optimum.methods import auto
from optsched.families.oasis.sources.traces import generate

KINDS: Mapping[str, Row] = {
    "paper": {"preset": "paper", "jobs": 100, "slots": 100, "machines": 100},
    "earnable": {"preset": "earnable", "jobs": 100, "slots": 100, "machines": 100},
    "fig5, 20 machines": {"preset": "paper", "jobs": 10, "slots": 10, "machines": 20},
    "fig5, 40 machines": {"preset": "paper", "jobs": 10, "slots": 10, "machines": 40},
    "fig5, 100 machines": {"preset": "paper", "jobs": 10, "slots": 10, "machines": 100},
    "1000 jobs": {"preset": "earnable", "jobs": 1000, "slots": 100, "machines": 100},
}
ALL = "everything on"
UNIT, POINTS, CLOSINGS, FACTOR = 600, 1.0, 3, 1.5  # lines, and what this many must be good for
FOLDER = Path(optsched.__file__).parent / "families" / "oasis" / "optimum"


@dataclass(frozen=True)
class Mechanism:
    """What is switched off, and by what."""

    off: Mapping[str, Mapping[str, Any]]  # parameters, by component
    files: tuple[str, ...]  # of its own, below the folder of the optimum
    small: bool | None = None  # whether it is for instances with branch and price; None: for all


MECHANISMS: Mapping[str, Mechanism] = {
    ALL: Mechanism({}, ()),
    "dives on the configuration LP": Mechanism(
        {"auto": {"dives": False}}, ("configuration_lp",), small=False
    ),
    "search on single jobs before them": Mechanism(
        {"auto": {"single_share": 0.0}}, (), small=False
    ),
    "cutting planes": Mechanism(
        {"auto": {"tighten_share": 0.0}},
        ("relaxations/cutting_planes.py", "relaxations/knapsack_cuts.py"),
        small=False,
    ),
    "first prices and schedule": Mechanism({"auto": {"soon": 1.0}}, (), small=False),
    "branch and price": Mechanism({"auto": {"small": 0}}, ("tree/branching.py",), small=True),
    "fix and optimize": Mechanism(
        {"repair": {"share": 0.0, "stuck_share": 0.0}},
        ("search/slot_repair.py", "search/fix_and_optimize.py"),
        small=True,
    ),
    "restarts in branch and price": Mechanism({"auto": {"search_share": 0.0}}, (), small=True),
}


def lines_of(mechanism: Mechanism) -> int:
    """Return the lines of its own files."""
    found = [FOLDER / name for name in mechanism.files]
    paths = [p for f in found for p in (f.rglob("*.py") if f.is_dir() else [f])]
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def measure(cell: Row) -> Row:
    """Solve an instance without a mechanism; check the bound."""
    sizes = {name: cell[name] for name in ("jobs", "slots", "machines")}
    inst = generate(cell["preset"], seed=cell["seed"], **sizes)
    params = read_params(FAMILY, MECHANISMS[cell["without"]].off)
    progress = Progress(FAMILY, inst, gap=CLOSED, units=cell["effort"], params=params)
    auto(inst, progress, threads=1, seed=0)
    _, bound = progress.proof(check=True)
    gap = None if progress.value is None or bound is None else bound / progress.value - 1
    return {
        "value": progress.value,
        "bound": bound,
        "gap": None if gap is None else finite(gap),
        "seconds": progress.seconds(),
    }


def cells(kinds: Sequence[str], seeds: int, effort: float) -> Iterator[Row]:
    """Yield all measurements."""
    for kind in kinds:
        small = kind.startswith("fig5")
        for without, mechanism in MECHANISMS.items():
            if mechanism.small in (None, small):
                for seed in range(seeds):
                    named = {"kind": kind, "without": without, "effort": effort, "seed": seed}
                    yield named | KINDS[kind]


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
    names = ("gap, %", "closed", "seconds of effort")
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
        "optsched": "`auto` of oasis, gap 1e-6, one thread, seed 0, an effort of 60 000 units; "
        "bounds are certified; lines are those of the mechanism's own files",
    },
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=3)
    p.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    p.add_argument("--effort", type=float, default=60_000.0)
    options = parse(p, __file__, argv)
    todo = list(cells(options.kinds, options.seeds, options.effort))

    def keep(row: Row) -> bool:
        return row["without"] not in MECHANISMS or row["kind"] not in options.kinds

    return BENCHMARK.run(todo, measure, options, keep=keep)


if __name__ == "__main__":
    main()
