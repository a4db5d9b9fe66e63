"""Prices per worker and slot: the decomposition of family `oasis` that knows how workers pack.

Rows say that the workers (and PS) of a job in a slot sit on machines. Blocks are the jobs, with their
schedules as columns, and every class of machines in every slot, with *patterns* as columns: what one machine
hosts. Its bound is at least as tight as prices on capacity where packing matters. Nodes of a branching
tree restrict completion slots, worker numbers and single machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from optsched.branch import Split
from optsched.colgen import Column, Floats, Ints, Pricing, Relaxation
from optsched.families.oasis.instance import OasisInstance, room
from optsched.scheduling.patterns import best_patterns, windowed_backtrack, windowed_costs

SIDES = (0, 1)  # workers, PS
INTEGRAL = 1e-6


@dataclass(frozen=True)
class Node:
    """Restrictions on the schedules; completion slot T stands for "never"."""

    first: Ints  # (I,) earliest completion slot
    last: Ints  # (I,) latest completion slot; T: may stay out
    lower: Ints  # (I, T) fewest workers
    upper: Ints  # (I, T) most workers
    # (side, slot, machine) -> (lower, upper) numbers of every job on that machine
    machines: Mapping[tuple[int, int, int], tuple[Ints, Ints]] = field(default_factory=dict)


class SlotPrices:
    """The blocks and their oracles, at one node."""

    def __init__(self, inst: OasisInstance) -> None:
        self.inst, self.arrays = inst, inst.arrays
        arrays = self.arrays
        self.jobs = len(inst.jobs)
        self.slots = inst.horizon
        self.demand = [arrays.worker_demand.astype(float), arrays.ps_demand.astype(float)]
        capacity = [arrays.worker_capacity.astype(float), arrays.ps_capacity.astype(float)]
        self.classes = [arrays.worker_classes, arrays.ps_classes]
        self.capacity = [
            np.array([c[members[0]] for members in classes])
            for c, classes in zip(capacity, self.classes, strict=True)
        ]
        self.needed = [np.array(inst.ps_needed(i), np.int64) for i in range(self.jobs)]
        self.most = self._most_workers()
        self.row = np.full((2, self.jobs, self.slots), -1)
        pairs = [(i, t) for i in range(self.jobs) for t in range(self.slots) if self._useful(i, t)]
        for k, (i, t) in enumerate(pairs):
            self.row[0, i, t], self.row[1, i, t] = k, k + len(pairs)
        self.rows = 2 * len(pairs)
        self.rhs = np.zeros(self.rows)
        # machine blocks follow the jobs: (side, slot, class)
        self.hosts = [
            (side, t, c)
            for side in SIDES
            for t in range(self.slots)
            for c in range(len(self.classes[side]))
            if (self.row[side, :, t] >= 0).any()
        ]
        self.penalty = 10.0 * float(arrays.utility.max(initial=1.0)) * max(1, self.jobs)
        size = max(inst.work, default=1)
        self.table = np.full((self.slots + 1, size + 1), np.inf)
        self.ending = np.full(self.slots, np.inf)
        self.at(self.root())

    def _most_workers(self) -> Ints:
        """Return how many workers of each job the empty cluster holds in a slot, with their PS."""
        most = np.zeros(self.jobs, np.int64)
        for i, job in enumerate(self.inst.jobs):
            n = sum(room(c, job.worker_demand, job.chunks) for c in self.inst.worker_capacity)
            m = sum(room(c, job.ps_demand, job.chunks) for c in self.inst.ps_capacity)
            n = min(n, job.chunks)
            while n and self.needed[i][n] > m:
                n -= 1
            most[i] = n
        return most

    def _useful(self, i: int, t: int) -> bool:
        return bool(
            self.arrays.utility[i, t] > 0 and self.inst.jobs[i].arrival <= t and self.most[i] > 0
        )

    def root(self) -> Node:
        """Return the node without restrictions."""
        first = self.arrays.arrival.copy()
        upper = np.repeat(self.most[:, None], self.slots, axis=1)
        upper[self.row[0] < 0] = 0
        return Node(
            first, np.full(self.jobs, self.slots), np.zeros_like(upper), upper, machines={}
        )

    def at(self, node: Node) -> SlotPrices:
        """Move to ``node``."""
        self.node = node
        self.equality = np.zeros(self.jobs + len(self.hosts), bool)
        self.equality[: self.jobs] = node.last < self.slots
        self.copies = np.ones(self.equality.size)
        for b, (side, _, c) in enumerate(self.hosts):
            self.copies[self.jobs + b] = len(self.classes[side][c])
        return self

    def allows(self, column: Column) -> bool:
        """Whether the node permits a column."""
        if column.block >= self.jobs:
            return True
        i, (completion, amount) = column.block, column.choice
        node = self.node
        return bool(
            node.first[i] <= completion <= node.last[i]
            and (amount >= node.lower[i]).all()
            and (amount <= node.upper[i]).all()
        )

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
        """Ask every oracle; see `colgen.Decomposition`."""
        worker, ps = self.by_job(prices)
        best = np.zeros(self.copies.size)
        columns: list[Column] = []
        for i in range(self.jobs):
            best[i], column = self._job(i, worker[i], ps[i], duals[i])
            if column is not None:
                columns.append(column)
        self._hosts((worker, ps), duals, best, columns)
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
        windowed_costs(
            lam,
            sig,
            self.needed[i],
            node.lower[i],
            node.upper[i],
            arrival,
            last,
            inst.work[i],
            self.table,
            self.ending,
        )
        payoff = utility[first : last + 1] - self.ending[first : last + 1]
        best = float(payoff.max())
        if not np.isfinite(best):
            return (0.0 if stay_out else -np.inf), None
        column = None
        if best > dual:
            completion = first + int(payoff.argmax())
            amount = np.zeros(self.slots, np.int64)
            windowed_backtrack(
                lam,
                sig,
                self.needed[i],
                node.lower[i],
                node.upper[i],
                arrival,
                completion,
                inst.work[i],
                self.table,
                self.ending,
                amount,
            )
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

    def _hosts(
        self,
        prices: tuple[Floats, Floats],
        duals: Floats,
        best: Floats,
        columns: list[Column],
    ) -> None:
        for side in SIDES:
            mine = [b for b, host in enumerate(self.hosts) if host[0] == side]
            slots = [self.hosts[b][1] for b in mine]
            value = np.ascontiguousarray(prices[side][:, slots].T)
            there = (self.row[side][:, slots] >= 0).T
            capacity = self.capacity[side][[self.hosts[b][2] for b in mine]]
            most = np.where(there, self.most[None, :], 0)
            out = np.zeros((len(mine), self.jobs), np.int64)
            top = np.zeros(len(mine))
            best_patterns(
                value, self.demand[side], capacity, np.zeros_like(most), most, top, out
            )
            for k, b in enumerate(mine):
                block = self.jobs + b
                best[block] = top[k]
                if top[k] > duals[block]:
                    columns.append(self.host_column(b, out[k]))

    def host_column(self, b: int, pattern: Ints) -> Column:
        """Return the column of a machine of host block b that hosts ``pattern``, shape (I,)."""
        side, t, _ = self.hosts[b]
        i = np.flatnonzero(pattern)
        return Column(
            self.jobs + b, 0.0, self.row[side, i, t], -pattern[i].astype(float), pattern
        )

    def split(self, relaxation: Relaxation) -> Split | None:
        """Choose a completion slot to split, else the number of workers of a job in a slot."""
        used = [
            (c.block, *c.choice, x)
            for c, x in zip(relaxation.columns, relaxation.x, strict=False)
            if c.block < self.jobs and x > INTEGRAL
        ]
        return self._split_completion(used) or self._split_workers(used)

    def _split_completion(self, used: Sequence[tuple[int, int, Ints, float]]) -> Split | None:
        done = np.zeros((self.jobs, self.slots))  # share of the job that is completed by slot t
        for i, completion, _, x in used:
            done[i, completion:] += x
        balance = np.minimum(done, 1 - done)
        balance[balance < INTEGRAL] = 0.0
        score = balance * self.arrays.utility.max(axis=1, initial=0.0)[:, None]
        i, t = np.unravel_index(int(score.argmax()), score.shape)
        if score[i, t] <= 0:
            return None
        node = self.node
        last, first = node.last.copy(), node.first.copy()
        last[i], first[i] = t, t + 1
        what = Completion(int(i), int(t))
        return Split(what, replace(node, last=last), replace(node, first=first))

    def _split_workers(self, used: Sequence[tuple[int, int, Ints, float]]) -> Split | None:
        mean, low, high, weight = (np.zeros((self.jobs, self.slots)) for _ in range(4))
        low[:] = np.inf
        for i, _, amount, x in used:
            mean[i] += x * amount
            low[i] = np.minimum(low[i], amount)
            high[i] = np.maximum(high[i], amount)
            weight[i] += x
        low[~np.isfinite(low)] = 0.0
        spread = high - low
        if not spread.any():
            return None
        share = mean / np.maximum(weight, INTEGRAL)
        fraction = np.abs(share - np.rint(share))
        score = np.where(spread > 0, fraction + 1e-3 * spread, 0.0)
        i, t = np.unravel_index(int(score.argmax()), score.shape)
        at = int(np.clip(np.floor(share[i, t]), low[i, t], high[i, t] - 1))
        node = self.node
        upper, lower = node.upper.copy(), node.lower.copy()
        upper[i, t], lower[i, t] = at, at + 1
        what = Workers(int(i), int(t), at)
        return Split(what, replace(node, upper=upper), replace(node, lower=lower))


@dataclass(frozen=True)
class Completion:
    """Job completes by ``slot``, or later (or never)."""

    job: int
    slot: int


@dataclass(frozen=True)
class Workers:
    """Job runs at most ``at`` workers in ``slot``, or more."""

    job: int
    slot: int
    at: int
