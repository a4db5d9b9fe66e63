"""OGASched, Fig. 5: 100 ports, 1024 machines, T = 10000."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from optsched.core import simulate, solve
from optsched.drawing import legend, new_figure
from optsched.families.bipartite.optimum.decision import Solver
from optsched.papers.bipartite import common
from optsched.papers.experiment import Cell, Row, Rows, Setting, Summary, fresh
from optsched.papers.verdict import Outcome, untestable

SLOTS = 10_000
SAMPLE = 40  # slots of which the best decision is found, to estimate the optimum of all


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return [common.cell("100 x 1024", seed, preset="large", slots=SLOTS) for seed in fresh(seeds)]


def run(cell: Cell, time_limit: float) -> Row:
    """Run all schemes; the optimum of every slot is estimated from some slots."""
    inst = common.instance(cell)
    runs = {name: simulate(inst, common.policy(name)) for name in common.SCHEMES}
    stationary = solve(inst, method="stationary", time_limit=time_limit)
    assert stationary.value is not None
    assert stationary.bound is not None
    solver = Solver(inst)
    chosen = np.linspace(0, inst.horizon - 1, SAMPLE).astype(int)
    sampled = [solver.solve(inst.jobs[t], 1e-6).value for t in chosen]
    means = {name: found.value / inst.horizon for name, found in runs.items()}
    return {
        "rewards": means
        | {"stationary": stationary.value / inst.horizon, "optimum": float(np.mean(sampled))},
        "stationary_bound": stationary.bound / inst.horizon,
        "seconds": {name: found.seconds for name, found in runs.items()},
        "curves": common.curves_of(runs),
    }


def summarize(rows: Rows) -> Summary:
    """Return the usual, and the mean curves."""
    curves = common.mean_curves(rows)
    slots = common.curve([0.0] * SLOTS)[0]
    return common.summarize(rows) | {"slots": slots, "curves": curves}


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: OGASched is ahead of everybody."""
    (point,) = summary["points"]
    note = "" if point["tells"] else common.TELLS_NOTHING
    why = "; ".join(filter(None, [common.NO_UNITS, note]))
    found = [
        untestable(f"lead over {common.LABELS[name]}", common.over(point, name), why, unit="%")
        for name in common.BASELINES
    ]
    return Outcome((*found, *common.readings(point, "100 x 1024")), (common.same_packing([point]),))


def draw(summary: Summary) -> Figure:
    """Draw average and cumulative rewards."""
    figure = new_figure(9, 4)
    axes = figure.subplots(1, 2)
    common.draw_curves(axes, summary["slots"], summary["curves"])
    legend(figure, axes[0])
    return figure


TITLE = "OGASched, Fig. 5: 100 ports and 1024 machines, T = 10000, beta 0.01-0.015, contention 5"
CLAIM = "OGASched is ahead of all baselines at large scale too"
SETTINGS = (
    *common.COMMON,
    Setting("ports, machines", "100, 1024", 'Sec. 4.3: "the number of the job types is set as 100 '
            'while the quantity of the computing instances is 1024"'),
    Setting("slots, beta, contention", "10000, [0.01, 0.015], 5", "caption of Fig. 5"),
)  # fmt: skip
