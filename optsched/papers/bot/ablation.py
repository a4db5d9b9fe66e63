"""Sec. 7: the adaptive algorithm without each of its three ingredients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure

from optsched.papers.bot.common import (
    FACTORS,
    NAIVE_LEVELS,
    SETTINGS,
    STEPS,
    UNIT_NAMES,
    UNITS,
    Levels,
    draw_shares,
    factorial,
    platforms,
)
from optsched.papers.bot.tables import ADAPTIVE_LEVELS
from optsched.papers.estimate import Estimate
from optsched.papers.experiment import Cell, Row, Rows, Setting, Summary, grouped
from optsched.papers.shares import Share
from optsched.papers.verdict import Outcome, effect, shown

SIZE = (20, 5)
ALL = "all three"
WITHOUT: dict[str, dict[str, Any]] = {  # what is left out, and what `Steps` calls it
    ALL: {},
    "Newton's step": {"newton": False},
    "the stability condition": {"stability": False},
    "the geometric projection": {"factor": 0.0},
}
OF_NAIVE = {"newton": ("rho",), "stability": ("lam", "mu")}  # step sizes in the naive one's units


def cells(seeds: int) -> list[Cell]:
    """Return every platform with all ingredients, and without each."""
    return [c for without in WITHOUT for c in platforms([SIZE], seeds, without=without)]


def run(cell: Cell, _limit: float) -> Row:
    """Run the 16 sets of the last factorial, with levels of the naive algorithm where it steps."""
    left_out = WITHOUT[cell["without"]]
    naive = {f for name in left_out for f in OF_NAIVE.get(name, ())}
    levels: Levels = {
        f: (NAIVE_LEVELS if f in naive else ADAPTIVE_LEVELS[SIZE])[f] for f in FACTORS
    }
    return factorial(cell | left_out, "heterogeneous", "adaptive", levels)


def summarize(rows: Rows) -> Summary:
    """Return by reading and ingredient on which platforms the best set converges."""
    lines = []
    for (units, without), group in grouped(rows, "units", "without").items():
        columns = list(zip(*(row["sets"] for row in group), strict=True))
        best = max(columns, key=lambda column: sum(s["converged"] for s in column))
        lines.append(
            {
                "units": units,
                "without": without,
                "converged": [int(s["converged"]) for s in best],
                "set": {f: best[0][f] for f in FACTORS},
                "all": sum(s["converged"] for column in columns for s in column),
                "runs": len(columns) * len(group),
            }
        )
    return {"lines": lines}


def judge(summary: Summary) -> Outcome:
    """Compare how many platforms converge with all ingredients and without each."""
    lines = {(x["units"], x["without"]): x for x in summary["lines"]}
    found = []
    for units in UNITS:
        whole = lines[units, ALL]["converged"]
        for without in WITHOUT:
            x = lines[units, without]
            steps = ", ".join(f"{f} {x['set'][f]:g}" for f in FACTORS)
            note = (
                f"{sum(x['converged'])} of {len(whole)} with {steps}; all 16 sets: {x['all']} of "
                f"{x['runs']} runs"
            )
            if without == ALL:
                share = Estimate.share(sum(whole), len(whole))
                found.append(shown(f"{units}, all three: share converged", share, note=note))
                continue
            less = Estimate.of([a - b for a, b in zip(whole, x["converged"], strict=True)])
            claim = f"{units}: share converged with all three less that without {without}"
            judged = units == UNITS[0]
            finding = effect(claim, less, note=note)
            found.append(finding if judged else replace(finding, verdict=None))
    return Outcome(tuple(found))


def draw(summary: Summary) -> Figure:
    """Draw the shares that converge, a bar per reading of the units."""
    groups = {
        UNIT_NAMES[units]: [
            Share.of(sum(x["converged"]), len(x["converged"]))
            for x in summary["lines"]
            if x["units"] == units
        ]
        for units in UNITS
    }
    ticks = [ALL, *(f"without\n{name}" for name in WITHOUT if name != ALL)]
    return draw_shares(groups, ticks, "share of platforms that converge, best set")


TITLE = "Bags of tasks, Sec. 7: the adaptive algorithm without each of its three ingredients"
CLAIM = (
    "removing Newton's step, the stability condition or the geometric projection generally leads "
    "to severe convergence issues"
)
SETTINGS = (
    *SETTINGS,
    STEPS,
    Setting("platforms", "20 nodes, degree 5, heterogeneous", "Sec. 8.2"),
    Setting(
        "left out", "(19) in place of (20); (17), (18) in place of (21), (22); max(0, ...)",
        "Sec. 7.2, 7.3, 7.4",
    ),
    Setting(
        "step sizes", "16 sets of the last factorial of 20 nodes, the best one counts; where the "
        "naive equation stands in, the levels of the naive algorithm, whose units it has",
        "Sec. 6.5, 8.2",
    ),
)  # fmt: skip
