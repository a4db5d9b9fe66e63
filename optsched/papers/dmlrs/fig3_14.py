"""PD-ORS, Fig. 3.14: cost of Algorithm 4's placements over that of the exact ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import COLOURS, finish, new_figure
from optsched.papers.dmlrs.rounding import LOADS
from optsched.papers.estimate import Estimate
from optsched.papers.experiment import Rows, Summary, grouped, line, mean_with_interval
from optsched.papers.verdict import Outcome, shown, within

CLAIMED = 1.0025
OUTER = "outer"  # judged: what Algorithm 4 rounds
KINDS = {OUTER: "outer placements alone", "both": "with placements on one machine"}
MOST_GAIN = 1.01


def summarize(rows: Rows) -> Summary:
    """Return mean and worst ratio of what was rounded, by load and gain."""
    points = []
    for (load, gain), group in grouped(rows, "load", "gain").items():
        point: dict[str, Any] = {"load": load, "gain": gain}
        for kind in KINDS:
            each = [float(np.mean(row[kind])) for row in group if row[kind]]
            point[kind] = None
            if each:
                worst = max(r for row in group for r in row[kind])
                point[kind] = mean_with_interval(each) | {"worst": worst}
        points.append(point)
    return {"points": points}


def judge(summary: Summary) -> Outcome:
    """Compare with the thesis: at most 1.0025 for G from 1 to 1.01, where rounding decides."""
    found = []
    for kind, name in KINDS.items():
        for load in LOADS:
            mine = [p for p in summary["points"] if p["load"] == load and p["gain"] <= MOST_GAIN]
            known = [p for p in mine if p[kind] is not None]
            if not known:
                continue
            worst = max(known, key=lambda p: float(p[kind]["mean"]))
            claim = f"{name}, in use up to {load:.0%}: mean ratio at the worst G, {worst['gain']:g}"
            mean = Estimate.of(worst[kind]["values"], nothing=1.0)
            note = f"worst query {worst[kind]['worst']:.3f}"
            if kind == OUTER:
                found.append(within(claim, mean, high=CLAIMED, note=note))
            else:
                vacuous = f"{note}; vacuous: nothing of what is rounded is taken"
                beside = shown(claim, mean, paper=CLAIMED, note=vacuous if mean.same else note)
                found.append(beside)
    why = (
        "where one machine can do the work it is cheapest at a ratio of 40, which makes the ratio "
        "with such placements 1 whatever is rounded; below 1: the rounding landed on one machine"
    )
    return Outcome(tuple(found), (why,))


def draw(summary: Summary) -> Figure:
    """Draw the mean ratio against the gain, a panel per kind."""
    figure = new_figure(9.6, 4.0)
    for axis, (kind, title) in zip(figure.subplots(1, len(KINDS)), KINDS.items(), strict=True):
        for k, load in enumerate(LOADS):
            mine = [p for p in summary["points"] if p["load"] == load and p[kind] is not None]
            x, name = [str(p["gain"]) for p in mine], f"machines in use up to {load:.0%}"
            line(axis, x, [p[kind] for p in mine], COLOURS[k], name)
        axis.axhline(1.0, color="black", linewidth=0.8)
        axis.axhline(CLAIMED, color="black", linestyle=":", label="the thesis: 1.0025")
        axis.set_title(title, fontsize=9)
        finish(axis, "gain G", "cost / exact cost (mean, 95 % interval)", legend=8)
    return figure


TITLE = "PD-ORS, Fig. 3.14: approximation ratio of Algorithm 4, H = 50"
CLAIM = "the ratio to the exact cost is at most 1.0025 for G from 1 to 1.01"
