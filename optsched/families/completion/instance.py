"""The data of family `completion`, and its glossary.

Zhou, Pang, Zhang, Wu, Jiao, Zhong, Li: Online Scheduling Algorithm for Heterogeneous Distributed
Machine Learning Jobs. IEEE Transactions on Cloud Computing 11(2), 2023.

    paper     here                               paper     here
    T         horizon                            E_j       job.epochs
    a_j       job.arrival                        D_j       job.chunks
    w_j       job.weight                         K_j       job.batches_per_chunk
    C_h^r     servers[].capacity                 v_jm      job.batch_time[m] (slots)
    e_m^r     worker_types[m].demand             U_j^p     job.update_time[p] (slots)
    b_m       worker_types[m].bandwidth          pi_j      job.gradient_mb (MB)
    z_p^r     ps_types[p].demand                 d_j       piece.duration (slots)
    B_p       ps_types[p].bandwidth (Gbit/s)     y_jhm     piece.workers
    x_jt      piece.start                        s_jhp     piece.ps

A job completes in C = start + duration: the slots start .. C - 1 are busy. The paper numbers slots
from 1, so its objective is larger by the sum of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from optsched.base import Text
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.overflow import shown
from optsched.numbers.resources import (
    Amount,
    Closed,
    MachineClass,
    Units,
    ceil_multiples,
    ceil_tol,
    equal_machines,
    exact,
    expand,
)
from optsched.problem import Frozen, Schedule
from optsched.process.interrupts import leave_if_abandoned
from optsched.scheduling.jobs import ChunkedJob, transfer_slots
from optsched.scheduling.platform import JobsInstance, check_resources, check_shape, check_units

MOST_PS_TYPES = 60  # a set of parameter server types is a bit mask
# Limits of countable values, far above all meaningful ones. With them every product that a
# kernel forms of the instance's own numbers stays below 2**62: see docs/completion.md.
LARGEST_UNITS = 2**40  # of capacity
MOST_WORKERS = 10_000  # of a job
MOST_PS = 2**20  # that a job can need
MOST_SERVERS = 2**20
LATEST = 2**40  # slots: the horizon, and the longest that a job can take
MOST_MODES = 2**21  # worker types times PS types times localities times numbers of workers
LARGEST = 1e100  # weight, bandwidth, size; the least that is not 0 is the reciprocal
NEAR = 1e-8  # a float this close to a whole number is rounded in exact arithmetic


def _ordinary(x: float) -> float:
    if x and not 1 / LARGEST <= x <= LARGEST:
        raise ValueError(f"{x:g} is out of range, expected {1 / LARGEST:g} to {LARGEST:g}")
    return x


Measure = Annotated[PositiveFloat, AfterValidator(_ordinary)]
"""A positive number of any ordinary size."""
Count = Annotated[PositiveInt, Field(le=LATEST)]


class WorkerType(Frozen):
    """A kind of worker; a job uses workers of one kind."""

    name: Text = ""
    demand: tuple[Amount, ...] = Field(description="e_m^r of one worker, shape (R,)")
    bandwidth: Measure = Field(description="b_m, Gbit/s")


class PsType(Frozen):
    """A kind of parameter server (PS); a job uses PS of one kind."""

    name: Text = ""
    demand: tuple[Amount, ...] = Field(description="z_p^r of one PS, shape (R,)")
    bandwidth: Measure = Field(description="B_p, Gbit/s")


class CompletionJob(ChunkedJob):
    """A job that can use any kind of worker and PS, at different speeds."""

    epochs: Count = Field(description="passes over the data")
    chunks: PositiveInt = Field(
        le=MOST_WORKERS, description="data chunks, so the most workers in a slot"
    )
    batches_per_chunk: Count = Field(description="mini-batches in a chunk")
    weight: Measure = Field(description="w_j: cost of a slot of delay")
    batch_time: tuple[PositiveFloat, ...] = Field(
        description="v_jm: time of a mini-batch on a worker of each type, slots"
    )
    update_time: tuple[NonNegativeFloat, ...] = Field(
        description="U_j^p: time of an update on a PS of each type, slots; ring: one number"
    )
    gradient_mb: Annotated[NonNegativeFloat, AfterValidator(_ordinary)] = Field(
        description="pi_j: size of the gradients, MB"
    )

    @property
    def batches(self) -> int:
        """E_j D_j K_j: mini-batches to be trained."""
        return self.epochs * self.chunks * self.batches_per_chunk


class Platform(Frozen):
    """Servers, and kinds of workers and PS: all that a policy may know beforehand."""

    architecture: Literal["ps", "ring"] = Field(
        description="parameter servers, or ring all-reduce among the workers"
    )
    slot_seconds: Measure = Field(default=3600.0, description="length of a slot, s")
    horizon: PositiveInt = Field(le=LATEST, description="T: jobs arrive in slots 0..T-1")
    enforce_horizon: bool = Field(
        default=False,
        description="whether every job must end by slot T; else jobs may end as late as need be",
    )
    resources: tuple[Text, ...] = Field(min_length=1, description="names, shape (R,)")
    units: tuple[Text, ...] = Field(
        default=(), description="unit of each resource; () if there is none"
    )
    servers: tuple[MachineClass, ...] = Field(min_length=1)
    worker_types: tuple[WorkerType, ...] = Field(min_length=1)
    ps_types: tuple[PsType, ...] = Field(default=(), description="none in a ring")

    @model_validator(mode="after")
    def _shapes_agree(self) -> Self:
        check_resources(self.resources, self.units)
        for place, rows in (
            ("servers", [c.capacity for c in self.servers]),
            ("worker_types", [w.demand for w in self.worker_types]),
            ("ps_types", [p.demand for p in self.ps_types]),
        ):
            for k, row in enumerate(rows):
                what = "capacity" if place == "servers" else "demand"
                check_shape(self.resources, f"{place}[{k}]: {what}", row)
        if self.architecture == "ring" and self.ps_types:
            raise ValueError(f"ps_types has {len(self.ps_types)} entries, expected none in a ring")
        if self.architecture == "ps" and not 1 <= len(self.ps_types) <= MOST_PS_TYPES:
            raise ValueError(
                f"ps_types has {len(self.ps_types)} entries, expected 1 to {MOST_PS_TYPES}"
            )
        servers = sum(c.count for c in self.servers)
        if servers > MOST_SERVERS:
            raise ValueError(f"servers: {servers} of them, expected at most {MOST_SERVERS}")
        return self

    @property
    def ring(self) -> bool:
        """Whether the workers reduce gradients in a ring, without PS."""
        return self.architecture == "ring"

    @cached_property
    def capacity(self) -> tuple[tuple[float, ...], ...]:
        """C_h^r of every single server, shape (H, R)."""
        return expand(self.servers)

    @cached_property
    def arrays(self) -> PlatformArrays:
        """Numpy views for the kernels."""
        return PlatformArrays.of(self)

    def ps_needed(self, m: int, p: int, outside: int) -> int:
        """Return how many PS of type p a server needs for workers of type m elsewhere: (2e)(2i)."""
        b, big_b = exact(self.worker_types[m].bandwidth), exact(self.ps_types[p].bandwidth)
        return max(1, ceil_tol(outside * b / big_b))

    def batch_slots(self, job: CompletionJob, m: int, p: int, together: bool, n: int) -> Fraction:
        """Return 1 / rho: slots per mini-batch of each of n workers, (1) and (14).

        ``together`` is q: all workers and PS are on one server. ``p`` means nothing in a ring.
        """
        v, b = exact(job.batch_time[m]), self.worker_types[m].bandwidth
        send = 0 if together else 2 * transfer_slots(job.gradient_mb, b, self.slot_seconds)
        if self.ring:
            return v + (exact(job.update_time[0]) + send) * Fraction(n - 1, n)
        return v + exact(job.update_time[p]) + send

    def duration(self, job: CompletionJob, m: int, p: int, together: bool, n: int) -> int:
        """Return the least d with d n rho >= E D K, (2f)."""
        return max(1, ceil_tol(job.batches * self.batch_slots(job, m, p, together, n) / n))

    def durations(self, job: CompletionJob) -> Ints:
        """Return :meth:`duration` for all types, q and n = 1..D workers, shape (M, P, 2, D).

        In floats where they are far from a whole number, else exactly. P is 1 in a ring.
        """
        n = np.arange(1, job.chunks + 1)
        v = np.array(job.batch_time)[:, None, None, None]  # (M, 1, 1, 1)
        update = np.array(job.update_time)[None, :, None, None]
        seconds = [0.008 * job.gradient_mb / w.bandwidth for w in self.worker_types]
        send = np.zeros((len(seconds), 1, 2, 1))
        send[:, 0, 0, 0] = 2 * np.array(seconds) / self.slot_seconds  # q = 0
        share = (n - 1) / n if self.ring else 1.0
        need = job.batches * (v + (update + send) * share) / n
        rounded = np.maximum(1, np.ceil(need)).astype(np.int64)
        close = np.abs(need - np.rint(need)) <= NEAR * np.maximum(1.0, need)
        for m, p, q, k in np.argwhere(close).tolist():
            leave_if_abandoned()
            rounded[m, p, q, k] = self.duration(job, m, p, bool(q), k + 1)
        return rounded


class CompletionInstance(JobsInstance, Platform):
    """A platform and its jobs; a job's place in the list is its identity."""

    family: ClassVar[str] = "completion"

    jobs: tuple[CompletionJob, ...]

    @model_validator(mode="after")
    def _jobs_fit_the_platform(self) -> Self:
        self.check_arrivals(self.horizon)
        updates = 1 if self.ring else len(self.ps_types)
        for j, job in enumerate(self.jobs):
            if len(job.batch_time) != len(self.worker_types):
                raise ValueError(
                    f"job {j}: batch_time has {len(job.batch_time)} entries, "
                    f"expected one per worker type: {len(self.worker_types)}"
                )
            if len(job.update_time) != updates:
                expected = "1 in a ring" if self.ring else f"one per PS type: {updates}"
                raise ValueError(
                    f"job {j}: update_time has {len(job.update_time)} entries, expected {expected}"
                )
            self._countable(j)
        check_units(self.arrays.capacity, LARGEST_UNITS)
        return self

    def _countable(self, j: int) -> None:
        """Refuse a job whose durations, modes or PS are too many to be counted."""
        job = self.jobs[j]
        slowest = min(w.bandwidth for w in self.worker_types)
        send = 2 * transfer_slots(job.gradient_mb, slowest, self.slot_seconds)
        batch = exact(max(job.batch_time)) + exact(max(job.update_time)) + send
        if job.batches * batch > LATEST:
            raise ValueError(
                f"job {j}: one worker takes up to {shown(ceil_tol(job.batches * batch))} slots, "
                f"expected at most {LATEST}: longer slots"
            )
        modes = len(self.worker_types) * max(1, len(self.ps_types)) * 2 * job.chunks
        if modes > MOST_MODES:
            raise ValueError(
                f"job {j}: {job.chunks} chunks and the types of workers and PS can be combined in "
                f"{modes} ways, expected at most {MOST_MODES}"
            )
        if not self.ring:
            fastest = exact(max(w.bandwidth for w in self.worker_types))
            least = exact(min(p.bandwidth for p in self.ps_types))
            if job.chunks * fastest > MOST_PS * least:
                raise ValueError(
                    f"job {j}: {job.chunks} workers at {float(fastest):g} Gbit/s need more than "
                    f"{MOST_PS} PS at {float(least):g} Gbit/s, expected fewer"
                )

    def platform(self) -> Platform:
        """Return the instance without its jobs."""
        return Platform(**{name: getattr(self, name) for name in Platform.model_fields})

    @property
    def deadline(self) -> int | None:
        """The slot by whose beginning all jobs must have ended; None: there is none."""
        return self.horizon if self.enforce_horizon else None


@dataclass(frozen=True, eq=False)
class PlatformArrays(Closed):
    """The platform as arrays. Demands and capacities are integers in ``resources.Units``."""

    worker_demand: Ints  # (M, R) no more than the largest server has, and one unit
    ps_demand: Ints  # (P, R) likewise
    capacity: Ints  # (H, R)
    scale: Floats  # (R,) units in one natural unit
    classes: list[list[int]]  # servers with equal capacity
    ps_needed: Ints  # (M, P, most + 1): PS for k workers elsewhere

    MOST: ClassVar[int] = 64  # workers, where the jobs are not known yet

    @classmethod
    def of(cls, platform: Platform) -> PlatformArrays:
        """Build the arrays of ``platform``."""
        r = len(platform.resources)
        workers = [w.demand for w in platform.worker_types]
        servers = [p.demand for p in platform.ps_types]
        units = Units([*workers, *servers], r)
        capacity = units.capacities(platform.capacity)
        # any demand above every server's capacity fits nowhere
        enough = capacity.max(axis=0, initial=0) + 1
        most = cls.MOST
        if isinstance(platform, CompletionInstance):
            most = max((job.chunks for job in platform.jobs), default=1)
        return cls(
            np.minimum(units.demands(workers), enough),
            np.minimum(units.demands(servers), enough),
            capacity,
            np.array(units.scale, float),
            equal_machines(platform.capacity),
            needed_table(platform, most),
        )


def needed_table(platform: Platform, most: int) -> Ints:
    """Return :meth:`Platform.ps_needed` for 0..most workers elsewhere, shape (M, P, most + 1)."""
    shape = (len(platform.worker_types), len(platform.ps_types), most + 1)
    table = np.ones(shape, np.int64)
    known: dict[tuple[float, float], Ints] = {}
    for m, worker in enumerate(platform.worker_types):
        for p, server in enumerate(platform.ps_types):
            key = (worker.bandwidth, server.bandwidth)
            if key not in known:
                ratio = exact(worker.bandwidth) / exact(server.bandwidth)
                known[key] = np.maximum(1, ceil_multiples(ratio, most)).astype(np.int64)
            table[m, p] = known[key]
    return table


Entry = tuple[NonNegativeInt, Count]
"""[server, number]"""


class Piece(Frozen):
    """A time in which a job runs without a change."""

    start: NonNegativeInt = Field(le=2 * LATEST, description="first busy slot")
    duration: PositiveInt = Field(le=2 * LATEST, description="number of busy slots")
    worker_type: NonNegativeInt
    ps_type: NonNegativeInt | None = Field(description="null in a ring")
    workers: tuple[Entry, ...] = Field(description="[server, number of workers]")
    ps: tuple[Entry, ...] = Field(description="[server, number of PS]")

    @property
    def end(self) -> int:
        """The first slot after it."""
        return self.start + self.duration

    @property
    def together(self) -> bool:
        """Whether all workers and PS are on one server: q of (2d), (15a)."""
        return len({h for h, _ in (*self.workers, *self.ps)}) <= 1

    @property
    def number(self) -> int:
        """How many workers."""
        return sum(n for _, n in self.workers)


class CompletionSchedule(Schedule):
    """When and where every job runs.

    In the model a job runs in one piece. Baselines that preempt, or change the number of workers,
    leave the model: their jobs have several.
    """

    jobs: tuple[tuple[Piece, ...], ...] = Field(description="pieces of every job, in time order")
