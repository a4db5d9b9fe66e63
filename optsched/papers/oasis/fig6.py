"""OASiS, Fig. 6: total utility when U / L is estimated wrongly."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.drawing import COLOURS
from optsched.papers.experiment import (
    Cell,
    Outcome,
    Row,
    Rows,
    Summary,
    grid,
    grouped,
    line,
    mean_with_interval,
)
from optsched.papers.oasis.common import FLOORED, MACHINES, PRESETS, label, policy
from optsched.problem import get_family
from optsched.simulation import simulate

SLOTS = 300
JOBS = (50, 250)  # plenty, scarce
PERCENT = (10, 25, 50, 75, 100, 150, 200, 400, 1000)  # of the true U / L
SCHEMES = ("oasis", FLOORED)
NOTICEABLE = 0.01  # a smaller difference, relatively, is none


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance, scheme and estimate."""
    return grid(preset=PRESETS, jobs=JOBS, scheme=SCHEMES, percent=PERCENT, seed=range(seeds))


def run(cell: Cell, _time_limit: float) -> Row:
    """Run OASiS with U at a percentage of its true value, so that U / L is wrong by as much."""
    instance = get_family("oasis").generate(
        cell["preset"], seed=cell["seed"], jobs=cell["jobs"], slots=SLOTS, machines=MACHINES
    )
    chosen = policy(cell["scheme"], U_factor=cell["percent"] / 100)
    found = simulate(instance, chosen, seed=cell["seed"])
    return {"value": found.value, "completed": sum(c is not None for c in found.completion)}


def summarize(rows: Rows) -> Summary:
    """Return the mean utility by preset, number of jobs, scheme and estimate."""
    lines = []
    for (preset, n, scheme), part in grouped(rows, "preset", "jobs", "scheme").items():
        points = [
            {"percent": percent, **mean_with_interval([row["value"] for row in group])}
            for (percent,), group in grouped(part, "percent").items()
        ]
        lines.append({"preset": preset, "jobs": n, "scheme": scheme, "points": points})
    return {"lines": lines}


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: where resources are scarce, too low is better than too high."""
    words, agrees = [], False
    scarce = max(found["jobs"] for found in summary["lines"])
    for found in summary["lines"]:
        under = _mean([p["mean"] for p in found["points"] if p["percent"] < 100])
        over = _mean([p["mean"] for p in found["points"] if p["percent"] > 100])
        true = next(p["mean"] for p in found["points"] if p["percent"] == 100)
        words.append(
            f"{PRESETS[found['preset']]}, {label(found['scheme'])}, {found['jobs']} jobs: "
            f"{under:.4g} when too low, {true:.4g} when true, {over:.4g} when too high"
        )
        if (found["preset"], found["jobs"], found["scheme"]) == ("paper", scarce, "oasis"):
            agrees = under > over * (1 + NOTICEABLE)
    if not agrees:
        words.append(
            "ln U - ln L is in the hundreds with the printed sigmoids, so a wrong factor moves the "
            "prices by little"
        )
    return Outcome(agrees, "; ".join(words))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def draw(summary: Summary) -> Figure:
    """Draw a row per preset, a panel per number of jobs, a line per variant of OASiS."""
    presets = list(dict.fromkeys(found["preset"] for found in summary["lines"]))
    counts = list(dict.fromkeys(found["jobs"] for found in summary["lines"]))
    size = (4.6 * len(counts), 3.4 * len(presets))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(presets), len(counts), squeeze=False)
    for row, preset in zip(axes, presets, strict=True):
        for axis, n in zip(row, counts, strict=True):
            lines = [f for f in summary["lines"] if (f["preset"], f["jobs"]) == (preset, n)]
            for k, found in enumerate(lines):
                x = [p["percent"] for p in found["points"]]
                line(axis, x, found["points"], COLOURS[k], label(found["scheme"]))
            axis.set_title(f"{n} jobs in {SLOTS} slots\n{PRESETS[preset]}", fontsize=8)
            _percent_axis(axis)
        row[0].set_ylabel("total utility (mean, 95 % interval)", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("estimate of U / L, % of its true value")
    axes[0, 0].legend(frameon=False, fontsize=8)
    return figure


def _percent_axis(axis: Axes) -> None:
    axis.axvline(100, color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_xticks((10, 25, 50, 100, 200, 400, 1000))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
    axis.set_ylim(bottom=0)
    axis.grid(color="#EEEEEE")


TITLE = "OASiS, Fig. 6: total utility with wrong estimates of U / L, T = 300"
CLAIM = "when resources are scarce, too low an estimate earns more than too high a one"
