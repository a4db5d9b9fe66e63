"""The best schedule of one job at prices, link by link: the reading of the thesis's formulas.

All parameter servers (PS) of a job sit on one machine in a slot (`certificate_links` says why that
is enough): so a slot offers numbers of workers beside them, at the inner rate, and elsewhere, at
the outer rate, wherever they are cheapest.
"""

from __future__ import annotations

import numpy as np

from optsched.families.dmlrs.instance import DmlrsInstance
from optsched.families.dmlrs.oracle.schedule import Best, Oracle, Request
from optsched.families.dmlrs.oracle.work_over_slots import options_hull
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.schedule import Machines
from optsched.scheduling.oracle.slots import charge_leftovers, rooms, unit_prices
from optsched.scheduling.oracle.workload import EQUAL, hull_costs, hull_insert


def oracle_for(inst: DmlrsInstance, machines: int) -> Oracle:
    """Return the oracle of the instance's reading, for lists of so many machines."""
    most = max((job.chunks for job in inst.jobs), default=1)
    kind = Oracle if inst.locality == "job" else LinkedOracle
    return kind(inst.horizon, machines, most)


class LinkedOracle(Oracle):
    """Finds best schedules; ``amount[t]`` is (K + 1) workers beside the PS + those elsewhere."""

    def options(self, most: int) -> int:
        """Return how many ways there are to work in a slot, at most."""
        return (most + 1) * (most + 2) // 2

    def open(self, job: Request, machines: Machines, cutoff: float) -> tuple[int, float]:
        """Fill the offers; return in how many slots a completion may be best, and what is sure."""
        assert job.linked is not None
        found: tuple[int, float] = linked_slots(
            job.arrival,
            job.work,
            (job.inner, job.outer),
            job.worker_demand,
            job.ps_demand,
            job.linked,
            job.utility,
            machines.price,
            machines.free,
            machines.count,
            machines.stranded,
            cutoff,
            *self.offers,
        )
        return found

    def places(self, job: Request, machines: Machines, best: Best) -> Ints:
        """Return where a best schedule runs: rows [side (0 workers, 1 PS), slot, machine, number].

        A class of machines appears at most twice for a side.
        """
        assert job.linked is not None
        rows: list[tuple[int, int, int, int]] = []
        for t in np.flatnonzero(best.amount).tolist():
            near, far = divmod(int(best.amount[t]), job.linked.shape[0])
            servers = int(job.linked[near, far])
            host, elsewhere = linked_places(
                near,
                far,
                servers,
                machines.price[t],
                machines.free[t],
                machines.count,
                job.worker_demand,
                job.ps_demand,
                machines.stranded,
            )
            rows += [(0, t, int(host), near)] if near else []
            rows += [(0, t, h, n) for h, n in enumerate(elsewhere.tolist()) if n]
            rows.append((1, t, int(host), servers))
        return np.array(rows, np.int64).reshape(-1, 4)


@kernel
def priced_machines(
    price: Floats, free: Floats, alpha: Floats, beta: Floats, stranded: float, most: int
) -> tuple[Floats, Floats, Floats]:
    """Return the price of a worker and of a PS on every machine, and its room for workers."""
    h = free.shape[1]
    worker, ps, room = np.empty(h), np.empty(h), np.empty(h)
    unit_prices(price, alpha, worker)
    unit_prices(price, beta, ps)
    rooms(free, alpha, most, room)
    if stranded > 0.0:
        charge_leftovers(price, free, room, stranded, worker)
    return worker, ps, room


@kernel
def fits(free: Floats, h: int, alpha: Floats, beta: Floats, n: int, m: int) -> bool:
    """Whether n workers and m PS fit on machine ``h``."""
    good = True
    for r in range(alpha.size):
        good = good and n * alpha[r] + m * beta[r] <= free[r, h]
    return good


@kernel
def slot_costs(
    price: Floats,
    free: Floats,
    count: Ints,
    alpha: Floats,
    beta: Floats,
    needed: Ints,
    stranded: float,
) -> Floats:
    """Return the least cost of a workers beside all PS and b elsewhere, inf if there is none."""
    most = needed.shape[0] - 1
    worker, ps, room = priced_machines(price, free, alpha, beta, stranded, most)
    cost = np.full(needed.shape, np.inf)
    cost[0, 0] = 0.0
    order = np.argsort(worker, kind="mergesort")
    far = np.empty(most + 1)
    for h in range(worker.size):
        far[:], far[0], placed = np.inf, 0.0, 0
        for k in order:
            if placed == most:
                break
            for _ in range(min(most - placed, int(room[k]) * (count[k] - (k == h)))):
                far[placed + 1] = far[placed] + worker[k]
                placed += 1
        top = int(room[h])
        for a in range(top + 1):
            for b in range(min(placed, most - a) + 1):
                m = needed[a, b]
                if a + b == 0 or m < 0:
                    continue
                total = a * worker[h] + m * ps[h] + far[b]
                if total < cost[a, b] and fits(free, h, alpha, beta, a, m):
                    cost[a, b] = total
    return cost


@kernel
def slot_options(
    table: Floats, rates: tuple[int, int], total: int, work: Ints, cost: Floats, kind: Ints
) -> int:
    """Fill in what a slot offers, work and cost rising, dominated options left out; see `labels`.

    Equal options: the one with fewer workers beside the PS.
    """
    most = table.shape[0] - 1
    size = (most + 1) * (most + 2) // 2
    done, code = np.empty(size, np.int64), np.empty(size, np.int64)
    n = 0
    for a in range(most + 1):
        for b in range(most + 1 - a):
            if a + b == 0 or table[a, b] == np.inf:
                continue
            near = total if a > total // rates[0] else a * rates[0]
            rest = total if b > total // rates[1] else b * rates[1]
            done[n], code[n] = min(total, near + rest), a * (most + 1) + b
            n += 1
    kept, least = 0, np.inf
    for k in np.argsort(-done[:n], kind="mergesort"):
        c = table[code[k] // (most + 1), code[k] % (most + 1)]
        if c < least:
            if kept > 0 and work[kept - 1] == done[k]:
                kept -= 1
            work[kept], cost[kept], kind[kept] = done[k], c, code[k]
            least = c
            kept += 1
    for k in range(kept // 2):
        o = kept - 1 - k
        work[k], work[o] = work[o], work[k]
        cost[k], cost[o] = cost[o], cost[k]
        kind[k], kind[o] = kind[o], kind[k]
    return kept


@kernel
def linked_slots(
    arrival: int,
    total: int,
    rates: tuple[int, int],
    alpha: Floats,
    beta: Floats,
    needed: Ints,
    utility: Floats,
    price: Floats,
    free: Floats,
    count: Ints,
    stranded: float,
    cutoff: float,
    options: Ints,
    cost: Floats,
    size: Ints,
    slopes: Floats,
    lengths: Ints,
    ends: Ints,
    promise: Floats,
) -> tuple[int, float]:
    """Open slots for what they offer; see `oracle_kernels.open_slots`."""
    certain = cutoff
    held, opened, found = int(np.int64(0)), 0, 0  # no literal
    for slot in range(arrival, utility.size):
        if utility[slot] <= certain:
            break
        t = slot - arrival
        table = slot_costs(price[slot], free[slot], count, alpha, beta, needed, stranded)
        size[t] = slot_options(table, rates, total, options[0, t], cost[t], options[1, t])
        used = options_hull(options[0, t], cost[t], size[t], slopes[1], lengths[1])
        held = hull_insert(slopes[1], lengths[1], used, slopes[0], lengths[0], held, total)
        low, high = hull_costs(slopes[0], lengths[0], held, total)
        promise[0, t] = utility[slot] - low
        promise[1, t] = slopes[0, held - 1] if held > 0 else 0.0
        certain = max(certain, utility[slot] - high)
        opened = t + 1
    for t in range(opened):
        if promise[0, t] > cutoff and promise[0, t] >= certain - EQUAL * abs(certain):
            ends[found] = t
            found += 1
    return found, certain


@kernel
def linked_places(
    near: int,
    far: int,
    servers: int,
    price: Floats,
    free: Floats,
    count: Ints,
    alpha: Floats,
    beta: Floats,
    stranded: float,
) -> tuple[int, Ints]:
    """Return the cheapest machine for the PS, and the number of workers on each of the others."""
    worker, ps, room = priced_machines(price, free, alpha, beta, stranded, near + far)
    order = np.argsort(worker, kind="mergesort")
    best, host = np.inf, -1
    chosen, number = np.zeros(worker.size, np.int64), np.zeros(worker.size, np.int64)
    for h in range(worker.size):
        if not fits(free, h, alpha, beta, near, servers):
            continue
        number[:] = 0
        left, total = far, near * worker[h] + servers * ps[h]
        for k in order:
            number[k] = min(left, int(room[k]) * (count[k] - (k == h)))
            left -= number[k]
            total += number[k] * worker[k]
        if left == 0 and total < best:
            best, host = total, h
            chosen[:] = number
    return host, chosen
