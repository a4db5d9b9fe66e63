"""Greedy insertion and destroy-and-repair moves for large instances.

A simplified large neighborhood search (Shaw, 1998) with simulated annealing (Kirkpatrick et al.,
1983) where the pricing subproblem of `search.neighborhood` is too slow. A job pays for what it
uses at prices per class of machines, on machines that can still hold it. Its work goes to the
cheapest segments of all slots, in whole workers, as `relaxations.convexified_kernels` does in
fractions. Within a class, machines are preferred where little of the scarce resources is left
unusable, then the first ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from optsched.families.oasis.optimum.relaxations.convexified import RelaxedBlocks
from optsched.families.oasis.optimum.relaxations.convexified_kernels import (
    Scratch,
    SideDemand,
    SweepJobs,
    pop,
    push,
    unit_prices,
)
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.process import work_units
from optsched.scheduling.board import JobPlan, PlanBoard


class MachineArrays(NamedTuple):
    """One side of the cluster: H machines, class by class."""

    member: Ints  # (H,) machines
    begin: Ints  # (C + 1,) where each class begins in `member`
    free: Floats  # (T, R, H) units


class _SideDemand(NamedTuple):
    """Demand and prices of one side: a job's workers, or its PS."""

    unit: Floats  # (C, T) price of a worker
    price: Floats  # (C, R, T) price of a unit of each resource
    machines: MachineArrays
    demand: Floats  # (R,) units of a worker
    fragmentation_penalty: float  # share of the value of the remainder that is charged


@kernel
def _holds(free: Floats, h: int, demand: Floats, most: int) -> int:
    """Return how many workers (PS) a machine holds now, at most ``most``.

    ``free`` (R, H) and ``demand`` (R,) of one are in units of the resources.
    """
    for r in range(demand.size):
        d = demand[r]
        if d > 0.0:
            if free[r, h] < d:
                return 0
            if free[r, h] < d * most:
                most = int(free[r, h] / d)
    return most


@kernel
def _keep(scratch: Scratch, size: int, held: float, enough: float) -> tuple[int, float]:
    """Remove the most expensive segments not needed for ``enough``; return the rest."""
    while size > 0 and held - scratch.heap[1, 0] >= enough:
        held -= scratch.heap[1, 0]
        pop(scratch, size)
        size -= 1
    return size, held


@kernel
def _offers(t: int, s: int, mine: _SideDemand, limit: int, dearest: float, slot: Scratch) -> int:
    """Collect the cheapest places for ``limit`` workers in a slot; return how many machines.

    A machine that is full then, but for what is left of some resource, charges
    ``fragmentation_penalty`` times the value of that as well. A machine that charges ``dearest`` or
    more is skipped.
    """
    unit, price, machines, demand, fragmentation_penalty = mine
    free, size, held = machines.free[t], 0, 0.0
    for c in range(machines.begin.size - 1):
        if unit[c, s] >= dearest:
            continue
        for k in range(machines.begin[c], machines.begin[c + 1]):
            h = machines.member[k]
            n = _holds(free, h, demand, limit)
            if n == 0:
                continue
            gain = unit[c, s]
            if fragmentation_penalty > 0.0 and n < limit:
                rest = 0.0
                for r in range(demand.size):
                    rest += price[c, r, t] * (free[r, h] - n * demand[r])
                gain += fragmentation_penalty * rest / n
            if gain >= dearest or (held >= limit and gain >= slot.heap[0, 0]):
                continue
            push(slot, size, gain, float(n), h, 0.0)
            size, held = _keep(slot, size + 1, held + n, float(limit))
    if size > 0 and held > limit:
        slot.heap[1, 0] -= held - limit
    return size


@kernel(nogil=True)
def insert(
    i: int,
    jobs: SweepJobs,
    sides: tuple[SideDemand, SideDemand],
    prices: tuple[Floats, Floats],
    terms: tuple[float, float, float],
    machines: tuple[MachineArrays, MachineArrays],
    scratch: Scratch,
    slot: Scratch,
) -> tuple[float, int, Ints]:
    """Put a job in where it earns most, if it earns anything.

    Parameters
    ----------
    i : int
    jobs, sides
    prices : pair of shape (C, R, T)
        Of a unit, by class.
    terms : (float, float, float)
        Prices are multiplied by the first; how much of the remainder on a full machine is
        charged; a utility up to the last does not pay.
    machines : pair
        The free capacity changes.
    scratch, slot : Scratch
        Of all slots, and of one.

    Returns
    -------
    float
        The utility, 0 if the job stays out.
    int
        The slot in which it completes, -1 then.
    array of shape (n, 4)
        [side, slot, machine, number].
    """
    factor, fragmentation_penalty, least = terms
    nothing = np.empty((0, 4), np.int64)
    a, work, most = jobs.arrival[i], jobs.work[i], jobs.most[i]
    slots = jobs.last[i] - a + 1
    if most < 1 or slots < 1 or work > most * slots:
        return 0.0, -1, nothing
    unit_prices(i, a, slots, sides, prices, scratch)
    servers = jobs.servers[jobs.first[i] : jobs.first[i] + most + 1]
    demand = (sides[0].demand[i], sides[1].demand[i])
    worker = _SideDemand(scratch.unit[0], prices[0], machines[0], demand[0], fragmentation_penalty)
    server = _SideDemand(scratch.unit[1], prices[1], machines[1], demand[1], fragmentation_penalty)
    heap = scratch.heap
    best, completion = least, -1
    for again in range(2):  # the second time, only the segments of the best schedule
        size, held, paid = 0, 0.0, 0.0
        end = slots if again == 0 else completion + 1
        for s in range(end):
            gain = jobs.utility[i, a + s]
            if again == 0 and gain <= best:
                break
            # a worker pays its share of the PS that all of them would have
            offers = _offers(a + s, s, server, servers[most], np.inf, slot)
            ps, cheap = 0, 0.0
            for k in range(offers):
                ps += int(slot.heap[1, k])
                cheap += slot.heap[0, k] * slot.heap[1, k]
            cheap *= jobs.rate[i] / max(1, ps)
            limit = most
            while limit > 0 and servers[limit] > ps:
                limit -= 1
            if limit == 0:
                continue
            dearest = heap[0, 0] - cheap if held >= work else np.inf
            offers = _offers(a + s, s, worker, limit, dearest, slot)
            for k in range(offers):
                slope, n = slot.heap[0, k] + cheap, slot.heap[1, k]
                if held >= work and slope >= heap[0, 0]:
                    continue
                push(scratch, size, slope, n, s, float(slot.item[k]))
                size += 1
                held += n
                paid += n * slope
                while held - heap[1, 0] >= work:
                    held -= heap[1, 0]
                    paid -= heap[0, 0] * heap[1, 0]
                    pop(scratch, size)
                    size -= 1
            if again == 0 and held >= work:
                earned = gain - factor * (paid - heap[0, 0] * (held - work))
                if earned > best:
                    best, completion = earned, s
        if completion < 0:
            return 0.0, -1, nothing
    heap[1, 0] -= held - work
    number = np.zeros(completion + 1, np.int64)
    for k in range(size):
        number[scratch.item[k]] += int(heap[1, k])
    while number[completion] == 0:  # an earlier end at no higher cost
        completion -= 1
    total = size
    for s in range(completion + 1):
        total += servers[number[s]]
    rows, at = np.empty((total, 4), np.int64), 0
    for k in range(size):
        n, t, h = int(heap[1, k]), a + scratch.item[k], int(scratch.low[k])
        if n > 0:
            rows[at, 0], rows[at, 1], rows[at, 2], rows[at, 3] = 0, t, h, n
            at += 1
            for r in range(demand[0].size):
                machines[0].free[t, r, h] -= n * demand[0][r]
    for s in range(completion + 1):
        offers = 0
        if servers[number[s]] > 0:
            offers = _offers(a + s, s, server, servers[number[s]], np.inf, slot)
        for k in range(offers):
            n, t, h = int(slot.heap[1, k]), a + s, slot.item[k]
            rows[at, 0], rows[at, 1], rows[at, 2], rows[at, 3] = 1, t, h, n
            at += 1
            for r in range(demand[1].size):
                machines[1].free[t, r, h] -= n * demand[1][r]
    return jobs.utility[i, a + completion], a + completion, rows[:at].copy()


class Demands(NamedTuple):
    """Demand of one worker and of one PS of a job."""

    worker_demand: Floats  # (R,)
    ps_demand: Floats  # (R,)


class GreedySchedule(PlanBoard):
    """A cluster that is filled: which job runs where, and the free capacity.

    Parameters
    ----------
    blocks : RelaxedBlocks
    prices : array of shape (rows,)
    """

    def __init__(self, blocks: RelaxedBlocks, prices: Floats) -> None:
        self.blocks = blocks
        a = blocks.inst.arrays
        self.machines = (
            _machines(a.worker_capacity, blocks.classes[0], blocks.slots),
            _machines(a.ps_capacity, blocks.classes[1], blocks.slots),
        )
        worker, ps = blocks.sides
        demands = [Demands(*both) for both in zip(worker.demand, ps.demand, strict=True)]
        super().__init__(demands, (self.machines[0].free, self.machines[1].free))
        segments = int(blocks.jobs.work.max(initial=1) + blocks.jobs.most.max(initial=1)) + 1
        self.scratch = blocks.scratch(1, segments)
        self.slot = blocks.scratch(1, 2 + max(m.member.size for m in self.machines))
        self.least = 1e-9 * float(a.utility.max(initial=0.0))
        self.price(prices)

    def price(self, prices: Floats) -> None:
        """Go on at other prices."""
        self.prices = self.blocks.by_side(prices)

    def insert(self, i: int, factor: float, fragmentation_penalty: float = 0.0) -> bool:
        """Put job i in at ``factor`` times the prices, if it earns more than it pays."""
        blocks = self.blocks
        value, completion, entries = insert(
            i,
            blocks.jobs,
            blocks.sides,
            self.prices,
            (factor, fragmentation_penalty, self.least),
            self.machines,
            self.scratch,
            self.slot,
        )
        looked = sum(m.member.size for m in self.machines)
        # of an insertion, in addition to those for machines
        # of a machine that is looked at in a slot
        work_units.steps(30_000 + 10 * looked * float(blocks.window[i]))
        if completion < 0:
            return False
        self.plans[i] = JobPlan(value, completion, entries)
        self.value += value
        return True


class LocalSearch:
    """Moves on a board: some jobs that are in each other's way go out, and others may come in.

    Parameters
    ----------
    board : GreedySchedule
    order : list of int
        The eligible jobs, by decreasing value per cost.
    rng : Generator
    """

    def __init__(self, board: GreedySchedule, order: list[int], rng: Generator) -> None:
        self.board, self.rng = board, rng
        self.order = np.array(order, np.int64)
        self.rank = np.zeros(board.blocks.blocks)
        self.rank[self.order] = np.arange(len(order)) / max(1, len(order))
        jobs = board.blocks.jobs
        self.arrival, self.last = jobs.arrival, jobs.last.copy()
        self.runs = np.zeros(board.blocks.blocks, np.bool_)
        for i, plan in board.plans.items():
            self.runs[i], self.last[i] = True, plan.completion

    def move(self, heat: float) -> bool:
        """Change the board; a loss of about ``heat`` is accepted. Return whether it changed."""
        # work units to choose the jobs of a move
        work_units.spend(0.2)
        board, rng = self.board, self.rng
        runs = self.order[self.runs[self.order]]
        waits = self.order[~self.runs[self.order]]
        if runs.size == 0:
            return False
        center = int(rng.choice(waits if waits.size and rng.random() < 0.5 else runs))
        first, last = self.arrival[center], self.last[center]
        near = runs[(self.arrival[runs] <= last) & (self.last[runs] >= first)]
        if near.size == 0:
            return False
        out = rng.choice(near, size=min(near.size, int(rng.integers(1, 8))), replace=False)
        others = waits[(self.arrival[waits] <= last) & (board.blocks.jobs.last[waits] >= first)]
        # one that ranks lower by a tenth of all jobs is tried e times less often
        chance = np.exp(-self.rank[others] / 0.1)
        some = min(others.size, int(rng.integers(2, 10)))
        if some:
            others = rng.choice(others, size=some, replace=False, p=chance / chance.sum())
        before, back = board.value, [(i, board.remove(i)) for i in out.tolist()]
        tried = np.union1d(np.concatenate([out, others]), [] if self.runs[center] else [center])
        tried = tried.astype(np.int64)
        key = self.rank[tried] + rng.normal(0.0, 0.1, tried.size)
        terms = ((0.3, 0.0), (0.3, 1.0), (0.6, 0.5), (0.9, 1.0))
        factor, fragmentation_penalty = rng.choice(terms)
        came = [
            i
            for i in tried[np.argsort(key)].tolist()
            if board.insert(i, factor, fragmentation_penalty)
        ]
        if board.value < before + heat * math.log(max(rng.random(), 1e-300)):
            for i in came:
                board.remove(i)
            for i, plan in back:
                board.restore(i, plan)
            return False
        self.runs[out], self.last[out] = False, board.blocks.jobs.last[out]
        for i in came:
            self.runs[i], self.last[i] = True, board.plans[i].completion
        return True


def _machines(capacity: Ints, classes: list[list[int]], slots: int) -> MachineArrays:
    """Return the empty machines of a side; ``capacity`` has shape (H, R)."""
    return MachineArrays(
        np.array([h for members in classes for h in members], np.int64),
        np.cumsum([0, *map(len, classes)]).astype(np.int64),
        np.broadcast_to(capacity.T.astype(float), (slots, *capacity.T.shape)).copy(),
    )
