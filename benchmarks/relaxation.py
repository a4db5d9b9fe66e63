"""How long the value of the relaxation takes, certified, versus HiGHS on the exported program.

    python benchmarks/relaxation.py               (about an hour: large programs take HiGHS long)
    python benchmarks/relaxation.py --small       (50 small instances of each family: two minutes)

Ours is timed with everything: the linear program, its duals, and the certificate evaluated again.
HiGHS reads the file of `optsched export --relaxed`, with a variable for every machine, and solves
it with its own settings; writing the file is not counted. One thread each.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import highspy
from bench import Benchmark, Row, Summary, Target, finite, geometric_mean, parse, parser
from render import number

import optsched
from optsched.problem import Instance
from optsched.results.export import Format, write_program

LIMIT = 600.0  # seconds of HiGHS, and of ours
LARGE: dict[str, tuple[str, dict[str, Any]]] = {
    "oasis, 100 jobs": ("oasis", {"preset": "paper"}),
    "dmlrs, 50 machines": ("dmlrs", {"preset": "paper", "machines": 50}),
    "completion, 50 servers": ("completion", {"preset": "small", "jobs": 100, "machines": 50}),
}
SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "oasis, small": ("oasis", {"preset": "small"}),
    "dmlrs, small": ("dmlrs", {"preset": "small"}),
    "dmlrs, small, link": ("dmlrs", {"preset": "small", "locality": "link"}),
    "completion, small": ("completion", {"preset": "small"}),
}
COUNT = 50  # small instances of each
METHODS = {
    "ours": "`optsched.relax`, certified",
    "HiGHS": "the file of `optsched export --relaxed --to mps`, HiGHS with its own settings",
}


def drawn(setting: str, seed: int) -> Instance:
    """Return the instance of a cell."""
    family, options = (LARGE | SMALL)[setting]
    given = {name: x for name, x in options.items() if name != "locality"}
    instance = optsched.get_family(family).generate(**given, seed=seed)
    more = {name: x for name, x in options.items() if name == "locality"}
    return type(instance).model_validate({**instance.model_dump(), **more}) if more else instance


def measure(cell: Row) -> Row:
    """Solve one relaxation both ways."""
    instance = drawn(cell["setting"], cell["seed"])
    began = time.perf_counter()
    found = optsched.relax(instance, time_limit=LIMIT)
    row: Row = {"seconds": time.perf_counter() - began, "bound": found.certified_bound}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "relaxed.mps"
        write_program(instance, path, Format.MPS, relaxed=True)
        began = time.perf_counter()
        h = highspy.Highs()
        h.setOptionValue("output_flag", False)
        h.setOptionValue("threads", 1)
        h.setOptionValue("time_limit", LIMIT)
        h.readModel(str(path))
        h.run()
        row |= {"highs_seconds": time.perf_counter() - began, "columns": h.getNumCol()}
        if h.getModelStatus() == highspy.HighsModelStatus.kInfeasible:  # presolve, see `solvers`
            h.clearSolver()
            h.setOptionValue("presolve", "off")
            h.run()
    if h.getModelStatus() != highspy.HighsModelStatus.kOptimal or found.certified_bound is None:
        return row | {"away": None}
    value = abs(h.getInfo().objective_function_value)
    return row | {"away": finite(abs(abs(found.certified_bound) - value) / max(value, 1e-9))}


def summarize(rows: list[Row]) -> Summary:
    """Return a line per setting, and the targets."""
    lines, targets = [], []
    for setting in (*LARGE, *SMALL):
        mine = [row for row in rows if row["setting"] == setting]
        if not mine:
            continue
        factor = geometric_mean([row["seconds"] / row["highs_seconds"] for row in mine])
        known = [row["away"] for row in mine if row["away"] is not None]
        away = max(known, default=None)
        solved = sum(row["bound"] is not None for row in mine)
        lines.append(
            [
                setting,
                len(mine),
                solved,
                max(row["columns"] for row in mine),
                number(geometric_mean([row["seconds"] for row in mine]), ".3g"),
                number(geometric_mean([row["highs_seconds"] for row in mine]), ".3g"),
                len(known),
                "-" if away is None else number(away, ".2g"),
            ]
        )
        if setting in LARGE:
            what = f"{setting}: time / that of HiGHS"
            targets.append(Target(what, "", factor if solved == len(mine) else None, 1.5, 1.0))
        else:
            what = f"{setting}: certified bound from HiGHS's value, of {len(known)}"
            complete = away if len(known) == len(mine) else None
            targets.append(Target(what, "relative", complete, 1e-6, 1e-9))
    columns = [
        *("setting", "instances", "certified", "columns of the file", "ours, s", "HiGHS, s"),
        *("both solved", "farthest apart, relative"),
    ]
    return Summary(columns, lines, targets)


BENCHMARK = Benchmark(
    "relaxation",
    "The linear relaxation",
    "How long does the certified value of the relaxation take, next to HiGHS on the exported "
    "program?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=2)
    p.add_argument("--small", action="store_true", help="the small instances alone")
    options = parse(p, __file__, argv)
    cells: list[Row] = [{"setting": s, "seed": k} for s in SMALL for k in range(COUNT)]
    if not options.small:
        cells += [{"setting": s, "seed": k} for s in LARGE for k in range(options.seeds)]
    for setting in SMALL:
        optsched.relax(drawn(setting, 0))  # compiles
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
