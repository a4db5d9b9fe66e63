"""PD-ORS, Fig. 3.13: how often Algorithm 4 rounds until a placement is feasible."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import COLOURS, new_figure
from optsched.papers.dmlrs.rounding import LOADS, MOST_ROUNDS
from optsched.papers.experiment import Outcome, Rows, Summary, grouped

BEST_GAIN, FEWEST = 1.006, 570  # the thesis's


def summarize(rows: Rows) -> Summary:
    """Return the success rate, and the rounds with failures counted as the limit."""
    points = []
    for (load, gain), group in grouped(rows, "load", "gain").items():
        rounds = [r for row in group for r in row["rounds"]]
        asked, failed = (sum(row[k] for row in group) for k in ("asked", "failed"))
        points.append(
            {
                "load": load,
                "gain": gain,
                "asked": asked,
                "success": 1 - failed / max(asked, 1),
                "mean": float(np.mean(rounds)) if rounds else 0.0,
                "median": float(np.median(rounds)) if rounds else 0.0,
            }
        )
    return {"points": points}


def judge(summary: Summary) -> Outcome:
    """Compare with the thesis: fewest roundings, 570, at G = 1.006."""
    small = [p for p in summary["points"] if p["gain"] <= 1.01]
    words, agrees = [], True
    for load in LOADS:
        mine = [p for p in small if p["load"] == load]
        least = min(mine, key=lambda p: p["mean"])
        agrees &= least["gain"] == BEST_GAIN and least["mean"] < max(p["mean"] for p in mine)
        words.append(
            f"machines in use up to {load:.0%}: median {min(p['median'] for p in mine):g} to "
            f"{max(p['median'] for p in mine):g} roundings, {min(p['success'] for p in mine):.0%} "
            f"to {max(p['success'] for p in mine):.0%} of the queries are ever rounded within "
            f"{MOST_ROUNDS}, capped mean lowest at G = {least['gain']:g}"
        )
    if not agrees:
        words.append(
            "a query either succeeds at once or nearly never: a number that must be rounded down "
            "on a full machine stays short of its total, whatever G up to 1.01"
        )
    return Outcome(agrees, "; ".join(words))


def draw(summary: Summary) -> Figure:
    """Draw success rate and capped mean against the gain."""
    figure = new_figure(9.6, 4.0)
    left, right = figure.subplots(1, 2)
    for k, load in enumerate(LOADS):
        mine = [p for p in summary["points"] if p["load"] == load]
        x = [str(p["gain"]) for p in mine]
        name = f"in use up to {load:.0%}"
        left.plot(x, [p["success"] for p in mine], "o-", color=COLOURS[k], label=name)
        right.plot(x, [p["mean"] for p in mine], "o-", color=COLOURS[k], label=name)
    left.set_ylabel(f"share rounded within {MOST_ROUNDS}")
    right.set_ylabel(f"roundings (mean, at most {MOST_ROUNDS})")
    for axis in (left, right):
        axis.set_xlabel("gain G")
        axis.set_ylim(bottom=0)
        axis.grid(color="#EEEEEE")
    left.legend(frameon=False, fontsize=8)
    return figure


TITLE = "PD-ORS, Fig. 3.13: roundings until a placement is feasible, H = 50"
CLAIM = "roundings are fewest, 570, at G = 1.006, and below 1000 for every G from 1 to 1.01"
SEEDS = 3
