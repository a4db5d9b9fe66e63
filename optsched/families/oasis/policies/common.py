"""Code shared by the four baselines: the cluster, demands of jobs, and the steps of a slot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from optsched.families.oasis.instance import OasisJob, Platform, job_work, ps_table
from optsched.numbers.streams import Streams
from optsched.problem import Information, Prior
from optsched.scheduling.jobs import Arrivals
from optsched.scheduling.online.pool import HeldMachines, Pool, in_units
from optsched.scheduling.online.progressive_filling import ElasticJob, compile_kernels
from optsched.scheduling.online.queues import Backlog
from optsched.scheduling.online.round_robin import first_fit
from optsched.scheduling.placement import Placement


@dataclass(frozen=True, eq=False)
class ArrivedJob:
    """An arrived job, as the scheduler sees it."""

    job: OasisJob
    work: int  # W_i, worker-slots
    request: ElasticJob  # demands and PS table, at most N_i workers

    @classmethod
    def of(cls, job: OasisJob, slot_seconds: float) -> ArrivedJob:
        """Compute the work of ``job``."""
        table = np.array(ps_table(job), np.int64)
        request = ElasticJob(
            in_units(job.worker_demand), in_units(job.ps_demand), table, job.chunks
        )
        return cls(job, job_work(job, slot_seconds), request)

    def upto(self, most: int) -> ElasticJob:
        """Return the request for at most ``most`` workers."""
        q = self.request
        return ElasticJob(q.worker_demand, q.ps_demand, q.ps, min(q.most, most))


class TwoSidedCluster:
    """The machines of both sides."""

    def __init__(self, platform: Platform) -> None:
        self.workers = Pool(platform.worker_capacity)
        self.servers = Pool(platform.ps_capacity)

    def clear(self) -> None:
        """Take everything off the machines; the pointers of the round robin stay."""
        self.workers.clear()
        self.servers.clear()

    def holds(self, task: ArrivedJob, most: int) -> int:
        """Return how many workers with their PS the empty cluster holds, at most ``most``."""
        q = task.upto(most)
        n = self.workers.holds(q.worker_demand, q.most)
        return q.served(n, self.servers.holds(q.ps_demand, int(q.ps[n])))

    def place(self, task: ArrivedJob, number: int) -> HeldMachines | None:
        """Place ``number`` workers and their PS round robin; None, and nothing, if not all fit."""
        q, m = task.request, int(task.request.ps[number])
        if self.workers.max_units(q.worker_demand, number).sum() < number:
            return None
        if self.servers.max_units(q.ps_demand, m).sum() < m:
            return None
        return HeldMachines(
            self.workers.place(q.worker_demand, number), self.servers.place(q.ps_demand, m)
        )

    def take(self, task: ArrivedJob, held: HeldMachines) -> None:
        """Put a job exactly where ``held`` states; it must fit."""
        self.workers.take(task.request.worker_demand, held.workers)
        self.servers.take(task.request.ps_demand, held.ps)

    def give(self, task: ArrivedJob, held: HeldMachines) -> None:
        """Take a job off its machines."""
        self.workers.give(task.request.worker_demand, held.workers)
        self.servers.give(task.request.ps_demand, held.ps)

    def shrink(self, task: ArrivedJob, held: HeldMachines, number: int) -> HeldMachines:
        """Keep ``number`` of the workers and the PS they need; those on the last machines go."""
        self.give(task, held)
        ps = int(task.request.ps[number])
        less = HeldMachines(first_fit(held.workers, number), first_fit(held.ps, ps))
        self.take(task, less)
        return less


class Baseline(ABC):
    """A policy without prior knowledge that holds machines until it decides anew.

    The course of a slot: jobs arrive; jobs that end in it give back the workers they no longer
    need; :meth:`decide`; all that is held runs. A job that has been completed gives back its
    machines at the end of the slot.
    """

    name: str
    information: Information = "after"
    knows: tuple[str, ...] = ()
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """Settings that are tried for every free parameter; see benchmarks/oasis_baseline_grid.py."""

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Begin with an empty cluster."""
        compile_kernels()
        self.platform, self.streams = public, streams
        self.cluster = TwoSidedCluster(public)
        self.tasks: dict[int, ArrivedJob] = {}
        self.backlog = Backlog()
        self.held: dict[int, HeldMachines] = {}

    def step(self, event: Arrivals) -> dict[int, Placement]:
        """Place the workers and PS of one slot."""
        for i, job in event.jobs.items():
            task = ArrivedJob.of(cast(OasisJob, job), self.platform.slot_seconds)
            if self.admit(i, task, event.slot):
                self.tasks[i] = task
                self.backlog.arrive(i, task.work)
        for i, held in self.held.items():
            if held.number > self.backlog.missing[i]:
                self.held[i] = self.cluster.shrink(self.tasks[i], held, self.backlog.missing[i])
        self.decide(event.slot)
        self.backlog.settle()
        running = {i: held.placement for i, held in self.held.items()}
        for i, held in list(self.held.items()):
            if self.backlog.work(i, held.number):
                self.cluster.give(self.tasks[i], held)
                del self.held[i], self.tasks[i]
        return running

    @abstractmethod
    def admit(self, i: int, task: ArrivedJob, slot: int) -> bool:
        """Decide, for good, whether job ``i`` is taken on in the slot of its arrival."""

    @abstractmethod
    def decide(self, slot: int) -> None:
        """Change ``held``, nowhere more workers than are missing, and none with 0 workers."""


class FixedNumber(Baseline):
    """A baseline that runs every job with a number of workers drawn once, on its arrival.

    The number is uniform on [``fewest_workers``, ``most_workers``], then at most N_i and at most
    what the empty cluster holds together with the PS they need. A job of which the cluster does
    not hold one worker is turned away.
    """

    def __init__(self, fewest_workers: int = 1, most_workers: int = 30) -> None:
        if not 1 <= fewest_workers <= most_workers:
            raise ValueError(
                f"{self.name}: workers from {fewest_workers} to {most_workers}, "
                "expected 1 <= fewest_workers <= most_workers"
            )
        self.fewest_workers, self.most_workers = fewest_workers, most_workers

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:
        """Begin with an empty cluster."""
        super().start(public, prior, streams)
        self.number: dict[int, int] = {}

    def admit(self, i: int, task: ArrivedJob, slot: int) -> bool:  # noqa: ARG002
        """Draw the number of workers; reject jobs that can never run."""
        draw = self.streams(f"{self.name} workers", i)
        drawn = int(draw.integers(self.fewest_workers, self.most_workers, endpoint=True))
        number = self.cluster.holds(task, drawn)
        if number:
            self.number[i] = number
        return number > 0

    def workers(self, i: int) -> int:
        """Return the workers of job ``i`` in this slot: its number, at most the remaining work."""
        return min(self.number[i], self.backlog.missing[i])
