"""OGASched, Fig. 2: average and cumulative rewards, and their ratios, T = 8000."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from optsched.core import simulate
from optsched.drawing import finish, legend, new_figure
from optsched.papers.bipartite import common
from optsched.papers.estimate import Estimate, differences
from optsched.papers.experiment import OPEN, Cell, Row, Rows, Setting, Summary, grouped
from optsched.papers.verdict import Outcome, effect, shown

SLOTS = 8000
EARLY = 0.01  # of the slots: the beginning
BEGIN = ("fairness", "drf")  # who has the edge then, Fig. 2(b)
SCALES = (1.0, 0.5)  # of capacities and requests; utilities do not scale
PAPER = {"drf": 0.1133, "fairness": 0.0775, "binpacking": 0.1389, "spreading": 0.1344}


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    changes = {"slots": SLOTS, "beta": (0.4, 0.6), "contention": 11.0}
    return common.sweeps(seeds, {"scale": ("scale", SCALES)}, **changes)


def run(cell: Cell, time_limit: float) -> Row:
    """Run all schemes; keep their curves."""
    inst = common.instance(cell)
    runs = {name: simulate(inst, common.policy(name)) for name in common.SCHEMES}
    row = common.compared(inst, runs, time_limit)
    return row | {"curves": common.curves_of(runs)}


def summarize(rows: Rows) -> Summary:
    """Return the usual, the mean curves of each scale, and what the later half adds."""
    slots = common.curve([0.0] * SLOTS)[0]
    half = int(np.searchsorted(slots, SLOTS / 2))
    early = int(np.searchsorted(slots, SLOTS * EARLY))
    curves, grows, begin = {}, {}, {}
    for (scale,), group in grouped(rows, "label").items():
        curves[str(scale)] = common.mean_curves(group)
        ours = [row["curves"][common.OURS] for row in group]
        grows[str(scale)] = [curve[-1] - curve[half] for curve in ours]
        begin[str(scale)] = {
            name: [row["curves"][name][early] - row["curves"][common.OURS][early] for row in group]
            for name in BEGIN
        }
    return common.summarize(rows) | {
        "slots": slots,
        "curves": curves,
        "grows": grows,
        "begin": begin,
    }


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: the leads, their growth, and who is the best baseline."""
    point = summary["points"][0]
    found = [
        effect(f"lead over {common.LABELS[name]}", common.over(point, name), paper=paper)
        for name, paper in PAPER.items()
    ]
    for name in PAPER:
        if name != "fairness":
            ahead = Estimate.of(differences(*(common.values(point, n) for n in ("fairness", name))))
            claim = f"Fairness earns more than {common.LABELS[name]}, per slot"
            found.append(effect(claim, ahead, unit="reward"))
    grows = Estimate.of(summary["grows"][str(point["label"])])
    found.append(effect("average reward at T less that at T / 2", grows, unit="reward"))
    for name, ahead in summary["begin"][str(point["label"])].items():
        claim = f"in the beginning, up to slot {SLOTS * EARLY:g}, {common.LABELS[name]} is ahead"
        found.append(effect(claim, Estimate.of(ahead), unit="reward"))
    found += common.readings(point, "scale 1")
    for other in summary["points"][1:]:
        for name, paper in PAPER.items():
            claim = f"scale {other['label']}: lead over {common.LABELS[name]}"
            found.append(shown(claim, common.over(other, name), paper=paper, unit="%"))
    return Outcome(tuple(found), (common.same_packing(summary["points"]),))


def draw(summary: Summary) -> Figure:
    """Draw a row per scale: average and cumulative rewards, leads at the end beside the paper's."""
    figure = new_figure(13, 3.8 * len(summary["curves"]))
    grid = figure.subplots(len(summary["curves"]), 3, squeeze=False)
    for axes, point in zip(grid, summary["points"], strict=True):
        common.draw_curves(axes[:2], summary["slots"], summary["curves"][str(point["label"])])
        axes[0].set_title(f"capacities and requests times {point['label']:g}", fontsize=9)
        for x, (name, paper) in enumerate(PAPER.items()):
            ours = common.over(point, name)
            axes[2].bar(x - 0.2, 100 * paper, 0.38, color="#BBBBBB", label="paper" * (x == 0))
            if ours is not None:
                axes[2].bar(x + 0.2, 100 * ours.mean, 0.38, color=common.COLOUR[name])
                if ours.interval is not None:
                    axes[2].vlines(x + 0.2, *(100 * e for e in ours.interval), color="black")
        axes[2].set_xticks(range(len(PAPER)), [common.LABELS[name] for name in PAPER])
        finish(axes[2], y="lead of OGASched at T, % (95 % interval)", legend=8)
    legend(figure, grid[0, 0])
    return figure


TITLE = "OGASched, Fig. 2: rewards over 8000 slots, beta 0.4-0.6, contention 11"
CLAIM = (
    "OGASched earns 11.33, 7.75, 13.89 and 13.44 % more than DRF, Fairness, BinPacking and "
    "Spreading, and more the longer it learns; Fairness is the best baseline, and it and DRF "
    "have the edge in the beginning"
)
SETTINGS = (
    *common.COMMON,
    Setting("slots", "8000", 'Sec. 4: "the time slot length T is set as 8000"'),
    Setting("beta, contention", "[0.4, 0.6], 11", "caption of Fig. 2"),
    Setting("the beginning", "the first 80 slots", f"Fig. 2(b); how long it lasts is {OPEN}"),
    Setting("scale", "judged: 1, as drawn; beside: 0.5", OPEN),
)
