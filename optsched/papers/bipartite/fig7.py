"""OGASched, Fig. 7: cumulative rewards with utilities of one kind."""

from __future__ import annotations

from matplotlib.figure import Figure

from optsched.drawing import finish, new_figure
from optsched.papers.bipartite import common
from optsched.papers.estimate import Estimate, differences
from optsched.papers.experiment import Cell, Setting, Summary, fresh, whisker
from optsched.papers.verdict import Outcome, effect, shown

SLOTS = 2000
KINDS = ("linear", "poly", "log", "reciprocal")


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return [
        common.cell(kind, seed, slots=SLOTS, utilities=[kind])
        for kind in KINDS
        for seed in fresh(seeds)
    ]


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: the lead, and which kind earns most."""
    by = {p["label"]: p for p in summary["points"]}
    found = [common.ahead(by[kind], f"all {kind}") for kind in KINDS]
    for kind in KINDS[1:]:
        more = common.difference(by["linear"], by[kind], common.OURS)
        found.append(effect(f"all linear earns more than all {kind}", more, unit="per slot"))
    for kind in KINDS:
        both = (common.values(by[kind], n) for n in (common.PUBLISHED, "fairness"))
        claim = f"all {kind}, published order: reward less that of Fairness"
        found.append(shown(claim, Estimate.of(differences(*both)), unit="per slot"))
        best = Estimate.of(common.values(by[kind], "stationary"))
        found.append(shown(f"all {kind}: best stationary decision", best, unit="per slot"))
    return Outcome(tuple(found), (common.same_packing(summary["points"]),))


def draw(summary: Summary) -> Figure:
    """Draw a group of bars per kind."""
    points = summary["points"]
    figure = new_figure(3.2 * len(points), 4)
    axes = figure.subplots(1, len(points), squeeze=False)[0]
    for axis, point in zip(axes, points, strict=True):
        names = [name for name in common.DRAWN if name in point["rewards"]]
        means = [point["rewards"][name]["mean"] for name in names]
        axis.bar(range(len(names)), means, color=[common.COLOUR[name] for name in names])
        for x, name in enumerate(names):
            whisker(axis, x, point["rewards"][name])
        labels = [SHORT.get(name, common.LABELS[name]) for name in names]
        axis.set_xticks(range(len(names)), labels, rotation=90, fontsize=7)
        axis.set_title(f"all {point['label']}", fontsize=9)
        finish(axis)
    axes[0].set_ylabel("mean reward of a slot (95 % interval)")
    return figure


TITLE = "OGASched, Fig. 7: utilities of one kind, T = 2000"
CLAIM = "rewards are largest with linear utilities, and OGASched is ahead with every kind"
SHORT = {common.PUBLISHED: "OGASched (code)"}
SETTINGS = (
    *common.COMMON,
    Setting("slots", "2000", "Table II"),
    Setting("utilities", "all of one kind", 'Sec. 4.2: "In the all reciprocal utility settings"'),
)
