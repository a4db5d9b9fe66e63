"""What an experiment is: independent cells, a summary, a picture, a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from matplotlib.figure import Figure

Cell: TypeAlias = dict[str, Any]
"""Parameters of one piece of work; plain JSON, and its identity when a run is taken up again."""

Row: TypeAlias = dict[str, Any]
"""A cell and its numbers, plain JSON."""


@dataclass(frozen=True)
class Outcome:
    """Whether the numbers agree with the paper, and why."""

    agrees: bool
    words: str


@dataclass(frozen=True)
class Experiment:
    """One figure of a paper."""

    name: str
    title: str
    claim: str  # what the paper says of the figure, in our words
    family: str
    seeds: int  # instances per point
    time_limit: float  # seconds per optimum; 0 where none is looked for
    cells: Callable[[int], Sequence[Cell]]  # seeds -> cells
    run: Callable[[Cell, float], Row]  # (cell, time limit) -> its numbers; a module's function
    summarize: Callable[[Sequence[Row]], dict[str, Any]]
    judge: Callable[[dict[str, Any]], Outcome]
    draw: Callable[[dict[str, Any]], Figure]


def mean_with_interval(sample: Sequence[float]) -> dict[str, Any]:
    """Return the mean and its 95 % bootstrap interval (None for one number)."""
    mean = sum(sample) / len(sample)
    if len(sample) < 2:
        return {"mean": mean, "interval": None, "count": len(sample)}
    from scipy.stats import bootstrap  # here, since it takes a while to import

    found = bootstrap((sample,), _mean, n_resamples=2000, method="percentile", rng=0)
    ci = found.confidence_interval
    return {"mean": mean, "interval": [float(ci.low), float(ci.high)], "count": len(sample)}


def _mean(sample: Any, axis: int = -1) -> Any:
    return sample.mean(axis=axis)


def grouped(rows: Sequence[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return rows by the values of ``names``, in order of first appearance."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[n] for n in names), []).append(row)
    return groups
