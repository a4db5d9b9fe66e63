"""Dual prices re-optimized at states of the dynamic program over time.

Prices that are best at the root are not best at a later state. So column generation solves the
Lagrangian dual (Geoffrion, 1974) again at a sample of states, and a greedy choice keeps the few
price vectors that give the best bounds together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from optsched.engine.colgen import Master, generate_columns
from optsched.families.completion.certificate.states import bounds
from optsched.families.completion.certificate.timeline import PricedItems, Timeline
from optsched.families.completion.optimum.tree.branching import WindowBlocks
from optsched.numbers.arrays import Floats, Ints

SAMPLE = 400  # states at which prices are compared
MOST_SOLVED = 20  # of which this many get prices of their own
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


class Listed(NamedTuple):
    """A price list on the grid of the program over time."""

    entries: tuple[tuple[int, int, int, int], ...]
    priced: PricedItems


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
        lists: Sequence[Listed],
        read: Callable[[Floats], Listed | None],
        top: int,
        stop: Callable[[], bool],
    ) -> list[Listed]:
        """Solve the relaxation at states that a program has reached; return the lists that help.

        Parameters
        ----------
        program : Timeline
            After a run.
        lists : sequence of Listed
            The program's; the first is kept.
        read : callable
            Puts prices on the grid.
        top : int
            Greater bounds are no use.
        stop : callable
            Whether the time is up.
        """
        pool = program.pool
        states = self.rng.permutation(np.arange(1, int(pool.size[0])))[:SAMPLE]
        every, root = list(lists), self.problem.root()
        for s in states[:MOST_SOLVED].tolist():
            if stop():
                break
            found = read(self.at(int(pool.slot[s]), limits_of(program, s, root), stop))
            every += [found] if found is not None else []
        if not states.size:
            return every
        demand = Timeline(program.units, [one.priced for one in every]).demand
        values = np.minimum(bounds(demand, pool, states).T, top).astype(float)  # (K, N)
        best: Floats = np.full(states.size, -np.inf)
        order: list[int] = []
        while len(order) < MOST_PRICES:
            totals = np.maximum(values, best).sum(axis=1)
            k = int(totals.argmax())
            if order and totals[k] <= best.sum() * (1 + 1e-12):
                break
            order.append(k)
            best = np.maximum(best, values[k])
        return [every[k] for k in (order if 0 in order else [*order, 0])]


def limits_of(program: Timeline, state: int, root: Ints) -> Ints:
    """Return the limits (J, 5, 2) of schedules that go on as a state does, within ``root``."""
    limits, pool, menu = root.copy(), program.pool, program.units.menu
    for j, (choice, start) in enumerate(pool.chosen[state].tolist()):
        if (int(pool.mask[state]) >> j) & 1:
            kind = menu.items[menu.item[choice], 0]
            for k, x in enumerate((start, start + menu.duration[choice], kind)):
                limits[j, k] = x
        else:
            limits[j, 0, 0] = max(limits[j, 0, 0], pool.slot[state])
    return limits
