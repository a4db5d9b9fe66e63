"""Step sizes that a search finds on some platforms, judged on others, beside the printed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import COLOURS, GRID, new_figure
from optsched.families.bot.instance import BotInstance
from optsched.families.bot.policies.convergence import convergence
from optsched.families.bot.policies.negotiation import Negotiation, Steps
from optsched.families.bot.policies.tuning import FACTORS, search_steps
from optsched.papers.bot.common import (
    ITERATIONS,
    SETTINGS,
    STEPS,
    UNIT_NAMES,
    UNITS,
    median,
    optimum,
    platform,
)
from optsched.papers.bot.fig7 import NAIVE, TABLE2
from optsched.papers.estimate import Estimate
from optsched.papers.experiment import OPEN, Cell, Row, Rows, Setting, Summary
from optsched.papers.verdict import Outcome, counted, shown

SIZES = ((20, 5), (100, 5), (500, 15))
PAIRS = (("naive", "homogeneous"), ("adaptive", "heterogeneous"))
HOPELESS = ("naive", "heterogeneous")  # Sec. 6.6; on the smallest platforms only
SEARCHED = range(1000, 1010)  # seeds of the platforms that the search sees; judged are 0, 1, ...
ENOUGH = (27, 30)  # platforms


def cells(seeds: int) -> list[Cell]:
    """Return one cell per reading, size and algorithm: a search, and so many platforms after it."""
    combinations = [(size, pair) for size in SIZES for pair in PAIRS] + [(SIZES[0], HOPELESS)]
    return [
        {"units": u, "nodes": n, "degree": d, "algorithm": a, "mix": m, "seeds": seeds}
        for u in UNITS
        for (n, d), (a, m) in combinations
    ]


def run(cell: Cell, _limit: float) -> Row:
    """Search, then run what was found and what is printed on platforms that were not seen."""
    sizes = NAIVE if cell["algorithm"] == "naive" else TABLE2[cell["nodes"]]
    printed = Steps.model_validate({"algorithm": cell["algorithm"], **sizes})
    found = search_steps(_platforms(cell, SEARCHED), printed, iterations=ITERATIONS)
    judged = _platforms(cell, range(cell["seeds"]))
    return {
        "tried": found.tried,
        "printed": _sizes(printed) | _times(judged, printed),
        "searched": _sizes(found.steps) | _times(judged, found.steps),
    }


def _platforms(cell: Cell, seeds: Sequence[int]) -> list[tuple[BotInstance, float]]:
    made = (platform(cell | {"seed": seed}, cell["mix"]) for seed in seeds)
    return [(inst, optimum(inst)[0]) for inst in made]


def _sizes(steps: Steps) -> dict[str, Any]:
    return {"steps": {name: getattr(steps, name) for name in FACTORS}}


def _times(platforms: Sequence[tuple[BotInstance, float]], steps: Steps) -> dict[str, Any]:
    found = [
        convergence(Negotiation(inst, steps).run(ITERATIONS)[0], best) for inst, best in platforms
    ]
    return {"times": sorted(f.first_for_good or 0 for f in found if f.converged)}


def summarize(rows: Rows) -> Summary:
    """Return the rows, with the median of each set of step sizes."""
    return {
        "lines": [
            row | {side: row[side] | {"median": median(row[side]["times"])} for side in SIDES}
            for row in rows
        ]
    }


SIDES = ("printed", "searched")


def judge(summary: Summary) -> Outcome:
    """Say whether step sizes carry over to platforms that were not searched on."""
    found = []
    for line in summary["lines"]:
        steps = ", ".join(f"{f} {x:g}" for f, x in line["searched"]["steps"].items())
        count, runs = len(line["searched"]["times"]), line["seeds"]
        judged = line["units"] == UNITS[0] and (line["algorithm"], line["mix"]) in PAIRS
        claim = (
            f"{line['units']}, {line['algorithm']}, {line['mix']}, {line['nodes']} nodes: share "
            "converged"
        )
        note = (
            f"searched {count} of {runs} with {steps} ({line['tried']} sets tried), printed "
            f"{len(line['printed']['times'])} of {runs}; median iterations "
            f"{_median(line['searched'])} and {_median(line['printed'])}"
        )
        share = Estimate.share(count, runs)
        found.append(
            counted(claim, count, runs, *ENOUGH, note=note)
            if judged
            else shown(claim, share, note=note)
        )
    return Outcome(tuple(found), ("an experiment of ours: 90 % is not in the paper",))


def _median(side: dict[str, Any]) -> str:
    return "none" if side["median"] is None else f"{side['median']}"


def draw(summary: Summary) -> Figure:
    """Draw the share that has converged by iteration: printed dashed, searched solid."""
    figure = new_figure(9.0, 6.0)
    axes = figure.subplots(len(PAIRS), len(UNITS), sharex=True, sharey=True)
    for row, (algorithm, mix) in enumerate(PAIRS):
        for column, units in enumerate(UNITS):
            axis = axes[row, column]
            mine = [
                line for line in summary["lines"]
                if (line["algorithm"], line["mix"], line["units"]) == (algorithm, mix, units)
            ]  # fmt: skip
            for k, line in enumerate(mine):
                for side, style in zip(SIDES, ("--", "-"), strict=True):
                    times = line[side]["times"]
                    share = np.arange(len(times) + 1) / line["seeds"]
                    axis.step(
                        [1, *times, ITERATIONS], [*share, share[-1]], style, where="post",
                        color=COLOURS[k], label=f"{line['nodes']} nodes, {side}",
                    )  # fmt: skip
            axis.set_xscale("log")
            axis.set_ylim(-0.03, 1.03)
            axis.set_title(f"{algorithm}, {mix}\n{UNIT_NAMES[units]}", fontsize=9)
            axis.grid(axis="y", color=GRID)
        axes[row, 0].set_ylabel("share in the tube for good")
    for axis in axes[-1]:
        axis.set_xlabel("iteration")
    axes[0, 1].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


TITLE = "Bags of tasks, Sec. 6.5 and 8.2: step sizes by search, judged on other platforms"
CLAIM = "step sizes found on some platforms of a size serve on nearly all others of that size"
SETTINGS = (
    *SETTINGS,
    STEPS,
    Setting("search", "on platforms 1000 to 1009, judged on 0 to 29", OPEN),
)
