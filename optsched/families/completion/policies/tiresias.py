"""Tiresias: a preemptive scheduler (Gu et al., NSDI 2019), as the paper runs it (Sec. 7)."""

from __future__ import annotations

import numpy as np

from optsched.families.completion.policies.common import Baseline


class Tiresias(Baseline):
    """The least remaining work times resources first; others are suspended. Guarantee: none.

    It preempts, so it leaves the model: its jobs run in several pieces. At every arrival and
    completion the jobs are ordered by their remaining mini-batches times the GPUs (or whatever the
    first resource is) of their ideal configuration, and given it as long as it fits; a job that ran
    and is chosen again stays where it is.

    Parameters
    ----------
    cost : int
        Slots that a job loses whenever it starts again after it was stopped, or elsewhere.
    """

    name = "tiresias"

    def __init__(self, cost: int = 0) -> None:
        if cost < 0:
            raise ValueError(f"tiresias: cost {cost}, expected at least 0 slots")
        self.cost = cost

    def decide(self, t: int) -> None:
        """Choose who runs."""
        former = {j: self.stop(j, t) for j in list(self.running)}
        order = sorted(self.waiting, key=lambda j: (self.left[j] * self._resources(j), j))
        for j in order:
            held = former.get(j)
            if held is not None and self.resume(j, t, held):
                continue
            modes = self.modes(j)
            self.begin(j, t, modes.take(np.flatnonzero(modes.duration == modes.duration[0])))
        if not self.running:  # the ideal configuration of nobody fits: any will do
            for j in order:
                if self.begin(j, t, self.modes(j, ideal=False)):
                    break

    def _resources(self, j: int) -> int:
        modes = self.tasks[j].modes
        first = self.cluster.types.worker_demand[modes.worker_type[0]]
        share = first / self.cluster.whole
        return int(first[int(np.argmax(share))] * modes.workers[0])
