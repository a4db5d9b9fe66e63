"""Dantzig-Wolfe decomposition of `oasis` with prices on capacity.

Capacity rows are the linking constraints, and jobs are the blocks (Dantzig and Wolfe, 1960): the
master program has a row per slot, class of equal machines and resource, and one schedule per
column. The pricing subproblem is that of the online algorithm, on the empty cluster. In bounds, a
class is one machine of `count` times the capacity, whose single machines limit what fits where.
Works at any size.
"""

from __future__ import annotations

import numpy as np

from optsched.engine.colgen import Column, Pricing
from optsched.families.oasis.instance import OasisInstance
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.resources import close
from optsched.process import work_units
from optsched.scheduling.board import over_slots, plan_entries
from optsched.scheduling.oracle.schedule import Oracle, PricedMachines, Request

SIDES = (0, 1)  # workers, PS
COLUMN_STEPS = 15_000  # of making a column
SLOT_STEPS, WORK_STEPS = 5, 0.5  # of the oracle in a slot: by class and resource, by unit of work
NEGLIGIBLE = 1e-9  # utilities below this share of the best do not count in searches and programs


def requests(inst: OasisInstance) -> list[Request]:
    """Return every job in the oracle's terms.

    A job that can never finish earns nothing, whatever its work; tables need no room for that.
    """
    arrays, nothing = inst.arrays, np.zeros(inst.horizon)
    close(nothing)
    ends = [
        w <= j.chunks * (inst.horizon - j.arrival)
        for j, w in zip(inst.jobs, inst.work, strict=True)
    ]
    return [
        Request(
            arrival=job.arrival,
            work=inst.work[i] if ends[i] else 1,
            units=np.arange(job.chunks + 1),
            worker_demand=arrays.worker_demand[i].astype(float),
            ps_demand=arrays.ps_demand[i].astype(float),
            ps_needed=np.array(inst.ps_needed(i), np.int64),
            utility=arrays.utility[i] if ends[i] else nothing,
        )
        for i, job in enumerate(inst.jobs)
    ]


class CapacityRelaxation:
    """The blocks and their oracle."""

    penalty = 1.0  # no block requests equality

    def __init__(self, inst: OasisInstance) -> None:
        self.inst = inst
        arrays = inst.arrays
        self.jobs, self.slots = len(inst.jobs), inst.horizon
        self.requests = requests(inst)
        self.classes = [arrays.worker_classes, arrays.ps_classes]
        whole = [arrays.worker_capacity.astype(float), arrays.ps_capacity.astype(float)]
        self.capacity = [
            np.array([c[members[0]] for members in classes])  # (C, R) of one machine
            for c, classes in zip(whole, self.classes, strict=True)
        ]
        self.count = [np.array([len(m) for m in classes], np.int64) for classes in self.classes]
        self.free = [over_slots(c, self.slots) for c in self.capacity]
        self.shapes = [f.shape for f in self.free]  # (T, R, C)
        self.sizes = [f.size for f in self.free]
        self.rhs = np.concatenate(
            [(f * n[None, None, :]).ravel() for f, n in zip(self.free, self.count, strict=True)]
        )
        self.copies = np.ones(self.jobs)
        self.equality = np.zeros(self.jobs, bool)
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

    def price(self, prices: Floats, duals: Floats, chosen: Ints | None = None) -> Pricing:
        """Call the oracle for every job, or the chosen ones; see `colgen.Decomposition`."""
        workers, ps = self.machines(prices)
        best = np.zeros(self.jobs)
        columns = []
        for i in range(self.jobs) if chosen is None else chosen.tolist():
            request = self.requests[i]
            cutoff = max(0.0, float(duals[i]))
            found = self.oracle.best(request, workers, ps, cutoff)
            work_units.steps(self.steps(request))
            if found is None:
                best[i] = cutoff  # no payoff is greater
                continue
            best[i] = found.payoff
            columns.append(self.column(i, found.completion, found.amount, workers, ps))
        return Pricing(best, columns)

    def steps(self, request: Request) -> float:
        """Return about how many elementary steps the oracle takes, and what follows it."""
        slots = self.slots - request.arrival
        amounts = sum(int(resources * classes) for _, resources, classes in self.shapes)
        each = SLOT_STEPS * amounts + WORK_STEPS * request.work
        return COLUMN_STEPS + slots * each

    def column(
        self, i: int, completion: int, amount: Ints, workers: PricedMachines, ps: PricedMachines
    ) -> Column:
        """Return the column of a schedule, placed on the cheapest classes."""
        request = self.requests[i]
        entries: Ints = plan_entries(request, amount, completion, workers, ps)
        rows, usage = [], []
        for side, demand in zip(SIDES, (request.worker_demand, request.ps_demand), strict=True):
            mine = entries[entries[:, 0] == side]
            _, resources, classes = self.shapes[side]
            used = np.flatnonzero(demand)
            index = (mine[:, 1, None] * resources + used[None, :]) * classes + mine[:, 2, None]
            rows.append((index + (self.sizes[0] if side else 0)).ravel())
            usage.append((mine[:, 3, None] * demand[used][None, :]).ravel())
        value = float(request.utility[completion])
        return Column(i, value, np.concatenate(rows), np.concatenate(usage), (completion, amount))


class Around:
    """The blocks as those of `engine.ascent`, with all schedules that were found on the way."""

    def __init__(self, problem: CapacityRelaxation) -> None:
        self.problem, self.rhs, self.blocks = problem, problem.rhs, problem.jobs
        self.columns: list[Column] = []

    def sweep(self, prices: Floats, chosen: Ints, exact: bool) -> tuple[float, Floats]:  # noqa: ARG002
        """Return the sum of the payoffs of some jobs, and what their schedules use; (rows,)."""
        pricing = self.problem.price(prices, np.zeros(self.blocks), chosen)
        usage = np.zeros(prices.size)
        for column in pricing.columns:
            usage[column.rows] += column.usage
        self.columns += pricing.columns
        return float(pricing.best[chosen].sum()), usage
