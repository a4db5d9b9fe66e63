"""Lagrangian dual bound of one leaf of a certificate of family `oasis`, in integers only.

The bound is a sum of subproblems (Geoffrion, 1974): the best payoff of every job alone, and the
value of the machines at the prices, by capacity or by an integer knapsack.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from optsched.families.oasis.certificate.convexified import best_payoff, least_costs
from optsched.families.oasis.certificate.kernels import NONE, cheapest, slot_costs, useful_slots
from optsched.families.oasis.certificate.limits import CELLS, GridRange, cells
from optsched.families.oasis.instance import LARGEST_UNITS, OasisInstance
from optsched.numbers.arrays import Ints
from optsched.numbers.overflow import int64s
from optsched.numbers.utility import Utility, compare, log_of
from optsched.process import interrupts
from optsched.proofs.branching import JobLimits
from optsched.proofs.grid import capacity_cost, charged, lowered
from optsched.proofs.knapsack import best_load, units_that_fit
from optsched.proofs.limits import richest_end

LARGEST_UNIT_PRICE = 2**190  # of a unit of a resource: Python's integers hold it
NEGLIGIBLE = Fraction(1, 2**29)  # of `richest_end`: jobs below it count as never completed
MEMORY = 100_000  # results that are kept for leaves to come


class SideCapacity:
    """One side of the platform: 0 for worker machines, 1 for PS machines."""

    def __init__(self, inst: OasisInstance, side: int) -> None:
        a = inst.arrays
        demand, capacity, self.classes = (
            (a.worker_demand, a.worker_capacity, a.worker_classes)
            if side == 0
            else (a.ps_demand, a.ps_capacity, a.ps_classes)
        )
        # a demand above every capacity: it fits nowhere, whatever it is
        self.demand = np.minimum(demand, LARGEST_UNITS)  # (I, R)
        self.capacity = capacity[[c[0] for c in self.classes]]  # (C, R)
        self.count = np.array([len(c) for c in self.classes], np.int64)  # (C,)
        # (C, I): workers (PS) of a job on one empty machine, at most N_i
        self.max_units = units_that_fit(self.demand, self.capacity, a.chunks)
        self.total = self.count @ self.max_units  # (I,)


@dataclass(frozen=True)
class CapacityPriced:
    """Prices of capacity: per side, shape (T, C, R); ``key`` distinguishes price sets.

    Where a price has more than 62 bits, the arrays hold Python's integers.
    """

    key: int
    prices: tuple[Ints, Ints]


@dataclass(frozen=True)
class SlotPriced:
    """Prices of workers and PS: per side, shape (I, T), on the grid of the costs."""

    prices: tuple[Ints, Ints]


class LeafBounds:
    """Computes the bounds of leaves of one instance.

    Prices are integers, in value units times 2**grid_bits. Costs of schedules and loads of machines
    are added up on a grid that is coarser if need be, so that no int64 overflows (see
    `limits.GridRange`). That is valid as well: prices of slots become other prices, and costs of
    prices of capacity only fall.
    """

    def __init__(self, inst: OasisInstance, grid_bits: int) -> None:
        self.inst = inst
        self.sides = (SideCapacity(inst, 0), SideCapacity(inst, 1))
        jobs = range(len(inst.jobs))
        self.ps_needed = [np.array(inst.ps_needed(i), np.int64) for i in jobs]
        self.cap = np.array([self._most(i) for i in jobs], np.int64)
        self.richest = richest_end(inst)
        units = GridRange.of(inst, grid_bits, self.richest)
        self.grid, self.shift, self.dearest = units.grid, units.shift, units.dearest
        self._unit = Fraction(2) ** self.grid
        self.last, self.late = self._useful_completions()
        self._utilities: dict[tuple[object, ...], int] = {}
        self._payoffs: dict[tuple[object, ...], int | None] = {}
        self._loads: dict[tuple[object, ...], int] = {}
        self._costs: dict[tuple[int, int], Ints] = {}

    def _useful_completions(self) -> tuple[Ints, Fraction]:
        """Return the last profitable completion slot of each job, and the value of later ones.

        A schedule that loses the jobs that complete later loses at most that, so it is enough to
        bound schedules without them. Utilities never increase, and no job completes before its
        earliest slot. What a job loses is rounded up to the grid: a sum of ten thousand fractions
        has a million digits.
        """
        jobs, least = self.inst.jobs, NEGLIGIBLE * self.richest
        last, late = np.full(len(jobs), -1, np.int64), 0
        one = -self.grid * math.log(2)  # the logarithm of a unit of the grid
        for i, (job, end) in enumerate(zip(jobs, self.inst.earliest, strict=True)):
            interrupts.leave_if_abandoned()
            if end is None:
                continue
            delays, first = range(self.inst.horizon - job.arrival), end - job.arrival
            useful = max(first, _first_below(job.utility, delays, least))
            if useful > first:
                last[i] = job.arrival + useful - 1
            if useful < len(delays):
                little = job.utility(useful) > 0 and compare(job.utility, useful, one) < 0
                late += 1 if little else math.ceil(job.utility.upper(useful) * self._unit)
        return last, late / self._unit

    def _most(self, i: int) -> int:
        """Return how many workers of job ``i``, with their PS, all machines together hold."""
        servers = int(np.searchsorted(self.ps_needed[i], self.sides[1].total[i], side="right")) - 1
        return min(int(self.sides[0].total[i]), servers)

    def _utility(self, i: int, delay: int) -> int:
        """Return the utility of completing job ``i`` with a delay that is possible, rounded up.

        With a shorter delay, it is that of the shortest: no job completes before.
        """
        end = self.inst.earliest[i]
        delay = delay if end is None else max(delay, end - self.inst.jobs[i].arrival)
        if (i, delay) not in self._utilities:
            _make_space(self._utilities)
            self._utilities[i, delay] = math.ceil(
                self.inst.jobs[i].utility.upper(delay) * self._unit
            )
        return self._utilities[i, delay]

    def _at_most(self, i: int, slots: int) -> list[int]:
        """Return an upper bound on the utility at each delay: that of half the delay."""
        return [self._utility(i, 1 << d.bit_length() - 1 if d else 0) for d in range(slots)]

    def slot_priced(self, worker: Ints, ps: Ints) -> SlotPriced:
        """Return prices of workers and PS, shape (I, T) each, as they are charged."""
        return SlotPriced(
            (lowered(worker, self.shift, self.dearest), lowered(ps, self.shift, self.dearest))
        )

    def unpriced(self) -> Fraction:
        """Return the bound where all prices are 0 and nothing is restricted, without kernels."""
        total = 0
        for i, (job, end) in enumerate(zip(self.inst.jobs, self.inst.earliest, strict=True)):
            if end is not None and end <= self.last[i]:
                total += self._utility(i, end - job.arrival)
        return total / self._unit + self.late

    def relaxed(self, prices: CapacityPriced) -> int:
        """Return a bound that is at least that of `bound` without limits, in the same units.

        Costs of schedules are bounded by hulls (see `convexified`): it takes little for each job.
        """
        sides = list(zip(self.sides, prices.prices, strict=True))
        total = sum(self._relaxed_payoff(i, prices) for i in range(len(self.inst.jobs)))
        gain = sum(capacity_cost(p, side.capacity, side.count) for side, p in sides)
        return (total << self.shift) + gain

    def _relaxed_payoff(self, i: int, prices: CapacityPriced) -> int:
        interrupts.leave_if_abandoned()
        arrival, most, work = self.inst.jobs[i].arrival, int(self.cap[i]), self.inst.work[i]
        window = slice(arrival, int(self.last[i]) + 1)
        slots = window.stop - arrival
        if slots < 1 or work > most * slots:
            return 0
        cells(f"costs of job {i}", slots, most + 1)
        (worker, max_workers), (server, max_ps) = (
            (
                charged(p[window], side.demand[i], self.shift, self.dearest),
                side.count * side.max_units[:, i],
            )
            for side, p in zip(self.sides, prices.prices, strict=True)
        )
        needed = self.ps_needed[i][: most + 1]
        ends = least_costs((worker, server), (max_workers, max_ps), needed, work)
        likely = np.ldexp(self.inst.arrays.utility[i, window], self.grid)
        return best_payoff(ends, lambda delay: self._utility(i, delay), likely)

    def unrestricted(self) -> JobLimits:
        """Return the limits at the root of a tree."""
        arrival, slots = self.inst.arrays.arrival, self.inst.horizon
        return JobLimits.at_root(arrival, self.last, self.cap, slots)

    def bound(self, limits: JobLimits, prices: CapacityPriced | SlotPriced) -> int | None:
        """Return the bound of a leaf, times 2**grid_bits; None if no schedule meets its limits."""
        limits = limits.copy()
        for i, t in zip(*np.nonzero(limits.low), strict=True):
            limits.never[i] = False  # it completes, and not before
            limits.first[i] = max(limits.first[i], t)
        limits.last[limits.first > limits.last] = -1  # it stays out
        if np.any(limits.low > limits.high):
            return None
        total = 0
        for i in range(len(self.inst.jobs)):
            interrupts.leave_if_abandoned()
            payoff = self._payoff(i, limits, prices)
            if payoff is None:
                return None
            total += payoff
        if isinstance(prices, CapacityPriced):
            return (total << self.shift) + sum(
                capacity_cost(p, side.capacity, side.count)
                for side, p in zip(self.sides, prices.prices, strict=True)
            )
        total += sum(self._machines(side, limits, prices.prices[side]) for side in (0, 1))
        return total << self.shift

    def _payoff(self, i: int, limits: JobLimits, prices: CapacityPriced | SlotPriced) -> int | None:
        """Return an upper bound on the value of job ``i``; None if it must complete and cannot."""
        arrival, last = self.inst.jobs[i].arrival, int(limits.last[i])
        first, never = int(limits.first[i]), bool(limits.never[i])
        if first > last:
            return 0 if never else None
        window = slice(arrival, last + 1)
        low, high = limits.low[i, window], limits.high[i, window]
        work = self.inst.work[i]
        if work > int(high.sum()):  # it cannot complete, and no table need be as large as its work
            return 0 if never else None
        paid: tuple[object, ...] = (
            (prices.key,)
            if isinstance(prices, CapacityPriced)
            else tuple(p[i, window].tobytes() for p in prices.prices)
        )
        key = (i, first, last, never, low.tobytes(), high.tobytes(), *paid)
        if key not in self._payoffs:
            cost = (
                self._capacity_costs(i, prices)
                if isinstance(prices, CapacityPriced)
                else self._slot_costs(i, prices, window)
            )
            _make_space(self._payoffs)
            self._payoffs[key] = self._best(i, cost[: last + 1 - arrival], low, high, first, never)
        return self._payoffs[key]

    def _best(
        self, i: int, cost: Ints, low: Ints, high: Ints, first: int, never: bool
    ) -> int | None:
        """Return an upper bound on the value of job ``i`` beyond its ``cost``.

        Utilities are fractions, and dear: since they never increase, a completion that would not
        pay with the utility of an earlier one is not looked at.
        """
        work, slots = self.inst.work[i], len(cost)
        if never:
            known = int64s("utility", self._at_most(i, slots), NONE)
            slots = int(useful_slots(cost, high, work, known))
        ends = cheapest(cost[:slots], low[:slots], high[:slots], work).tolist()
        best, gain = (0 if never else None), None
        for c in range(first - self.inst.jobs[i].arrival, slots):
            if ends[c] >= NONE:
                continue
            if gain is None or best is None or gain - ends[c] > best:
                interrupts.leave_if_abandoned()
                gain = self._utility(i, c)
                payoff = gain - ends[c]
                best = payoff if best is None else max(best, payoff)
        return best

    def _capacity_costs(self, i: int, prices: CapacityPriced) -> Ints:
        """Return the cost of n workers in each slot from the arrival on, shape (S, N + 1)."""
        key = (prices.key, i)
        if key not in self._costs:
            arrival = self.inst.jobs[i].arrival
            cells(f"costs of job {i}", self.inst.horizon - arrival, int(self.cap[i]) + 1)
            if sum(known.size for known in self._costs.values()) >= CELLS:
                self._costs.clear()
            units = [
                charged(p[arrival:], side.demand[i], self.shift, self.dearest)
                for side, p in zip(self.sides, prices.prices, strict=True)
            ]
            units_that_fit = [side.count * side.max_units[:, i] for side in self.sides]
            needed = self.ps_needed[i][: self.cap[i] + 1]
            self._costs[key] = slot_costs(
                units[0], units_that_fit[0], units[1], units_that_fit[1], needed
            )
        return self._costs[key]

    def _slot_costs(self, i: int, prices: SlotPriced, window: slice) -> Ints:
        cells(f"costs of job {i}", window.stop - window.start, int(self.cap[i]) + 1)
        worker, server = (p[i, window] for p in prices.prices)
        numbers = np.arange(self.cap[i] + 1)
        cost: Ints = np.outer(worker, numbers) + np.outer(server, self.ps_needed[i][numbers])
        return cost

    def _machines(self, s: int, limits: JobLimits, value: Ints) -> int:
        """Return the value of the most expensive loads of one side's machines over all slots."""
        side, total = self.sides[s], 0
        most = limits.high if s == 0 else self._servers(limits.high)
        value = np.where(limits.running(self.inst.arrays.arrival), value, 0).T.copy()  # (T, I)
        most = np.where(value.T > 0, most, 0).T.copy()  # (T, I)
        for t in np.flatnonzero(value.any(axis=1)).tolist():
            for c, count in enumerate(side.count.tolist()):
                total += count * self._load(s, c, value[t], most[t])
        return total

    def _servers(self, workers: Ints) -> Ints:
        return np.array(
            [
                needed[np.maximum(row, 0)]
                for needed, row in zip(self.ps_needed, workers, strict=True)
            ],
            np.int64,
        ).reshape(workers.shape)

    def _load(self, s: int, c: int, value: Ints, most: Ints) -> int:
        """Return the value of the most expensive load of an empty machine of class ``c``."""
        side = self.sides[s]
        most = np.minimum(most, side.max_units[c])
        key = (s, c, value.tobytes(), most.tobytes())
        if key not in self._loads:
            _make_space(self._loads)
            self._loads[key] = best_load(value, most, side.demand, side.capacity[c])
        return self._loads[key]


def _first_below(utility: Utility, delays: range, least: Fraction) -> int:
    """Return the first delay with a utility of at most ``least``; if none, the number of delays.

    Logarithms state where to look, and exact utilities whether it is there.
    """
    if least:
        log = log_of(least)
        found = bisect_left(delays, True, key=lambda d: utility.log(d) <= log)
        below = found == len(delays) or _at_most(utility, found, least, log)
        if below and (found == 0 or not _at_most(utility, found - 1, least, log)):
            return found
    return bisect_left(delays, True, key=lambda d: utility.upper(d) <= least)


def _at_most(utility: Utility, delay: int, least: Fraction, log: float) -> bool:
    """Return whether a utility is at most ``least``, whose logarithm is given."""
    return (compare(utility, delay, log) or (1 if utility.upper(delay) > least else -1)) < 0


def _make_space(
    memory: dict[tuple[object, ...], int | None] | dict[tuple[object, ...], int],
) -> None:
    if len(memory) >= MEMORY:
        memory.clear()
