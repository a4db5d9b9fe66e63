"""Dominant resource fairness: the default of YARN and Mesos (Sec. 7)."""

from __future__ import annotations

import numpy as np

from optsched.families.completion.policies.common import Baseline
from optsched.scheduling.online.filling import ElasticJob, progressive_filling
from optsched.scheduling.online.pool import Pool, in_units


class Drf(Baseline):
    """Waiting jobs share what is free by dominant resource fairness. Guarantee: none.

    At every arrival and completion progressive filling hands out workers of the ideal type to the
    waiting jobs, always to the one with the least dominant share; then each starts with at most as
    many, and keeps them until it ends.
    """

    name = "drf"

    def decide(self, t: int) -> None:
        """Share what is free among the waiting jobs."""
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
