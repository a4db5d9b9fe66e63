"""Figures 4 and 6: which step size matters, by an analysis of variance of a factorial design."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import fdtrc

from optsched.drawing import COLOURS, new_figure
from optsched.papers.bot.common import (
    FACTORS,
    NAIVE_LEVELS,
    best_sets,
    factorial,
    finish,
    platforms,
)
from optsched.papers.bot.tables import ADAPTIVE_LEVELS
from optsched.papers.experiment import Cell, Experiment, Outcome, Row, Rows, Summary, grouped

LARGEST = 1e3  # a coefficient of variation above it, or none, counts as this
SIGNIFICANT = 0.001
STABLE, PRINTED = "stable", "printed"  # readings of the dual steps; the first is drawn and judged


def run_fig4(cell: Cell, _limit: float) -> Row:
    """Run the naive algorithm on homogeneous applications."""
    return factorial(cell, "homogeneous", "naive", NAIVE_LEVELS)


def run_fig6(cell: Cell, _limit: float) -> Row:
    """Run the adaptive algorithm on heterogeneous applications."""
    return factorial(cell, "heterogeneous", "adaptive", ADAPTIVE_LEVELS[500, 15])


def cells_fig6(seeds: int) -> list[Cell]:
    """Return every platform, with both readings of the dual steps."""
    return [c for r in (STABLE, PRINTED) for c in platforms([(500, 15)], seeds, dual_step=r)]


def summarize(rows: Rows) -> Summary:
    """Return the table of the variance of |c_v| and the mean by level, for each reading."""
    tables, best = [], []
    named = [{"dual_step": STABLE, **row} for row in rows]  # naive: there is one reading only
    for (units, dual_step), group in grouped(named, "units", "dual_step").items():
        data = pd.DataFrame([entry for row in group for entry in row["sets"]])
        response = data["variation"].astype(float).abs().fillna(LARGEST).clip(upper=LARGEST)
        coded = {f: np.where(data[f] == data[f].max(), 1.0, -1.0) for f in FACTORS}
        tables.append(
            {
                "units": units,
                "dual_step": dual_step,
                "anova": _anova(pd.DataFrame(coded | {"cv": response})),
                "means": {
                    f: [float(response[coded[f] < 0].mean()), float(response[coded[f] > 0].mean())]
                    for f in FACTORS
                },
            }
        )
        best += best_sets(group)
    return {"tables": tables, "best": best}


def _anova(data: pd.DataFrame) -> list[dict[str, Any]]:
    """Return sums of squares, F and p of a linear model of all four factors.

    The squares are sequential: what a factor explains beyond those before it. In a full factorial
    design, as here, the order does not matter.
    """
    response = data["cv"].to_numpy()
    factors = data[list(FACTORS)].to_numpy()
    directions, _ = np.linalg.qr(np.column_stack([np.ones(len(data)), factors]))
    explained = directions.T @ (response - response.mean())
    rest = response - response.mean() - directions @ explained
    left = len(data) - directions.shape[1]  # degrees of freedom
    squares = explained[1:] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):  # all alike, or all explained
        ratios = squares / ((rest @ rest) / left)
    return [
        {
            "factor": f,
            "sum_sq": float(square),
            "F": _number(ratio),
            "p": _number(fdtrc(1, left, ratio)),
        }
        for f, square, ratio in zip(FACTORS, squares, ratios, strict=True)
    ]


def _number(x: float) -> float | None:
    return None if np.isnan(x) else float(x)


def _words(summary: Summary) -> list[str]:
    lines = []
    for table, best in zip(summary["tables"], summary["best"], strict=True):
        reading = "" if table["dual_step"] == STABLE else ", dual steps as printed"
        ranked = sorted(table["anova"], key=lambda r: -(r["F"] or 0.0))
        shown = ", ".join(
            f"{r['factor']} F {r['F'] or 0:.3g} p {1 if r['p'] is None else r['p']:.2g}"
            for r in ranked
        )
        lines.append(
            f"{table['units']}{reading}: {shown}; best set {best['best']['converged']} / "
            f"{best['platforms']}"
            + (f", median iteration {best['median']}" if best["best"]["times"] else "")
        )
    return lines


def judge_fig4(summary: Summary) -> Outcome:
    """Compare with Fig. 4: rho matters most, and its low level varies less."""
    table = summary["tables"][0]
    first = max(table["anova"], key=lambda r: r["F"] or 0.0)
    low, high = table["means"]["rho"]
    agrees = first["factor"] == "rho" and (first["p"] or 0.0) < SIGNIFICANT and low < high
    return Outcome(agrees, "; ".join(_words(summary)))


def judge_fig6(summary: Summary) -> Outcome:
    """Compare with Fig. 6: a set that converges on nearly all platforms, rho no longer matters."""
    rho = next(r for r in summary["tables"][0]["anova"] if r["factor"] == "rho")
    best = summary["best"][0]
    enough = best["best"]["converged"] >= 0.9 * best["platforms"]
    agrees = enough and (rho["p"] is None or rho["p"] > SIGNIFICANT)
    return Outcome(agrees, "; ".join(_words(summary)))


def draw(summary: Summary) -> Figure:
    """Draw the mean |c_v| at both levels of each factor, and when platforms converge."""
    drawn = [
        (table, best)
        for table, best in zip(summary["tables"], summary["best"], strict=True)
        if table["dual_step"] == STABLE
    ]
    figure = new_figure(4.2 * len(drawn), 6.0)
    axes = figure.subplots(2, len(drawn), squeeze=False)
    for column, (table, best) in enumerate(drawn):
        axis, below = axes[0, column], axes[1, column]
        for k, f in enumerate(FACTORS):
            axis.plot((-1 + 3 * k, 1 + 3 * k), table["means"][f], "o-", color=COLOURS[k], label=f)
        places = [x + 3 * k for k in range(len(FACTORS)) for x in (-1, 1)]
        axis.set_xticks(places, ["low", "high"] * len(FACTORS), fontsize=7)
        axis.set_title(table["units"], fontsize=9)
        axis.set_ylabel("mean |c_v|")
        finish(axis)
        times = best["best"]["times"]
        if times:
            below.hist(times, bins=15, color=COLOURS[0])
            below.set_xlabel("iteration from which on it stays in the tube")
            below.set_ylabel("platforms, best set")
        else:
            below.text(0.5, 0.5, "no set converges", ha="center", transform=below.transAxes)
            below.set_axis_off()
    return figure


FIG_4 = Experiment(
    name="bot-fig4",
    title="Bags of tasks, Fig. 4: step sizes of the naive algorithm, N = 20, degree 5",
    claim="the step size of the rates matters most, p < 0.0001, and its low level varies less",
    seeds=30,
    cells=lambda seeds: platforms([(20, 5)], seeds),
    run=run_fig4,
    summarize=summarize,
    judge=judge_fig4,
    draw=draw,
)
FIG_6 = Experiment(
    name="bot-fig6",
    title="Bags of tasks, Fig. 6: step sizes of the adaptive algorithm, N = 500, degree 15",
    claim="a set converges on 29 of 30 platforms; the step size of the rates no longer matters",
    seeds=30,
    cells=cells_fig6,
    run=run_fig6,
    summarize=summarize,
    judge=judge_fig6,
    draw=draw,
)
