"""How long the optima of family `bipartite` take, versus a general conic solver.

    python benchmarks/bipartite_optimum.py       (about five minutes, nearly all of it CVXPY's)

Ours is timed with everything: solving, judging, and the certificate made and evaluated again.
CVXPY's time is building and solving; nothing certifies what it returns. One thread each.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from bench import Benchmark, Row, Summary, Target, finite, geometric_mean, parse, parser
from render import number

from optsched.core import solve
from optsched.families.bipartite.instance import BipartiteInstance
from optsched.families.bipartite.optimum.decision import Solver
from optsched.families.bipartite.sources.presets import generate
from optsched.models.bipartite import bipartite_program

SETTINGS: dict[str, dict[str, Any]] = {
    "stationary": {"preset": "paper", "slots": 2000},
    "stationary, large": {"preset": "large", "slots": 2000},
    "stationary, complete": {"preset": "large", "slots": 2000, "density": 100.0},
    "per slot": {"preset": "paper", "slots": 8000},
}
GAPS = {
    "stationary": 1e-8,
    "stationary, large": 1e-6,
    "stationary, complete": 1e-6,
    "per slot": 1e-5,
}
GOALS = {"stationary": (3, 10), "stationary, complete": (15, 40), "per slot": (8, 20)}
SIZES = {
    "stationary": "10 x 128 x 6",
    "stationary, large": "100 x 1024 x 6, density 3",
    "stationary, complete": "100 x 1024 x 6, complete",
    "per slot": "10 x 128 x 6, T = 8000",
}
METHODS = {
    "interior": '`optsched.solve(method="stationary")` and `solve(method="auto")`, certified',
    "cvxpy": "`bipartite_program` by CVXPY and Clarabel with its own settings, one thread, weights "
    "scaled to at most 1; per slot: 100 of the different patterns of jobs, the time scaled up",
}


def measure(cell: Row) -> Row:
    """Solve one instance both ways."""
    options = dict(SETTINGS[cell["setting"]])
    inst = generate(options.pop("preset"), seed=cell["seed"], **options)
    method = "auto" if cell["setting"] == "per slot" else "stationary"
    gap = GAPS[cell["setting"]]
    times, found = [], None
    for _ in range(cell["repeats"]):
        began = time.perf_counter()
        found = solve(inst, method=method, gap=gap, time_limit=600)
        times.append(time.perf_counter() - began)
    assert found is not None
    row: Row = {
        "seconds": min(times),
        "value": found.value,
        "gap": finite(found.gap),
        "level": str(found.bound_level),
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "patterns": len(inst.patterns[0]),
        "channels": inst.arrays.channels,
    }
    return row | _conic(inst, method, cell["conic_patterns"])


def _conic(inst: BipartiteInstance, method: str, most: int) -> Row:
    """Solve by CVXPY; return its time, and how far its values are from ours, relatively.

    Of more than ``most`` patterns this many are solved, spread evenly, and the time is scaled up.
    """
    weights = [inst.counts] if method == "stationary" else list(inst.patterns[0])
    chosen = np.unique(np.linspace(0, len(weights) - 1, min(most, len(weights))).astype(int))
    solver, seconds, inaccurate, away = Solver(inst), 0.0, 0, 0.0
    for k in chosen:
        weight = weights[k]
        scale = max(1.0, float(weight.max()))
        began = time.perf_counter()
        program = bipartite_program(inst, weight / scale)
        found = scale * float(program.solve(solver=cp.CLARABEL, max_threads=1))
        seconds += time.perf_counter() - began
        inaccurate += program.status != cp.OPTIMAL
        best = solver.solve(weight, 1e-8).value
        away = max(away, abs(found - best) / max(abs(best), 1e-9))
    return {
        "conic_seconds": seconds * len(weights) / len(chosen),
        "conic_solved": len(chosen),
        "conic_away": away,
        "conic_inaccurate": inaccurate,
        "conic_peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def summarize(rows: list[Row]) -> Summary:
    """Return a line per setting, and the targets."""
    lines, targets = [], []
    for setting in SETTINGS:
        mine = [row for row in rows if row["setting"] == setting]
        both = [row for row in mine if "conic_seconds" in row]
        if not mine:
            continue
        factor = geometric_mean([row["conic_seconds"] / row["seconds"] for row in both])
        ours = geometric_mean([row["seconds"] for row in mine])
        theirs = geometric_mean([row["conic_seconds"] for row in both])
        gap = max(row["gap"] for row in mine)
        away = max((row["conic_away"] for row in both), default=float("nan"))
        lines.append(
            [
                setting,
                SIZES[setting],
                len(mine),
                number(ours),
                f"{gap:.1e}",
                number(theirs),
                number(factor),
                f"{away:.1e}",
            ]
        )
        if setting in GOALS:
            must, aim = GOALS[setting]
            what = f"{setting}, {SIZES[setting]}: times faster than CVXPY + Clarabel"
            targets.append(Target(what, "", factor, must=must, aim=aim, at_least=True))
            targets.append(
                Target(f"{setting}: certified gap, the worst", "", gap, must=GAPS[setting])
            )
        if setting == "stationary, complete":
            peak = max(row["peak_gb"] for row in mine)
            targets.append(Target("memory of the process, complete graph", "GB", peak, must=1.0))
    columns = ("optimum", "size", "instances", "s", "certified gap", "CVXPY s", "times faster")
    return Summary((*columns, "CVXPY's values off by"), lines, tuple(targets))


BENCHMARK = Benchmark(
    "bipartite_optimum",
    "Optima of the bipartite family",
    "How long do certified optima take, compared with a general conic solver?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=3)
    p.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    p.add_argument("--conic-patterns", type=int, default=100, help="solved by CVXPY, at most")
    options = parse(p, __file__, argv)
    cells = []
    # the complete graph first: what the process holds at most is then its own
    for setting in sorted(options.settings, key=lambda s: s != "stationary, complete"):
        seeds = options.seeds if setting == "stationary" else 1
        cells += [
            {
                "setting": setting,
                "seed": seed,
                "repeats": 5,
                "conic_patterns": options.conic_patterns,
            }
            for seed in range(seeds)
        ]
    for method in ("stationary", "auto"):
        solve(generate("small", seed=0), method=method)  # compiles
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
