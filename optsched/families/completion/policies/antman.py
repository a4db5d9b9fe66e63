"""AntMan: guaranteed and opportunistic jobs (Xiao et al., OSDI 2020), as in Sec. 7."""

from __future__ import annotations

import numpy as np

from optsched.families.completion.instance import Platform
from optsched.families.completion.policies.common import Baseline
from optsched.numbers.streams import Streams
from optsched.problem import Prior


class AntMan(Baseline):
    """Guaranteed jobs come first, opportunistic ones take what is left. Guarantee: none.

    It preempts, so it leaves the model: its jobs run in several pieces. A drawn half of the jobs
    has guaranteed resources: it starts, in order of arrival, in the ideal configuration, and
    opportunistic jobs make room, the latest first. A guaranteed job that has waited for
    ``patience`` slots becomes opportunistic. Opportunistic jobs run in the quickest mode that fits.

    Parameters
    ----------
    share : float
        Probability that a job is a guaranteed one.
    patience : int
        Slots.
    cost : int
        Slots that a job loses whenever it starts again after it was stopped.
    """

    name = "antman"

    def __init__(self, share: float = 0.5, patience: int = 20, cost: int = 0) -> None:
        if not 0 <= share <= 1 or patience < 0 or cost < 0:
            raise ValueError(
                f"antman: share {share}, patience {patience}, cost {cost}, expected 0..1 and twice "
                "at least 0"
            )
        self.share, self.patience, self.cost = share, patience, cost

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:
        """Begin with empty servers."""
        super().start(public, prior, streams)
        self.guaranteed: set[int] = set()

    def arrived(self, j: int) -> None:
        """Draw the kind of the job."""
        if self.streams("antman guaranteed", j).random() < self.share:
            self.guaranteed.add(j)

    def impatient(self, t: int) -> bool:
        """Whether a guaranteed job has waited for too long."""
        return any(self._late(j, t) for j in self.waiting)

    def _late(self, j: int, t: int) -> bool:
        return j in self.guaranteed and t - self.waiting[j] >= self.patience

    def decide(self, t: int) -> None:
        """Start guaranteed jobs, then opportunistic ones."""
        self.guaranteed -= {j for j in self.waiting if self._late(j, t)}
        for j in [j for j in self.waiting if j in self.guaranteed]:
            modes = self.modes(j)
            ideal = modes.take(np.flatnonzero(modes.duration == modes.duration[0]))
            if not self.begin(j, t, ideal):
                self._make_room(j, t)
                self.begin(j, t, ideal)
        for j in [j for j in self.waiting if j not in self.guaranteed]:
            self.begin(j, t, self.modes(j, ideal=False))

    def _make_room(self, j: int, t: int) -> None:
        """Stop opportunistic jobs, the latest first, until the ideal configuration may fit."""
        modes = self.tasks[j].modes
        need = modes.workers[0] * self.cluster.types.worker_demand[modes.worker_type[0]]
        guests = [i for i in self.running if i not in self.guaranteed]
        could = self.free.sum(axis=0) + sum(self.running[i].load.sum(axis=0) for i in guests)
        if (could < need).any():
            return
        for i in reversed(guests):
            if (self.free.sum(axis=0) >= need).all():
                return
            self.stop(i, t)
