"""A cluster filled by hand: put a job in where its plan says, take it out again.

Serves the neighbourhood search of families with workers and parameter servers (PS). Every state is
feasible on single machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.schedule import Machines, Request
from optsched.scheduling.oracle.slots import charge_leftovers, place, rooms, unit_prices


@dataclass(frozen=True)
class Plan:
    """Where one job runs: rows [side, slot, machine, number]; side 0 holds workers, 1 PS."""

    value: float
    completion: int
    entries: Ints  # (n, 4)


class PlanBoard:
    """Plans that share machines: what is free, and who runs where.

    Parameters
    ----------
    requests : sequence
        The jobs; ``worker_demand`` and ``ps_demand`` of shape (R,).
    free : pair of arrays of shape (T, R, H) and (T, R, K)
        What is free for workers, and for PS; one and the same array if they share machines.
    """

    def __init__(self, requests: Sequence[Any], free: tuple[Floats, Floats]) -> None:
        self.requests = requests
        self.free = free
        self.plans: dict[int, Plan] = {}
        self.value = 0.0

    def remove(self, i: int) -> Plan:
        """Take job i out and return its plan."""
        plan = self.plans.pop(i)
        self._use(i, plan, 1.0)
        self.value -= plan.value
        return plan

    def restore(self, i: int, plan: Plan) -> None:
        """Put job i where ``plan`` says; the place must be free."""
        self.plans[i] = plan
        self._use(i, plan, -1.0)
        self.value += plan.value

    def _use(self, i: int, plan: Plan, sign: float) -> None:
        request = self.requests[i]
        demands = request.worker_demand, request.ps_demand
        book(plan.entries, *demands, *self.free, sign)


@kernel
def book(
    entries: Ints,
    worker_demand: Floats,
    ps_demand: Floats,
    worker_free: Floats,
    ps_free: Floats,
    sign: float,
) -> None:
    """Add ``sign`` times what a plan uses to what is free."""
    for k in range(entries.shape[0]):
        side, t, h, n = entries[k]
        demand = worker_demand if side == 0 else ps_demand
        free = worker_free if side == 0 else ps_free
        for r in range(demand.size):
            free[t, r, h] += sign * n * demand[r]


@kernel
def plan_entries(
    job: Request, amount: Ints, completion: int, workers: Machines, ps: Machines
) -> Ints:
    """Place a schedule of ``amount`` (T,) units of work by slot, cheapest machines first.

    Returns rows [side, slot, machine, number].
    """
    arrival, units, ps_needed = job.arrival, job.units, job.ps_needed
    total = 0
    for t in range(arrival, completion + 1):
        total += units[amount[t]] + ps_needed[units[amount[t]]]
    entries = np.empty((total, 4), np.int64)
    size = max(workers.count.size, ps.count.size)
    unit_price, room = np.empty(size), np.empty(size)
    heap, machine = np.empty(size, np.int64), np.empty(size, np.int64)
    number = np.empty(size, np.int64)
    used = 0
    for t in range(arrival, completion + 1):
        n = units[amount[t]]
        if n == 0:
            continue
        for side in range(2):
            machines = workers if side == 0 else ps
            demand = job.worker_demand if side == 0 else job.ps_demand
            price, free, count = machines.price[t], machines.free[t], machines.count
            want = n if side == 0 else ps_needed[n]
            h = count.size
            unit_prices(price, demand, unit_price[:h])
            rooms(free, demand, want, room[:h])
            if workers.stranded > 0.0:
                charge_leftovers(price, free, room[:h], workers.stranded, unit_price[:h])
            k = place(unit_price[:h], room[:h], count, want, heap, machine, number)
            for j in range(k):
                entries[used, 0] = side
                entries[used, 1] = t
                entries[used, 2] = machine[j]
                entries[used, 3] = number[j]
                used += 1
    return entries[:used].copy()
