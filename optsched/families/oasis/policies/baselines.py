"""The defaults of Hadoop and Spark (FIFO), and of YARN and Mesos (DRF): OASiS paper, Sec. V-A."""

from __future__ import annotations

from optsched.families.oasis.policies.common import ArrivedJob, Baseline, FixedNumber
from optsched.scheduling.online.pool import HeldMachines
from optsched.scheduling.online.progressive_filling import progressive_filling


class Fifo(FixedNumber):
    """First come, first served; the head of the line blocks. Guarantee: none.

    Jobs wait in the order of arrival (of one slot: by index). When all workers and PS of the first
    in line fit, it is placed round robin and keeps its machines until it is completed; no job
    overtakes it. The grid is empty: the range of the number of workers belongs to the definition.

    Parameters
    ----------
    fewest_workers, most_workers : int
        Range of the fixed number of workers. The paper prints [1, 30].
    """

    name = "fifo"

    def decide(self, slot: int) -> None:  # noqa: ARG002
        """Start jobs from the head of the line."""
        for i in self.backlog:
            if i in self.held:
                continue
            held = self.cluster.place(self.tasks[i], self.workers(i))
            if held is None:
                return
            self.held[i] = held


class Drf(Baseline):
    """All jobs are admitted and share the cluster by dominant resource fairness. Guarantee: none.

    At every arrival and completion all machines are cleared, and progressive filling hands out
    workers with the PS they need, round robin, always to the unfinished job with the least dominant
    share, until nothing fits. Shares are of the whole cluster; a resource of the worker machines
    and the same of the PS machines are two. A job gets at most N_i workers, and at most the
    worker-slots that it misses.
    """

    name = "drf"

    def admit(self, i: int, task: ArrivedJob, slot: int) -> bool:  # noqa: ARG002
        """Admit all jobs."""
        return True

    def decide(self, slot: int) -> None:  # noqa: ARG002
        """Share the cluster anew if a job has come or gone."""
        if not self.backlog.changed:
            return
        self.cluster.clear()
        order = sorted(self.backlog)
        requests = [self.tasks[i].upto(self.backlog.missing[i]) for i in order]
        workers, ps = progressive_filling(self.cluster.workers, self.cluster.servers, requests)
        held = {i: HeldMachines(workers[j], ps[j]) for j, i in enumerate(order)}
        self.held = {i: h for i, h in held.items() if h.number}
