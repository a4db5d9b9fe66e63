"""One search in several threads: each makes moves of its own, and then they agree on a state.

Most moves are not kept, so what one thread has changed by a few of them rarely meets what the
others have changed meanwhile: then it is done in the state that all agree on. Where it does, it is
forgotten. Nobody waits for anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.completion.optimum.board.joining import adopt, merge
from optsched.families.completion.optimum.board.plans import Copies, Plans, no_plans
from optsched.families.completion.optimum.search.annealing import anneal
from optsched.families.completion.optimum.search.neighbourhood import Neighbourhood
from optsched.numbers.streams import Streams
from optsched.process import effort

COOLING = (1e-3, 1e-5)  # temperature at the start and the end, relative to weighted completion
SLOWER = 2.0  # power of the share of time that has passed: it falls slowly while it is high
MOVES = 8  # between two looks at what is left, and at the other threads
INSERTIONS = 3  # of a move, as a rule
REPORT_SECONDS = 2.0  # judging a schedule takes a while: not every step is reported at once


class Common:
    """The state on which the threads agree, and the best that was seen.

    Parameters
    ----------
    area : Neighbourhood
        The state.
    """

    def __init__(self, area: Neighbourhood) -> None:
        self.area, self.lock = area, Lock()
        self.best, self.most = area.snapshot(), area.value

    def keep(self, plans: Plans, value: float) -> None:
        """Keep plans that earn so much, if they are the best."""
        if value > self.most:
            _copy(plans, self.best)
            self.most = value


class Chain:
    """The moves of one thread.

    Parameters
    ----------
    area : Neighbourhood
        Becomes its state.
    common : Common
    seed, start : int
        Fix the random numbers.
    """

    def __init__(self, area: Neighbourhood, common: Common, seed: int, start: int) -> None:
        self.area, self.common = area, common
        area.load(common.area.plans)
        self.base, self.value = area.snapshot(), area.value
        self.best = area.value
        self.copies = Copies(area.plans, area.snapshot(), no_plans(area.tables))
        self.drawn = Streams(seed)("neighbourhood", start).integers(2**63, size=1, dtype=np.uint64)

    def move(self, heat: float) -> None:
        """Make some moves at one temperature."""
        area = self.area
        state = area.tables, area.servers, area.notes, self.copies
        area.value, self.best = anneal(*state, area.value, self.best, heat, MOVES, self.drawn)

    def agree(self) -> bool:
        """Do what was changed in the common state, and go on from there; return if it was done."""
        common, area, top = self.common, self.area, self.common.area
        state = top.tables, top.servers, top.notes, top.plans
        with common.lock:
            common.keep(self.copies.best, self.best)
            done = bool(merge(*state, self.base, area.plans))
            if done:
                top.value += area.value - self.value
                common.keep(top.plans, top.value)
            adopt(area.tables, area.servers, area.notes, area.plans, top.plans)
            area.value = self.value = top.value
        _copy(area.plans, self.base)
        return done


def _copy(plans: Plans, to: Plans) -> None:
    for array, now in zip(to, plans, strict=True):
        array[...] = now


def search_together(
    areas: Sequence[Neighbourhood],
    progress: Progress | None,
    *,
    seed: int,
    start: int,
    done: Callable[[], float],
    late: Callable[[], bool] | None = None,
) -> Plans:
    """Search from the state of the first area, in a thread for each of the others.

    Return the best plans; all that are better are reported.

    Parameters
    ----------
    areas : sequence of Neighbourhood
        At least two.
    progress : Progress, optional
    seed, start : int
        Fix the random numbers.
    done : callable
        Share of the time that has passed; the search ends at 1.
    late : callable, optional
        Where it is given, the last thread begins only once it says so.
    """
    first = areas[0]
    common = Common(first)
    ended = Event()
    passed = 0.0
    shown = -np.inf
    reported = 0.0 if progress is None else progress.seconds()
    scale = float(first.jobs.weight.sum()) * first.slots - first.value

    def heat() -> float:
        return float(scale * COOLING[0] * (COOLING[1] / COOLING[0]) ** passed**SLOWER)

    def run(chain: Chain) -> None:
        while not ended.is_set():
            chain.move(heat())
            chain.agree()

    chains = [Chain(area, common, seed, start + k) for k, area in enumerate(areas[1:])]
    waiting = chains[1:]
    with ThreadPoolExecutor(len(areas)) as pool:
        others: list[Future[None]] = []
        try:
            while (passed := done()) < 1.0:
                ready = waiting if late is None or late() else waiting[:-1]
                others += [pool.submit(run, chain) for chain in ready]
                waiting = waiting[len(ready) :]
                effort.steps(MOVES * INSERTIONS * first.steps)
                chains[0].move(heat())
                chains[0].agree()
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
