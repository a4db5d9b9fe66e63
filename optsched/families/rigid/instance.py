"""The data of family `rigid`: parallel jobs as clusters run them. All times are whole seconds.

    symbol    here                       symbol    here
    r_i       job.arrival                b_k       sum of machines[].capacity (pooled)
    p_i       job.run                    b_hk      machines[].capacity (packed)
    q_i       job.request                s_i       schedule.start
    n_i       job.tasks                  y_ih      schedule.nodes
    d_ik      job.need, of one task      w_i       job.weight

A job runs once, without interruption, from its start s_i >= r_i until s_i + p_i. Two resource
models: `pooled` capacity, which belongs to no node; or tasks that are `packed` onto nodes, where
each task stays on one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from optsched.base import Text
from optsched.numbers.arrays import Ints
from optsched.numbers.resources import Closed
from optsched.problem import Frozen, Instance, Schedule
from optsched.scheduling.platform import check_resources, check_shape

LATEST = 2**36  # seconds, 2000 years: arrivals, run times
LARGEST = 2**40  # units of a resource in all machines together
HEAVIEST = 2**20  # weight
MOST_TASKS = 2**20
MOST_NODES = 2**16
SHORTEST = 10  # seconds: the bounded slowdown counts shorter jobs as that long

Seconds = Annotated[int, Field(ge=0, le=LATEST)]
Length = Annotated[int, Field(ge=1, le=LATEST)]
Units = Annotated[int, Field(ge=0, le=LARGEST)]
Objective = Literal["flow", "wait", "slowdown", "makespan"]


class Machine(Frozen):
    """Nodes that are equal."""

    name: Text = Field(default="", description="name of these nodes in tables")
    count: int = Field(default=1, ge=1, le=MOST_NODES, description="how many there are")
    capacity: tuple[Units, ...] = Field(description="b_hk: units of each resource of one node")


class Submission(Frozen):
    """The attributes of a job known when it is submitted: all but its run time."""

    request: Length = Field(description="q_i: requested time, s, at least the run time")
    tasks: int = Field(default=1, ge=1, le=MOST_TASKS, description="n_i: tasks, all at once")
    need: tuple[Units, ...] = Field(description="d_ik: units of each resource of one task")
    weight: int = Field(default=1, ge=1, le=HEAVIEST, description="w_i")
    user: Text = Field(default="", description="user that submitted it")
    partition: Text = Field(default="", description="queue to which it was submitted; a label")


class RigidJob(Submission):
    """A job that runs once, at constant size."""

    arrival: Seconds = Field(description="r_i: submit time, s")
    run: Length = Field(description="p_i: run time, s")

    def submission(self) -> Submission:
        """Return the data known at submission."""
        known = {name: getattr(self, name) for name in Submission.model_fields}
        return Submission.model_construct(**known)


class Platform(Frozen):
    """Machines and objective: all that a policy may know beforehand."""

    resources: tuple[Text, ...] = Field(min_length=1, description="names, shape (K,)")
    units: tuple[Text, ...] = Field(
        default=(), description="unit of each resource; () if there is none"
    )
    machines: tuple[Machine, ...] = Field(min_length=1)
    packed: bool = Field(
        default=False,
        description="whether each task runs on one node; else capacity is one pool",
    )
    objective: Objective = Field(
        default="flow",
        description="minimized: weighted mean flow time, waiting time, bounded slowdown (10 s "
        "threshold), or the makespan",
    )

    @model_validator(mode="after")
    def _shapes_agree(self) -> Self:
        check_resources(self.resources, self.units)
        for k, machine in enumerate(self.machines):
            check_shape(self.resources, f"machines[{k}]: capacity", machine.capacity)
        nodes = sum(m.count for m in self.machines)
        if nodes > MOST_NODES:
            raise ValueError(f"machines: {nodes} nodes, expected at most {MOST_NODES}")
        for name, units in zip(self.resources, self.total, strict=True):
            if units > LARGEST:
                raise ValueError(f"machines: {units} units of {name}, expected at most 2**40")
        return self

    @property
    def total(self) -> tuple[int, ...]:
        """b_k: units of each resource in all machines."""
        each = [[m.count * c for c in m.capacity] for m in self.machines]
        return tuple(map(sum, zip(*each, strict=True)))

    @cached_property
    def bins(self) -> Ints:
        """Capacity, shape (H, K): of every node, or of the pool alone."""
        if not self.packed:
            return np.array([self.total], np.int64)
        rows = [m.capacity for m in self.machines for _ in range(m.count)]
        return np.array(rows, np.int64)

    def unit_of(self, k: int) -> tuple[str, int]:
        """Return the name of one unit of a resource, and its number of units."""
        word, _, parts = (self.units[k] if self.units else "").partition(" / ")
        return word or self.resources[k], int(parts) if parts.isdigit() else 1

    def of_partition(self, k: int) -> str:
        """Return which partitions share a resource; "" without partitions."""
        *others, last = self.unit_of(k)[0].partition(" of ")[2].split(" + ")
        together = f"partitions {', '.join(others)} and {last} together"
        return together if others else f"partition {last}" * bool(last)

    def within(self, k: int, what: str) -> str:
        """Write what a resource is, such as 64 cores, with its partitions."""
        return f"{what.partition(' of ')[0]} of {self.of_partition(k)}".removesuffix(" of ")

    def amounts(self, units: Sequence[int]) -> str:
        """Write how much of each resource there is, and of which partition, without those of 0."""
        shown = (self.within(k, self.counted(k, u)) for k, u in enumerate(units) if u)
        return ", ".join(shown) or "nothing"

    def on_one(self, units: Sequence[int]) -> str:
        """Write how much one node has or one task needs, once where several partitions count it."""
        shown = (self.counted(k, u) for k, u in enumerate(units) if u)
        return ", ".join(dict.fromkeys(shown)) or "nothing"

    def requested(self, job: Submission) -> str:
        """Write what a job needs: in a pool in all, on nodes for each task."""
        tasks, need = self.demand(job)
        return f"{tasks} tasks, each with " * (tasks > 1) + self.on_one(need)

    def counted(self, k: int, units: int) -> str:
        """Write an amount of a resource in its units, such as 64 cores, without its partition."""
        word, per = self.unit_of(k)
        word = word.partition(" of ")[0]
        word, per = ("GB", 1024) if word == "MB" and units >= 1024 else (word, per)
        n = f"{units / per:g}" if units % per else f"{units // per}"
        return f"{n} {word}{'s' if word in ('core', 'GPU') and n != '1' else ''}"

    def demand(self, job: Submission) -> tuple[int, tuple[int, ...]]:
        """Return how many tasks run in `bins`, and the need of one: a pool takes the whole job."""
        if self.packed:
            return job.tasks, job.need
        return 1, tuple(job.tasks * d for d in job.need)

    def fits(self, job: Submission) -> bool:
        """Whether a job can run when nothing else does."""
        tasks, need = self.demand(job)
        used = [k for k, d in enumerate(need) if d]
        if not self.packed:
            return all(need[k] <= self.total[k] for k in used)
        hold = (
            m.count * min((m.capacity[k] // need[k] for k in used), default=tasks)
            for m in self.machines
        )
        return sum(hold) >= tasks


class RigidInstance(Platform, Instance):
    """Machines and jobs; a job's place in the list is its identity."""

    family: ClassVar[str] = "rigid"

    jobs: tuple[RigidJob, ...]
    drawn: tuple[str, ...] = Field(default=(), description="fields that were drawn, not measured")
    source: Text = Field(default="", description="where the instance comes from")

    @model_validator(mode="after")
    def _jobs_fit_the_machines(self) -> Self:
        known: dict[tuple[int, tuple[int, ...]], bool] = {}
        for i, job in enumerate(self.jobs):
            check_shape(self.resources, f"job {i}: need", job.need)
            if job.request < job.run:
                raise ValueError(
                    f"job {i}: request {job.request} is below the run time {job.run}, expected at "
                    "least that"
                )
            key = (job.tasks, job.need)
            if key not in known:
                known[key] = self.fits(job)
            if not known[key]:
                raise ValueError(
                    f"job {i}: {job.tasks} tasks of {list(job.need)} never fit on the machines, "
                    "expected a job that they can run"
                )
        return self

    def platform(self) -> Platform:
        """Return the instance without its jobs."""
        return Platform(**{name: getattr(self, name) for name in Platform.model_fields})

    @cached_property
    def weight(self) -> int:
        """Sum of the weights, by which means are divided; 1 without jobs, or for the makespan."""
        return 1 if self.objective == "makespan" else max(1, sum(job.weight for job in self.jobs))

    @cached_property
    def arrays(self) -> JobArrays:
        """Numpy views for the kernels."""
        demands = [self.demand(job) for job in self.jobs]
        need = np.array([d for _, d in demands], np.int64).reshape(-1, len(self.resources))
        tasks = np.array([n for n, _ in demands], np.int64)

        def column(name: str) -> Ints:
            return np.array([getattr(job, name) for job in self.jobs], np.int64)

        arrival, run, weight = map(column, ("arrival", "run", "weight"))
        return JobArrays(arrival, run, weight, tasks, need, self.bins)


@dataclass(frozen=True, eq=False)
class JobArrays(Closed):
    """Jobs and machines as arrays."""

    arrival: Ints
    run: Ints
    weight: Ints
    tasks: Ints
    need: Ints  # (n, K) of one task; in a pool of the whole job
    bins: Ints  # (H, K)

    @property
    def demand(self) -> Ints:
        """Units of each resource that a job takes in all, shape (n, K)."""
        taken: Ints = self.need * self.tasks[:, None]
        return taken

    @property
    def total(self) -> Ints:
        """b_k, shape (K,)."""
        capacity: Ints = self.bins.sum(axis=0)
        return capacity


class Cost:
    """Cost of a job if it starts at s: weight * max(floor, s - r + shift) / unit.

    Attributes
    ----------
    shift, floor, unit : int
    """

    def __init__(self, objective: Objective, job: RigidJob) -> None:
        self.weight = 0 if objective == "makespan" else job.weight
        self.arrival = job.arrival
        self.shift = 0 if objective == "wait" else job.run
        self.unit = max(job.run, SHORTEST) if objective == "slowdown" else 1
        self.floor = self.unit if objective == "slowdown" else 0

    def at(self, start: int) -> Fraction:
        """Return the cost of a start."""
        return Fraction(self.weight * max(self.floor, start - self.arrival + self.shift), self.unit)


Placed = tuple[Annotated[int, Field(ge=0, le=MOST_NODES)], Annotated[int, Field(ge=1)]]
"""[node, number of tasks]"""


class RigidSchedule(Schedule):
    """When every job starts, and on which nodes."""

    start: tuple[Annotated[int, Field(ge=0, le=2**62)] | None, ...] = Field(
        description="s_i: second in which each job starts; null: never"
    )
    nodes: tuple[tuple[Placed, ...], ...] = Field(
        default=(), description="y_ih: [node, number of tasks] of each job; () in a pool"
    )
