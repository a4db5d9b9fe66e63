"""The optimum at the size of the paper's experiments: 100 jobs, T = 100, 50 + 50 machines.

    python benchmarks/oasis_scale.py                     (about an hour)
    python benchmarks/oasis_scale.py --part c            (one part; the others stay as stored)

a  seconds to the first bound: the duals of the compact linear program, put into the Lagrangian
   bound; next to it the same linear program by HiGHS's simplex
c  the certified gap after a minute; next to it HiGHS on the program per machine (first seeds only)
d  `optsched verify` of a result file, by the clock of a user: a process of its own
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from bench import Benchmark, Row, Summary, Target, add_sizes, finite, median, parse, parser, sizes
from render import DASH, number, percent

from optsched import solvers
from optsched.core import Optimum, solve
from optsched.engine.budget import Budget
from optsched.families.oasis import FAMILY
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.build_certificate import certify_capacity
from optsched.families.oasis.optimum.relaxations.capacity import CapacityRelaxation
from optsched.families.oasis.optimum.relaxations.relaxation import _Matrix, compact_prices
from optsched.families.oasis.sources.traces import generate
from optsched.problem import Level
from optsched.results.result import save_result

METHODS = {
    "first bound": "compact LP: (1)-(13) relaxed, a class of equal machines as one, strengthened "
    "by prefix rows; HiGHS interior point without crossover; the bound is B(p) at its "
    "duals, by the exact oracle; the time includes building",
    "simplex": "the same linear program; HiGHS simplex; the time includes building",
    "auto": 'solve(method="auto", seed=0, check="certified"), in part c with --threads',
    "HiGHS": 'solve(method="compact", seed=0), as many threads: (1)-(13) per machine, by Pyomo, '
    "solved by HiGHS without presolve; the time includes building",
}
WARM = 60.0  # seconds at most that each method runs before, to compile its kernels
GOALS = {"paper": (0.06, 0.015), "earnable": (0.12, 0.06)}  # worst (must), median (aim), of the gap
MUST_MEDIAN = {"paper": 0.019, "earnable": 0.085}


def instance(cell: Row) -> OasisInstance:
    """Draw the instance of a cell."""
    return generate(cell["preset"], seed=cell["seed"], **sizes(cell))


def first_bound(cell: Row) -> Row:
    """Part a: prices, bound, certificate, check; then the simplex."""
    inst, clock = instance(cell), time.perf_counter
    times = [clock()]
    blocks = CapacityRelaxation(inst)
    prices = compact_prices(blocks, span=Budget(cell["alternative_limit"]).span())
    times.append(clock())
    bound = blocks.bound(prices)
    times.append(clock())
    certified = FAMILY.check(inst, certify_capacity(blocks, prices))
    times.append(clock())
    lp, pricing, check = np.diff(times).tolist()
    return {
        "lp_seconds": lp,
        "pricing_seconds": pricing,
        "check_seconds": check,
        "bound": bound,
        "certified_bound": certified,
        **simplex(inst, cell["alternative_limit"]),
    }


def simplex(inst: OasisInstance, limit: float) -> Row:
    """Solve the compact linear program by the simplex."""
    began = time.perf_counter()
    h = solvers.highs(threads=1, time_limit=limit)
    h.setOptionValue("solver", "simplex")
    solvers.load(h, *_Matrix(CapacityRelaxation(inst)).arrays())
    solvers.run(h)
    seconds = time.perf_counter() - began
    done = h.modelStatusToString(h.getModelStatus()) == "Optimal"
    value = -h.getInfo().objective_function_value if done else None
    return {"simplex_done": done, "simplex_seconds": seconds, "simplex_value": value}


def gap_after(cell: Row) -> Row:
    """Part c."""
    limit = cell["time_limit"]
    how = {"method": cell["method"], "threads": cell["threads"]}
    return figures(solve(instance(cell), time_limit=limit, **how))


def figures(optimum: Optimum) -> Row:
    """Return what is stored of an optimum."""
    return {
        "status": str(optimum.status),
        "value": optimum.value,
        "bound": optimum.bound,
        "level": None if optimum.bound_level is None else str(optimum.bound_level),
        "gap": finite(optimum.gap),
        "seconds": optimum.seconds,
    }


def verify_file(cell: Row) -> Row:
    """Part d: solve for a while, store the result, verify the file."""
    inst = instance(cell)
    optimum = solve(inst, method="auto", time_limit=cell["verified_limit"], threads=1)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        save_result(path, inst, optimum)
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "optsched", "verify", str(path)],
            check=False,
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - began
        if done.returncode != 0:
            raise RuntimeError(f"verify rejects a result: {done.stdout}{done.stderr}")
        return {
            "verify_seconds": seconds,
            "file_bytes": path.stat().st_size,
            "gap": finite(optimum.gap),
        }


PARTS: dict[str, Callable[[Row], Row]] = {
    "a": first_bound,
    "c": gap_after,
    "d": verify_file,
}


LIMITS = {
    "a": "alternative_limit",
    "c": "time_limit",
    "d": "verified_limit",
}


def summarize(rows: list[Row]) -> Summary:
    """Return a line per part, preset and method."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["part"]):
        method = row.get("method", "")
        groups.setdefault((row["part"], row["preset"], method), []).append(row)
    lines: list[list[str]] = []
    targets: list[Target] = []
    for (part, preset, method), mine in groups.items():
        name, (more, goals) = f"{preset} ({len(mine)})", SUMMARIES[part](preset, method, mine)
        lines += [[f"{part}: {what}", name, *rest] for what, *rest in more]
        targets += goals
    return Summary(("part", "preset", "median", "worst", "remarks"), lines, targets)


Part = tuple[list[list[str]], list[Target]]


def _seconds(what: str, taken: Sequence[float], remarks: str = "") -> list[str]:
    return [what, f"{number(median(taken))} s", f"{number(max(taken))} s", remarks]


def _sum_a(preset: str, _method: str, rows: list[Row]) -> Part:
    first = [row["lp_seconds"] + row["pricing_seconds"] for row in rows]
    checked = [f + row["check_seconds"] for f, row in zip(first, rows, strict=True)]
    done = [row for row in rows if row["simplex_done"]]
    ratio = median([row["bound"] / row["simplex_value"] for row in done])
    bound = number(median([row["bound"] for row in rows]), ".5g")
    solved = f"{len(done)} of {len(rows)} solved; B(p) is {number(ratio, '.4f')} times its optimum"
    simplex_seconds = [row["simplex_seconds"] for row in rows]
    lines = [
        _seconds("first bound", first, f"median bound {bound}"),
        _seconds("first bound, re-checked", checked, "with the exact check of its certificate"),
        _seconds("compact LP by simplex", simplex_seconds, solved),
    ]
    goal = Target(f"{preset}: first certified bound, slowest", "s", max(checked), 10.0, 5.0)
    return lines, [goal]


def _sum_c(preset: str, method: str, rows: list[Row]) -> Part:
    gaps = [row["gap"] for row in rows if row["gap"] is not None]
    without = len(rows) - len(gaps)
    limit = number(rows[0]["time_limit"])
    remarks = [f"{without} without schedule or bound"] if without else []
    worst = None if without else max(gaps)
    middle = median([*gaps, *[float("inf")] * without])
    shown = percent(middle) if middle != float("inf") else DASH
    name = "auto" if method == "auto" else "HiGHS"
    line = [f"gap after {limit} s, {name}", shown, percent(worst), ", ".join(remarks)]
    if method != "auto":
        return [line], []
    claimed = sum(row["level"] != Level.CERTIFIED for row in rows)
    most, wanted = GOALS.get(preset, (None, None))
    least = MUST_MEDIAN.get(preset)
    middle = None if without else middle
    goals = [
        Target(f"{preset}: certified gap after {limit} s, median", "%", middle, least, wanted),
        Target(f"{preset}: certified gap after {limit} s, worst", "%", worst, most),
        Target(f"{preset}: bounds that are not certified", "", claimed, 0),
    ]
    return [line], goals


def _sum_d(preset: str, _method: str, rows: list[Row]) -> Part:
    seconds = [row["verify_seconds"] for row in rows]
    size = max(row["file_bytes"] for row in rows) / 1e6
    line = _seconds("verify a result file", seconds, f"largest file {number(size)} MB")
    return [line], [Target(f"{preset}: verify, slowest", "s", max(seconds), 60.0, 10.0)]


SUMMARIES: dict[str, Callable[[str, str, list[Row]], Part]] = {
    "a": _sum_a,
    "c": _sum_c,
    "d": _sum_d,
}
BENCHMARK = Benchmark(
    "oasis_scale",
    "The optimum at the paper's scale",
    "How soon is there a bound, and how good are bound and schedule?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(
        __doc__,
        time_limit=60.0,
        alternative_limit=120.0,
        verified_limit=20.0,
    )
    p.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    p.add_argument("--other-seeds", type=int, default=3, help="seeds of parts a and d")
    p.add_argument("--alternative-seeds", type=int, default=1, help="seeds for HiGHS in part c")
    p.add_argument("--threads", type=int, default=2, help="of either method in part c")
    add_sizes(p, jobs=100, slots=100, machines=100)
    options = parse(p, __file__, argv)
    for method in ("auto", "compact"):  # compiles and imports everything
        solve(generate("small", seed=0), method=method, time_limit=WARM)
    cells = [cell | sizes(options) for part in options.part for cell in _cells(part, options)]
    parts = set(options.part)
    return BENCHMARK.run(
        cells,
        lambda cell: PARTS[cell["part"]](cell),
        options,
        keep=lambda row: row["part"] not in parts,
    )


def _cells(part: str, options: Any) -> list[Row]:
    """Return the cells of one part."""
    limit = {LIMITS[part]: getattr(options, LIMITS[part])}
    seeds = options.seeds if part == "c" else min(options.seeds, options.other_seeds)
    method = {"method": "auto", "threads": options.threads} if part == "c" else {}
    cells = [
        {"part": part, "preset": preset, "seed": seed, **method, **limit}
        for seed in range(seeds)
        for preset in options.presets
    ]
    if part == "c":
        other = {"method": "compact", "time_limit": options.alternative_limit}
        chosen = [cell for cell in cells if cell["seed"] < options.alternative_seeds]
        cells += [cell | other for cell in chosen]
    return cells


if __name__ == "__main__":
    main()
