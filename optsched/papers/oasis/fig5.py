"""OASiS, Fig. 5: performance ratio against the exact optimum with hindsight."""

from __future__ import annotations

from math import atanh, isfinite, sqrt, tanh
from typing import Any

from matplotlib.figure import Figure

from optsched.core import Ratio, compare, mean_ratio
from optsched.drawing import COLOURS
from optsched.engine.progress import CLOSED
from optsched.papers.estimate import Estimate
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
from optsched.papers.oasis.common import (
    COMMON,
    ESTIMATED,
    LABELS,
    LITERAL,
    PAPER,
    instance,
    policy,
)
from optsched.papers.verdict import Finding, Outcome, effect, shown, within
from optsched.problem import Status

JOBS, SLOTS = 10, 10
SCHEMES = (ESTIMATED, LITERAL, "rrh", "drf")
MACHINES = (20, 40, 60, 80, 100)  # half of them for workers, half for parameter servers
PRIORITIES = (10, 50, 100)  # gamma_1 is drawn between 1 and this
AROUND = (1.1, 1.5)
HARDER = {20: 2.5}  # few machines are the hard case: times the time limit
TREND = 0.3  # rank correlation from which we speak of a trend
NORMAL = 1.06 * 1.96  # half of a 95 % interval of a rank correlation, after the transformation


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return grid(machines=MACHINES, priority=PRIORITIES, seed=fresh(seeds))


def run(cell: Cell, time_limit: float) -> Row:
    """Find the optimum of one instance and the ratio of OASiS, and of two others beside."""
    sizes = {
        "jobs": JOBS,
        "slots": SLOTS,
        "machines": cell["machines"],
        "priority": (1.0, float(cell["priority"])),
    }
    report = compare(
        instance(PAPER, cell["seed"], **sizes),
        [policy(scheme, PAPER, cell["seed"], sizes) for scheme in SCHEMES],
        time_limit=time_limit * HARDER.get(cell["machines"], 1),
        seed=cell["seed"],
    )
    optimum = report.optimum
    named = zip(SCHEMES, report.policies, strict=True)
    return {
        "value": optimum.value,
        "bound": optimum.bound,
        "status": optimum.status,
        "bound_level": optimum.bound_level,
        "seconds": optimum.seconds,
        "ratios": {name: judged.ratio.model_dump(mode="json") for name, judged in named},
    }


def summarize(rows: Rows) -> Summary:
    """Return mean ratios for every number of machines and range of priorities, and overall."""
    points = [
        {"machines": m, "priority": top, "ratios": _means(group), "closed": _closed(group)}
        for (m, top), group in grouped(rows, "machines", "priority").items()
    ]
    return {
        "points": points,
        "overall": _means(rows),
        "closed": _closed(rows),
        "count": len(rows),
        "slowest": max(row["seconds"] for row in rows),
        "trend": {name: _trend(rows, name) for name in ("machines", "priority")},
    }


def _means(rows: Rows) -> dict[str, Any]:
    return {
        name: mean_ratio([Ratio.model_validate(r["ratios"][name]) for r in rows]).model_dump(
            mode="json"
        )
        for name in rows[0]["ratios"]
    }


def _closed(rows: Rows) -> int:
    return sum(row["status"] == Status.OPTIMAL for row in rows)


def _trend(rows: Rows, name: str) -> float | None:
    """Return Spearman's rank correlation of the ratio with a parameter; None if nothing varies."""
    ratios = [float(row["ratios"][ESTIMATED]["low"]) for row in rows]
    values = [row[name] for row in rows]
    if len({*values}) < 2 or len({*ratios}) < 2:
        return None
    from scipy.stats import spearmanr  # here, since it takes a while to import

    return float(spearmanr(values, ratios).statistic)


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: between 1.1 and 1.5, no clear trend."""
    found = [_around(summary["overall"][ESTIMATED])]
    for name, rank in summary["trend"].items():
        claim = f"no clear trend: rank correlation of the ratio with {name}"
        seen = None if rank is None else _of_rank(rank, summary["count"])
        found.append(within(claim, seen, low=-TREND, high=TREND))
    for name in SCHEMES:
        mean = summary["overall"][name]
        claim, note = f"{LABELS[name]}: median ratio", f"worst {float(mean['worst']['low']):.3g}"
        found.append(shown(claim, float(mean["median"]), paper=AROUND, note=note))
        if name != ESTIMATED:
            note = f"{mean['infinite']} of {mean['count']} earn nothing" * bool(mean["infinite"])
            claim = f"{LABELS[name]}: mean ratio, at least"
            found.append(shown(claim, float(mean["low"]), paper=AROUND, note=note))
    notes = (
        f"{summary['closed']} of {summary['count']} optima proved within {CLOSED:g}, the slowest "
        f"took {summary['slowest']:.1f} s",
        "as printed and without redraws nobody can earn anything in 10 slots",
    )
    return Outcome(tuple(found), notes)


def _around(mean: Any) -> Finding:
    """Judge by how much the mean ratio, whose ends rest on schedules and bounds, is above 1."""
    low, high = float(mean["low"]), mean["high"]
    ends = mean["interval"] and tuple(float(x) - 1 for x in mean["interval"])
    between = Ratio.of("max", 1.0, low, high and float(high))
    note = f"mean ratio {between}; {mean['infinite']} of {mean['count']} earn nothing"
    more = Estimate(low - 1, ends or None, mean["count"])
    paper = AROUND[0] - 1, AROUND[1] - 1
    return effect("OASiS: how far the optimum is ahead, the mean ratio less 1", more, paper=paper,
                  note=note)  # fmt: skip


def _of_rank(rank: float, count: int) -> Estimate:
    """Return a rank correlation with its 95 % interval (Fisher's transformation)."""
    half = NORMAL / sqrt(count - 3)
    return Estimate(rank, (tanh(atanh(rank) - half), tanh(atanh(rank) + half)), count)


def draw(summary: Summary) -> Figure:
    """Draw a group of bars per number of machines, one bar per range of priorities."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axis = figure.subplots()
    axis.axhspan(*AROUND, color="#DDDDDD", zorder=0, label="the paper: 1.1 to 1.5")
    machines = sorted({p["machines"] for p in summary["points"]})
    tops = sorted({p["priority"] for p in summary["points"]})
    for point in summary["points"]:
        k = tops.index(point["priority"])
        x = machines.index(point["machines"]) + 0.25 * (k - (len(tops) - 1) / 2)
        ratio = point["ratios"][ESTIMATED]
        low = float(ratio["low"])
        first = point["machines"] == machines[0]
        name = f"OASiS, priorities [1, {point['priority']}]" if first else None
        if isfinite(low):
            axis.bar(x, low, width=0.22, color=COLOURS[k], label=name)
        ends = ratio["interval"]
        if ends is not None:
            axis.vlines(x, float(ends[0]), float(ends[1]), color="black", linewidth=1)
        marked = point is summary["points"][0]
        for scheme, mark, what in ((ESTIMATED, "o", "median"), (LITERAL, "D", "median, true U, L")):
            median = float(point["ratios"][scheme]["median"])
            said = what if marked else None
            axis.plot(x, median, mark, color="white", markeredgecolor="black", ms=4, label=said)
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_xticks(range(len(machines)), [str(m) for m in machines])
    axis.set_xlabel("machines")
    axis.set_ylabel("optimum / OASiS (mean, 95 % interval)")
    axis.legend(frameon=False, fontsize=8)
    return figure


TITLE = "OASiS, Fig. 5: performance ratio, 10 jobs, T = 10"
CLAIM = (
    "the ratio is about 1.1 to 1.5, without a clear trend in the number of machines or the "
    "range of priorities"
)
TIME_LIMIT = 60.0  # seconds per optimum
SEEDS = 10
FEW = "an optimum takes up to minutes; the statements are about all 150 instances together"
SETTINGS = (
    *(setting for setting in COMMON if not setting.what.startswith("jobs that cannot finish")),
    Setting("jobs that cannot finish on the empty machines", "drawn anew", OPEN + ": as printed "
            "nobody can earn anything in 10 slots, so that the printed setting cannot be run"),
    Setting("jobs, slots", "10, 10", 'Sec. V-A: "the number of jobs is limited to 10", "We set '
            'T=10"'),
    Setting("machines", "20 to 100, halves", 'Sec. V-A: "proportionally divided to host workers '
            'and parameter servers"; their numbers are ' + OPEN),
    Setting("priorities", "[1, 10], [1, 50], [1, 100]", 'Sec. V-A: "also vary the range of job '
            'priorities"; the ranges are ' + OPEN),
)  # fmt: skip
