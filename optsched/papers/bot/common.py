"""Factorial experiments of the bag-of-tasks paper: every set of step sizes on every platform."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from matplotlib.figure import Figure

from optsched.core import solve
from optsched.drawing import finish, legend, new_figure
from optsched.families.bot.instance import BotInstance, BotSchedule
from optsched.families.bot.policies.convergence import convergence
from optsched.families.bot.policies.negotiation import Negotiation, Steps
from optsched.families.bot.sources.presets import generate
from optsched.papers.experiment import OPEN, Cell, Row, Rows, Setting, Summary, grouped
from optsched.papers.shares import Share, bars
from optsched.papers.verdict import Finding, counted

ITERATIONS = 1500
SEEDS = 30
UNITS = ("sec6.5", "sec6.2")  # the verdicts are about the first
UNIT_NAMES = {
    "sec6.5": "here, 13.81 GFLOP a task (Sec. 6.5)",
    "sec6.2": "here, 13.81 MFLOP a task (Sec. 6.2)",
}
FACTORS = ("rho", "tilde", "lam", "mu")
Levels = dict[str, tuple[float, ...]]
NAIVE_LEVELS: Levels = {
    "rho": (1e-3, 0.1), "tilde": (1e-3, 0.1), "lam": (1e-15, 1e-13), "mu": (1e-15, 1e-13),
}  # fmt: skip

SETTINGS: tuple[Setting, ...] = (
    Setting("platforms", "30 random trees of each size", 'Sec. 6.5.3: "using 30 platforms"'),
    Setting("iterations", "1500", 'Sec. 6.5.1: "until iteration 1,500 where we stop"'),
    Setting(
        "converged",
        "within -ln 0.85 of the optimum in each of the last 100 iterations",
        'Sec. 6.4: "a precision of x = 0.85", "the last v_check = 100 iterations"',
    ),
    Setting("optimum", "certified interior point", 'Sec. 6.3: "the response of the DSDP solver"'),
    Setting(
        "units",
        "judged: sec6.5, the intermediate application has 13.81 GFLOP (and all others a thousand "
        "times more work, too); beside: sec6.2, 13.81 MFLOP",
        'Sec. 6.5: "w = 13.81 GFLOP"; Sec. 6.2: "w_3 = 13.81 MFLOP". They contradict each other; '
        "the printed step sizes fit the first",
    ),
    Setting("trees, masters", "seeds 0 to 29", f"{OPEN}: the platforms are not published"),
)
STEPS = Setting(
    "dual steps", "divided by gamma_rho (stable)",
    "Sec. 7.3 derives gamma_lambda gamma_rho sum < 1; (21), (22) divide by the sum only (printed)",
)  # fmt: skip


def platforms(sizes: Sequence[tuple[int, int]], seeds: int, **more: Any) -> list[Cell]:
    """Return one cell per reading of the units, size and platform."""
    return [
        {"units": units, "nodes": nodes, "degree": degree, "seed": seed, **more}
        for units, (nodes, degree), seed in product(UNITS, sizes, range(seeds))
    ]


def platform(cell: Cell, preset: str) -> BotInstance:
    """Return the platform of a cell, with the applications of a preset."""
    sizes = {name: cell[name] for name in ("nodes", "degree", "units")}
    return generate(preset, seed=cell["seed"], **sizes)


def factorial(cell: Cell, preset: str, algorithm: str, levels: Levels) -> Row:
    """Run every combination of the levels on the platform of a cell.

    A cell may name the dual steps, the order of updates and what is left out of the adaptive
    algorithm; else they are the defaults of `Steps`.
    """
    names = ("dual_step", "order", "newton", "stability", "factor")
    reading = {name: cell[name] for name in names if name in cell}
    inst = platform(cell, preset)
    best = solve(inst)
    if best.value is None or best.gap is None or best.gap > 1e-5:
        raise RuntimeError(f"the optimum is not certified: {best}")
    sets = []
    for chosen in product(*(levels[f] for f in FACTORS)):
        sizes = dict(zip(FACTORS, chosen, strict=True))
        steps = Steps.model_validate({"algorithm": algorithm, **reading, **sizes})
        series, _ = Negotiation(inst, steps).run(ITERATIONS)
        found = convergence(series, best.value)
        sets.append({**sizes, **found.model_dump(), "robust": found.robust})
    return {"optimum": best.value, "sets": sets}


def best_sets(rows: Rows) -> list[dict[str, Any]]:
    """Return, for every reading and size, how often the best set of step sizes converges."""
    found = []
    for (units, nodes, degree), group in grouped(rows, "units", "nodes", "degree").items():
        columns = [
            {f: first[f] for f in FACTORS}
            | {
                "converged": sum(row["sets"][i]["converged"] for row in group),
                "not_robust": sum(not row["sets"][i]["robust"] for row in group),
                "times": sorted(
                    row["sets"][i]["first_for_good"] for row in group if row["sets"][i]["converged"]
                ),
            }
            for i, first in enumerate(group[0]["sets"])
        ]
        best = max(columns, key=lambda c: (c["converged"], -sum(c["times"])))
        found.append(
            {
                "units": units,
                "nodes": nodes,
                "degree": degree,
                "platforms": len(group),
                "best": best,
                "median": median(best["times"]),
                "all": sum(c["converged"] for c in columns),
                "runs": len(columns) * len(group),
            }
        )
    return found


def median(sample: Sequence[float]) -> float | None:
    """Return the median; None of nothing."""
    return statistics.median(sample) if sample else None


def best_count(found: dict[str, Any], paper: int | None, of: int = 30) -> Finding:
    """Judge how often the best set of step sizes converges; without the paper's count, show it."""
    best = found["best"]
    claim = f"{found['units']}, {found['nodes']} nodes, degree {found['degree']}: share converged"
    steps = ", ".join(f"{f} {best[f]:g}" for f in FACTORS)
    note = f"with {steps}, median iteration {found['median']}" if best["converged"] else ""
    if paper is None:
        said = f"{best['converged']} of {found['platforms']}"
        share = best["converged"] / found["platforms"]
        return Finding(claim, None, share, None, note="; ".join(filter(None, [said, note])))
    return counted(claim, best["converged"], found["platforms"], paper, of, note=note)


def draw_counts(summary: Summary, paper: dict[tuple[int, int], int], title: str) -> Figure:
    """Draw the share of platforms that converge, the paper's beside ours."""
    groups: dict[str, Sequence[Share | None]]
    groups = {"paper": [Share.of(count, 30) for count in paper.values()]}
    for units in UNITS:
        mine = {
            (f["nodes"], f["degree"]): Share.of(f["best"]["converged"], f["platforms"])
            for f in summary["tables"]
            if f["units"] == units
        }
        groups[UNIT_NAMES[units]] = [mine.get(size) for size in paper]
    figure = draw_shares(groups, sizes_in_words(paper), "share of platforms that converge")
    figure.axes[0].set_xlabel("nodes, largest degree")
    figure.axes[0].set_title(title, fontsize=9)
    return figure


def sizes_in_words(sizes: Iterable[tuple[int, int]]) -> list[str]:
    """Return what stands below the bars of each size: nodes, largest degree."""
    return [f"{nodes}, {degree}" for nodes, degree in sizes]


def draw_shares(
    groups: Mapping[str, Sequence[Share | None]], ticks: Sequence[str], y: str
) -> Figure:
    """Draw groups of bars with their intervals, a colour per name."""
    figure = new_figure(8.4, 3.8)
    axis = figure.subplots()
    bars(axis, groups, ticks)
    finish(axis, grid="y")
    axis.set_ylabel(f"{y}\n(95 % interval)", fontsize=8)
    legend(figure, axis)
    return figure


def optimum(inst: BotInstance) -> tuple[float, BotSchedule]:
    """Return the best objective and the rates that have it."""
    found = solve(inst)
    if found.value is None or not isinstance(found.schedule, BotSchedule):
        raise RuntimeError("no optimum was found")
    return found.value, found.schedule
