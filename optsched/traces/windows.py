"""A window of a trace: its jobs, their arrivals, the machines that give an offered load."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from optsched.numbers import settings
from optsched.numbers.arrays import Ints
from optsched.numbers.resources import MachineClass, ceil_ratio, exact
from optsched.problem import InputError, Instance
from optsched.process import messages

MOST_MACHINES = 100_000
MOST_WORK = 2**40  # worker-slots of one job
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
HOUR = 3600.0
PART = re.compile(r"(\d{1,9})/(\d{1,9})")  # K/N: part K of N of a trace
SLOTS = (60, 300, 900, 1800, HOUR, *(HOUR * h for h in (2, 4, 8, 24, 48, 96, 168, 336, 672)))
USUAL = 100  # jobs of a window
ENOUGH = 0.8  # share of the jobs that can finish, in slots of a sensible length
NEAR = 0.7  # of the load that was requested: one machine more or less may be as far off
NO_LIST = "in the proportions of default types, since there is no list of machines"

Made = TypeVar("Made")


def take_window(
    table: pd.DataFrame,
    jobs: int | None,
    start: float | str,
    min_tasks: int,
    *,
    usual: int = USUAL,
) -> pd.DataFrame:
    """Return consecutive jobs of at least ``min_tasks`` tasks.

    Parameters
    ----------
    table : DataFrame
        Columns as `read_jobs` returns them.
    jobs : int, optional
        How many; by default ``usual``, or as many as there are.
    min_tasks, usual : int
    start : float or str
        Seconds from the start of the trace, ``"30d"``, a date (if the trace has dates; without a
        time zone, in that of its first job), or ``"#500"``, the job after the first 500 (of those
        that are taken) in the order of submission. ``"3/20"`` is the 3rd of 20 disjoint parts of
        the same number of jobs, give or take one, and no window leaves its part.

    Raises
    ------
    InputError
        The list has no times, ``start`` is malformed, or too few jobs are left from there on.
    """
    if jobs is not None:
        settings.whole(jobs=jobs)
    taken, first, _ = from_start(table, start, min_tasks)
    number = usual if jobs is None else jobs
    window, left = taken.iloc[first : first + number], len(taken) - first
    if left < (jobs or 1):
        raise InputError(
            f"from start {start} on the trace has {max(left, 0)} jobs of at least {min_tasks} "
            f"tasks, expected {jobs or 1}; {or_fewer(max(left, 0), start)}"
        )
    if jobs is None and len(window) < len(table):
        messages.remark(f"{len(window)} of {len(table)} jobs of the trace (--jobs, --start)")
    return window


def listed_or_drawn(window: pd.DataFrame, name: str, drawn: Sequence[float]) -> list[float]:
    """Return a column, with drawn numbers where the list has none."""
    if name not in window:
        return list(drawn)
    return [d if math.isnan(x) else x for x, d in zip(window[name].tolist(), drawn, strict=True)]


def or_fewer(there: int, start: float | str) -> str:
    """Report what to do where a list, or its part, has fewer jobs than requested."""
    fewer = f"take fewer (--jobs {there})" if there else "take fewer (--jobs)"
    if PART.fullmatch(str(start).strip()):
        return f"{fewer} or divide the trace into fewer parts"
    return f"{fewer} or start earlier, if there are earlier ones"


def from_start(
    table: pd.DataFrame, start: float | str, min_tasks: int
) -> tuple[pd.DataFrame, int, float | None]:
    """Return the jobs that count, where the window begins among them, and when (None: with it)."""
    if table["submit_seconds"].notna().all() and table["run_seconds"].isna().all():
        raise InputError(
            "the list of jobs has no running times, expected a list that has them (family "
            "bipartite needs none; where a list names models and steps, family completion takes "
            "them from measured speeds)"
        )
    if table[["submit_seconds", "run_seconds"]].isna().any(axis=None):
        raise InputError(
            "the list of jobs has no times of submission and running, expected a list with both "
            "(this one can only serve as `shapes`)"
        )
    taken, date = table[table["tasks"] >= min_tasks], table.attrs.get("start")
    text = str(start).strip()
    if part := PART.fullmatch(text):
        return _part(taken, int(part[1]), int(part[2]), min_tasks), 0, None
    try:
        if text.startswith("#"):
            if int(text[1:]) < 0:
                raise ValueError
            return taken, int(text[1:]), None
        when = _seconds(text, date)
    except (ValueError, TypeError):  # TypeError: only one of two dates has a time zone
        raise _no_start(text, dated=date is not None) from None
    submit = taken["submit_seconds"].to_numpy()
    return taken, int(np.searchsorted(submit, when, side="left")), when


def must_be_start(text: str) -> None:
    """Refuse what cannot be the start of a window of any trace.

    Raises
    ------
    InputError
        It is no time, date, number of a job or part.
    """
    if not re.fullmatch(rf"#\d+|{PART.pattern}", text.strip()):
        try:
            _seconds(text.strip(), pd.Timestamp(0, tz="UTC"))
        except (ValueError, TypeError):
            raise _no_start(text, dated=True) from None


def _no_start(text: str, *, dated: bool) -> InputError:
    return InputError(
        f"start is {text!r}, expected seconds from the start of the trace, a time such as 30d "
        f"or 12h, {'a date such as 2017-10-09 07:00, ' if dated else ''}"
        "a number of jobs such as #500, or a part such as 3/20"
    )


def _part(taken: pd.DataFrame, k: int, n: int, min_tasks: int) -> pd.DataFrame:
    """Return part k of n, from 1."""
    jobs = len(taken)
    if not 1 <= k <= n:
        raise InputError(f"start is {k}/{n}, expected a part from 1/{n} to {n}/{n}")
    if jobs < n:
        raise InputError(
            f"start {k}/{n}: the trace has {jobs} jobs of at least {min_tasks} tasks, so that some "
            f"of {n} windows would have none; expected at most {jobs} windows"
        )
    return taken.iloc[(k - 1) * jobs // n : k * jobs // n]


def _seconds(text: str, date: pd.Timestamp | None) -> float:
    """Return the seconds from the start of the trace that ``text`` means, or raise ValueError."""
    unit = SECONDS.get(text[-1:], 0)
    try:
        seconds = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        if date is None:
            raise
        when = pd.Timestamp(text)
        if when.tzinfo is None and date.tzinfo is not None:
            when = when.tz_localize(date.tzinfo)
        seconds = (when - date).total_seconds()
    if not math.isfinite(seconds):
        raise ValueError(text)
    return seconds


def arrival_slots(window: pd.DataFrame, slots: int) -> list[int]:
    """Scale the times of submission to the horizon: the last job arrives in the last slot."""
    submit = window["submit_seconds"].to_numpy(dtype=np.float64)
    span = submit[-1] - submit[0]
    share = (submit - submit[0]) / span if span > 0 else np.zeros(len(submit))
    found: list[int] = np.minimum(np.floor(share * slots), slots - 1).astype(np.int64).tolist()
    return found


def drawing_unit(slots: int, slot_seconds: float) -> float:
    """Return the unit of time, s, in which attributes of a scaled window are drawn.

    An hour; in horizons shorter than a day as many whole slots as a 24th of the horizon has, or one
    slot if that is longer.
    """
    if slots * slot_seconds >= 24 * HOUR:
        return max(slot_seconds, HOUR)
    return max(1, slots // 24) * slot_seconds


def work_of(window: pd.DataFrame, slot_seconds: float) -> list[int]:
    """Return W = ceil(run_seconds x tasks / slot_seconds), at least 1, for every job."""
    out = []
    slot = exact(slot_seconds)
    known: dict[tuple[float, int], int] = {}  # jobs of a trace are much alike
    runs = window["run_seconds"].to_numpy(dtype=np.float64).tolist()
    for k, key in enumerate(zip(runs, window["tasks"].tolist(), strict=True)):
        work = known.get(key)
        if work is None:
            time = exact(key[0])
            work = known[key] = max(
                1,
                ceil_ratio(
                    time.numerator * key[1] * slot.denominator, time.denominator * slot.numerator
                ),
            )
        if work > MOST_WORK:
            raise InputError(
                f"job {window['name'].iloc[k]}: needs {work} worker-slots, expected at most "
                f"{MOST_WORK}; choose longer slots"
            )
        out.append(work)
    return out


def sensible(
    window: pd.DataFrame,
    slots: int,
    slot: float | None,
    make: Callable[[float], Made],
    *,
    requested: bool,
) -> Made:
    """Return the result of ``make`` for a slot length, s.

    Where no length is given, that is an hour, if most jobs can then finish within the horizon and
    the load can be reached; else the shortest length in which most can finish.

    Parameters
    ----------
    window : DataFrame
    slots : int
        The horizon.
    slot : float, optional
        Length of a slot, s.
    make : callable
        Of the length of a slot; raises LoadError.
    requested : bool
        Whether the load was requested; else what can be reached will do, and is reported.

    Raises
    ------
    LoadError
        The load that was requested cannot be reached.
    """
    try:
        return _of_usual_length(window, slots, make) if slot is None else make(slot)
    except LoadError as err:
        if requested:
            raise
        messages.remark(str(err))
        made: Made = err.made
        return made


def _of_usual_length(window: pd.DataFrame, slots: int, make: Callable[[float], Made]) -> Made:
    left = slots - np.array(arrival_slots(window, slots))
    run = window["run_seconds"].to_numpy(dtype=np.float64)
    fit = [s for s in SLOTS if np.mean(np.ceil(run / s) <= left) >= ENOUGH] or [SLOTS[-1]]
    if HOUR in fit:
        try:
            return make(HOUR)
        except LoadError:
            if fit[0] == HOUR:
                raise
    why = "the load cannot be reached" if HOUR in fit else "many jobs could never finish"
    messages.remark(f"slots of {_length(fit[0])}: in those of 1 h {why}")
    return make(fit[0])


class LoadError(InputError):
    """No number of machines gives the load that is wanted; ``made`` has as few as there can be."""

    def __init__(self, message: str, made: Any) -> None:
        super().__init__(message)
        self.made = made


def must_reach(
    load: float,
    reached: Mapping[str, float],
    made: Instance,
    slots: int,
    *,
    what: str = "demand over capacity",
    unscaled: bool = True,
) -> None:
    """Refuse a load that even one machine does not reach; ``reached`` is the load by resource.

    ``what`` states which load it is, ``unscaled`` whether the family has --no-scaling.

    Raises
    ------
    LoadError
        The message states what can be reached.
    """
    got = max((x for x in reached.values() if math.isfinite(x)), default=0.0)
    if got >= NEAR * load:
        return
    fewer = math.floor(slots * got / load)
    or_else = f", about --horizon {fewer}" if fewer else ""
    raise LoadError(
        f"load {load:g} cannot be reached: with the fewest machines it is {got:.3g} ({what}); "
        f"expected --load {got:.3g} or less{or_else}, more jobs, or shorter slots"
        + "; --no-scaling: none"
        * unscaled,
        made,
    )


def report_scaling(
    window: pd.DataFrame,
    slots: int,
    slot_seconds: float,
    machines: str,
    *,
    unscaled: bool = True,
) -> None:
    """Report what became of the times and of the machines; ``unscaled`` as in `must_reach`."""
    submit = window["submit_seconds"].to_numpy(dtype=np.float64)
    span, wanted = float(submit[-1] - submit[0]), slots * slot_seconds
    messages.remark(
        f"arrivals of {_length(span)} {'stretched' if span < wanted else 'compressed'} to "
        f"{slots} slots of {_length(slot_seconds)}; machines: {machines}"
        + " (--no-scaling scales nothing)"
        * unscaled
    )


def _length(seconds: float) -> str:
    """Write a length of time in its own unit."""
    unit = next((u for u in ("d", "h") if seconds >= SECONDS[u]), "m" if seconds >= 60 else "s")
    return f"{seconds / SECONDS[unit]:.3g} {'min' if unit == 'm' else unit}"


def classes_of(machines: pd.DataFrame, amounts: Sequence[str]) -> tuple[MachineClass, ...]:
    """Return the classes of a list of machines, which have these columns, to three decimals."""
    return tuple(
        MachineClass(
            name=str(row["name"]),
            count=int(row["count"]),
            capacity=tuple(round(float(row[name]), 3) for name in amounts),
        )
        for row in machines.to_dict("records")
    )


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
    jobs request, amount x slots, by resource.
    """
    weights = np.array([c.count for c in classes])
    capacity = np.array([c.capacity for c in classes], dtype=np.float64)  # (C, R)
    need = np.array([float(t) for t in total]) / slots  # (R,)
    need[capacity.sum(axis=0) == 0] = 0.0  # no number of machines would do

    def load_of(number: int) -> float:
        have = apportioned(weights, number) @ capacity
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.where(need > 0, need / have, 0.0).max())

    mean = weights @ capacity / weights.sum()
    ideal = float(np.divide(need, mean * load, out=np.zeros_like(need), where=need > 0).max())
    if ideal > MOST_MACHINES:
        raise InputError(
            f"load {load:g} requests {ideal:.0f} machines, expected at most {MOST_MACHINES}; raise "
            "the load"
        )
    number = max(1, math.floor(ideal) - len(classes))
    while load_of(number) > load:
        number += 1
    if nearest and number > 1 and load_of(number - 1) / load < load / load_of(number):
        number -= 1
    return tuple(
        c.model_copy(update={"count": int(n)})
        for c, n in zip(classes, apportioned(weights, number), strict=True)
        if n
    )


def apportioned(weights: Ints, number: int) -> Ints:
    """Split ``number`` in the proportions of ``weights``: largest remainder, ties to the first."""
    shares: Ints = weights * number // weights.sum()
    rest = weights * number % weights.sum()
    first = np.argsort(-rest, kind="stable")[: number - int(shares.sum())]
    shares[first] += 1
    return shares
