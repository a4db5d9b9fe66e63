"""Concave program of one slot: optimal decision for given numbers of jobs, with dual prices.

The primal-dual interior-point method of `interior` (Mehrotra, 1992) solves it; the Lagrangian dual
bound of its prices (Boyd and Vandenberghe, 2004) proves the value. Decisions are rounded down to
few digits, so that they stay feasible.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.families.bipartite.certificate.check import BITS
from optsched.families.bipartite.instance import BipartiteArrays, Platform
from optsched.families.bipartite.instance_utilities import POLY, RECIPROCAL
from optsched.families.bipartite.optimum.initial_bounds import CURVED
from optsched.families.bipartite.optimum.interior import MOST_ITERATIONS, LiveChannels, maximize
from optsched.families.bipartite.policies.projection import Live
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units
from optsched.process.background import NEVER, supervised

MOST_DIGITS = 308  # after the point, and before it
TENS = 10.0 ** np.arange(-MOST_DIGITS, MOST_DIGITS + 1.0)
MOST_NUMBERS = 200_000_000  # of the matrices, one for each resource
QUICK = 50.0  # work units of the longest solve: this long `supervised` waits as well


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
        self._live = live = Live(platform.arrays)
        self._whole = LiveChannels.of(live, platform.arrays.copies)
        self._degrees = np.diff(live.channels.start).astype(np.float64)
        self._alpha = live.channels.alpha[live.row]
        kind = live.channels.kind[live.row]  # channels of one kind are next to each other
        self._curved = [
            (np.searchsorted(kind, (which, which + 1)), gained) for which, gained in CURVED
        ]
        self._needed = shares_needed(platform.arrays, live)
        # they earn nothing whatever they get, and these shares prove it
        self._idle = self._needed.sum(axis=1) <= 1 - platform.arrays.resources * 2.0 ** (1 - BITS)
        spare = np.maximum(0.0, 1.0 - self._needed[self._idle].sum(axis=1, keepdims=True))
        self._shares = np.zeros_like(self._needed)
        self._shares[:, 0] = 1.0  # of a copy without weight: anything that adds up to 1
        self._shares[self._idle] = self._needed[self._idle] + spare / platform.arrays.resources

    def solve(self, weight: NDArray[Any], gap: float) -> Solved:
        """Maximize sum_l weight_l q_l(y) up to a relative gap.

        Parameters
        ----------
        weight : shape (C,)
            n_l >= 0: counts, or the jobs of one slot.
        gap : float
        """
        flag, iteration = np.array([0, NEVER]), self._iteration(weight)
        return self._solved(weight, self._maximized(weight, gap, flag, iteration))

    def try_to_solve(
        self, weight: NDArray[Any], gap: float, stop: Callable[[], bool], units: float = np.inf
    ) -> Solved | None:
        """Do the same until ``stop`` is true, or for ``units`` of effort; return the best so far.

        None: there is nothing.
        """
        if self._arrays.resources * int(np.count_nonzero(weight > 0)) ** 2 > MOST_NUMBERS:
            return None
        iteration = self._iteration(weight)
        most = int(min(NEVER, max(1.0, units / iteration)))
        if MOST_ITERATIONS * iteration <= QUICK:
            found = self._maximized(weight, gap, np.array([0, most]), iteration)
        else:
            found = supervised(
                lambda flag: self._maximized(weight, gap, flag, iteration), stop, most=most
            )
        if found is None or not (math.isfinite(found[3]) and math.isfinite(found[4])):
            return None
        return self._solved(weight, found)

    def quick(self, weight: NDArray[Any], programs: int) -> bool:
        """Return whether this many programs with weights of at most these are negligible work."""
        return programs * MOST_ITERATIONS * self._iteration(weight) <= QUICK

    def _maximized(self, weight: NDArray[Any], gap: float, stopped: Ints, iteration: float) -> Any:
        n = np.where(self._idle, 0.0, np.asarray(weight, dtype=np.float64))
        found = maximize(stopped, n, gap, self._whole)
        # calls that cost as much as the preparation of a program
        work_units.spend(work_units.CALL * 20 + found[-1] * iteration)
        return found

    def _iteration(self, weight: NDArray[Any]) -> float:
        """Return the work units of an iteration of the interior point."""
        many = int(np.count_nonzero((weight > 0) & ~self._idle))
        share = many / max(1, len(weight))  # of the channels and of those in a row
        rows = self._degrees * share
        matrices = self._arrays.resources + 1.0
        # steps of an iteration: by channel, by two of a row, by matrix
        steps = 100 * rows.sum() + 0.5 * (rows**2).sum() + 0.2 * matrices * many**3
        return work_units.CALL + work_units.STEP * float(steps)

    def _solved(self, weight: NDArray[Any], found: Any) -> Solved:
        a, live = self._arrays, self._live
        y, theta, nu, value, bound, iterations = found
        share, some = self._shares.copy(), ((weight > 0) & ~self._idle)[:, None]
        np.divide(theta.T, np.asarray(weight, dtype=np.float64)[:, None], out=share, where=some)
        prices = np.zeros(len(a.capacity))
        prices[live.order] = nu
        y = live.spread(self._tidied(y, weight, value))
        return Solved(y, share, prices, float(value), float(bound), int(iterations))

    def _tidied(self, y: Floats, weight: NDArray[Any], value: float) -> Floats:
        """Round amounts down to a few digits, and leave out those that gain next to nothing."""
        there = np.flatnonzero(y > 0)
        amounts, alpha = y[there], self._alpha[there]
        gains = alpha * amounts
        for bounds, gained in self._curved:
            part = slice(*np.searchsorted(there, bounds))
            gains[part] = gained(alpha[part], amounts[part])
        reward = weight[self._whole.port[there]] * gains
        # of the value: amounts that gain less all together are left out
        kept = reward > 1e-13 / max(1, len(y)) * max(value, 0.0)
        amounts = amounts[kept]
        # of an amount in a decision, rounded down: it stays in Y, and is short in files
        digits = np.minimum(10 - np.floor(np.log10(amounts)), MOST_DIGITS).astype(np.int64)
        grid = TENS[digits + MOST_DIGITS]
        tidy = np.zeros_like(y)
        tidy[there[kept]] = np.floor(amounts * grid) / grid
        return tidy


def shares_needed(a: BipartiteArrays, live: Live) -> Floats:
    """Return the least share of each resource, shape (C, K), at which a copy uses none of it.

    A copy gains at most f'(0) from a unit of a resource, and its overhead is at least share beta:
    where these shares add up to less than 1, it earns nothing whatever it gets.
    """
    _, port, resource, kind, alpha, beta, *_ = live.channels
    with np.errstate(divide="ignore"):
        steepest = np.where(kind == RECIPROCAL, alpha**-2.0, alpha) * np.where(kind == POLY, 0.5, 1)
        by_row = steepest / beta[resource]
    needed = np.zeros((a.copies, a.resources))
    np.maximum.at(needed, (port, resource[live.row]), by_row[live.row])
    return needed
