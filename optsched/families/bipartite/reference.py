"""How family `bipartite` finds its optimum.

- ``auto``: the best decision for every pattern of jobs, each by the interior point; equal patterns
  are solved once. What is unsolved when time is up gets the best stationary decision and prices.
- ``stationary``: the best single decision for all slots (10).
- ``cvxpy``: as ``auto``, by the declared model and a general conic solver; a cross-check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.families.bipartite.certificate import LARGEST, BipartiteCertificate, check
from optsched.families.bipartite.instance import (
    BipartiteInstance,
    BipartiteSchedule,
    Floats,
    Ints,
    Platform,
)
from optsched.families.bipartite.interior import maximize
from optsched.families.bipartite.projection import Live
from optsched.problem import Implementation, Method
from optsched.progress import Progress
from optsched.resources import DECIMALS

FINEST, COARSEST = 1e-9, 1e-4  # relative gaps that the interior point is asked for
SHARE = 0.5  # of the gap that is asked for; the rest is for rounding
MOST_NUMBERS = 50_000_000  # of all decisions of a schedule
PRICE_CHARACTERS = 12  # at most, of one price in JSON


@dataclass(frozen=True)
class Solved:
    """The best decision for given weights, and prices that prove it."""

    y: Floats  # (N,)
    share: Floats  # (C, K), theta / n
    nu: Floats  # (R * K,)
    value: float
    bound: float
    iterations: int


class Solver:
    """The interior point on one platform."""

    def __init__(self, platform: Platform) -> None:
        self._arrays = platform.arrays
        self._live = Live(platform.arrays)

    def solve(self, weight: NDArray[Any], gap: float) -> Solved:
        """Maximize sum_l weight_l q_l(y) up to a relative gap.

        Parameters
        ----------
        weight : shape (C,)
            n_l >= 0: counts, or the jobs of one slot.
        gap : float
        """
        a, live = self._arrays, self._live
        n = np.asarray(weight, dtype=np.float64)
        y, theta, nu, value, bound, iterations = maximize(n, gap, *live.graph, *live.limits)
        share = np.zeros((a.copies, a.resources))
        share[:, 0] = 1.0  # of a copy without weight: anything that adds up to 1
        some = n > 0
        share[some] = theta.T[some] / n[some, None]
        prices = np.zeros(len(a.capacity))
        prices[live.order] = nu
        y = np.floor(y * 10.0**DECIMALS) / 10.0**DECIMALS  # stays in Y, and short in files
        return Solved(live.spread(y), share, prices, float(value), float(bound), int(iterations))


def accuracy(gap: float) -> float:
    """Return the relative gap to ask of the interior point, where ``gap`` is wanted in the end."""
    return min(max(SHARE * gap, FINEST), COARSEST)


def per_pattern(inst: BipartiteInstance, gap: float) -> Iterator[tuple[int, int, Solved]]:
    """Yield pattern, number of its slots, and its optimum; the most frequent patterns first."""
    patterns, which = inst.patterns
    times = np.bincount(which, minlength=len(patterns))
    solver = Solver(inst)
    for p in np.argsort(-times, kind="stable").tolist():
        yield p, int(times[p]), solver.solve(patterns[p], gap)


def auto(inst: BipartiteInstance, monitor: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Find the best decision of every pattern of jobs."""
    gap = accuracy(monitor.gap_limit)
    best = Solver(inst).solve(inst.counts, gap)
    answer = _PerSlot(inst, best)
    for p, _, solved in per_pattern(inst, gap):
        if not answer.keep(p, solved):
            break
        monitor.tick()
        if monitor.left() <= 0:
            break
    answer.report(monitor)


class _PerSlot:
    """Decisions and prices by pattern; the stationary ones where nothing better is known."""

    def __init__(self, inst: BipartiteInstance, fallback: Solved) -> None:
        self._inst = inst
        self._patterns, self._which = inst.patterns
        self._found = [fallback]
        self._of = np.zeros(len(self._patterns), np.int64)  # what is known of each pattern
        each = len(inst.arrays.capacity) + inst.arrays.copies * inst.arrays.resources
        by_file = LARGEST // (PRICE_CHARACTERS * each)
        self._most = min(by_file, MOST_NUMBERS // max(1, inst.arrays.channels))

    def keep(self, pattern: int, solved: Solved) -> bool:
        """Keep the optimum of one pattern; return whether there is room for more."""
        self._of[pattern] = len(self._found)
        self._found.append(solved)
        return len(self._found) < self._most

    def report(self, monitor: Progress) -> None:
        """Report the schedule, and the bound with its certificate."""
        inst, numbers, used = self._inst, self._of, self._of[self._which]
        needed, renamed = np.unique(used, return_inverse=True)
        decisions = tuple(tuple(self._found[k].y.tolist()) for k in needed)
        schedule = BipartiteSchedule.model_construct(
            decisions=decisions, used=tuple(renamed.ravel().tolist()), rewards=(), record=None
        )
        sets, assigned = self._sets(numbers)

        def certificate() -> BipartiteCertificate:
            return BipartiteCertificate.of(inst, "slots", sets, assigned)

        bound = self._bound()
        monitor.proved(check(inst, certificate()) if bound is None else bound, certificate)
        monitor.incumbent(np.inf, schedule)  # the judge says what it is worth

    def _sets(self, numbers: Ints) -> tuple[list[tuple[Floats, Floats]], list[int]]:
        needed, assigned = np.unique(numbers, return_inverse=True)
        sets = []
        for k in needed:
            found = self._found[k]
            nu = found.nu if k > 0 else found.nu / self._inst.horizon  # of one slot, not of all
            sets.append((found.share, nu))
        return sets, assigned.ravel().tolist()

    def _bound(self) -> float | None:
        """Return the bound; None if the prices of some pattern are another's."""
        times = np.bincount(self._which, minlength=len(self._patterns))
        if (self._of == 0).any():
            return None
        return float(sum(n * self._found[k].bound for n, k in zip(times, self._of, strict=True)))


def stationary(inst: BipartiteInstance, monitor: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Find the best single decision for all slots (10)."""
    solved = Solver(inst).solve(inst.counts, accuracy(monitor.gap_limit))
    monitor.proved(
        solved.bound,
        lambda: BipartiteCertificate.of(inst, "stationary", [(solved.share, solved.nu)], ()),
    )
    monitor.incumbent(solved.value, always(inst, solved.y))


def always(inst: BipartiteInstance, y: Floats) -> BipartiteSchedule:
    """Return the schedule that uses one decision in all slots."""
    return BipartiteSchedule.model_construct(
        decisions=(tuple(y.tolist()),), used=(0,) * inst.horizon, rewards=(), record=None
    )


def cvxpy(inst: BipartiteInstance, monitor: Progress, *, threads: int, seed: int) -> None:  # noqa: ARG001
    """Solve every pattern by the declared model; claims, proves nothing."""
    from optsched.families.bipartite.conic import conic_optimum  # here, since CVXPY is slow to load

    patterns, which = inst.patterns
    times = np.bincount(which, minlength=len(patterns))
    decisions, total = [], 0.0
    for pattern, n in zip(patterns, times, strict=True):
        if monitor.stop():
            return
        found = conic_optimum(inst, pattern, threads=threads, time_limit=monitor.left())
        if found is None:
            return
        y, value = found
        decisions.append(tuple(y.tolist()))
        total += float(n) * value
    schedule = BipartiteSchedule.model_construct(
        decisions=tuple(decisions), used=tuple(which.tolist()), rewards=(), record=None
    )
    monitor.claim(Implementation.CLARABEL, total)
    monitor.incumbent(np.inf, schedule)


METHODS: Mapping[str, Method] = {"auto": auto, "stationary": stationary, "cvxpy": cvxpy}
