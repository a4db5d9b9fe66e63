"""Schedules of large instances: jobs are put on single machines one by one, and taken out again.

A job pays for what it uses at prices of classes; machines that cannot hold it any more are not
there for it. Its work is distributed over slots as `prices.relaxed` does it, in whole workers: from
cheap segments to dear ones. Within a class, machines are filled that the job leaves without a rest
of what is scarce, then the first ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.oasis.optimum.prices.relaxed import (
    Jobs,
    RelaxedBlocks,
    Scratch,
    Side,
    next_class,
    pop,
    push,
    unit_prices,
)
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.process import effort
from optsched.scheduling.board import Plan, book

MACHINE_STEPS = 0.5  # of a machine that is looked at in a slot


class Machines(NamedTuple):
    """One side of the cluster: H machines, class by class."""

    member: Ints  # (H,) machines
    begin: Ints  # (C + 1,) where each class begins in `member`
    free: Floats  # (T, R, H) units


@kernel
def _holds(free: Floats, h: int, demand: Floats, most: int) -> int:
    """Return how many workers (PS) a machine holds now, at most ``most``; ``free`` is (R, H)."""
    for r in range(demand.size):
        d = demand[r]
        if d > 0.0:
            if free[r, h] < d:
                return 0
            if free[r, h] < d * most:
                most = int(free[r, h] / d)
    return most


@kernel
def _room(machines: Machines, t: int, c: int, demand: Floats, most: int) -> int:
    """Return how many workers (PS) the machines of a class hold in a slot, at most ``most``."""
    free, n = machines.free[t], 0
    for k in range(machines.begin[c], machines.begin[c + 1]):
        n += _holds(free, machines.member[k], demand, most - n)
        if n >= most:
            break
    return n


@kernel
def _put(
    machines: Machines, t: int, c: int, demand: Floats, rows: Ints, at: int, number: int
) -> int:
    """Write rows [., slot, machine, number] for ``number`` workers (PS); return where they end."""
    free = machines.free[t]
    for rest in range(2):
        for k in range(machines.begin[c], machines.begin[c + 1]):
            if number == 0:
                return at
            h = machines.member[k]
            n = _holds(free, h, demand, number)
            if n == 0:
                continue
            if rest == 0:  # first those that it leaves full
                full = False
                for r in range(demand.size):
                    full = full or (demand[r] > 0.0 and free[r, h] == n * demand[r])
                if not full:
                    continue
            rows[at, 1], rows[at, 2], rows[at, 3] = t, h, n
            for r in range(demand.size):
                free[r, h] -= n * demand[r]
            number -= n
            at += 1
    return at


@kernel(nogil=True)
def insert(
    i: int,
    jobs: Jobs,
    sides: tuple[Side, Side],
    prices: tuple[Floats, Floats],
    factor: float,
    machines: tuple[Machines, Machines],
    least: float,
    scratch: Scratch,
) -> tuple[float, int, Ints]:
    """Put a job in where it earns most, if it earns anything.

    Parameters
    ----------
    i : int
    jobs, sides
    prices : pair of shape (C, R, T)
        Of a unit, by class.
    factor : float
        Prices are multiplied by it.
    machines : pair
        What is free changes.
    least : float
        A utility up to this is not worth it.
    scratch : Scratch

    Returns
    -------
    float
        The utility, 0 if the job stays out.
    int
        The slot in which it completes, -1 then.
    array of shape (n, 4)
        [side, slot, machine, number].
    """
    nothing = np.empty((0, 4), np.int64)
    a, work, most = jobs.arrival[i], jobs.work[i], jobs.most[i]
    slots = jobs.last[i] - a + 1
    if most < 1 or slots < 1 or work > most * slots:
        return 0.0, -1, nothing
    unit_prices(i, a, slots, sides, prices, scratch)
    servers = jobs.servers[jobs.first[i] : jobs.first[i] + most + 1]
    demand = (sides[0].demand[i], sides[1].demand[i])
    rooms = (sides[0].room[i], sides[1].room[i])
    heap = scratch.heap
    best, completion = least, -1
    for again in range(2):  # the second time, only what the best schedule takes
        size, held, paid = 0, 0.0, 0.0
        end = slots if again == 0 else completion + 1
        for s in range(end):
            worth = jobs.utility[i, a + s]
            if again == 0 and worth <= best:
                break
            # the PS of the cheapest class count for all; as many workers as have PS
            ps, cheap, c = 0, 0.0, next_class(scratch.unit[1], s, rooms[1], -1)
            while c >= 0 and ps < servers[most]:
                n = _room(machines[1], a + s, c, demand[1], servers[most] - ps)
                if ps == 0:
                    cheap = scratch.unit[1][c, s]
                ps += n
                c = next_class(scratch.unit[1], s, rooms[1], c)
            limit = most
            while limit > 0 and servers[limit] > ps:
                limit -= 1
            n, c = 0, next_class(scratch.unit[0], s, rooms[0], -1)
            while c >= 0 and n < limit:
                slope = factor * (scratch.unit[0][c, s] + jobs.rate[i] * cheap)
                if held >= work and slope >= heap[0, 0]:
                    break
                more = _room(machines[0], a + s, c, demand[0], limit - n)
                c = next_class(scratch.unit[0], s, rooms[0], c)
                if more == 0:
                    continue
                push(scratch, size, slope, float(more), s, float(n))
                n += more
                size += 1
                held += more
                paid += more * slope
                while held - heap[1, 0] >= work:
                    held -= heap[1, 0]
                    paid -= heap[0, 0] * heap[1, 0]
                    pop(scratch, size)
                    size -= 1
            if again == 0 and held >= work:
                earned = worth - (paid - heap[0, 0] * (held - work))
                if earned > best:
                    best, completion = earned, s
        if completion < 0:
            return 0.0, -1, nothing
    number = np.zeros(completion + 1, np.int64)
    for k in range(size):
        number[scratch.item[k]] += int(heap[1, k])
    number[scratch.item[0]] -= int(held) - work
    while number[completion] == 0:  # an earlier end at no higher cost
        completion -= 1
    total = 0
    for s in range(completion + 1):
        total += number[s] + servers[number[s]]
    rows, at = np.empty((total, 4), np.int64), 0
    for s in range(completion + 1):
        for side in range(2):
            left = number[s] if side == 0 else servers[number[s]]
            c = -1
            while left > 0:
                c = next_class(scratch.unit[side], s, rooms[side], c)
                n = _room(machines[side], a + s, c, demand[side], left)
                end = _put(machines[side], a + s, c, demand[side], rows, at, n)
                rows[at:end, 0] = side
                at, left = end, left - n
    return jobs.utility[i, a + completion], a + completion, rows[:at].copy()


class Board:
    """A cluster that is filled: who runs where, and what is free.

    Parameters
    ----------
    blocks : RelaxedBlocks
    prices : array of shape (rows,)

    Attributes
    ----------
    plans : dict
        By job.
    value : float
    """

    def __init__(self, blocks: RelaxedBlocks, prices: Floats) -> None:
        self.blocks, self.plans, self.value = blocks, dict[int, Plan](), 0.0
        a = blocks.inst.arrays
        self.machines = (
            _machines(a.worker_capacity, blocks.classes[0], blocks.slots),
            _machines(a.ps_capacity, blocks.classes[1], blocks.slots),
        )
        self.scratch = blocks.scratch_of(False)
        self.least = 1e-9 * float(a.utility.max(initial=0.0))
        self.price(prices)

    def price(self, prices: Floats) -> None:
        """Go on at other prices."""
        self.prices = self.blocks.by_side(prices)

    def insert(self, i: int, factor: float) -> bool:
        """Put job i in at ``factor`` times the prices, if it earns more than it pays."""
        blocks = self.blocks
        value, completion, entries = insert(
            i,
            blocks.jobs,
            blocks.sides,
            self.prices,
            factor,
            self.machines,
            self.least,
            self.scratch,
        )
        looked = sum(m.member.size for m in self.machines)
        effort.steps(MACHINE_STEPS * looked * float(blocks.window[i]))
        if completion < 0:
            return False
        self.plans[i] = Plan(value, completion, entries)
        self.value += value
        return True

    def remove(self, i: int) -> Plan:
        """Take job i out and return its plan."""
        plan = self.plans.pop(i)
        self._use(i, plan, 1.0)
        self.value -= plan.value
        return plan

    def restore(self, i: int, plan: Plan) -> None:
        """Put job i where ``plan`` says; the place must be free."""
        self.plans[i] = plan
        self._use(i, plan, -1.0)
        self.value += plan.value

    def _use(self, i: int, plan: Plan, sign: float) -> None:
        worker, ps = self.blocks.sides
        free = [m.free for m in self.machines]
        book(plan.entries, worker.demand[i], ps.demand[i], free[0], free[1], sign)


def _machines(capacity: Ints, classes: list[list[int]], slots: int) -> Machines:
    """Return the empty machines of a side; ``capacity`` has shape (H, R)."""
    return Machines(
        np.array([h for members in classes for h in members], np.int64),
        np.cumsum([0, *map(len, classes)]).astype(np.int64),
        np.repeat(capacity.T[None].astype(float), slots, axis=0),
    )
