"""Lagrangian relaxation of capacity with prices that are constant over blocks of time.

The blocks of the subgradient method `engine.ascent` (Held et al., 1974), for thousands of jobs.
Capacity of all servers has one price per resource and block, and none after the last block. The
bound at prices needs the least of weight * completion + cost of workers and parameter servers (PS)
of each job. Here a relaxation of this pricing subproblem is solved, which **bounds it from the
safe side**:

- *Hosts.* A job's workers and PS are charged, wherever they are; whether they fit together on
  single servers is tested on empty ones only, when ways to run are listed (`offers`). So every
  schedule of a job has a way with its type of worker, its type of PS and its locality, with no more
  workers, no longer, and with no more PS than it has.
- *Ways.* A way that is left out is dominated by one that has no more workers of its type and no
  more of any resource for its PS, and lasts no longer. Prices are not negative, so that at the same
  start the other one costs no more and ends no later.
- *Starts.* While neither end of a way's time crosses an edge of a block, its cost is linear in its
  start. So it is least at the end of such a range: at the job's arrival, where it starts at an
  edge, or ends at one. From the last edge on all is free of charge, and later is only worse.
- *Groups.* A way costs no less than the fewest workers of its group would for the group's least
  duration, without PS: this bound skips only what an exact way already beats.

Classes of servers share their prices, which makes them a special case of the certificate's: the
checker solves the exact subproblem, and finds as much or more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.modes import Types
from optsched.families.completion.optimum.relaxations.offers import JobRuns
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.process import work_units


class Times(NamedTuple):
    """B blocks of the slots 0 .. L - 1; behind them nothing has a price."""

    edge: Ints  # (B + 1,) first slots of the blocks, and L
    block: Ints  # (L,) of each slot


class BlockCosts(NamedTuple):
    """Costs of one worker or PS up to the beginning of each block, and of a slot in it.

    The last is behind all blocks, where no slot has a price.
    """

    worker: Floats  # (M, B + 1)
    worker_slot: Floats  # (M, B + 1)
    ps: Floats  # (P, B + 1)
    ps_slot: Floats  # (P, B + 1)


class Way(NamedTuple):
    """A way to run a job: types and numbers of workers and PS, and the duration."""

    duration: int
    worker_type: int
    workers: int
    kind: int  # type of the PS
    ps: int


class Answers(NamedTuple):
    """Best way and start of each of J jobs, at the prices of the last sweep that priced it."""

    way: Ints  # (J,) index among all offers; -1: never priced
    start: Ints  # (J,) slot


@kernel
def _rent(sums: Floats, slot: Floats, kind: int, a: int, x: int, b: int, y: int) -> float:
    """Return what one costs from x slots after block a began to y slots after block b did.

    ``sums`` and ``slot`` (K, B + 1) are `BlockCosts` of one side.
    """
    return float(sums[kind, b] + y * slot[kind, b] - sums[kind, a] - x * slot[kind, a])


@kernel
def _block(times: Times, t: int) -> int:
    """Return the block of slot t; the number of blocks, if it has no price."""
    return int(times.block[t]) if t < times.block.size else times.edge.size - 1


@kernel
def _cost(way: Way, weight: float, t: int, times: Times, costs: BlockCosts) -> float:
    """Return weight * completion + cost of a way to run that starts in slot t."""
    end, last = t + way.duration, times.block.size
    a, b = _block(times, t), _block(times, end)
    x, y = min(t, last) - times.edge[a], min(end, last) - times.edge[b]
    paid = weight * end + way.workers * _rent(
        costs.worker, costs.worker_slot, way.worker_type, a, x, b, y
    )
    if way.ps > 0:
        paid += way.ps * _rent(costs.ps, costs.ps_slot, way.kind, a, x, b, y)
    return paid


@kernel
def _least(
    way: Way, weight: float, arrival: int, times: Times, costs: BlockCosts, limit: float
) -> tuple[float, int]:
    """Return the least weight * completion + cost of a way to run, and its first slot.

    If no cost is below ``limit``, return ``limit`` and -1.
    """
    d, blocks, edge = way.duration, times.edge.size - 1, times.edge
    t, start = arrival, -1
    a, b = _block(times, t), _block(times, t + d)
    while True:
        paid = weight * (t + d)
        if paid >= limit:
            return limit, start
        x, y = (t - edge[a] if a < blocks else 0), (t + d - edge[b] if b < blocks else 0)
        paid += way.workers * _rent(costs.worker, costs.worker_slot, way.worker_type, a, x, b, y)
        if way.ps > 0 and paid < limit:
            paid += way.ps * _rent(costs.ps, costs.ps_slot, way.kind, a, x, b, y)
        if paid < limit:
            limit, start = paid, t
        if a == blocks:
            return limit, start
        ahead = edge[a + 1]  # from one edge of a block to the next, with either end
        if b < blocks:
            ahead = min(ahead, edge[b + 1] - d)
        t = ahead
        if t == edge[a + 1]:
            a += 1
        if b < blocks and t + d == edge[b + 1]:
            b += 1


@kernel
def _way(offers: JobRuns, k: int) -> Way:
    """Return way k of all."""
    m, n = offers.worker_type[k], offers.workers[k]
    return Way(offers.duration[k], m, n, offers.kind[k], offers.ps[k])


@kernel(nogil=True)
def sweep(
    offers: JobRuns,
    arrival: Ints,
    weight: Floats,
    chosen: Ints,
    times: Times,
    costs: BlockCosts,
    demand: tuple[Floats, Floats],
    answers: Answers,
    usage: Floats,
) -> float:
    """Return the sum of weight * completion + cost of some jobs, at least.

    Parameters
    ----------
    offers : JobRuns
    arrival : shape (J,)
        First slot of each job.
    weight : shape (J,)
        Of a slot of delay.
    chosen : shape (n,)
        The jobs.
    times, costs
    demand : pair of shape (M, R) and (P, R)
        Units of one worker and of one PS.
    answers : Answers
        Receives how they run; what it states is looked at first.
    usage : shape (B, R)
        Receives what they use, added to what is there; units times slots.
    """
    total, last = 0.0, times.block.size
    for j in chosen:
        w, best_k, start = weight[j], answers.way[j], answers.start[j]
        best = np.inf
        if best_k >= 0:
            best = _cost(_way(offers, best_k), w, start, times, costs)
        for g in range(offers.first_group[j], offers.first_group[j + 1]):
            k = offers.group[g]
            # nothing in the group has fewer workers, or is shorter
            floor = Way(offers.duration[k], offers.worker_type[k], offers.fewest[g], 0, 0)
            if _least(floor, w, arrival[j], times, costs, best)[1] < 0:
                continue
            for k in range(offers.group[g], offers.group[g + 1]):
                paid, t = _least(_way(offers, k), w, arrival[j], times, costs, best)
                if t >= 0:
                    best, best_k, start = paid, k, t
        total += best
        answers.way[j], answers.start[j] = best_k, start
        if best_k < 0 or start >= last:
            continue
        way = _way(offers, best_k)
        end = min(start + way.duration, last)
        for b in range(times.block[start], times.block[end - 1] + 1):
            slots = min(end, times.edge[b + 1]) - max(start, times.edge[b])
            for r in range(usage.shape[1]):
                load = way.workers * demand[0][way.worker_type, r] + way.ps * demand[1][way.kind, r]
                usage[b, r] += slots * load
    return total


class PiecewisePrices:
    """The jobs as blocks of `engine.ascent`; rows are capacities by block of time and resource.

    The engine maximizes, so a job's payoff is the negative of what it costs. Its prices are
    multiples of given ones: where rows share a multiple, prices keep the shape of these.

    Parameters
    ----------
    inst : CompletionInstance
    types : Types
    offers : JobRuns
    edges : shape (B + 1,)
        First slots of the blocks of time, and the first slot from which on nothing has a price.
    shape : shape (B, R)
        Prices of a slot.

    Attributes
    ----------
    rhs : array of shape (rows,)
        Units of capacity times slots times prices.
    answers : Answers
    """

    def __init__(
        self, inst: CompletionInstance, types: Types, offers: JobRuns, edges: Ints, shape: Floats
    ) -> None:
        a = inst.arrays
        self.inst, self.types = inst, types
        self.offers, self.blocks = offers, len(inst.jobs)
        self.arrival = np.array([job.arrival for job in inst.jobs], np.int64)
        self.weight = np.array([job.weight for job in inst.jobs])
        begins = np.zeros(int(edges[-1]), np.int64)
        begins[edges[1:-1]] = 1
        self.times = Times(edges, np.cumsum(begins))
        self.length = np.diff(edges)
        self.unit = shape
        self.rhs = (self.length[:, None] * a.capacity.sum(axis=0) * shape).ravel()
        ps = types.ps_demand if len(types.ps_demand) else np.zeros((1, shape.shape[1]), int)
        self.demand = (types.worker_demand.astype(float), ps.astype(float))
        self.answers = Answers(np.full(self.blocks, -1, np.int64), np.zeros(self.blocks, np.int64))

    def sweep(self, prices: Floats, chosen: Ints, exact: bool) -> tuple[float, Floats]:  # noqa: ARG002
        """Return the negative of what some jobs cost at least, and what they use; (rows,)."""
        usage = np.zeros(self.unit.shape)
        first = self.offers.first
        ways = int((first[chosen + 1] - first[chosen]).sum())
        # elementary steps of looking at one way to run in one block, as a rule
        work_units.steps(0.1 * ways * self.length.size)
        total: float = sweep(
            self.offers,
            self.arrival,
            self.weight,
            chosen,
            self.times,
            self.costs(prices),
            self.demand,
            self.answers,
            usage,
        )
        return -total, (usage * self.unit).ravel()

    def costs(self, prices: Floats) -> BlockCosts:
        """Return what workers and PS cost at prices of all rows."""
        by_block = prices.reshape(self.unit.shape) * self.unit
        found = []
        for demand in self.demand:
            slot = np.zeros((len(demand), self.length.size + 1))
            slot[:, :-1] = demand @ by_block.T
            up_to = np.zeros_like(slot)
            np.cumsum(slot[:, :-1] * self.length, axis=1, out=up_to[:, 1:])
            found += [up_to, slot]
        return BlockCosts(*found)

    def halved(self, prices: Floats) -> PiecewisePrices:
        """Return the same with halves of the blocks, whose prices are multiples of these."""
        edge = self.times.edge
        edges = np.unique(np.concatenate([edge, (edge[:-1] + edge[1:]) // 2]))
        shape = (prices.reshape(self.unit.shape) * self.unit)[self.times.block[edges[:-1]]]
        finer = PiecewisePrices(self.inst, self.types, self.offers, edges, shape)
        finer.answers.way[:], finer.answers.start[:] = self.answers
        return finer

    def per_slot(self, prices: Floats) -> Floats:
        """Return prices by slot, the same for all classes, shape (L, C, R)."""
        by_slot = np.repeat(prices.reshape(self.unit.shape) * self.unit, self.length, axis=0)
        classes = np.ones(len(self.inst.arrays.classes))
        return np.ascontiguousarray(by_slot[:, None, :] * classes[None, :, None])

    def groups(self, blocks: int) -> Ints:
        """Return the number of the group of each row, (rows,): as many blocks share a multiple."""
        b, r = self.unit.shape
        number: Ints = (np.arange(b)[:, None] // blocks * r + np.arange(r)).ravel()
        return number
