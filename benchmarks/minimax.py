"""Time the best online algorithm on a set of instances, and its check; sample its policy.

The set: all sequences of two kinds of items for a knapsack of two resources, of length 1 to n.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from bench import Benchmark, Row, Summary, Target, parse, parser, watched

import optsched
from optsched.declared.model import Maximization
from optsched.minimax.certificate import follow
from optsched.minimax.menu import menu

ITEMS = ((1, (1, 2)), (3, (2, 1)))  # value, and what it takes of each resource
LENGTHS = {10_000: 11, 100_000: 13}  # states, about -> items of the longest sequence
MUST = {10_000: (20, 5), 100_000: (120, 30)}  # seconds: must, aim


RUNS = 10_000  # of the policy on each instance
LARGE, TINY = (18, 19), (2, 2)  # capacities: of what is timed, and of what is sampled


def knapsack(sequence: Sequence[Any], capacities: tuple[int, int] = LARGE) -> Maximization:
    """Return the instance of a sequence of items."""
    columns = [
        {"name": f"take[{t}]", "cost": value, "upper": 1, "integer": True}
        | {"revealed": t, "decided": t}
        for t, (value, _) in enumerate(sequence)
    ]
    rows = [
        {"name": f"capacity[{r}]", "upper": most}
        | {"entries": [(t, used[r]) for t, (_, used) in enumerate(sequence)]}
        for r, most in enumerate(capacities)
    ]
    return Maximization.model_validate({"columns": columns, "rows": rows})


def tight(sequence: Sequence[Any]) -> Maximization:
    """Return an instance with capacities for which the best algorithm draws lots."""
    return knapsack(sequence, TINY)


def plan(length: int) -> Any:
    """Return the menu of all sequences up to a length; plans of the command name it."""
    return menu(items=ITEMS, horizon=length)(knapsack)


MENUS = {f"menu_{length}": plan(length) for length in LENGTHS.values()}
globals().update(MENUS)  # FILE.py:NAME


def cells(options: Namespace) -> Iterator[Row]:
    """Yield the sizes."""
    for states, length in LENGTHS.items():
        if length <= options.longest:
            yield {"states": states, "length": length}
    yield {"runs": options.runs, "length": 2}


def measure(cell: Row) -> Row:
    """Run the command, and the check of what it has written; or sample the policy."""
    if "runs" in cell:
        return {"deviations": deviations(cell["length"], cell["runs"])}
    with TemporaryDirectory() as name:
        folder, game = Path(name), Path(name) / "game.json"
        words = ["minimax", f"{__file__}:menu_{cell['length']}", "-o", str(game), "--json"]
        solved = watched(words, folder)
        checked = watched(["verify", str(game)], folder)
        size = game.stat().st_size / 2**20
    return {"solve": solved, "check": checked, "file": size}


def deviations(length: int, runs: int) -> list[float]:
    """Return how far means over runs lie from the expected value, in standard errors."""
    game = optsched.minimax(menu(items=ITEMS, horizon=length)(tight))
    tree, found = game.tree, []
    for inst, cost in zip(game.instances, follow(tree, game.certificate.randomized), strict=True):
        values = [optsched.simulate(inst, game.policy, seed=seed).value for seed in range(runs)]
        error = stdev(values) / sqrt(runs) + 1e-12
        found.append(abs(fmean(values) - float(tree.sign * cost / tree.scale)) / error)
    return found


def summarize(rows: list[Row]) -> Summary:
    """Return a line per size."""
    lines, targets = [], []
    for row in rows:
        if "runs" in row:
            what = f"farthest mean of {row['runs']} runs, of {len(row['deviations'])} instances"
            targets.append(Target(what, "standard errors", max(row["deviations"]), 4.5))
            continue
        cpu, megabytes = row["solve"]["cpu"], row["solve"]["megabytes"]
        check = row["check"]["cpu"]
        figures = (cpu, row["solve"]["seconds"], megabytes, check, row["file"])
        lines.append([row["states"], row["length"], *(round(x, 1) for x in figures)])
        must, aim = MUST[row["states"]]
        targets.append(Target(f"{row['states']} states", "s CPU", cpu, must, aim))
        if row["states"] == max(MUST):
            targets.append(Target("memory", "MB", megabytes, 2048))
            targets.append(Target("check of a certificate", "s CPU", check, 10, 3))
    columns = ("states", "length", "s CPU", "s", "MB", "s CPU of the check", "MB of the file")
    return Summary(columns, lines, targets)


BENCHMARK = Benchmark(
    name="minimax",
    title="The best possible online algorithm",
    question="How long do the best online algorithm on a set of instances, and its check, take?",
    methods={"optsched": "`optsched minimax` and `optsched verify`, one thread"},
    summarize=summarize,
)


def main(argv: Sequence[str] | None = None) -> Row:
    """Run the benchmark."""
    p = parser(__doc__, seeds=1)
    p.add_argument("--longest", type=int, default=max(LENGTHS.values()))
    p.add_argument("--runs", type=int, default=RUNS, help="of the policy on each instance")
    options = parse(p, __file__, argv)
    return BENCHMARK.run(list(cells(options)), measure, options)


if __name__ == "__main__":
    main()
