"""Fig. 5: prices set to zero where nobody takes part, against the geometric projection."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import COLOURS, finish, legend, new_figure
from optsched.families.bot.policies.convergence import PRECISION, convergence
from optsched.families.bot.policies.negotiation import Negotiation, Steps
from optsched.papers.bot.common import (
    ITERATIONS,
    SETTINGS,
    STEPS,
    UNIT_NAMES,
    UNITS,
    optimum,
    platform,
    platforms,
)
from optsched.papers.bot.fig7 import TABLE2
from optsched.papers.estimate import Estimate
from optsched.papers.experiment import (
    OPEN,
    Cell,
    Row,
    Rows,
    Setting,
    Summary,
    grouped,
    line,
    mean_with_interval,
)
from optsched.papers.verdict import Finding, Outcome, effect, shown

SIZE = (20, 5)
ZERO, HALF = 0.0, 0.5  # Fig. 5(a), and the paper's alpha
FACTORS = (ZERO, 0.25, HALF, 0.75)
PART = 50  # iterations that are looked at together
LATE = 500  # iterations after which the objective should have settled


def cells(seeds: int) -> list[Cell]:
    """Return every platform with every factor."""
    return [c for factor in FACTORS for c in platforms([SIZE], seeds, factor=factor)]


def run(cell: Cell, _limit: float) -> Row:
    """Run the adaptive algorithm; note when its objective is out of the tube."""
    inst = platform(cell, "heterogeneous")
    best, _ = optimum(inst)
    sizes = TABLE2[cell["nodes"]]
    steps = Steps.model_validate({"algorithm": "adaptive", "factor": cell["factor"], **sizes})
    series, _ = Negotiation(inst, steps).run(ITERATIONS)
    outside = ~(np.abs(np.nan_to_num(series, nan=np.inf) - best) <= -np.log(PRECISION))
    found = convergence(series, best)
    return {
        "outside": outside.reshape(-1, PART).mean(axis=1).tolist(),
        "converged": found.converged,
        "margin": found.margin,
    }


def summarize(rows: Rows) -> Summary:
    """Return by reading and factor how often the objective is out of the tube."""
    lines = []
    for (units, factor), group in grouped(rows, "units", "factor").items():
        parts = zip(*(row["outside"] for row in group), strict=True)
        late = [float(np.mean(row["outside"][LATE // PART :])) for row in group]
        lines.append(
            {
                "units": units,
                "factor": factor,
                "outside": [mean_with_interval(part) for part in parts],
                "late": late,
                "converged": sum(row["converged"] for row in group),
            }
        )
    return {"lines": lines}


def judge(summary: Summary) -> Outcome:
    """Compare how often the objective is out of the tube without the projection and with it."""
    late = {(x["units"], x["factor"]): x["late"] for x in summary["lines"]}
    found: list[Finding] = []
    for units in UNITS:
        for factor in (f for f in FACTORS if f != ZERO):
            less = [a - b for a, b in zip(late[units, ZERO], late[units, factor], strict=True)]
            claim = (
                f"{units}: share of iterations above {LATE} out of the tube, prices set to zero "
                f"less geometric projection with {factor:g}"
            )
            if (units, factor) == (UNITS[0], HALF):
                found.append(effect(claim, Estimate.of(less)))
            else:
                found.append(shown(claim, Estimate.of(less), unit="%"))
    for x in summary["lines"]:
        claim = f"{x['units']}, factor {x['factor']:g}: share of platforms that converge"
        found.append(shown(claim, Estimate.share(x["converged"], len(x["late"]))))
    return Outcome(tuple(found))


def draw(summary: Summary) -> Figure:
    """Draw the share of platforms out of the tube by iteration, a line per factor."""
    figure = new_figure(8.4, 3.8)
    axes = figure.subplots(1, len(UNITS), sharey=True)
    at = [PART * (k + 0.5) for k in range(ITERATIONS // PART)]
    for axis, units in zip(axes, UNITS, strict=True):
        mine: list[dict[str, Any]] = [x for x in summary["lines"] if x["units"] == units]
        for k, x in enumerate(mine):
            said = f"factor {x['factor']:g}" if x["factor"] else "set to zero"
            line(axis, at, x["outside"], COLOURS[k], said, "-")
        axis.set_title(UNIT_NAMES[units], fontsize=9)
        axis.set_xlabel("iteration")
        finish(axis, grid="y")
    axes[0].set_ylabel("share out of the tube (95 % interval)", fontsize=8)
    legend(figure, axes[0])
    return figure


TITLE = "Bags of tasks, Fig. 5: stabilization by the geometric projection"
CLAIM = "the geometric projection is very efficient for removing oscillations"
SETTINGS = (
    *SETTINGS,
    STEPS,
    Setting("platforms", "20 nodes, degree 5, heterogeneous", f"{OPEN}: Fig. 5 names no platform"),
    Setting("step sizes", "the best set of Table 2", f"{OPEN} of Fig. 5"),
    Setting("factor", "1/2; set to zero: 0", 'Sec. 7.4: "we set alpha to 1/2"; 1/4, 3/4: ours'),
    Setting(
        "oscillation", "iterations 501 to 1500 in which the objective is out of the tube",
        f"{OPEN}: the paper shows one run",
    ),
)  # fmt: skip
