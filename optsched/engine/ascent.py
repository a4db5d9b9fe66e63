"""Subgradient method for the Lagrangian dual, with multiplicative steps on batches of blocks.

It improves prices without a master problem (Held et al., 1974). Steps are incremental, one batch
of blocks at a time (Nedić and Bertsekas, 2001), and multiplicative, close to mirror descent with
the entropy distance (Beck and Teboulle, 2003). A golden-section search (Kiefer, 1953) finds the
initial scale. The large-instance methods use it, where a restricted master problem is too slow.

For prices p >= 0, B(p) = sum_r p_r rhs_r + sum_b best_b(p) is an upper bound on the program of
`colgen`, and rhs - usage(p) is a subgradient of B, where usage(p) is the usage of the blocks' best
columns:

- **Batches.** A step prices one batch and adds the last known usage of the others: many steps for
  one pass over all blocks.
- **Multiplicative steps.** The value of a row, p_r rhs_r, changes by a share of itself, so the
  scale of a row does not matter. Near 0 it changes by a share of the mean, so that it can return.
- **Averages.** Prices oscillate around the best ones. The bound is evaluated at their average over
  a few sweeps; if that gains little, the step length shrinks. The best prices are kept.
- **Levels.** Rows in one group share a price. The first levels have few groups (one for each
  resource), and the last one a group for each row: coarse prices converge in a few sweeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.random import Generator

from optsched.engine.params import Count, Factor, Number, Share
from optsched.numbers.arrays import Floats, Ints


@dataclass(frozen=True)
class AscentParams:
    """Parameters of the subgradient method.

    Attributes
    ----------
    batches : int
        Most batches into which the blocks are divided; each step prices one batch.
    sweeps : int
        Passes over all blocks before the average bound is compared with the one before.
    shrink : float
        Factor of the step length if the average bound has not improved enough.
    most_excess : float
        Limit of the relative excess of a row's usage over its capacity in a step.
    revival : float
        Growth of a price of 0 in a step, relative to the mean price.
    lowest : float
        Lowest scale of the initial prices, relative to the value of the blocks without prices.
    scans : int
        Steps of the golden-section search for the scale of the initial prices; 9 steps find it
        within about 10 %.
    """

    batches: Count = 20
    sweeps: Count = 4
    shrink: Share = 0.5
    most_excess: Factor = 2.0
    revival: Share = 0.01
    lowest: Factor = 1e-4
    scans: Number = 9


DEFAULT = AscentParams()
GOLDEN = (5**0.5 - 1) / 2


class Blocks(Protocol):
    """A program in blocks, with an oracle that bounds the payoffs of many at once."""

    rhs: Floats  # (rows,)
    blocks: int

    def sweep(self, prices: Floats, chosen: Ints, exact: bool) -> tuple[float, Floats]:
        """Return the sum of payoffs of some blocks, at most, and their use, (rows,).

        ``exact``: whether to take the time for tighter ones.
        """


@dataclass(frozen=True)
class AscentLevel:
    """How finely rows are priced, and how long."""

    group: Ints  # (rows,) rows of a number share a price; groups divide those of the level before
    first: float  # step: share of a value that changes in a batch, if its rows are twice as full
    last: float  # steps below end the level
    gain: float  # of the bound, by which an average must lower it, or steps get smaller
    exact: bool = False  # how blocks are priced


class Ascent:
    """The best prices so far, and how to find better ones.

    Parameters
    ----------
    problem : Blocks
    rng : Generator
    stop : callable
        Whether to stop, called at every step.
    found : callable
        Called with a bound and its prices whenever the bound is better than ever before.
    params : AscentParams, optional

    Attributes
    ----------
    bound : float
    prices : array of shape (rows,)
    """

    def __init__(
        self,
        problem: Blocks,
        rng: Generator,
        stop: Callable[[], bool],
        found: Callable[[float, Floats], None],
        params: AscentParams = DEFAULT,
    ) -> None:
        self.params = params
        self.problem, self.rng, self.stop, self.found = problem, rng, stop, found
        self.bound, self.prices = np.inf, np.zeros(problem.rhs.size)
        order = rng.permutation(problem.blocks)
        batches = max(1, min(params.batches, problem.blocks // 10))
        self.batches: list[Ints] = [np.sort(order[k::batches]) for k in range(batches)]

    def look(self, prices: Floats, exact: bool = False) -> float:
        """Return the bound at some prices; inf if there was no time for it."""
        bound = float(prices @ self.problem.rhs)
        for batch in self.batches:
            if self.stop():
                return np.inf
            bound += self.problem.sweep(prices, batch, exact)[0]
        if bound < self.bound:
            self.bound, self.prices = bound, prices
            self.found(bound, prices)
        return bound

    def scan(self, base: Floats, scale: float) -> None:
        """Find the best multiple of ``base``, the prices at which all capacity has value 1.

        ``scale`` is any bound: at prices with a greater total, the bound is greater as well.
        """
        if not 0 < scale < np.inf:
            return
        lowest = self.params.lowest * scale
        low, high = math.log(lowest), math.log(scale)  # the bound is convex in the scale
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_left, at_right = (self.look(math.exp(x) * base) for x in (left, right))
        for _ in range(self.params.scans):
            if self.stop():
                return
            if at_left <= at_right:
                high, right, at_right = right, left, at_left
                left = high - GOLDEN * (high - low)
                at_left = self.look(math.exp(left) * base)
            else:
                low, left, at_left = left, right, at_right
                right = low + GOLDEN * (high - low)
                at_right = self.look(math.exp(right) * base)

    def descend(self, level: AscentLevel) -> None:
        """Improve the prices of the groups of a level."""
        problem, group = self.problem, level.group
        whole = np.bincount(group, weights=problem.rhs)
        some = whole > 0
        each = np.zeros(whole.size)
        each[some] = 1.0 / whole[some]
        scale = np.bincount(group, weights=self.prices * problem.rhs).astype(np.float64)
        usage = np.zeros((len(self.batches), whole.size))

        def price(k: int) -> None:
            prices: Floats = (scale * each)[group]
            used = problem.sweep(prices, self.batches[k], level.exact)[1]
            usage[k] = np.bincount(group, weights=used, minlength=whole.size)

        for k in range(len(self.batches)):
            if self.stop():
                return
            price(k)
        step = level.first
        while step >= level.last:
            mean: Floats = np.zeros(scale.size)
            for _ in range(self.params.sweeps):
                for k in self.rng.permutation(len(self.batches)):
                    if self.stop():
                        return
                    price(int(k))
                    excess = np.minimum(usage.sum(axis=0) * each - 1.0, self.params.most_excess)
                    move = step * (scale + self.params.revival * scale[some].mean()) * excess
                    scale = np.where(some, np.maximum(0.0, scale + move), 0.0)
                    mean += scale
            mean /= self.params.sweeps * len(self.batches)
            before = self.bound  # of either sign
            enough = before * (1 - math.copysign(level.gain, before))
            if self.look((mean * each)[group], level.exact) > enough:
                step *= self.params.shrink
