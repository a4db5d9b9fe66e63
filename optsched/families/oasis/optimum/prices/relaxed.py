"""All jobs at prices on capacity in one kernel: a relaxed oracle for instances of any size.

The oracle of `capacity` asks for one job's best schedule exactly. Here a job may distribute its
work over slots in fractions, so that its payoff is bounded from above, in a few microseconds:

- The cost of n workers in slot t, with their parameter servers (PS), is replaced by a convex
  function h_t with h_t(0) = 0 and h_t(n) <= cost_t(n) for n = 0, 1, ..., N.
- A schedule that completes in slot c has n_t workers in slots t <= c, of sum at least W, and costs
  sum_t cost_t(n_t) >= sum_t h_t(n_t) >= the least of sum_t h_t(x_t) over real x_t in [0, N] of sum
  at least W. As slopes of h_t are not negative and ascend, that minimum takes the cheapest W units
  of all segments of all h_t, t <= c: merged slopes, kept in a heap.
- So f(c - a) less that minimum is at least the payoff of any schedule that completes in c, and the
  greatest of them over c, or 0, at least the payoff of the job. Hence the bound at these prices, a
  sum of payoffs and of the worth of all capacity, only rises.

There are two choices of h_t. *Hulls*: the lower convex hull of cost_t. *Lines*: the PS that n
workers need are at least rho n, with rho = min over n >= 1 of m(n) / n, and m PS cost P(m), convex,
as the cheapest classes are taken first; so W(n) + P(rho n), with W the cost of n workers, is
convex, not above cost_t(n), and needs no loop over n.

A class of machines counts with the room that its machines have together, as in the certificate:
both choices only relax how work is distributed over slots, and how PS are counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.prices.capacity import NEGLIGIBLE
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.process import effort
from optsched.scheduling.oracle.workload import hull

ENOUGH = 1e-6  # worker-slots that may be missing: roundings of sums
SLOT_STEPS = 12  # of a slot of a job, beside those for each price


class Jobs(NamedTuple):
    """I jobs, T slots."""

    arrival: Ints  # (I,) slot
    last: Ints  # (I,) the last slot in which completing earns something
    work: Ints  # (I,) worker-slots
    most: Ints  # (I,) workers in a slot on the empty machines; 0: it can never run
    rate: Floats  # (I,) rho: PS per worker, at least
    first: Ints  # (I,) where a job begins in `servers`
    servers: Ints  # PS that 0, 1, ..., most workers need, one job after the other
    utility: Floats  # (I, T) of completing in a slot


class Side(NamedTuple):
    """Workers, or PS, of I jobs on machines in C classes, with R resources."""

    demand: Floats  # (I, R) units of one
    room: Floats  # (I, C) how many all machines of a class hold together


class Found(NamedTuple):
    """What the kernel finds of each job."""

    payoff: Floats  # (I,) at most this, at least 0
    completion: Ints  # (I,) the slot in which that is so, -1: in none
    cost: Floats  # (I,) of that


class Scratch(NamedTuple):
    """What the kernel works in."""

    unit: tuple[Floats, Floats]  # (C, T) price of one worker, of one PS
    cost: Floats  # (2, N + 1) of workers, or of all; of PS
    slope: Floats  # (K,) of the segments of one slot, ascending
    length: Ints  # (K,) of hulls: workers
    reach: Floats  # (K + 1,) where segments end, in workers
    heap: Floats  # (2, T K) slope and length of the cheapest segments so far
    item: Ints  # (T K,) their slots
    low: Floats  # (T K,) how many workers a slot has without the segment


@kernel(inline="always")
def next_class(unit: Floats, s: int, room: Floats, c: int) -> int:
    """Return the class that comes after ``c`` (-1: the first) by price in slot ``s``; or -1."""
    found = -1
    for k in range(room.size):
        if room[k] < 1.0 or k == c:
            continue
        if c >= 0 and (unit[k, s] < unit[c, s] or (unit[k, s] == unit[c, s] and k < c)):
            continue
        if found < 0 or unit[k, s] < unit[found, s]:
            found = k
    return found


@kernel
def _fill(unit: Floats, s: int, room: Floats, most: int, cost: Floats) -> int:
    """Fill in the least cost of 0, 1, ..., ``most`` workers (PS); return how many there are."""
    cost[0], n, c = 0.0, 0, next_class(unit, s, room, -1)
    while n < most and c >= 0:
        for _ in range(min(most - n, int(room[c]))):
            cost[n + 1] = cost[n] + unit[c, s]
            n += 1
        c = next_class(unit, s, room, c)
    return n


@kernel
def _lines(
    unit: tuple[Floats, Floats],
    s: int,
    rooms: tuple[Floats, Floats],
    most: int,
    rate: float,
    scratch: Scratch,
) -> int:
    """Write the segments of W(n) + P(rho n), slopes ascending; return how many there are."""
    used, n = 0, 0.0
    c, d = next_class(unit[0], s, rooms[0], -1), next_class(unit[1], s, rooms[1], -1)
    ends = rooms[0][c] if c >= 0 else 0.0
    servers = rooms[1][d] if d >= 0 else 0.0
    while n < most and c >= 0 and (d >= 0 or rate == 0.0):
        last = servers / rate if rate > 0.0 else np.inf
        end = min(float(most), ends, last)
        scratch.slope[used] = unit[0][c, s] + (rate * unit[1][d, s] if rate > 0.0 else 0.0)
        n = end
        scratch.reach[used + 1] = n
        used += 1
        if n >= ends:
            c = next_class(unit[0], s, rooms[0], c)
            ends += rooms[0][c] if c >= 0 else 0.0
        if n >= last:
            d = next_class(unit[1], s, rooms[1], d)
            servers += rooms[1][d] if d >= 0 else 0.0
    return used


@kernel
def _hulls(
    unit: tuple[Floats, Floats],
    s: int,
    rooms: tuple[Floats, Floats],
    most: int,
    servers: Ints,
    scratch: Scratch,
) -> int:
    """Write the segments of the lower hull of the cost; return how many there are."""
    cost, ps = scratch.cost[0], scratch.cost[1]
    _fill(unit[0], s, rooms[0], most, cost)
    _fill(unit[1], s, rooms[1], servers[most], ps)
    for n in range(1, most + 1):
        cost[n] += ps[servers[n]]
    used = hull(cost, most, scratch.slope, scratch.length)
    for k in range(used):
        scratch.reach[k + 1] = scratch.reach[k] + scratch.length[k]
    return used


@kernel
def push(scratch: Scratch, size: int, slope: float, length: float, slot: int, low: float) -> None:
    """Put a segment into the heap of ``size``, whose top is the dearest."""
    heap, item, lows = scratch.heap, scratch.item, scratch.low
    k = size
    while k > 0:
        up = (k - 1) >> 1
        if heap[0, up] >= slope:
            break
        heap[0, k], heap[1, k] = heap[0, up], heap[1, up]
        item[k], lows[k] = item[up], lows[up]
        k = up
    heap[0, k], heap[1, k], item[k], lows[k] = slope, length, slot, low


@kernel
def pop(scratch: Scratch, size: int) -> None:
    """Take the dearest segment out of the heap of ``size``."""
    heap, item, lows = scratch.heap, scratch.item, scratch.low
    last = size - 1
    slope, k = heap[0, last], 0
    while True:
        down = 2 * k + 1
        if down >= last:
            break
        if down + 1 < last and heap[0, down + 1] > heap[0, down]:
            down += 1
        if heap[0, down] <= slope:
            break
        heap[0, k], heap[1, k] = heap[0, down], heap[1, down]
        item[k], lows[k] = item[down], lows[down]
        k = down
    heap[0, k], heap[1, k], item[k], lows[k] = slope, heap[1, last], item[last], lows[last]


@kernel
def _use(
    unit: Floats,
    slot: tuple[int, int],
    room: Floats,
    demand: Floats,
    part: tuple[float, float, float],
    usage: Floats,
) -> None:
    """Add what the workers (PS) from ``part[0]`` to ``part[1]`` of a slot use, times ``part[2]``.

    ``slot`` is the one of the job's window, and of the horizon; ``usage`` has shape (C, R, T).
    """
    s, t = slot
    low, high, share = part
    held, c = 0.0, next_class(unit, s, room, -1)
    while c >= 0 and held < high:
        mine = min(high, held + room[c]) - max(low, held)
        if mine > 0.0:
            for r in range(demand.size):
                usage[c, r, t] += share * mine * demand[r]
        held += room[c]
        c = next_class(unit, s, room, c)


@kernel
def unit_prices(
    i: int,
    arrival: int,
    slots: int,
    sides: tuple[Side, Side],
    prices: tuple[Floats, Floats],
    scratch: Scratch,
) -> None:
    """Write what one worker and one PS of job ``i`` cost, by class and slot of its window."""
    for side in range(2):
        unit, price, demand = scratch.unit[side], prices[side], sides[side].demand[i]
        for c in range(price.shape[0]):
            if sides[side].room[i, c] < 1.0:
                continue
            unit[c, :slots] = 0.0
            for r in range(demand.size):
                d = demand[r]
                if d > 0.0:
                    for s in range(slots):
                        unit[c, s] += d * price[c, r, arrival + s]


@kernel(nogil=True)
def sweep(
    jobs: Jobs,
    sides: tuple[Side, Side],
    prices: tuple[Floats, Floats],
    chosen: Ints,
    hulls: bool,
    found: Found,
    usage: tuple[Floats, Floats],
    scratch: Scratch,
) -> float:
    """Bound the payoffs of some jobs; return their sum.

    Parameters
    ----------
    jobs, sides
    prices : pair of shape (C, R, T)
        Of a unit, on machines for workers and for PS.
    chosen : shape (n,)
        The jobs.
    hulls : bool
        Whether costs are replaced by their hulls; else PS count as a line.
    found : Found
        Receives what is found of the chosen jobs.
    usage : pair of shape (C, R, T)
        Receives what they use, added to what is there; units.
    scratch : Scratch
    """
    total, heap = 0.0, scratch.heap
    for i in chosen:
        a, work, most = jobs.arrival[i], float(jobs.work[i]), jobs.most[i]
        slots = jobs.last[i] - a + 1
        found.payoff[i], found.completion[i], found.cost[i] = 0.0, -1, 0.0
        if most < 1 or slots < 1 or work > most * slots:
            continue
        unit_prices(i, a, slots, sides, prices, scratch)
        rooms = (sides[0].room[i], sides[1].room[i])
        servers = jobs.servers[jobs.first[i] : jobs.first[i] + most + 1]
        best, completion, cost = 0.0, -1, 0.0
        for again in range(2):  # the second time, only what the best schedule takes
            size, held, paid = 0, 0.0, 0.0
            end = slots if again == 0 else completion + 1
            for s in range(end):
                worth = jobs.utility[i, a + s]
                if again == 0 and worth <= best:
                    break
                if hulls:
                    used = _hulls(scratch.unit, s, rooms, most, servers, scratch)
                else:
                    used = _lines(scratch.unit, s, rooms, most, jobs.rate[i], scratch)
                for k in range(used):
                    slope = scratch.slope[k]
                    low, high = scratch.reach[k], scratch.reach[k + 1]
                    if held >= work and slope >= heap[0, 0]:
                        break
                    push(scratch, size, slope, high - low, s, low)
                    size += 1
                    held += high - low
                    paid += (high - low) * slope
                    while size > 0 and held - heap[1, 0] >= work:
                        held -= heap[1, 0]
                        paid -= heap[0, 0] * heap[1, 0]
                        pop(scratch, size)
                        size -= 1
                if again == 0 and held >= work - ENOUGH:
                    spent = paid - heap[0, 0] * max(0.0, held - work)
                    if worth - spent > best:
                        best, completion, cost = worth - spent, s, spent
            if completion < 0:
                break
        if completion < 0:
            continue
        total += best
        found.payoff[i], found.completion[i], found.cost[i] = best, a + completion, cost
        for k in range(size):
            low, length, s = scratch.low[k], heap[1, k], scratch.item[k]
            share = 1.0 - max(0.0, held - work) / length if k == 0 else 1.0
            slot = (s, a + s)
            part = (low, low + length, share)
            _use(scratch.unit[0], slot, rooms[0], sides[0].demand[i], part, usage[0])
            if hulls:
                part = (float(servers[int(low)]), float(servers[int(low + length)]), share)
            else:
                part = (jobs.rate[i] * low, jobs.rate[i] * (low + length), share)
            _use(scratch.unit[1], slot, rooms[1], sides[1].demand[i], part, usage[1])
    return total


class RelaxedBlocks:
    """The jobs as blocks of `engine.ascent`; rows are capacities by side, class, resource, slot.

    Attributes
    ----------
    rhs : array of shape (rows,)
        Units of capacity.
    shapes : list
        Of both sides, (C, R, T).
    found : Found
        Of the last sweep in which each job took part.
    """

    def __init__(self, inst: OasisInstance) -> None:
        self.inst, a = inst, inst.arrays
        self.blocks, self.slots = len(inst.jobs), inst.horizon
        self.classes = (a.worker_classes, a.ps_classes)
        capacity = [
            whole[[members[0] for members in classes]].astype(float)  # (C, R) of one machine
            for whole, classes in zip((a.worker_capacity, a.ps_capacity), self.classes, strict=True)
        ]
        count = [np.array([len(m) for m in classes], float) for classes in self.classes]
        self.shapes = [(*c.shape, self.slots) for c in capacity]
        self.sizes = [int(np.prod(shape)) for shape in self.shapes]
        every = [(c * n[:, None]).ravel() for c, n in zip(capacity, count, strict=True)]
        self.rhs = np.repeat(np.concatenate(every), self.slots)
        most = np.array(inst.most, np.int64)
        needed = [np.array(inst.ps_needed(i)[: n + 1], np.int64) for i, n in enumerate(most)]
        rate = [float((x[1:] / np.arange(1, x.size)).min(initial=np.inf)) for x in needed]
        useful = a.utility > NEGLIGIBLE * a.utility.max(initial=0.0)
        last = np.where(
            useful.any(axis=1), self.slots - 1 - useful[:, ::-1].argmax(axis=1), a.arrival - 1
        )
        self.jobs = Jobs(
            arrival=a.arrival,
            last=last.astype(np.int64),
            work=a.work,
            most=most,
            rate=np.where(most > 0, np.array(rate), 0.0),
            first=np.concatenate([[0], np.cumsum(most + 1)])[:-1].astype(np.int64),
            servers=np.concatenate([*needed, np.zeros(1, np.int64)]),
            utility=a.utility,
        )
        demand = (a.worker_demand.astype(float), a.ps_demand.astype(float))
        self.sides = (
            Side(demand[0], _rooms(demand[0], capacity[0], count[0], a.chunks)),
            Side(demand[1], _rooms(demand[1], capacity[1], count[1], a.chunks)),
        )
        self.found = Found(
            np.zeros(self.blocks), np.full(self.blocks, -1, np.int64), np.zeros(self.blocks)
        )
        self.known: dict[bool, Scratch] = {}
        self.window = np.maximum(0, last - a.arrival + 1)

    def sweep(self, prices: Floats, chosen: Ints, exact: bool) -> tuple[float, Floats]:
        """Return the sum of the payoffs of some jobs, at most, and what they use; (rows,).

        ``exact``: by hulls, else by lines.
        """
        usage = np.zeros(prices.size)
        total: float = sweep(
            self.jobs,
            self.sides,
            self.by_side(prices),
            chosen,
            exact,
            self.found,
            self.by_side(usage),
            self.scratch_of(exact),
        )
        amounts = sum(c * r for c, r, _ in self.shapes)
        each = SLOT_STEPS + amounts / 4 + (int(self.jobs.most.mean()) * 4 if exact else 0)
        effort.steps(each * float(self.window[chosen].sum()))
        return total, usage

    def by_side(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return views of what is given by row: shapes (C, R, T)."""
        worker, ps = np.split(rows, [self.sizes[0]])
        return worker.reshape(self.shapes[0]), ps.reshape(self.shapes[1])

    def base(self) -> Floats:
        """Return prices at which the capacity of every resource is worth the same, 1 in all."""
        out, parts = [], self.by_side(self.rhs)
        for part in parts:
            whole = part.sum(axis=(0, 2), keepdims=True)  # (1, R, 1)
            each = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)
            out.append(np.broadcast_to(each, part.shape).ravel())
        prices = np.concatenate(out)
        return prices / max(float(prices @ self.rhs), 1e-300)

    def groups(self, slots: int, classes: bool) -> Ints:
        """Return the number of the group of each row, (rows,): so many slots have one price.

        ``classes``: whether classes have prices of their own.
        """
        out, begin = [], 0
        for c, r, t in self.shapes:
            block = np.arange(t) // slots
            blocks = int(block[-1]) + 1
            kinds = np.arange(c) if classes else np.zeros(c, np.int64)
            index = (kinds[:, None, None] * r + np.arange(r)[None, :, None]) * blocks + block
            out.append(begin + np.broadcast_to(index, (c, r, t)).ravel())
            begin = int(out[-1].max()) + 1
        return np.concatenate(out).astype(np.int64)

    def scratch_of(self, exact: bool) -> Scratch:
        """Return what the kernel works in, by hulls (``exact``) or by lines."""
        if exact not in self.known:
            n = int(self.jobs.most.max(initial=1))
            segments = 1 + (n if exact else sum(shape[0] for shape in self.shapes))
            held = segments * self.slots
            if exact:  # a segment of a hull has a worker or more, and all but one less than W
                held = min(held, int(self.jobs.work.max(initial=1)) + segments)
            self.known[exact] = self.scratch(segments, held)
        return self.known[exact]

    def scratch(self, segments: int, held: int) -> Scratch:
        """Return room for so many segments of a slot, and so many of all slots."""
        n = int(self.jobs.most.max(initial=1))
        unit = [np.zeros((shape[0], self.slots)) for shape in self.shapes]
        return Scratch(
            unit=(unit[0], unit[1]),
            cost=np.zeros((2, n + 1)),
            slope=np.zeros(segments),
            length=np.zeros(segments, np.int64),
            reach=np.zeros(segments + 1),
            heap=np.zeros((2, held)),
            item=np.zeros(held, np.int64),
            low=np.zeros(held),
        )


def _rooms(demand: Floats, capacity: Floats, count: Floats, most: Ints) -> Floats:
    """Return how many workers (PS) of each job all machines of each class hold, (I, C)."""
    holds = np.repeat(most[:, None].astype(float), len(capacity), axis=1)
    for r in range(capacity.shape[1]):
        needs = demand[:, r] > 0
        fits = np.floor(capacity[None, :, r] / demand[needs, r, None])
        holds[needs] = np.minimum(holds[needs], fits)
    rooms: Floats = holds * count
    return rooms
