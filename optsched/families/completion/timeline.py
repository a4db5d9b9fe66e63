"""A dynamic program over time, for the few jobs whose optimum prices alone do not prove.

A state is a slot, the jobs that have started, and what runs on: numbers of workers and parameter
servers (PS) with their ends, whichever jobs they belong to. Of paths to a state only the cheapest
counts. In some optimal schedule a job starts when it arrives or when another ends, so nothing
happens in between. With prices p, whatever follows a state costs at least

    weight * completion of what has started + rent of what runs on
    + sum over the others of their cheapest schedule from now on - p * capacity from now on,

and a state that exceeds the limit is dropped: capacity that was left idle has been paid for.

What runs together must fit on the single servers, each slot by itself: jobs may move between slots,
and where the kernel does not find out it counts as fitting. So the least value is a lower bound; it
is the optimum if its modes and starts can be placed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from optsched.colgen import Floats
from optsched.families.completion.blocks import Jobs
from optsched.families.completion.cpsat import Choices
from optsched.families.completion.filtering import Pairs, within
from optsched.families.completion.instance import Ints
from optsched.families.completion.modes import Modes
from optsched.families.completion.oracle import PricedServers, best_schedule
from optsched.families.completion.timeline_kernels import (
    NOTHING,
    STALE,
    UNKNOWN,
    Demand,
    Items,
    Memory,
    Pool,
    Rows,
    Servers,
    expand,
)

MOST_JOBS = 40  # a set of jobs is a bit mask
MOST_STATES = 2**18
MEMORY = 2**19  # lists of items; a power of two
TRIES, HARDER = 200, 10  # steps to fit a list on the servers at first, and how they grow
MOST_WORKERS = 1000
MOST_TABLE = 10**6  # entries of a table of workers that fit on all servers together
STEPS = 2_000_000  # starts that are tried in one state
SLACK = 1e-9  # relative: rounding of sums of floats


class Path(NamedTuple):
    """A schedule of the relaxation."""

    value: float
    choices: Sequence[Choices]  # its mode and start of every job
    alike: Sequence[Choices]  # all modes and starts with the same completions


@dataclass(frozen=True)
class Outcome:
    """What a dynamic program has found out."""

    best: Path | None  # below the limit; least if it is finished
    finished: bool
    states: int


class Timeline:
    """The dynamic program of an instance at prices.

    Parameters
    ----------
    jobs : Jobs
    prices : array of shape (L, C, R)
    choices : sequence of Choices
        Modes and starts that schedules of interest have: of every job at least one.
    """

    def __init__(self, jobs: Jobs, prices: Floats, choices: Sequence[Choices]) -> None:
        self.left = left = choices
        ends = [
            d + t for c in left for d, s in zip(c.modes[:, 4], c.starts, strict=True) for t in s
        ]
        self.slots = int(max(ends)) + 1
        types = jobs.types
        priced = PricedServers.of(types, prices, jobs.class_capacity, jobs.count)
        self.servers = Servers(
            *(jobs.capacity, types.worker_demand, types.ps_demand, types.ps_needed, types.ring),
            *_together(types.worker_demand, jobs.capacity),
        )
        self.memory = Memory(
            np.full((MEMORY, len(left)), -1, np.int64),
            np.full(MEMORY, -1, np.int8),
            np.zeros(1, np.int64),
            np.full(1, TRIES, np.int64),
        )
        first = np.cumsum([0, *(len(choice.modes) for choice in left)])
        modes = np.concatenate([choice.modes for choice in left])
        kinds, item = np.unique(modes[:, :4], axis=0, return_inverse=True)
        item = item.ravel()
        longest = np.zeros(len(kinds), np.int64)
        np.maximum.at(longest, item, modes[:, 4])
        cost = np.full((len(modes), self.slots + 1), np.inf)
        for j, choice in enumerate(left):
            pairs = Pairs(jobs, j, choice, priced)
            for k, (row, t) in enumerate(zip(pairs.row, pairs.start, strict=True)):
                cost[first[j] + row, t] = pairs.cost(k)
        self.rows = Rows(first, item, np.ascontiguousarray(modes[:, 4]), cost)
        self.items = Items(
            np.ascontiguousarray(kinds[:, 0]),
            np.ascontiguousarray(kinds[:, 1]),
            np.ascontiguousarray(kinds[:, 2]),
            np.ascontiguousarray(kinds[:, 3]),
            _least_use(jobs, kinds),
            self._rent(jobs, priced, kinds, longest),
        )
        by_job = np.array([cost[a:b].min(axis=0) for a, b in pairwise(first)])
        least = np.minimum.accumulate(by_job[:, ::-1], axis=1)[:, ::-1]
        worth = np.zeros(self.slots + 1)
        whole = (prices * (jobs.class_capacity * jobs.count[:, None])).sum(axis=(1, 2))
        n = min(len(whole), self.slots)
        # what is priced after the last end is worth nothing to anybody: it counts from the start
        worth[:n] = whole[:n]
        worth = np.cumsum(worth[::-1])[::-1] + whole[n:].sum()
        self.demand = Demand(jobs.arrival, jobs.weight, np.ascontiguousarray(least), worth)

    def _rent(self, jobs: Jobs, priced: PricedServers, kinds: Ints, longest: Ints) -> Floats:
        """Return what items cost at least from a slot to another, shape (I, S + 1, S + 1)."""
        rent = np.zeros((len(kinds), self.slots + 1, self.slots + 1))
        last = priced.least.shape[1] - 1
        for i, (m, p, q, n) in enumerate(kinds.tolist()):
            for a in range(min(self.slots, last)):
                for d in range(1, min(int(longest[i]), self.slots - a) + 1):
                    mode = Modes(*(np.array([x], np.int64) for x in (m, q, n, d, 1 << p)))
                    found = best_schedule(
                        jobs.types, mode, priced, arrival=a, weight=1.0, deadline=a + d
                    )
                    assert found is not None
                    rent[i, a, a + d] = found.cost
        return rent

    def least(self, limit: float, stop: Callable[[], bool]) -> Outcome:
        """Look for the least value below ``limit``."""
        pool, best = self._pool(), np.zeros(len(self.left), np.int64)
        value, path = limit, None
        for t in range(self.slots + 1):
            s = int(pool.head[t])
            while s >= 0:
                found, how = expand(
                    *(self.servers, self.items, self.rows, self.demand, pool, self.memory),
                    *(s, value * (1 + SLACK), STEPS, best),
                )
                if found < value:
                    value, path = found, self._path(found, best)
                if how or stop():
                    return Outcome(path, False, int(pool.size[0]))
                s = int(pool.after[s])
        return Outcome(path, True, int(pool.size[0]))

    def sharpen(self) -> bool:
        """Try harder to fit what runs on the servers; False if all has been found out."""
        unknown = self.memory.fits == UNKNOWN
        self.memory.fits[unknown] = STALE
        self.memory.tries[0] *= HARDER
        return bool(unknown.any())

    def _pool(self) -> Pool:
        """Return the pool with the state in which nothing has started."""
        n, slots = len(self.left), self.slots + 1
        pool = Pool(
            np.zeros(MOST_STATES, np.int64),
            np.zeros(MOST_STATES, np.int64),
            np.zeros(MOST_STATES),
            np.zeros(MOST_STATES, bool),
            np.full((MOST_STATES, n), NOTHING, np.int64),
            np.zeros((MOST_STATES, n), np.int64),
            np.full(MOST_STATES, -1, np.int64),
            np.full(slots, -1, np.int64),
            np.full(2 * MOST_STATES, -1, np.int64),
            np.ones(1, np.int64),
        )
        pool.ended[0], pool.head[0] = True, 0
        return pool

    def _path(self, value: float, chosen: Ints) -> Path:
        rows, starts = np.divmod(chosen, self.slots + 1)
        ends = starts + self.rows.duration[rows]
        places = (rows - self.rows.first[:-1]).tolist()
        choices = [
            Choices(choice.modes[k : k + 1], [[t]])
            for choice, k, t in zip(self.left, places, starts.tolist(), strict=True)
        ]
        limits = np.zeros((len(ends), 5, 2), np.int64)
        limits[:, :, 1] = NOTHING
        limits[:, 1] = ends[:, None]
        return Path(value, choices, within(self.left, limits) or choices)


def _together(demand: Ints, capacity: Ints) -> tuple[Ints, Ints]:
    """Return how many workers of the last type fit on servers (H, R) beside others of each type.

    Returns the sizes of the table (0 for the last type), and the table, flat; -1: the others do not
    fit. It is empty if it would be large.
    """
    rooms = np.array([[_room(e, free) for e in demand] for free in capacity], np.int64)
    sizes = rooms.sum(axis=0) + 1
    sizes[-1] = 0
    if int(np.prod(sizes[:-1].astype(float))) > MOST_TABLE:
        return sizes, np.empty(0, np.int64)
    table = np.full(sizes[:-1], -1, np.int64)
    table[(0,) * (len(demand) - 1)] = 0
    for free, room in zip(capacity, rooms, strict=True):
        more = np.full_like(table, -1)
        for counts in np.ndindex(*(room[:-1] + 1)):
            left = free - np.array(counts, np.int64) @ demand[:-1]
            if (left < 0).any():
                continue
            before = table[
                tuple(slice(0, size - n) for size, n in zip(table.shape, counts, strict=True))
            ]
            with_these = np.where(before >= 0, before + _room(demand[-1], left), -1)
            place = tuple(slice(n, None) for n in counts)
            more[place] = np.maximum(more[place], with_these)
        table = more
    return sizes, table.ravel()


def _room(demand: Ints, free: Ints) -> int:
    """Return how many workers fit, at most MOST_WORKERS."""
    used = demand > 0
    return int((free[used] // demand[used]).min(initial=MOST_WORKERS))


def _least_use(jobs: Jobs, kinds: Ints) -> Ints:
    """Return what items use of the whole cluster at least, shape (I, R)."""
    types = jobs.types
    use = kinds[:, 3:4] * types.worker_demand[kinds[:, 0]]
    if not types.ring:
        for i, (m, p, q, n) in enumerate(kinds.tolist()):
            elsewhere = types.ps_needed[m, p, 0:1] if q else types.ps_needed[m, p, 1 : n + 1]
            use[i] += int(elsewhere.min()) * types.ps_demand[p]
    return np.ascontiguousarray(use)
