"""The order of updates: as the waves bring them, or all at once as the equations are printed."""

from __future__ import annotations

from matplotlib.figure import Figure

from optsched.papers.bot.common import (
    SETTINGS,
    UNITS,
    best_sets,
    draw_shares,
    factorial,
    platforms,
    sizes_in_words,
)
from optsched.papers.bot.tables import ADAPTIVE_LEVELS, TABLE2
from optsched.papers.experiment import Cell, Row, Rows, Setting, Summary, grouped
from optsched.papers.shares import Share
from optsched.papers.verdict import Finding, Outcome, counted

SIZES = ((20, 5), (40, 5), (100, 5), (500, 15))
LARGE = 10  # platforms of 500 nodes
READINGS = {  # order of updates, dual steps
    "waves, stable": ("waves", "stable"),
    "at once, printed": ("equations", "printed"),
}


def cells(seeds: int) -> list[Cell]:
    """Return every platform in both readings."""
    return [
        c
        for order, dual_step in READINGS.values()
        for size in SIZES
        for c in platforms(
            [size], seeds if size[0] < 500 else min(seeds, LARGE), order=order, dual_step=dual_step
        )
        if c["units"] == UNITS[0]
    ]


def run(cell: Cell, _limit: float) -> Row:
    """Run the adaptive algorithm with the 16 sets of the last factorial of a size."""
    levels = ADAPTIVE_LEVELS[cell["nodes"], cell["degree"]]
    return factorial(cell, "heterogeneous", "adaptive", levels)


def summarize(rows: Rows) -> Summary:
    """Return by reading how often the best set of step sizes converges."""
    tables = []
    for name, (order, dual_step) in READINGS.items():
        mine = [r for r in rows if (r["order"], r["dual_step"]) == (order, dual_step)]
        for group in grouped(mine, "nodes").values():
            tables += [table | {"reading": name} for table in best_sets(group)]
    return {"tables": tables}


def judge(summary: Summary) -> Outcome:
    """Compare both readings with Table 2: either could be the paper's where it converges so."""
    found: list[Finding] = []
    for t in summary["tables"]:
        paper, best = TABLE2[t["nodes"], t["degree"]], t["best"]
        claim = f"{t['reading']}, {t['nodes']} nodes: share converged"
        note = f"all 16 sets: {t['all']} of {t['runs']} runs"
        found.append(counted(claim, best["converged"], t["platforms"], paper, 30, note=note))
    return Outcome(tuple(found))


def draw(summary: Summary) -> Figure:
    """Draw the shares by size, a bar per reading."""
    groups = {"paper": [Share.of(TABLE2[size], 30) for size in SIZES]}
    for name in READINGS:
        mine = [t for t in summary["tables"] if t["reading"] == name]
        groups[f"here, {name}"] = [Share.of(t["best"]["converged"], t["platforms"]) for t in mine]
    figure = draw_shares(
        groups, sizes_in_words(SIZES), "share of platforms that converge, best set"
    )
    figure.axes[0].set_xlabel("nodes, largest degree")
    return figure


TITLE = "Bags of tasks, (20) to (22): the order of updates and the dual steps, beside Table 2"
CLAIM = "24 to 29 of 30 platforms converge with the best set of step sizes"
SETTINGS = (
    *SETTINGS,
    Setting(
        "waves, stable", "each update from what the waves have brought; dual steps / gamma_rho",
        "Sec. 7.3, Algorithm 1 (steps 1 and 2 of a wave)",
    ),
    Setting("at once, printed", "all right sides of one time, dual steps as they stand",
            "(20) to (22) as printed"),
    Setting("step sizes", "all 16 sets of the last factorial of each size", "Sec. 8.2"),
    Setting("platforms of 500 nodes", "10", "a reading there takes 16 runs of 500 nodes each"),
)  # fmt: skip
