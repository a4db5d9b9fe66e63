"""Prices for the states that a dynamic program over time has reached.

Prices that are best at the beginning are not best later on: a state has its own past. So the
relaxation is solved again at some of the states, and of all prices those few are kept that are
together the best at the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from optsched.engine.colgen import Master, generate_columns
from optsched.families.completion.optimum.timeline.program import Timeline
from optsched.families.completion.optimum.tree.branching import WindowBlocks
from optsched.numbers.arrays import Floats, Ints

SAMPLE = 400  # states at which prices are compared
MOST_SOLVED = 20  # of which so many get prices of their own
MOST_PRICES = 12
TOLERANCE = 3e-4


class Tail(WindowBlocks):
    """The decomposition from a slot on: what was used before is free of charge."""

    def __init__(self, whole: WindowBlocks, begin: int) -> None:
        super().__init__(whole.jobs, whole.slots, whole.priced)
        self.begin = begin

    def usage(self, start: int, end: int, load: Ints) -> tuple[Ints, Floats]:
        """Return the rows that a load uses, from the first slot on."""
        return super().usage(max(start, self.begin), end, load)


class Repricing:
    """The relaxation at states.

    Parameters
    ----------
    problem : WindowBlocks
    prices : array of shape (L, C, R)
        Of the beginning.
    """

    def __init__(self, problem: WindowBlocks, prices: Floats, *, threads: int, seed: int) -> None:
        self.problem, self.threads = problem, threads
        self.first = prices
        self.kept: list[Floats] = [prices]
        self.tails: dict[int, tuple[Tail, Master]] = {}
        self.rng = np.random.default_rng(seed)

    def at(self, slot: int, limits: Ints, stop: Callable[[], bool]) -> Floats:
        """Return the best prices (L, C, R) of what follows a slot within limits."""
        if slot not in self.tails:
            tail = Tail(self.problem, slot)
            self.tails[slot] = tail, Master(tail, threads=self.threads)
        tail, master = self.tails[slot]
        tail.at(limits)
        master.restrict(tail.allowed(master.columns), tail.copies, tail.equality)
        center = tail.coarsen(self.first).reshape(tail.shape)
        center[:slot] = 0.0
        found = generate_columns(
            tail,
            master,
            stop=lambda _: stop(),
            center=center.ravel(),
            tolerance=lambda _: TOLERANCE,
        )
        return tail.per_slot(found.prices)

    def improve(
        self,
        program: Timeline,
        make: Callable[[Sequence[Floats]], Timeline],
        top: float,
        stop: Callable[[], bool],
    ) -> None:
        """Solve the relaxation at states that a program has reached, and keep what helps.

        Parameters
        ----------
        program : Timeline
            After a run.
        make : callable
            The same program at other prices.
        top : float
            Greater bounds are no use.
        stop : callable
            Whether the time is up.
        """
        pool = program.pool
        states = self.rng.permutation(np.arange(1, int(pool.size[0])))[:SAMPLE]
        prices, root = list(self.kept), self.problem.root()
        for s in states[:MOST_SOLVED].tolist():
            if stop():
                break
            limits, slot = program.limits(s, root), int(pool.slot[s])
            prices.append(self.at(slot, limits, stop))
        if not states.size:
            return
        bounds = np.minimum(make(prices).bounds(pool, states), top)  # (K, N)
        best: Floats = np.full(states.size, -np.inf)
        order: list[int] = []
        while len(order) < MOST_PRICES:
            totals = np.maximum(bounds, best).sum(axis=1)
            k = int(totals.argmax())
            if order and totals[k] <= best.sum() * (1 + 1e-12):
                break
            order.append(k)
            best = np.maximum(best, bounds[k])
        self.kept = [prices[k] for k in order]
        if 0 not in order:
            self.kept.append(self.first)
