"""Dual prices re-optimized at states of the dynamic program over time.

Prices that are best at the root are not best at a later state. So column generation solves the
Lagrangian dual (Geoffrion, 1974) again at a sample of states, and a greedy choice keeps the few
price vectors that give the best bounds together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from optsched.engine.colgen import Master, generate_columns
from optsched.families.completion.certificate.choices import TYPE
from optsched.families.completion.certificate.states import bounds
from optsched.families.completion.certificate.timeline import PricedItems, Timeline
from optsched.families.completion.modes import Modes
from optsched.families.completion.optimum.relaxations.capacity import CapacityRelaxation, JobTables
from optsched.numbers.arrays import Floats, Ints

SAMPLE = 400  # states at which prices are compared
MOST_SOLVED = 20  # of which this many get prices of their own
MOST_PRICES = 12


class Tail(CapacityRelaxation):
    """The decomposition of what follows a state: what was used before it is free of charge.

    Jobs that have started keep their first slot, duration and type of workers: ``fixed``.
    """

    def __init__(
        self, jobs: JobTables, slots: int, begin: int, fixed: Mapping[int, tuple[int, int, int]]
    ) -> None:
        super().__init__(jobs, slots)
        self.begin, self.fixed = begin, fixed

    def usage(self, start: int, end: int, load: Ints) -> tuple[Ints, Floats]:
        """Return the rows that a load uses, from the slot of the state on."""
        return super().usage(max(start, self.begin), end, load)

    def modes(self, j: int) -> tuple[Modes, tuple[Ints, Ints] | None]:
        """Return the modes that are allowed, and their first and last starts."""
        modes = self.jobs.modes[j]
        if j not in self.fixed:
            first = np.full(modes.size, max(self.begin, int(self.jobs.arrival[j])))
            return modes, (first, np.full(modes.size, self.slots + first))
        start, duration, kind = self.fixed[j]
        same = np.flatnonzero((modes.duration == duration) & (modes.worker_type == kind))
        return modes.take(same), (np.full(same.size, start), np.full(same.size, start))


class Listed(NamedTuple):
    """A price list on the grid of the program over time."""

    entries: tuple[tuple[int, int, int, int], ...]
    priced: PricedItems


class Repricing:
    """The relaxation at states.

    Parameters
    ----------
    jobs : JobTables
    prices : array of shape (L, C, R)
        Of the beginning.
    """

    def __init__(self, jobs: JobTables, prices: Floats, *, threads: int, seed: int) -> None:
        self.jobs, self.first, self.threads = jobs, prices, threads
        self.rng = np.random.default_rng(seed)

    def at(self, program: Timeline, state: int, stop: Callable[[], bool]) -> Floats:
        """Return the best prices (L, C, R) of what follows a state."""
        pool, menu = program.pool, program.units.menu
        begin, fixed = int(pool.slot[state]), {}
        for j, (choice, start) in enumerate(pool.chosen[state].tolist()):
            if (int(pool.mask[state]) >> j) & 1:
                kind = int(menu.items[menu.item[choice], TYPE])
                fixed[j] = start, int(menu.duration[choice]), kind
        tail = Tail(self.jobs, len(self.first), begin, fixed)
        center = tail.coarsen(self.first).reshape(tail.shape)
        center[:begin] = 0.0
        found = generate_columns(
            tail,
            Master(tail, threads=self.threads),
            stop=lambda _: stop(),
            center=center.ravel(),
            tolerance=lambda _: 3e-4,
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
        every = list(lists)
        for s in states[:MOST_SOLVED].tolist():
            if stop():
                break
            found = read(self.at(program, s, stop))
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
