"""Dantzig-Wolfe decomposition of `dmlrs` with prices per worker and parameter server (PS).

Workers and PS that jobs run and those that machines host are copies of the same variables; the
linking rows state that they agree, which is Lagrangian decomposition (Guignard and Kim, 1987).
Blocks are the jobs, with their schedules as columns, and every class of machines in every slot,
with *patterns* as columns (Gilmore and Gomory, 1961): what one machine hosts. The bound is at
least as tight as that of prices on capacity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optsched.engine.colgen import Column, Pricing
from optsched.families.dmlrs.optimum.relaxations.at_nodes import NodeBlocks
from optsched.families.dmlrs.optimum.relaxations.capacity import NEGLIGIBLE, CapacityRelaxation
from optsched.families.dmlrs.oracle.request import Request
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units
from optsched.scheduling.board import JobPlan
from optsched.scheduling.oracle.patterns import STEPS, Knapsacks, best_patterns, pattern_steps
from optsched.scheduling.oracle.schedule import PricedMachines

SIDES = (0, 1)  # workers, PS
NODES = 2500  # of the search for a pattern: where prices make all jobs equally dense, few are cut
PLENTY = 1e15  # of the two stand-in resources, whose prices are those of a worker and of a PS


class UnitPriceDecomposition(NodeBlocks):
    """The blocks and their pricing subproblems, at one node.

    Parameters
    ----------
    capacity : CapacityRelaxation
        The same instance by prices on capacity, whose data are shared.
    """

    def __init__(self, capacity: CapacityRelaxation) -> None:
        super().__init__(capacity)
        arrays = self.inst.arrays
        demand = np.concatenate([arrays.worker_demand, arrays.ps_demand]).astype(float)
        self.demand = demand  # (2 I, R)
        self.max_units = self._units_that_fit()  # (2 I, C)
        total = arrays.utility.max(initial=0.0)
        self.row = np.full((2, self.jobs, self.slots, len(self.classes)), -1)
        rows = 0
        for i, end in enumerate(self.inst.earliest):
            for t in range(self.inst.jobs[i].arrival, self.slots):
                if end is None or arrays.utility[i, t] <= NEGLIGIBLE * total:
                    continue
                for c, s in ((c, s) for c in range(len(self.classes)) for s in SIDES):
                    if self.max_units[s * self.jobs + i, c]:
                        self.row[s, i, t, c] = rows
                        rows += 1
        self.rows = rows
        self.rhs = np.zeros(rows)
        self.hosts = [
            (t, c)
            for t in range(self.slots)
            for c in range(len(self.classes))
            if (self.row[:, :, t, c] >= 0).any()
        ]
        self.host_slot = np.array([t for t, _ in self.hosts], np.int64)
        self.host_class = np.array([c for _, c in self.hosts], np.int64)
        self.copies = np.concatenate([np.ones(self.jobs), self.count[self.host_class]])
        self.extended = [self._extended(q) for q in self.requests]
        resources = capacity.shape[1]
        self.free = np.full((self.slots, resources + 2, len(self.classes)), PLENTY)
        self.free[:, :resources] = capacity.free
        self.at(self.root())

    def _units_that_fit(self) -> Ints:
        """Return how many workers (PS) of each job one empty machine of each class holds."""
        most = np.array(
            [
                max(table[-1] if side else len(table) - 1 for table in (n.ps_inner, n.ps_outer))
                for side in SIDES
                for n in self.inst.needs
            ],
            float,
        )
        fits = np.repeat(np.maximum(most, 0.0)[:, None], len(self.classes), axis=1)
        for r in range(self.capacity.shape[1]):
            needs = self.demand[:, r] > 0
            held = np.floor(self.capacity[None, :, r] / self.demand[needs, r][:, None])
            fits[needs] = np.minimum(fits[needs], held)
        return fits.astype(np.int64)

    @staticmethod
    def _extended(q: Request) -> Request:
        """Return the request with two more resources: a worker itself, and a PS itself."""
        return q._replace(
            worker_demand=np.append(q.worker_demand, [1.0, 0.0]),
            ps_demand=np.append(q.ps_demand, [0.0, 1.0]),
        )

    def _limits(self) -> tuple[Ints, Ints]:
        """Return the fewest and most workers and PS on one machine of every host, (B, 2 I)."""
        node, jobs = self.node, self.jobs
        runs = node.upper[:, self.host_slot].T * (
            self.host_slot[:, None] <= np.minimum(node.last, self.slots - 1)[None, :]
        )
        upper = self.max_units[:, self.host_class].T.copy()
        there = np.concatenate([self.row[s][:, self.host_slot, self.host_class] for s in SIDES])
        upper[there.T < 0] = 0
        upper[:, :jobs] = np.minimum(upper[:, :jobs], runs)
        upper[:, jobs:] = np.minimum(upper[:, jobs:], runs)  # never more PS than workers
        return np.zeros_like(upper), upper

    def by_job(self, prices: Floats) -> Floats:
        """Return prices of workers and PS, shape (2, I, T, C)."""
        out = np.zeros(self.row.shape)
        there = self.row >= 0
        out[there] = prices[self.row[there]]
        return out

    def from_capacity(self, prices: Floats) -> Floats:
        """Return what prices on capacity, shape (T, R, C), request each worker and PS."""
        out = np.zeros(self.rows)
        for s in SIDES:
            part = self.demand[s * self.jobs : (s + 1) * self.jobs]
            unit = np.einsum("ir,trc->itc", part, prices)
            there = self.row[s] >= 0
            out[self.row[s][there]] = unit[there]
        return out

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Call every oracle; see `colgen.Decomposition`."""
        best = np.full(self.copies.size, -np.inf)
        columns: list[Column] = []
        if self.impossible:
            return Pricing(best, columns)
        units = self.by_job(prices)
        charged = np.zeros(self.free.shape)
        for i in range(self.jobs):
            charged[:, -2], charged[:, -1] = units[0, i], units[1, i]
            machines = PricedMachines(charged, self.free, self.count)
            best[i], found = self.best_schedule(i, self.extended[i], machines, float(duals[i]))
            if found is not None:
                entries = self.oracle.places(self.extended[i], machines, found)
                columns.append(self.job_column(i, found.completion, found.amount, entries))
        self._patterns(units, duals, best, columns)
        return Pricing(best, columns)

    def job_column(self, i: int, completion: int, amount: Ints, entries: Ints) -> Column:
        """Return the column of a schedule with rows [side, slot, class, number]."""
        there = self.row[entries[:, 0], i, entries[:, 1], entries[:, 2]]  # -1: has no row
        use: Any = np.bincount(there + 1, entries[:, 3], self.rows + 1)[1:]
        rows = np.flatnonzero(use)
        value = float(self.requests[i].utility[completion])
        # one worker on the machine of its PS uses what the two on equal machines use, but is
        # another mode
        return Column(i, value, rows, use[rows], (completion, amount), amount.tobytes())

    def _patterns(self, units: Floats, duals: Floats, best: Floats, columns: list[Column]) -> None:
        """Find the best pattern of every host; fill ``best`` and ``columns``."""
        if not self.hosts:
            return
        value = np.concatenate(
            [units[s][:, self.host_slot, self.host_class] for s in SIDES]
        ).T.copy()
        out = np.zeros(value.shape, np.int64)
        top = np.zeros(len(self.hosts))
        capacity = self.capacity[self.host_class]
        hosts = Knapsacks(value, self.demand, capacity, self.lower, self.upper)
        best_patterns(hosts, top, out, NODES, STEPS)
        work_units.steps(pattern_steps(self.upper))
        best[self.jobs :] = top
        total = (value * out).sum(axis=1)  # where the search was cut short, less than ``top``
        for b in np.flatnonzero((total > duals[self.jobs :]) & (total > 0)).tolist():
            columns.append(self.host_column(b, out[b]))

    def patterns_of(self, plans: Mapping[int, JobPlan]) -> list[Column]:
        """Return what the machines host in ``plans``, as columns."""
        hosted: dict[tuple[int, int], Ints] = {}
        for i, plan in plans.items():
            for side, t, h, n in plan.entries.tolist():
                pattern = hosted.setdefault((t, h), np.zeros(2 * self.jobs, np.int64))
                pattern[side * self.jobs + i] += n
        index = {host: b for b, host in enumerate(self.hosts)}
        known = ((index.get((t, self.group[h])), p) for (t, h), p in hosted.items())
        return [
            self.host_column(b, np.minimum(p, self.upper[b])) for b, p in known if b is not None
        ]

    def host_column(self, b: int, pattern: Ints) -> Column:
        """Return the column of a machine of host b with ``pattern``, shape (2 I,)."""
        k = np.flatnonzero(pattern)
        side, i = k // self.jobs, k % self.jobs
        rows = self.row[side, i, self.host_slot[b], self.host_class[b]]
        order = np.argsort(rows)
        return Column(
            self.jobs + b, 0.0, rows[order], -pattern[k][order].astype(float), pattern.copy()
        )
