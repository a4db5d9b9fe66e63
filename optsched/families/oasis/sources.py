"""Where instances come from: generators (`presets`) and tables of real traces (`from_trace`).

A trace names arrival, running time and number of workers of a job, seldom its demands, never its
epochs, gradients or utility. What it does not name is drawn, and the instance says so in
``drawn``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from optsched.families.oasis.clusters import MACHINES, host_classes, scaled
from optsched.families.oasis.facts import demand_totals, describe, offered_load, warnings
from optsched.families.oasis.instance import OasisInstance, OasisJob
from optsched.families.oasis.presets import (
    Range,
    Settings,
    draw_utility,
    generate,
    shifted,
)
from optsched.problem import InputError, Window
from optsched.resources import MachineClass, ceil_tol, exact
from optsched.scheduling.jobs import transfer_slots
from optsched.streams import Streams
from optsched.traces import read_tables, seconds

__all__ = ["describe", "from_trace", "generate", "offered_load", "open_trace", "warnings"]

RANGES = Settings()
RESOURCES = ("gpu", "cpu", "memory", "bandwidth")
UNITS = ("GPU", "core", "GB", "Gbps")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MOST_WORK = 2**40  # worker-slots of one job

WORKER_SHAPES = pd.DataFrame(
    [(1, 4, 16), (1, 6, 24), (1, 8, 32), (1, 10, 40), (1, 12, 48), (1, 16, 64)],
    columns=["gpu", "cpu", "memory_gb"],
    dtype=float,
)
"""What a worker asks for beside its GPU, where the trace does not say."""

PS_SHAPES = pd.DataFrame(
    [(0, 2, 8), (0, 4, 16), (0, 8, 16), (0, 8, 32), (0, 12, 48)],
    columns=["gpu", "cpu", "memory_gb"],
    dtype=float,
)
"""What a parameter server asks for."""


def open_trace(source: Path, window: Window) -> OasisInstance:
    """Make an instance of a window of the job list ``source``; see :func:`from_trace`.

    Raises
    ------
    InputError
        A file or an option is wrong.
    """
    chosen = window.settle(
        "oasis",
        **{"machines": None, "shapes": None, "jobs": 100, "slots": 100, "slot": "1h"},
        **{"start": "0", "load": 2.0, "min_tasks": 1, "draw_seed": 0},
    )
    tables = read_tables(source, chosen.pop("machines"), chosen.pop("shapes"))
    return from_trace(
        tables.jobs,
        tables.machines,
        shapes=tables.shapes,
        slot_seconds=seconds(chosen.pop("slot")),
        seed=chosen.pop("draw_seed"),
        **chosen,
    )


def from_trace(
    jobs_table: pd.DataFrame,
    machines_table: pd.DataFrame | None = None,
    *,
    jobs: int = 100,
    slots: int = 100,
    slot_seconds: float = 3600.0,
    start: float | str = 0.0,
    load: float = 2.0,
    seed: int = 0,
    min_tasks: int = 1,
    shapes: pd.DataFrame | None = None,
    priority: Range = (1.0, 100.0),
) -> OasisInstance:
    """Make an instance of a window of a trace.

    The window holds consecutive jobs; the time between them is scaled so that they arrive from the
    first slot to the last. A job keeps its work: ceil(run_seconds x tasks / slot_seconds)
    worker-slots, and at most ``tasks`` workers.

    Machines with GPUs host workers, machines without host parameter servers (PS). Where the list
    has no GPUs it serves both; where all machines have some, PS get the default ones. The list is
    shrunk (or grown), in its proportions, to the number of machines that comes nearest to the
    offered load; PS get no fewer than that load asks for.

    Parameters
    ----------
    jobs_table, machines_table : DataFrame
        Columns as `optsched.traces` returns them. Without machines: the default list ``MACHINES``.
    jobs, slots : int
        Sizes of the window and of the horizon.
    slot_seconds : float
        Length of a slot, s.
    start : float or str
        Where the window begins: seconds from the start of the trace, ``"30d"``, a date (if the
        trace has dates), or ``"#500"``, the 500th job (of those that are taken) in the order of
        submission.
    load : float
        Offered load of the scarcest resource, see `offered_load`.
    seed : int
        Fixes all that is drawn; not negative.
    min_tasks : int
        Only jobs of at least so many tasks are taken.
    shapes : DataFrame, optional
        Columns gpu, cpu, memory_gb: demands to draw from where the trace has none (rows without
        GPU: of PS).
    priority : (float, float)
        Range of gamma_1, the utility of a job without delay.

    Returns
    -------
    OasisInstance

    Raises
    ------
    InputError
        An option is wrong, or fewer than ``jobs`` jobs are left from ``start`` on.
    """
    _check(jobs=jobs, slots=slots, min_tasks=min_tasks)
    _check_positive(load=load, slot_seconds=slot_seconds)
    if seed < 0:
        raise InputError(f"seed is {seed}, expected a whole number of at least 0")
    window = _window(jobs_table, jobs, start, min_tasks)
    streams = Streams(seed)
    work = _work(window, slot_seconds)
    arrival = _arrivals(window, slots)
    table = MACHINES if machines_table is None else machines_table
    workers, servers, drawn_machines = host_classes(table, streams)
    draw = _Draw(streams, slot_seconds, shapes, priority, workers, servers)
    trace_jobs = [
        draw.job(i, row, work[i], arrival[i]) for i, row in enumerate(window.to_dict("records"))
    ]
    totals = demand_totals(trace_jobs, work, slots, len(RESOURCES))
    return OasisInstance(
        slot_seconds=slot_seconds,
        horizon=slots,
        resources=RESOURCES,
        units=UNITS,
        worker_machines=scaled(workers, totals[0], slots, load, nearest=True),
        ps_machines=scaled(servers, totals[1], slots, load, nearest=False),
        jobs=tuple(trace_jobs),
        drawn=_drawn(window) + drawn_machines,
        source=(
            f"{jobs_table.attrs.get('format', 'table')}: {jobs} jobs from {window['name'].iloc[0]} "
            "on, "
            f"at least {min_tasks} tasks each, load {load:g}, seed {seed}"
        ),
    )


def _check(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise InputError(f"{name} is {value}, expected a whole number of at least 1")


def _check_positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not 0 < value < math.inf:
            raise InputError(f"{name} is {value}, expected a positive number")


def _window(table: pd.DataFrame, jobs: int, start: float | str, min_tasks: int) -> pd.DataFrame:
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


def _work(window: pd.DataFrame, slot_seconds: float) -> list[int]:
    """Return W = ceil(run_seconds x tasks / slot_seconds), at least 1, for every job."""
    out = []
    for name, run, tasks in zip(
        window["name"], window["run_seconds"], window["tasks"], strict=True
    ):
        work = max(1, ceil_tol(exact(float(run)) * int(tasks) / exact(slot_seconds)))
        if work > MOST_WORK:
            raise InputError(
                f"job {name}: needs {work} worker-slots, expected at most {MOST_WORK}; choose "
                "longer slots"
            )
        out.append(work)
    return out


def _arrivals(window: pd.DataFrame, slots: int) -> list[int]:
    """Scale the times of submission to the horizon: the last job arrives in the last slot."""
    submit = window["submit_seconds"].to_numpy(dtype=np.float64)
    span = submit[-1] - submit[0]
    share = (submit - submit[0]) / span if span > 0 else np.zeros(len(submit))
    return [int(t) for t in np.minimum(np.floor(share * slots), slots - 1)]


@dataclass(frozen=True)
class _Draw:
    """Makes jobs of rows of the table; what a row does not name is drawn."""

    streams: Streams
    slot_seconds: float
    shapes: pd.DataFrame | None
    priority: Range
    worker_machines: Sequence[MachineClass]
    ps_machines: Sequence[MachineClass]

    def job(self, i: int, row: dict[Hashable, Any], work: int, arrival: int) -> OasisJob:
        """Make job ``i``."""
        tasks = int(row["tasks"])
        b = round(self.uniform("worker_bandwidth", i, RANGES.worker_bandwidth), 2)
        big_b = round(self.uniform("ps_bandwidth", i, RANGES.ps_bandwidth), 2)
        epochs, batches, batch_time, gradient = self.mini_batches(i, work, tasks, b)
        utility = draw_utility(self.streams("utility", i), RANGES.target, self.priority)
        return OasisJob(
            arrival=arrival,
            epochs=epochs,
            chunks=tasks,
            batches_per_chunk=batches,
            batch_time=batch_time,
            gradient_mb=gradient,
            worker_bandwidth=b,
            ps_bandwidth=big_b,
            worker_demand=(*self.worker(i, row["gpu"], row["cpu"], row["memory_gb"]), b),
            ps_demand=(*self.server(i), big_b),
            utility=shifted(utility, -(-work // tasks) - 1),
        )

    def uniform(self, name: str, i: int, limits: Range) -> float:
        return self.streams(name, i).uniform(limits[0], limits[1])

    def whole(self, name: str, i: int, limits: Range) -> int:
        return int(self.streams(name, i).integers(int(limits[0]), int(limits[1]) + 1))

    def mini_batches(
        self, i: int, work: int, chunks: int, b: float
    ) -> tuple[int, int, float, float]:
        """Choose E, M, tau, e so that ceil(E N M (tau + 2 e / b)) is the work W.

        E, M and e are drawn from their ranges, and lowered where more than half of the time would
        go into sending gradients. tau takes the rest, rounded down to as many decimals as leave
        the ceiling at W.
        """
        epochs = self.whole("epochs", i, RANGES.epochs)
        batches = self.whole("batches_per_chunk", i, RANGES.batches_per_chunk)
        gradient = self.whole("gradient_mb", i, RANGES.gradient_mb)
        share = Fraction(work, chunks)
        per_mb = 2 * transfer_slots(1, b, self.slot_seconds)
        gradient = min(gradient, math.floor(share / 2 / per_mb))
        if gradient > 0:
            most = math.floor(share / 2 / (gradient * per_mb))  # E M, at least 1
            epochs = min(epochs, most)
            batches = min(batches, most // epochs)
        rest = share / (epochs * batches) - gradient * per_mb
        scale = 10 ** len(str(2 * epochs * batches * chunks))
        return epochs, batches, math.floor(rest * scale) / scale, float(gradient)

    def worker(self, i: int, gpu: float, cpu: float, memory: float) -> tuple[float, ...]:
        """Fill the gaps (NaN) in GPUs, cores and GB of a worker from a drawn shape.

        The shape is scaled down until it fits on some machine. It has as many GPUs as the worker
        if there is one such. Memory goes with the cores, where these are known.
        """
        if not any(map(math.isnan, (gpu, cpu, memory))):
            return round(gpu, 3), round(cpu, 3), round(memory, 3)
        pool = _pool(self.shapes, WORKER_SHAPES, with_gpu=gpu != 0)
        alike = pool[pool["gpu"] == gpu]
        shape = _pick(alike if len(alike) else pool, self.streams("worker_demand", i))
        gpu = shape[0] if math.isnan(gpu) else gpu
        if math.isnan(cpu):
            cpu, shape_memory = _fitted(gpu, *shape[1:], self.worker_machines)
        else:
            densest = max(c.capacity[2] / c.capacity[1] for c in self.worker_machines)
            shape_memory = cpu * min(shape[2] / shape[1], densest)
        memory = shape_memory if math.isnan(memory) else memory
        return round(gpu, 3), round(cpu, 3), round(memory, 3)

    def server(self, i: int) -> tuple[float, ...]:
        """Draw GPUs, cores and GB of a parameter server, made to fit on some machine."""
        pool = _pool(self.shapes, PS_SHAPES, with_gpu=False)
        _, cpu, memory = _pick(pool, self.streams("ps_demand", i))
        return 0.0, *(round(x, 3) for x in _fitted(0.0, cpu, memory, self.ps_machines))


def _pool(shapes: pd.DataFrame | None, default: pd.DataFrame, *, with_gpu: bool) -> pd.DataFrame:
    """Return the shapes with (or without) GPUs, the default ones if there are none."""
    if shapes is not None:
        rows = shapes[["gpu", "cpu", "memory_gb"]].dropna()
        rows = rows[((rows["gpu"] > 0) == with_gpu) & (rows["cpu"] > 0)]
        if len(rows):
            return rows
    return default


def _pick(pool: pd.DataFrame, rng: Generator) -> tuple[float, float, float]:
    gpu, cpu, memory = pool.iloc[int(rng.integers(len(pool)))]
    return float(gpu), float(cpu), float(memory)


def _fitted(
    gpu: float, cpu: float, memory: float, machines: Sequence[MachineClass]
) -> tuple[float, float]:
    """Scale cores and memory down until the demand fits on a machine that has the GPUs."""
    shrink = [
        min(1.0, c.capacity[1] / cpu, c.capacity[2] / memory if memory else 1.0)
        for c in machines
        if c.capacity[0] >= gpu
    ]
    scale = max(shrink, default=1.0)
    return scale * cpu, scale * memory


def _drawn(window: pd.DataFrame) -> tuple[str, ...]:
    """Name what the trace does not say; of E, M, tau and e it fixes one product, the work."""
    demands = {"gpu": "gpu", "cpu": "cpu", "memory_gb": "memory"}
    gaps = [name for column, name in demands.items() if window[column].isna().any()]
    return (
        *("epochs", "batches_per_chunk", "batch_time", "gradient_mb"),
        *("worker_bandwidth", "ps_bandwidth"),
        *(f"worker_demand of {name}" for name in gaps),
        *("ps_demand", "utility"),
    )
