"""OASiS, Fig. 5: performance ratio against the exact optimum with hindsight."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from optsched.drawing import COLOURS
from optsched.engine.progress import CLOSED
from optsched.intervals import Ratio, mean_ratio
from optsched.papers.experiment import Cell, Outcome, Row, Rows, Summary, grid, grouped
from optsched.papers.oasis.common import FLOORED, label, policy
from optsched.problem import Status, get_family
from optsched.ratios import compare

JOBS, SLOTS = 10, 10
MACHINES = (20, 40, 60, 80, 100)  # half of them for workers, half for parameter servers
PRIORITIES = (10, 50, 100)  # gamma_1 is drawn between 1 and this
PAPER = (1.1, 1.5)
HARDER = {20: 2.5}  # few machines are the hard case: times the time limit
TREND = 0.3  # rank correlation from which we speak of a trend


def cells(seeds: int) -> list[Cell]:
    """Return one cell per instance."""
    return grid(machines=MACHINES, priority=PRIORITIES, seed=range(seeds))


def run(cell: Cell, time_limit: float) -> Row:
    """Find the optimum of one instance and the ratio of OASiS, as printed and with a floor on L."""
    instance = get_family("oasis").generate(
        "paper",
        seed=cell["seed"],
        jobs=JOBS,
        slots=SLOTS,
        machines=cell["machines"],
        priority=(1.0, float(cell["priority"])),
    )
    report = compare(
        instance,
        [policy("oasis"), policy(FLOORED)],
        time_limit=time_limit * HARDER.get(cell["machines"], 1),
        seed=cell["seed"],
    )
    optimum = report.optimum
    named = zip(("oasis", FLOORED), report.policies, strict=True)
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
    ratios = [float(row["ratios"]["oasis"]["low"]) for row in rows]
    values = [row[name] for row in rows]
    if len({*values}) < 2 or len({*ratios}) < 2:
        return None
    from scipy.stats import spearmanr  # here, since it takes a while to import

    return float(spearmanr(values, ratios).statistic)


def judge(summary: Summary) -> Outcome:
    """Compare with the paper: between 1.1 and 1.5, no clear trend."""
    overall = summary["overall"]["oasis"]
    low, high = float(overall["low"]), overall["high"]
    inside = low >= PAPER[0] and high is not None and float(high) <= PAPER[1]
    trends = [t for t in summary["trend"].values() if t is not None]
    flat = all(abs(t) < TREND for t in trends)
    means = [float(p["ratios"]["oasis"]["low"]) for p in summary["points"]]
    words = [
        f"mean ratio of OASiS {_between(overall)} (the paper: about {PAPER[0]} to {PAPER[1]}), "
        f"means of the {len(means)} settings from {min(means):.3g} to {max(means):.3g}",
        f"{summary['closed']} of {summary['count']} optima proved within {CLOSED:g}, the slowest "
        f"took {summary['slowest']:.1f} s",
        "rank correlation of the ratio with "
        + ", ".join(
            f"{name} {'none' if t is None else f'{t:+.2f}'}" for name, t in summary["trend"].items()
        ),
        f"{label(FLOORED)}: mean ratio {_between(summary['overall'][FLOORED])}",
    ]
    if not inside:
        words.append(
            "the ratio depends on how scarce the machines are and on how small L gets; the paper "
            "prints neither its arrivals nor its U and L"
        )
    return Outcome(inside and flat, "; ".join(words))


def _between(mean: dict[str, Any]) -> str:
    low, high = float(mean["low"]), mean["high"]
    return str(Ratio.of("max", 1.0, low, None if high is None else float(high)))


def draw(summary: Summary) -> Figure:
    """Draw a group of bars per number of machines, one bar per range of priorities."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axis = figure.subplots()
    axis.axhspan(*PAPER, color="#DDDDDD", zorder=0, label="the paper: 1.1 to 1.5")
    machines = sorted({p["machines"] for p in summary["points"]})
    tops = sorted({p["priority"] for p in summary["points"]})
    for point in summary["points"]:
        k = tops.index(point["priority"])
        x = machines.index(point["machines"]) + 0.25 * (k - (len(tops) - 1) / 2)
        ratio = point["ratios"]["oasis"]
        low = float(ratio["low"])
        first = point["machines"] == machines[0]
        name = f"OASiS, priorities [1, {point['priority']}]" if first else None
        axis.bar(x, low, width=0.22, color=COLOURS[k], label=name)
        ends = ratio["interval"]
        if ends is not None:
            axis.vlines(x, float(ends[0]), float(ends[1]), color="black", linewidth=1)
        floored = float(point["ratios"][FLOORED]["low"])
        marked = label(FLOORED) if point is summary["points"][0] else None
        axis.plot(x, floored, "D", color="white", markeredgecolor="black", ms=4, label=marked)
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
SEEDS = 10
TIME_LIMIT = 120.0  # seconds per optimum
