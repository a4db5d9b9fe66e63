"""Compare HiGHS with and without presolve, and CP-SAT with and without one step of its presolve.

Tiny instances in other units, whose optimum is known by trying everything (those of
`soundness.py`), and small instances of the presets. Presolve of HiGHS 1.12 to 1.15 made optima of
such programs wrong, and or-tools#5293 reports a wrong optimum of CP-SAT 9.15 that
`presolve_inclusion_work_limit=0` avoids. A claim is contradicted where a judged schedule is better
than a claimed bound, or where a claimed optimum is not the one that is known.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import highspy
from bench import Benchmark, Row, Summary, Target, parse, parser
from ortools.sat.python import cp_model

import optsched
from optsched.core import Optimum
from optsched.problem import InputError, agree, get_family

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from independent.cases import AXES, Case, case

HIGHS, CP_SAT = "compact", "cpsat"  # methods
SETTINGS: dict[str, tuple[str, Any]] = {  # name -> method and setting
    "HiGHS, no presolve": (HIGHS, "off"),
    "HiGHS, presolve": (HIGHS, "on"),
    "CP-SAT, no inclusions": (CP_SAT, 0),
    "CP-SAT, default": (CP_SAT, cp_model.CpSolver().parameters.presolve_inclusion_work_limit),
}
FAMILIES = ("oasis", "dmlrs", "completion")
SIZES = {  # of the small instances
    "oasis": {"preset": "small"},
    "dmlrs": {"preset": "small", "jobs": 4},
    "completion": {"preset": "small", "jobs": 3},
}
BATCH = 5  # instances of a row
FAST = 1e-3  # seconds: two solves that take less are equally fast
SAME = 1e-6  # relatively: two optima of the solvers that agree


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=50, time_limit=10.0)
    p.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    p.add_argument("--kinds", nargs="+", default=["tiny", "small"], choices=["tiny", "small"])
    options = parse(p, __file__, argv)
    return BENCHMARK.run(list(cells(options)), measure, options)


def cells(options: Namespace) -> Iterator[Row]:
    """Yield the batches."""
    for family in options.families:
        for kind in options.kinds:
            for first in range(0, options.seeds, BATCH):
                yield {
                    "family": family,
                    "kind": kind,
                    "first": first,
                    "instances": min(BATCH, options.seeds - first),
                    "limit": options.time_limit,
                }


@contextmanager
def settings(method: str, how: Any, seconds: list[float]) -> Iterator[None]:
    """Make all integer programs of HiGHS and all of CP-SAT run so, and note how long they take."""
    solve, run = cp_model.CpSolver.solve, highspy.Highs.run

    def run_highs(self: Any) -> Any:
        if method == HIGHS and self.getLp().integrality_:
            self.setOptionValue("presolve", how)
        began = time.process_time()
        try:
            return run(self)
        finally:
            seconds.append(time.process_time() - began)

    def run_cp_sat(self: Any, *args: Any) -> Any:
        self.parameters.presolve_inclusion_work_limit = how
        began = time.process_time()
        try:
            return solve(self, *args)
        finally:
            seconds.append(time.process_time() - began)

    cp_model.CpSolver.solve, highspy.Highs.run = run_cp_sat, run_highs
    try:
        yield
    finally:
        cp_model.CpSolver.solve, highspy.Highs.run = solve, run


def measure(cell: Row) -> Row:
    """Solve the instances of a batch in all settings."""
    taken: dict[str, list[float]] = {name: [] for name in SETTINGS}
    failures: list[str] = []
    for seed in range(cell["first"], cell["first"] + cell["instances"]):
        found = {}
        known = instance(cell, seed)
        for name, (method, how) in SETTINGS.items():
            seconds: list[float] = []
            with settings(method, how, seconds):
                try:
                    best = optsched.solve(known[0], method=method, time_limit=cell["limit"])
                except InputError:  # not for this instance
                    continue
            found[name] = best
            taken[name].append(sum(seconds))
        failures += [f"seed {seed}, {what}" for what in contradictions(known, found, cell["limit"])]
    return {
        **{f"seconds {name}": values for name, values in taken.items()},
        "contradicted": {n: sum(f", {n}: " in line for line in failures) for n in SETTINGS},
        "failures": failures,
    }


def instance(cell: Row, seed: int) -> tuple[Any, Case | None]:
    """Return an instance, and for a tiny one what is right."""
    family = cell["family"]
    if cell["kind"] == "small":
        return get_family(family).generate(seed=seed, **SIZES[family]), None
    axes = [(axis, scale) for axis, scales in AXES[family].items() for scale in scales]
    axis, scale = axes[seed % len(axes)]
    here = case(family, axis, scale, seed)
    return here.instance, here


def contradictions(
    known: tuple[Any, Case | None], found: dict[str, Optimum], limit: float
) -> Iterator[str]:
    """Yield the claims that cannot be right."""
    inst, here = known
    sign = get_family(inst.family).sign  # 1: the greater the better
    runs = list(found.values())
    if here is None:
        runs.append(optsched.solve(inst, time_limit=limit))  # with a certificate
    values = [sign * b.value for b in runs if b.value is not None]
    best = max(values, default=None)
    for name, optimum in found.items():
        if here is not None:
            closed = optimum.status.closed and optimum.value is not None
            if closed and not here.truth.reached(optimum.value, SAME):
                yield f"{name}: {optimum}, expected {here.truth.low!r}"
            elif optimum.bound is not None and here.truth.refutes(optimum.bound):
                yield f"{name}: bound {optimum.bound!r}, expected {here.truth.low!r}"
        elif optimum.bound is not None and best is not None:
            bound = sign * optimum.bound
            if bound < best and not agree(bound, best, SAME):
                yield f"{name}: bound {optimum.bound!r}, but a schedule is worth {sign * best!r}"


def summarize(rows: list[Row]) -> Summary:
    """Add up the batches of every family and kind."""
    lines: list[list[Any]] = []
    for family, kind in dict.fromkeys((row["family"], row["kind"]) for row in rows):
        mine = [row for row in rows if (row["family"], row["kind"]) == (family, kind)]
        taken = {n: [s for row in mine for s in row[f"seconds {n}"]] for n in SETTINGS}
        for name, seconds in taken.items():
            method = SETTINGS[name][0]
            base = taken[next(n for n, (m, _) in SETTINGS.items() if m == method)]
            pairs = list(zip(seconds, base, strict=True))
            lines.append(
                [
                    family,
                    kind,
                    name,
                    len(seconds),
                    sum(row["contradicted"][name] for row in mine),
                    round(sum(seconds), 2),
                    sum(x < 0.8 * y - FAST for x, y in pairs),
                    sum(x > 1.25 * y + FAST for x, y in pairs),
                ]
            )
    columns = ("family", "instances", "setting", "solves", "contradicted", "s", "faster", "slower")
    targets = [
        Target(f"contradicted claims: {n}", "", sum(r["contradicted"][n] for r in rows), must=0)
        for n in SETTINGS
    ]
    return Summary(columns, lines, targets)


BENCHMARK = Benchmark(
    name="presolve",
    title="Presolve of HiGHS and CP-SAT",
    question="Are integer programs solved faster with presolve, and is every answer right?",
    methods={
        "HiGHS": 'solve(method="compact"), with the option presolve',
        "CP-SAT": 'solve(method="cpsat"), with presolve_inclusion_work_limit=0 or its default',
        "contradicted": "a claimed optimum or bound that everything tried (tiny), or a judged "
        "schedule of any method (small), shows to be wrong",
        "s": "processor time of the solver alone, s, all solves together; one thread",
        "faster, slower": "solves that take less than 0.8, or more than 1.25 of the time of the "
        "solver's first setting, by more than a millisecond",
    },
    summarize=summarize,
)

if __name__ == "__main__":
    main()
