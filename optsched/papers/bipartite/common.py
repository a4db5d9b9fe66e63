"""What the experiments of the OGASched paper share: one instance, all policies, both references.

OGASched decides before it sees the jobs of a slot, the baselines after. So beside the rewards stand
what the best single decision earns (stationary) and what the best decision of every slot earns (the
optimum), both certified. A set whose best baseline reaches 99 % of the optimum cannot tell policies
apart, and is flagged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.drawing import COLOURS, GRID, new_figure
from optsched.optimum import solve
from optsched.papers.experiment import (
    Cell,
    Outcome,
    Row,
    Rows,
    Summary,
    grouped,
    line,
    mean_with_interval,
)
from optsched.problem import Instance, get_family
from optsched.simulation import Run, simulate

OURS = "ogasched"  # with the paper's step, eta 25 and decay 0.9999
THEORY = "ogasched-theory"
BASELINES = ("drf", "fairness", "binpacking", "spreading")
PRINTED = "fairness-printed"
SCHEMES = (OURS, THEORY, *BASELINES, PRINTED)
ORDER = ("fairness", "drf", "spreading", "binpacking")  # of the baselines, in the paper
LABELS = {
    OURS: "OGASched",
    THEORY: "OGASched, step of the theory",
    "drf": "DRF",
    "fairness": "Fairness",
    PRINTED: "Fairness, as printed",
    "binpacking": "BinPacking",
    "spreading": "Spreading",
    "stationary": "best stationary",
    "optimum": "best of every slot",
}
TIME_LIMIT = 60.0  # seconds per optimum
NEAR = 0.99  # share of the optimum from which an instance set tells nothing
COLOUR = {
    name: COLOURS[k]
    for k, name in enumerate(
        (OURS, "drf", "fairness", "binpacking", "spreading", THEORY, PRINTED, "optimum")
    )
} | {"stationary": "#999933"}


def cell(label: Any, seed: int, *, preset: str = "paper", panel: str = "", **changes: Any) -> Cell:
    """Return the cell of one instance: ``changes`` are settings of the generator."""
    return {"panel": panel, "label": label, "preset": preset, "changes": changes, "seed": seed}


def sweeps(
    seeds: int, panels: Mapping[str, tuple[str, Sequence[Any]]], **changes: Any
) -> list[Cell]:
    """Return the cells of panels that each sweep one setting of the generator."""
    return [
        cell(value, seed, panel=panel, **(changes | {setting: value}))
        for panel, (setting, values) in panels.items()
        for value in values
        for seed in range(seeds)
    ]


def instance(of: Cell) -> Any:
    """Return the instance of a cell."""
    made: Instance = get_family("bipartite").generate(
        of["preset"], seed=of["seed"], **of["changes"]
    )
    return made


def run(of: Cell, time_limit: float) -> Row:
    """Run all schemes on the instance of a cell, and find both references; rewards per slot."""
    inst = instance(of)
    runs = {name: simulate(inst, name) for name in SCHEMES}
    return compared(inst, runs, time_limit)


def compared(inst: Any, runs: Mapping[str, Run], time_limit: float) -> Row:
    """Return the mean reward of a slot of every run, and of the references, with their bounds."""
    rewards = {name: found.value / inst.horizon for name, found in runs.items()}
    row: Row = {
        "rewards": rewards,
        "seconds": {name: found.seconds for name, found in runs.items()},
    }
    for name, method in (("stationary", "stationary"), ("optimum", "auto")):
        found = solve(inst, method=method, time_limit=time_limit)
        if found.value is not None and found.bound is not None:
            rewards[name] = found.value / inst.horizon
            row[f"{name}_bound"] = found.bound / inst.horizon
            row[f"{name}_level"] = str(found.bound_level)
    return row


def summarize(rows: Rows) -> Summary:
    """Return, by panel and label, means with intervals, wins and shares of the optimum."""
    points = []
    for (panel, label), group in grouped(rows, "panel", "label").items():
        names = list(group[0]["rewards"])
        rewards = {n: mean_with_interval([row["rewards"][n] for row in group]) for n in names}
        best = max((rewards[b]["mean"] for b in BASELINES), default=0.0)
        share = best / rewards["optimum"]["mean"] if "optimum" in rewards else None
        points.append(
            {
                "panel": panel,
                "label": label,
                "instances": len(group),
                "rewards": rewards,
                "wins": sum(_wins(row["rewards"]) for row in group),
                "ordered": sum(_ordered(row["rewards"]) for row in group),
                "best_baseline_share": share,
                "tells": share is None or share <= NEAR,
            }
        )
    return {"points": points}


def _wins(rewards: Mapping[str, float]) -> bool:
    return all(rewards[OURS] > rewards[b] for b in BASELINES)


def _ordered(rewards: Mapping[str, float]) -> bool:
    """Whether the rewards are in the paper's order: Fairness, DRF, Spreading, BinPacking."""
    ranked = [rewards[name] for name in (OURS, *ORDER)]
    return all(a > b for a, b in pairwise(ranked))


def gain(rewards: Mapping[str, Any], over: str) -> str:
    """Say how much more OGASched earns: in per cent, or the difference where that means nothing."""
    ours, theirs = rewards[OURS]["mean"], rewards[over]["mean"]
    if theirs <= 0:
        return f"{ours - theirs:+.4g} to {LABELS[over]} (which earns {theirs:.4g})"
    return f"{100 * (ours / theirs - 1):+.1f} % to {LABELS[over]}"


def judge(summary: Summary) -> Outcome:
    """Say where OGASched is ahead of every baseline, and where the order of the paper holds."""
    points = summary["points"]
    words = []
    for point in points:
        where = f"{point['panel']} {point['label']}".strip()
        gains = ", ".join(gain(point["rewards"], b) for b in ORDER)
        text = f"{where}: ahead on {point['wins']} of {point['instances']} instances ({gains})"
        words.append(text if point["tells"] else f"{text}, cannot tell policies apart")
    ordered = sum(point["ordered"] for point in points)
    total = sum(point["instances"] for point in points)
    words.append(
        f"the full order OGASched, Fairness, DRF, Spreading, BinPacking holds on {ordered} of "
        f"{total} instances"
    )
    ahead = [p for p in points if _wins({n: r["mean"] for n, r in p["rewards"].items()})]
    words.insert(0, f"OGASched has the largest mean in {len(ahead)} of {len(points)} settings")
    return Outcome(len(ahead) == len(points), "; ".join(words))


def with_claims(outcome: Outcome, claims: Sequence[tuple[bool, str]]) -> Outcome:
    """Return an outcome that also asks for ``claims``: whether each holds, and a phrase."""
    words = [f"{text}: {'yes' if holds else 'no'}" for holds, text in claims]
    agrees = outcome.agrees and all(holds for holds, _ in claims)
    return Outcome(agrees, "; ".join([outcome.words, *words]))


def means(summary: Summary, panel: str, name: str) -> list[float]:
    """Return the mean rewards of one scheme along a panel."""
    return [p["rewards"][name]["mean"] for p in summary["points"] if p["panel"] == panel]


def draw(summary: Summary, xlabels: Mapping[str, str], *, log: Sequence[str] = ()) -> Figure:
    """Draw a panel per sweep: a line per scheme and reference, with intervals."""
    panels = list(dict.fromkeys(p["panel"] for p in summary["points"]))
    figure = new_figure(4.4 * len(panels), 4.2)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, panel in zip(axes, panels, strict=True):
        points = [p for p in summary["points"] if p["panel"] == panel]
        for name in points[0]["rewards"]:
            lines(axis, name, [p["label"] for p in points], [p["rewards"][name] for p in points])
        axis.set_xlabel(xlabels[panel])
        if panel in log:
            axis.set_xscale("log")
        finish(axis)
    axes[0].set_ylabel("mean reward of a slot (95 % interval)")
    axes[0].legend(frameon=False, fontsize=6)
    return figure


def lines(axis: Axes, name: str, x: Sequence[Any], points: Sequence[Any]) -> None:
    """Draw one scheme; references are dashed."""
    style = "o--" if name in ("stationary", "optimum") else "o-"
    look = {"markersize": 3, "linewidth": 1.2}
    line(axis, x, points, COLOUR[name], LABELS[name], style, alpha=0.12, **look)


def finish(axis: Axes) -> None:
    """Give a panel its grid."""
    axis.grid(color=GRID)
    axis.set_axisbelow(True)


def curve(rewards: Sequence[float], points: int = 60) -> list[list[float]]:
    """Return slots, spread evenly on a log scale, and the average reward until each."""
    total = np.cumsum(np.array(rewards))
    slots = np.unique(np.geomspace(1, len(total), points).round().astype(int))
    return [slots.tolist(), (total[slots - 1] / slots).tolist()]


def curves_of(runs: Mapping[str, Run]) -> dict[str, Any]:
    """Return the average rewards of every run, at the slots of `curve`."""
    rewards: dict[str, Any] = {name: found.schedule for name, found in runs.items()}
    return {name: curve(schedule.rewards)[1] for name, schedule in rewards.items()}


def mean_curves(rows: Rows) -> dict[str, Any]:
    """Return the mean curve of every scheme."""
    return {
        name: np.mean([row["curves"][name] for row in rows], axis=0).tolist()
        for name in rows[0]["curves"]
    }


def draw_curves(axes: Sequence[Axes], slots: Sequence[int], curves: Mapping[str, Any]) -> None:
    """Draw average rewards, cumulative ones, and if there is room how far ahead OGASched is."""
    x = np.array(slots)
    for name, average in curves.items():
        style: dict[str, Any] = {"color": COLOUR[name], "label": LABELS[name], "linewidth": 1.2}
        axes[0].plot(x, average, **style)
        axes[1].plot(x, x * np.array(average), **style)
        if len(axes) > 2 and name in BASELINES and min(average) > 0:
            axes[2].plot(x, np.array(curves[OURS]) / average, **style)
    titles = ("average reward until t", "cumulative reward", f"{LABELS[OURS]} / baseline")
    for axis, label in zip(axes, titles, strict=False):
        axis.set_xlabel("slot t")
        axis.set_ylabel(label)
        finish(axis)
    axes[0].set_xscale("log")
