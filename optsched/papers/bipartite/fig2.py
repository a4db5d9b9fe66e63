"""OGASched, Fig. 2: average and cumulative rewards, and their ratios, T = 8000."""

from __future__ import annotations

from matplotlib.figure import Figure

from optsched.drawing import new_figure
from optsched.papers.bipartite import common
from optsched.papers.experiment import Cell, Outcome, Row, Rows, Summary, grouped
from optsched.simulation import simulate

SLOTS = 8000
SCALES = (1.0, 0.5)  # of capacities and requests; utilities do not scale


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    changes = {"slots": SLOTS, "beta": (0.4, 0.6), "contention": 11.0}
    return common.sweeps(seeds, {"scale": ("scale", SCALES)}, **changes)


def run(cell: Cell, time_limit: float) -> Row:
    """Run all schemes; keep their curves."""
    inst = common.instance(cell)
    runs = {name: simulate(inst, name) for name in common.SCHEMES}
    row = common.compared(inst, runs, time_limit)
    return row | {"curves": common.curves_of(runs)}


def summarize(rows: Rows) -> Summary:
    """Return the usual, and the mean curves of each scale."""
    slots = common.curve([0.0] * SLOTS)[0]
    curves = {
        str(scale): common.mean_curves(group) for (scale,), group in grouped(rows, "label").items()
    }
    return common.summarize(rows) | {"slots": slots, "curves": curves}


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: the lead, its growth, and who is the best baseline."""
    best = {_best_baseline(curves) for curves in summary["curves"].values()}
    grows = all(
        curves[common.OURS][-1] > curves[common.OURS][len(curves[common.OURS]) // 2]
        for curves in summary["curves"].values()
    )
    claims = [
        (best == {"fairness"}, "Fairness is the best baseline"),
        (grows, "OGASched's average reward grows to the end"),
    ]
    return common.with_claims(common.judge(summary), claims)


def _best_baseline(curves: dict[str, list[float]]) -> str:
    return max(common.BASELINES, key=lambda name: curves[name][-1])


def draw(summary: Summary) -> Figure:
    """Draw a row per scale: average and cumulative rewards, ratios to the baselines."""
    figure = new_figure(13, 3.8 * len(summary["curves"]))
    grid = figure.subplots(len(summary["curves"]), 3, squeeze=False)
    for axes, (scale, curves) in zip(grid, summary["curves"].items(), strict=True):
        common.draw_curves(axes, summary["slots"], curves)
        axes[0].set_title(f"scale {scale}", fontsize=9)
        axes[2].set_xscale("log")
    grid[0, 1].legend(frameon=False, fontsize=7)
    return figure


TITLE = "OGASched, Fig. 2: rewards over 8000 slots, beta 0.4-0.6, contention 11"
CLAIM = (
    "OGASched earns 11.33, 7.75, 13.89 and 13.44 % more than DRF, Fairness, BinPacking and "
    "Spreading, and more the longer it learns; Fairness is the best baseline"
)
