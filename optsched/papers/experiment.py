"""What an experiment is: its settings, independent cells, a summary, a picture, a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.core.intervals import student
from optsched.papers.verdict import Outcome

Cell: TypeAlias = dict[str, Any]
"""Parameters of one piece of work; plain JSON, and its identity when a run is taken up again."""

Row: TypeAlias = dict[str, Any]
"""A cell and its numbers, plain JSON."""

Rows: TypeAlias = Sequence[Row]

Summary: TypeAlias = dict[str, Any]
"""What a figure shows, plain JSON."""

FEWEST = 30  # instances per point, or an experiment says why
FRESH = 100  # first seed of settings that were chosen after others had been looked at


class Setting(NamedTuple):
    """One setting of an experiment, and where the paper says so."""

    what: str
    value: str
    source: str  # the place and the words of the paper; or that it says nothing


OPEN = "not in the paper"


@dataclass(frozen=True)
class Experiment:
    """One figure of a paper."""

    name: str
    title: str
    claim: str  # what the paper says of the figure, in our words
    settings: tuple[Setting, ...]
    cells: Callable[[int], Sequence[Cell]]  # seeds -> cells
    run: Callable[[Cell, float], Row]  # (cell, time limit) -> its numbers; a module's function
    summarize: Callable[[Rows], Summary]
    judge: Callable[[Summary], Outcome]
    draw: Callable[[Summary], Figure]
    seeds: int = FEWEST  # instances per point
    few: str = ""  # why there are fewer than FEWEST
    time_limit: float = 0.0  # seconds per optimum; 0 where none is looked for

    @property
    def family(self) -> str:
        """The family that the paper is about: names begin with it."""
        return self.name.partition("-")[0]


def experiment_of(module: Any, usual: Any = None) -> Experiment:
    """Return the experiment that a module of a paper is, called after it.

    It says TITLE, CLAIM and SETTINGS, and what an `Experiment` does: cells, run, summarize, judge,
    draw; if need be SEEDS, FEW and TIME_LIMIT. What it does not say is as in ``usual``.
    """
    *_, paper, figure = module.__name__.split(".")
    said: dict[str, Any] = {**vars(Experiment), **(vars(usual) if usual else {}), **vars(module)}
    return Experiment(
        name=f"{paper}-{figure.replace('_', '.')}",
        title=said["TITLE"],
        claim=said["CLAIM"],
        settings=said["SETTINGS"],
        seeds=said.get("SEEDS", said["seeds"]),
        few=said.get("FEW", said["few"]),
        time_limit=said.get("TIME_LIMIT", said["time_limit"]),
        **{part: said[part] for part in ("cells", "run", "summarize", "judge", "draw")},
    )


def grid(**axes: Iterable[Any]) -> list[Cell]:
    """Return a cell for every combination of values; those of the last axis change first."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def fresh(seeds: int) -> range:
    """Return seeds that nobody looked at when the settings were chosen."""
    return range(FRESH, FRESH + seeds)


def mean_with_interval(sample: Sequence[float]) -> dict[str, Any]:
    """Return the mean and its 95 % interval (None for one number), the median and the numbers.

    The numbers are in the order of the instances, so that those of two policies are paired.
    """
    found = None if len(sample) < 2 else list(student(np.asarray(sample, dtype=float)))
    return {
        "mean": sum(sample) / len(sample),
        "interval": found,
        "median": float(np.median(sample)),
        "count": len(sample),
        "values": list(sample),
    }


def line(
    axis: Axes,
    x: Sequence[Any],
    points: Sequence[Any],
    colour: str,
    label: str,
    style: str = "o-",
    *,
    alpha: float = 0.15,
    **look: Any,
) -> None:
    """Draw means, and a band for their intervals where all have one."""
    mean = [p["mean"] for p in points]
    axis.plot(x, mean, style, color=colour, label=label, **({"markersize": 4} | look))
    if all(p["interval"] for p in points):
        low, high = zip(*(p["interval"] for p in points), strict=True)
        axis.fill_between(x, low, high, color=colour, alpha=alpha, linewidth=0)


def whisker(axis: Axes, x: float, point: Any) -> None:
    """Draw the interval of a mean as a line, if it has one."""
    if point["interval"]:
        axis.vlines(x, *point["interval"], color="black", linewidth=1)


def grouped(rows: Rows, *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return rows by the values of ``names``, in order of first appearance."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[n] for n in names), []).append(row)
    return groups
