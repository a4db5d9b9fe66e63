"""Compare the interior master of column generation with the linear solvers of a library.

The same column generation from the same beginning, at the size of
`dmlrs_large.py`: with the master as it is, with its interior point replaced by one of HiGHS's
(IPX; PDLP; HiPO, where the package `highspy-extras` is of the version of HiGHS; no crossover), and
with the warm simplex. What counts is the processor time until the bound is within 0.1 % of the best
bound of any of them, and what is reached in the end.
"""

from __future__ import annotations

import math
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module, metadata
from typing import Any

import numpy as np
from bench import Benchmark, Row, Summary, Target, geometric_mean, parse, parser
from render import percent

from optsched import solvers
from optsched.engine.colgen import Master, Relaxation, RestrictedMaster, generate_columns
from optsched.engine.interior_master import InteriorMaster, InteriorProgram
from optsched.families.dmlrs.optimum.methods import AutoParams
from optsched.numbers.arrays import Floats, Ints
from optsched.problem import get_family

NEAR = 0.001  # of the best bound
PRESETS = {"dmlrs": ("contended",)}
LIBRARY = {"IPX": "ipx", "HiPO": "hipo", "PDLP": "pdlp"}
OURS = "interior"


class LibraryMaster(InteriorMaster):
    """The interior master with HiGHS for its programs, from nothing each time."""

    solver = ""

    def _central(self, program: InteriorProgram, *_start: Ints) -> tuple[Floats, Floats]:
        """Return solution and duals by HiGHS, as accurate as they have to be."""
        value, matrix, limit, equal = program
        h = solvers.highs(threads=self.threads)
        for name, option in (
            ("solver", self.solver),
            ("run_crossover", "off"),
            ("ipm_optimality_tolerance", self.accuracy),
            ("pdlp_optimality_tolerance", self.accuracy),
        ):
            h.setOptionValue(name, option)
        lower = np.where(equal, limit, -np.inf)
        n = value.size
        solvers.load(h, -value, matrix, lower, limit, np.zeros(n), np.full(n, np.inf))
        solvers.rerun(h)
        found = h.getSolution()
        self.sound = bool(found.value_valid and found.dual_valid)
        return np.array(found.col_value), -solvers.row_duals(h)


def available(solver: str) -> bool:
    """Return whether HiGHS has a solver."""
    import highspy

    return bool(solvers.highs().setOptionValue("solver", solver) == highspy.HighsStatus.kOk)


def masters() -> dict[str, Callable[[Any], RestrictedMaster]]:
    """Return the masters that can be measured."""
    out: dict[str, Callable[[Any], RestrictedMaster]] = {OURS: InteriorMaster}
    for name, solver in LIBRARY.items():
        if available(solver):
            out[name] = type(name, (LibraryMaster,), {"solver": solver})
    return out | {"simplex": Master}


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=3, time_limit=60.0)
    p.add_argument("--jobs", type=int, default=100)
    p.add_argument("--slots", type=int, default=100)
    p.add_argument("--machines", type=int, default=100)
    p.add_argument("--families", nargs="+", default=list(PRESETS), choices=list(PRESETS))
    p.add_argument("--masters", nargs="+", default=list(masters()), choices=list(masters()))
    options = parse(p, __file__, argv)
    return BENCHMARK.run(
        list(cells(options)),
        measure,
        options,
        keep=lambda row: row["master"] not in options.masters,
    )


def cells(options: Namespace) -> Iterator[Row]:
    """Yield the runs."""
    for family in options.families:
        for preset in PRESETS[family]:
            for seed in range(options.seeds):
                for name in options.masters:
                    yield {
                        "family": family,
                        "preset": preset,
                        "seed": seed,
                        "jobs": options.jobs,
                        "slots": options.slots,
                        "machines": options.machines,
                        "master": name,
                        "limit": options.time_limit,
                    }


def measure(cell: Row) -> Row:
    """Generate columns; return the bounds on the way."""
    size = {name: cell[name] for name in ("jobs", "slots", "machines")}
    inst = get_family(cell["family"]).generate(cell["preset"], seed=cell["seed"], **size)
    module = import_module(f"optsched.families.{cell['family']}.optimum.relaxations.capacity")
    problem = module.CapacityRelaxation(inst)
    small = get_family(cell["family"]).generate("small", seed=0)
    kind = masters()[cell["master"]]
    warm = module.CapacityRelaxation(small)  # its kernels are compiled
    generate_columns(warm, kind(warm), stop=lambda _: False)
    bounds: list[tuple[float, float]] = []
    began = time.process_time()

    def stop(found: Relaxation) -> bool:
        spent = time.process_time() - began
        if not bounds or found.bound < bounds[-1][1]:
            bounds.append((spent, found.bound))
        return spent > cell["limit"]

    how: dict[str, Any] = {"tolerance": lambda _: 1e-5, "smoothing": AutoParams.smoothing}
    found = generate_columns(problem, kind(problem), stop=stop, **how)
    stop(found)
    return {
        "seconds": time.process_time() - began,
        "converged": found.converged,
        "bound": found.bound,
        "bounds": bounds,
        "highs": metadata.version("highspy"),
    }


def summarize(rows: list[Row]) -> Summary:
    """Compare the masters on every instance."""
    best: dict[tuple[str, str, int], float] = {}
    for row in rows:
        where = row["family"], row["preset"], row["seed"]
        best[where] = min(best.get(where, math.inf), row["bound"])
    lines: list[list[Any]] = []
    for family, preset in dict.fromkeys((row["family"], row["preset"]) for row in rows):
        mine = [row for row in rows if (row["family"], row["preset"]) == (family, preset)]
        near = {
            name: geometric_mean(
                [
                    _until(row, best[family, preset, row["seed"]])
                    for row in mine
                    if row["master"] == name
                ]
            )
            for name in dict.fromkeys(row["master"] for row in mine)
        }
        for name, seconds in near.items():
            runs = [row for row in mine if row["master"] == name]
            factor = seconds / near[OURS] if OURS in near else None
            lines.append(
                [
                    family,
                    preset,
                    name,
                    ", ".join(sorted({row["highs"] for row in runs})),
                    len(runs),
                    round(seconds, 3),
                    None if factor is None else round(factor, 2),
                    sum(row["converged"] for row in runs),
                    round(geometric_mean([row["seconds"] for row in runs]), 2),
                    percent(max(r["bound"] / best[family, preset, r["seed"]] - 1 for r in runs)),
                ]
            )
    columns = (
        "family",
        "preset",
        "master",
        "HiGHS",
        "runs",
        "s to 0.1 %",
        "times ours",
        "converged",
        "s in all",
        "worst bound, above the best",
    )
    goal = Target(
        "best library: times the seconds of the interior master, worst preset",
        "",
        _best_library(lines),
        must=1.5,
    )
    return Summary(columns, lines, [goal])


def _best_library(lines: Sequence[Sequence[Any]]) -> float | None:
    """Return the worst factor of the library's solver that is the best one."""
    factors: dict[str, list[float]] = {}
    for line in lines:
        if line[2] in LIBRARY and line[6] is not None:
            factors.setdefault(line[2], []).append(line[6])
    return min((max(mine) for mine in factors.values()), default=None)


def _until(row: Row, best: float) -> float:
    """Return the seconds until a run was near the best bound; twice its limit if never."""
    within = [s for s, bound in row["bounds"] if bound <= best * (1 + NEAR)]
    return within[0] if within else 2 * float(row["limit"])


BENCHMARK = Benchmark(
    name="masters",
    title="Masters of column generation",
    question="Does a solver of a library come near the interior master?",
    methods={
        OURS: "`InteriorMaster`: an interior point that begins where the last program ended",
        "IPX, HiPO, PDLP": "the same master; its programs by HiGHS, without crossover, from "
        "nothing each time",
        "simplex": "`Master`: the warm simplex of HiGHS",
        "s": "processor time, geometric mean; twice the limit where 0.1 % was not reached",
    },
    summarize=summarize,
)

if __name__ == "__main__":
    main()
