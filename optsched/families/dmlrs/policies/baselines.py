"""Schedulers without prices.

Hadoop and Spark run first in, first out by default, Mesos and YARN dominant resource fairness;
`Colocate` is greedy, and knows nothing but locality.
"""

from __future__ import annotations

from optsched.families.dmlrs.instance import Platform
from optsched.families.dmlrs.policies.common import ArrivedJob, Baseline, SharedMachines
from optsched.numbers.streams import Streams
from optsched.problem import Prior
from optsched.scheduling.online.pool import HeldMachines
from optsched.scheduling.online.progressive_filling import progressive_filling


class Fifo(Baseline):
    """First come, first served; the head of the line blocks. Guarantee: none.

    Jobs wait in the order of arrival (of one slot: by index). When all workers of the first in line
    fit with the parameter servers that they need, it is placed, on one machine if possible and else
    round robin, and keeps its machines until it is completed; no job overtakes it. Its number of
    workers is drawn once, on its arrival, then at most K_i and at most what the empty machines
    hold; a job of which they do not hold one worker is turned away.

    Parameters
    ----------
    fewest_workers, most_workers : int
        Range of the fixed number of workers.
    """

    name = "fifo"

    def __init__(self, fewest_workers: int = 1, most_workers: int = 30) -> None:
        if not 1 <= fewest_workers <= most_workers:
            raise ValueError(
                f"fifo: workers from {fewest_workers} to {most_workers}, "
                "expected 1 <= fewest_workers <= most_workers"
            )
        self.fewest_workers, self.most_workers = fewest_workers, most_workers

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:
        """Begin with an empty cluster."""
        super().start(public, prior, streams)
        self.number: dict[int, int] = {}

    def admit(self, i: int, task: ArrivedJob) -> bool:
        """Draw the number of workers; reject jobs that can never run."""
        draw = self.streams("fifo workers", i)
        drawn = int(draw.integers(self.fewest_workers, self.most_workers, endpoint=True))
        for number in range(min(drawn, task.job.chunks), 0, -1):
            if _placed(SharedMachines(self.platform.capacity), task, number) is not None:
                self.number[i] = number
                return True
        return False

    def decide(self) -> None:
        """Start jobs from the head of the line."""
        for i in self.backlog:
            if i in self.held:
                continue
            held = _placed(self.machines, self.tasks[i], self.number[i])
            if held is None:
                return
            self.held[i] = held


def _placed(machines: SharedMachines, task: ArrivedJob, number: int) -> HeldMachines | None:
    """Place ``number`` workers on one machine if that is possible, else round robin."""
    return machines.alone(task, number, number) or machines.deal(task, number)


class Drf(Baseline):
    """All jobs are admitted and share the cluster by dominant resource fairness. Guarantee: none.

    At every arrival and completion all machines are cleared, and progressive filling hands out
    workers, with the parameter servers (PS) that they need at the outer rate, round robin, always
    to the unfinished job with the least dominant share, until nothing fits. A job that happens to
    end up on one machine runs at the inner rate, with the PS that this needs, or fewer workers.
    """

    name = "drf"

    def decide(self) -> None:
        """Share the machines anew."""
        self.machines.clear()
        self.held = {}
        requests = {i: self.tasks[i].request() for i in sorted(self.backlog)}
        known = {i: q for i, q in requests.items() if q is not None}
        given = progressive_filling(self.machines, self.machines, list(known.values()))
        for i, workers, ps in zip(known, *given, strict=True):
            if workers.any():
                held = self.machines.settle(self.tasks[i], HeldMachines(workers, ps))
                if held is not None:
                    self.held[i] = held


class Colocate(Baseline):
    """Every job runs on one machine, first come, first served with overtaking. Guarantee: none.

    At every arrival and completion the waiting jobs, in the order of arrival, take the machine that
    holds most of their workers together with the parameter servers that these need at the inner
    rate (ties: the lowest number), and keep it until they are completed. A job without a machine
    waits, and others go ahead.
    """

    name = "colocate"

    def decide(self) -> None:
        """Start every job that fits on one machine."""
        for i in self.backlog:
            if i not in self.held:
                held = self.machines.alone(self.tasks[i], 1, self.tasks[i].job.chunks)
                if held is not None:
                    self.held[i] = held
