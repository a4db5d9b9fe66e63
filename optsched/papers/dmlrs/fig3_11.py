"""PD-ORS, Fig. 3.11: total utility beside OASiS, which keeps workers and servers apart."""

from __future__ import annotations

from matplotlib.figure import Figure

from optsched.drawing import new_figure
from optsched.papers.dmlrs.common import lines, means, reference
from optsched.papers.experiment import Cell, Outcome, Row, Rows, Summary, grid, grouped
from optsched.problem import get_family
from optsched.simulation import simulate

JOBS = (5, 10, 15, 20, 30)
MACHINES, SLOTS = 30, 100
CLAIMED, AT = 7.0, 15  # times OASiS, at so many jobs
NAMES = ("pd-ors", "oasis", "value", "bound")


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return grid(jobs=JOBS, seed=range(seeds))


def run(cell: Cell, time_limit: float) -> Row:
    """Run both online, and find the optimum with hindsight."""
    instance = get_family("dmlrs").generate(
        "paper",
        seed=cell["seed"],
        jobs=cell["jobs"],
        slots=SLOTS,
        machines=MACHINES,
        g_unit="Mbit",
    )
    earned = {p: simulate(instance, p, seed=cell["seed"]).value for p in ("pd-ors", "oasis")}
    return earned | reference(instance, time_limit, cell["seed"])


def summarize(rows: Rows) -> Summary:
    """Return means by the number of jobs."""
    return {"points": [{"jobs": n, **means(g, NAMES)} for (n,), g in grouped(rows, "jobs").items()]}


def judge(summary: Summary) -> Outcome:
    """Compare with the thesis: more than 7 times as much at 15 jobs."""
    words, times = [], {}
    for point in summary["points"]:
        apart = point["oasis"]["mean"]
        times[point["jobs"]] = point["pd-ors"]["mean"] / apart if apart else float("inf")
        share = point["pd-ors"]["mean"] / max(point["bound"]["mean"], 1e-12)
        words.append(
            f"{point['jobs']} jobs: PD-ORS earns {times[point['jobs']]:.3g} times as much as "
            f"OASiS, and {share:.0%} of what anybody could"
        )
    return Outcome(times[AT] > CLAIMED, "; ".join(words))


def draw(summary: Summary) -> Figure:
    """Draw utilities against the number of jobs."""
    figure = new_figure(6.4, 4.2)
    axis = figure.subplots()
    lines(axis, [p["jobs"] for p in summary["points"]], summary["points"], NAMES)
    axis.set_xlabel(f"number of jobs ({MACHINES} machines, {SLOTS} slots)")
    axis.set_ylabel("total utility (mean, 95 % interval)")
    return figure


TITLE = "PD-ORS, Fig. 3.11: total utility beside OASiS, H = 30, T = 100"
CLAIM = "PD-ORS earns more than OASiS, with 15 jobs more than 7 times as much"
TIME_LIMIT = 10.0  # seconds per optimum
