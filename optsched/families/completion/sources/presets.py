"""Random instances after Sec. 7, and the random parts that instances made from traces share.

Presets: `paper` has the printed settings; `mid` is of the size that can be solved to the end (3 + 3
types, shorter jobs); `small` is for brute force. Open details of the paper are fixed: arrivals
are uniform in the first half of the horizon (`mid`: quarter), servers are of six EC2 classes.

One stream per (seed, attribute, job): more jobs, or other options, leave the other draws as they
were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from optsched.families.completion.facts import offered_load
from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionJob,
    Platform,
    PsType,
    WorkerType,
)
from optsched.families.completion.modes import Cluster
from optsched.files.provenance import names_changes
from optsched.numbers import settings
from optsched.numbers.resources import MachineClass
from optsched.numbers.streams import Streams, draw_whole
from optsched.problem import InputError
from optsched.scheduling.jobs import sized_by_load

RESOURCES = ("gpu", "cpu", "memory", "bandwidth")
UNITS = ("GPU", "vCPU", "GB", "Gbps")
MOST_DRAWS = 10_000  # candidates for one job
GPU_POWER = 0.8  # a worker with k GPUs takes k^-0.8 of the time: "scaled"
DRAWN = (
    *("arrival", "weight", "epochs", "chunks", "batches_per_chunk"),
    *("batch_time", "update_time", "gradient_mb", "worker_types", "ps_types", "servers"),
)

Range = tuple[float, float]
Server = tuple[str, tuple[float, float, float, float]]
Speeds = Literal["scaled", "independent"]

EC2: tuple[Server, ...] = (
    ("p3.8xlarge", (4, 32, 244, 10)),
    ("p3.16xlarge", (8, 64, 488, 25)),
    ("p2.8xlarge", (8, 32, 488, 10)),
    ("p2.16xlarge", (16, 64, 732, 25)),
    ("g3.8xlarge", (2, 32, 244, 10)),
    ("g3.16xlarge", (4, 64, 488, 25)),
)


@dataclass(frozen=True)
class Settings:
    """Ranges of all that is drawn (both ends included), and default sizes: Sec. 7."""

    jobs: int = 100
    slots: int = 150
    machines: int = 150
    types: tuple[int, int] = (8, 10)  # of workers, of parameter servers (PS)
    arrival: float = 0.5  # share of the horizon
    weight: Range = (200, 5000)
    epochs: Range = (50, 100)
    chunks: Range = (5, 50)
    batches_per_chunk: Range = (10, 50)
    update_ms: Range = (10, 100)
    batch_time: Range = (0.001, 0.05)
    gradient_mb: Range = (30, 575)
    worker: tuple[Range, ...] = ((1, 4), (1, 16), (2, 32))  # GPUs, vCPUs, GB
    worker_bandwidth: Range = (0.1, 5)
    ps: tuple[Range, ...] = ((0, 0), (1, 16), (2, 32))
    ps_bandwidth: Range = (5, 20)
    servers: tuple[Server, ...] = EC2


PRESETS = {
    "paper": Settings(),
    "mid": Settings(
        jobs=10,
        slots=20,
        machines=6,
        types=(3, 3),
        arrival=0.25,
        epochs=(5, 10),
        chunks=(2, 10),
    ),
    "small": Settings(
        jobs=4,
        slots=8,
        machines=2,
        types=(2, 1),
        weight=(1, 20),
        epochs=(1, 3),
        chunks=(1, 3),
        batches_per_chunk=(2, 10),
        batch_time=(0.05, 0.3),
        worker=((1, 2), (1, 4), (2, 8)),
        ps=((0, 0), (1, 3), (2, 8)),
        worker_bandwidth=(1, 4),
        ps_bandwidth=(2, 6),
        servers=(("large", (4, 12, 32, 12)), ("little", (2, 8, 24, 8))),
    ),
}


@names_changes("architecture", "speeds")
@sized_by_load(
    lambda inst: max(offered_load(inst).values()),
    lambda inst: len(inst.capacity),
)
def generate(
    preset: str = "paper",
    *,
    seed: int,
    jobs: int | None = None,
    slots: int | None = None,
    machines: int | None = None,
    architecture: Literal["ps", "ring"] = "ps",
    speeds: Speeds = "scaled",
    enforce_horizon: bool = False,
    slot_seconds: float = 3600.0,
) -> CompletionInstance:
    """Draw an instance with the settings of Sec. 7.

    Parameters
    ----------
    preset : {"paper", "mid", "small"}
    seed : int
        Fixes everything; not negative.
    load : float, optional
        Offered load of the scarcest resource: sets the number of machines, in place of
        ``machines``.
    jobs, slots, machines : int, optional
        Other sizes than the preset's.
    architecture : {"ps", "ring"}
    speeds : {"scaled", "independent"}
        The time per mini-batch on a worker of k GPUs: a drawn time times k^-0.8, or drawn for every
        type, as printed.
    enforce_horizon : bool
        Whether all jobs must end by the last slot.
    slot_seconds : float
        Length of a slot, s.

    Raises
    ------
    InputError
        A size or option is wrong, or no job that fits on the servers was found.
    """
    settings.one_of("preset", preset, PRESETS)
    settings.one_of("architecture", architecture, ("ps", "ring"))
    settings.one_of("speeds", speeds, ("scaled", "independent"))
    s, streams = PRESETS[preset], Streams(seed)
    jobs, slots = s.jobs if jobs is None else jobs, s.slots if slots is None else slots
    machines = s.machines if machines is None else machines
    settings.whole(0, seed=seed, jobs=jobs)
    settings.whole(slots=slots, machines=machines)
    platform = Platform(
        architecture=architecture,
        slot_seconds=slot_seconds,
        horizon=slots,
        enforce_horizon=enforce_horizon,
        resources=RESOURCES,
        units=UNITS,
        servers=draw_servers(streams, s, machines),
        worker_types=draw_workers(streams, s),
        ps_types=draw_ps(streams, s) if architecture == "ps" else (),
    )
    cluster = Cluster(platform)
    found, redrawn = [], 0
    for j in range(jobs):
        for candidate in _candidates(s, platform, streams, j, speeds):
            modes = cluster.task(candidate).modes
            least = modes.shortest
            time_left = slots - candidate.arrival if enforce_horizon else NO_LIMIT
            if least is not None and least <= time_left:
                found.append(candidate)
                break
            redrawn += 1
        else:
            raise InputError(
                f"job {j}: none of {MOST_DRAWS} draws fits on the servers, expected larger servers"
            )
    return CompletionInstance(
        **{name: getattr(platform, name) for name in Platform.model_fields},
        jobs=tuple(found),
        drawn=DRAWN,
        source=f"preset {preset}, {architecture}, {speeds} speeds, seed {seed}",
        redrawn=redrawn,
    )


NO_LIMIT = 2**40


def draw_servers(streams: Streams, s: Settings, machines: int) -> tuple[MachineClass, ...]:
    """Draw the class of every server; classes in their order, with how often they came."""
    drawn = [int(streams("server", h).integers(len(s.servers))) for h in range(machines)]
    return tuple(
        MachineClass(name=name, count=drawn.count(c), capacity=capacity)
        for c, (name, capacity) in enumerate(s.servers)
        if c in drawn
    )


def draw_workers(streams: Streams, s: Settings) -> tuple[WorkerType, ...]:
    """Draw the types of workers."""
    out = []
    for m in range(s.types[0]):
        demand = _whole(streams, "worker demand", m, s.worker)
        rate = round(float(streams("worker bandwidth", m).uniform(*s.worker_bandwidth)), 1)
        rate = max(rate, 0.1)
        out.append(WorkerType(name=f"{demand[0]} GPU", demand=(*demand, rate), bandwidth=rate))
    return tuple(out)


def draw_ps(streams: Streams, s: Settings) -> tuple[PsType, ...]:
    """Draw the types of parameter servers."""
    out = []
    for p in range(s.types[1]):
        demand = _whole(streams, "ps demand", p, s.ps)
        rate = round(float(streams("ps bandwidth", p).uniform(*s.ps_bandwidth)), 1)
        out.append(PsType(name=f"{demand[1]} vCPU", demand=(*demand, rate), bandwidth=rate))
    return tuple(out)


def _whole(streams: Streams, name: str, k: int, limits: tuple[Range, ...]) -> tuple[int, ...]:
    rng = streams(name, k)
    return tuple(draw_whole(rng, each) for each in limits)


def _candidates(
    s: Settings, platform: Platform, streams: Streams, j: int, speeds: Speeds
) -> Iterator[CompletionJob]:
    """Yield draws of job ``j``."""
    names = ("arrival", "weight", "epochs", "chunks", "batches", "batch", "update", "gradient")
    rng = {name: streams(name, j) for name in names}
    gpus = np.array([w.demand[0] for w in platform.worker_types])
    updates = 1 if platform.ring else len(platform.ps_types)
    for _ in range(MOST_DRAWS):
        v = rng["batch"].uniform(*s.batch_time, size=len(gpus))
        if speeds == "scaled":
            v = v[0] * np.maximum(gpus, 1.0) ** -GPU_POWER
        ms = rng["update"].uniform(*s.update_ms, size=updates)
        last = max(1, int(np.ceil(platform.horizon * s.arrival)))
        yield CompletionJob(
            arrival=int(rng["arrival"].integers(last)),
            weight=draw_whole(rng["weight"], s.weight),
            epochs=draw_whole(rng["epochs"], s.epochs),
            chunks=draw_whole(rng["chunks"], s.chunks),
            batches_per_chunk=draw_whole(rng["batches"], s.batches_per_chunk),
            batch_time=tuple(round(float(x), 6) for x in v),
            update_time=tuple(round(float(x) / 1000 / platform.slot_seconds, 9) for x in ms),
            gradient_mb=draw_whole(rng["gradient"], s.gradient_mb),
        )
