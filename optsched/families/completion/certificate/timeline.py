"""Dynamic program over time of an instance: numbers, states, and paths to the end.

Bounded dynamic programming (Morin and Marsten, 1976) over the kernels `states` and `paths`;
`program` states why it proves a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from optsched.families.completion.certificate.bound import BoundEvaluator, Entries, value_step
from optsched.families.completion.certificate.choices import APART, TOGETHER, Comparison, JobChoices
from optsched.families.completion.certificate.conflicts import FIRST, LAST
from optsched.families.completion.certificate.holding import Conflicts, Memory, remembered
from optsched.families.completion.certificate.kernels import rents
from optsched.families.completion.certificate.paths import FOUND, PAUSED, Trail, rest_costs, walk
from optsched.families.completion.certificate.states import (
    FULL,
    ITEM,
    NOTHING,
    Demand,
    Stack,
    StatePool,
    Transitions,
    bounds,
    expand,
    least_costs,
)
from optsched.numbers.arrays import Ints
from optsched.numbers.overflow import Magnitude, int64s
from optsched.proofs.grid import LARGEST_PRICE, capacity_cost, dense

MOST_CELLS = 2**25  # of the table of rents
MOST_RENTS = 2**40  # of working out rents: cells times PS types times workers times classes squared
MOST_STATES = 2**18
MOST_STEPS = 2**22
MOST_WORK = 2**28  # starts and conflicts that are looked at
MOST_NODES = 2**25  # of the walk along the paths
MEMORY = 2**20  # lists of items; a power of two
AT_ONCE = 64  # states between two looks at the clock, and nodes of a walk


class UnfinishedError(Exception):
    """Not all paths have been looked at."""


class PricedItems(NamedTuple):
    """Rents and charges of the items at one price list."""

    rent: Ints  # (I, L + 1, L + 1)
    charge: Ints  # (L + 1,)


class Graph(NamedTuple):
    """All paths that end at the limit or below."""

    order: Ints  # (E,) steps, see `timeline.walk`
    first: Ints  # (N + 1,)
    rest: Ints  # (N + 1,)


class Path(NamedTuple):
    """Choice, start and end of every job along a path."""

    value: int
    choice: Ints  # (J,) of the menu
    item: Ints  # (J,)
    start: Ints  # (J,)
    end: Ints  # (J,)


class TimelineGrid:
    """The grid of an instance, and the largest numbers on it."""

    def __init__(self, evaluation: BoundEvaluator, menu: JobChoices, grid_bits: int) -> None:
        self.evaluation, self.menu, self.grid_bits = evaluation, menu, grid_bits
        self.unit = value_step(evaluation.inst) * Fraction(2) ** -grid_bits
        self.weights = [math.floor(w / self.unit) for w in evaluation.weights]
        self.longest = sum(np.maximum.reduceat(menu.duration, menu.first[:-1]).tolist())
        self.arrival = max(job.arrival for job in evaluation.inst.jobs)  # the last one
        Magnitude("last completion", self.arrival + self.longest).fits(2**46)

    def check(self, slots: int, lists: int) -> None:
        """Refuse more items, slots and price lists than can be looked at."""
        platform, items = self.evaluation.platform, Magnitude("items", len(self.menu.items))
        items.fits(ITEM)
        cells = items * Magnitude("slots, squared", (slots + 1) ** 2)
        cells *= Magnitude("price lists", lists)
        cells.fits(MOST_CELLS)
        classes = Magnitude("classes of servers, squared", len(platform.servers) ** 2)
        kinds = Magnitude("types of PS", max(1, len(platform.z)))
        (cells * kinds * self.evaluation.number * classes).fits(MOST_RENTS)

    def priced(self, entries: Entries, slots: int, place: str) -> PricedItems:
        """Read a price list, of which no price is in slot ``slots`` or later.

        Raises
        ------
        ValueError
            An entry is at a place that does not exist, is given twice, or numbers are too large.
        """
        platform, menu, number = self.evaluation.platform, self.menu, len(self.weights)
        classes, resources = platform.capacity.shape
        names = {"slot": slots, "class": classes, "resource": resources}
        prices = dense(place, entries, names, LARGEST_PRICE, MOST_CELLS)
        rent = [0] * classes
        for _, c, r, price in entries:
            rent[c] += price * self.evaluation.dearest[r]
        n = int(menu.items[:, [APART, TOGETHER]].max())
        ps = Magnitude.of("PS", platform.needed[:, :, : n + 1])
        each = (Magnitude("workers", n) + ps) * Magnitude.of("rent of a worker or PS", rent)
        charge = Magnitude(
            "capacity value", capacity_cost(prices, platform.capacity, platform.servers)
        )
        all_rents = each.total(number).named(f"{place}: rent of all jobs")
        # the tables know starts up to slot ``slots``, however late the last job arrives
        latest = max(self.arrival, slots) + self.longest
        time = Magnitude("weighted completion", sum(self.weights) * latest)
        (all_rents + charge + time).fits(NOTHING - 1)
        longest = np.zeros(len(menu.items), np.int64)
        np.maximum.at(longest, menu.item, menu.duration)
        one = (prices * platform.capacity * platform.servers[:, None]).sum(axis=(1, 2))
        left = np.zeros(slots + 1, np.int64)
        left[:-1] = np.cumsum(one[::-1])[::-1]
        return PricedItems(
            rents(platform, self.evaluation.costs(prices), menu.items, longest), left
        )


class Timeline:
    """The program of an instance at prices and conflicts.

    Parameters
    ----------
    units : Units
    lists : sequence of PricedItems
    runs : sequence of arrays of shape (E, 7)
        Conflicts that have been verified.
    """

    def __init__(
        self, units: TimelineGrid, lists: Sequence[PricedItems], runs: Sequence[Ints] = ()
    ) -> None:
        self.units, menu, inst = units, units.menu, units.evaluation.inst
        jobs = len(inst.jobs)
        rent, charge = (
            np.stack([getattr(one, name) for one in lists], axis=-1) for name in PricedItems._fields
        )
        self.demand = Demand(
            *(menu.first, menu.item, menu.duration),
            np.array([job.arrival for job in inst.jobs], np.int64),
            int64s("weights", units.weights),
            menu.shortest(),
            NOTHING if inst.deadline is None else inst.deadline,
            rent,
            np.empty((jobs, *charge.shape), np.int64),
            charge,
            menu.use,
            inst.arrays.capacity.sum(axis=0),
        )
        least_costs(self.demand)
        most = int(menu.items[:, [APART, TOGETHER]].max())
        self.comparison = Comparison(units.evaluation.platform, most)
        self.memory = Memory(
            np.empty((MEMORY, jobs), np.int32),
            np.full(MEMORY, -1, np.int8),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
        )
        self.learn(runs)
        self.pool: StatePool
        self.steps: Transitions
        self.trail: Trail

    def learn(self, runs: Sequence[Ints]) -> None:
        """Know these conflicts, and no others."""
        single = [one[:, FIRST].min() == one[:, LAST].max() for one in runs]
        parts = [[x for x, s in zip(runs, single, strict=True) if s == kind] for kind in (1, 0)]
        every = np.concatenate([np.zeros((0, 7), np.int64), *parts[0], *parts[1]])
        items, which = np.unique(every[:, :FIRST], axis=0, return_inverse=True)
        first = [np.cumsum([0, *map(len, part)]) for part in parts]
        a = int(first[0][-1])
        which = which.ravel().astype(np.int64)
        self.conflicts = Conflicts(
            *(first[0], which[:a], first[1], which[a:]),
            np.ascontiguousarray(every[a:, [FIRST, LAST]]),
            self.comparison.covers(items, self.units.menu.items),
        )
        self.memory.holds.fill(-1)
        self.memory.size[0] = 0

    def refused(self, items: Ints) -> bool:
        """Return whether items cannot run at once, as far as is known; ascending."""
        which = items.astype(np.int32)
        return bool(remembered(self.conflicts, self.memory, which, len(which)))

    def run(
        self,
        limit: int,
        stop: Callable[[], bool],
        *,
        most: int = MOST_STATES,
        width: int = MOST_STATES,
    ) -> bool:
        """Look for states on the way to ``limit`` or below; return whether these are all.

        Not if there are more than ``most``. Where a slot has more than ``width``, only those with
        the least bounds are followed.
        """
        jobs, demand = len(self.units.weights), self.demand
        self.pool, self.steps = _pool(jobs, MOST_STATES), _steps()
        stack = _stack(jobs, demand)
        self.memory.work[0] = MOST_WORK
        done, whole = 0, True
        while True:
            open_slots = self.pool.slot[: int(self.pool.size[0])]
            later = open_slots > done - 1
            if not later.any():
                return whole
            t = int(open_slots[later].min())
            states = np.flatnonzero(open_slots == t)
            done = t + 1
            if len(states) > width:
                dear = bounds(demand, self.pool, states).max(axis=1)
                states = np.sort(states[np.argsort(dear, kind="stable")[:width]])
                whole = False
            for k in range(0, len(states), AT_ONCE):
                some = states[k : k + AT_ONCE]
                rest = (self.pool, self.steps, stack, some, limit)
                full = expand(demand, self.conflicts, self.memory, *rest) == FULL
                if full or self.pool.size[0] > most or stop():
                    return False

    def graph(self) -> Graph:
        """Return the paths of the last run."""
        steps, n = self.steps, int(self.steps.size[0])
        rest = rest_costs(steps, int(self.pool.size[0]))
        source = steps.source[:n]
        order = np.lexsort((steps.cost[:n] + rest[steps.target[:n]], source))
        graph = Graph(order, np.searchsorted(source[order], np.arange(len(rest))), rest)
        self.restart(graph)
        return graph

    def restart(self, graph: Graph) -> None:
        """Go back to the beginning of all paths."""
        jobs = len(self.units.weights)
        a, b, c, d = np.zeros((4, 2 * jobs + 3), np.int64)
        item, start, end, choice = np.zeros((4, jobs), np.int64)
        self.trail = Trail(a, b, c, d, item, start, end, choice, np.zeros(1, np.int64))
        self.trail.at[0] = graph.first[0]

    def next_path(self, graph: Graph, limit: int, stop: Callable[[], bool]) -> Path | None:
        """Return the next path that holds no conflict, None if there is none.

        Raises
        ------
        UnfinishedError
            It was stopped, or is too long.
        """
        nodes = MOST_NODES
        while nodes > 0 and self.memory.work[0] >= 0:
            most = min(nodes, 1000 * AT_ONCE)
            limits = np.array([limit, most], np.int64)
            args = (self.demand, self.conflicts, self.memory, self.pool, self.steps)
            how = walk(*args, *graph, self.trail, limits)
            if how == FOUND:
                return self._path()
            if how != PAUSED:
                return None
            if stop():
                break
            nodes -= most
        raise UnfinishedError

    def _path(self) -> Path:
        trail = self.trail
        job = np.searchsorted(self.units.menu.first, trail.choice, side="right") - 1
        order = np.argsort(job)
        columns = (trail.choice, trail.item, trail.start, trail.end)
        return Path(int(trail.value[trail.depth[0]]), *(x[order].copy() for x in columns))


def _pool(jobs: int, n: int) -> StatePool:
    """Return the pool for n states with the one in which nothing has started."""
    slot, mask, value = np.zeros((3, n), np.int64)
    runs, chosen = np.empty((n, jobs), np.int64), np.empty((n, jobs, 2), np.int64)
    ended, table = np.zeros(n, np.bool_), np.full(2 * n, -1, np.int32)
    pool = StatePool(slot, mask, value, ended, runs, chosen, table, np.ones(1, np.int64))
    pool.runs[0], pool.chosen[0], pool.ended[0] = NOTHING, 0, True
    return pool


def _steps() -> Transitions:
    n = MOST_STEPS
    return Transitions(
        *(np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)),
        *(np.zeros(n + 1, np.int32), np.empty(3 * n, np.int32), np.zeros(1, np.int64)),
    )


def _stack(jobs: int, demand: Demand) -> Stack:
    more, lists = jobs + 1, demand.charge.shape[1]
    use, runs = np.zeros((more, len(demand.whole)), np.int64), np.zeros((more, jobs), np.int64)
    number, mask, value, job, row = np.zeros((5, more), np.int64)
    chosen, onward = np.zeros((jobs, 2), np.int64), np.zeros(jobs, np.int64)
    picked, order = np.zeros((2, jobs), np.int32)
    cost, (others, sums) = np.zeros((more, lists), np.int64), np.zeros((2, lists), np.int64)
    state = (use, runs, number, mask, value, cost, job, row)
    return Stack(*state, chosen, picked, order, onward, others, sums)
