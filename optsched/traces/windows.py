"""A window of a trace: its jobs, their arrivals, the machines that give an offered load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pandas as pd

from optsched.numbers.arrays import Ints
from optsched.numbers.resources import MachineClass
from optsched.problem import InputError

MOST_MACHINES = 100_000
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def take_window(table: pd.DataFrame, jobs: int, start: float | str, min_tasks: int) -> pd.DataFrame:
    """Return ``jobs`` consecutive jobs of at least ``min_tasks`` tasks.

    Parameters
    ----------
    table : DataFrame
        Columns as `read_jobs` returns them.
    jobs, min_tasks : int
    start : float or str
        Seconds from the start of the trace, ``"30d"``, a date (if the trace has dates), or
        ``"#500"``, the 500th job (of those that are taken) in the order of submission.

    Raises
    ------
    InputError
        The list has no times, ``start`` says nothing, or too few jobs are left from there on.
    """
    if table[["submit_seconds", "run_seconds"]].isna().any(axis=None):
        raise InputError(
            "the list of jobs has no times of submission and running, expected a list with both "
            "(this one can only serve as `shapes`)"
        )
    taken = table[table["tasks"] >= min_tasks]
    first = _first(taken, start, table.attrs.get("start"))
    window = taken.iloc[first : first + jobs]
    if len(window) < jobs:
        raise InputError(
            f"from start {start} on the trace has {len(window)} jobs of at least {min_tasks} "
            f"tasks, expected {jobs}; start earlier or take fewer"
        )
    return window


def _first(table: pd.DataFrame, start: float | str, date: pd.Timestamp | None) -> int:
    """Return the position of the first job of the window."""
    text = str(start).strip()
    try:
        if text.startswith("#"):
            if int(text[1:]) < 0:
                raise ValueError
            return int(text[1:])
        seconds = _seconds(text, date)
    except (ValueError, TypeError):  # TypeError: a date with a time zone
        raise InputError(
            f"start is {text!r}, expected seconds from the start of the trace, a time such as 30d "
            f"or 12h, {'a date such as 2017-10-09 07:00, ' if date is not None else ''}"
            "or a number of jobs such as #500"
        ) from None
    return int(np.searchsorted(table["submit_seconds"].to_numpy(), seconds, side="left"))


def _seconds(text: str, date: pd.Timestamp | None) -> float:
    """Return the seconds from the start of the trace that ``text`` means, or raise ValueError."""
    unit = SECONDS.get(text[-1:], 0)
    try:
        seconds = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        if date is None:
            raise
        seconds = (pd.Timestamp(text) - date).total_seconds()
    if not math.isfinite(seconds):
        raise ValueError(text)
    return seconds


def arrival_slots(window: pd.DataFrame, slots: int) -> list[int]:
    """Scale the times of submission to the horizon: the last job arrives in the last slot."""
    submit = window["submit_seconds"].to_numpy(dtype=np.float64)
    span = submit[-1] - submit[0]
    share = (submit - submit[0]) / span if span > 0 else np.zeros(len(submit))
    return [int(t) for t in np.minimum(np.floor(share * slots), slots - 1)]


def scaled(
    classes: Sequence[MachineClass],
    total: Sequence[Fraction],
    slots: int,
    load: float,
    *,
    nearest: bool,
) -> tuple[MachineClass, ...]:
    """Return as few machines, in the proportions of ``classes``, as bring the load to ``load``.

    With ``nearest``, one machine fewer if that comes nearer (as a ratio). ``total`` is what the
    jobs ask for, amount x slots, by resource.
    """
    weights = np.array([c.count for c in classes])
    capacity = np.array([c.capacity for c in classes], dtype=np.float64)  # (C, R)
    need = np.array([float(t) for t in total]) / slots  # (R,)
    need[capacity.sum(axis=0) == 0] = 0.0  # no number of machines would do

    def load_of(number: int) -> float:
        have = _apportioned(weights, number) @ capacity
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.where(need > 0, need / have, 0.0).max())

    mean = weights @ capacity / weights.sum()
    ideal = float(np.divide(need, mean * load, out=np.zeros_like(need), where=need > 0).max())
    if ideal > MOST_MACHINES:
        raise InputError(
            f"load {load:g} asks for {ideal:.0f} machines, expected at most {MOST_MACHINES}; raise "
            "the load"
        )
    number = max(1, math.floor(ideal) - len(classes))
    while load_of(number) > load:
        number += 1
    if nearest and number > 1 and load_of(number - 1) / load < load / load_of(number):
        number -= 1
    return tuple(
        c.model_copy(update={"count": int(n)})
        for c, n in zip(classes, _apportioned(weights, number), strict=True)
        if n
    )


def _apportioned(weights: Ints, number: int) -> Ints:
    """Split ``number`` in the proportions of ``weights``: largest remainder, ties to the first."""
    shares: Ints = weights * number // weights.sum()
    rest = weights * number % weights.sum()
    first = np.argsort(-rest, kind="stable")[: number - int(shares.sum())]
    shares[first] += 1
    return shares
