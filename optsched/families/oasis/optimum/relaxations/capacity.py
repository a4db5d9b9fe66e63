"""Lagrangian relaxation of `oasis` with prices on capacity.

Capacity rows are the linking constraints, and jobs are the blocks (Geoffrion, 1974): a row per
slot, class of equal machines and resource. The subproblem of a job is that of the online
algorithm, on the empty cluster. In bounds, a class is one machine of `count` times the capacity,
whose single machines limit the placements. Works at any size.
"""

from __future__ import annotations

import numpy as np

from optsched.families.oasis.instance import OasisInstance
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units
from optsched.scheduling.board import over_slots
from optsched.scheduling.oracle.schedule import Oracle, PricedMachines, Request

SIDES = (0, 1)  # workers, PS
SLOT_STEPS = 5  # of the oracle in a slot, by class and resource
NEGLIGIBLE = 1e-9  # utilities below this share of the best do not count in searches and programs


def by_class(inst: OasisInstance) -> tuple[list[Floats], list[Floats], list[list[list[int]]]]:
    """Return demands (I, R), capacities of one machine (C, R), and classes, of both sides."""
    a = inst.arrays
    classes = [a.worker_classes, a.ps_classes]
    capacity = [
        whole[[members[0] for members in mine]].astype(float)
        for whole, mine in zip((a.worker_capacity, a.ps_capacity), classes, strict=True)
    ]
    return [a.worker_demand.astype(float), a.ps_demand.astype(float)], capacity, classes


def units_that_fit(demand: Floats | Ints, capacity: Floats | Ints, most: Ints) -> Floats:
    """Return how many of each demand, at most ``most``, each of M empty machines holds, (I, M).

    >>> units_that_fit(np.array([[2, 0]]), np.array([[7, 5], [99, 0]]), np.array([10]))
    array([[ 3., 10.]])
    """
    holds = np.repeat(most[:, None].astype(float), len(capacity), axis=1)
    for r in range(capacity.shape[1]):
        needs = demand[:, r] > 0
        fits = np.floor(capacity[None, :, r] / demand[needs, r, None])
        holds[needs] = np.minimum(holds[needs], fits)
    return holds


def requests(inst: OasisInstance) -> list[Request]:
    """Return every job in the oracle's terms.

    A job that can never finish earns nothing, whatever its work; tables need no space for that.
    """
    arrays = inst.arrays
    return [
        Request(
            arrival=job.arrival,
            work=1 if inst.earliest[i] is None else inst.work[i],
            units=np.arange(job.chunks + 1),
            worker_demand=arrays.worker_demand[i].astype(float),
            ps_demand=arrays.ps_demand[i].astype(float),
            ps_needed=np.array(inst.ps_needed(i), np.int64),
            utility=arrays.utility[i],
        )
        for i, job in enumerate(inst.jobs)
    ]


def slot_steps(request: Request, amounts: int) -> float:
    """Return about how many elementary steps the oracle takes in a slot.

    ``amounts`` counts the capacities of both sides, by machine (or class) and resource.
    """
    # by class and resource, by unit of work
    return SLOT_STEPS * amounts + 0.5 * request.work


class CapacityRelaxation:
    """The rows, the blocks and their oracle."""

    def __init__(self, inst: OasisInstance) -> None:
        self.inst = inst
        self.jobs, self.slots = len(inst.jobs), inst.horizon
        self.requests = requests(inst)
        self.demand, self.capacity, self.classes = by_class(inst)
        self.count = [np.array([len(m) for m in classes], np.int64) for classes in self.classes]
        self.free = [over_slots(c, self.slots) for c in self.capacity]
        self.shapes = [f.shape for f in self.free]  # (T, R, C)
        self.sizes = [f.size for f in self.free]
        self.amounts = sum(c.size for c in self.capacity)
        self.rhs = np.concatenate(
            [(f * n[None, None, :]).ravel() for f, n in zip(self.free, self.count, strict=True)]
        )
        self.oracle = Oracle(
            self.slots,
            max(len(c) for c in self.classes),
            max((job.chunks for job in inst.jobs), default=1),
            max((request.work for request in self.requests), default=1),
        )

    def machines(self, prices: Floats) -> tuple[PricedMachines, PricedMachines]:
        """Return both sides of the empty cluster at the prices of all rows."""
        parts = np.split(prices, [self.sizes[0]])
        worker, ps = (
            PricedMachines(np.ascontiguousarray(p.reshape(shape)), free, count)
            for p, shape, free, count in zip(parts, self.shapes, self.free, self.count, strict=True)
        )
        return worker, ps

    def by_machine(self, prices: Floats) -> tuple[Floats, Floats]:
        """Spread class prices over single machines: shapes (T, R, H) and (T, R, K)."""
        out = []
        for part, shape, classes in zip(
            np.split(prices, [self.sizes[0]]), self.shapes, self.classes, strict=True
        ):
            spread = np.zeros((*shape[:2], sum(len(m) for m in classes)))
            for c, members in enumerate(classes):
                spread[:, :, members] = part.reshape(shape)[:, :, c, None]
            out.append(spread)
        return out[0], out[1]

    def payoffs(self, prices: Floats) -> Floats:
        """Return the best payoff of every job at the prices of all rows."""
        workers, ps = self.machines(prices)
        best = np.zeros(self.jobs)
        for i, request in enumerate(self.requests):
            found = self.oracle.best(request, workers, ps, 0.0)
            slots = self.slots - request.arrival
            # of the oracle for a job, in addition to those for its slots
            work_units.steps(15_000 + slots * slot_steps(request, self.amounts))
            if found is not None:
                best[i] = found.payoff
        return best

    def bound(self, prices: Floats) -> float:
        """Return the Lagrangian dual bound at the prices of all rows."""
        return float(prices @ self.rhs + self.payoffs(prices).sum())
