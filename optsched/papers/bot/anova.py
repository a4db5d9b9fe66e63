"""Figures 4 and 6: which step size matters, by an analysis of variance of a factorial design."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import fdtrc

from optsched.drawing import COLOURS, finish, legend, new_figure
from optsched.papers.bot.common import (
    FACTORS,
    NAIVE_LEVELS,
    SETTINGS,
    STEPS,
    UNIT_NAMES,
    best_count,
    best_sets,
    factorial,
    platforms,
)
from optsched.papers.bot.tables import ADAPTIVE_LEVELS
from optsched.papers.estimate import Estimate
from optsched.papers.experiment import (
    OPEN,
    Cell,
    Experiment,
    Row,
    Rows,
    Setting,
    Summary,
    grouped,
    mean_with_interval,
    whisker,
)
from optsched.papers.verdict import Finding, Outcome, effect, stated

LARGEST = 1e3  # a coefficient of variation farther from 0, or none, counts as this
SIGNIFICANT = 0.05
SIGNED, SIZE = "c_v", "|c_v|"  # responses; the first is the paper's
CLAIMED = 1e-4  # p of rho in Fig. 4
CONVERGED = 29  # of 30, Fig. 6
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
    """Return the table of the variance of both responses and the mean by level, by reading."""
    tables = []
    named = [{"dual_step": STABLE, **row} for row in rows]  # naive: there is one reading only
    for (units, dual_step), group in grouped(named, "units", "dual_step").items():
        data = pd.DataFrame([entry for row in group for entry in row["sets"]])
        variation = data["variation"].astype(float).fillna(LARGEST).clip(-LARGEST, LARGEST)
        platform = pd.Series([k for k, row in enumerate(group) for _ in row["sets"]])
        coded = {f: np.where(data[f] == data[f].max(), 1.0, -1.0) for f in FACTORS}
        (best,) = best_sets(group)
        table: dict[str, Any] = {"units": units, "dual_step": dual_step, "best": best}
        for name, response in ((SIGNED, variation), (SIZE, variation.abs())):
            table[name] = {
                "anova": _anova(pd.DataFrame(coded | {"cv": response})),
                "means": {
                    f: [float(response[coded[f] < 0].mean()), float(response[coded[f] > 0].mean())]
                    for f in FACTORS
                },
                "intervals": {
                    f: [
                        _interval(response[side], platform[side])
                        for side in (coded[f] < 0, coded[f] > 0)
                    ]
                    for f in FACTORS
                },
                "effects": {f: _effects(response, platform, coded[f]) for f in FACTORS},
            }
        tables.append(table)
    return {"tables": tables}


def _interval(response: pd.Series[float], platform: pd.Series[int]) -> list[float] | None:
    """Return the interval of a mean over platforms: runs on one of them are no sample."""
    found: list[float] | None
    found = mean_with_interval(response.groupby(platform).mean().tolist())["interval"]
    return found


def _effects(
    response: pd.Series[float], platform: pd.Series[int], coded: NDArray[np.float64]
) -> list[float]:
    """Return what the high level adds to the mean of a platform, platform by platform."""
    means = response.groupby([platform, coded]).mean().unstack()
    found: list[float] = (means[1.0] - means[-1.0]).tolist()
    return found


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


def judge_fig4(summary: Summary) -> Outcome:
    """Compare with Fig. 4: rho matters most, its low level varies less, prices hardly matter."""
    first = summary["tables"][0][SIGNED]
    by = {row["factor"]: row for row in first["anova"]}
    rival = max((f for f in FACTORS if f != "rho"), key=lambda f: by[f]["F"] or 0.0)
    ours, theirs = (first["effects"][f] for f in ("rho", rival))
    squares = [a * a - b * b for a, b in zip(ours, theirs, strict=True)]
    low, high = first["means"]["rho"]
    found = [
        effect(f"rho matters most: its squared effect on c_v less that of {rival}, by platform",
               Estimate.of(squares), unit="", note=_f(by)),
        _p("p of rho", by["rho"], CLAIMED, below=True),
        effect("c_v is lower at the low level of rho: what the high one adds", Estimate.of(ours),
               unit="", note=f"{low:.4g} at the low level, {high:.4g} at the high one"),
        *(
            _p(f"{name} has limited impact, so that its p is not small", by[name], SIGNIFICANT,
               below=False)
            for name in ("lam", "mu")
        ),
    ]  # fmt: skip
    return Outcome((*found, *_others(summary)))


def judge_fig6(summary: Summary) -> Outcome:
    """Compare with Fig. 6: a set that converges on nearly all platforms, rho no longer matters."""
    table = summary["tables"][0]
    by = {row["factor"]: row for row in table[SIGNED]["anova"]}
    found = [
        best_count(table["best"], CONVERGED),
        _p("rho is not significant: its p", by["rho"], SIGNIFICANT, below=False),
    ]
    return Outcome((*found, *_others(summary)))


def _p(claim: str, row: dict[str, Any], limit: float, *, below: bool) -> Finding:
    """Judge a p: none, where nothing varies, is not significant."""
    p = 1.0 if row["p"] is None else row["p"]
    note = f"F {row['F'] or 0.0:.3g}" + ("" if below else f"; significant is p < {limit:g}")
    if below:
        return stated(claim, p < limit, ours=p, paper=limit, bound="at most ", note=note)
    return stated(claim, p >= limit, ours=p, note=note)


def _f(by: dict[str, Any]) -> str:
    ranked = sorted(by.values(), key=lambda row: -(row["F"] or 0.0))
    return "F " + ", ".join(f"{row['factor']} {row['F'] or 0.0:.3g}" for row in ranked)


def _others(summary: Summary) -> list[Finding]:
    """Return what other readings of c_v, dual steps and units give."""
    found = []
    for k, table in enumerate(summary["tables"]):
        for response in (SIGNED, SIZE):
            if (k, response) == (0, SIGNED):
                continue
            by = {row["factor"]: row for row in table[response]["anova"]}
            claim = f"{table['units']}, dual steps {table['dual_step']}, {response}: p of rho"
            best = table["best"]
            note = f"{_f(by)}; best set {best['best']['converged']} of {best['platforms']}"
            found.append(Finding(claim, None, by["rho"]["p"], None, note=note))
    return found


def draw(summary: Summary) -> Figure:
    """Draw the mean c_v at both levels of each factor, and when platforms converge."""
    drawn = [table for table in summary["tables"] if table["dual_step"] == STABLE]
    figure = new_figure(4.2 * len(drawn), 6.0)
    axes = figure.subplots(2, len(drawn), squeeze=False)
    for column, table in enumerate(drawn):
        axis, below = axes[0, column], axes[1, column]
        for k, f in enumerate(FACTORS):
            means = table[SIGNED]["means"][f]
            at = (-1 + 3 * k, 1 + 3 * k)
            axis.plot(at, means, "o-", color=COLOURS[k], label=NAMES[f])
            for x, ends in zip(at, table[SIGNED]["intervals"][f], strict=True):
                whisker(axis, x, {"interval": ends})
        places = [x + 3 * k for k in range(len(FACTORS)) for x in (-1, 1)]
        axis.set_xticks(places, ["low", "high"] * len(FACTORS), fontsize=7)
        axis.set_title(UNIT_NAMES[table["units"]], fontsize=9)
        finish(axis, "level of the step size", grid="y")
        axis.set_ylabel("mean c_v = SD / MEAN\n(no unit; 95 % interval over platforms)", fontsize=8)
        times = table["best"]["best"]["times"]
        if times:
            below.hist(times, bins=15, color=COLOURS[0])
            below.set_xlabel("iteration from which on it stays in the tube")
            below.set_ylabel("platforms, best set")
        else:
            below.text(0.5, 0.5, "no set converges", ha="center", transform=below.transAxes)
            below.set_axis_off()
    legend(figure, axes[0, 0])
    return figure


NAMES = {
    "rho": "rates",
    "tilde": "smoothed rates",
    "lam": "prices of nodes",
    "mu": "prices of arcs",
}
RESPONSE = Setting(
    "response", "c_v with its sign; none, or beyond +-1000, counts as 1000 or -1000",
    'Sec. 6.5.2: "c_v = SD(z)/MEAN(z)"; what a run that diverges counts as is ' + OPEN,
)  # fmt: skip
FIG_4 = Experiment(
    name="bot-fig4",
    title="Bags of tasks, Fig. 4: step sizes of the naive algorithm, N = 20, degree 5",
    claim=(
        "the step size of the rates matters most, p < 0.0001, and its low level varies less; those "
        "of the prices have limited impact"
    ),
    settings=(*SETTINGS, RESPONSE, Setting("step sizes", "all 16 sets", "Table 1, line 1")),
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
    settings=(
        *SETTINGS,
        RESPONSE,
        STEPS,
        Setting(
            "step sizes",
            "all 16 sets: rho 0.001, 0.002; rho~ 0.01, 0.05; lambda, mu 0.1, 0.7",
            'Sec. 8.2: "We run a final factorial experiments with the following"',
        ),
    ),
    seeds=30,
    cells=cells_fig6,
    run=run_fig6,
    summarize=summarize,
    judge=judge_fig6,
    draw=draw,
)
