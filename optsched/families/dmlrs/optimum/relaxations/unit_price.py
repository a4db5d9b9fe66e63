"""Dantzig-Wolfe decomposition of `dmlrs` with prices per worker and slot: packings of whole slots.

Where the inner rate is far above the outer one, nearly all workers sit on the machine of their
parameter servers (PS). So rows count the workers that a job has on one machine in a slot, wherever
that is, and blocks are the slots, with *packings* as columns: how many workers of each job sit
together on one machine. The linking rows state that jobs and slots agree, as in Lagrangian
decomposition (Guignard and Kim, 1987). Outer placements share the capacity that the packings
leave, as in `relaxations/capacity`. Blocks of jobs have their schedules as columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from optsched.engine.colgen import Column, Pricing
from optsched.engine.slot_tree import SlotNode
from optsched.families.dmlrs.optimum.relaxations.capacity import (
    NEGLIGIBLE,
    CapacityRelaxation,
    oracle_steps,
)
from optsched.families.dmlrs.optimum.relaxations.slot_packing import Slots, pack_slots
from optsched.families.dmlrs.oracle.request import CompletionWindow, Request
from optsched.families.dmlrs.oracle.schedule import Best, Oracle
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units
from optsched.scheduling.board import JobPlan
from optsched.scheduling.oracle.schedule import PricedMachines


class SlotBlocks:
    """The blocks and their oracles, at one node.

    Parameters
    ----------
    capacity : CapacityRelaxation
        The same instance by prices on capacity, whose data are shared; at most `MOST_JOBS` jobs.
    """

    def __init__(self, capacity: CapacityRelaxation) -> None:
        self.by_capacity, self.inst = capacity, capacity.inst
        self.jobs, self.slots = capacity.jobs, capacity.slots
        self.requests, self.classes = capacity.requests, capacity.classes
        self.count, self.group = capacity.count, capacity.group.tolist()
        self.capacity, self.free = capacity.capacity, capacity.free
        # far more than the value of all jobs, so that small infeasibilities cut a node off as well
        best = self.inst.arrays.utility.max(axis=1, initial=0.0)
        # times the value of all jobs: the price of not running a job that must
        self.penalty = 1.0 + 100.0 * float(best.sum())
        largest = max((job.chunks for job in self.inst.jobs), default=1)
        self.oracle = Oracle(self.slots, len(self.classes), largest)
        self.load = self._loads()  # (I, N + 1, R)
        holds = (self.load[:, :, None, :] <= self.capacity).all(axis=3)
        holds &= self.load[:, :, :1] >= 0
        self.max_units = holds[:, 1:].sum(axis=1)  # (I, C) workers on the machine of their PS
        utility = self.inst.arrays.utility
        least = NEGLIGIBLE * utility.max(initial=0.0)
        most = self.load.shape[1]
        self.row = np.full((self.jobs, self.slots, most), -1)
        k = 0
        for i, end in enumerate(self.inst.earliest):
            if end is None or not self.max_units[i].any():
                continue
            for t in range(self.inst.jobs[i].arrival, self.slots):
                if utility[i, max(t, end)] > least:
                    n = int(self.max_units[i].max())
                    self.row[i, t, 1 : n + 1] = np.arange(k, k + n)
                    k += n
        self.workers = k
        self.rows = self.workers + self.free.size
        self.rhs = np.concatenate([np.zeros(self.workers), capacity.rhs])
        self.copies = np.ones(self.jobs + self.slots)
        self.at(self.root())

    def _loads(self) -> Floats:
        """Return the load of n workers on the machine of their PS, -1 where that is impossible."""
        most = max((job.chunks for job in self.inst.jobs), default=1)
        load = np.full((self.jobs, most + 1, self.capacity.shape[1]), -1.0)
        for i, q in enumerate(self.requests):
            n = np.flatnonzero(q.ps_inner >= 0)
            load[i, n] = n[:, None] * q.worker_demand + q.ps_inner[n][:, None] * q.ps_demand
        return load

    def root(self) -> SlotNode:
        """Return the node without restrictions."""
        first = [
            job.arrival if end is None else end
            for job, end in zip(self.inst.jobs, self.inst.earliest, strict=True)
        ]
        most = np.array([q.most for q in self.requests], np.int64)
        ends, upper = np.full(self.jobs, self.slots), np.repeat(most[:, None], self.slots, axis=1)
        return SlotNode(np.array(first, np.int64), ends, np.zeros_like(upper), upper)

    def at(self, node: SlotNode) -> Self:
        """Move to ``node``."""
        self.node = node
        self.equality = np.zeros(self.copies.size, bool)
        self.equality[: self.jobs] = (node.last < self.slots) | node.lower.any(axis=1)
        runs = (self.row[:, :, 1] >= 0) & (np.arange(self.slots) <= node.last[:, None])
        most = np.minimum(node.upper, self.max_units.max(axis=1, initial=0)[:, None])
        self.upper = np.ascontiguousarray(np.where(runs, most, 0).T)  # (T, I) on one machine
        return self

    def by_job(self, prices: Floats) -> Floats:
        """Return prices of n workers on the machine of their PS, shape (I, T, N + 1)."""
        known = np.append(prices[: self.workers], 0.0)
        return np.ascontiguousarray(known[self.row].cumsum(axis=2))  # -1: the last

    def by_class(self, prices: Floats) -> Floats:
        """Return prices of capacity, shape (T, R, C)."""
        return np.ascontiguousarray(prices[self.workers :].reshape(self.free.shape))

    def from_capacity(self, prices: Floats) -> Floats:
        """Return prices on capacity, by (T, R, C), and the least price of a worker at them."""
        out = np.concatenate([np.zeros(self.workers), prices])
        prices = prices.reshape(self.free.shape)
        for i in np.flatnonzero(self.max_units.any(axis=1)).tolist():
            c = np.flatnonzero(self.max_units[i])
            n = self.max_units[i, c]
            each = np.einsum("cr,trc->tc", self.load[i, n] / n[:, None], prices[:, :, c])
            for t in np.flatnonzero(self.row[i, :, 1] >= 0).tolist():
                out[self.row[i, t, 1 : self.max_units[i].max() + 1]] = each[t].min()
        return out

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Call every oracle; see `colgen.Decomposition`."""
        best = np.full(self.copies.size, -np.inf)
        columns: list[Column] = []
        worker, charged = self.by_job(prices), self.by_class(prices)
        machines = PricedMachines(charged, self.free, self.count)
        for i, request in enumerate(self.requests):
            most = int(self.max_units[i].max(initial=0))
            best[i], found = self._best_schedule(i, request, machines, duals[i], worker[i], most)
            if found is not None:
                outer = np.where(found.amount % 2 == 1, found.amount, 0)
                spread = Best(found.payoff, found.completion, outer)
                entries = self.oracle.places(request, machines, spread)
                columns.append(self.job_column(i, found.completion, found.amount, entries))
        self._packings(worker, charged, duals, best, columns)
        return Pricing(best, columns)

    def _best_schedule(
        self,
        i: int,
        request: Request,
        machines: PricedMachines,
        dual: float,
        together: Floats,
        most: int,
    ) -> tuple[float, Best | None]:
        """Return the best payoff of a job at this node, and its schedule if that beats ``dual``.

        ``together`` and ``most`` are the last fields of a `CompletionWindow`.
        """
        node = self.node
        stay_out = not self.equality[i]
        first, last = int(node.first[i]), int(min(node.last[i], self.slots - 1))
        best = None
        if self.inst.earliest[i] is not None and first <= last:
            limits = np.stack((node.lower[i], node.upper[i]))
            window = CompletionWindow(first, last, limits, together, most)
            best = self.oracle.within(request, machines, window)
            work_units.steps(oracle_steps(request, machines.free.shape))
        if best is None:
            return (0.0 if stay_out else -np.inf), None
        payoff = max(best.payoff, 0.0) if stay_out else best.payoff
        return payoff, best if best.payoff > dual else None

    def job_column(self, i: int, completion: int, amount: Ints, entries: Ints) -> Column:
        """Return the column of a schedule, placed by rows [side, slot, class, number]."""
        entries = entries[amount[entries[:, 1]] % 2 == 1]  # outer placements only
        use = np.zeros(self.rows)
        for t in np.flatnonzero((amount > 0) & (amount % 2 == 0)).tolist():
            use[self.row[i, t, 1 : amount[t] // 2 + 1]] = 1.0
        spread = self.by_capacity.placed_column(i, completion, amount, entries)
        use[self.workers + spread.rows] = spread.usage
        rows = np.flatnonzero(use)
        value = float(self.requests[i].utility[completion])
        return Column(i, value, rows, use[rows], (completion, amount), amount.tobytes())

    def _packings(
        self, worker: Floats, charged: Floats, duals: Floats, best: Floats, columns: list[Column]
    ) -> None:
        """Find the best packing of every slot; fill ``best`` and ``columns``."""
        number, group = np.zeros((2, self.slots, self.jobs), np.int64)
        value = np.ascontiguousarray(worker.transpose(1, 0, 2))
        machines = (self.load, self.capacity, self.count)
        slots = Slots(value, charged, *machines, self.upper)
        pack_slots(slots, best[self.jobs :], number, group)
        # elementary ones of a packing, for every job and slot
        work_units.steps(2_000 * int(np.count_nonzero(self.upper)))
        for t in np.flatnonzero(best[self.jobs :] > duals[self.jobs :]).tolist():
            if number[t].any():
                columns.append(self.slot_column(t, number[t], group[t]))

    def slot_column(self, t: int, number: Ints, group: Ints) -> Column:
        """Return the column of a slot where ``number`` workers of each job sit on one machine."""
        used = np.zeros(self.free.shape[1:])
        for i in np.flatnonzero(number).tolist():
            used[:, group[i]] += self.load[i, number[i]]
        use = np.zeros(self.rows)
        for i in np.flatnonzero(number).tolist():
            use[self.row[i, t, 1 : number[i] + 1]] = -1.0
        use[self.workers :].reshape(self.free.shape)[t] = used
        rows = np.flatnonzero(use)
        return Column(self.jobs + t, 0.0, rows, use[rows], number.copy())

    def patterns_of(self, plans: Mapping[int, JobPlan]) -> list[Column]:
        """Return the groups of ``plans`` on one machine, as columns."""
        number, group = np.zeros((2, self.slots, self.jobs), np.int64)
        for i, plan in plans.items():
            used: dict[int, set[int]] = {}
            for _, t, h, _ in plan.entries.tolist():
                used.setdefault(t, set()).add(h)
            for side, t, h, n in plan.entries.tolist():
                if side == 0 and len(used[t]) == 1 and self.row[i, t, 1] >= 0:
                    number[t, i] += n
                    group[t, i] = self.group[h]
        return [self.slot_column(t, number[t], group[t]) for t in range(self.slots)]
