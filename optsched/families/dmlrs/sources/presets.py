"""Random instances after Sec. 4.1.

The thesis gives neither machines nor arrivals, and in its units no job can finish; additions:
slots of ``slot_seconds``, gradients in MB, four machine classes, whole GPUs, arrivals in the first
half of the horizon, and the outer rate as the inner one divided by ``ratio``.

Presets: `paper` has the settings of Sec. 4.1 at its largest scale, nearly empty; `contended` has
as many jobs on 12 machines, so that schedulers differ; `small` is for brute force; in `fine` a job
takes up at most an eighth of a machine, so that Theorem 3 applies to every instance.

One stream per (seed, attribute, job): more jobs, or other options, leave the other draws as they
were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from optsched.families.dmlrs.facts import offered_load
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsJob, Needs, Platform, fastest_pace
from optsched.files.provenance import names_changes
from optsched.numbers import settings
from optsched.numbers.resources import MachineClass, spread_evenly
from optsched.numbers.streams import Streams, draw_whole
from optsched.numbers.utility import Inverse
from optsched.problem import InputError
from optsched.scheduling.jobs import sized_by_load

RESOURCES = ("gpu", "memory", "storage")
UNITS = ("GPU", "GB", "GB")
MB = {"MB": 1.0, "Mbit": 0.125}
MOST_DRAWS = 1000  # candidates for one job
DRAWN = (
    *("arrival", "epochs", "chunks", "batches_per_chunk", "batch_time", "gradient_mb"),
    *("inner_bandwidth", "outer_bandwidth", "ps_bandwidth", "worker_demand", "ps_demand"),
    "machines",
)

Range = tuple[float, float]
Class = tuple[str, tuple[int, int, int]]  # name; GPU, GB memory, GB storage
Held = Literal["inner", "outer"]


@dataclass(frozen=True)
class Settings:
    """Ranges of all that is drawn (both ends included), and default sizes: Sec. 4.1."""

    jobs: int = 50
    slots: int = 100
    machines: int = 50
    epochs: Range = (50, 150)
    chunks: Range = (5, 20)
    batches_per_chunk: Range = (20, 40)
    batch_seconds: Range = (0.01, 0.05)
    gradient: Range = (50, 100)
    inner_bandwidth: Range = (0.1, 4)
    ps_bandwidth: Range = (4, 20)
    demand: tuple[Range, ...] = ((0, 4), (2, 30), (4, 8))  # of a worker, and of a PS
    arrivals: float = 0.5  # share of the horizon in which jobs arrive
    classes: tuple[Class, ...] = (
        ("4 GPU", (4, 122, 60)),
        ("8 GPU", (8, 244, 100)),
        ("16 GPU", (16, 488, 200)),
        ("8 GPU, less memory", (8, 122, 80)),
    )


SMALL = Settings(
    jobs=6,
    slots=6,
    machines=4,
    epochs=(2, 6),
    chunks=(1, 4),
    batches_per_chunk=(1, 3),
    batch_seconds=(60, 200),
    gradient=(300, 3000),
    demand=((0, 2), (2, 16), (4, 8)),
    classes=(("large", (4, 40, 30)), ("small", (2, 24, 20))),
)
FINE = Settings(
    jobs=32,
    slots=4,
    machines=1,
    epochs=(1, 4),
    chunks=(1, 1),
    batches_per_chunk=(1, 2),
    batch_seconds=(100, 200),
    inner_bandwidth=(2, 4),
    demand=((0, 1), (1, 1), (1, 1)),
    classes=(("fine", (16, 32, 32)),),
)
PRESETS = {
    "paper": Settings(),
    "contended": Settings(machines=12),
    "small": SMALL,
    "fine": FINE,
}


@names_changes("ratio", "held")
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
    ratio: float = 40.0,
    held: Held = "inner",
    g_unit: str = "MB",
    completable: bool = True,
    slot_seconds: float = 300.0,
) -> DmlrsInstance:
    """Draw an instance with the settings of Sec. 4.1.

    Parameters
    ----------
    preset : {"paper", "contended", "small", "fine"}
    seed : int
        Fixes everything; not negative.
    load : float, optional
        Offered load of the scarcest resource: sets the number of machines, in place of
        ``machines``.
    jobs, slots, machines : int, optional
        Other sizes than the preset's.
    ratio : float
        Inner rate over outer rate, at least 1.
    held : {"inner", "outer"}
        Which rate stays as it is drawn when ``ratio`` changes: the inner one, with outer = inner /
        ratio; or the outer one, drawn / 60, with inner = ratio x outer (Fig. 3.12).
    g_unit : {"MB", "Mbit"}
        The unit in which the gradients of 50 to 100 are meant.
    completable : bool
        Whether a job that could not finish even on the empty machines is drawn anew. ``redrawn``
        of the instance counts how often.
    slot_seconds : float
        Length of a slot, s.

    Returns
    -------
    DmlrsInstance

    Raises
    ------
    InputError
        A size or option is wrong, or no job that can finish was found.
    """
    settings.one_of("preset", preset, PRESETS)
    s, streams = PRESETS[preset], Streams(seed)
    jobs, slots = s.jobs if jobs is None else jobs, s.slots if slots is None else slots
    machines = s.machines if machines is None else machines
    settings.whole(0, seed=seed)
    settings.whole(jobs=jobs, slots=slots, machines=machines)
    settings.positive(slot_seconds=slot_seconds)
    settings.one_of("held", held, ("inner", "outer"))
    settings.one_of("g_unit", g_unit, MB)
    if not 1 <= ratio < float("inf"):
        raise InputError(f"ratio is {ratio}, expected inner rate / outer rate of at least 1")
    platform = Platform(
        slot_seconds=slot_seconds,
        horizon=slots,
        resources=RESOURCES,
        units=UNITS,
        machines=spread_classes(s.classes, machines),
    )
    drawn, redrawn = [], 0
    for i in range(jobs):
        draws = _candidates(s, streams, i, platform, ratio, held, MB[g_unit])
        if completable:
            job, rejected = _first_completable(draws, platform, i)
            redrawn += rejected
        else:
            job = next(draws)
        drawn.append(job)
    return DmlrsInstance(
        **{name: getattr(platform, name) for name in Platform.model_fields},
        jobs=tuple(drawn),
        drawn=DRAWN,
        source=f"generated: preset {preset}, seed {seed}, ratio {ratio:g} ({held} rate held)",
        redrawn=redrawn,
    )


def spread_classes(classes: Sequence[Class], number: int) -> tuple[MachineClass, ...]:
    """Spread ``number`` machines over the classes as evenly as possible."""
    return tuple(
        MachineClass(name=name, count=count, capacity=capacity)
        for _, (name, capacity), count in spread_evenly(number, classes)
    )


WIDEST = 60  # the largest ratio of Fig. 3.12, whose inner rate is the drawn one


def _candidates(
    s: Settings,
    streams: Streams,
    i: int,
    platform: Platform,
    ratio: float,
    held: Held,
    mb: float,
) -> Iterator[DmlrsJob]:
    """Draw candidates for job ``i`` without end."""
    names = (
        *("arrival", "epochs", "chunks", "batches_per_chunk", "batch_seconds", "gradient"),
        *("inner_bandwidth", "ps_bandwidth", "worker_demand", "ps_demand"),
    )
    rng = {name: streams(name, i) for name in names}

    def whole(name: str) -> int:
        return draw_whole(rng[name], getattr(s, name))

    def real(name: str, decimals: int) -> float:
        low, high = getattr(s, name)
        return round(float(rng[name].uniform(low, high)), decimals)

    def demand(name: str) -> tuple[float, ...]:
        return tuple(float(draw_whole(rng[name], limits)) for limits in s.demand)

    until = max(1, int(s.arrivals * platform.horizon))
    while True:
        rate = real("inner_bandwidth", 2)
        outer = round(rate / (ratio if held == "inner" else WIDEST), 9)
        inner = rate if held == "inner" else round(outer * ratio, 9)
        yield DmlrsJob(
            arrival=int(rng["arrival"].integers(until)),
            epochs=whole("epochs"),
            chunks=whole("chunks"),
            batches_per_chunk=whole("batches_per_chunk"),
            batch_time=round(real("batch_seconds", 4) / platform.slot_seconds, 12),
            gradient_mb=whole("gradient") * mb,
            inner_bandwidth=inner,
            outer_bandwidth=min(outer, inner),
            ps_bandwidth=real("ps_bandwidth", 2),
            worker_demand=demand("worker_demand"),
            ps_demand=demand("ps_demand"),
            utility=Inverse(),
        )


def _first_completable(
    draws: Iterator[DmlrsJob], platform: Platform, i: int
) -> tuple[DmlrsJob, int]:
    """Return the first candidate that can finish on the empty machines; count the others."""
    for rejected in range(MOST_DRAWS):
        job = next(draws)
        needs = Needs.of(job, platform.slot_seconds)
        left = platform.horizon - job.arrival
        if needs.work <= left * fastest_pace(platform, job, needs).work:
            return job, rejected
    raise InputError(
        f"job {i}: none of {MOST_DRAWS} draws can finish on the machines within "
        f"{platform.horizon} slots, expected more or longer slots, or more machines (or "
        "completable=False)"
    )
