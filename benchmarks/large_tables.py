"""What the rows of `large.py` state: lines of a table, targets, a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import traces
from bench import Row, Summary, Target, median
from large_rows import GAPS, MINUTES, RUNS
from matplotlib.figure import Figure
from render import number, percent

from optsched.drawing import COLOURS, GRID, headline, legend, new_figure

EXPONENT = 1.3  # of the time that a gap takes, by jobs: what is wanted
MEASURES: Mapping[str, Callable[[Sequence[float]], float | None]] = {
    "mean": lambda gaps: sum(gaps) / len(gaps),
    "median": median,
    "worst": max,
}


def _named(row: Row) -> str:
    """Report which instance a row is of."""
    words = [f"{row[k]} {k}" for k in ("jobs", "slots", "machines") if k in row]
    load = [] if row.get("offered_load") is None else [f"load {row['offered_load']:.3g}"]
    drawn = [row["preset"]] if "preset" in row else []
    seed = [f"seed {row['seed']}"] if "seed" in row else []
    return ", ".join([row["family"], *drawn, *words, *load, *seed])


def summarize(rows: list[Row]) -> Summary:
    """Return a line per measurement (per setting, where there are several), and the targets."""
    lines: list[list[str]] = []
    targets: list[Target] = []
    figures: Row = {}
    for part in SUMMARIES:
        mine = [row for row in rows if row["part"] == part]
        if mine:
            more, goals = SUMMARIES[part](mine)
            lines += [[part, *line] for line in more]
            targets += goals
    figures["growth"] = [row for row in rows if row["part"] == "growth"]
    return Summary(("part", "instance", "what", "figures"), lines, targets, figures)


Part = tuple[list[list[str]], list[Target]]


def _sum_make(rows: list[Row]) -> Part:
    text = traces.summarize(rows)
    lines = [
        [f"{f}, {jobs} jobs", w, f"{cpu} s CPU, {mb} MB"]
        for w, f, jobs, cpu, _, mb, _ in text.lines
    ]
    return lines, list(text.targets)


def _sum_online(rows: list[Row]) -> Part:
    lines, targets = [], []
    for row in rows:
        goals = RUNS[row["name"]][1]
        took = f"decisions {number(row['decisions'])} s, the slowest {number(row['slowest'])} s"
        whole = f"whole process {number(row['cpu'])} s CPU, {row['megabytes']:.0f} MB"
        lines.append([_named(row), row["name"], f"{took}; {whole}"])
        what = f"all decisions of {row['name']}: {_named(row)}"
        targets.append(Target(what, "s", row["decisions"], goals.must, goals.aim))
    return lines, targets


def _sum_gap(rows: list[Row]) -> Part:
    lines, targets = [], []
    for row in rows:
        goals = GAPS[row["name"]][1]
        lines.append([_named(row), f"after {row['time_limit']:g} s", _found(row)])
        if goals.must is not None:
            what = f"certified gap: {_named(row)}"
            targets.append(Target(what, "%", row["gap"], goals.must, goals.aim))
    big = [row for row in rows if GAPS[row["name"]][1].must is not None]

    def worst(name: str) -> float | None:
        found = [row[name] for row in big]
        return None if None in found else max(found, default=None)

    targets += [
        Target("first certified bound at these sizes", "s", worst("first_bound"), 2, 1),
        Target("first certified bound with prices", "s", worst("first_priced"), 60, 15),
        Target("memory of a search", "MB", worst("megabytes"), 4096, 2048),
        Target("`optsched verify` of these", "s", worst("verify_seconds"), 120, 40),
        Target("its memory", "MB", worst("verify_megabytes"), 500, 200),
    ]
    return lines, targets


def _found(row: Row) -> str:
    ends = f"value {number(row['value'], '.5g')}, bound {number(row['bound'], '.5g')}"
    first = f"first bound {number(row['first_bound'])} s, priced {number(row['first_priced'])} s"
    took = f"{number(row['seconds'])} s, {number(row['cpu'])} s CPU"
    memory = f"{number(row['megabytes'], '.0f')} MB"
    text = f"gap {percent(row['gap'])}; {ends}; {first}; {took}, {memory}"
    if "verify_cpu" not in row:
        return text
    verify = f"{number(row['verify_cpu'])} s CPU, {row['verify_megabytes']:.0f} MB"
    return f"{text}; verify {verify}"


def _sum_month(rows: list[Row]) -> Part:
    lines, targets = [], []
    for row in rows:
        where = f"{row['name']}: {_named(row)} of {row['slot']}, as it is"
        high = number(row["spread"], ".4g")
        lines.append([where, f"after {row['time_limit']:g} s", f"high / low {high}; {_found(row)}"])
        targets.append(Target(f"high / low: {where}", "", row["spread"], 1.3, 1.1))
    return lines, targets


def _sum_limit(rows: list[Row]) -> Part:
    lines, targets = [], []
    for name in dict.fromkeys(_named(row) for row in rows):
        mine = [row for row in rows if _named(row) == name]
        over = "; ".join(f"{row['method']} {row['over']:.2f} s" for row in mine)
        lines.append([name, f"beyond {mine[0]['time_limit']:g} s", over])
        worst = max(row["over"] for row in mine)
        targets.append(Target(f"beyond the limit, the worst method: {name}", "s", worst, 2, 1))
    return lines, targets


def _sum_minute(rows: list[Row]) -> Part:
    lines, targets = [], []
    for name in dict.fromkeys(row["name"] for row in rows):
        mine = [row for row in rows if row["name"] == name]
        gaps = [math.inf if row["gap"] is None else row["gap"] for row in mine]
        found = {how: measure(gaps) for how, measure in MEASURES.items()}
        text = ", ".join(f"{how} {percent(gap)}" for how, gap in found.items())
        lines.append([f"{name}, seeds 0-{len(mine) - 1}", "certified gap after 60 s", text])
        for how, goals in MINUTES[name][1].items():
            what = f"certified gap after 60 s, {how}: {name}"
            targets.append(Target(what, "%", found[how], goals.must, goals.aim))
    return lines, targets


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Return b of the line y = a x**b through points, by least squares; None of one point."""
    if len(points) < 2:
        return None
    x, y = np.log(np.array(points, float)).T
    return float(np.polyfit(x, y, 1)[0])


def _sum_growth(rows: list[Row]) -> Part:
    lines, targets = [], []
    for family in dict.fromkeys(row["family"] for row in rows):
        mine = sorted((r for r in rows if r["family"] == family), key=lambda row: row["jobs"])
        gap = mine[0]["gap_limit"]
        took = ", ".join(f"{row['jobs']}: {number(row['reached'])} s" for row in mine)
        power = _growth(mine)
        text = took if power is None else f"{took}; about n^{number(power)}"
        lines.append([f"{family}, {mine[0]['preset']}", f"to a gap of {gap:.0%}", text])
        what = f"growth of the time to a gap of {gap:.0%}: {family}, n^"
        targets.append(Target(what, "", power, aim=EXPONENT))
    return lines, targets


def _growth(rows: Sequence[Row]) -> float | None:
    """Return the exponent, if all rows have reached their gap: the others would change it."""
    points = _reached(rows)
    return exponent(points) if len(points) == len(rows) else None


def _reached(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Return jobs and seconds of the rows that have reached their gap."""
    return [(row["jobs"], row["reached"]) for row in rows if row["reached"] is not None]


SUMMARIES: Mapping[str, Callable[[list[Row]], Part]] = {
    "make": _sum_make,
    "online": _sum_online,
    "gap": _sum_gap,
    "month": _sum_month,
    "limit": _sum_limit,
    "minute": _sum_minute,
    "growth": _sum_growth,
}


def picture(rows: Sequence[Row]) -> Figure:
    """Draw how many seconds a gap takes, by jobs."""
    figure = new_figure(6.4, 4.0)
    axis = figure.subplots()
    for k, family in enumerate(dict.fromkeys(row["family"] for row in rows)):
        mine = [row for row in rows if row["family"] == family]
        points = _reached(mine)
        power = _growth(mine)
        label = f"{family} to {mine[0]['gap_limit']:.0%}"
        label += "" if power is None else f": n^{power:.2f}"
        x, y = [p[0] for p in points], [p[1] for p in points]
        axis.plot(x, y, "o-", color=COLOURS[k % len(COLOURS)], label=label)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("jobs, ten to a machine")
    axis.set_ylabel("time (s)")
    axis.grid(color=GRID)
    axis.set_axisbelow(True)
    legend(figure, axis)
    headline(figure, "Seconds until value and certified bound are so near")
    return figure
