"""The data of family `dmlrs`, and its glossary.

Yu: Toward efficient online scheduling for large-scale distributed machine learning system (PD-ORS).
Master's thesis, Iowa State University, 2019.

    paper     here                               paper     here
    T         horizon                            E_i       job.epochs
    a_i       job.arrival                        K_i       job.chunks
    H, C_h^r  machines, machines[].capacity      M_i       job.batches_per_chunk
    alpha_i^r job.worker_demand                  tau_i     job.batch_time (slots)
    beta_i^r  job.ps_demand                      g_i       job.gradient_mb (MB)
    u_i       job.utility                        b_i^(i)   job.inner_bandwidth (Gbit/s)
    w_ih[t]   schedule.jobs[i].workers           b_i^(e)   job.outer_bandwidth (Gbit/s)
    s_ih[t]   schedule.jobs[i].ps                B_i       job.ps_bandwidth (Gbit/s)

Workers and parameter servers (PS) share machines. A worker trains 1 / (tau + 2 g / b) mini-batches
in a slot; its rate b depends on where the others are, in one of two readings of the thesis
(``locality``):

- "job", the reading of its algorithm (Fact 1): b is the inner rate if all workers and PS of the
  job sit on one machine in that slot, else the outer rate, for all of them;
- "link", the reading of its formulas: b is the inner rate for the workers on a machine that holds
  all PS of the job in that slot, else the outer rate; every link to a machine with PS counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import islice
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from optsched.families.dmlrs.instance_work import (
    MOST_WORKER_SLOTS,
    Work,
    exact_work,
    kernel_work,
    small_work,
)
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import (
    Amount,
    MachineClass,
    Units,
    ceil_multiples,
    ceil_ratio,
    ceil_tol,
    equal_machines,
    exact,
    expand,
    units_that_fit,
    usable,
)
from optsched.numbers.utility import Utility
from optsched.problem import Frozen, Schedule
from optsched.process import work_units
from optsched.scheduling.jobs import Totals, TrainingJob, transfer_slots
from optsched.scheduling.platform import (
    JobArrays,
    SlottedPlatform,
    TrainingInstance,
    check_shape,
    check_table,
    check_units,
)

Locality = Literal["job", "link"]

LARGEST_UNITS = 2**50  # below it, floats hold integers and quotients of integers round down rightly
MOST_CHUNKS = 2**13  # tables of a slot have a square of it
MOST_LINKED_CHUNKS = 2**10 - 1  # workers with the PS times those elsewhere, in a slot of a job
MOST_JOB_SLOTS, MOST_MACHINES = 2**26, 2**20
SLOT_BITS = 40  # binary digits behind the point of slots that are added up
IMPOSSIBLE = -1  # number of PS that no placement can have


class DmlrsJob(TrainingJob):
    """A job whose workers and parameter servers (PS) may share machines."""

    inner_bandwidth: PositiveFloat = Field(
        description="b_i^(i): rate between a worker and a PS on one machine, Gbit/s"
    )
    outer_bandwidth: PositiveFloat = Field(
        description="b_i^(e): rate between a worker and a PS on two machines, Gbit/s"
    )
    ps_bandwidth: PositiveFloat = Field(description="B_i: bandwidth of a parameter server, Gbit/s")
    worker_demand: tuple[Amount, ...] = Field(description="alpha_i^r of one worker, shape (R,)")
    ps_demand: tuple[Amount, ...] = Field(description="beta_i^r of one PS, shape (R,)")
    utility: Utility = Field(description="u_i of completion slot - arrival")


class Platform(SlottedPlatform):
    """A horizon and machines: all that a policy may know beforehand."""

    slot_seconds: PositiveFloat = Field(default=300.0, description="length of a slot, s")
    machines: tuple[MachineClass, ...] = Field(min_length=1)
    locality: Locality = Field(
        default="job", description="rule for a worker's rate: see the module"
    )

    @model_validator(mode="after")
    def _shapes_agree(self) -> Self:
        for c, machines in enumerate(self.machines):
            check_shape(self.resources, f"machines[{c}]: capacity", machines.capacity)
        count = sum(machines.count for machines in self.machines)
        if count > MOST_MACHINES:
            raise ValueError(f"{count} machines, expected at most {MOST_MACHINES}")
        check_table("machines", self.horizon, count, len(self.resources))
        return self

    @cached_property
    def capacity(self) -> tuple[tuple[float, ...], ...]:
        """C_h^r of every single machine, shape (H, R)."""
        return expand(self.machines)


class DmlrsInstance(TrainingInstance, Platform):
    """A platform and its jobs; a job's place in the list is its identity."""

    family: ClassVar[str] = "dmlrs"

    jobs: tuple[DmlrsJob, ...]

    @model_validator(mode="after")
    def _jobs_fit_the_platform(self) -> Self:
        self.check_jobs(self.horizon, self.resources)
        if max(1, len(self.jobs)) * self.horizon > MOST_JOB_SLOTS:
            raise ValueError(
                f"{len(self.jobs)} jobs times a horizon of {self.horizon} slots, "
                f"expected at most {MOST_JOB_SLOTS}: fewer or longer slots, or fewer jobs"
            )
        for i, job in enumerate(self.jobs):
            if job.chunks > min(MOST_CHUNKS, MOST_WORKER_SLOTS // self.horizon):
                raise ValueError(
                    f"job {i}: {job.chunks} chunks in a horizon of {self.horizon} slots, expected "
                    f"at most {MOST_CHUNKS}, and at most {MOST_WORKER_SLOTS} times the horizon"
                )
            if self.locality == "link" and job.chunks > MOST_LINKED_CHUNKS:
                raise ValueError(
                    f"job {i}: {job.chunks} chunks in the reading 'link', expected at most "
                    f"{MOST_LINKED_CHUNKS}"
                )
            if job.inner_bandwidth < job.outer_bandwidth:
                raise ValueError(
                    f"job {i}: inner_bandwidth {job.inner_bandwidth} is below "
                    f"outer_bandwidth {job.outer_bandwidth}, expected at least that"
                )
        if not math.isfinite(sum(job.utility(0) for job in self.jobs)):
            raise ValueError(
                "the utilities of all jobs are together beyond the largest float, expected a "
                "larger unit of utility"
            )
        self._check_capacity(self.machines)
        return self

    def platform(self) -> Platform:
        """Return the instance without its jobs."""
        return Platform(**{name: getattr(self, name) for name in Platform.model_fields})

    def on(self, machines: Sequence[MachineClass]) -> DmlrsInstance:
        """Return the instance on other machines; its jobs are neither checked nor weighed again."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        public = {name: fields[name] for name in Platform.model_fields}
        platform = Platform(**public | {"machines": tuple(machines)})
        self._check_capacity(platform.machines)
        made = DmlrsInstance.model_construct(**fields | {"machines": platform.machines})
        made.__dict__.update(needs=self.needs, units_of_demands=self.units_of_demands)
        return made

    def _check_capacity(self, machines: Sequence[MachineClass]) -> None:
        check_units(self.units_of_demands.capacities([c.capacity for c in machines]), LARGEST_UNITS)

    @cached_property
    def needs(self) -> tuple[Needs, ...]:
        """Work of each job, in the integers that all code uses."""
        return tuple(Needs.of(job, self.slot_seconds) for job in self.jobs)

    @cached_property
    def paces(self) -> tuple[SlotRate, ...]:
        """The fastest way to run each job on the empty machines."""
        known: dict[
            tuple[object, ...], tuple[MaxWorkers, MaxWorkers]
        ] = {}  # jobs of a trace are much alike
        found = []
        for job, needs in zip(self.jobs, self.needs, strict=True):
            key = (job.worker_demand, job.ps_demand, job.chunks, needs.ps_inner, needs.ps_outer)
            if key not in known:
                known[key] = max_workers_of(self, job, needs)
            found.append(pace_of(known[key], needs))
        return tuple(found)

    @cached_property
    def total_demand(self) -> list[Fraction]:
        """Amount x slots that the jobs request as they run fastest, by resource, shape (R,)."""
        total = Totals(len(self.resources))
        able = [
            (job, (needs.work << SLOT_BITS) // pace.work, pace)
            for job, needs, end, pace in zip(
                self.jobs, self.needs, self.earliest, self.paces, strict=True
            )
            if end is not None
        ]
        total.add(
            [slots * pace.workers for _, slots, pace in able],
            [job.worker_demand for job, _, _ in able],
        )
        total.add([slots * pace.ps for _, slots, pace in able], [j.ps_demand for j, _, _ in able])
        return [amount / (1 << SLOT_BITS) for amount in total.exact()]

    @cached_property
    def earliest(self) -> tuple[int | None, ...]:
        """A slot before which no job completes; None: it never can."""
        found: list[int | None] = []
        for i, (job, needs) in enumerate(zip(self.jobs, self.needs, strict=True)):
            linked = self.locality == "link"
            work = linked_work(self, job, needs) if linked else self.paces[i].work
            slot = job.arrival - (-needs.work // work) - 1 if work else self.horizon
            found.append(slot if slot < self.horizon else None)
        return tuple(found)

    @cached_property
    def units_of_demands(self) -> Units:
        """The integer units of workers and of PS."""
        demands = [d for job in self.jobs for d in (job.worker_demand, job.ps_demand)]
        return Units(demands, len(self.resources))

    @cached_property
    def arrays(self) -> DmlrsArrays:
        """Numpy views for the kernels."""
        return DmlrsArrays.of(self)


class Needs(NamedTuple):
    """A job's work and parameter servers (PS), as integers; see `DmlrsInstance.needs`.

    A worker at the inner rate does ``inner`` units in a slot, one at the outer rate ``outer``, and
    the job is done with ``work`` of them: `instance_work.kernel_work`.
    """

    work: int
    inner: int
    outer: int
    ps_inner: tuple[int, ...]  # PS that n = 0..K workers at the inner rate need; IMPOSSIBLE: none
    ps_outer: tuple[int, ...]

    @classmethod
    def of(cls, job: DmlrsJob, slot_seconds: float) -> Needs:
        """Compute the needs of ``job``."""
        return cls(
            *kernel_work(job_work(job, slot_seconds)),
            ps_table(job.inner_bandwidth, job),
            ps_table(job.outer_bandwidth, job),
        )

    def smallest(self, most: int) -> Work:
        """Return the work in the smallest numbers that do for ``most`` worker-slots in all."""
        return small_work(Work(self.work, self.inner, self.outer), most)


def job_work(job: DmlrsJob, slot_seconds: float) -> Work:
    """Return when ``job`` is trained, exactly; see `instance_work`."""
    inner, outer = (
        batch_slots(job, b, slot_seconds) for b in (job.inner_bandwidth, job.outer_bandwidth)
    )
    return exact_work(job.epochs * job.chunks * job.batches_per_chunk, inner, outer)


def batch_slots(job: DmlrsJob, bandwidth: float, slot_seconds: float) -> Fraction:
    """Return tau + 2 g / b: the slots that a worker takes for a mini-batch at a rate."""
    return _batch_slots(job.batch_time, job.gradient_mb, bandwidth, slot_seconds)


@lru_cache(maxsize=2**14, typed=True)  # called again and again, and fractions are slow
def _batch_slots(tau: float, gradient_mb: float, bandwidth: float, slot_seconds: float) -> Fraction:
    return exact(tau) + 2 * transfer_slots(gradient_mb, bandwidth, slot_seconds)


def ps_table(bandwidth: float, job: DmlrsJob) -> tuple[int, ...]:
    """Return ceil(n b / B), the PS that n = 0..K workers need, IMPOSSIBLE where it exceeds n.

    Workers have a PS, also where so little is sent that the tolerance would forgive it all.
    """
    return _ps_table(bandwidth, job.ps_bandwidth, job.chunks)


@lru_cache(maxsize=2**12, typed=True)
def _ps_table(bandwidth: float, ps_bandwidth: float, most: int) -> tuple[int, ...]:
    b, big_b = exact(bandwidth), exact(ps_bandwidth)
    up, down = b.numerator * big_b.denominator, b.denominator * big_b.numerator
    needed = [max(1, ceil_ratio(n * up, down)) for n in range(1, most + 1)]
    return (0, *[m if m <= n else IMPOSSIBLE for n, m in enumerate(needed, 1)])


def linked_table(job: DmlrsJob) -> tuple[tuple[int, ...], ...]:
    """Return the PS of a workers next to them and b elsewhere, for a, b = 0..K, reading "link".

    All PS sit on one machine, so that the flow is a b_in + b b_ex. IMPOSSIBLE where more than a + b
    would be needed, or a + b exceeds K.
    """
    near = exact(job.inner_bandwidth) / exact(job.ps_bandwidth)
    far = exact(job.outer_bandwidth) / exact(job.ps_bandwidth)
    rows = []
    for a in range(job.chunks + 1):
        needed = ceil_multiples(far, job.chunks - a, a * near)
        row = [max(m, 1) if max(m, 1) <= a + b else IMPOSSIBLE for b, m in enumerate(needed)]
        rows.append((*row, *[IMPOSSIBLE] * a))
    return tuple(rows)


def linked_needs(job: DmlrsJob) -> Ints:
    """Return `linked_table` as an array, and count the work on it."""
    work_units.begin(8 * work_units.HANDLED * (job.chunks + 1) ** 2)
    return np.array(linked_table(job), np.int64)


def worker_slots(job: DmlrsJob, bandwidth: float, slot_seconds: float) -> int:
    """Return ceil(E K M (tau + 2 g / b)): the worker-slots of the whole job at one rate."""
    batches = job.epochs * job.chunks * job.batches_per_chunk
    return max(1, ceil_tol(batches * batch_slots(job, bandwidth, slot_seconds)))


def usable_ps(capacity: tuple[float, ...], job: DmlrsJob, workers: int, most: int) -> int:
    """Return how many PS, at most ``most``, an empty machine holds next to ``workers``; -1: none.

    -1 also states that the workers themselves do not fit.
    """
    fits = most
    for c, a, b in zip(capacity, job.worker_demand, job.ps_demand, strict=True):
        have, each = usable(c), exact(a)
        unit = have.denominator * each.denominator  # whole numbers of it, since fractions are slow
        left = have.numerator * each.denominator - workers * each.numerator * have.denominator
        if left < 0:
            return -1
        if b > 0:
            one = exact(b)
            fits = min(fits, left * one.denominator // (unit * one.numerator))
    return fits


class SlotRate(NamedTuple):
    """The most work that the empty machines allow a job in one slot."""

    workers: int
    ps: int
    work: int  # units of `Needs`; 0: no worker runs anywhere


class MaxWorkers(NamedTuple):
    """The most workers of a job at a rate, and their PS."""

    workers: int
    ps: int


def fastest_pace(platform: Platform, job: DmlrsJob, needs: Needs) -> SlotRate:
    """Return the fastest way to run ``job`` in one slot on the empty machines: (3.2)-(3.5)."""
    return pace_of(max_workers_of(platform, job, needs), needs)


def pace_of(most: tuple[MaxWorkers, MaxWorkers], needs: Needs) -> SlotRate:
    """Return the pace of the better of two crews, at the inner and at the outer rate."""
    (n, m), (n_outer, m_outer) = most
    inner, outer = n * needs.inner, n_outer * needs.outer
    return SlotRate(n, m, inner) if inner >= outer else SlotRate(n_outer, m_outer, outer)


def max_workers_of(
    platform: Platform, job: DmlrsJob, needs: Needs
) -> tuple[MaxWorkers, MaxWorkers]:
    """Return the largest crews that empty machines hold, at the inner and at the outer rate.

    Outer placements are bounded from above: workers and parameter servers (PS) each alone. Such a
    placement uses two machines or more (on one, the rate is the inner one), so that each of them
    holds a worker or a PS; where fewer machines do, there is none.
    """
    inner = outer = MaxWorkers(0, 0)
    together = max(
        units_that_fit(c.capacity, job.worker_demand, job.chunks) for c in platform.machines
    )
    for n in range(together, 0, -1):
        m = needs.ps_inner[n]
        if m != IMPOSSIBLE and any(
            usable_ps(c.capacity, job, n, m) >= m for c in platform.machines
        ):
            inner = MaxWorkers(n, m)
            break
    sides = (job.worker_demand, job.ps_demand)
    able = (
        c.count for c in platform.machines if any(units_that_fit(c.capacity, d, 1) for d in sides)
    )
    if sum(islice(able, 2)) < 2:
        return inner, outer
    workers, servers = (_units_that_fit(platform, job, d) for d in sides)
    for n in range(workers, 0, -1):
        m = needs.ps_outer[n]
        if m != IMPOSSIBLE and m <= servers:
            return inner, MaxWorkers(n, m)
    return inner, outer


def linked_work(platform: Platform, job: DmlrsJob, needs: Needs) -> int:
    """Return the most work of a slot on the empty machines, reading "link"; 0: no worker runs.

    All PS sit on one machine, as in `linked_table`.
    """
    near, far = (
        exact(b) / exact(job.ps_bandwidth) for b in (job.inner_bandwidth, job.outer_bandwidth)
    )
    one = math.lcm(near.denominator, far.denominator)
    a, b = int(near * one), int(far * one)
    alone = [units_that_fit(c.capacity, job.worker_demand, job.chunks) for c in platform.machines]
    every = sum(c.count * n for c, n in zip(platform.machines, alone, strict=True))
    best = 0
    for c, most in zip(platform.machines, alone, strict=True):
        for colocated in range(most, -1, -1):
            servers = usable_ps(c.capacity, job, colocated, job.chunks)
            for elsewhere in range(min(job.chunks - colocated, every - most), -1, -1):
                work = colocated * needs.inner + elsewhere * needs.outer
                if work <= best:
                    break
                needed = max(1, ceil_ratio(colocated * a + elsewhere * b, one))
                if needed <= min(servers, colocated + elsewhere):
                    best = work
                    break
    return best


def _units_that_fit(platform: Platform, job: DmlrsJob, demand: tuple[float, ...]) -> int:
    """Return how many workers (or PS) of a job all empty machines hold together, at most K."""
    each = (c.count * units_that_fit(c.capacity, demand, job.chunks) for c in platform.machines)
    return min(job.chunks, sum(each))


@dataclass(frozen=True, eq=False)
class DmlrsArrays(JobArrays):
    """The instance as arrays. Demands and capacities are integers in ``resources.Units``."""

    worker_demand: Ints  # (I, R)
    ps_demand: Ints  # (I, R)
    capacity: Ints  # (H, R)
    scale: Floats  # (R,) units in one natural unit
    classes: list[list[int]]  # machines with equal capacity
    arrival: Ints  # (I,)
    chunks: Ints  # (I,)

    @classmethod
    def of(cls, inst: DmlrsInstance) -> DmlrsArrays:
        """Build the arrays of ``inst``."""
        units = inst.units_of_demands
        return cls(
            inst,
            units.demands([job.worker_demand for job in inst.jobs]),
            units.demands([job.ps_demand for job in inst.jobs]),
            units.capacities(inst.capacity),
            np.array(units.scale, float),
            equal_machines(inst.capacity),
            np.array([j.arrival for j in inst.jobs], np.int64),
            np.array([j.chunks for j in inst.jobs], np.int64),
        )


Entry = tuple[NonNegativeInt, NonNegativeInt, PositiveInt]
"""[slot, machine, number]"""


class JobSchedule(Frozen):
    """Placement of one job."""

    workers: tuple[Entry, ...] = Field(description="[slot, machine, number of workers]")
    ps: tuple[Entry, ...] = Field(description="[slot, machine, number of parameter servers]")


class DmlrsSchedule(Schedule):
    """Schedule: placement of every job; None for a job that was not admitted."""

    jobs: tuple[JobSchedule | None, ...]
