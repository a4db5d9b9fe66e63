"""Parallel simulated annealing with several Markov chains that exchange their best state.

Asynchronous multiple Markov chains (Lee and Lee, 1996): each thread makes its own moves, and late
in the search all continue from the state of the best chain. No thread waits for another: the first
to arrive continues from its own state until a better one arrives.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.completion.optimum.board.plans import (
    BoardTables,
    Copies,
    Plans,
    copy_plan,
    no_plans,
)
from optsched.families.completion.optimum.board.scratch import BoardWorkspace
from optsched.families.completion.optimum.board.servers import GIVE, TAKE, Servers, occupy
from optsched.families.completion.optimum.search.annealing import anneal
from optsched.families.completion.optimum.search.neighborhood import Neighborhood
from optsched.numbers.arrays import Floats
from optsched.numbers.kernels import kernel
from optsched.numbers.streams import Streams
from optsched.process import work_units

COOLING = (1e-3, 1e-5)  # temperature at the start and the end, relative to weighted completion
SLOWER = 2.0  # power of the share of time that has passed: it falls slowly while it is high
MOVES = 100  # between two looks at what is left, and at the other threads
INSERTIONS = 3  # of a move, as a rule
MEETINGS = (0.6, 0.7, 0.8, 0.9)  # shares of the time: before, the leader changes
REPORT_SECONDS = 2.0  # checking a schedule takes a while: not every step is reported at once


class SharedBest:
    """The best plans that any thread has seen, and the best state at their last meeting.

    Parameters
    ----------
    area : Neighborhood
        The state with which the search begins.
    """

    def __init__(self, area: Neighborhood) -> None:
        self.lock = Lock()
        self.best, self.most = area.snapshot(), area.value
        self.state, self.value = area.snapshot(), area.value
        self.meeting, self.news = 0, 0  # numbers of the last meeting, and of ``state``

    def keep(self, plans: Plans, value: float) -> None:
        """Keep plans that earn so much, if they are the best."""
        with self.lock:
            if value > self.most:
                _copy(plans, self.best)
                self.most = value


class Chain:
    """The moves of one thread.

    Parameters
    ----------
    area : Neighborhood
        Its state.
    common : SharedBest
    seed, start : int
        Fix the random numbers.
    """

    def __init__(self, area: Neighborhood, common: SharedBest, seed: int, start: int) -> None:
        self.area, self.common = area, common
        self.best = -np.inf  # what the best plans of this thread earn
        self.copies = Copies(area.plans, no_plans(area.tables), no_plans(area.tables))
        self.drawn = Streams(seed)("neighbourhood", start).integers(2**63, size=1, dtype=np.uint64)
        self.met, self.seen = 0, 0  # numbers of meeting and state that it has seen

    def move(self, heat: float) -> None:
        """Make some moves at one temperature."""
        area = self.area
        state = area.tables, area.servers, area.workspace, self.copies
        area.value, self.best = anneal(*state, area.value, self.best, heat, MOVES, self.drawn)
        if self.best > self.common.most:
            self.common.keep(self.copies.best, self.best)

    def join(self, other: Chain) -> None:
        """Go on from the state of another chain, and from what it has received."""
        self._go_on_from(other.area.plans, other.area.value)
        self.met, self.seen = other.met, other.seen

    def _go_on_from(self, plans: Plans, value: float) -> None:
        """Replace the state by one that earns so much."""
        area = self.area
        adopt(area.tables, area.servers, area.workspace, area.plans, plans)
        area.value = value

    def meet(self, number: int) -> None:
        """Take part in the meeting of this number; go on from the best state of those that did."""
        common, area = self.common, self.area
        if self.met == number and self.seen == common.news:
            return
        with common.lock:
            if self.met < number:
                self.met = number
                if common.meeting < number or area.value > common.value:
                    _copy(area.plans, common.state)
                    common.value, common.meeting = area.value, number
                    common.news += 1
            if self.seen < common.news:
                self.seen = common.news
                if common.value > area.value:
                    self._go_on_from(common.state, common.value)


def _copy(plans: Plans, to: Plans) -> None:
    for array, now in zip(to, plans, strict=True):
        array[...] = now


def search_together(
    areas: Sequence[Neighborhood],
    progress: Progress | None,
    *,
    seed: int,
    start: int,
    done: Callable[[], float],
    late: Callable[[], Floats | None] | None = None,
) -> Plans:
    """Search from the state of the first area, in a thread for each of them.

    Return the best plans; all that are better are reported.

    Parameters
    ----------
    areas : sequence of Neighborhood
    progress : Progress, optional
    seed, start : int
        Fix the random numbers.
    done : callable
        Share of the time that has passed; the search ends at 1.
    late : callable, optional
        Where it is given, the last thread begins only once it returns prices; the others go on at
        these as well.
    """
    first = areas[0]
    common = SharedBest(first)
    ended = Event()
    passed = 0.0
    shown = -np.inf
    reported = 0.0 if progress is None else progress.seconds()
    scale = float(first.jobs.weight.sum()) * first.slots - first.value

    def step(chain: Chain) -> None:
        chain.move(float(scale * COOLING[0] * (COOLING[1] / COOLING[0]) ** passed**SLOWER))
        chain.meet(bisect_right(MEETINGS, passed))

    def run(chain: Chain) -> None:
        while not ended.is_set():
            step(chain)

    mine, *waiting = [Chain(area, common, seed, start + k) for k, area in enumerate(areas)]
    with ThreadPoolExecutor(len(areas)) as pool:
        others: list[Future[None]] = []
        try:
            while (passed := done()) < 1.0:
                if late is not None and (prices := late()) is not None:
                    for area in areas:
                        area.reprice(prices)
                    late = None
                ready = waiting if late is None else waiting[:-1]
                waiting = waiting[len(ready) :]
                for chain in ready:
                    chain.join(mine)
                    others.append(pool.submit(run, chain))
                work_units.steps(MOVES * INSERTIONS * first.steps)
                step(mine)
                if progress is not None and common.most > shown and progress.seconds() > reported:
                    with common.lock:
                        plans, shown = Plans(*(array.copy() for array in common.best)), common.most
                    first.report(progress, plans)
                    reported = progress.seconds() + REPORT_SECONDS
        finally:
            ended.set()
        for other in others:
            other.result()
    if progress is not None:
        first.report(progress, common.best)
    return common.best


@kernel(nogil=True)
def differ(a: Plans, b: Plans, i: int) -> bool:
    """Whether job i runs in another way."""
    if a.mode[i] < 0 and b.mode[i] < 0:
        return False
    other = a.mode[i] != b.mode[i] or a.start[i] != b.start[i] or a.kind[i] != b.kind[i]
    other |= a.host[i] != b.host[i] or a.ps[i] != b.ps[i] or a.parts[i] != b.parts[i]
    for x in range(0 if other else a.parts[i]):
        other |= a.where[i, x] != b.where[i, x] or a.number[i, x] != b.number[i, x]
    return bool(other)


@kernel(nogil=True)
def adopt(
    tables: BoardTables, servers: Servers, workspace: BoardWorkspace, plans: Plans, other: Plans
) -> None:
    """Let all jobs run as in ``other``, which is feasible."""
    jobs = plans.mode.size
    changed, number = np.empty(jobs, np.int64), 0
    for i in range(jobs):
        if differ(plans, other, i):
            changed[number] = i
            number += 1
            if plans.mode[i] >= 0:
                occupy(tables, servers, plans, workspace, i, GIVE)
            copy_plan(other, plans, i)
    for x in range(number):
        if plans.mode[changed[x]] >= 0:
            occupy(tables, servers, plans, workspace, changed[x], TAKE)
