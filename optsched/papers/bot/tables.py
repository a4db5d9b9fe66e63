"""Tables 1 and 2, and the naive algorithm on heterogeneous applications (Sec. 6.5, 6.6, 8.2)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from optsched.drawing import COLOURS, finish, legend, new_figure
from optsched.papers.bot.common import (
    FACTORS,
    NAIVE_LEVELS,
    SETTINGS,
    STEPS,
    UNIT_NAMES,
    UNITS,
    Levels,
    best_count,
    best_sets,
    draw_counts,
    factorial,
    platforms,
)
from optsched.papers.estimate import Estimate
from optsched.papers.experiment import (
    Cell,
    Experiment,
    Row,
    Rows,
    Setting,
    Summary,
    grouped,
)
from optsched.papers.verdict import Outcome, counted, shown, untestable, within

TABLE1 = {(20, 5): 28, (20, 15): 29, (40, 5): 27, (100, 5): 24, (500, 15): 20}
TABLE2 = {(20, 5): 24, (20, 15): 30, (40, 5): 28, (100, 5): 27, (500, 15): 29}
PRICES = (0.7, 1.3)
ADAPTIVE_LEVELS: dict[tuple[int, int], Levels] = {  # the last factorial of each size, Sec. 8.2
    (20, 5): {"rho": (0.05, 0.15), "tilde": (0.05, 0.15), "lam": PRICES, "mu": PRICES},
    **{
        size: {"rho": (0.01, 0.05), "tilde": (0.05, 0.15), "lam": PRICES, "mu": PRICES}
        for size in ((20, 15), (40, 5), (100, 5))
    },
    (500, 15): {"rho": (0.001, 0.002), "tilde": (0.01, 0.05), "lam": (0.1, 0.7), "mu": (0.1, 0.7)},
}
LOWER: Levels = {  # the second factorial of Sec. 6.6: all but rho decreased
    "rho": (1e-3, 0.1), "tilde": (1e-4, 1e-2), "lam": (1e-17, 1e-15), "mu": (1e-17, 1e-15),
}  # fmt: skip
GRIDS = ("as homogeneous", "lower")
LEAST_VARIATION = 7.0  # c_v of any combination, Sec. 6.6
RUNS = 480  # of each factorial: 30 platforms, 16 sets
FAR = 1e3  # a distance above it, or of an objective without a number, counts as this


def run_table1(cell: Cell, _limit: float) -> Row:
    """Run the naive algorithm on homogeneous applications."""
    return factorial(cell, "homogeneous", "naive", NAIVE_LEVELS)


def run_table2(cell: Cell, _limit: float) -> Row:
    """Run the adaptive algorithm on heterogeneous applications."""
    levels = ADAPTIVE_LEVELS[cell["nodes"], cell["degree"]]
    return factorial(cell, "heterogeneous", "adaptive", levels)


def run_naive(cell: Cell, _limit: float) -> Row:
    """Run the naive algorithm on heterogeneous applications, at one of two grids."""
    levels = NAIVE_LEVELS if cell["grid"] == "as homogeneous" else LOWER
    return factorial(cell, "heterogeneous", "naive", levels)


def cells_naive(seeds: int) -> list[Cell]:
    """Return 20 nodes, both grids."""
    return [c for grid in GRIDS for c in platforms([(20, 5)], seeds, grid=grid)]


def summarize(rows: Rows) -> Summary:
    """Return the tables of both readings of the units."""
    return {"tables": best_sets(rows)}


def _judge(paper: dict[tuple[int, int], int], summary: Summary) -> Outcome:
    found = [
        best_count(f, paper[f["nodes"], f["degree"]] if f["units"] == UNITS[0] else None)
        for f in summary["tables"]
    ]
    return Outcome(tuple(found), ("the platforms of the paper are not published",))


def judge_table1(summary: Summary) -> Outcome:
    """Compare with Table 1: how many platforms converge."""
    return _judge(TABLE1, summary)


def judge_table2(summary: Summary) -> Outcome:
    """Compare with Table 2: how many platforms converge."""
    return _judge(TABLE2, summary)


def summarize_naive(rows: Rows) -> Summary:
    """Return how many runs converge on either grid, and how far from it all of them end."""
    return {
        "tables": [
            {
                "units": units,
                "grid": grid,
                "converged": sum(entry["converged"] for entry in entries),
                "runs": len(entries),
                "least_variation": _least_variation(entries),
                "known": sum(e["variation"] is not None for e in entries),
                "outside": sorted(min(e["margin"], FAR) for e in entries if not e["converged"]),
            }
            for (units, grid), group in grouped(rows, "units", "grid").items()
            for entries in [[entry for row in group for entry in row["sets"]]]
        ]
    }


def _least_variation(entries: list[dict[str, Any]]) -> list[float]:
    """Return |c_v| of the combination of step sizes with the least mean, of runs that have one."""
    known = [
        [abs(e["variation"]) for e in group if e["variation"] is not None]
        for group in grouped(entries, *FACTORS).values()
    ]
    return min(filter(None, known), key=lambda each: sum(each) / len(each), default=[])


def judge_naive(summary: Summary) -> Outcome:
    """Compare with Sec. 6.6: nothing converges, and every combination varies much."""
    found = []
    for f in summary["tables"]:
        where = f"{f['units']}, grid {f['grid']}"
        found.append(counted(f"{where}: runs that converge", f["converged"], f["runs"], 0, RUNS))
        least, claim = f["least_variation"], f"{where}: least mean |c_v| of a combination"
        judged = f["units"] == UNITS[0] and f["grid"] == GRIDS[0]
        seen = Estimate.of(least, nothing=None) if least else None
        note = f"{f['known']} of {f['runs']} runs have a c_v"
        if not judged:
            found.append(shown(claim, seen, note=note))
        elif seen is None:
            found.append(untestable(claim, None, f"{note}; what else counts is not printed"))
        else:
            found.append(within(claim, seen, low=LEAST_VARIATION, note=note))
    return Outcome(tuple(found))


def draw_naive(summary: Summary) -> Figure:
    """Draw how far from the edge of the tube the objectives of all runs end."""
    figure = new_figure(8.4, 4.4)
    axis = figure.subplots()
    for k, table in enumerate(summary["tables"]):
        share = [(i + 1) / table["runs"] for i in range(len(table["outside"]))]
        units, grid = UNIT_NAMES[table["units"]], table["grid"]
        name = f"{units}, grid {grid}: {table['converged']} of {table['runs']} inside"
        axis.step(table["outside"], share, where="post", label=name, color=COLOURS[k])
    axis.set_xscale("log")
    axis.set_title("naive, heterogeneous, 20 nodes", fontsize=9)
    x = "edge of the tube to the nearest of the last objectives, ln(tasks / s)"
    finish(axis, x, "share of runs", grid="y")
    legend(figure, axis)
    return figure


LEVELS = (
    Setting("step sizes", "all 16 sets of two levels each", "Table 1: the levels are printed"),
    Setting("step sizes", "all 16 sets of the last factorial of each size", "Sec. 8.2, Fig. 6"),
)


def _table(number: int, kind: tuple[str, str], found: str, run: Any, judge: Any) -> Experiment:
    paper = (TABLE1, TABLE2)[number - 1]
    return Experiment(
        name=f"bot-tab{number}",
        title=f"Bags of tasks, Table {number}: the {kind[0]} algorithm on {kind[1]} applications",
        claim=f"with good step sizes {found} of 30 platforms converge within 1500 iterations",
        settings=(*SETTINGS, LEVELS[number - 1], *((STEPS,) if number == 2 else ())),
        seeds=30,
        cells=lambda seeds: platforms(list(paper), seeds),
        run=run,
        summarize=summarize,
        judge=judge,
        draw=lambda summary: draw_counts(summary, paper, ", ".join(kind)),
    )


TABLE_1 = _table(1, ("naive", "homogeneous"), "20 to 29", run_table1, judge_table1)
TABLE_2 = _table(2, ("adaptive", "heterogeneous"), "24 to 30", run_table2, judge_table2)
NAIVE = Experiment(
    name="bot-naive-heterogeneous",
    title="Bags of tasks, Sec. 6.6: the naive algorithm on heterogeneous applications",
    claim=(
        "it converges in none of 480 runs, with the step sizes of Table 1 or smaller ones; no "
        "combination has a c_v below 7"
    ),
    settings=(
        *SETTINGS,
        Setting(
            "grid as homogeneous",
            "levels of Table 1",
            'Sec. 6.6: "the parameters that worked well in the homogeneous case"',
        ),
        Setting(
            "grid lower",
            "the others a tenth to a hundredth",
            'Sec. 6.6: "we decrease the levels of rho~, mu and lambda", by how much is not printed',
        ),
    ),
    seeds=30,
    cells=cells_naive,
    run=run_naive,
    summarize=summarize_naive,
    judge=judge_naive,
    draw=draw_naive,
)
