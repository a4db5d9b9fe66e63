"""Counts that stand in the text: small platforms (Sec. 6.5.1), 40 nodes (Sec. 8.2), the order."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from optsched.core import solve
from optsched.families.bot.policies.convergence import convergence
from optsched.families.bot.policies.negotiation import Negotiation, Steps
from optsched.papers.bot.common import (
    ITERATIONS,
    SETTINGS,
    STEPS,
    UNIT_NAMES,
    UNITS,
    draw_shares,
    factorial,
    platform,
    platforms,
)
from optsched.papers.bot.tables import ADAPTIVE_LEVELS
from optsched.papers.experiment import Cell, Row, Rows, Setting, Summary, grouped
from optsched.papers.shares import Share, mean_share
from optsched.papers.verdict import Finding, Outcome, counted

SMALL = ((5, 3), (10, 3), (10, 5), (10, 7), (20, 5), (20, 10), (20, 20))
THREE = (5, 3)  # the size of which there are three platforms
SOON = 200  # iterations
SMALL_STEPS = {"rho": 0.01, "tilde": 0.1, "lam": 1e-14, "mu": 1e-14}
TOO_LARGE, LOWER, SIZES = "too large", "lower", "small platforms"
PAPER = {TOO_LARGE: (7, 480), LOWER: (232, 240), SIZES: (9, 9)}
NAMES = {
    TOO_LARGE: "40 nodes, step sizes of 20 nodes: runs that converge",
    LOWER: "40 nodes, gamma_rho = 0.01: runs that converge",
    SIZES: f"platforms of 5 to 20 nodes in the tube within {SOON} iterations",
}


def cells(seeds: int) -> list[Cell]:
    """Return 40 nodes with two grids of step sizes, and the small platforms."""
    grids = [c for kind in (TOO_LARGE, LOWER) for c in platforms([(40, 5)], seeds, kind=kind)]
    small = [c for size in SMALL for c in platforms([size], 3 if size == THREE else 1, kind=SIZES)]
    return grids + small


def run(cell: Cell, _limit: float) -> Row:
    """Return how many sets converge on a platform, of how many."""
    if cell["kind"] == SIZES:
        inst = platform(cell, "homogeneous")
        series, _ = Negotiation(inst, Steps(algorithm="naive", **SMALL_STEPS)).run(ITERATIONS)
        found = convergence(series, solve(inst).value or 0.0)
        soon = found.converged and (found.first_for_good or 0) <= SOON
        return {"converged": int(soon), "of": 1, "first": found.first_for_good}
    levels = ADAPTIVE_LEVELS[(20, 5) if cell["kind"] == TOO_LARGE else (40, 5)]
    sets = factorial(cell, "heterogeneous", "adaptive", levels)["sets"]
    if cell["kind"] == LOWER:
        sets = [s for s in sets if s["rho"] == min(levels["rho"])]
    return {"converged": sum(s["converged"] for s in sets), "of": len(sets)}


def summarize(rows: Rows) -> Summary:
    """Return the counts by kind and reading of the units."""
    return {
        "counts": [
            {
                "kind": kind,
                "units": units,
                "converged": sum(row["converged"] for row in group),
                "of": sum(row["of"] for row in group),
                "interval": mean_share([row["converged"] / row["of"] for row in group]),
            }
            for (kind, units), group in grouped(rows, "kind", "units").items()
        ]
    }


def judge(summary: Summary) -> Outcome:
    """Compare every count, in the units that the step sizes fit."""
    return Outcome(tuple(map(_judge, summary["counts"])))


def _judge(found: dict[str, Any]) -> Finding:
    claim = f"{found['units']}, {NAMES[found['kind']]}"
    ours = found["converged"], found["of"]
    if found["units"] == UNITS[0]:
        return counted(claim, *ours, *PAPER[found["kind"]])
    return Finding(claim, None, ours[0] / ours[1], None, note=f"{ours[0]} of {ours[1]}")


def draw(summary: Summary) -> Figure:
    """Draw the shares, the paper's beside ours."""
    groups = {"paper (no interval: runs by platform are not printed)": [*map(_printed, PAPER)]}
    for units in UNITS:
        mine = {f["kind"]: f for f in summary["counts"] if f["units"] == units}
        groups[UNIT_NAMES[units]] = [
            Share(f["converged"] / f["of"], f["interval"], f"{f['converged']} / {f['of']}")
            for f in map(mine.__getitem__, PAPER)
        ]
    ticks = (
        "40 nodes,\nstep sizes of 20 nodes", "40 nodes,\nsmaller step",
        f"5 to 20 nodes, naive,\nwithin {SOON} iterations",
    )  # fmt: skip
    return draw_shares(groups, ticks, "share of runs that converge, over platforms")


def _printed(kind: str) -> Share:
    count, number = PAPER[kind]
    return Share(count / number, None, f"{count} / {number}")


TITLE = "Bags of tasks, Sec. 6.5.1 and 8.2: counts in the text"
CLAIM = (
    "with the step sizes of 20 nodes, 7 of 480 runs on 40 nodes converge; with gamma_rho = 0.01, "
    "232 of 240; on nine small platforms the naive algorithm is in the tube within 200 iterations"
)
SETTINGS = (
    *SETTINGS,
    STEPS,
    Setting(
        "small platforms",
        "three of 5 nodes, degree 3; one each of 10 nodes, degrees 3, 5, 7, and 20 nodes, degrees "
        "5, 10, 20; homogeneous applications",
        'Sec. 6.5.1: "generate 9 random platforms"',
    ),
    Setting("their step sizes", "0.01, 0.1, 1e-14, 1e-14", "Sec. 6.5.1"),
    Setting(
        "40 nodes",
        "30 platforms, degree 5; rho 0.05, 0.15, then 0.01, 0.05; rho~ 0.05, 0.15; lambda, mu 0.7, "
        "1.3",
        "Sec. 8.2",
    ),
)
