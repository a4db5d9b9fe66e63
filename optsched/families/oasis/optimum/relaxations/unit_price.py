"""Dantzig-Wolfe decomposition of `oasis` with prices per worker and slot.

Workers that jobs run and workers that machines host are copies of the same variables; the linking
rows state that they agree, which is Lagrangian decomposition (Guignard and Kim, 1987). Blocks are
the jobs, with their schedules as columns, and every class of machines in every slot, with
*patterns* as columns (Gilmore and Gomory, 1961), one per machine. The bound is usually, but not
always, tighter than that of prices on capacity. Branch and price uses it.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from optsched.engine.colgen import Column, Pricing
from optsched.engine.slot_tree import SlotNode
from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.relaxations.capacity import NEGLIGIBLE, SIDES, by_class
from optsched.families.oasis.optimum.relaxations.windows import (
    ConstantRun,
    window_steps,
    windowed_backtrack,
    windowed_costs,
)
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units
from optsched.scheduling.oracle.patterns import STEPS, Knapsacks, best_patterns, pattern_steps
from optsched.scheduling.oracle.schedule import new_table

NODES = 5_000_000  # of the search for a best pattern; beyond it, a bound takes its place


class Host(NamedTuple):
    """A block of machines: a class in a slot."""

    side: int
    slot: int
    group: int  # the class


class UnitPriceDecomposition:
    """The blocks and their pricing subproblems, at one node."""

    def __init__(self, inst: OasisInstance) -> None:
        self.inst, self.arrays = inst, (arrays := inst.arrays)
        self.jobs = len(inst.jobs)
        self.slots = inst.horizon
        self.demand, self.capacity, self.classes = by_class(inst)
        self.needed = [np.array(inst.ps_needed(i), np.int64) for i in range(self.jobs)]
        self.most = np.array(inst.most, np.int64)
        self.row = np.full((2, self.jobs, self.slots), -1)
        # a worker can matter: the job can finish, and earns something
        useful = arrays.utility > NEGLIGIBLE * float(arrays.utility.max(initial=0.0))
        pairs = int(useful.sum())
        self.row[:, useful] = np.arange(2 * pairs).reshape(2, pairs)
        self.rows = 2 * pairs
        self.rhs = np.zeros(self.rows)
        self.hosts = [
            Host(side, t, c)
            for side in SIDES
            for t in range(self.slots)
            if (self.row[side, :, t] >= 0).any()
            for c in range(len(self.classes[side]))
        ]
        count = [len(self.classes[host.side][host.group]) for host in self.hosts]
        self.copies = np.array([1.0] * self.jobs + count)
        # of the artificial column of a job that must complete: 100 times the value of all jobs, so
        # that a small infeasibility cuts a node off as well
        self.penalty = 1.0 + 100.0 * float(arrays.utility.max(axis=1, initial=0.0).sum())
        ends = zip(inst.work, inst.earliest, strict=True)
        size = max((w for w, end in ends if end is not None), default=1)
        self.table = new_table(self.slots + 1, size + 1)  # inf
        self.ending = np.full(self.slots, np.inf)
        self.at(self.root())

    def root(self) -> SlotNode:
        """Return the node without restrictions."""
        first = self.arrays.arrival.copy()
        upper = np.repeat(self.most[:, None], self.slots, axis=1)
        upper[self.row[0] < 0] = 0
        return SlotNode(first, np.full(self.jobs, self.slots), np.zeros_like(upper), upper)

    def at(self, node: SlotNode) -> Self:
        """Move to ``node``."""
        self.node = node
        self.equality = np.zeros(self.copies.size, bool)
        self.equality[: self.jobs] = node.last < self.slots
        return self

    def by_job(self, prices: Floats) -> tuple[Floats, Floats]:
        """Return prices of workers and PS by job and slot, each (I, T)."""
        out = []
        for side in SIDES:
            p = np.zeros((self.jobs, self.slots))
            there = self.row[side] >= 0
            p[there] = prices[self.row[side][there]]
            out.append(p)
        return out[0], out[1]

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Call every oracle; see `colgen.Decomposition`."""
        worker, ps = self.by_job(prices)
        best = np.zeros(self.copies.size)
        columns: list[Column] = []
        for i in range(self.jobs):
            best[i], column = self._job(i, worker[i], ps[i], duals[i])
            if column is not None:
                columns.append(column)
        self._patterns((worker, ps), duals, best, columns)
        return Pricing(best, columns)

    def _job(self, i: int, lam: Floats, sig: Floats, dual: float) -> tuple[float, Column | None]:
        node, inst = self.node, self.inst
        arrival = inst.jobs[i].arrival
        first, last = int(max(node.first[i], arrival)), int(min(node.last[i], self.slots - 1))
        stay_out = node.last[i] == self.slots and not node.lower[i].any()
        forced = np.flatnonzero(node.lower[i])
        if forced.size:
            first = max(first, int(forced[-1]))
        useful = np.flatnonzero(node.upper[i, : last + 1])
        last = min(last, int(useful[-1])) if useful.size else -1
        if first > last:
            return (0.0 if stay_out else -np.inf), None
        utility = self.arrays.utility[i]
        job = ConstantRun(lam, sig, self.needed[i], node.lower[i], node.upper[i], inst.work[i])
        windowed_costs(job, arrival, last, self.table, self.ending)
        work_units.steps(window_steps(arrival, last, inst.work[i]))
        payoff = utility[first : last + 1] - self.ending[first : last + 1]
        best = float(payoff.max())
        if not np.isfinite(best):
            return (0.0 if stay_out else -np.inf), None
        column = None
        if best > dual:
            completion = first + int(payoff.argmax())
            amount = np.zeros(self.slots, np.int64)
            windowed_backtrack(job, arrival, completion, self.table, self.ending, amount)
            column = self.job_column(i, completion, amount)
        return (max(best, 0.0) if stay_out else best), column

    def job_column(self, i: int, completion: int, amount: Ints) -> Column:
        """Return the column of a schedule of job i with ``amount`` workers by slot, shape (T,)."""
        t = np.flatnonzero(amount)
        rows = np.concatenate([self.row[0, i, t], self.row[1, i, t]])
        usage = np.concatenate([amount[t], self.needed[i][amount[t]]]).astype(float)
        keep = usage > 0
        value = float(self.arrays.utility[i, completion])
        return Column(i, value, rows[keep], usage[keep], (completion, amount))

    def _patterns(
        self,
        prices: tuple[Floats, Floats],
        duals: Floats,
        best: Floats,
        columns: list[Column],
    ) -> None:
        """Find the best pattern of every host; fill ``best`` and ``columns``."""
        for side in SIDES:
            mine = [b for b, host in enumerate(self.hosts) if host.side == side]
            if not mine:
                continue
            slots = [self.hosts[b].slot for b in mine]
            value = np.ascontiguousarray(prices[side][:, slots].T)
            upper = np.where((self.row[side][:, slots] >= 0).T, self.most[None, :], 0)
            capacity = self.capacity[side][[self.hosts[b].group for b in mine]]
            out = np.zeros((len(mine), self.jobs), np.int64)
            top = np.zeros(len(mine))
            lower = np.zeros_like(upper)
            knapsacks = Knapsacks(value, self.demand[side], capacity, lower, upper)
            best_patterns(knapsacks, top, out, NODES, STEPS)
            work_units.steps(pattern_steps(upper))
            for k, b in enumerate(mine):
                block = self.jobs + b
                best[block] = top[k]
                if top[k] > duals[block]:
                    columns.append(self.host_column(b, out[k]))

    def host_column(self, b: int, pattern: Ints) -> Column:
        """Return the column of a machine of block b that hosts ``pattern``, shape (I,)."""
        host = self.hosts[b]
        i = np.flatnonzero(pattern)
        rows = self.row[host.side, i, host.slot]
        return Column(self.jobs + b, 0.0, rows, -pattern[i].astype(float), (host, pattern))
