"""Dantzig-Wolfe decomposition of `dmlrs` with prices on capacity.

Capacity rows are the linking constraints, and jobs are the blocks (Dantzig and Wolfe, 1960): the
master problem has a row per slot, class of equal machines and resource, and one schedule per
column. The pricing subproblem is that of the online algorithm, on the empty cluster. In bounds, a
class is one machine of `count` times the capacity, whose single machines limit the placements.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optsched.engine.colgen import Column, Pricing
from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.oracle.linked import oracle_for
from optsched.families.dmlrs.oracle.request import Request, requests
from optsched.families.dmlrs.oracle.schedule import Best
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units
from optsched.scheduling.board import book, over_slots
from optsched.scheduling.oracle.schedule import PricedMachines

NEGLIGIBLE = 1e-9  # utilities below this share of the best do not count in searches and programs


def oracle_steps(request: Request, shape: tuple[int, ...]) -> float:
    """Return about how many elementary steps the oracle takes on machines of shape (T, R, C)."""
    slots, resources, classes = shape
    # of the oracle in a slot, for every class and resource
    each = classes * (10 * resources + request.most_outer)
    # of the oracle and what is made of its answer
    return 10_000 + (slots - request.arrival) * float(each)


class CapacityRelaxation:
    """The blocks and their oracle."""

    penalty = 1.0  # no block requests equality

    def __init__(self, inst: DmlrsInstance) -> None:
        self.inst = inst
        arrays = inst.arrays
        self.jobs, self.slots = len(inst.jobs), inst.horizon
        self.requests = requests(inst)
        self.classes = arrays.classes
        whole = arrays.capacity.astype(float)
        self.capacity = np.array([whole[members[0]] for members in self.classes])  # (C, R)
        self.count = np.array([len(m) for m in self.classes], np.int64)
        self.group = np.empty(len(whole), np.int64)  # (H,) class of each machine
        for c, members in enumerate(self.classes):
            self.group[members] = c
        self.free = over_slots(self.capacity, self.slots)
        self.shape = self.free.shape  # (T, R, C)
        self.rhs = (self.free * self.count[None, None, :]).ravel()
        self.copies = np.ones(self.jobs)
        self.equality = np.zeros(self.jobs, bool)
        self.oracle = oracle_for(inst, len(self.classes))

    def machines(self, prices: Floats) -> PricedMachines:
        """Return the empty cluster at the prices of all rows."""
        return PricedMachines(
            np.ascontiguousarray(prices.reshape(self.shape)), self.free, self.count
        )

    def by_machine(self, prices: Floats) -> Floats:
        """Spread class prices over single machines: shape (T, R, H)."""
        return np.ascontiguousarray(prices.reshape(self.shape)[:, :, self.group])

    def price(self, prices: Floats, duals: Floats) -> Pricing:
        """Call the oracle for every job; see `colgen.Decomposition`."""
        best = np.maximum(0.0, duals)  # where no payoff is greater
        columns = []
        for i, (payoff, column) in enumerate(self.answers(prices, best.copy())):
            if column is not None:
                best[i] = payoff
                columns.append(column)
        return Pricing(best, columns)

    def answers(self, prices: Floats, cutoff: Floats) -> Iterator[tuple[float, Column | None]]:
        """Yield job by job the payoff above its cutoff (I,), at least 0, and the schedule of it."""
        machines = self.machines(prices)
        for i, request in enumerate(self.requests):
            found = self.oracle.best(request, machines, float(cutoff[i]))
            work_units.steps(oracle_steps(request, self.shape))
            if found is None:
                yield float(cutoff[i]), None
            else:
                yield found.payoff, self.column(i, found, machines)

    def column(self, i: int, best: Best, machines: PricedMachines) -> Column:
        """Return the column of a schedule, placed on the cheapest classes."""
        entries = self.oracle.places(self.requests[i], machines, best)
        return self.placed_column(i, best.completion, best.amount, entries)

    def placed_column(self, i: int, completion: int, amount: Ints, entries: Ints) -> Column:
        """Return the column of a schedule with rows [side, slot, class, number]."""
        request = self.requests[i]
        use = np.zeros(self.shape)
        book(entries, request.worker_demand, request.ps_demand, use, use, 1.0)
        flat = use.ravel()
        rows = np.flatnonzero(flat)
        choice = (completion, amount, entries)
        return Column(i, float(request.utility[completion]), rows, flat[rows], choice)
