"""Fig. 8: all nodes that compute leave at once, and the negotiation finds the new optimum."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import new_figure
from optsched.families.bot.instance import BotInstance
from optsched.families.bot.policies.convergence import convergence
from optsched.families.bot.policies.negotiation import Negotiation, Steps, without
from optsched.optimum import solve
from optsched.papers.bot.common import ITERATIONS, UNITS, median, platform, platforms
from optsched.papers.bot.fig7 import TABLE2
from optsched.papers.experiment import Cell, Outcome, Row, Rows, Summary, grouped

NODES, REMOVED = 100, 15
BEFORE, SHOWN = 140, 400  # iterations: until they leave, and in the picture
PAPER = 50


def run(cell: Cell, _limit: float) -> Row:
    """Remove the busiest nodes that are no masters at iteration 140."""
    inst = platform(cell, "heterogeneous")
    steps = Steps.model_validate({"algorithm": "adaptive", **TABLE2[NODES]})
    negotiation = Negotiation(inst, steps)
    first, _ = negotiation.run(BEFORE)
    after = without(inst, nodes=_busiest(inst, negotiation))
    negotiation.adapt(after)
    second, _ = negotiation.run(ITERATIONS)
    optima = [solve(x).value for x in (inst, after)]
    if None in optima:
        raise RuntimeError("no optimum was found")
    back = convergence(second, float(optima[1] or 0.0))
    shown = np.concatenate((first, second))[:SHOWN]
    return {
        "optima": optima,
        "back": back.first_for_good if back.converged else None,
        "was_there": convergence(first, float(optima[0] or 0.0), check=1).converged,
        "series": [float(x) if np.isfinite(x) else None for x in shown],
    }


def _busiest(inst: BotInstance, negotiation: Negotiation) -> list[int]:
    flop = np.array([app.flop for app in inst.applications])
    work = flop @ negotiation.rho
    work[[app.master for app in inst.applications]] = -1.0
    return [int(n) for n in np.argsort(-work, kind="stable")[:REMOVED]]


def summarize(rows: Rows) -> Summary:
    """Return how soon the platforms are back, and the first of them as an example."""
    tables = []
    for (units,), group in grouped(rows, "units").items():
        back = sorted(row["back"] for row in group if row["back"] is not None)
        tables.append(
            {
                "units": units,
                "back": back,
                "platforms": len(group),
                "median": median(back),
                "upper_quarter": back[(3 * len(back)) // 4] if back else None,
                "was_there": sum(row["was_there"] for row in group),
                "example": {name: group[0][name] for name in ("optima", "series", "seed")},
            }
        )
    return {"tables": tables}


def judge(summary: Summary) -> Outcome:
    """Compare: back within about 50 iterations."""
    lines = [
        f"{t['units']}: {len(t['back'])} / {t['platforms']} come back, median iteration "
        f"{t['median']}, upper quarter {t['upper_quarter']} (paper: about {PAPER}); "
        f"{t['was_there']} were in the tube when the nodes left"
        for t in summary["tables"]
    ]
    first = next(t for t in summary["tables"] if t["units"] == UNITS[0])
    return Outcome(first["median"] is not None and first["median"] <= PAPER, "; ".join(lines))


def draw(summary: Summary) -> Figure:
    """Draw the objective of one platform per reading, with both tubes."""
    from optsched.families.bot.pictures import draw_tube

    figure = new_figure(5.2 * len(summary["tables"]), 3.6)
    panels = np.ravel(figure.subplots(1, len(summary["tables"]), squeeze=False))
    for axis, table in zip(panels, summary["tables"], strict=True):
        example = table["example"]
        series = np.array([np.nan if x is None else x for x in example["series"]])
        before, after = example["optima"]
        draw_tube(axis, {"adaptive": series}, [(1, BEFORE, before), (BEFORE, SHOWN, after)])
        axis.set_title(f"{table['units']}, platform {example['seed']}", fontsize=9)
    return figure


def cells(seeds: int) -> list[Cell]:
    """Return one cell per platform."""
    return platforms([(NODES, 5)], seeds)


TITLE = "Bags of tasks, Fig. 8: the 15 busiest of 100 nodes leave at iteration 140"
CLAIM = "the objective is back at the new optimum after about 50 iterations"
SEEDS = 30
