"""The data of family `oasis`, and its glossary.

Bao, Peng, Wu, Li: Online Job Scheduling in Distributed Machine Learning Clusters. INFOCOM 2018,
arXiv:1801.00936.

    paper     here                               paper     here
    T         horizon                            E_i       job.epochs
    a_i       job.arrival                        N_i       job.chunks
    H, K      worker_machines, ps_machines       M_i       job.batches_per_chunk
    c_h^r     worker_machines[].capacity         tau_i     job.batch_time (slots)
    c_k^r     ps_machines[].capacity             e_i       job.gradient_mb (MB)
    w_i^r     job.worker_demand                  b_i       job.worker_bandwidth (Gbit/s)
    s_i^r     job.ps_demand                      B_i       job.ps_bandwidth (Gbit/s)
    f_i       job.utility                        W_i       instance.work[i] (worker-slots)
    y_iht     schedule.jobs[i].workers           z_ikt     schedule.jobs[i].ps
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, PositiveFloat, model_validator

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import (
    Amount,
    MachineClass,
    Units,
    ceil_multiples,
    ceil_ratio,
    equal_machines,
    exact,
    expand,
    units_that_fit,
)
from optsched.numbers.utility import Utility
from optsched.problem import Frozen, Schedule
from optsched.scheduling.jobs import MB_PER_GBIT, Totals, TrainingJob, transfer_slots
from optsched.scheduling.platform import (
    JobArrays,
    SlottedPlatform,
    TrainingInstance,
    check_shape,
    check_table,
    check_units,
)

LARGEST_UNITS = 2**50  # below it, floats hold integers and quotients of integers round down rightly
LARGEST_WORK = 2**53  # worker-slots of a job: so far, floats hold every integer
MOST_PLACES = 10**7  # jobs times slots; machines of a side times resources
MOST_MACHINES = 10**6  # of a side
LARGEST_UTILITY = 1e305  # of all jobs: bounds of it are floats as well
MOST_CHUNKS = 4 * 10**6  # of all jobs


class OasisJob(TrainingJob):
    """A job with workers on one set of machines and parameter servers (PS) on another."""

    worker_bandwidth: PositiveFloat = Field(description="b_i: bandwidth of a worker, Gbit/s")
    ps_bandwidth: PositiveFloat = Field(description="B_i: bandwidth of a parameter server, Gbit/s")
    worker_demand: tuple[Amount, ...] = Field(description="w_i^r of one worker, shape (R,)")
    ps_demand: tuple[Amount, ...] = Field(description="s_i^r of one parameter server, shape (R,)")
    utility: Utility = Field(description="f_i of completion slot - arrival")


class Platform(SlottedPlatform):
    """A horizon and two sets of machines: all that a policy may know beforehand."""

    worker_machines: tuple[MachineClass, ...] = Field(min_length=1)
    ps_machines: tuple[MachineClass, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _shapes_agree(self) -> Self:
        for side in ("worker_machines", "ps_machines"):
            for c, machines in enumerate(getattr(self, side)):
                check_shape(self.resources, f"{side}[{c}]: capacity", machines.capacity)
            count = sum(machines.count for machines in getattr(self, side))
            if count > MOST_MACHINES or count * len(self.resources) > MOST_PLACES:
                raise ValueError(
                    f"{side}: {count} machines of {len(self.resources)} resources, expected at "
                    f"most {MOST_MACHINES} machines, and {MOST_PLACES} amounts"
                )
            check_table(side, self.horizon, count, len(self.resources))
        return self

    @cached_property
    def worker_capacity(self) -> tuple[tuple[float, ...], ...]:
        """c_h^r of every single worker machine, shape (H, R)."""
        return expand(self.worker_machines)

    @cached_property
    def ps_capacity(self) -> tuple[tuple[float, ...], ...]:
        """c_k^r of every single PS machine, shape (K, R)."""
        return expand(self.ps_machines)


class OasisInstance(TrainingInstance, Platform):
    """A platform and its jobs; a job's place in the list is its identity."""

    family: ClassVar[str] = "oasis"

    jobs: tuple[OasisJob, ...]

    @model_validator(mode="after")
    def _sizes_are_countable(self) -> Self:
        places, chunks = len(self.jobs) * self.horizon, sum(job.chunks for job in self.jobs)
        if max(places, self.horizon) > MOST_PLACES:
            raise ValueError(
                f"{len(self.jobs)} jobs and {self.horizon} slots, "
                f"expected at most {MOST_PLACES} for one times the other"
            )
        if chunks > MOST_CHUNKS:
            raise ValueError(f"the jobs have {chunks} chunks, expected at most {MOST_CHUNKS}")
        for i, work in enumerate(self.work):
            if work > LARGEST_WORK:
                raise ValueError(
                    f"job {i}: needs about 2**{work.bit_length() - 1} worker-slots, "
                    "expected at most 2**53"
                )
        if sum(job.utility(0) for job in self.jobs) > LARGEST_UTILITY:
            raise ValueError(
                f"the utilities at no delay add up to more than {LARGEST_UTILITY:g}, "
                "expected a larger unit of utility"
            )
        return self

    @model_validator(mode="after")
    def _jobs_fit_the_platform(self) -> Self:
        self.check_jobs(self.horizon, self.resources)
        r = self.resources.index("bandwidth") if "bandwidth" in self.resources else None
        for i, job in enumerate(self.jobs):
            if job.worker_bandwidth > job.ps_bandwidth:
                raise ValueError(
                    f"job {i}: worker_bandwidth {job.worker_bandwidth} is above "
                    f"ps_bandwidth {job.ps_bandwidth}, expected at most that"
                )
            if r is not None:
                for side, demand, rate in (
                    ("worker", job.worker_demand[r], job.worker_bandwidth),
                    ("ps", job.ps_demand[r], job.ps_bandwidth),
                ):
                    if abs(demand - rate) > 1e-9:
                        raise ValueError(
                            f"job {i}: {side}_demand of bandwidth is {demand}, "
                            f"expected {side}_bandwidth {rate}"
                        )
        for units, machines in zip(
            self.units_of_sides, (self.worker_machines, self.ps_machines), strict=True
        ):
            check_units(units.capacities([c.capacity for c in machines]), LARGEST_UNITS)
        return self

    def platform(self) -> Platform:
        """Return the instance without its jobs."""
        return Platform(**{name: getattr(self, name) for name in Platform.model_fields})

    @cached_property
    def work(self) -> tuple[int, ...]:
        """W_i = ceil(E N M (tau + 2 e / b)): worker-slots that each job needs."""
        return tuple(job_work(job, self.slot_seconds) for job in self.jobs)

    @cached_property
    def shortest(self) -> tuple[int, ...]:
        """ceil(W_i / N_i): slots that each job needs at full speed on unlimited machines."""
        return tuple(-(-w // job.chunks) for w, job in zip(self.work, self.jobs, strict=True))

    @cached_property
    def most(self) -> tuple[int, ...]:
        """The most workers that each job can have in a slot on the empty machines."""
        chunks = np.array([job.chunks for job in self.jobs], dtype=np.int64)
        workers, servers = (
            units_on_machines(machines, demands, chunks)
            for machines, demands in (
                (self.worker_machines, [job.worker_demand for job in self.jobs]),
                (self.ps_machines, [job.ps_demand for job in self.jobs]),
            )
        )
        found = np.minimum(workers, chunks).tolist()
        # b <= B: no job needs more PS than workers
        for i in np.flatnonzero(found > servers):
            found[i] = most_workers(self, self.jobs[i])
        return tuple(found)

    @cached_property
    def earliest(self) -> tuple[int | None, ...]:
        """The first slot in which each job can complete on the empty machines; None: in none."""
        runs = zip(self.jobs, self.work, self.most, strict=True)
        ends = (job.arrival - 1 - (-w // n) if n else self.horizon for job, w, n in runs)
        return tuple(end if end < self.horizon else None for end in ends)

    @cached_property
    def total_demand(self) -> tuple[list[Fraction], list[Fraction]]:
        """Amount x slots that the jobs request, of workers and of PS, each of shape (R,)."""
        return demand_totals(self.jobs, self.work, self.horizon, len(self.resources))

    def ps_needed(self, i: int) -> tuple[int, ...]:
        """Return ceil(n b_i / B_i), the PS that n workers of job i need, for n = 0..N_i."""
        return self._ps_needed[i]

    @cached_property
    def _ps_needed(self) -> tuple[tuple[int, ...], ...]:
        return tuple(ps_table(job) for job in self.jobs)

    @cached_property
    def units_of_sides(self) -> tuple[Units, Units]:
        """Return the integer units of workers and of PS."""
        n = len(self.resources)
        return (
            Units([job.worker_demand for job in self.jobs], n),
            Units([job.ps_demand for job in self.jobs], n),
        )

    @cached_property
    def arrays(self) -> OasisArrays:
        """Numpy views for the kernels."""
        return OasisArrays.of(self)


def work_of(job: OasisJob, slot_seconds: float) -> Fraction:
    """Return E N M (tau + 2 e / b) as it is, worker-slots."""
    batches = job.epochs * job.chunks * job.batches_per_chunk
    sent = 2 * transfer_slots(job.gradient_mb, job.worker_bandwidth, slot_seconds)
    return batches * (exact(job.batch_time) + sent)


def job_work(job: OasisJob, slot_seconds: float) -> int:
    """Return W = ceil(E N M (tau + 2 e / b)), worker-slots."""
    batches = job.epochs * job.chunks * job.batches_per_chunk
    return _work(batches, job.batch_time, job.gradient_mb, job.worker_bandwidth, slot_seconds)


@lru_cache(maxsize=2**15, typed=True)  # called again and again
def _work(
    batches: int, batch_time: float, gradient_mb: float, bandwidth: float, slot_seconds: float
) -> int:
    tau, e, rate, slot = map(exact, (batch_time, gradient_mb, bandwidth, slot_seconds))
    # tau + 2 e / (rate slot) in whole numbers, since fractions are slow
    each = MB_PER_GBIT.denominator * e.denominator * rate.numerator * slot.numerator
    sent = 2 * MB_PER_GBIT.numerator * e.numerator * rate.denominator * slot.denominator
    total = batches * (tau.numerator * each + sent * tau.denominator)
    return max(1, ceil_ratio(total, tau.denominator * each))


def ps_for(job: OasisJob, workers: int) -> int:
    """Return ceil(n b / B), the PS that n workers need."""
    b, big_b = exact(job.worker_bandwidth), exact(job.ps_bandwidth)
    return ceil_ratio(workers * b.numerator * big_b.denominator, b.denominator * big_b.numerator)


def ps_table(job: OasisJob) -> tuple[int, ...]:
    """Return ceil(n b / B) for n = 0..N."""
    return _ps_table(job.worker_bandwidth, job.ps_bandwidth, job.chunks)


@lru_cache(maxsize=2**15, typed=True)
def _ps_table(worker_bandwidth: float, ps_bandwidth: float, chunks: int) -> tuple[int, ...]:
    return tuple(ceil_multiples(exact(worker_bandwidth) / exact(ps_bandwidth), chunks))


def units_on_machines(
    machines: Sequence[MachineClass], demands: Sequence[tuple[float, ...]], most: Ints
) -> Ints:
    """Return how many of each demand the machines hold, at most ``most`` on each, shape (I,)."""
    fits, limit = np.tile(most, (len(machines), 1)), int(most.max(initial=1))
    for r, column in enumerate(np.array(demands).T):
        amounts, which = np.unique(column, return_inverse=True)
        for have, c in zip(fits, machines, strict=True):
            each = [
                units_that_fit((c.capacity[r],), (amount,), limit) for amount in amounts.tolist()
            ]
            np.minimum(have, np.array(each, dtype=np.int64)[which], out=have)
    return np.array([c.count for c in machines]) @ fits


def most_workers(platform: Platform, job: OasisJob) -> int:
    """Return the most workers that the job can have in a slot on the empty machines: (3)-(7)."""

    def holds(machines: Sequence[MachineClass], demand: tuple[float, ...]) -> int:
        return sum(c.count * units_that_fit(c.capacity, demand, job.chunks) for c in machines)

    workers = min(job.chunks, holds(platform.worker_machines, job.worker_demand))
    servers = holds(platform.ps_machines, job.ps_demand)
    while ps_for(job, workers) > servers:
        workers -= 1
    return workers


def demand_totals(
    jobs: Sequence[OasisJob], work: Sequence[int], horizon: int, resources: int
) -> tuple[list[Fraction], list[Fraction]]:
    """Return amount x slots that the jobs request, of workers and of PS, each of shape (R,)."""
    workers, servers = Totals(resources), Totals(resources)
    able = [
        (job, w)
        for job, w in zip(jobs, work, strict=True)
        if w <= job.chunks * (horizon - job.arrival)
    ]
    needed = []
    for job, w in able:
        b, big_b = exact(job.worker_bandwidth), exact(job.ps_bandwidth)
        up, down = b.numerator * big_b.denominator, b.denominator * big_b.numerator
        full, rest = divmod(w, job.chunks)
        needed.append(full * ceil_ratio(job.chunks * up, down) + ceil_ratio(rest * up, down))
    workers.add([w for _, w in able], [job.worker_demand for job, _ in able])
    servers.add(needed, [job.ps_demand for job, _ in able])
    return workers.exact(), servers.exact()


@dataclass(frozen=True, eq=False)
class OasisArrays(JobArrays):
    """The instance as arrays. Demands and capacities are integers in ``resources.Units``."""

    worker_demand: Ints  # (I, R)
    ps_demand: Ints  # (I, R)
    worker_capacity: Ints  # (H, R)
    ps_capacity: Ints  # (K, R)
    worker_scale: Floats  # (R,) units in one natural unit
    ps_scale: Floats  # (R,)
    worker_classes: list[list[int]]  # machines with equal capacity
    ps_classes: list[list[int]]
    arrival: Ints  # (I,)
    chunks: Ints  # (I,)
    work: Ints  # (I,)

    @classmethod
    def of(cls, inst: OasisInstance) -> OasisArrays:
        """Build the arrays of ``inst``."""
        worker_units, ps_units = inst.units_of_sides
        return cls(
            inst,
            worker_units.demands([job.worker_demand for job in inst.jobs]),
            ps_units.demands([job.ps_demand for job in inst.jobs]),
            worker_units.capacities(inst.worker_capacity),
            ps_units.capacities(inst.ps_capacity),
            np.array(worker_units.scale, float),
            np.array(ps_units.scale, float),
            equal_machines(inst.worker_capacity),
            equal_machines(inst.ps_capacity),
            np.array([j.arrival for j in inst.jobs], np.int64),
            np.array([j.chunks for j in inst.jobs], np.int64),
            np.array(inst.work, np.int64),
        )


LARGEST_NUMBER = 2**53 - 1

Place = Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]
Number = Annotated[int, Field(ge=1, le=LARGEST_NUMBER)]
Entry = tuple[Place, Place, Number]
"""[slot, machine, number]"""


class JobSchedule(Frozen):
    """Placement of one job."""

    workers: tuple[Entry, ...] = Field(description="[slot, worker machine, number of workers]")
    ps: tuple[Entry, ...] = Field(description="[slot, PS machine, number of parameter servers]")


class OasisSchedule(Schedule):
    """Schedule: placement of every job; None for a job that was not admitted."""

    jobs: tuple[JobSchedule | None, ...]
