"""The schedulers that the paper compares with (Sec. 7).

Hadoop and Spark run first in, first out by default, YARN and Mesos dominant resource fairness.
AntMan (Xiao et al., OSDI 2020) and Tiresias (Gu et al., NSDI 2019) preempt, as the paper runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from optsched.families.completion.instance import Platform
from optsched.families.completion.policies.common import Baseline
from optsched.numbers.streams import Streams
from optsched.problem import Prior
from optsched.scheduling.online.pool import Pool, in_units
from optsched.scheduling.online.progressive_filling import ElasticJob, progressive_filling


class Fifo(Baseline):
    """Jobs run in order of arrival; the head of the line blocks. Guarantee: none.

    A job runs in its shortest mode with at most ``workers`` workers; it starts as soon as that many
    of the same type fit. With ``fewest``, every job has a number of its own, drawn from ``fewest``
    to ``workers``.
    """

    name = "fifo"

    def __init__(self, workers: int = 15, fewest: int | None = None) -> None:
        if workers < 1:
            raise ValueError(f"fifo: workers is {workers}, expected at least 1")
        if fewest is not None and not 1 <= fewest <= workers:
            raise ValueError(f"fifo: fewest is {fewest}, expected 1 to workers, {workers}")
        self.workers, self.fewest = workers, fewest

    def decide(self, t: int) -> None:
        """Start jobs from the head of the line while they fit."""
        for j in list(self.waiting):
            modes = self.modes(j, self._most(j))
            alike = modes.take((modes.workers == modes.workers[0]).nonzero()[0])
            if not self.begin(j, t, alike):
                return

    def _most(self, j: int) -> int:
        if self.fewest is None:
            return self.workers
        return int(self.streams("fifo workers", j).integers(self.fewest, self.workers + 1))


class Drf(Baseline):
    """Waiting jobs share the free capacity by dominant resource fairness. Guarantee: none.

    At every arrival and completion progressive filling hands out workers of the ideal type to the
    waiting jobs, always to the one with the least dominant share; then each starts with at most as
    many, and keeps them until it ends.
    """

    name = "drf"

    def decide(self, t: int) -> None:
        """Share the free capacity among the waiting jobs."""
        order = list(self.waiting)
        if not order:
            return
        pool = Pool(self.platform.capacity)
        scale = np.array([10**9 // int(s) for s in self.cluster.arrays.scale], np.int64)
        pool.free = np.minimum(self.free * scale, pool.capacity)
        requests = []
        for j in order:
            m = int(self.tasks[j].modes.worker_type[0])
            mask = int(self.tasks[j].modes.mask[0])
            demand = in_units(self.platform.worker_types[m].demand)
            ps = np.zeros_like(demand)
            if not self.platform.ring:
                kind = (mask & -mask).bit_length() - 1
                ps = in_units(self.platform.ps_types[kind].demand)
            most = int(self.modes(j).workers.max())
            requests.append(ElasticJob(demand, ps, np.minimum(np.arange(most + 1), 1), most))
        counts, _ = progressive_filling(pool, pool, requests)
        for j, given in zip(order, counts.sum(axis=1).tolist(), strict=True):
            if given:
                few = self.modes(j)
                self.begin(j, t, few.take(np.flatnonzero(few.workers <= given)))


class AntMan(Baseline):
    """Guaranteed jobs come first, opportunistic ones take the remaining capacity. Guarantee: none.

    It preempts, so it leaves the model: its jobs run in several pieces. A drawn half of the jobs
    has guaranteed resources: it starts, in order of arrival, in the ideal configuration, and
    opportunistic jobs are stopped, the latest first. A guaranteed job that has waited for
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
                self._free_capacity(j, t)
                self.begin(j, t, ideal)
        for j in [j for j in self.waiting if j not in self.guaranteed]:
            self.begin(j, t, self.modes(j, ideal=False))

    def _free_capacity(self, j: int, t: int) -> None:
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
        """Choose the jobs that run."""
        former = {j: self.stop(j, t) for j in list(self.running)}
        order = sorted(self.waiting, key=lambda j: (self.left[j] * self._resources(j), j))
        for j in order:
            held = former.get(j)
            if held is not None and self.resume(j, t, held):
                continue
            modes = self.modes(j)
            self.begin(j, t, modes.take(np.flatnonzero(modes.duration == modes.duration[0])))
        if not self.running:  # no ideal configuration fits: any will do
            for j in order:
                if self.begin(j, t, self.modes(j, ideal=False)):
                    break

    def _resources(self, j: int) -> int:
        modes = self.tasks[j].modes
        first = self.cluster.types.worker_demand[modes.worker_type[0]]
        share = first / self.cluster.whole
        return int(first[int(np.argmax(share))] * modes.workers[0])


BASELINES: Mapping[str, Callable[[], Baseline]] = {c.name: c for c in (Fifo, Drf, AntMan, Tiresias)}
