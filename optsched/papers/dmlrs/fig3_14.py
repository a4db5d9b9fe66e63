"""PD-ORS, Fig. 3.14: cost of Algorithm 4's placements over that of the exact ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import COLOURS, new_figure
from optsched.papers.dmlrs.rounding import LOADS
from optsched.papers.experiment import Outcome, Rows, Summary, grouped

CLAIMED = 1.0025
KINDS = {"both": "with placements on one machine", "outer": "outer placements alone"}


def summarize(rows: Rows) -> Summary:
    """Return mean and worst ratio of what was rounded, by load and gain."""
    points = []
    for (load, gain), group in grouped(rows, "load", "gain").items():
        point: dict[str, Any] = {"load": load, "gain": gain}
        for kind in KINDS:
            ratios = [r for row in group for r in row[kind]]
            point[kind] = {
                "count": len(ratios),
                "mean": float(np.mean(ratios)) if ratios else None,
                "worst": max(ratios, default=None),
            }
        points.append(point)
    return {"points": points}


def judge(summary: Summary) -> Outcome:
    """Compare with the thesis: at most 1.0025 for G from 1 to 1.01."""
    small = [p for p in summary["points"] if p["gain"] <= 1.01]
    words, worst = [], {}
    for kind, name in KINDS.items():
        found = [p[kind] for p in small if p[kind]["count"]]
        worst[kind] = max(f["mean"] for f in found)
        words.append(
            f"{name}: mean ratio at most {worst[kind]:.4f}, worst query "
            f"{max(f['worst'] for f in found):.3f}"
        )
    words.append(
        "where one machine can do the work it is cheapest at a ratio of 40, which makes the first "
        "ratio 1 whatever is rounded; below 1: the rounding landed on one machine"
    )
    return Outcome(worst["both"] <= CLAIMED, "; ".join(words))


def draw(summary: Summary) -> Figure:
    """Draw the mean ratio against the gain, a panel per kind."""
    figure = new_figure(9.6, 4.0)
    for axis, (kind, name) in zip(figure.subplots(1, len(KINDS)), KINDS.items(), strict=True):
        for k, load in enumerate(LOADS):
            mine = [p for p in summary["points"] if p["load"] == load and p[kind]["count"]]
            x, y = [str(p["gain"]) for p in mine], [p[kind]["mean"] for p in mine]
            axis.plot(x, y, "o-", color=COLOURS[k], label=f"in use up to {load:.0%}")
        axis.axhline(1.0, color="black", linewidth=0.8)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("gain G")
        axis.set_ylabel("cost / exact cost (mean)")
        axis.grid(color="#EEEEEE")
        axis.legend(frameon=False, fontsize=8)
    return figure


TITLE = "PD-ORS, Fig. 3.14: approximation ratio of Algorithm 4, H = 50"
CLAIM = "the ratio to the exact cost is at most 1.0025 for G from 1 to 1.01"
SEEDS = 3
