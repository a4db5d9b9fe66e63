"""The bound of one leaf of a certificate of family `dmlrs`: integers only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optsched.families.dmlrs.certificate_kernels import (
    INNER_ONLY,
    NONE,
    best_load,
    best_payoff,
    inner_costs,
    outer_costs,
    slot_options,
)
from optsched.families.dmlrs.certificate_slots import MOST_JOBS, best_packing
from optsched.families.dmlrs.instance import IMPOSSIBLE, LARGEST_UNITS, DmlrsInstance

Ints = NDArray[np.int64]

LARGEST_PRICE = 2**62
MEMORY = 100_000  # results that are kept for leaves to come


@dataclass
class Limits:
    """What the path to a leaf says of each job."""

    first: Ints  # (I,) earliest and
    last: Ints  # (I,) latest slot in which it may complete
    never: NDArray[np.bool_]  # (I,) whether it may stay out
    low: Ints  # (I, T) numbers of workers
    high: Ints  # (I, T)
    mode: Ints  # (I, T) ANY, INNER_ONLY or OUTER_ONLY; -1: may not run

    def copy(self) -> Limits:
        """Return a copy that may be changed."""
        return Limits(
            self.first.copy(),
            self.last.copy(),
            self.never.copy(),
            self.low.copy(),
            self.high.copy(),
            self.mode.copy(),
        )


@dataclass(frozen=True)
class CapacityPriced:
    """Prices of capacity, shape (T, C, R); ``key`` tells price sets apart."""

    key: int
    prices: Ints


@dataclass(frozen=True)
class UnitPriced:
    """Prices of workers and PS, shape (2, I, T, C)."""

    key: int
    prices: Ints


@dataclass(frozen=True)
class PackingPriced:
    """Marginal prices of workers that sit together (I, T, N); of capacity (T, C, R)."""

    key: int
    together: Ints
    prices: Ints


Priced = CapacityPriced | UnitPriced | PackingPriced


class LeafBounds:
    """Computes the bounds of leaves of one instance.

    Prices are integers, in value units times 2**grid_bits. Costs are added up on a grid that is
    coarser if need be, so that no int64 overflows; they only fall by that, which is valid.
    """

    def __init__(self, inst: DmlrsInstance, grid_bits: int) -> None:
        self.inst = inst
        a = inst.arrays
        self.alpha = np.minimum(a.worker_demand, LARGEST_UNITS)  # (I, R)
        self.beta = np.minimum(a.ps_demand, LARGEST_UNITS)
        self.capacity = a.capacity[[c[0] for c in a.classes]]  # (C, R)
        self.count = np.array([len(c) for c in a.classes], np.int64)
        self.tables = [
            (np.array(n.ps_inner, np.int64), np.array(n.ps_outer, np.int64)) for n in inst.needs
        ]
        most = max((job.chunks for job in inst.jobs), default=1)
        richest = max((math.ceil(job.utility.upper(0)) for job in inst.jobs), default=1)
        # 8 * (all prices of one schedule) * (utility) < 2**62
        size = 16 * inst.horizon * most * max(1, richest)
        self.grid = min(grid_bits, 62 - size.bit_length())
        self.shift = grid_bits - self.grid
        # of a worker or PS: dearer ones are lowered to this, which no job can pay
        self.dearest = 2**61 // (4 * inst.horizon * most)
        pairs = [(self._most(i, 0), self._most(i, 1)) for i in range(len(inst.jobs))]
        self.cap = np.array([max(p) for p in pairs], np.int64)  # (I,) workers in a slot
        served = [max(0, *(int(t.max()) for t in tables)) for tables in self.tables]
        self.most = np.concatenate([self.cap, np.array(served, np.int64)])  # (2 I,), and PS
        self.room = self._rooms()  # (2 I, C)
        self._loads: dict[tuple[object, ...], int] = {}
        self._payoffs: dict[tuple[object, ...], int | None] = {}
        self._costs: dict[tuple[int, int], list[tuple[Ints, Ints]]] = {}

    def _rooms(self) -> Ints:
        """Return how many workers (PS) of each job one empty machine of each class holds."""
        demand = np.concatenate([self.alpha, self.beta])
        holds = np.repeat(self.most[:, None], len(self.capacity), axis=1)
        for r in range(self.capacity.shape[1]):
            needs = demand[:, r] > 0
            held = self.capacity[None, :, r] // demand[needs, r][:, None]
            holds[needs] = np.minimum(holds[needs], held)
        return holds

    @cached_property
    def worth(self) -> list[list[int]]:
        """Utility of completing in slots arrival, arrival + 1, ..., rounded up to the grid."""
        scale = 2**self.grid if self.grid >= 0 else Fraction(1, 2**-self.grid)
        return [
            [
                math.ceil(job.utility.upper(d) * scale)
                for d in range(self.inst.horizon - job.arrival)
            ]
            for job in self.inst.jobs
        ]

    def unrestricted(self) -> Limits:
        """Return the limits at the root of a tree."""
        jobs, horizon = len(self.inst.jobs), self.inst.horizon
        return Limits(
            first=self.inst.arrays.arrival.copy(),
            last=np.full(jobs, horizon - 1, np.int64),
            never=np.ones(jobs, np.bool_),
            low=np.zeros((jobs, horizon), np.int64),
            high=np.repeat(self.cap[:, None], horizon, axis=1),
            mode=np.zeros((jobs, horizon), np.int64),
        )

    def bound(self, limits: Limits, priced: Priced) -> int | None:
        """Return the bound of a leaf, times 2**grid_bits; None if no schedule meets its limits."""
        limits.never &= ~limits.low.any(axis=1)  # who has workers, completes
        if np.any(limits.low > limits.high):
            return None
        total = 0
        for i in range(len(self.inst.jobs)):
            payoff = self._payoff(i, limits, priced)
            if payoff is None:
                return None
            total += payoff
        if isinstance(priced, PackingPriced):
            packings = self.packings.worth(limits, priced, self._together(priced))
            if packings is None:
                return None
            total += packings
        if not isinstance(priced, UnitPriced):
            return (total << self.shift) + self._capacity_worth(priced.prices)
        return (total + self._loads_worth(limits, priced.prices)) << self.shift

    @cached_property
    def packings(self) -> Packings:
        """What slots are worth at prices of packings."""
        return Packings(self.inst, self.capacity, self.count, self.tables, self.shift)

    def _together(self, priced: PackingPriced) -> Ints:
        """Return the price of n workers that sit together, shape (I, T, N + 1)."""
        each = np.minimum(priced.together >> min(self.shift, 62), self.dearest)
        return np.pad(each.cumsum(axis=2), ((0, 0), (0, 0), (1, 0)))

    def _capacity_worth(self, prices: Ints) -> int:
        """Return the sum of price * capacity."""
        return sum(
            int(prices[t, c, r]) * int(self.capacity[c, r]) * int(self.count[c])
            for t, c, r in zip(*np.nonzero(prices), strict=True)
        )

    def _loads_worth(self, limits: Limits, prices: Ints) -> int:
        """Return the worth of the most expensive loads of all machines in all slots."""
        horizon = self.inst.horizon
        value = np.concatenate([prices[0], prices[1]]) >> min(self.shift, 62)  # (2 I, T, C)
        value = np.minimum(value, self.dearest)  # as in the costs: other prices, all the same
        slots = np.arange(horizon)[None, :]
        runs = (self.inst.arrays.arrival[:, None] <= slots) & (slots <= limits.last[:, None])
        most = np.where(runs, limits.high, 0)  # of workers; never more PS than workers
        dearest = int(value.max(initial=0))
        if 2 * dearest * int(self.inst.arrays.chunks.sum()) >= 2**62:
            raise ValueError(
                f"a price of {float(dearest / Fraction(2) ** self.grid):g} per worker or PS is too "
                "large, expected no more than a job can earn"
            )
        demand = np.concatenate([self.alpha, self.beta])
        total = 0
        for t in range(horizon):
            upper = np.concatenate([most[:, t], most[:, t]])
            for c in range(len(self.capacity)):
                worth = np.ascontiguousarray(value[:, t, c])
                if not worth.any():
                    continue
                held = np.where(worth > 0, np.minimum(upper, self.room[:, c]), 0)
                key = (c, worth.tobytes(), held.tobytes())
                if key not in self._loads:
                    if len(self._loads) >= MEMORY:
                        self._loads.clear()
                    self._loads[key] = int(best_load(worth, held, demand, self.capacity[c]))
                total += int(self.count[c]) * self._loads[key]
        return total

    def _payoff(self, i: int, limits: Limits, priced: Priced) -> int | None:
        """Return what job ``i`` earns at most; None if it must complete and cannot."""
        arrival, last = self.inst.jobs[i].arrival, int(limits.last[i])
        first, never = int(limits.first[i]), bool(limits.never[i])
        if first > last:
            return 0 if never else None
        low, high, mode = (x[i, arrival:] for x in (limits.low, limits.high, limits.mode))
        name = (priced.key, i, first, last, never, low.tobytes(), high.tobytes(), mode.tobytes())
        if name not in self._payoffs:
            if len(self._payoffs) >= MEMORY:
                self._payoffs.clear()
            self._payoffs[name] = self._best(
                i, self._slots(i, priced), low, high, mode, first - arrival, last - arrival,
                never,
            )  # fmt: skip
        return self._payoffs[name]

    def _best(
        self,
        i: int,
        slots: list[tuple[Ints, Ints]],
        low: Ints,
        high: Ints,
        mode: Ints,
        first: int,
        last: int,
        never: bool,
    ) -> int | None:
        if low[last + 1 :].any():
            return None  # workers are forced after the last slot allowed
        needs = self.inst.needs[i]
        rates = np.array([needs.inner, needs.outer], np.int64)
        options = [
            slot_options(inner, outer, rates, needs.work, int(low[t]), int(high[t]), int(mode[t]))
            for t, (inner, outer) in enumerate(slots[: last + 1])
        ]
        width = max(1, max(len(w) for w, _ in options))
        work = np.zeros((last + 1, width), np.int64)
        cost = np.zeros((last + 1, width), np.int64)
        for t, (w, c) in enumerate(options):
            work[t, : len(w)], cost[t, : len(c)] = w, c
        size = np.array([len(w) for w, _ in options], np.int64)
        forced = (low[: last + 1] > 0).astype(np.int64)
        worth = np.array([min(w, NONE) for w in self.worth[i]], np.int64)
        floor = 0 if never else -NONE
        best = int(best_payoff(work, cost, size, forced, needs.work, worth, first, last, floor))
        return None if best == -NONE else best

    def _slots(self, i: int, priced: Priced) -> list[tuple[Ints, Ints]]:
        """Return the costs of n workers on one machine and on more, in each slot from arrival."""
        key = (priced.key, i)
        if key not in self._costs:
            if len(self._costs) >= len(self.inst.jobs):
                self._costs.clear()  # price sets come one after the other
            arrival = self.inst.jobs[i].arrival
            if isinstance(priced, UnitPriced):
                worker, ps = (
                    np.minimum(p[i, arrival:] >> min(self.shift, 62), self.dearest)
                    for p in priced.prices
                )
            else:
                worker = self._units(priced.prices[arrival:], self.alpha[i])
                ps = self._units(priced.prices[arrival:], self.beta[i])
            inner, outer = self.tables[i]
            most = [self._most(i, 0), self._most(i, 1)]
            beside = [
                inner_costs(
                    worker[t], ps[t], self.capacity, self.alpha[i], self.beta[i], inner, most[0]
                )
                for t in range(len(worker))
            ]
            if isinstance(priced, PackingPriced):
                own = self._together(priced)[i, arrival:, : most[0] + 1]
                beside = [np.where(b < NONE, o, NONE) for b, o in zip(beside, own, strict=True)]
            self._costs[key] = [
                (
                    beside[t],
                    outer_costs(
                        worker[t],
                        ps[t],
                        self.capacity,
                        self.count,
                        self.alpha[i],
                        self.beta[i],
                        outer,
                        most[1],
                    ),
                )
                for t in range(len(worker))
            ]
        return self._costs[key]

    def _most(self, i: int, side: int) -> int:
        """Return the most workers of a placement; more than do the whole work change nothing."""
        needs, table = self.inst.needs[i], self.tables[i][side]
        rate = needs.outer if side else needs.inner
        possible = np.flatnonzero(table != IMPOSSIBLE)
        return min(int(possible[-1]), -(-needs.work // rate))

    def _units(self, prices: Ints, demand: Ints) -> Ints:
        """Return the price of one worker (PS) on each class, shape (S, C), rounded down."""
        largest = int(prices.max(initial=0)) * int(demand.max(initial=0)) * len(demand)
        if largest >= 2**63:
            exact = (prices.astype(object) @ demand.astype(object)) >> self.shift
        else:
            exact = (prices @ demand) >> min(self.shift, 62)
        units: Ints = np.minimum(exact, self.dearest).astype(np.int64)
        return units


class Packings:
    """What all machines of a slot are worth, where every job sits on one of them."""

    def __init__(
        self,
        inst: DmlrsInstance,
        capacity: Ints,
        count: Ints,
        tables: list[tuple[Ints, Ints]],
        shift: int,
    ) -> None:
        self.inst, self.capacity, self.count, self.shift = inst, capacity, count, shift
        a = inst.arrays
        jobs, most = len(inst.jobs), max((len(inner) for inner, _ in tables), default=1)
        alpha, beta = (np.minimum(d, LARGEST_UNITS) for d in (a.worker_demand, a.ps_demand))
        self.load = np.zeros((jobs, most, capacity.shape[1]), np.int64)
        self.fits = np.zeros((len(capacity), jobs, most), np.bool_)
        for i, (inner, _) in enumerate(tables):
            for n in np.flatnonzero(inner != IMPOSSIBLE).tolist():
                self.load[i, n] = n * alpha[i] + int(inner[n]) * beta[i]
                self.fits[:, i, n] = (self.load[i, n] <= capacity).all(axis=1)
        self._known: dict[tuple[object, ...], int] = {}

    def worth(self, limits: Limits, priced: PackingPriced, together: Ints) -> int | None:
        """Return the worth of all slots, beyond that of their capacity; None: one has no packing.

        ``together`` has the prices of n workers on one machine, shape (I, T, N + 1).
        """
        if len(together) * int(together.max(initial=0)) >= NONE // 4:
            raise ValueError(
                "the prices of workers that sit together are too large, expected no more than a "
                "job can earn"
            )
        slots = np.arange(self.inst.horizon)[None, :]
        runs = (self.inst.arrays.arrival[:, None] <= slots) & (slots <= limits.last[:, None])
        inner = (limits.mode == INNER_ONLY) | (limits.mode == 0)
        most = np.where(runs & inner, limits.high, 0)
        least = np.where(limits.mode == INNER_ONLY, limits.low, 0)
        total = 0
        for t in range(self.inst.horizon):
            best = self._slot(t, together[:, t], priced.prices[t], least[:, t], most[:, t])
            if best == -NONE:
                return None
            total += best
        return total

    def _slot(self, t: int, together: Ints, prices: Ints, least: Ints, most: Ints) -> int:
        here = np.flatnonzero((most > 0) & (together[:, -1] > 0) | (least > 0))
        if here.size > MOST_JOBS:
            raise ValueError(
                f"slot {t}: {here.size} jobs have prices of workers that sit together, expected at "
                f"most {MOST_JOBS}"
            )
        name = (
            together[here].tobytes(),
            prices.tobytes(),
            here.tobytes(),
            least[here].tobytes(),
            most[here].tobytes(),
        )
        if name not in self._known:
            if len(self._known) >= MEMORY:
                self._known.clear()
            number = np.arange(self.load.shape[1])[None, :]
            allowed = (least[here, None] <= number) & (number <= most[here, None])
            worth = np.full((len(self.capacity), *allowed.shape), -NONE, np.int64)
            for c, price in enumerate(prices):
                charged = self._charged(price, self.load[here])
                gain = together[here] - np.minimum(charged, NONE // (4 * len(together)))
                worth[c] = np.where(allowed & self.fits[c, here], gain, -NONE)
            forced = sum(1 << k for k in np.flatnonzero(least[here]).tolist())
            self._known[name] = int(
                best_packing(worth, self.load[here], self.capacity, self.count, forced)
            )
        return self._known[name]

    def _charged(self, price: Ints, load: Ints) -> Ints:
        """Return what loads, shape (n, N, R), cost at a price (R,), rounded down."""
        largest = int(price.max(initial=0)) * int(load.max(initial=0)) * price.size
        if largest >= 2**63:
            exact = (load.astype(object) @ price.astype(object)) >> self.shift
        else:
            exact = (load @ price) >> min(self.shift, 62)
        charged: Ints = np.minimum(exact, NONE // 4).astype(np.int64)
        return charged
