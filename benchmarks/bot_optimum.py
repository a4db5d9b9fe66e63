"""How long the certified optimum of family `bot` takes, versus the conic forms.

    python benchmarks/bot_optimum.py        (about three minutes)

Our own time is that of the interior-point method (compiled code is warm), the least of some runs;
`solve` adds the judge and the exact check of the certificate, timed apart. A conic form is timed
with CVXPY's building, and with Clarabel's default step lengths where that is what is requested.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import product

import cvxpy as cp
from bench import Benchmark, Row, Summary, Target, median, parse, parser
from render import number

from optsched.families.bot.certificate.check import BotCertificate, Prices, check
from optsched.families.bot.instance import BotSchedule
from optsched.families.bot.loads import filled
from optsched.families.bot.optimum.interior import solve_tree
from optsched.families.bot.sources.presets import generate
from optsched.families.bot.verify import verify
from optsched.models.bot import solver_program
from optsched.solvers import solve_cvxpy

TOLERANCE = 1e-8  # of the logarithm of the mean rate
LARGE = 50_000
MUST = {500: (0.06, 0.02), 5_000: (0.6, 0.2), 50_000: (15.0, 5.0)}
METHODS = {
    "interior": "`solve_tree`: primal-dual interior point, elimination along the tree, numba",
    "geometric": "CVXPY, geometric mean as second-order cones, Clarabel",
    "exponential": "CVXPY, exponential cones, Clarabel with its default step lengths",
}


def measure(cell: Row) -> Row:
    """Time all three on one platform."""
    inst = generate(cell["preset"], seed=cell["seed"], nodes=cell["nodes"], units=cell["units"])
    if cell["random"]:
        found = solve_tree(inst, TOLERANCE)
        return {"interior_gap": _certified(inst, found)[0]}
    times = []
    for _ in range(cell["repeats"]):
        fresh = inst.model_copy()
        began = time.perf_counter()
        found = solve_tree(fresh, TOLERANCE)
        times.append(time.perf_counter() - began)
    gap, checked = _certified(inst, found)
    row: Row = {
        "interior_seconds": min(times), "check_seconds": checked, "interior_gap": gap,
        "iterations": found.iterations,
    }  # fmt: skip
    if cell["nodes"] < LARGE:
        row |= _conic(inst)
    return row


def _certified(inst, found) -> tuple[float, float]:
    """Return the absolute gap that judge and checker accept, and their time."""
    schedule = BotSchedule.of(filled(inst, found.rho))
    prices = Prices.of(found.nodes, found.arcs)
    began = time.perf_counter()
    value = verify(inst, schedule).value
    bound = check(inst, BotCertificate(instance_sha256=inst.digest(), levels=(prices,)))
    return bound - value, time.perf_counter() - began


def _conic(inst) -> Row:
    began = time.perf_counter()
    problem = solver_program(inst, "geometric")
    outcome = solve_cvxpy(problem)
    geometric = time.perf_counter() - began
    began = time.perf_counter()
    problem = solver_program(inst, "exponential")
    try:
        problem.solve(solver=cp.CLARABEL)
        solved = problem.status == "optimal"
    except cp.SolverError:
        solved = False
    return {
        "geometric_seconds": geometric, "geometric_solved": outcome.status == "optimal",
        "exponential_seconds": time.perf_counter() - began, "exponential_solved": solved,
    }  # fmt: skip


def summarize(rows: list[Row]) -> Summary:
    """Return medians by size; the worst of all platforms is the figure."""
    lines, targets = [], []
    timed = [row for row in rows if not row["random"]]
    for nodes in sorted({row["nodes"] for row in timed}):
        mine = [row for row in timed if row["nodes"] == nodes]
        seconds = [row["interior_seconds"] for row in mine]
        gap = max(row["interior_gap"] for row in mine)
        conic = [row for row in mine if "geometric_seconds" in row]
        solved = [sum(row[f"{m}_solved"] for row in conic) for m in ("geometric", "exponential")]
        lines.append(
            [
                nodes, len(mine), number(median(seconds)), number(max(seconds)),
                number(median([row["check_seconds"] for row in mine])), number(gap, ".2g"),
                number(median([row["geometric_seconds"] for row in conic])),
                *(f"{count} of {len(conic)}" if conic else "-" for count in solved),
            ]
        )  # fmt: skip
        if nodes in MUST:
            must, aim = MUST[nodes]
            what = f"optimum, {nodes} nodes"
            targets.append(Target(f"{what}, the slowest platform", "s", max(seconds), must, aim))
            targets.append(Target(f"{what}, certified gap", "", gap, 1e-5, 1e-6))
    drawn = [row["interior_gap"] for row in rows if row["random"]]
    if drawn:
        failed = sum(gap > 1e-5 for gap in drawn)
        targets.append(Target(f"failures on {len(drawn)} random platforms", "", failed, 0, 0))
    columns = (
        "nodes", "platforms", "median s", "worst s", "judge and check s", "worst gap",
        "geometric s", "geometric solved", "exponential solved",
    )  # fmt: skip
    return Summary(columns, lines, targets)


BENCHMARK = Benchmark(
    "bot_optimum",
    "Optimum of bags of tasks",
    "How long does a certified optimum take?",
    METHODS,
    summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Measure and store."""
    p = parser(__doc__, seeds=5)
    p.add_argument("--nodes", type=int, nargs="+", default=[500, 5_000, 50_000])
    p.add_argument("--random", type=int, default=200, help="random platforms of 5 to 1004 nodes")
    p.add_argument("--repeats", type=int, default=3, help="the least time of this many counts")
    options = parse(p, __file__, argv)
    kinds = list(product(("heterogeneous", "homogeneous"), ("sec6.5", "sec6.2")))
    cells = [
        {
            "nodes": nodes, "seed": seed, "preset": kinds[seed % 4][0], "units": kinds[seed % 4][1],
            "random": False, "repeats": options.repeats,
        }
        for nodes in options.nodes
        for seed in range(2 if nodes >= LARGE else options.seeds)
    ]  # fmt: skip
    cells += [
        {
            "nodes": 5 + 5 * seed, "seed": 1000 + seed, "preset": kinds[seed % 4][0],
            "units": kinds[seed % 4][1], "random": True, "repeats": 1,
        }
        for seed in range(options.random)
    ]  # fmt: skip
    solve_tree(generate("small", seed=0), TOLERANCE)
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
