"""First in, first out: the default of Hadoop and Spark."""

from __future__ import annotations

from optsched.families.dmlrs.instance import Platform
from optsched.families.dmlrs.policies.common import Baseline, Machines, Task
from optsched.numbers.streams import Streams
from optsched.problem import Prior
from optsched.scheduling.online.pool import Held


class Fifo(Baseline):
    """First come, first served; the head of the line blocks. Guarantee: none.

    Jobs wait in the order of arrival (of one slot: by index). When all workers of the first in line
    fit with the parameter servers that they need, it is placed, on one machine if possible and else
    round robin, and keeps its machines until it is completed; nobody overtakes it. Its number of
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

    def admit(self, i: int, task: Task) -> bool:
        """Draw the number of workers; turn away what can never run."""
        draw = self.streams("fifo workers", i)
        drawn = int(draw.integers(self.fewest_workers, self.most_workers, endpoint=True))
        for number in range(min(drawn, task.job.chunks), 0, -1):
            if _placed(Machines(self.platform.capacity), task, number) is not None:
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


def _placed(machines: Machines, task: Task, number: int) -> Held | None:
    """Place ``number`` workers on one machine if that is possible, else round robin."""
    return machines.alone(task, number, number) or machines.deal(task, number)
