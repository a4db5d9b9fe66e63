"""OGASched, Fig. 7: cumulative rewards with utilities of one kind."""

from __future__ import annotations

from matplotlib.figure import Figure

from optsched.drawing import new_figure
from optsched.papers.bipartite import common
from optsched.papers.experiment import Cell, Outcome, Summary

SLOTS = 2000
KINDS = ("linear", "poly", "log", "reciprocal")


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return [
        common.cell(kind, seed, slots=SLOTS, utilities=[kind])
        for kind in KINDS
        for seed in range(seeds)
    ]


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: the lead, and which kind earns most."""
    earned = dict(zip(KINDS, common.means(summary, "", common.OURS), strict=True))
    most = max(earned, key=lambda kind: earned[kind])
    claims = [(most == "linear", "OGASched earns most with linear utilities")]
    return common.with_claims(common.judge(summary), claims)


def draw(summary: Summary) -> Figure:
    """Draw a group of bars per kind."""
    points = summary["points"]
    figure = new_figure(3.2 * len(points), 4)
    axes = figure.subplots(1, len(points), squeeze=False)[0]
    for axis, point in zip(axes, points, strict=True):
        names = list(point["rewards"])
        means = [point["rewards"][name]["mean"] for name in names]
        axis.bar(range(len(names)), means, color=[common.COLOUR[name] for name in names])
        labels = [common.LABELS[name] for name in names]
        axis.set_xticks(range(len(names)), labels, rotation=60, ha="right", fontsize=7)
        axis.set_title(f"all {point['label']}", fontsize=9)
        common.finish(axis)
    axes[0].set_ylabel("mean reward of a slot")
    return figure


TITLE = "OGASched, Fig. 7: utilities of one kind, T = 2000"
CLAIM = "rewards are largest with linear utilities, and OGASched is ahead with every kind"
