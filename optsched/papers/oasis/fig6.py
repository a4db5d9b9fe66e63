"""OASiS, Fig. 6: total utility when U / L is estimated wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.core import simulate
from optsched.drawing import COLOURS
from optsched.papers.estimate import Estimate, lead
from optsched.papers.experiment import (
    OPEN,
    Cell,
    Row,
    Rows,
    Setting,
    Summary,
    fresh,
    grid,
    grouped,
    line,
    mean_with_interval,
)
from optsched.papers.oasis.common import (
    COMMON,
    DRAWN,
    ESTIMATED,
    LABELS,
    LITERAL,
    MACHINES,
    PRESETS,
    instance,
    policy,
)
from optsched.papers.verdict import Finding, Outcome, effect, shown

SLOTS = 300
JOBS = (50, 250)  # plenty, scarce
PERCENT = (10, 25, 50, 100, 200, 400, 1000)  # of U / L
SCHEMES = (ESTIMATED, LITERAL)


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance, scheme and estimate."""
    return grid(preset=PRESETS, jobs=JOBS, scheme=SCHEMES, percent=PERCENT, seed=fresh(seeds))


def run(cell: Cell, _time_limit: float) -> Row:
    """Run OASiS with U at a percentage of what it is, so that U / L is wrong by as much."""
    sizes = {"jobs": cell["jobs"], "slots": SLOTS, "machines": MACHINES}
    inst = instance(cell["preset"], cell["seed"], **sizes)
    chosen = policy(
        cell["scheme"], cell["preset"], cell["seed"], sizes, U_factor=cell["percent"] / 100
    )
    found = simulate(inst, chosen, seed=cell["seed"])
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
    scarce, found, beside = max(of["jobs"] for of in summary["lines"]), [], []
    for of in summary["lines"]:
        claim = (
            f"{PRESETS[of['preset']]}, {LABELS[of['scheme']]}, {of['jobs']} jobs: too low over too "
            "high"
        )
        more, note = _low_over_high(of)
        if (of["preset"], of["jobs"], of["scheme"]) == (DRAWN, scarce, ESTIMATED):
            found.append(effect(claim, more, note=note))
        else:
            beside.append(_shown(claim, more, note))
    why = "with the true U and L, ln U - ln L is above 1000, so no factor moves a price by much"
    return Outcome((*found, *beside), (why,))


def _low_over_high(of: Any) -> tuple[Estimate | None, str]:
    """Return how much more is earned below 100 % than above, on average over percentages."""
    sides = [
        np.mean([p["values"] for p in of["points"] if (p["percent"] < 100) == low
                 and p["percent"] != 100], axis=0).tolist()
        for low in (True, False)
    ]  # fmt: skip
    true = next(p["mean"] for p in of["points"] if p["percent"] == 100)
    note = f"{np.mean(sides[0]):.4g} when too low, {true:.4g} at 100 %, {np.mean(sides[1]):.4g}"
    return lead(*sides), f"{note} when too high"


def _shown(claim: str, more: Estimate | None, note: str) -> Finding:
    same = "; exactly the same on all instances" if more is not None and more.same else ""
    return shown(claim, more, unit="%", note=note + same)


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
                line(axis, x, found["points"], COLOURS[k], LABELS[found["scheme"]])
            axis.set_title(f"{n} jobs in {SLOTS} slots\n{PRESETS[preset]}", fontsize=8)
            _percent_axis(axis)
        row[0].set_ylabel("total utility (mean, 95 % interval)", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("U / L that is handed in, % of the one in the legend")
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
SETTINGS = (
    *COMMON,
    Setting("slots, machines", "300, 50 + 50", 'Sec. V-A: "(T=300)"'),
    Setting("jobs", "50; scarce, and judged: 250", OPEN),
    Setting("percentages", "10 to 1000", 'Sec. V-A: "at different percentages of their actual '
            'values"'),
    Setting("too low, too high", "means over all percentages below and above 100", OPEN),
)  # fmt: skip
