"""OGASched, Fig. 2: average and cumulative rewards, and their ratios, T = 8000."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import new_figure
from optsched.papers.bipartite import common
from optsched.papers.experiment import Cell, Outcome, Row, Rows, Summary, grouped
from optsched.simulation import simulate

SLOTS = 8000
SCALES = (1.0, 0.5)  # of capacities and requests; utilities do not scale


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return [
        common.cell(scale, seed, panel="scale", **changes(scale))
        for scale in SCALES
        for seed in range(seeds)
    ]


def changes(scale: float) -> dict[str, Any]:
    """Return the settings of the figure."""
    return {"slots": SLOTS, "beta": (0.4, 0.6), "contention": 11.0, "scale": scale}


def run(cell: Cell, time_limit: float) -> Row:
    """Run all schemes; keep their curves."""
    inst = common.instance(cell)
    runs = {name: simulate(inst, name) for name in common.SCHEMES}
    row = common.compared(inst, runs, time_limit)
    rewards: dict[str, Any] = {name: found.schedule for name, found in runs.items()}
    return row | {"curves": {n: common.curve(s.rewards)[1] for n, s in rewards.items()}}


def summarize(rows: Rows) -> Summary:
    """Return the usual, and the mean curves of each scale."""
    slots = common.curve([0.0] * SLOTS)[0]
    curves = {
        str(scale): {
            name: np.mean([row["curves"][name] for row in group], axis=0).tolist()
            for name in group[0]["curves"]
        }
        for (scale,), group in grouped(rows, "label").items()
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
    slots = np.array(summary["slots"])
    for axes, (scale, curves) in zip(grid, summary["curves"].items(), strict=True):
        for name, average in curves.items():
            style = {"color": common.COLOUR[name], "label": common.LABELS[name], "linewidth": 1.2}
            axes[0].plot(slots, average, **style)
            axes[1].plot(slots, slots * np.array(average), **style)
            if name in common.BASELINES and min(average) > 0:
                axes[2].plot(slots, np.array(curves[common.OURS]) / average, **style)
        axes[0].set_title(f"scale {scale}", fontsize=9)
        titles = ("average reward until t", "cumulative reward", "OGASched / baseline")
        for axis, label in zip(axes, titles, strict=True):
            axis.set_xlabel("slot t")
            axis.set_ylabel(label)
            common.finish(axis)
        axes[0].set_xscale("log")
        axes[2].set_xscale("log")
    grid[0, 1].legend(frameon=False, fontsize=7)
    return figure


EXPERIMENT = common.experiment(
    "fig2",
    "Fig. 2: rewards over 8000 slots, beta 0.4-0.6, contention 11",
    "OGASched earns 11.33, 7.75, 13.89 and 13.44 % more than DRF, Fairness, BinPacking and "
    "Spreading, and more the longer it learns; Fairness is the best baseline",
    cells,
    draw,
    run=run,
    summarize=summarize,
    judge=judge,
)
