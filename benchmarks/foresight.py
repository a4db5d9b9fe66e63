"""The value of foresight: how long a curve takes.

    python benchmarks/foresight.py        (about 3 minutes)

Battery: four days of that of docs/gallery, six windows, from the call to the curve. Year: all hours
of a year, a battery behind a line with wind and load, a window of a day. The first run of either
kind is small and does not count: it imports what is needed.

`--hours 720` makes the year shorter; `--picture` draws that of docs/foresight.md.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pyomo.environ as pyo
from bench import Benchmark, Row, Summary, Target, parse, parser

import optsched
from optsched.process.loading import load_from_file

ROOT = Path(__file__).parents[1]
WINDOWS = [0, 1, 3, 6, 12, 24]


@optsched.problem(sizes={"year": {"hours": 8760}})
def line(random, hours):
    """Store wind in a battery, behind a line that carries so much."""
    usual = [45 + 25 * math.sin(h / 24 * math.tau) for h in range(hours)]
    price = (usual + random.normal(0, 12, hours)).clip(5, 120).round(2)
    wind = random.uniform(0, 6, hours).round(2)
    m = pyo.ConcreteModel()
    m.H = range(hours)
    m.charge, m.discharge = pyo.Var(m.H, bounds=(0, 1)), pyo.Var(m.H, bounds=(0, 1))
    m.level, m.sent = pyo.Var(m.H, bounds=(0, 4)), pyo.Var(m.H, bounds=(-3, 3))
    m.wind = pyo.Var(m.H, bounds=lambda _m, h: (0, wind[h]))
    earned = sum(price[h] * m.sent[h] for h in m.H)
    m.earned = pyo.Objective(expr=earned, sense=pyo.maximize)
    m.node = pyo.Constraint(
        m.H, rule=lambda m, h: m.wind[h] + m.discharge[h] - m.charge[h] - m.sent[h] == 1.5
    )
    m.balance = pyo.Constraint(
        m.H,
        rule=lambda m, h: (
            m.level[h] == (m.level[h - 1] if h else 0) + 0.9 * m.charge[h] - m.discharge[h]
        ),
    )
    parts = (m.charge, m.discharge, m.level, m.sent, m.wind)
    return optsched.online(m, revealed={v: lambda h: h for v in parts})


def measure(cell: Row) -> Row:
    """Return how long a curve takes, and what it states."""
    problem = line
    if cell["problem"] == "battery":
        problem = load_from_file(f"{ROOT / 'docs' / 'gallery' / 'battery.py'}:battery", "problem")
    optsched.foresight(problem, [1], seeds=1, hours=24)
    instance = problem(seed=cell["seed"], hours=cell["hours"])
    began, used = time.perf_counter(), time.process_time()
    found = optsched.foresight(instance, cell["windows"])
    return cell | {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - used,
        "shares": [point.low for point in found.points],
        "knee": found.knee,
    }


def summarize(rows: list[Row]) -> Summary:
    """Return the table, and the targets."""
    lines, targets = [], []
    names = {"battery": "battery, six windows", "line": "battery and line, a window of a day"}
    limits = {"battery": (10.0, 3.0, 96), "line": (600.0, 180.0, 8760)}
    for name, what in names.items():
        mine = [row for row in rows if row["problem"] == name]
        seconds = median([row["seconds"] for row in mine]) if mine else math.nan
        must, aim, hours = limits[name]
        if mine:
            shares = [min(row["shares"][-1] for row in mine), max(r["shares"][-1] for r in mine)]
            cpu = median([row["cpu"] for row in mine])
            figures = [*(round(x, 1) for x in (seconds, cpu)), *(round(x, 6) for x in shares)]
            lines.append([what, mine[0]["hours"], len(mine), *figures])
        full = bool(mine) and all(row["hours"] == hours for row in mine)
        targets.append(
            Target(f"{what}, {hours} h", "s", seconds if full else None, must=must, aim=aim)
        )
    columns = ["curve", "hours", "instances", "seconds", "CPU seconds"]
    columns += ["least share, last window", "largest"]
    return Summary(columns, lines, targets)


def draw() -> None:
    """Draw the picture of the page, with the problem that stands on it."""
    from optsched.drawing import COLOURS, finish, new_figure, save, styled

    page = (ROOT / "docs" / "foresight.md").read_text("utf-8")
    text = re.search(r":caption: storage.py\n\n(.*?)```", page, re.DOTALL)
    assert text is not None
    made: dict[str, object] = {}
    exec(compile(text[1], "storage.py", "exec"), made)
    with styled("screen"):
        figure = new_figure(7.2, 3.4)
        axis = figure.subplots()
        windows = [0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24]
        kinds = {"none": "terminal value: none", "duals": "terminal value: duals"}
        for colour, (terminal, name) in zip(COLOURS, kinds.items(), strict=False):
            found = optsched.foresight(made["storage"], windows, seeds=10, terminal=terminal)
            ends = [p.interval or (p.low, p.high) for p in found.points]
            low = [p.low for p in found.points]
            band = [a for a, _ in ends], [b for _, b in ends]
            axis.fill_between(windows, *band, color=colour, alpha=0.2, linewidth=0)
            axis.plot(windows, low, color=colour, marker="o", markersize=3, label=name)
            at = windows.index(int(found.knee))
            axis.plot(windows[at], low[at], "o", color=colour, markersize=9, fillstyle="none")
        axis.axhline(1.0, color="black", linewidth=1)
        finish(axis, "window, hours (circle: the knee)", "share of the optimum", legend=8)
        save(figure, ROOT / "docs" / "images" / "foresight.png")


BENCHMARK = Benchmark(
    name="foresight",
    title="The value of foresight",
    question="How long does it take from a call to the curve?",
    methods={"optsched": "`optsched.foresight`, one thread; certified optimum included"},
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=3)
    p.add_argument("--hours", type=int, default=8760, help="of the year")
    p.add_argument("--picture", action="store_true", help="draw that of docs/foresight.md alone")
    options = parse(p, __file__, argv)
    if options.picture:
        draw()
        return {}
    cells = [
        {"problem": "battery", "hours": 96, "windows": WINDOWS, "seed": seed}
        for seed in range(options.seeds)
    ]
    cells.append({"problem": "line", "hours": options.hours, "windows": [24], "seed": 0})
    return BENCHMARK.run(cells, measure, options)


if __name__ == "__main__":
    main()
