"""PD-ORS, Fig. 3.12: total utility against the ratio of inner and outer bandwidth."""

from __future__ import annotations

from matplotlib.figure import Figure

from optsched.drawing import new_figure
from optsched.papers.dmlrs.common import lines, means, reference
from optsched.papers.experiment import Cell, Outcome, Row, Rows, Summary, grid, grouped
from optsched.problem import get_family
from optsched.simulation import simulate

RATIOS = (1, 2, 5, 10, 20, 30, 40, 60)
HELD = {"outer": "outer rate held", "inner": "inner rate held"}  # the verdict is about the first
JOBS, MACHINES, SLOTS, SLOT_SECONDS = 15, 20, 50, 60.0
NAMES = ("pd-ors", "value", "bound")


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return grid(held=HELD, ratio=RATIOS, seed=range(seeds))


def run(cell: Cell, time_limit: float) -> Row:
    """Run PD-ORS, and find the optimum with hindsight."""
    instance = get_family("dmlrs").generate(
        "paper",
        seed=cell["seed"],
        jobs=JOBS,
        slots=SLOTS,
        machines=MACHINES,
        ratio=cell["ratio"],
        held=cell["held"],
        g_unit="Mbit",
        slot_seconds=SLOT_SECONDS,
        completable=False,
    )
    earned = simulate(instance, "pd-ors", seed=cell["seed"]).value
    return {"pd-ors": earned} | reference(instance, time_limit, cell["seed"])


def summarize(rows: Rows) -> Summary:
    """Return means by the ratio."""
    return {
        held: [{"ratio": r, **means(g, NAMES)} for (r,), g in grouped(part, "ratio").items()]
        for (held,), part in grouped(rows, "held").items()
    }


def judge(summary: Summary) -> Outcome:
    """Compare with the thesis: it rises, and less above a ratio of 30."""
    earned = {p["ratio"]: p["pd-ors"]["mean"] for p in summary["outer"]}
    rises = all(b >= a for a, b in zip(earned.values(), list(earned.values())[1:], strict=False))
    before, after = (earned[30] - earned[1]) / 29, (earned[60] - earned[30]) / 30
    other = {p["ratio"]: p["pd-ors"]["mean"] for p in summary["inner"]}
    words = (
        f"with the outer rate held, utility goes from {earned[1]:.3g} at ratio 1 to "
        f"{earned[30]:.3g} at 30 and {earned[60]:.3g} at 60: {before:.3g} per unit of the ratio "
        f"below 30, {after:.3g} above; with the inner rate held, from {other[1]:.3g} to "
        f"{other[60]:.3g}, since a larger ratio then means slower links"
    )
    return Outcome(rises and after < before, words)


def draw(summary: Summary) -> Figure:
    """Draw a panel for each rate that is held."""
    figure = new_figure(9.6, 4.0)
    for axis, (held, points) in zip(figure.subplots(1, len(summary)), summary.items(), strict=True):
        lines(axis, [p["ratio"] for p in points], points, NAMES)
        axis.set_title(HELD[held], fontsize=9)
        axis.set_xlabel("inner rate / outer rate")
        axis.set_ylabel("total utility (mean, 95 % interval)")
    return figure


TITLE = "PD-ORS, Fig. 3.12: total utility against inner / outer bandwidth, H = 20, T = 50"
CLAIM = "utility rises quickly with the ratio, and more gradually above 30"
TIME_LIMIT = 3.0  # seconds per optimum
