"""Experiments: settings, independent cells, statements of the paper, a figure."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optsched.papers.estimate import MeanEstimate
from optsched.papers.verdict import Finding, Outcome

Cell: TypeAlias = dict[str, Any]
"""Parameters of one piece of work; plain JSON, and its identity when a run is taken up again."""

Row: TypeAlias = dict[str, Any]
"""A cell and its numbers, plain JSON."""

Findings: TypeAlias = Iterable[Finding | str]
"""Statements with verdicts; and notes, which are plain text."""

FEWEST = 30  # instances per point, or an experiment states why
FRESH = 100  # first seed of settings that were chosen after others had been looked at


class Rows(list[Row]):
    """Rows of an experiment, in the order of its cells: instances of a setting are paired.

    >>> rows = Rows({"jobs": n, "seed": s, "value": n + s} for n in (5, 9) for s in (0, 2))
    >>> rows.where(jobs=9).values("value"), rows.mean("value").mean
    ([9, 11], 8.0)
    >>> {n: of.values("seed") for n, of in rows.by("jobs").items()}
    {5: [0, 2], 9: [0, 2]}
    """

    def where(self, **of: Any) -> Rows:
        """Return the rows that have these values."""
        return Rows(row for row in self if all(row[name] == x for name, x in of.items()))

    def by(self, *names: str) -> dict[Any, Rows]:
        """Return rows by the value of a name, or the values of several, as they first appear."""
        groups: dict[Any, Rows] = {}
        for row in self:
            key = tuple(row[name] for name in names)
            groups.setdefault(key if len(key) > 1 else key[0], Rows()).append(row)
        return groups

    def values(self, *path: str) -> list[Any]:
        """Return a number of every row; further names lead into what a row nests."""
        found: list[Any] = list(self)
        for name in path:
            found = [x[name] for x in found]
        return found

    def mean(self, *path: str) -> MeanEstimate:
        """Return the mean of a number over the rows, with its interval."""
        return MeanEstimate.of(self.values(*path), nothing=None)


class Setting(NamedTuple):
    """One setting of an experiment, and where the paper states it."""

    what: str
    value: str
    source: str  # the place and the words of the paper; or that it is silent


@dataclass(frozen=True)
class Experiment:
    """One figure of a paper."""

    name: str
    title: str
    claim: str  # what the paper states of the figure, in our words
    settings: tuple[Setting, ...]
    cells: Callable[[int], Sequence[Cell]]  # seeds -> cells
    run: Callable[[Cell, float], Row]  # (cell, time limit) -> its numbers; a module's function
    findings: Callable[[Rows], Findings]
    draw: Callable[[Rows], Figure]
    seeds: int = FEWEST  # instances per point
    few: str = ""  # why there are fewer than FEWEST
    time_limit: float = 0.0  # seconds per optimum; 0 where none is looked for

    @property
    def family(self) -> str:
        """The family that the paper is about: names begin with it."""
        return self.name.partition("-")[0]

    def judge(self, rows: Sequence[Row]) -> Outcome:
        """Return the statements of the paper with their verdicts, and the notes."""
        found = list(self.findings(Rows(rows)))
        return Outcome(
            tuple(x for x in found if isinstance(x, Finding)),
            tuple(x for x in found if isinstance(x, str)),
        )

    def picture(self, rows: Sequence[Row]) -> Figure:
        """Draw the figure."""
        return self.draw(Rows(rows))


Parts: TypeAlias = tuple[
    Callable[[int], Sequence[Cell]],
    Callable[[Cell, float], Row],
    Callable[[Rows], Findings],
    Callable[[Rows], Figure],
]
"""What computes a figure: cells, run, findings, draw."""


def described(paper: str, **parts: Parts) -> tuple[Experiment, ...]:
    """Return the experiments of a paper; PAPER.toml has their titles, claims and settings."""
    content = tomllib.loads(files(__package__).joinpath(f"{paper}.toml").read_text("utf-8"))
    shared, found = content["shared"], []
    for figure, (cells, run, findings, draw) in parts.items():
        words = content[figure]
        each = [shared[x] if isinstance(x, str) else [x] for x in words.pop("settings")]
        settings = tuple(Setting(*setting) for some in each for setting in some)
        how: Any = {"cells": cells, "run": run, "findings": findings, "draw": draw}
        found.append(Experiment(name=f"{paper}-{figure}", settings=settings, **words, **how))
    return tuple(found)


def grid(**axes: Iterable[Any]) -> list[Cell]:
    """Return a cell for every combination of values; those of the last axis change first."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def fresh(seeds: int) -> range:
    """Return seeds that were not used when the settings were chosen."""
    return range(FRESH, FRESH + seeds)


def line(
    axis: Axes,
    x: Sequence[Any],
    points: Sequence[MeanEstimate],
    colour: str,
    label: str,
    style: str = "o-",
) -> None:
    """Draw means, and a band for their intervals where all have one."""
    axis.plot(x, [p.mean for p in points], style, color=colour, label=label, markersize=4)
    ends = [p.interval for p in points if p.interval]
    if len(ends) == len(points):
        low, high = zip(*ends, strict=True)
        axis.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def curve(
    axis: Axes, rows: Rows, x: str, y: str, colour: str, label: str, style: str = "o-"
) -> None:
    """Draw the means of y by x as a line."""
    points = rows.by(x)
    line(axis, [*points], [part.mean(y) for part in points.values()], colour, label, style)


def whisker(axis: Axes, x: float, point: MeanEstimate) -> None:
    """Draw the interval of a mean as a line, if it has one."""
    if point.interval:
        axis.vlines(x, *point.interval, color="black", linewidth=1)
