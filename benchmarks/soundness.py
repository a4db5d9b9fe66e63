"""Look for wrong optima, bounds and levels of random tiny instances in other units.

Random tiny instances of every family, each in several units of its values, amounts, times and
rates, and with odd jobs that earn far more or less than the others, solved by `auto` and by another
method in turn, saved, and checked again. What is right is known without any solver of the package:
by trying everything (oasis, dmlrs, completion), or by linear programs over tangents (bipartite,
bot); see tests/independent/cases.py.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import Benchmark, Row, Summary, Target, parse, parser

import optsched
from optsched.core import Optimum
from optsched.engine.interval import CLOSED
from optsched.problem import RELAXATION, InputError, Level, Status, agree, get_family
from optsched.results.result import SAME, recheck, save_result

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from independent.cases import AXES, MAIN, Case, case

SIDE = 5  # one of this many instances is also scaled in other units
BATCH = 50  # instances of a row
SLOW = ("auto", "search")  # `search` never proves anything, and takes all the time that it has
COUNTS = {  # what must not be
    "wrong_optimum": "wrong optima",
    "wrong_bound": "bounds on the wrong side",
    "false_level": "false levels",
    "crash": "crashes",
    "recheck_differs": "other verdicts of a second look",
}
OTHERS = {"not_closed": "not closed", "refused": "refused"}


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=300, time_limit=10.0)
    p.add_argument("--families", nargs="+", default=list(AXES), choices=list(AXES))
    p.add_argument("--scales", nargs="+", type=float, help="only these (default: all)")
    p.add_argument("--processes", type=int, default=2)
    options = parse(p, __file__, argv)
    return BENCHMARK.run(list(cells(options)), measure, options, processes=options.processes)


def cells(options: Namespace) -> Iterator[Row]:
    """Yield the batches; those of the same instances come one after the other."""
    for family in options.families:
        for axis, scales in AXES[family].items():
            number = options.seeds if axis == MAIN[family] else -(-options.seeds // SIDE)
            for first in range(0, number, BATCH):
                for scale in scales:
                    if options.scales is None or scale in options.scales:
                        yield {
                            "family": family,
                            "axis": axis,
                            "scale": scale,
                            "first": first,
                            "instances": min(BATCH, number - first),
                            "limit": options.time_limit,
                        }


def measure(cell: Row) -> Row:
    """Solve the instances of a batch, and count what is wrong."""
    began, solves = time.perf_counter(), 0
    found: list[tuple[str, str]] = []
    for seed in range(cell["first"], cell["first"] + cell["instances"]):
        here = case(cell["family"], cell["axis"], cell["scale"], seed)
        for method in methods(cell["family"], here, seed):
            solves += 1
            for kind, what in examine(here, method, cell["limit"]):
                found.append((kind, f"seed {seed}, {method}: {what}"[:300]))
    counts = Counter(kind for kind, _ in found)
    return {
        "solves": solves,
        **{kind: counts[kind] for kind in (*COUNTS, *OTHERS)},
        "seconds": time.perf_counter() - began,
        "failures": [f"{kind}: {what}" for kind, what in found],
    }


def methods(family: str, here: Case, seed: int) -> list[str]:
    """Return `auto` and the other method whose turn it is."""
    others = [m for m in get_family(family).methods if m not in SLOW]
    if family == "bot":  # of utilities that are neither linear nor max-min, no linear programs
        mine = {"inf": {"simplex"}, 0: {"interior", "conic", "simplex"}}
        mine = {RELAXATION, *mine.get(here.instance.alpha, {"interior", "conic"})}
        others = [m for m in others if m in mine]
    return ["auto", others[seed // 2 % len(others)]]


def examine(here: Case, method: str, limit: float) -> Iterator[tuple[str, str]]:
    """Solve, save and check again; yield what is wrong, by kind."""
    try:
        best = optsched.solve(here.instance, method=method, time_limit=limit)
        found = _again(here, best)
    except InputError as err:  # a method that states that it is not for this instance
        yield "crash" if method == "auto" else "refused", f"{type(err).__name__}: {err}"
        return
    except Exception as err:  # whatever it is: a crash is what is counted
        yield "crash", f"{type(err).__name__}: {err}"
        return
    for what in best.defects:
        yield "crash", what
    yield from _levels(here, best)
    yield from found
    if method == "auto" and not (best.status.closed or best.status is Status.INFEASIBLE):
        yield "not_closed", str(best)


def _levels(here: Case, best: Optimum) -> Iterator[tuple[str, str]]:
    """Compare value, bound and level with what is right."""
    truth = here.narrower.get(best.scope, here.truth)
    right = f"expected {truth.low!r} .. {truth.high!r}"
    checked = best.bound_level in (Level.CERTIFIED, Level.CROSS_CHECKED)
    if best.status is Status.INFEASIBLE and truth.low is not None:
        yield "false_level", f"no schedule exists, {right}"
    if best.value is not None:
        wrong = best.status.closed and not truth.reached(best.value, CLOSED)
        if wrong or truth.impossible(best.value):
            yield "wrong_optimum", f"{best}; value {best.value!r}, {right}"
            if checked and wrong:
                yield "false_level", f"{best}; value {best.value!r}, {right}"
        if best.status.closed and here.truth.levels:
            yield from _rates(here, best)
    if best.bound is not None:
        sign = get_family(best.family).sign
        inside = best.value is not None and sign * (best.bound - best.value) < 0
        if inside or truth.refutes(best.bound):
            yield "wrong_bound", f"{best}; bound {best.bound!r}, {right}"
            if checked:
                yield "false_level", f"{best}; bound {best.bound!r}, {right}"
    if best.certified_bound is not None and truth.refutes(best.certified_bound):
        yield "false_level", f"certified bound {best.certified_bound!r}, {right}"


def _rates(here: Case, best: Optimum) -> Iterator[tuple[str, str]]:
    """Compare all rates of max-min, not only the smallest."""
    totals: Counter[int] = Counter()
    for _, k, rate in best.model_dump()["schedule"]["rates"]:
        totals[k] += rate
    rates = sorted(totals.values())
    if len(rates) < len(here.truth.levels) or not all(
        agree(x, y, CLOSED) for x, y in zip(rates, here.truth.levels, strict=True)
    ):
        yield "wrong_optimum", f"{best}; rates {rates}, expected {list(here.truth.levels)}"


def _again(here: Case, best: Optimum) -> list[tuple[str, str]]:
    """Save a result, look at it again, and return in what the second look differs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        save_result(path, here.instance, best)
        (again,) = recheck(path)
    none = best.status is Status.INFEASIBLE and best.bound_level is Level.CERTIFIED
    bound = -get_family(best.family).sign * math.inf if none else best.proved
    pairs = (("value", again.value, best.value), ("bound", again.bound, bound))
    found = [
        ("recheck_differs", f"{what} {now!r}, was {before!r}; {again}")
        for what, now, before in pairs
        if (now is None) != (before is None)
        or (now is not None and before is not None and not agree(now, before, SAME))
    ]
    if again.complaints:
        found.append(("recheck_differs", str(again)))
    if best.status is Status.OPTIMAL and not (again.gap is not None and again.gap <= CLOSED):
        found.append(("false_level", f"{best}, but a second look states {again}"))
    return found


def summarize(rows: list[Row]) -> Summary:
    """Add up the batches of every family and unit."""
    lines = []
    kinds = (*COUNTS, *OTHERS)
    for family, axes in AXES.items():
        for axis in axes:
            mine = [row for row in rows if (row["family"], row["axis"]) == (family, axis)]
            if mine:
                lines.append(
                    [
                        f"{family}, {axis}",
                        len({row["scale"] for row in mine}),
                        sum(row["solves"] for row in mine),
                        *(sum(row[kind] for row in mine) for kind in kinds),
                        round(sum(row["seconds"] for row in mine)),
                    ]
                )
    columns = ("family, unit of", "factors", "solves", *COUNTS.values(), *OTHERS.values(), "s")
    targets = [
        Target(what, "", sum(row[kind] for row in rows), must=0) for kind, what in COUNTS.items()
    ]
    return Summary(columns, lines, targets)


BENCHMARK = Benchmark(
    name="soundness",
    title="Soundness: random instances in other units",
    question="Is any optimum, bound or level wrong, whatever the units, and next to odd jobs?",
    methods={
        "solved": "`auto`, and another method in turn, with default options; one thread",
        "factors": "how many numbers the unit is multiplied by: powers of 1000 other than 1, from "
        "1e-12 to 1e12 (8 of them) or from 1e-6 to 1e6 (4); for 10 also 1 and 100",
        "compared": "everything tried (oasis, dmlrs, completion); linear programs over tangents, "
        "solved at ordinary magnitudes (bipartite, bot)",
        "not closed": "`auto` without an optimum at its time limit, or where it gave up",
        "refused": "the other method does not apply to this instance",
    },
    summarize=summarize,
)

if __name__ == "__main__":
    main()
