"""Dominant resource fairness: the scheduler of Mesos and YARN."""

from __future__ import annotations

from optsched.families.dmlrs.policies.common import Baseline
from optsched.scheduling.online.filling import progressive_filling
from optsched.scheduling.online.pool import Held


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
                held = self.machines.settle(self.tasks[i], Held(workers, ps))
                if held is not None:
                    self.held[i] = held
