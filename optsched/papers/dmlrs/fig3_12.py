"""PD-ORS, Fig. 3.12: total utility against the ratio of inner and outer bandwidth."""

from __future__ import annotations

from matplotlib.figure import Figure

from optsched.core import simulate
from optsched.drawing import new_figure
from optsched.papers.dmlrs.common import COMMON, lines, means, reference
from optsched.papers.estimate import Estimate, differences
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
)
from optsched.papers.verdict import Outcome, effect, shown
from optsched.problem import get_family

RATIOS = (1, 2, 5, 10, 20, 30, 40, 60)
HELD = {"outer": "outer rate held", "inner": "inner rate held"}  # the verdict is about the first
JOBS, MACHINES, SLOTS, SLOT_SECONDS = 15, 20, 50, 60.0
NAMES = ("pd-ors", "value", "bound")


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return grid(held=HELD, ratio=RATIOS, seed=fresh(seeds))


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
    earned = {p["ratio"]: p["pd-ors"]["values"] for p in summary["outer"]}
    before, after = _slope(earned, 1, 30), _slope(earned, 30, 60)
    less = differences(after, before)
    unit = "per unit of the ratio"
    found = [
        effect("utility rises up to a ratio of 30", Estimate.of(before), unit=unit),
        effect("and from 30 to 60", Estimate.of(after), unit=unit),
        effect("by less above 30 than below", Estimate.of(less), sign=-1, unit=unit),
    ]
    other = {p["ratio"]: p["pd-ors"]["values"] for p in summary["inner"]}
    beside = shown("inner rate held: slope from 1 to 60", Estimate.of(_slope(other, 1, 60)))
    return Outcome((*found, beside), (HELD_WHY,))


HELD_WHY = "with the inner rate held a larger ratio means slower links, and utility falls"


def _slope(earned: dict[int, list[float]], low: int, high: int) -> list[float]:
    """Return the rise per unit of the ratio, instance by instance."""
    return [more / (high - low) for more in differences(earned[high], earned[low])]


def draw(summary: Summary) -> Figure:
    """Draw a panel for each rate that is held."""
    figure = new_figure(9.6, 4.0)
    for axis, (held, points) in zip(figure.subplots(1, len(summary)), summary.items(), strict=True):
        lines(axis, "ratio", "inner rate / outer rate", points, NAMES)
        axis.set_title(HELD[held], fontsize=9)
    return figure


TITLE = "PD-ORS, Fig. 3.12: total utility against inner / outer bandwidth, H = 20, T = 50"
CLAIM = "utility rises quickly with the ratio, and more gradually above 30"
TIME_LIMIT = 3.0  # seconds per optimum
SETTINGS = (
    *COMMON,
    Setting("machines, slots, ratio", "20, 50, 1 to 60", 'Sec. 4.1: "we let H = 20, T = 50, and '
            'vary b_i^(i) / b_i^(e) from 1 to 60"'),
    Setting("held", "judged: the outer rate; beside: the inner rate", OPEN),
    Setting("jobs", "15; jobs that cannot finish are kept", OPEN),
    Setting("unit of g, length of a slot", "Mbit, 60 s", OPEN),
)  # fmt: skip
