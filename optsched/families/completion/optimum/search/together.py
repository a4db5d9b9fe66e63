"""One search in several threads: they make moves at the same state, and agree on the next one.

Most moves are not kept, so what the threads have changed after a few of them rarely meets: then all
of it is done. Where it does, the changes of one thread stay, of each in turn, and the next round is
shorter. So the schedules do not depend on which thread is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.completion.optimum.search.annealing import anneal
from optsched.families.completion.optimum.search.joining import adopt, merge
from optsched.families.completion.optimum.search.neighbourhood import Neighbourhood
from optsched.families.completion.optimum.search.plans import Copies, Plans, no_plans
from optsched.numbers.streams import Streams
from optsched.process import effort

COOLING = (4e-4, 1e-6)  # temperature at the start and the end, relative to weighted completion
MOVES, FEWEST = 20, 2  # between two looks at what is left, and at the other threads
INSERTIONS = 3  # of a move, as a rule
REPORT_SECONDS = 2.0  # judging a schedule takes a while: not every step is reported at once


class Chain:
    """The search of one thread, and the best state that it has seen.

    Parameters
    ----------
    area : Neighbourhood
        Its state.
    seed, start : int
        Fix the random numbers.
    """

    def __init__(self, area: Neighbourhood, seed: int, start: int) -> None:
        self.area, self.best = area, area.value
        self.copies = Copies(area.plans, area.snapshot(), no_plans(area.tables))
        self.drawn = Streams(seed)("neighbourhood", start).integers(2**63, size=1, dtype=np.uint64)

    def move(self, heat: float, moves: int) -> None:
        """Make some moves at one temperature."""
        area = self.area
        state = area.tables, area.servers, area.notes, self.copies
        area.value, self.best = anneal(*state, area.value, self.best, heat, moves, self.drawn)

    def merge(self, base: Plans, value: float, other: Chain) -> bool:
        """Do what the other one has changed since ``base``, if that can be done."""
        area = self.area
        state = area.tables, area.servers, area.notes, area.plans
        done = bool(merge(*state, base, other.area.plans))
        if done:
            area.value += other.area.value - value
        return done

    def adopt(self, other: Chain) -> None:
        """Go on from the state of the other one."""
        area = self.area
        adopt(area.tables, area.servers, area.notes, area.plans, other.area.plans)
        area.value = other.area.value

    def remember(self) -> None:
        """Keep the present state if it is the best."""
        if self.area.value > self.best:
            self.best = self.area.value
            for array, now in zip(self.copies.best, self.copies.now, strict=True):
                array[...] = now


def search_together(
    areas: Sequence[Neighbourhood],
    progress: Progress | None,
    *,
    seed: int,
    start: int,
    done: Callable[[], float],
    joins: Callable[[], Neighbourhood | None] = lambda: None,
) -> Plans:
    """Search from one state, in a thread for each area; return the best plans.

    All that are better are reported.

    Parameters
    ----------
    areas : sequence of Neighbourhood
        All in the same state.
    progress : Progress, optional
    seed, start : int
        Fix the random numbers.
    done : callable
        Share of the time that has passed; the search ends at 1.
    joins : callable
        Asked again and again; may return the area of one more thread.
    """
    chains = [Chain(area, seed, start + k) for k, area in enumerate(areas)]
    first = areas[0]
    base, value = first.snapshot(), first.value
    shown = -np.inf
    reported = 0.0 if progress is None else progress.seconds()
    scale = float(first.jobs.weight.sum()) * first.slots - value
    moves, turn = MOVES, 0
    with ThreadPoolExecutor(len(chains) + 1) as pool:
        while (passed := done()) < 1.0:
            if (joined := joins()) is not None:
                chains.append(Chain(joined, seed, start + len(chains)))
                chains[-1].adopt(chains[0])
            heat = scale * COOLING[0] * (COOLING[1] / COOLING[0]) ** passed
            effort.steps(moves * INSERTIONS * first.steps)
            others = [pool.submit(chain.move, heat, moves) for chain in chains[1:]]
            chains[0].move(heat, moves)
            for other in others:
                other.result()
            if others:
                turn = (turn + 1) % len(chains)
                lead = chains[turn]
                merged = [lead.merge(base, value, c) for c in chains if c is not lead]
                moves = min(MOVES, moves + 1) if all(merged) else max(FEWEST, moves - 1)
                lead.remember()
                for chain in chains:
                    if chain is not lead:
                        chain.adopt(lead)
                value = lead.area.value
                for array, now in zip(base, lead.area.plans, strict=True):
                    array[...] = now
            best = max(chains, key=lambda chain: chain.best)
            if progress is not None and best.best > shown and progress.seconds() > reported:
                first.report(progress, best.copies.best)
                shown, reported = best.best, progress.seconds() + REPORT_SECONDS
    best = max(chains, key=lambda chain: chain.best)
    if progress is not None:
        first.report(progress, best.copies.best)
    return best.copies.best
