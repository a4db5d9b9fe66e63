"""Instances made of lists of jobs with measured speeds.

A trace names arrival, running time and number of GPUs of a job; a profile names how many
mini-batches per second a model trains on each kind of GPU. A trace may name models and steps as
well: then a job has the speeds of its model, and where there is no running time, its steps. What
no source names is drawn, and the instance states it in ``drawn``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionJob,
    PsType,
    WorkerType,
)
from optsched.families.completion.sources.presets import Settings
from optsched.numbers import settings
from optsched.numbers.resources import MachineClass
from optsched.numbers.streams import Streams
from optsched.problem import InputError, Window
from optsched.process import messages
from optsched.traces.tables import read_tables, reading, seconds
from optsched.traces.throughputs import read_throughputs
from optsched.traces.windows import (
    NO_LIST,
    USUAL,
    apportioned,
    arrival_slots,
    listed_or_drawn,
    must_reach,
    report_scaling,
    sensible,
    take_window,
)

RANGES = Settings()
RESOURCES = ("k80", "p100", "v100", "cpu", "memory", "bandwidth")
UNITS = ("GPU", "GPU", "GPU", "vCPU", "GB", "Gbps")
GPUS = ("k80", "p100", "v100")
MEASURED_ON = "p100"  # the GPU on which the running times of the trace are taken to be measured
RELATIVE = {"k80": 1.0, "p100": 3.0, "v100": 5.0}  # speeds, where there is no profile
Classes = tuple[tuple[str, int, tuple[float, ...]], ...]
SERVERS: Classes = (
    ("8 K80", 2, (8, 0, 0, 32, 488, 10)),
    ("4 P100", 2, (0, 4, 0, 48, 256, 25)),
    ("4 V100", 1, (0, 0, 4, 32, 244, 10)),
    ("8 V100", 1, (0, 0, 8, 64, 488, 25)),
)
WORKERS: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("k80", (1, 0, 0, 4, 16, 1)),
    ("p100", (0, 1, 0, 8, 32, 2)),
    ("v100", (0, 0, 1, 8, 32, 2)),
)
PS = ((2.0, 8.0, 5.0), (4.0, 16.0, 10.0))  # vCPU, GB, Gbps
RATE = 25.0  # Gbit/s of a server whose list does not state
MOST_SERVERS = 10_000
LOAD = "GPU time of all jobs on the best kind of GPU, over that until the horizon"
DRAWN = (
    *("weight", "epochs", "chunks", "update_time", "gradient_mb", "model"),
    *("worker_types", "ps_types", "servers"),
)


def open_trace(source: Path, window: Window) -> CompletionInstance:
    """Make an instance of a window of the job list ``source``.

    The window holds consecutive jobs; the time between them is scaled so that they arrive from the
    first slot to the last. A job keeps its work, running time x GPUs on a P100, and is split into a
    drawn number of chunks, so that it may use other numbers of workers. Its model is the one that
    the trace names, if the profile has it, else drawn from those that the profile has measured on
    all kinds of GPUs; without a profile, speeds of the GPUs are drawn around 1 : 3 : 5. ``load`` is
    GPU time of all jobs on the best kind of GPU, over the GPU time until the horizon. Servers
    are in the proportions of the list of machines, if there is one: those of its machines that have
    K80, P100 or V100.

    Raises
    ------
    InputError
        A file or an option is wrong, or there are fewer jobs than are requested.
    """
    chosen = window.settle(
        "completion",
        **{"machines": None, "profiles": (), "jobs": None, "slots": 100, "slot": None},
        **{"start": "0", "load": 1.0, "min_tasks": 1, "draw_seed": 0},
    )
    tables = read_tables(source, chosen["machines"])
    trace, classes = tables.jobs, SERVERS
    if tables.machines is not None:
        classes = _classes(chosen["machines"], tables.machines)
    profiles = []
    for path in chosen["profiles"]:
        with reading(path):
            profiles.append(read_throughputs(path))
    jobs, slots, least = chosen["jobs"], chosen["slots"], chosen["min_tasks"]
    load, seed, slot = chosen["load"], chosen["draw_seed"], chosen["slot"]
    length = None if slot is None else seconds(slot)
    settings.whole(slots=slots, min_tasks=least)
    settings.positive(load=load)
    settings.whole(0, seed=seed)
    streams = Streams(seed)
    profile = pd.concat(profiles) if profiles else None
    table = _speeds(profile, streams, jobs or USUAL)
    some = take_window(_timed(trace, table), jobs, chosen["start"], least)
    table = table if profiles else table.head(len(some))
    named = bool(some["model"].isin(table.index).all())
    arrival = arrival_slots(some, slots)

    def made(slot_seconds: float) -> CompletionInstance:
        listed = _jobs(streams, some, arrival, table, slot_seconds)
        number, reached = _number(listed, slots, load, classes)
        inst = CompletionInstance(
            architecture="ps",
            slot_seconds=slot_seconds,
            horizon=slots,
            resources=RESOURCES,
            units=UNITS,
            servers=_servers(number, classes),
            worker_types=tuple(
                WorkerType(name=name, demand=demand, bandwidth=demand[-1])
                for name, demand in WORKERS
            ),
            ps_types=tuple(
                PsType(name=f"{cpu:g} vCPU", demand=(0, 0, 0, cpu, memory, rate), bandwidth=rate)
                for cpu, memory, rate in PS
            ),
            jobs=tuple(listed),
            drawn=_drawn(classes, some, profiles=bool(profiles), named=named),
            source=(
                f"{trace.attrs.get('format', 'table')}: {len(some)} jobs from "
                f"{some['name'].iloc[0]} on, at least {least} GPUs each, {number} servers, "
                f"seed {seed}"
            ),
        )
        must_reach(load, {"gpu": reached}, inst, slots, what=LOAD, unscaled=False)
        return inst

    inst = sensible(some, slots, length, made, requested=window.load is not None)
    of = NO_LIST if classes is SERVERS else "in the proportions of the list"
    number = f"{sum(c.count for c in inst.servers)} {of}"
    report_scaling(some, slots, inst.slot_seconds, number, unscaled=False)
    return inst


def _drawn(
    classes: Classes, window: pd.DataFrame, *, profiles: bool, named: bool
) -> tuple[str, ...]:
    known = {"servers"} if classes is not SERVERS else set()
    known |= (
        {"weight"}
        if window.get("weight", pd.Series(math.nan, window.index)).notna().all()
        else set()
    )
    known |= {"model"} if named else set()
    drawn = tuple(name for name in DRAWN if name not in known)
    return drawn if profiles else (*drawn, "batch_time")


def _timed(trace: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the trace; running times that it lacks are its steps at the measured speeds.

    A step is taken by all workers, each with a mini-batch of its own.
    """
    if trace["run_seconds"].notna().any() or trace["steps"].isna().any():
        return trace
    known = trace["model"].isin(table.index)
    if not known.all():
        raise InputError(
            f"the list of jobs has no running times, and no profile has the speed of "
            f"{trace['model'][~known].iloc[0]!r}, expected a --profile with all its models"
        )
    speed = table[MEASURED_ON].loc[trace["model"]].to_numpy()
    timed = trace.assign(run_seconds=trace["steps"].to_numpy() / speed)
    timed.attrs = trace.attrs
    return timed


def _classes(path: Path, machines: pd.DataFrame) -> Classes:
    """Return the servers of a list: name, count, capacity; those with other GPUs are left out."""
    found, left_out = [], 0
    for row in machines.to_dict("records"):
        model, count = str(row["model"]).lower(), int(row["count"])
        kind = next((k for k, name in enumerate(GPUS) if model.startswith(name)), None)
        if kind is None or row["gpu"] < 1:
            left_out += count
            continue
        gpus = [0.0] * len(GPUS)
        gpus[kind] = float(row["gpu"])
        rate = RATE if math.isnan(row["nic_gbps"]) else float(row["nic_gbps"])
        capacity = (*gpus, float(row["cpu"]), float(row["memory_gb"]), rate)
        found.append((f"{row['gpu']:g} {row['model']}", count, capacity))
    if not found:
        raise InputError(
            f"{path}: no machine has {', '.join(g.upper() for g in GPUS)}, expected at least one "
            "(measured speeds are of these)"
        )
    if left_out:
        messages.remark(f"machines without K80, P100 or V100 are left out: {left_out}")
    return tuple(found)


def _speeds(speeds: pd.DataFrame | None, streams: Streams, jobs: int) -> pd.DataFrame:
    """Return mini-batches per second, one row per model and a column per kind of GPU."""
    if speeds is None:
        each = range(jobs)
        drawn = {g: RELATIVE[g] * streams.uniforms(f"speed of {g}", each, 0.7, 1.3) for g in GPUS}
        return pd.DataFrame(drawn, index=[f"drawn {j}" for j in each])
    table = speeds.pivot_table(index="model", columns="gpu", values="batches_per_second")
    missing = [g for g in GPUS if g not in table]
    if missing:
        raise InputError(f"the profile has no speeds on {missing[0]}, expected {', '.join(GPUS)}")
    table = table[list(GPUS)].dropna()
    if table.empty:
        raise InputError(f"no model has speeds on all of {', '.join(GPUS)}, expected at least one")
    return table


def _jobs(
    streams: Streams,
    window: pd.DataFrame,
    arrival: Sequence[int],
    table: pd.DataFrame,
    slot_seconds: float,
) -> list[CompletionJob]:
    """Make the jobs of a window; ``table`` has a row of speeds per model, see `_speeds`."""
    each = range(len(window))

    def wholes(name: str, limits: tuple[float, float]) -> list[int]:
        drawn: list[int] = streams.wholes(name, each, int(limits[0]), int(limits[1])).tolist()
        return drawn

    named = table.index.get_indexer(pd.Index(window["model"]))
    rows = np.where(named >= 0, named, streams.wholes("model", each, 0, len(table) - 1))
    low, high = RANGES.update_ms
    speeds = table.to_numpy(dtype=np.float64)[rows]
    fastest = 1000.0 / speeds.max(axis=1)  # ms of a step
    ms = low + (high - low) * streams.randoms("update_time", each, len(PS))
    # an update is part of a measured step: the larger part of it is left to the worker
    ms = np.minimum(ms, 0.2 * fastest[:, None])
    batches = np.maximum(
        1.0,
        window["run_seconds"].to_numpy(dtype=np.float64)
        * window["tasks"].to_numpy()
        * speeds[:, table.columns.get_loc(MEASURED_ON)],
    )
    # the gradients take a worker at most twice the time of a step: MB at 1 Gbit/s, both ways
    most = np.maximum(2 * fastest / 1000 * 1.0 / 8 * 1000 / 2, 0.001)
    gradients = np.minimum(wholes("gradient", RANGES.gradient_mb), most).tolist()
    found = []
    for when, weight, drawn, tasks, epochs, number, times, updates, gradient in zip(
        arrival,
        listed_or_drawn(window, "weight", wholes("weight", RANGES.weight)),
        wholes("chunks", RANGES.chunks),
        window["tasks"].tolist(),
        wholes("epochs", RANGES.epochs),
        batches.tolist(),
        (1.0 / speeds / slot_seconds).tolist(),
        (ms / 1000 / slot_seconds).tolist(),
        gradients,
        strict=True,
    ):
        chunks = max(tasks, drawn)
        epochs = min(epochs, max(1, int(number // chunks)))
        job = CompletionJob(
            arrival=when,
            weight=weight,
            epochs=epochs,
            chunks=chunks,
            batches_per_chunk=max(1, round(number / (epochs * chunks))),
            batch_time=tuple(round(x, 12) for x in times),
            update_time=tuple(round(x, 12) for x in updates),
            gradient_mb=round(gradient, 3),
        )
        found.append(job)
    return found


def _number(
    jobs: list[CompletionJob], slots: int, load: float, classes: Classes
) -> tuple[int, float]:
    """Return how many servers, in the proportions of ``classes``, bring the load to ``load``.

    Also the load that they bring.
    """
    whole = sum(share for _, share, _ in classes)
    each = [sum(n * c[g] for _, n, c in classes) / whole for g in range(len(GPUS))]
    work = [
        min(job.batches * v / e for v, e in zip(job.batch_time, each, strict=True) if e > 0)
        for job in jobs
    ]
    one = sum(work) / sum(e > 0 for e in each) / slots  # the load of one server
    number: int = max(1, round(one / load))
    if number > MOST_SERVERS:
        raise InputError(
            f"load {load:g} requests {number} servers, expected at most {MOST_SERVERS}; raise the "
            "load"
        )
    return number, one / number


def _servers(number: int, classes: Classes) -> tuple[MachineClass, ...]:
    """Split a number in the proportions of ``classes``: largest remainder, ties to the first."""
    shares = apportioned(np.array([share for _, share, _ in classes]), number)
    return tuple(
        MachineClass(name=name, count=int(n), capacity=capacity)
        for (name, _, capacity), n in zip(classes, shares, strict=True)
        if n
    )
