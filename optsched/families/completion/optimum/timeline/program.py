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

from optsched.families.completion.modes import Modes
from optsched.families.completion.optimum.cpsat import Choices
from optsched.families.completion.optimum.prices.capacity import Jobs
from optsched.families.completion.optimum.timeline.kernels import (
    NOTHING,
    Demand,
    Pool,
    Rows,
    Stack,
    Steps,
    bounds,
    costs,
    expand,
    rents,
)
from optsched.families.completion.optimum.timeline.slot_items import SlotItems
from optsched.families.completion.oracle.servers import PricedServers
from optsched.numbers.arrays import Floats, Ints, Medium
from optsched.process import effort

MOST_JOBS = 40  # a set of jobs is a bit mask
MOST_STATES = 2**21
MOST_STEPS = 2**23  # between states
STATE_STEPS = 30_000  # elementary ones of a kernel, for a state that it meets
SLACK = 1e-9  # relative: rounding of sums of floats


class Graph(NamedTuple):
    """All paths below a limit."""

    order: Ints  # (E,) steps by the state in which they begin
    first: Ints  # (N + 1,) of these
    target: Medium  # (E,) state in which a step ends; -1: all jobs have started
    cost: Floats  # (E,) weight * completion of what a step starts
    rest: Floats  # (N + 1,) the least cost that follows a state


class Path(NamedTuple):
    """A schedule of the relaxation."""

    value: float
    choices: Sequence[Choices]  # its modes and start of every job
    lists: Sequence[Sequence[tuple[int, int]]]  # (item, job) in slots in which a job starts


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
    items : SlotItems
        Made of all modes that ``choices`` may hold.
    prices : sequence of arrays of shape (L, C, R)
        Every one gives a bound of a state; the greatest counts.
    choices : sequence of Choices
        Modes and starts that schedules of interest have: of every job at least one.
    """

    def __init__(
        self,
        jobs: Jobs,
        items: SlotItems,
        prices: Sequence[Floats],
        choices: Sequence[Choices],
    ) -> None:
        self.left, self.slot_items = choices, items
        ends = [
            d + t for c in choices for d, s in zip(c.modes[:, 4], c.starts, strict=True) for t in s
        ]
        self.slots = int(max(ends)) + 1
        # modes of a job that are alike in type and duration share a row
        alike = [np.unique(c.modes[:, [0, 4]], axis=0, return_inverse=True) for c in choices]
        first = np.cumsum([0, *(len(kinds) for kinds, _ in alike)])
        kinds = np.concatenate([kinds for kinds, _ in alike])
        item = [
            index[m, d]
            for index, (mine, _) in zip(items.index, alike, strict=True)
            for m, d in mine.tolist()
        ]
        self.row_of = [a + rows.ravel() for a, (_, rows) in zip(first[:-1], alike, strict=True)]
        self.item = np.array(item, np.int64)
        self.longest = np.zeros(len(items.items.apart), np.int64)
        np.maximum.at(self.longest, self.item, kinds[:, 1])
        allowed = np.zeros((len(kinds), self.slots + 1), bool)
        for choice, mine in zip(choices, self.row_of, strict=True):
            for row, starts in zip(mine.tolist(), choice.starts, strict=True):
                allowed[row, starts] = True
        row, start = np.nonzero(allowed)
        end = start + kinds[row, 1]
        job = np.repeat(np.arange(len(choices)), np.diff(first))
        cost = np.full((len(prices), *allowed.shape), np.inf)
        rent, worth = [], np.zeros((len(prices), self.slots + 1))
        for k, one in enumerate(prices):
            rent.append(self._rent(jobs, one))
            cost[k, row, start] = jobs.weight[job[row]] * end + rent[k][self.item[row], start, end]
            whole = (one * (jobs.class_capacity * jobs.count[:, None])).sum(axis=(1, 2))
            n = min(len(whole), self.slots)
            # what is priced after the last end is worth nothing to anybody: it always counts
            worth[k, :n] = whole[:n]
            worth[k] = np.cumsum(worth[k, ::-1])[::-1] + whole[n:].sum()
        self.rows = Rows(first, self.item, np.ascontiguousarray(kinds[:, 1]), cost)
        by_job = np.array([cost[:, a:b].min(axis=1) for a, b in pairwise(first)])  # (J, K, S + 1)
        least = np.minimum.accumulate(by_job[:, :, ::-1], axis=2)[:, :, ::-1]
        least = np.ascontiguousarray(least.transpose(1, 0, 2))
        self.demand = Demand(self.rows, jobs.arrival, jobs.weight, least, worth, np.array(rent))
        self.pool: Pool  # of the last run
        self.steps: Steps
        self.stack = self._stack(len(prices))

    def _rent(self, jobs: Jobs, prices: Floats) -> Floats:
        """Return what items cost at least from a slot to another, shape (I, S + 1, S + 1)."""
        items = self.slot_items.items
        mask = np.stack((items.apart_ps, items.together_ps), axis=1)
        i, q = np.ascontiguousarray(np.nonzero(mask))
        workers = np.stack((items.apart, items.together), axis=1)[i, q]
        modes = Modes(items.worker_type[i], q, workers, np.empty_like(i), mask[i, q])
        first = np.searchsorted(i, np.arange(len(mask) + 1))
        servers = PricedServers.of(jobs.types, prices, jobs.class_capacity, jobs.count)
        return rents(jobs.types[:], modes, first, self.longest, self.slots, servers[:])

    def least(
        self,
        limit: float,
        stop: Callable[[], bool],
        *,
        keep: bool = False,
    ) -> Outcome:
        """Look for the least value below ``limit``.

        Parameters
        ----------
        limit : float
        stop : callable
            Asked now and then.
        keep : bool
            Look for all paths below the limit, for `graph`.
        """
        pool, steps = self.pool, self.steps = self._pool(), _steps(keep)
        value, path, fit = limit, None, self.slot_items.fit
        for t in range(self.slots + 1):
            for s in self._states(t).tolist():
                top = (limit if keep else value) * (1 + SLACK)
                if pool.bound[s] >= top:
                    continue
                before = int(pool.size[0])
                found, how = expand(fit, self.demand, pool, steps, self.stack, s, top, value)
                effort.steps(STATE_STEPS * (1 + int(pool.size[0]) - before))
                if found < value:
                    value, path = found, self._path(found, self.stack.best)
                if how or stop():
                    return Outcome(path, False, int(pool.size[0]))
        return Outcome(path, True, int(pool.size[0]))

    def graph(self) -> Graph | None:
        """Return the paths below the limit of the last run; None if there were too many of them."""
        steps, n = self.steps, int(self.steps.size[0])
        if n == len(steps.source):
            return None
        job = np.repeat(np.arange(len(self.left)), np.diff(self.rows.first))
        cost, rest = costs(self.demand, self.pool, steps, job)
        source, target = steps.source[:n], steps.target[:n]
        order = np.argsort(source, kind="stable")
        first = np.searchsorted(source[order], np.arange(len(rest)))
        return Graph(order, first, target, cost, rest)

    def started(self, step: int) -> list[tuple[int, int, int]]:
        """Return (row, start, end) of what a step of the last run starts."""
        a, b = self.steps.first[step : step + 2].tolist()
        t = int(self.pool.slot[self.steps.source[step]])
        return [(c, t, t + int(self.rows.duration[c])) for c in self.steps.row[a:b].tolist()]

    def path(self, value: float, begun: Sequence[tuple[int, int, int]]) -> Path:
        """Return the path in which rows are started as (row, start, end) say."""
        chosen = np.zeros(len(self.left), np.int32)
        job = np.repeat(np.arange(len(self.left)), np.diff(self.rows.first))
        for c, t, _ in begun:
            chosen[job[c]] = c * (self.slots + 1) + t
        return self._path(value, chosen)

    def _states(self, slot: int) -> Ints:
        """Return the states of a slot, the least bound first."""
        out, s = [], int(self.pool.head[slot])
        while s >= 0:
            out.append(s)
            s = int(self.pool.after[s])
        states = np.array(out, np.int64)
        return states[np.argsort(self.pool.bound[states], kind="stable")]

    def limits(self, state: int, root: Ints) -> Ints:
        """Return the limits (J, 5, 2) of schedules that go on as a state does, within ``root``."""
        limits, pool = root.copy(), self.pool
        rows, starts = np.divmod(pool.chosen[state].astype(np.int64), self.slots + 1)
        for j, (row, start) in enumerate(zip(rows.tolist(), starts.tolist(), strict=True)):
            if (int(pool.mask[state]) >> j) & 1:
                kind = self.slot_items.items.worker_type[self.item[row]]
                for k, x in enumerate((start, start + self.rows.duration[row], kind)):
                    limits[j, k] = x
            else:
                limits[j, 0, 0] = max(limits[j, 0, 0], pool.slot[state])
        return limits

    def bounds(self, pool: Pool, states: Ints) -> Floats:
        """Return the bounds of states of a pool at all prices, shape (K, N)."""
        return bounds(self.demand, pool, states)

    def _pool(self) -> Pool:
        """Return the pool with the state in which nothing has started."""
        n, slots = len(self.left), self.slots + 1
        pool = Pool(
            np.zeros(MOST_STATES, np.int64),
            np.zeros(MOST_STATES, np.int64),
            np.zeros(MOST_STATES),
            np.zeros(MOST_STATES),
            np.zeros(MOST_STATES, bool),
            np.empty((MOST_STATES, n), np.int32),
            np.empty((MOST_STATES, n), np.int32),
            np.empty(MOST_STATES, np.int64),
            np.full(slots, -1, np.int64),
            np.full(2 * MOST_STATES, -1, np.int32),
            np.ones(1, np.int64),
        )
        pool.runs[0], pool.chosen[0] = NOTHING, 0
        pool.ended[0], pool.head[0], pool.after[0] = True, 0, -1
        return pool

    def _stack(self, lists: int) -> Stack:
        jobs, resources = len(self.left), self.slot_items.items.use.shape[1]
        use, cost = np.zeros((jobs + 1, resources), np.int64), np.zeros((jobs + 1, lists))
        runs: Medium = np.full((jobs + 1, jobs), NOTHING, np.int32)
        number, mask, job, row = np.zeros((4, jobs + 1), np.int64)
        some = np.zeros((5, jobs), np.int32)
        value, others = np.zeros(jobs + 1), np.zeros(lists)
        return Stack(
            *(use, runs, number, mask, value, cost, job, row),
            *(some[0], some[1], some[2], some[3], others, some[4]),
        )

    def _path(self, value: float, chosen: Medium) -> Path:
        rows, starts = np.divmod(chosen.astype(np.int64), self.slots + 1)
        ends = starts + self.rows.duration[rows]
        choices = []
        for choice, mine, row, t in zip(
            self.left, self.row_of, rows.tolist(), starts.tolist(), strict=True
        ):
            same = [k for k in np.flatnonzero(mine == row).tolist() if t in choice.starts[k]]
            choices.append(Choices(choice.modes[same], [[t]] * len(same)))
        items = self.item[rows]
        lists = [
            [(int(items[j]), j) for j in np.flatnonzero((starts <= t) & (t < ends)).tolist()]
            for t in np.unique(starts).tolist()
        ]
        return Path(value, choices, lists)


def _steps(keep: bool) -> Steps:
    size = MOST_STEPS if keep else 0
    return Steps(
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.zeros(size + 1, np.int32),
        np.empty(3 * size, np.int32),
        np.zeros(1, np.int64),
    )
