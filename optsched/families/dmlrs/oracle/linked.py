"""Pricing subproblem of one job in the reading "link" of locality, that of the thesis's formulas.

It prices the columns of the Dantzig-Wolfe decomposition (Lübbecke and Desrosiers, 2005). All
parameter servers (PS) of a job sit on one machine in a slot (`certificate/links` states why that is
enough): so a slot offers numbers of workers on that machine, at the inner rate, and elsewhere, at
the outer rate, wherever they are cheapest.
"""

from __future__ import annotations

import numpy as np

from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.oracle.request import Request, SlotOffers
from optsched.families.dmlrs.oracle.schedule import Best, Oracle
from optsched.families.dmlrs.oracle.work_over_slots import join_hull, possible_ends
from optsched.numbers.argsort import rank
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.process import work_units
from optsched.scheduling.oracle.schedule import PricedMachines
from optsched.scheduling.oracle.slots import (
    charge_leftovers,
    plain_int,
    unit_prices,
    units_that_fit,
)


def oracle_for(inst: DmlrsInstance, machines: int) -> Oracle:
    """Return the oracle of the instance's reading, for lists of this many machines."""
    most = max((job.chunks for job in inst.jobs), default=1)
    kind = Oracle if inst.locality == "job" else LinkedOracle
    return kind(inst.horizon, machines, most)


class LinkedOracle(Oracle):
    """Finds best schedules; ``amount[t]`` is (K + 1) workers with the PS + those elsewhere."""

    def options(self, most: int) -> int:
        """Return how many ways there are to work in a slot, at most."""
        return (most + 1) * (most + 2) // 2

    def open(self, job: Request, machines: PricedMachines, cutoff: float) -> tuple[int, float]:
        """Fill the offers; return the number of candidate completion slots, and a lower bound."""
        abandoned, steps = self.scratch.abandoned, self.scratch.steps
        steps[:] = 0.0, work_units.most_steps()
        found: tuple[int, float] = linked_slots(
            job, machines, cutoff, self.offers, abandoned, steps
        )
        work_units.counted(float(steps[0]), float(steps[1]), usual=0.0)
        return found

    def places(self, job: Request, machines: PricedMachines, best: Best) -> Ints:
        """Return where a best schedule runs: rows [side (0 workers, 1 PS), slot, machine, number].

        A class of machines appears at most twice for a side.
        """
        rows: list[tuple[int, int, int, int]] = []
        for t in np.flatnonzero(best.amount).tolist():
            near, far = divmod(int(best.amount[t]), job.linked.shape[0])
            servers = int(job.linked[near, far])
            host, elsewhere = linked_places(t, near, far, job, machines)
            rows += [(0, t, int(host), near)] if near else []
            rows += [(0, t, h, n) for h, n in enumerate(elsewhere.tolist()) if n]
            rows.append((1, t, int(host), servers))
        return np.array(rows, np.int64).reshape(-1, 4)


@kernel
def priced_machines(
    slot: int, job: Request, machines: PricedMachines, most: int
) -> tuple[Floats, Floats, Floats]:
    """Return the price of a worker and of a PS on every machine, and how many workers fit: (H,)."""
    price, free = machines.price[slot], machines.free[slot]
    h = free.shape[1]
    worker, ps, max_units = np.empty(h), np.empty(h), np.empty(h)
    unit_prices(price, job.worker_demand, worker)
    unit_prices(price, job.ps_demand, ps)
    units_that_fit(free, job.worker_demand, most, max_units)
    if machines.fragmentation_penalty > 0.0:
        charge_leftovers(price, free, max_units, machines.fragmentation_penalty, worker)
    return worker, ps, max_units


@kernel
def fits(free: Floats, h: int, job: Request, n: int, m: int) -> bool:
    """Whether n workers and m PS fit into the units ``free`` (R, H) on machine ``h``."""
    good = True
    for r in range(free.shape[0]):
        good = good and n * job.worker_demand[r] + m * job.ps_demand[r] <= free[r, h]
    return good


@kernel
def slot_costs(
    slot: int, job: Request, machines: PricedMachines, abandoned: Ints, steps: Floats
) -> Floats:
    """Return the least cost of a workers with all PS and b elsewhere, inf if there is none.

    Shape (K + 1, K + 1). Returns at once if ``abandoned[0]`` becomes 1, or if ``steps[0]``, the
    elementary steps so far, exceeds ``steps[1]``.
    """
    free, count, needed = machines.free[slot], machines.count, job.linked
    most = needed.shape[0] - 1
    worker, ps, max_units = priced_machines(slot, job, machines, most)
    cost = np.full(needed.shape, np.inf)
    cost[0, 0] = 0.0
    order = np.arange(worker.size)
    rank(worker, order, worker.size)
    far = np.empty(most + 1)
    steps[0] += cost.size
    for h in range(worker.size):
        if abandoned[0] or steps[0] > steps[1]:
            return cost
        far[:], far[0], placed = np.inf, 0.0, 0
        for k in order:
            if placed == most:
                break
            for _ in range(min(most - placed, int(max_units[k]) * (count[k] - (k == h)))):
                far[placed + 1] = far[placed] + worker[k]
                placed += 1
        top = int(max_units[h])
        steps[0] += order.size + most
        for a in range(top + 1):
            steps[0] += 4 * (min(placed, most - a) + 1)
            for b in range(min(placed, most - a) + 1):
                m = needed[a, b]
                if a + b == 0 or m < 0:
                    continue
                total = a * worker[h] + m * ps[h] + far[b]
                if total < cost[a, b] and fits(free, h, job, a, m):
                    cost[a, b] = total
    return cost


@kernel
def linked_options(t: int, job: Request, table: Floats, offers: SlotOffers, steps: Floats) -> None:
    """Fill in the options of a slot, work and cost rising, dominated ones left out.

    ``t`` counts from the arrival on; ``table`` (K + 1, K + 1) and ``steps`` (2,) are of
    `slot_costs`.
    Equal options: the one with fewer workers on the machine of the PS.
    """
    work, cost, kind, total = offers.work[t], offers.cost[t], offers.kind[t], job.work
    most = table.shape[0] - 1
    size = (most + 1) * (most + 2) // 2
    less, code = np.empty(size, np.int64), np.empty(size, np.int64)  # less: minus the work
    order = np.arange(size)
    n = 0
    for a in range(most + 1):
        for b in range(most + 1 - a):
            if a + b == 0 or table[a, b] == np.inf:
                continue
            near = total if a > total // job.inner else a * job.inner
            rest = total if b > total // job.outer else b * job.outer
            less[n], code[n] = -min(total, near + rest), a * (most + 1) + b
            n += 1
    kept, least = 0, np.inf
    steps[0] += table.size + 9.0 * n * np.log2(n + 1)
    rank(less, order, n)
    for j in range(n):
        k = order[j]
        c = table[code[k] // (most + 1), code[k] % (most + 1)]
        if c < least:
            if kept > 0 and work[kept - 1] == -less[k]:
                kept -= 1
            work[kept], cost[kept], kind[kept] = -less[k], c, code[k]
            least = c
            kept += 1
    for k in range(kept // 2):
        o = kept - 1 - k
        work[k], work[o] = work[o], work[k]
        cost[k], cost[o] = cost[o], cost[k]
        kind[k], kind[o] = kind[o], kind[k]
    offers.size[t] = kept


@kernel
def linked_slots(
    job: Request,
    machines: PricedMachines,
    cutoff: float,
    offers: SlotOffers,
    abandoned: Ints,
    steps: Floats,
) -> tuple[int, float]:
    """Compute the options of slots; see `slot_offers.open_slots`.

    ``abandoned`` (1,) is 1 once the answer is no longer awaited; ``steps`` as in `slot_costs`.
    """
    certain = cutoff
    held, opened = plain_int(0), plain_int(0)
    for slot in range(job.arrival, job.utility.size):
        if job.utility[slot] <= certain or abandoned[0] or steps[0] > steps[1]:
            break
        t = slot - job.arrival
        table = slot_costs(slot, job, machines, abandoned, steps)
        linked_options(t, job, table, offers, steps)
        held, certain = join_hull(t, job, offers, held, certain)
        opened = t + 1
    return possible_ends(opened, cutoff, certain, offers), certain


@kernel
def linked_places(
    slot: int, near: int, far: int, job: Request, machines: PricedMachines
) -> tuple[int, Ints]:
    """Return the cheapest machine for the PS, and the number of workers on each of the others."""
    free, count, servers = machines.free[slot], machines.count, job.linked[near, far]
    worker, ps, max_units = priced_machines(slot, job, machines, near + far)
    order = np.arange(worker.size)
    rank(worker, order, worker.size)
    best, host = np.inf, -1
    chosen, number = np.zeros(worker.size, np.int64), np.zeros(worker.size, np.int64)
    for h in range(worker.size):
        if not fits(free, h, job, near, servers):
            continue
        number[:] = 0
        left, total = far, near * worker[h] + servers * ps[h]
        for k in order:
            number[k] = min(left, int(max_units[k]) * (count[k] - (k == h)))
            left -= number[k]
            total += number[k] * worker[k]
        if left == 0 and total < best:
            best, host = total, h
            chosen[:] = number
    return host, chosen
