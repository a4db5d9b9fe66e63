"""Closed means certified: exhaustive comparisons, and how often the optimum is certified in time.

    python benchmarks/certified.py        (about 40 minutes)

Closing, every family: how often `auto` ends with a certificate within its time, how large that is,
and how long a second look takes. Exhaustive, where a certificate names the value that it proves:
random tiny instances, other than those of the tests. Is the certified optimum that of trying
everything, and does the checker refuse the same certificate with its value one step worse? (The
tests do this for the other families.)
"""

from __future__ import annotations

import math
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import Benchmark, Row, Summary, Target, median, parse, parser
from render import number, percent

from optsched.core import Optimum, solve
from optsched.problem import Instance, Level, Status, get_family

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "helpers"))

import completion_programs
from independent import completion

FIRST = 200_000  # seeds below it are those of tests and of other benchmarks
BATCH = 50  # tiny instances of a row
TINY_SECONDS = 20.0
WARM = 60.0  # seconds at most that a family runs before, to compile its kernels


@dataclass(frozen=True)
class Closing:
    """Instances that are to be closed, certified, within a time."""

    seeds: Sequence[int]
    time_limit: float
    draw: Callable[[int], Instance]
    must: float  # shares that are certified
    aim: float


@dataclass(frozen=True)
class Tiny:
    """Instances of which everything can be tried."""

    draw: Callable[[int], Instance]
    optimum: Callable[[Instance], float | None]  # by trying everything; None: no schedule exists
    worse: Callable[[Instance, float], bool | None]
    """Whether a certificate of that optimum is accepted with its value one step worse; None: the
    certificate itself proves another value."""


@dataclass(frozen=True)
class Certified:
    """What a family brings to this benchmark."""

    closing: Mapping[str, Closing]
    tiny: Tiny | None = None


def _completion_worse(inst: Instance, best: float) -> bool | None:
    found = completion_programs.forced(inst, TINY_SECONDS)
    if found.made is None or not completion_programs.accepts(inst, found.made, best):
        return None
    step = completion_programs.steps(inst, best) + 1
    more = completion_programs.changed(found.made, value=step)
    return completion_programs.accepts(inst, more, math.nextafter(best, math.inf))


def _mid(jobs: int, slots: int, machines: Sequence[int]) -> Callable[[int], Instance]:
    generate = get_family("completion").generate
    return lambda seed: generate(
        "mid", seed=seed, jobs=jobs, slots=slots, machines=machines[seed % len(machines)]
    )


def _ten(seed: int) -> Instance:
    machines = (4, 10)[seed % 2]
    sizes = {"jobs": 10, "slots": 10, "machines": machines}
    return get_family("dmlrs").generate("paper", seed=seed, g_unit="Mbit", **sizes)


def _small(family: str) -> dict[str, Closing]:
    def draw(seed: int) -> Instance:
        return get_family(family).generate("small", seed=seed)

    return {"small": Closing(range(50), 10.0, draw, 0.98, 1.0)}


def _fresh(count: int) -> Sequence[int]:
    """Return seeds with which nothing was tried before."""
    return range(FIRST, FIRST + count)


FAMILIES = {
    "completion": Certified(
        {
            "10 jobs": Closing(range(20), 30.0, _mid(10, 20, (4, 6, 8)), 0.85, 1.0),
            "10 jobs, fresh": Closing(_fresh(20), 30.0, _mid(10, 20, (4, 6, 8)), 0.85, 1.0),
            "15 jobs": Closing(range(10), 120.0, _mid(15, 30, (6, 7, 8)), 0.7, 0.9),
            "15 jobs, fresh": Closing(_fresh(10), 120.0, _mid(15, 30, (6, 7, 8)), 0.7, 0.9),
            **_small("completion"),
        },
        Tiny(completion.tiny, completion.optimum, _completion_worse),
    ),
    "oasis": Certified(_small("oasis")),
    "dmlrs": Certified({"10 jobs": Closing(range(40), 20.0, _ten, 0.975, 1.0), **_small("dmlrs")}),
    "bipartite": Certified(_small("bipartite")),
    "bot": Certified(_small("bot")),
}
WRONG = {
    "wrong": "certified optima that are none",
    "accepted": "certificates that prove one step too much",
    "open": "tiny instances without a certificate",
}


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=300)
    p.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    p.add_argument("--closing", type=int, help="instances of each kind that is to be closed")
    p.add_argument("--kinds", nargs="*", help="only these kinds (default: all)")
    options = parse(p, __file__, argv)
    for family in options.families:  # compiles and imports everything
        solve(get_family(family).generate("small", seed=0), time_limit=WARM)
    return BENCHMARK.run(list(cells(options)), measure, options)


def cells(options: Namespace) -> Iterator[Row]:
    """Yield the batches of tiny instances, and the instances that are to be closed."""
    for family in options.families:
        entry = FAMILIES[family]
        for first in range(0, options.seeds if entry.tiny else 0, BATCH):
            size = min(BATCH, options.seeds - first)
            yield {"family": family, "kind": "tiny", "first": first, "instances": size}
        for kind, closing in entry.closing.items():
            if options.kinds is None or kind in options.kinds:
                for seed in closing.seeds[: options.closing]:
                    limit = closing.time_limit
                    yield {"family": family, "kind": kind, "seed": seed, "time_limit": limit}


def measure(cell: Row) -> Row:
    """Look at a batch of tiny instances, or close one instance."""
    family = FAMILIES[cell["family"]]
    if cell["kind"] == "tiny":
        assert family.tiny is not None
        return exhaustive(family.tiny, range(cell["first"], cell["first"] + cell["instances"]))
    inst = family.closing[cell["kind"]].draw(cell["seed"])
    return closed(solve(inst, time_limit=cell["time_limit"]), inst)


def exhaustive(family: Tiny, seeds: Sequence[int]) -> Row:
    """Compare certified optima with trying everything."""
    began, failures, looked = time.perf_counter(), [], 0
    for seed in seeds:
        inst = family.draw(FIRST + seed)
        best, found = family.optimum(inst), solve(inst, time_limit=TINY_SECONDS)
        none = best is None and found.status is Status.INFEASIBLE
        if found.bound_level is not Level.CERTIFIED or not (none or _optimal(found)):
            failures.append(f"open: seed {seed}: {found}, expected {best}")
        elif not none and best != found.value:
            failures.append(f"wrong: seed {seed}: {found}, expected {best}")
        if best is None:
            continue
        looked += 1
        worse = family.worse(inst, best)
        if worse:
            failures.append(f"accepted: seed {seed}: one step above {best}")
        elif worse is None:
            failures.append(f"open: seed {seed}: no certificate of {best} to be damaged")
    counts = {kind: sum(f.startswith(kind) for f in failures) for kind in WRONG}
    seconds = time.perf_counter() - began
    return {"solvable": looked, **counts, "seconds": seconds, "failures": failures}


def _optimal(found: Optimum) -> bool:
    return found.status is Status.OPTIMAL


def closed(found: Optimum, inst: Instance) -> Row:
    """Return how far an instance is closed, and what a second look at its certificate takes."""
    assert found.certificate is not None
    began = time.perf_counter()
    sure = get_family(found.family).check(inst, found.certificate)
    return {
        "value": found.value,
        "bound": sure,
        "certified": _optimal(found) and found.bound_level is Level.CERTIFIED,
        "gap": found.certified_gap,
        "seconds": found.seconds,
        "kilobytes": len(found.certificate.model_dump_json()) / 1000,
        "verify": time.perf_counter() - began,
    }


def summarize(rows: list[Row]) -> Summary:
    """Return what is wrong with tiny instances, and what share of the others is certified."""
    lines, targets = [], []
    tiny = [row for row in rows if row["kind"] == "tiny"]
    for kind, what in WRONG.items():
        if tiny:
            targets.append(Target(what, "", sum(row[kind] for row in tiny), must=0))
    for family, entry in FAMILIES.items():
        some = [row for row in tiny if row["family"] == family]
        if some:
            count = sum(row["instances"] for row in some)
            share = 1 - sum(row["open"] for row in some) / count
            lines.append([family, "tiny", count, percent(share), *[""] * 4])
        for kind, closing in entry.closing.items():
            mine = [r for r in rows if (r["family"], r["kind"]) == (family, kind)]
            if not mine:
                continue
            limit = closing.time_limit
            share = sum(row["certified"] and row["seconds"] <= limit for row in mine) / len(mine)
            size = max(row["kilobytes"] for row in mine)
            look = max(row["verify"] for row in mine)
            usual = median([row["seconds"] for row in mine])
            figures = (number(usual), number(size), number(look), number(limit))
            lines.append([family, kind, len(mine), percent(share), *figures])
            name = f"{family}, {kind}"
            what = f"{name}: certified within {limit:g} s"
            targets += [
                Target(what, "%", share, closing.must, closing.aim, at_least=True),
                Target(f"{name}: largest certificate", "kB", size, 1000.0, 50.0),
                Target(f"{name}: longest check", "s", look, 30.0, 5.0),
            ]
    columns = ("family", "kind", "instances", "certified", "median s", "largest kB")
    return Summary((*columns, "longest check s", "limit s"), lines, targets)


BENCHMARK = Benchmark(
    name="certified",
    title="Closed means certified",
    question="Is every certified optimum right, and how often is the optimum certified in time?",
    methods={
        "certified": "`auto`, one thread, then its certificate evaluated again by the checker",
        "compared": "trying everything; the same certificate with its value one step worse",
    },
    summarize=summarize,
)

if __name__ == "__main__":
    main()
