"""Compare the warm simplex of the restricted master problem with other solvers of HiGHS.

The same column generation from the same beginning: with the master as it is, and with its programs
solved from nothing each time, without crossover, by IPX, by PDLP, or by HiPO, where the package
`highspy-extras` is of the version of HiGHS. What counts is the processor time until the bound is
within 0.1 % of the best bound of any of them, and what is reached in the end.

The rows *interior* are stored: an interior-point method of our own that began where the last
program ended (518 lines, until commit 21e83fca). *interior, IPX* and so on had HiGHS in its place.
"""

from __future__ import annotations

import math
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from typing import Any

from bench import Benchmark, Row, Summary, Target, geometric_mean, parse, parser
from render import percent

from optsched import solvers
from optsched.engine.colgen import (
    Decomposition,
    Master,
    Relaxation,
    generate_columns,
)
from optsched.families.completion.optimum.relaxations import capacity as completion
from optsched.families.dmlrs.optimum.methods import AutoParams
from optsched.families.dmlrs.optimum.relaxations import capacity as dmlrs
from optsched.problem import get_family

NEAR = 0.001  # of the best bound
PRESETS = {"dmlrs": ("contended",), "completion": ("paper",)}
SPAN = 4  # slots of completion that share a price
LIBRARY = {"IPX": "ipx", "HiPO": "hipo", "PDLP": "pdlp"}
OURS = "simplex"


class CentralMaster(Master):
    """The master by a solver that begins from nothing, without crossover."""

    solver = ""

    def __init__(self, problem: Decomposition) -> None:
        super().__init__(problem)
        self.h.setOptionValue("solver", self.solver)
        self.h.setOptionValue("run_crossover", "off")


def available(solver: str) -> bool:
    """Return whether HiGHS has a solver."""
    import highspy

    return bool(solvers.highs().setOptionValue("solver", solver) == highspy.HighsStatus.kOk)


def masters() -> dict[str, Callable[[Any], Master]]:
    """Return the masters that can be measured."""
    found = {name: solver for name, solver in LIBRARY.items() if available(solver)}
    others = {name: type(name, (CentralMaster,), {"solver": found[name]}) for name in found}
    return {OURS: Master, **others}


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
        keep=lambda row: (
            row["master"] not in options.masters or row["family"] not in options.families
        ),
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


def relaxation(inst: Any) -> Decomposition:
    """Return the relaxation of capacity of an instance."""
    if inst.family == "dmlrs":
        return dmlrs.CapacityRelaxation(inst)
    return completion.CapacityRelaxation(completion.JobTables(inst), 2 * inst.horizon, SPAN)


def measure(cell: Row) -> Row:
    """Generate columns; return the bounds on the way."""
    size = {name: cell[name] for name in ("jobs", "slots", "machines")}
    family, kind = get_family(cell["family"]), masters()[cell["master"]]
    problem = relaxation(family.generate(cell["preset"], seed=cell["seed"], **size))
    warm = relaxation(family.generate("small", seed=0))  # its kernels are compiled
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
                    percent(
                        max(abs(1 - r["bound"] / best[family, preset, r["seed"]]) for r in runs)
                    ),
                ]
            )
    columns = (
        "family",
        "preset",
        "master",
        "HiGHS",
        "runs",
        "s to 0.1 %",
        "times the simplex",
        "converged",
        "s in all",
        "worst bound, above the best",
    )
    goal = Target(
        "simplex: times the seconds of the interior master that it replaced, worst preset",
        "",
        _worst(lines),
        must=1.5,
    )
    return Summary(columns, lines, [goal])


def _worst(lines: Sequence[Sequence[Any]]) -> float | None:
    """Return the greatest ratio of the simplex to the interior point."""
    return max((round(1 / line[6], 2) for line in lines if line[2] == "interior"), default=None)


def _until(row: Row, best: float) -> float:
    """Return the seconds until a run was near the best bound; twice its limit if never."""
    within = [s for s, bound in row["bounds"] if bound <= best + NEAR * abs(best)]
    return within[0] if within else 2 * float(row["limit"])


BENCHMARK = Benchmark(
    name="masters",
    title="Masters of column generation",
    question="Which solver suits the restricted master problem?",
    methods={
        OURS: "`colgen.Master`: the warm simplex of HiGHS",
        "interior": "an interior point of our own that began where the last one ended (removed)",
        "interior, IPX (HiPO, PDLP)": "the same, with HiGHS in its place",
        "IPX": "`colgen.Master`, by IPX without crossover, from nothing each time",
        "s": "processor time, geometric mean; twice the limit where 0.1 % was not reached",
    },
    summarize=summarize,
)

if __name__ == "__main__":
    main()
