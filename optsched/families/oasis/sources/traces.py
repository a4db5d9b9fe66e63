"""Sources of instances: generators (`presets`) and tables of real traces (`from_trace`).

A trace names arrival, running time and number of workers of a job, seldom its demands, never its
epochs, gradients or utility. Attributes that it lacks are drawn, and the instance states it in
``drawn``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from optsched.families.oasis.facts import describe, offered_load, warnings
from optsched.families.oasis.instance import (
    JobSchedule,
    OasisInstance,
    OasisJob,
    OasisSchedule,
    demand_totals,
)
from optsched.families.oasis.sources.presets import NIC, Range, Settings, draw_utilities, generate
from optsched.numbers import settings
from optsched.numbers.arrays import Floats
from optsched.numbers.resources import MachineClass
from optsched.numbers.streams import Streams
from optsched.numbers.utility import Sigmoid
from optsched.problem import Window
from optsched.scheduling.jobs import transfer_slots
from optsched.scheduling.shapes import MACHINES, Shapes, drawn_demands
from optsched.traces import Tables, read_tables
from optsched.traces.as_is import replay
from optsched.traces.as_is.window import AsItIs, open_as_is
from optsched.traces.tables import DEFAULTS
from optsched.traces.windows import (
    HOUR,
    arrival_slots,
    classes_of,
    drawing_unit,
    listed_or_drawn,
    scaled,
    take_window,
    work_of,
)

__all__ = ["describe", "from_trace", "generate", "offered_load", "open_trace", "warnings"]

RANGES = Settings()
RESOURCES = ("gpu", "cpu", "memory", "bandwidth")
UNITS = ("GPU", "core", "GB", "Gbps")


def open_trace(source: Path, window: Window) -> OasisInstance:
    """Make an instance of a window of the job list ``source``; see :func:`from_trace`.

    Raises
    ------
    InputError
        A file or an option is wrong, or the load cannot be reached.
    """
    if window.unscaled:
        return _as_is(open_as_is("oasis", source, window))
    chosen = window.settle("oasis", **DEFAULTS)
    return read_tables(source, chosen.pop("machines"), chosen.pop("shapes")).open_scaled(
        chosen,
        from_trace,
        lambda inst: offered_load(inst)["worker"],
        lambda inst: len(inst.worker_capacity) + len(inst.ps_capacity),
        requested=window.load is not None,
    )


def _as_is(recorded: AsItIs) -> OasisInstance:
    """Make an instance of a window in which nothing is scaled, with its own times and machines.

    Only the utility is drawn: a task requests only resources that the trace names. A
    job is its tasks; its parameter server (PS) sits next to the machines of the list.
    """
    known = [recorded.job(i) for i in range(len(recorded.work))]
    draws = Streams(recorded.seed).randoms("utility", range(len(known)), 4)
    utilities = _utilities(recorded.jobs, draws, (1.0, 100.0), recorded.slot_seconds, HOUR)
    jobs = [
        OasisJob(**job, worker_bandwidth=1.0, utility=utility)
        for job, utility in zip(known, utilities, strict=True)
    ]
    nothing = (0.0,) * len(recorded.units)
    return OasisInstance(
        **recorded.platform(),
        worker_machines=recorded.machines,
        ps_machines=(MachineClass(name="parameter servers", capacity=nothing),),
        jobs=tuple(jobs),
    )


def recorded(
    source: Path, window: Window, inst: OasisInstance
) -> tuple[OasisSchedule, list[str]] | None:
    """Return the recorded schedule of a trace, and the parts that do not fit; None: no record."""
    machines = inst.units_of_sides[0], inst.worker_capacity
    found = replay.recorded(source, window, inst, machines, inst.work, JobSchedule, server=0)
    return None if found is None else (OasisSchedule(jobs=tuple(found[0])), found[1])


def from_trace(
    tables: Tables,
    *,
    jobs: int = 100,
    slots: int = 100,
    slot_seconds: float = 3600.0,
    start: float | str = 0.0,
    load: float = 2.0,
    seed: int = 0,
    min_tasks: int = 1,
    priority: Range = (1.0, 100.0),
) -> OasisInstance:
    """Make an instance of a window of a trace.

    The window holds consecutive jobs; the time between them is scaled so that they arrive from the
    first slot to the last. A job keeps its work: ceil(run_seconds x tasks / slot_seconds)
    worker-slots, and at most ``tasks`` workers.

    Machines with GPUs host workers, machines without host parameter servers (PS). Where the list
    has no GPUs it serves both; where all machines have some, PS get the default ones. The list is
    shrunk (or grown), in its proportions, to the number of machines that comes nearest to the
    offered load; PS get no fewer than that load requests.

    Parameters
    ----------
    tables : Tables
        Columns as `optsched.traces` returns them. Without machines: the default list ``MACHINES``.
        The shapes (gpu, cpu, memory_gb) are demands to draw from where the trace has none (rows
        without GPU: of PS).
    jobs, slots : int
        Sizes of the window and of the horizon.
    slot_seconds : float
        Length of a slot, s.
    start : float or str
        Where the window begins, see `optsched.traces.windows.take_window`.
    load : float
        Offered load of the scarcest resource, see `offered_load`.
    seed : int
        Fixes all that is drawn; not negative.
    min_tasks : int
        Only jobs of at least this many tasks are taken.
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
    settings.whole(jobs=jobs, slots=slots, min_tasks=min_tasks)
    settings.positive(load=load, slot_seconds=slot_seconds)
    settings.whole(0, seed=seed)
    window = take_window(tables.jobs, jobs, start, min_tasks)
    streams = Streams(seed)
    work = work_of(window, slot_seconds)
    workers, servers, drawn_machines = host_classes(tables.listed, streams)
    shapes = Shapes(streams, tables.shapes)
    demands = shapes.workers(window, workers), shapes.servers(jobs, servers)
    draws = streams.randoms("utility", range(jobs), 4)
    utilities = _utilities(window, draws, priority, slot_seconds, drawing_unit(slots, slot_seconds))
    columns = _drawn_columns(streams, window, work, slot_seconds, utilities)
    trace_jobs = [
        OasisJob(
            arrival=arrival,
            worker_demand=(*worker, values["worker_bandwidth"]),
            ps_demand=(*server, values["ps_bandwidth"]),
            **values,
        )
        for arrival, worker, server, values in zip(
            arrival_slots(window, slots), *demands, columns, strict=True
        )
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
            f"{tables.jobs.attrs.get('format', 'table')}: {jobs} jobs from "
            f"{window['name'].iloc[0]} on, at least {min_tasks} tasks each, "
            f"load {load:g}, seed {seed}"
        ),
    )


def host_classes(
    table: pd.DataFrame, streams: Streams
) -> tuple[tuple[MachineClass, ...], tuple[MachineClass, ...], tuple[str, ...]]:
    """Return the classes that host workers, those that host PS, and their drawn attributes."""
    workers, servers = table[table["gpu"] > 0], table[table["gpu"] == 0]
    drawn: tuple[str, ...] = ()
    if not len(workers):
        workers = servers
    if not len(servers):
        servers = MACHINES[MACHINES["gpu"] == 0]
        drawn += ("ps_machines",)
    if workers["nic_gbps"].isna().any() or servers["nic_gbps"].isna().any():
        drawn += ("bandwidth of the machines",)
    return _classes(workers, streams, "worker nic"), _classes(servers, streams, "ps nic"), drawn


def _classes(table: pd.DataFrame, streams: Streams, stream: str) -> tuple[MachineClass, ...]:
    nic = [
        float(streams(stream, c).integers(*NIC, endpoint=True)) if math.isnan(x) else float(x)
        for c, x in enumerate(table["nic_gbps"])
    ]
    return classes_of(table.assign(nic_gbps=nic), ("gpu", "cpu", "memory_gb", "nic_gbps"))


def _drawn_columns(
    streams: Streams,
    window: pd.DataFrame,
    work: Sequence[int],
    slot_seconds: float,
    utilities: Sequence[Sigmoid],
) -> Iterator[dict[str, Any]]:
    """Yield the attributes of each job that a trace lacks, except demands, and its tasks."""
    jobs, tasks = range(len(window)), window["tasks"].tolist()

    def rates(name: str, limits: Range) -> list[float]:
        return [round(x, 2) for x in streams.uniforms(name, jobs, *limits).tolist()]

    def wholes(name: str, limits: Range) -> list[int]:
        drawn: list[int] = streams.wholes(name, jobs, int(limits[0]), int(limits[1])).tolist()
        return drawn

    b = rates("worker_bandwidth", RANGES.worker_bandwidth)
    sends = {rate: 2 * transfer_slots(1, rate, slot_seconds) for rate in set(b)}  # of a MB
    for chunks, w, rate, ps_rate, epochs, batches, gradient, utility in zip(
        tasks,
        work,
        b,
        rates("ps_bandwidth", RANGES.ps_bandwidth),
        wholes("epochs", RANGES.epochs),
        wholes("batches_per_chunk", RANGES.batches_per_chunk),
        wholes("gradient_mb", RANGES.gradient_mb),
        utilities,
        strict=True,
    ):
        yield {
            "chunks": chunks,
            **_mini_batches((epochs, batches, gradient), w, chunks, sends[rate]),
            "worker_bandwidth": rate,
            "ps_bandwidth": ps_rate,
            "utility": utility,
        }


def _utilities(
    window: pd.DataFrame, draws: Floats, priority: Range, slot_seconds: float, unit: float
) -> list[Sigmoid]:
    """Draw utilities; the weight of a job, if it is listed, is its priority gamma_1.

    Target and decay are drawn in units of ``unit`` s. Slots of other lengths, up to that, leave the
    utility the same function of the time from the start of the slot of arrival to the end of the
    slot of completion.
    """
    longer = max(unit, slot_seconds)
    later = [
        -(-work // tasks) * (longer / unit) - 1
        for work, tasks in zip(work_of(window, longer), window["tasks"].tolist(), strict=True)
    ]
    drawn = draw_utilities(draws, RANGES.target, priority, later=later)
    scales = listed_or_drawn(window, "weight", [u.scale for u in drawn])
    slots = unit / slot_seconds  # of a unit
    return [
        Sigmoid(
            scale=scale,
            decay=u.decay / slots,
            target=round(u.target * slots + (slots - 1), 9),
        )
        for u, scale in zip(drawn, scales, strict=True)
    ]


def _mini_batches(
    drawn: tuple[int, int, int], work: int, chunks: int, send: Fraction
) -> dict[str, float]:
    """Choose E, M, tau, e so that ceil(E N M (tau + 2 e / b)) is the work W.

    E, M and e are as ``drawn``, and lowered where more than half of the time would go into sending
    gradients. tau takes the rest, rounded down to as many decimals as leave the ceiling at W.
    ``send`` is the time of a MB both ways.
    """
    epochs, batches, gradient = drawn
    half, unit = work * send.denominator, 2 * chunks * send.numerator
    gradient = min(gradient, half // unit)
    if gradient > 0:
        most = half // (gradient * unit)  # E M, at least 1
        epochs = min(epochs, most)
        batches = min(batches, most // epochs)
    scale = 10 ** len(str(2 * epochs * batches * chunks))
    number = epochs * batches * chunks
    rest = work * send.denominator - gradient * send.numerator * number  # of the work
    return {
        "epochs": epochs,
        "batches_per_chunk": batches,
        "batch_time": rest * scale // (number * send.denominator) / scale,
        "gradient_mb": float(gradient),
    }


def _drawn(window: pd.DataFrame) -> tuple[str, ...]:
    """Name the attributes that the trace lacks; of E, M, tau, e it fixes one product, the work."""
    return (
        *("epochs", "batches_per_chunk", "batch_time", "gradient_mb"),
        *("worker_bandwidth", "ps_bandwidth"),
        *drawn_demands(window),
        *("ps_demand", "utility"),
    )
