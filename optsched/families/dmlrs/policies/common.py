"""Code shared by the baselines: machines, demands of jobs, and the steps of a slot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import cast

import numpy as np

from optsched.families.dmlrs.instance import IMPOSSIBLE, DmlrsJob, Needs, Platform
from optsched.numbers.streams import Streams
from optsched.problem import Information, Prior
from optsched.scheduling.jobs import Arrivals
from optsched.scheduling.online.pool import Counts, HeldMachines, Pool, in_units
from optsched.scheduling.online.progressive_filling import ElasticJob, compile_kernels
from optsched.scheduling.online.queues import Backlog
from optsched.scheduling.placement import Placement


@dataclass(frozen=True, eq=False)
class ArrivedJob:
    """An arrived job, as the scheduler sees it."""

    job: DmlrsJob
    needs: Needs
    worker_demand: Counts  # (R,) units of the pool
    ps_demand: Counts

    @classmethod
    def of(cls, job: DmlrsJob, slot_seconds: float) -> ArrivedJob:
        """Compute the work of ``job``."""
        needs = Needs.of(job, slot_seconds)
        return cls(job, needs, in_units(job.worker_demand), in_units(job.ps_demand))

    def work(self, held: HeldMachines) -> int:
        """Return the work done in a slot on the machines that are held."""
        rate = self.needs.outer if held.only is None else self.needs.inner
        return int(held.workers.sum()) * rate

    def request(self) -> ElasticJob | None:
        """Return the result of progressive filling; None if no placement can spread."""
        table = np.array(self.needs.ps_outer, np.int64)
        if IMPOSSIBLE in table:
            return None
        return ElasticJob(self.worker_demand, self.ps_demand, table, self.job.chunks)


class SharedMachines(Pool):
    """The machines, shared by workers and parameter servers (PS)."""

    def give_held(self, task: ArrivedJob, held: HeldMachines) -> None:
        """Take a job off its machines."""
        self.give(task.worker_demand, held.workers)
        self.give(task.ps_demand, held.ps)

    def deal(self, task: ArrivedJob, number: int) -> HeldMachines | None:
        """Place ``number`` workers and their PS round robin; None, and nothing, if not all fit."""
        m = task.needs.ps_outer[number]
        if m == IMPOSSIBLE or self.max_units(task.worker_demand, number).sum() < number:
            return None
        before, start = self.free.copy(), self.next
        workers = self.place(task.worker_demand, number)
        if self.max_units(task.ps_demand, m).sum() >= m:
            held = self.settle(task, HeldMachines(workers, self.place(task.ps_demand, m)))
            if held is not None:
                return held
        self.free, self.next = before, start
        return None

    def settle(self, task: ArrivedJob, held: HeldMachines) -> HeldMachines | None:
        """Repair placements on one machine by chance, at the inner rate, which may need more PS.

        PS are added if they fit, else workers are taken away; None (and everything
        taken off) if not one worker is left.
        """
        h = held.only
        if h is None:
            return held
        n, m = int(held.workers[h]), int(held.ps[h])
        max_units = int(self.max_units(task.ps_demand, task.job.chunks)[h])
        while n and not 0 <= task.needs.ps_inner[n] <= m + max_units:
            n -= 1
        self.give_held(task, held)
        return self._put(task, n, h) if n else None

    def alone(self, task: ArrivedJob, fewest: int, most: int) -> HeldMachines | None:
        """Place as many workers as one machine holds with their PS, on that which holds most.

        None, and nothing, if no machine holds ``fewest``; ties go to the lowest number.
        """
        for n in range(most, fewest - 1, -1):
            m = task.needs.ps_inner[n]
            if m != IMPOSSIBLE:
                load = n * task.worker_demand + m * task.ps_demand
                fits = np.flatnonzero((self.free >= load).all(axis=1))
                if len(fits):
                    return self._put(task, n, int(fits[0]))
        return None

    def _put(self, task: ArrivedJob, number: int, h: int) -> HeldMachines:
        """Put ``number`` workers and their PS on machine ``h``; they must fit."""
        workers, ps = np.zeros((2, len(self.free)), np.int64)
        workers[h], ps[h] = number, task.needs.ps_inner[number]
        self.take(task.worker_demand, workers)
        self.take(task.ps_demand, ps)
        return HeldMachines(workers, ps)


class Baseline(ABC):
    """A policy without prior knowledge that holds machines until it decides anew.

    The course of a slot: jobs arrive; :meth:`decide`; all that is held runs. A job that has been
    completed gives back its machines at the end of the slot.
    """

    name: str
    information: Information = "after"
    knows: tuple[str, ...] = ()

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Begin with an empty cluster."""
        compile_kernels()
        self.platform, self.streams = public, streams
        self.machines = SharedMachines(public.capacity)
        self.tasks: dict[int, ArrivedJob] = {}
        self.backlog = Backlog()
        self.held: dict[int, HeldMachines] = {}

    def step(self, event: Arrivals) -> dict[int, Placement]:
        """Place the workers and PS of one slot."""
        for i, job in event.jobs.items():
            task = ArrivedJob.of(cast(DmlrsJob, job), self.platform.slot_seconds)
            if self.admit(i, task):
                self.tasks[i] = task
                self.backlog.arrive(i, task.needs.work)
        if self.backlog.changed:
            self.decide()
        self.backlog.settle()
        running = {i: held.placement for i, held in self.held.items()}
        for i, held in list(self.held.items()):
            if self.backlog.work(i, self.tasks[i].work(held)):
                self.machines.give_held(self.tasks[i], held)
                del self.held[i], self.tasks[i]
        return running

    def admit(self, i: int, task: ArrivedJob) -> bool:  # noqa: ARG002
        """Decide, for good, whether job ``i`` is taken on in the slot of its arrival."""
        return True

    @abstractmethod
    def decide(self) -> None:
        """Change ``held``; called whenever a job has come or gone."""
