"""Lagrangian relaxation of capacity, with relaxed pricing of all jobs in one kernel.

The blocks of the subgradient method `engine.ascent` (Held et al., 1974); `convexified_kernels`
bounds the payoffs.
"""

from __future__ import annotations

import numpy as np

from optsched.families.oasis.instance import OasisInstance
from optsched.families.oasis.optimum.relaxations.capacity import (
    NEGLIGIBLE,
    by_class,
    units_that_fit,
)
from optsched.families.oasis.optimum.relaxations.convexified_kernels import (
    Scratch,
    SideDemand,
    SweepJobs,
    SweepResults,
    sweep,
)
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units


class RelaxedBlocks:
    """The jobs as blocks of `engine.ascent`; rows are capacities by side, class, resource, slot.

    Attributes
    ----------
    rhs : array of shape (rows,)
        Units of capacity.
    shapes : list
        Of both sides, (C, R, T).
    found : Found
        Of the last sweep in which each job took part.
    """

    def __init__(self, inst: OasisInstance) -> None:
        self.inst, a = inst, inst.arrays
        self.blocks, self.slots = len(inst.jobs), inst.horizon
        demand, capacity, self.classes = by_class(inst)
        count = [np.array([len(m) for m in classes], float) for classes in self.classes]
        self.shapes = [(*c.shape, self.slots) for c in capacity]
        self.sizes = [int(np.prod(shape)) for shape in self.shapes]
        every = [(c * n[:, None]).ravel() for c, n in zip(capacity, count, strict=True)]
        self.rhs = np.repeat(np.concatenate(every), self.slots)
        most = np.array(inst.most, np.int64)
        needed = [np.array(inst.ps_needed(i)[: n + 1], np.int64) for i, n in enumerate(most)]
        rate = [float((x[1:] / np.arange(1, x.size)).min(initial=np.inf)) for x in needed]
        useful = a.utility > NEGLIGIBLE * a.utility.max(initial=0.0)
        last = np.where(
            useful.any(axis=1), self.slots - 1 - useful[:, ::-1].argmax(axis=1), a.arrival - 1
        )
        self.jobs = SweepJobs(
            arrival=a.arrival,
            last=last.astype(np.int64),
            work=a.work,
            most=most,
            rate=np.where(most > 0, np.array(rate), 0.0),
            first=np.concatenate([[0], np.cumsum(most + 1)])[:-1].astype(np.int64),
            servers=np.concatenate([*needed, np.zeros(1, np.int64)]),
            utility=a.utility,
        )
        self.sides = (
            SideDemand(demand[0], units_that_fit(demand[0], capacity[0], a.chunks) * count[0]),
            SideDemand(demand[1], units_that_fit(demand[1], capacity[1], a.chunks) * count[1]),
        )
        self.found = SweepResults(
            np.zeros(self.blocks), np.full(self.blocks, -1, np.int64), np.zeros(self.blocks)
        )
        self.known: dict[bool, Scratch] = {}
        self.window = np.maximum(0, last - a.arrival + 1)

    def sweep(self, prices: Floats, chosen: Ints, exact: bool) -> tuple[float, Floats]:
        """Return the sum of the payoffs of some jobs, at most, and their use; (rows,).

        ``exact``: by hulls, else by lines.
        """
        usage = np.zeros(prices.size)
        total: float = sweep(
            self.jobs,
            self.sides,
            self.by_side(prices),
            chosen,
            exact,
            self.found,
            self.by_side(usage),
            self.scratch_of(exact),
        )
        amounts = sum(c * r for c, r, _ in self.shapes)
        # of a slot of a job, in addition to those for each price
        each = 24 + amounts / 2 + (int(self.jobs.most.mean()) * 8 if exact else 0)
        work_units.steps(each * float(self.window[chosen].sum()))
        return total, usage

    def by_side(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return views of an array by row: shapes (C, R, T)."""
        worker, ps = np.split(rows, [self.sizes[0]])
        return worker.reshape(self.shapes[0]), ps.reshape(self.shapes[1])

    def base(self) -> Floats:
        """Return prices at which the capacity of every resource has the same value, 1 in total."""
        out, parts = [], self.by_side(self.rhs)
        for part in parts:
            whole = part.sum(axis=(0, 2), keepdims=True)  # (1, R, 1)
            each = np.divide(1.0, whole, out=np.zeros_like(whole), where=whole > 0)
            out.append(np.broadcast_to(each, part.shape).ravel())
        prices = np.concatenate(out)
        return prices / max(float(prices @ self.rhs), 1e-300)

    def groups(self, slots: int, classes: bool) -> Ints:
        """Return the number of the group of each row, (rows,): this many slots have one price.

        ``classes``: whether classes have prices of their own.
        """
        out, begin = [], 0
        for c, r, t in self.shapes:
            block = np.arange(t) // slots
            blocks = int(block[-1]) + 1
            kinds = np.arange(c) if classes else np.zeros(c, np.int64)
            index = (kinds[:, None, None] * r + np.arange(r)[None, :, None]) * blocks + block
            out.append(begin + np.broadcast_to(index, (c, r, t)).ravel())
            begin = int(out[-1].max()) + 1
        return np.concatenate(out).astype(np.int64)

    def scratch_of(self, exact: bool) -> Scratch:
        """Return the working arrays of the kernel, by hulls (``exact``) or by lines."""
        if exact not in self.known:
            n = int(self.jobs.most.max(initial=1))
            segments = 1 + (n if exact else sum(shape[0] for shape in self.shapes))
            held = segments * self.slots
            if exact:  # a segment of a hull has a worker or more, and all but one less than W
                held = min(held, int(self.jobs.work.max(initial=1)) + segments)
            self.known[exact] = self.scratch(segments, held)
        return self.known[exact]

    def scratch(self, segments: int, held: int) -> Scratch:
        """Return arrays for this many segments of a slot, and this many of all slots."""
        n = int(self.jobs.most.max(initial=1))
        unit = [np.zeros((shape[0], self.slots)) for shape in self.shapes]
        return Scratch(
            unit=(unit[0], unit[1]),
            cost=np.zeros((2, n + 1)),
            slope=np.zeros(segments),
            length=np.zeros(segments, np.int64),
            reach=np.zeros(segments + 1),
            heap=np.zeros((2, held)),
            item=np.zeros(held, np.int64),
            low=np.zeros(held),
        )
