"""PD-ORS, Fig. 3.11: total utility beside OASiS, which keeps workers and servers apart."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from optsched.core import simulate
from optsched.drawing import new_figure
from optsched.papers.dmlrs.common import COMMON, lines, means, reference
from optsched.papers.estimate import lead
from optsched.papers.experiment import OPEN, Cell, Row, Rows, Setting, Summary, fresh, grouped
from optsched.papers.verdict import Outcome, effect, shown
from optsched.problem import get_family

JOBS = (5, 10, 15, 20, 30)
MACHINES, SLOTS = 30, 100
CLAIMED, AT = 7.0, 15  # times OASiS, at so many jobs
READINGS: dict[str, dict[str, Any]] = {  # of g in [50, 100], which has no unit, and of a slot
    "Mbit, slots of 5 min": {"g_unit": "Mbit", "slot_seconds": 300.0},
    "Mbit, slots of 1 h": {"g_unit": "Mbit", "slot_seconds": 3600.0},
    "MB, slots of 5 min": {"g_unit": "MB", "slot_seconds": 300.0},
}
ONLINE = ("pd-ors", "oasis", "colocate")
NAMES = (*ONLINE, "value", "bound")
SAME = 0.02  # relative difference below which co-location does as well


def cells(seeds: int) -> list[Cell]:
    """Return one cell per reading and instance; all numbers of jobs in the first reading."""
    first = next(iter(READINGS))
    return [
        {"reading": reading, "jobs": n, "seed": seed}
        for reading in READINGS
        for n in (JOBS if reading == first else (AT,))
        for seed in fresh(seeds)
    ]


def run(cell: Cell, time_limit: float) -> Row:
    """Run all online, and find the optimum with hindsight."""
    instance = get_family("dmlrs").generate(
        "paper",
        seed=cell["seed"],
        jobs=cell["jobs"],
        slots=SLOTS,
        machines=MACHINES,
        **READINGS[cell["reading"]],
    )
    earned = {p: simulate(instance, p, seed=cell["seed"]).value for p in ONLINE}
    return earned | reference(instance, time_limit, cell["seed"])


def summarize(rows: Rows) -> Summary:
    """Return means by reading and number of jobs."""
    return {
        "points": [
            {"reading": reading, "jobs": n, **means(g, NAMES)}
            for (reading, n), g in grouped(rows, "reading", "jobs").items()
        ]
    }


def judge(summary: Summary) -> Outcome:
    """Compare with the thesis: more than 7 times as much at 15 jobs, whatever the unit."""
    found, beside, same = [], [], []
    for point in summary["points"]:
        where = f"{point['reading']}, {point['jobs']} jobs"
        ours, apart, greedy, bound = (
            point[name]["values"] for name in ("pd-ors", "oasis", "colocate", "bound")
        )
        claim = f"{where}: PD-ORS's utility over OASiS's"
        if point["jobs"] == AT:
            note = f"more than {CLAIMED:g} times is at least {CLAIMED - 1:+.0%}"
            more = lead(ours, apart)
            found.append(effect(claim, more, paper=CLAIMED - 1, at_least=True, note=note))
        else:
            beside.append(shown(claim, lead(ours, apart), unit="%"))
        simple = lead(ours, greedy)
        beside.append(shown(f"{where}: over co-location on the first machine", simple, unit="%"))
        beside.append(shown(f"{where}: over the certified bound", lead(ours, bound), unit="%"))
        if simple is not None and abs(simple.mean) <= SAME:
            same.append(where)
    notes = [f"cannot tell policies apart, co-location does as well: {'; '.join(same)}"] * any(same)
    return Outcome((*found, *beside), tuple(notes))


def draw(summary: Summary) -> Figure:
    """Draw utilities against the number of jobs, and how many times OASiS's by reading."""
    figure = new_figure(9.6, 4.2)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    first = next(iter(READINGS))
    points = [p for p in summary["points"] if p["reading"] == first]
    lines(left, "jobs", f"number of jobs ({MACHINES} machines, {SLOTS} slots)", points, NAMES)
    left.set_title(first, fontsize=9)
    for x, reading in enumerate(READINGS):
        at = next(p for p in summary["points"] if (p["reading"], p["jobs"]) == (reading, AT))
        more = lead(at["pd-ors"]["values"], at["oasis"]["values"])
        if more is not None:
            right.plot(x, more.mean + 1, "o", color="black")
            if more.interval is not None:
                right.vlines(x, *(e + 1 for e in more.interval), color="black")
    right.axhline(CLAIMED, color="black", linestyle=":", label="the thesis: more than 7")
    right.set_yscale("log")
    right.set_xticks(range(len(READINGS)), [r.replace(", ", ",\n") for r in READINGS], fontsize=8)
    right.set_xlim(-0.5, len(READINGS) - 0.5)
    right.set_ylabel(f"PD-ORS / OASiS at {AT} jobs (95 % interval)")
    right.legend(frameon=False, fontsize=8, loc="upper left")
    return figure


TITLE = "PD-ORS, Fig. 3.11: total utility beside OASiS, H = 30, T = 100"
CLAIM = "PD-ORS earns more than OASiS, with 15 jobs more than 7 times as much"
TIME_LIMIT = 10.0  # seconds per optimum
SETTINGS = (
    *COMMON,
    Setting("machines, slots", "30, 100", 'Sec. 4.1: "we let H = 30 and T = 100"'),
    Setting("inner / outer rate", "40", "Sec. 4.1"),
    Setting("OASiS", "half of the machines for workers, half for PS", 'Sec. 4.1: "half of the '
            'machines are parameter servers"'),
    Setting("unit of g, length of a slot", "three readings, all of them judged",
            'Sec. 4.1: "g_i in [50, 100]" has no unit; the length of a slot is ' + OPEN),
)  # fmt: skip
