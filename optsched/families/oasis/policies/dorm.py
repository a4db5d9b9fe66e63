"""Dorm, a baseline of the OASiS paper (Sec. V-A).

After Sun, Wen, Ta, Yan: Towards Distributed Machine Learning in Shared Clusters: A
Dynamically-Partitioned Approach. SMARTCOMP 2017, arXiv:1704.06738.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from optsched.families.oasis.instance import Platform
from optsched.families.oasis.policies.common import ArrivedJob, Baseline, TwoSidedCluster
from optsched.families.oasis.policies.dorm_program import Allocation, DormSide, Resizing, resize
from optsched.numbers.resources import equal_machines
from optsched.numbers.streams import Streams
from optsched.problem import Prior
from optsched.scheduling.online.pool import UNIT, Counts, HeldMachines, Pool
from optsched.scheduling.online.progressive_filling import progressive_filling, unit_shares
from optsched.scheduling.online.round_robin import first_fit


class Dorm(Baseline):
    """All jobs are admitted; an integer program re-sizes and re-places them. Guarantee: none.

    At every arrival and completion the program of :mod:`.dorm_program` maximizes the utilization of
    the cluster, while the loss of fairness against DRF and the number of running jobs that are
    touched stay bounded. It counts classes of equal machines. On the single machines, jobs that it
    does not change stay where they are; then the others, largest dominant share of a worker first
    (ties by index), fill up the machines of their classes in order of index. Units that do not fit
    there go to any other machine; the rest is left out.

    Parameters
    ----------
    theta1 : float
        Bound on the fairness loss: how far the dominant shares are from those under DRF, summed
        over jobs, as a part of the sum of the latter; >= 0. (The original bounds it as a part of
        its largest possible value.)
    theta2 : float
        Bound on the adjustment overhead: the part of the running jobs whose allocation may change,
        in [0, 1], rounded up to whole jobs.
    gap : float
        Relative gap at which a decision counts as solved, >= 0. There is no limit on time: a run
        must come out the same on any machine.
    """

    name = "dorm"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "theta1": (0.1, 0.5, 1.0, 2.0),
        "theta2": (0.1, 0.2, 0.5, 1.0),
    }

    def __init__(self, theta1: float = 1.0, theta2: float = 1.0, gap: float = 0.05) -> None:
        if not (theta1 >= 0 and 0 <= theta2 <= 1 and gap >= 0):
            raise ValueError(
                f"dorm: theta1 {theta1}, theta2 {theta2}, gap {gap}, "
                "expected theta1 >= 0, 0 <= theta2 <= 1, gap >= 0"
            )
        self.theta1, self.theta2, self.gap = theta1, theta2, gap

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:
        """Begin with an empty cluster."""
        super().start(public, prior, streams)
        self.idle = TwoSidedCluster(public)  # stays empty
        self.worker_classes = [np.array(c) for c in equal_machines(public.worker_capacity)]
        self.ps_classes = [np.array(c) for c in equal_machines(public.ps_capacity)]

    def admit(self, i: int, task: ArrivedJob, slot: int) -> bool:  # noqa: ARG002
        """Admit every job of which one worker fits on the empty cluster."""
        return self.idle.holds(task, 1) > 0

    def decide(self, slot: int) -> None:  # noqa: ARG002
        """Solve the program if a job has come or gone."""
        if not self.backlog.changed or not len(self.backlog):
            return
        order = sorted(self.backlog)
        data = self._data(order)
        new = resize(data, self.theta1, self.theta2, self.gap)
        unchanged = {i: self.held[i] for j, i in enumerate(order) if not new.changed[j]}
        self.cluster.clear()
        for i, held in unchanged.items():
            self.cluster.take(self.tasks[i], held)
        self.held = unchanged
        for j in np.lexsort((np.array(order), -data.share)):
            if new.changed[j]:
                i = order[j]
                held = self._unfold(self.tasks[i], new, j)
                if held.number:
                    self.held[i] = held

    def _unfold(self, task: ArrivedJob, new: Allocation, j: int) -> HeldMachines:
        """Put a job's workers and PS on single machines, as near as possible to its classes."""
        q, cluster, number = task.request, self.cluster, int(new.number[j])
        max_units = cluster.workers.max_units(q.worker_demand, number)
        workers = _fill(max_units, self.worker_classes, new.workers[j], number)
        max_units = cluster.servers.max_units(q.ps_demand, int(q.ps[number]))
        number = q.served(int(workers.sum()), int(max_units.sum()))
        servers = _fill(max_units, self.ps_classes, new.servers[j], int(q.ps[number]))
        held = HeldMachines(first_fit(workers, number), servers)
        cluster.take(task, held)
        return held

    def _data(self, order: list[int]) -> Resizing:
        tasks = [self.tasks[i] for i in order]
        requests = [self.tasks[i].upto(self.backlog.missing[i]) for i in order]
        held = [self.held.get(i) for i in order]
        workers, servers = self.idle.workers, self.idle.servers
        shares = [unit_shares(workers, servers, q) for q in requests]
        per_worker = np.array([t.job.worker_bandwidth / t.job.ps_bandwidth for t in tasks])
        fair, _ = progressive_filling(workers.copy(), servers.copy(), requests)
        return Resizing(
            _side(
                workers,
                self.worker_classes,
                [(q.worker_demand, q.most) for q in requests],
                [None if h is None else h.workers for h in held],
            ),
            _side(
                servers,
                self.ps_classes,
                [(q.ps_demand, int(q.ps[q.most])) for q in requests],
                [None if h is None else h.ps for h in held],
            ),
            most=np.array([q.most for q in requests]),
            ps_per_worker=per_worker,
            share=np.array(
                [(w + x * s).max() for (w, s), x in zip(shares, per_worker, strict=True)]
            ),
            fair=fair.sum(axis=1),
        )


def _side(
    pool: Pool,
    classes: Sequence[Counts],
    needs: Sequence[tuple[Counts, int]],
    held: Sequence[Counts | None],
) -> DormSide:
    """Sum one side up over classes; ``needs``: demand and most of every job; ``pool`` is empty."""

    def by_class(counts: Counts) -> list[int]:
        return [int(counts[c].sum()) for c in classes]

    nothing = np.zeros(len(pool.free), np.int64)
    return DormSide(
        demand=np.array([demand for demand, _ in needs]) / UNIT,
        capacity=np.array([pool.capacity[c].sum(axis=0, dtype=float) for c in classes]) / UNIT,
        max_units=np.minimum(
            [by_class(pool.max_units(demand, most)) for demand, most in needs],
            [[most] for _, most in needs],
        ),
        held=np.array([by_class(nothing if h is None else h) for h in held]),
        utilization=np.array([pool.shares(demand).sum() for demand, _ in needs]),
    )


def _fill(max_units: Counts, classes: Sequence[Counts], parts: Counts, number: int) -> Counts:
    """Place ``number`` units: ``parts[c]`` on the machines of class c, the rest anywhere."""
    placed = np.zeros_like(max_units)
    for members, part in zip(classes, parts, strict=True):
        placed[members] = first_fit(max_units[members], int(part))
    placed = first_fit(placed, number)
    return placed + first_fit(max_units - placed, number - int(placed.sum()))
