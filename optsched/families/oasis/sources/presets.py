"""Random instances after Sec. V-A, and the random parts that instances made from traces share.

Presets: `paper` has the printed settings; `earnable` moves every target by the job's shortest run,
so that every job can earn; `small` is for brute force; in `fine` a job takes up at most a sixteenth
of a machine and no job is time-critical, so that Theorem 4 applies to every instance. As
printed, worker machines follow Amazon's C4 and PS machines P2 and G3; workers are the ones that use
GPUs, so the roles are exchanged here.

One stream per (seed, attribute, job): more jobs, or other options, leave the other draws as they
were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from optsched.families.oasis.facts import offered_load
from optsched.families.oasis.instance import (
    OasisInstance,
    OasisJob,
    Platform,
    job_work,
    most_workers,
)
from optsched.files.provenance import names_changes
from optsched.numbers import settings
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.numbers.resources import MachineClass, spread_evenly
from optsched.numbers.streams import Streams, draw_whole
from optsched.numbers.utility import Sigmoid
from optsched.problem import InputError
from optsched.scheduling.jobs import MB_PER_GBIT, sized_by_load

RESOURCES = ("gpu", "cpu", "memory", "storage", "bandwidth")
UNITS = ("GPU", "vCPU", "GB", "GB", "Gbps")
NIC = (20, 50)  # Gbit/s
MIX = (0.10, 0.55, 0.35)  # time-insensitive, time-sensitive, time-critical jobs
MOST_DRAWS = 1 << 20  # candidates for one job
DRAWN = (
    *("arrival", "epochs", "chunks", "batches_per_chunk", "batch_time", "gradient_mb"),
    *("worker_bandwidth", "ps_bandwidth", "worker_demand", "ps_demand", "utility"),
    "bandwidth of the machines",
)

Range = tuple[float, float]
Class = tuple[str, tuple[int, int, int, int]]  # name; GPU, vCPU, GB memory, GB storage


@dataclass(frozen=True)
class Settings:
    """Ranges of all that is drawn (both ends included), and default sizes: Sec. V-A."""

    jobs: int = 100
    slots: int = 100
    machines: tuple[int, int] = (50, 50)
    epochs: Range = (50, 200)
    chunks: Range = (5, 100)
    batches_per_chunk: Range = (10, 100)
    batch_time: Range = (0.001, 0.1)
    gradient_mb: Range = (30, 575)
    worker_bandwidth: Range = (0.1, 5)
    ps_bandwidth: Range = (5, 20)
    worker_demand: tuple[Range, ...] = ((0, 4), (1, 10), (2, 32), (5, 10))
    ps_demand: tuple[Range, ...] = ((0, 0), (1, 10), (2, 32), (5, 10))
    target: Range = (1, 15)
    mix: tuple[float, float, float] = MIX
    shifted: bool = False
    worker_classes: tuple[Class, ...] = (
        ("p2.8xlarge", (8, 32, 488, 400)),
        ("g3.16xlarge", (4, 64, 488, 400)),
        ("p2.16xlarge", (16, 64, 732, 400)),
        ("g3.8xlarge", (2, 32, 244, 400)),
    )
    ps_classes: tuple[Class, ...] = (
        ("c4.8xlarge", (0, 36, 60, 200)),
        ("c4.4xlarge", (0, 16, 30, 200)),
        ("c4.2xlarge", (0, 8, 15, 200)),
        ("c4.xlarge", (0, 4, 7, 200)),
    )


SMALL = Settings(
    jobs=6,
    slots=6,
    machines=(2, 2),
    epochs=(1, 3),
    chunks=(1, 4),
    batches_per_chunk=(1, 3),
    batch_time=(0.2, 0.7),
    worker_demand=((0, 2), (1, 4), (2, 16), (5, 10)),
    ps_demand=((0, 0), (1, 4), (2, 16), (5, 10)),
    target=(1, 3),
    worker_classes=(("large", (3, 8, 32, 24)), ("small", (2, 6, 24, 16))),
    ps_classes=(("large", (0, 6, 24, 16)), ("small", (0, 4, 16, 10))),
)
ONES: tuple[Range, ...] = ((1, 1), (1, 1), (1, 1))
FINE = Settings(
    jobs=32,
    slots=4,
    machines=(1, 1),
    epochs=(1, 3),
    chunks=(1, 1),
    batches_per_chunk=(1, 3),
    batch_time=(0.2, 0.7),
    gradient_mb=(30, 100),
    worker_bandwidth=(0.5, 1),
    ps_bandwidth=(1, 1),
    worker_demand=((0, 1), *ONES),
    ps_demand=((0, 0), *ONES),
    target=(1, 3),
    mix=(0.5, 0.5, 0.0),
    worker_classes=(("fine", (16, 16, 16, 16)),),
    ps_classes=(("fine", (0, 16, 16, 16)),),
)
PRESETS = {
    "paper": Settings(),
    "earnable": Settings(shifted=True),
    "small": SMALL,
    "fine": FINE,
}


@names_changes()
@sized_by_load(
    lambda inst: max(max(side.values()) for side in offered_load(inst).values()),
    lambda inst: len(inst.worker_capacity) + len(inst.ps_capacity),
)
def generate(
    preset: str = "paper",
    *,
    seed: int,
    jobs: int | None = None,
    slots: int | None = None,
    machines: int | tuple[int, int] | None = None,
    priority: Range = (1.0, 100.0),
    mix: tuple[float, float, float] | None = None,
    completable: bool = True,
    slot_seconds: float = 3600.0,
) -> OasisInstance:
    """Draw an instance with the settings of Sec. V-A.

    Parameters
    ----------
    preset : {"paper", "earnable", "small", "fine"}
    seed : int
        Fixes everything; not negative.
    load : float, optional
        Offered load of the scarcest resource: sets the number of machines, in place of
        ``machines``.
    jobs, slots : int, optional
        Other sizes than the preset's.
    machines : int or (int, int), optional
        Worker machines + PS machines together, in halves; or both numbers.
    priority : (float, float)
        Range of gamma_1, the utility of a job without delay (Fig. 5: up to 10, 50, 100).
    mix : (float, float, float), optional
        Other shares of time-insensitive, time-sensitive and time-critical jobs than the preset's.
    completable : bool
        Whether a job that could not finish even on the empty machines is drawn anew (all but its
        utility). ``redrawn`` of the instance counts how often.
    slot_seconds : float
        Length of a slot, s.

    Returns
    -------
    OasisInstance

    Raises
    ------
    InputError
        A size or option is wrong, or no job that can finish was found.
    """
    settings.one_of("preset", preset, PRESETS)
    s, streams = PRESETS[preset], Streams(seed)
    jobs, slots = s.jobs if jobs is None else jobs, s.slots if slots is None else slots
    mix = s.mix if mix is None else mix
    h, k = _sides(s.machines if machines is None else machines)
    settings.whole(0, seed=seed)
    settings.whole(jobs=jobs, slots=slots)
    settings.positive(slot_seconds=slot_seconds)
    _check_options(priority, mix)
    platform = Platform(
        slot_seconds=slot_seconds,
        horizon=slots,
        resources=RESOURCES,
        units=UNITS,
        worker_machines=_machines(s.worker_classes, h, streams, "worker nic"),
        ps_machines=_machines(s.ps_classes, k, streams, "ps nic"),
    )
    drawn: list[OasisJob] = []
    redrawn = 0
    for first in range(0, jobs, AT_ONCE):
        some = range(first, min(first + AT_ONCE, jobs))
        draws = _Draws(s, streams, slots)
        block = draws.of_jobs(some)
        likely = block.may_finish(platform).reshape(len(some), FEW)
        found, later = [], []
        for k in range(len(some)):
            if completable:
                mine = (block.part(slice(k * FEW, (k + 1) * FEW)), likely[k])
                job, rejected = _first_completable(draws, mine, platform, some[k])
                redrawn += rejected
            else:
                job = block.job(k * FEW)
            found.append(job)
            if s.shifted:
                most = most_workers(platform, job) or job.chunks
                later.append(-(-job_work(job, slot_seconds) // most) - 1)
        four = streams.randoms("utility", some, 4)
        utilities = draw_utilities(four, s.target, priority, mix, later)
        drawn += [
            job.model_copy(update={"utility": utility})
            for job, utility in zip(found, utilities, strict=True)
        ]
    return OasisInstance(
        **{name: getattr(platform, name) for name in Platform.model_fields},
        jobs=tuple(drawn),
        drawn=DRAWN,
        source=f"generated: preset {preset}, seed {seed}",
        redrawn=redrawn,
    )


def _check_options(priority: Range, mix: tuple[float, float, float]) -> None:
    if not 0 < priority[0] <= priority[1] < float("inf"):
        raise InputError(f"priority is {priority}, expected 0 < lowest <= highest")
    if min(mix) < 0 or abs(sum(mix) - 1) > 1e-9:
        raise InputError(f"mix is {mix}, expected three shares that add up to 1")


def _sides(machines: int | tuple[int, int]) -> tuple[int, int]:
    h, k = (machines - machines // 2, machines // 2) if isinstance(machines, int) else machines
    if h < 1 or k < 1:
        raise InputError(f"machines is {machines}, expected at least one for each of the two sides")
    return h, k


def _machines(
    classes: Sequence[Class], number: int, streams: Streams, nic: str
) -> tuple[MachineClass, ...]:
    """Spread ``number`` machines over the classes as evenly as possible."""
    return tuple(
        MachineClass(name=name, count=count, capacity=(*capacity, draw_whole(streams(nic, c), NIC)))
        for c, (name, capacity), count in spread_evenly(number, classes)
    )


BURSTS, BACKGROUND, BURST_WIDTH = 5, 0.5, 0.02


def _arrivals(centre: Floats, rng: Generator, slots: int, n: int) -> Ints:
    """Draw ``n`` slots of arrival: bursts on a steady background, in place of the Google trace.

    A Poisson process whose intensity is even but for bursts that fade away exponentially, given
    the number of jobs: every job draws its own slot from the intensity, which depends on the seed
    alone, by the ``centre`` of its bursts.
    """
    kind, even, burst, delay = rng.random((n, 4)).T
    in_burst = centre[(burst * BURSTS).astype(np.int64)] - BURST_WIDTH * np.log1p(-delay)
    when = np.where(kind < BACKGROUND, even, in_burst % 1.0)
    return np.asarray(when * slots, dtype=np.int64)


def draw_utility(rng: Generator, target: Range) -> Sigmoid:
    """Draw gamma_1, gamma_2 and gamma_3 of a sigmoid: Sec. V-A."""
    return draw_utilities(rng.random((1, 4)), target)[0]


def draw_utilities(
    drawn: Floats,
    target: Range,
    priority: Range = (1.0, 100.0),
    mix: Sequence[float] = MIX,
    later: Sequence[float] = (),
) -> list[Sigmoid]:
    """Make sigmoids of four numbers of [0, 1) each: gamma_1 to gamma_3 of Sec. V-A.

    The last is as many slots ``later`` as it states.
    """
    scale, kind, decay, delay = drawn.T
    gamma_1 = np.round(priority[0] + scale * (priority[1] - priority[0]), 2)
    gamma_2 = np.where(kind < mix[0] + mix[1], 0.01 + decay * (1 - 0.01), 4 + decay * (6 - 4))
    gamma_2 = np.round(np.where(kind < mix[0], 0.0, gamma_2), 3)
    slots = np.round(target[0] + delay * (target[1] - target[0]), 2).tolist()
    gamma_3 = [round(x + n, 2) for x, n in zip(slots, later, strict=True)] if later else slots
    return [
        Sigmoid(scale=a, decay=b, target=c)
        for a, b, c in zip(gamma_1.tolist(), gamma_2.tolist(), gamma_3, strict=True)
    ]


@dataclass(frozen=True)
class _Block:
    """Candidates for jobs, one in each row."""

    whole: dict[str, Ints]  # each (n,)
    real: dict[str, Floats]  # each (n,)
    worker: Ints  # (n, R - 1), bandwidth is the last resource
    ps: Ints  # (n, R - 1)

    def part(self, rows: slice) -> _Block:
        """Return some of the candidates."""
        return _Block(
            {name: x[rows] for name, x in self.whole.items()},
            {name: x[rows] for name, x in self.real.items()},
            self.worker[rows],
            self.ps[rows],
        )

    def job(self, row: int) -> OasisJob:
        """Return one candidate as a job, with a placeholder utility."""
        real = {name: float(x[row]) for name, x in self.real.items()}
        return OasisJob(
            utility=ANY,
            **{name: int(x[row]) for name, x in self.whole.items()},
            **real,
            worker_demand=(*self.worker[row].tolist(), real["worker_bandwidth"]),
            ps_demand=(*self.ps[row].tolist(), real["ps_bandwidth"]),
        )

    def may_finish(self, platform: Platform) -> Flags:
        """Return which candidates may finish in time, (n,); rounding may let one too many pass."""
        x: dict[str, Floats] = {
            name: values.astype(np.float64)
            for name, values in (*self.whole.items(), *self.real.items())
        }
        b, big_b = x["worker_bandwidth"], x["ps_bandwidth"]
        batch = x["batch_time"] + 2 * float(MB_PER_GBIT) * x["gradient_mb"] / (
            b * platform.slot_seconds
        )
        work = x["epochs"] * x["chunks"] * x["batches_per_chunk"] * batch
        workers = _units_that_fit(platform.worker_machines, self.worker, b)
        servers = _units_that_fit(platform.ps_machines, self.ps, big_b)
        most = np.minimum(x["chunks"], np.minimum(workers, np.floor(servers * big_b / b + 1e-6)))
        left = platform.horizon - x["arrival"]
        return np.asarray(work <= left * most * (1 + 1e-6), dtype=np.bool_)


def _units_that_fit(machines: Sequence[MachineClass], demand: Ints, bandwidth: Floats) -> Floats:
    """Return how many of each candidate the empty machines hold, (n,)."""
    needs = np.column_stack([demand, bandwidth])
    capacity = np.array([c.capacity for c in machines])
    with np.errstate(divide="ignore", invalid="ignore"):
        fits = np.where(needs > 0, capacity[:, None, :] / needs, np.inf).min(axis=2)
    totals: Floats = np.array([c.count for c in machines]) @ np.floor(fits + 1e-6)
    return totals


ANY = Sigmoid(scale=1.0, decay=0.0, target=0.0)
WHOLE = ("epochs", "chunks", "batches_per_chunk", "gradient_mb")
DECIMALS = {"batch_time": 4, "worker_bandwidth": 2, "ps_bandwidth": 2}
FEW, MANY = 16, 4096  # candidates in a first block, and at most in a later one
AT_ONCE = 256  # jobs whose first candidates are looked at together


class _Draws:
    """Draws candidates for jobs, each attribute of each job from a stream of its own."""

    def __init__(self, s: Settings, streams: Streams, slots: int) -> None:
        self._streams, self._slots, self._s = streams, slots, s
        self._centre = streams("bursts").random(BURSTS)
        names = (*WHOLE, "worker_demand", "ps_demand")
        self._limits = {name: np.array(getattr(s, name), dtype=np.int64).T for name in names}

    def of_jobs(self, jobs: range) -> _Block:
        """Return the first candidates of some jobs, one after the other."""
        return self._block(
            lambda name: np.concatenate(
                [self._draw(name, rng, FEW) for rng in self._streams.each(name, jobs)]
            )
        )

    def later(self, i: int) -> Iterator[_Block]:
        """Draw candidates for job ``i`` without end, in blocks of up to 4096, but the first."""
        rng = {name: self._streams(name, i) for name in ("arrival", *self._limits, *DECIMALS)}
        n = FEW
        while True:
            block = self._block(partial(self._of, rng, n))
            if n > FEW:
                yield block
            n = min(2 * n, MANY)

    def _block(self, draw: Callable[[str], Any]) -> _Block:
        return _Block(
            whole={name: draw(name) for name in ("arrival", *WHOLE)},
            real={name: np.round(draw(name), decimals) for name, decimals in DECIMALS.items()},
            worker=draw("worker_demand"),
            ps=draw("ps_demand"),
        )

    def _of(self, rng: Mapping[str, Generator], n: int, name: str) -> Any:
        return self._draw(name, rng[name], n)

    def _draw(self, name: str, rng: Generator, n: int) -> Any:
        if name == "arrival":
            return _arrivals(self._centre, rng, self._slots, n)
        if name in DECIMALS:
            low, high = getattr(self._s, name)
            return rng.uniform(low, high, size=n)
        least, most = self._limits[name]
        return rng.integers(least, most + 1, size=(n, *least.shape))


def _first_completable(
    draws: _Draws, first: tuple[_Block, Flags], platform: Platform, i: int
) -> tuple[OasisJob, int]:
    """Return the first candidate that can finish on the empty machines; count the others."""
    rejected, later = 0, draws.later(i)
    block, likely = first
    while True:
        for row in map(int, np.flatnonzero(likely)):
            job = block.job(row)
            left = platform.horizon - job.arrival
            if job_work(job, platform.slot_seconds) <= left * most_workers(platform, job):
                return job, rejected + row
        rejected += len(block.worker)
        if rejected >= MOST_DRAWS:
            break
        block = next(later)
        likely = block.may_finish(platform)
    raise InputError(
        f"job {i}: none of {rejected} draws can finish on the machines within {platform.horizon} "
        "slots, "
        "expected more slots or machines (or completable=False)"
    )
