"""A window of a trace as it is: real times in slots, the machines of the list, nothing scaled.

What the trace does not state that a task requests is not requested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from optsched.numbers import settings
from optsched.numbers.arrays import Ints
from optsched.numbers.resources import MachineClass
from optsched.problem import InputError, Window
from optsched.traces.tables import Tables, read_tables, seconds
from optsched.traces.windows import HOUR, USUAL, classes_of, from_start, or_fewer, work_of

MOST_PLACES = 10**7  # jobs times slots
KINDS = {"gpu": ("gpu", "GPU"), "cpu": ("cpu", "core"), "memory_gb": ("memory", "GB")}


@dataclass(frozen=True)
class AsItIs:
    """A window with its own times and machines; what the trace does not name is not requested."""

    description: str
    seed: int  # of what no trace records
    jobs: pd.DataFrame
    slot_seconds: float
    slots: int
    arrival: Sequence[int]
    # slots in which jobs really started, as far as they are known; None: the list has no starts
    recorded: Sequence[int | None] | None
    work: Sequence[int]  # worker-slots
    resources: tuple[str, ...]  # those that some job requests
    units: tuple[str, ...]
    demand: Sequence[tuple[float, ...]]  # of one task
    machines: tuple[MachineClass, ...]

    def platform(self) -> dict[str, Any]:
        """Return what an instance of it states, but for its machines and jobs."""
        return {
            "slot_seconds": self.slot_seconds,
            "horizon": self.slots,
            "resources": self.resources,
            "units": self.units,
            "drawn": ("utility",),
            "source": self.description,
        }

    def job(self, i: int) -> dict[str, Any]:
        """Return what a job states, but for rates of workers and utility.

        It is its tasks; so its parameter server (PS) requests nothing, and one is enough for all.
        The time of a mini-batch is such that ``tasks`` of them are the work.
        """
        tasks = int(self.jobs["tasks"].iloc[i])
        scale = 10 ** len(str(2 * tasks))
        return {
            "arrival": self.arrival[i],
            "epochs": 1,
            "chunks": tasks,
            "batches_per_chunk": 1,
            "batch_time": float(math.floor(Fraction(self.work[i], tasks) * scale) / scale),
            "gradient_mb": 0.0,
            "ps_bandwidth": float(tasks),
            "worker_demand": self.demand[i],
            "ps_demand": (0.0,) * len(self.units),
        }


def open_as_is(family: str, source: Path, window: Window) -> AsItIs:
    """Return a window of the job list ``source`` in which nothing is scaled; see :func:`as_it_is`.

    Raises
    ------
    InputError
        A file or an option is wrong.
    """
    stat = source.stat()
    return _opened(family, source, window, (stat.st_mtime_ns, stat.st_size))


@lru_cache(maxsize=1)  # the instance is made of it, and then what the cluster did
def _opened(family: str, source: Path, window: Window, _stamp: tuple[int, int]) -> AsItIs:
    chosen = window.settle(
        family,
        **{"machines": None, "jobs": None, "slots": None, "slot": "1h"},
        **{"start": "0", "min_tasks": 1, "draw_seed": 0, "as_is": True},
    )
    tables = read_tables(source, chosen.pop("machines"), whole=False)
    chosen |= {"slot_seconds": seconds(chosen.pop("slot")), "seed": chosen.pop("draw_seed")}
    del chosen["as_is"]
    settings.whole(min_tasks=chosen["min_tasks"])
    settings.whole(0, seed=chosen["seed"])
    return as_it_is(tables, **chosen)


def as_it_is(
    tables: Tables,
    *,
    slot_seconds: float = HOUR,
    jobs: int | None = None,
    slots: int | None = None,
    start: float | str = 0.0,
    min_tasks: int = 1,
    seed: int = 0,
) -> AsItIs:
    """Return a window of a trace in which nothing is scaled.

    The first slot begins at ``start`` (of ``"#500"``: when that job is submitted). Without
    ``slots`` the horizon ends with the last job: as recorded, or if it had started at once.

    Parameters
    ----------
    tables : Tables
        Of jobs and machines.
    slot_seconds : float
    jobs, slots : int, optional
        At most this many jobs, of those that are submitted within the slots; by default 100 jobs,
        or all of the slots.
    start, min_tasks
        As in `take_window`.

    Raises
    ------
    InputError
        There is no list of machines, nothing that a task requests, or no such window.
    """
    table, machines = tables.jobs, tables.machines
    if machines is None:
        raise InputError(
            "--no-scaling uses exactly the machines of a list, expected --machines FILE"
        )
    taken, first, when = from_start(table, start, min_tasks)
    window = taken.iloc[first:]
    if when is None and len(window):
        when = float(window["submit_seconds"].iloc[0])
    if slots is not None:
        window = window[window["submit_seconds"] < (when or 0.0) + slots * slot_seconds]
    elif len(window) < (jobs or 1):
        raise InputError(
            f"from start {start} on the trace has {len(window)} jobs of at least {min_tasks} "
            f"tasks, expected {jobs or 1}; name --horizon, {or_fewer(len(window), start)}"
        )
    if jobs is not None or slots is None:
        window = window.iloc[: jobs or USUAL]
    if window.empty:
        raise InputError(
            f"no job of at least {min_tasks} tasks is submitted in the {slots} slots from start "
            f"{start} on, expected some; start elsewhere, or take longer slots or more of them"
        )
    origin = when or 0.0
    submit = window["submit_seconds"].to_numpy(dtype=np.float64) - origin
    arrival = np.floor(submit / slot_seconds).astype(np.int64)
    begun = np.full(len(window), np.nan)
    if "start_seconds" in window:
        begun = window["start_seconds"].to_numpy(dtype=np.float64) - origin
    recorded = np.floor(begun / slot_seconds)
    work = work_of(window, slot_seconds)
    tasks = window["tasks"].to_numpy(dtype=np.int64)
    names = [n for n in KINDS if n in window and (window[n].fillna(0.0) > 0).any()]
    if not names:
        raise InputError(
            "the list of jobs does not state what a task requests, and without scaling (the "
            "default with --machines and without --load) demands are not drawn; expected a column "
            "gpu, cpu or memory_gb, or --load, or --family rigid (a core for each task)"
        )
    for name in names:
        if machines[name].isna().any():
            raise InputError(
                f"jobs request {name}, and the list of machines ({machines.attrs['format']}) does "
                "not state how much of it they have; expected a list that does"
            )
    ends = np.maximum(arrival, np.nan_to_num(recorded)) + -(-np.array(work) // tasks)
    return AsItIs(
        description=(
            f"{table.attrs.get('format', 'table')}, as it is: {len(window)} jobs from "
            f"{window['name'].iloc[0]} on, at least {min_tasks} tasks each, seed {seed}"
        ),
        seed=seed,
        jobs=window,
        slot_seconds=slot_seconds,
        slots=_horizon(ends) if slots is None else slots,
        arrival=arrival.tolist(),
        recorded=None
        if np.isnan(recorded).all()
        else [
            None if math.isnan(begin) else max(int(begin), int(a))
            for begin, a in zip(recorded, arrival, strict=True)
        ],
        work=work,
        resources=tuple(KINDS[n][0] for n in names),
        units=tuple(KINDS[n][1] for n in names),
        demand=[
            tuple(round(float(x), 3) for x in row)
            for row in window[names].fillna(0.0).itertuples(index=False)
        ],
        machines=classes_of(machines, names),
    )


def _horizon(ends: Ints) -> int:
    """Return the number of slots until the last job ends."""
    last = int(ends.max())
    if last * len(ends) > MOST_PLACES:
        most = int(np.quantile(ends, 0.95, method="higher"))
        raise InputError(
            f"the last of {len(ends)} jobs ends in slot {last - 1}, and jobs times slots may be "
            f"at most {MOST_PLACES}; expected --horizon, such as {most}, in which 95 % of the jobs "
            "end, or longer slots"
        )
    return last
