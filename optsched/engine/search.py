"""Large neighborhood search (LNS): destroy and repair moves under simulated annealing.

A move removes some jobs from a feasible schedule and reinserts jobs by solving their pricing
subproblems at multiples of the dual prices (Shaw, 1998; Ropke and Pisinger, 2006); ruin and
recreate is another name for it (Schrimpf et al., 2000). Simulated annealing (Kirkpatrick et al.,
1983) accepts or rejects the move.

A family supplies a board with ``insert``, ``remove`` and ``restore``; every state of the board is
a feasible schedule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from optsched.engine.params import Factor, Number, Share
from optsched.process import work_units

MOVE = 0.1  # work units, in addition to those that the board counts


@dataclass(frozen=True)
class LnsParams:
    """Parameters of large neighborhood search.

    Attributes
    ----------
    largest_share : float
        Largest share of the accepted jobs that one move removes.
    cooling : pair of float
        Initial and final temperature of simulated annealing, relative to the value of the schedule.
    tries : int
        Rejected jobs that one move tries to insert.
    """

    largest_share: Share = 0.2
    cooling: tuple[Factor, Factor] = (0.004, 0.00001)
    tries: Number = 12


class SearchBoard(Protocol):
    """A feasible state that a search may change."""

    value: float
    plans: dict[int, Any]

    def insert(self, i: int, factor: int) -> bool:
        """Insert job i at a multiple of the prices, if that pays."""

    def remove(self, i: int) -> Any:
        """Take job i out and return its plan."""

    def restore(self, i: int, plan: Any) -> None:
        """Put job i back where it was."""


def short_search(jobs: int, slots: int, *, rate: float, most: float) -> float:
    """Return how long a first search for schedules lasts: ``rate`` seconds per job and slot.

    >>> short_search(20, 50, rate=0.001, most=2.0)
    1.0
    >>> short_search(2, 5, rate=0.001, most=2.0)
    0.001
    """
    size = jobs * slots
    # in less than a hundred, a search has little to try
    return min(most, rate * size * min(1.0, size / 100))


def construct(
    board: SearchBoard, order: Sequence[int], factor: int, stop: Callable[[], bool] = lambda: False
) -> None:
    """Insert jobs one after the other, until stopped."""
    for i in order:
        if stop():
            return
        board.insert(i, factor)


def improve(
    board: SearchBoard,
    values: Sequence[float],
    windows: Sequence[tuple[int, int]],
    factors: int,
    rng: Generator,
    *,
    done: Callable[[], float],
    found: Callable[[], None],
    weights: Sequence[float] | None = None,
    arrived: Callable[[], bool] = lambda: False,
    params: LnsParams = LnsParams(),
) -> None:
    """Improve ``board`` by simulated annealing over destroy-and-repair moves.

    Parameters
    ----------
    board : SearchBoard
    values : sequence of float
        The most that each job can earn; jobs of value 0 are left out.
    windows : sequence of (first slot, last slot)
        When each job can run: jobs in each other's way overlap.
    factors : int
        How many multiples of the prices ``board.insert`` knows.
    rng : Generator
    done : callable
        Share of the time that has passed; the search ends at 1.
    found : callable
        Called whenever the board is better than ever before.
    weights : sequence of float, optional
        How likely a rejected job is to be tried, above 0, relative to others; by default, the job
        for which others are removed is drawn by ``values``, and those tried next to it are alike.
    arrived : callable, optional
        Called before every move: puts a better state on the board if another thread has found one,
        and returns whether.
    params : LnsParams, optional
    """
    jobs = [i for i, w in enumerate(values) if w > 0]
    if not jobs:
        return
    best = board.value
    while (passed := done()) < 1.0:
        if arrived():
            best = max(best, board.value)
        work_units.spend(MOVE)
        before = board.value
        rejected = [i for i in jobs if i not in board.plans]
        out, wanted = _destroy(board, rejected, weights or values, windows, rng, params)
        taken = {i: board.remove(i) for i in out}
        order = [*wanted, *out]
        inserted = _repair(board, order, rejected, values, weights, factors, rng, params)
        hot, cold = params.cooling
        heat = hot * (cold / hot) ** passed
        heat *= abs(best)
        if board.value < before + heat * math.log(max(rng.random(), 1e-300)):
            for i in inserted:
                board.remove(i)
            for i, plan in taken.items():
                board.restore(i, plan)
        elif board.value > best * (1 + 1e-12):
            best = board.value
            found()


def _destroy(
    board: SearchBoard,
    rejected: Sequence[int],
    weights: Sequence[float],
    windows: Sequence[tuple[int, int]],
    rng: Generator,
    params: LnsParams,
) -> tuple[list[int], list[int]]:
    """Choose jobs to remove; half the time, those that overlap a rejected job to insert."""
    accepted = list(board.plans)
    if not accepted:
        return [], []
    most = max(1, int(params.largest_share * len(accepted)))
    size = min(len(accepted), 1 + int(rng.integers(most)) if most > 1 else 1 + int(rng.integers(3)))
    if rejected and rng.random() < 0.5:
        weight = np.array([weights[i] for i in rejected])
        wanted = int(rng.choice(rejected, p=weight / weight.sum()))
        first, last = windows[wanted]
        near = [i for i in accepted if windows[i][0] <= last and windows[i][1] >= first]
        if near:
            chosen = rng.choice(near, size=min(size, len(near)), replace=False)
            return [int(i) for i in chosen], [wanted]
    return [int(i) for i in rng.choice(accepted, size=size, replace=False)], []


def _draw(
    jobs: Sequence[int], weights: Sequence[float] | None, rng: Generator, params: LnsParams
) -> list[int]:
    """Draw the rejected jobs that are tried."""
    if len(jobs) <= params.tries:
        return list(jobs)
    weight = None
    if weights is not None:
        weight = np.array([weights[i] for i in jobs])
        weight /= weight.sum()
    return [int(i) for i in rng.choice(jobs, size=params.tries, replace=False, p=weight)]


def _repair(
    board: SearchBoard,
    first: Sequence[int],
    rejected: Sequence[int],
    values: Sequence[float],
    weights: Sequence[float] | None,
    factors: int,
    rng: Generator,
    params: LnsParams,
) -> list[int]:
    """Insert the jobs that were taken out, and some rejected ones, in a random kind of order."""
    kind = int(rng.integers(3))
    order = list(first)
    if kind == 0:
        order = [order[k] for k in rng.permutation(len(order))]
    elif kind == 1:
        order.sort(key=lambda i: -values[i] * rng.uniform(0.7, 1.3))
    others = _draw([i for i in rejected if i not in first], weights, rng, params)
    others.sort(key=lambda i: -values[i])
    inserted = []
    common = int(rng.integers(factors))
    for i in [*order, *others]:
        factor = common if rng.random() < 0.7 else int(rng.integers(factors))
        if board.insert(i, factor):
            inserted.append(i)
    return inserted
