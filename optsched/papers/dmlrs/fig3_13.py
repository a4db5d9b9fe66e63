"""PD-ORS, Fig. 3.13: how often Algorithm 4 rounds until a placement is feasible."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from optsched.drawing import COLOURS, finish, new_figure
from optsched.papers.dmlrs.rounding import LOADS, MOST_ROUNDS
from optsched.papers.estimate import Estimate, differences
from optsched.papers.experiment import Rows, Summary, grouped, line, mean_with_interval
from optsched.papers.verdict import Outcome, about, effect, shown, within

BEST_GAIN, FEWEST, MOST = 1.006, 570, 1000  # the thesis's
LEAST_GAIN, MOST_GAIN = 1.0, 1.01
JUDGED = 0.5  # the load of the verdict


def summarize(rows: Rows) -> Summary:
    """Return the success rate, and the rounds with failures counted as the limit."""
    points = []
    for (load, gain), group in grouped(rows, "load", "gain").items():
        rounds = [r for row in group for r in row["rounds"]]
        points.append(
            {
                "load": load,
                "gain": gain,
                "success": mean_with_interval(
                    [1 - row["failed"] / max(row["asked"], 1) for row in group]
                ),
                "rounds": mean_with_interval(
                    [float(np.mean(row["rounds"])) if row["rounds"] else 0.0 for row in group]
                ),
                "median": float(np.median(rounds)) if rounds else 0.0,
            }
        )
    return {"points": points}


def judge(summary: Summary) -> Outcome:
    """Compare with the thesis: fewest roundings, 570, at G = 1.006."""
    rounds = {(p["load"], p["gain"]): p["rounds"]["values"] for p in summary["points"]}
    at = {gain: rounds[JUDGED, gain] for load, gain in rounds if load == JUDGED}

    def more(one: float, two: float) -> Estimate:
        return Estimate.of(differences(at[two], at[one]))

    worst = max((g for g in at if g <= MOST_GAIN), key=lambda g: sum(at[g]))
    unit = "roundings"
    found = [
        effect("fewer roundings at G = 1.006 than at 1", more(LEAST_GAIN, BEST_GAIN), sign=-1,
               unit=unit),
        effect("more at 1.01 than at 1.006", more(BEST_GAIN, MOST_GAIN), unit=unit),
        about("mean at G = 1.006", Estimate.of(at[BEST_GAIN], nothing=None), FEWEST, unit=unit),
        within(f"mean at the worst G up to 1.01, {worst:g}", Estimate.of(at[worst], nothing=None),
               high=MOST, unit=unit),
    ]  # fmt: skip
    for p in summary["points"]:
        if p["gain"] in (BEST_GAIN, 1.5):
            where = f"in use up to {p['load']:.0%}, G = {p['gain']:g}"
            rate = Estimate.of(p["success"]["values"])
            claim = f"{where}: share that is ever rounded within {MOST_ROUNDS}"
            found.append(shown(claim, rate, note=f"median {p['median']:g} roundings"))
    why = (
        "a query either succeeds at once or nearly never: a number that must be rounded down on a "
        "full machine stays short of its total, whatever G up to 1.01; so means hang on the limit"
    )
    return Outcome(tuple(found), (why,))


def draw(summary: Summary) -> Figure:
    """Draw success rate and capped mean against the gain."""
    figure = new_figure(9.6, 4.0)
    left, right = figure.subplots(1, 2)
    for k, load in enumerate(LOADS):
        mine = [p for p in summary["points"] if p["load"] == load]
        x = [str(p["gain"]) for p in mine]
        name = f"machines in use up to {load:.0%}"
        line(left, x, [p["success"] for p in mine], COLOURS[k], name)
        line(right, x, [p["rounds"] for p in mine], COLOURS[k], name)
    right.axhline(FEWEST, color="black", linestyle=":", label="the thesis: 570 at G = 1.006")
    for axis in (left, right):
        axis.set_ylim(bottom=0)
    finish(left, "gain G", f"share rounded within {MOST_ROUNDS} (95 % interval)")
    finish(right, "gain G", f"roundings (mean, at most {MOST_ROUNDS}; 95 % interval)", legend=8)
    return figure


TITLE = "PD-ORS, Fig. 3.13: roundings until a placement is feasible, H = 50"
CLAIM = "roundings are fewest, 570, at G = 1.006, and below 1000 for every G from 1 to 1.01"
