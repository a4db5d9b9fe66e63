"""State of the large neighborhood search: where the workers of the jobs run.

Insertion solves the pricing subproblem of one job at prices per worker (Shaw, 1998), on the free
capacity of each slot; then the machines of its workers and parameter servers (PS) are decided slot
by slot. Every state is feasible on single machines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.numbers.arrays import Floats, Ints, Small
from optsched.numbers.kernels import kernel
from optsched.process import work_units
from optsched.scheduling.board import JobPlan, book, over_slots
from optsched.scheduling.oracle.schedule import (
    PricedMachines,
    Request,
    best_schedule,
    compile_kernels,
    new_scratch,
)
from optsched.scheduling.oracle.slots import units_that_fit


class BoardSide(NamedTuple):
    """Workers or PS of I jobs on H machines in T slots, and the capacity for the next job."""

    demand: Floats  # (I, R) of one worker, in units
    most: Ints  # (I,) workers in a slot
    weight: Floats  # (T, R, H) value of a free unit, by which a job chooses among machines
    free: Floats  # (T, R, H) in units
    hosted: Small  # (T, H, I) workers that run
    max_units: Floats  # (T,) workers of the next job that a slot holds
    scratch: Floats  # (H,)


@kernel
def count_slots(i: int, first: int, last: int, side: BoardSide) -> None:
    """Count the workers of job i that fit into each of the slots first..last at present."""
    most = side.most[i]
    for t in range(side.max_units.size):
        side.max_units[t] = 0.0
    for t in range(first, last + 1):
        units_that_fit(side.free[t], side.demand[i], most, side.scratch)
        held = 0.0
        for h in range(side.scratch.size):
            held += side.scratch[h]
        side.max_units[t] = min(float(most), held)


@kernel(nogil=True)
def put(i: int, amount: Ints, side: BoardSide) -> None:
    """Place ``amount`` (T,) workers of job i where each leaves the least value behind."""
    demand, weight, free, scratch = side.demand, side.weight, side.free, side.scratch
    _, resources, machines = free.shape
    for t in range(amount.size):
        want = amount[t]
        if want == 0:
            continue
        units_that_fit(free[t], demand[i], want, scratch)
        while want > 0:
            least, where, take = np.inf, -1, 0
            for h in range(machines):
                if scratch[h] >= 1.0:
                    k = min(want, int(scratch[h]))
                    waste = 0.0
                    for r in range(resources):
                        waste += weight[t, r, h] * (free[t, r, h] - k * demand[i, r])
                    if waste / k < least:
                        least, where, take = waste / k, h, k
            side.hosted[t, where, i] = take
            for r in range(resources):
                free[t, r, where] -= take * demand[i, r]
            scratch[where] = 0.0
            want -= take


class MachineBoard:
    """The state of a neighborhood search.

    Parameters
    ----------
    requests : sequence of Request
        Units of work are workers.
    capacity : pair of arrays of shape (H, R) and (K, R)
        Equal machines next to each other.
    prices : pair of arrays of shape (I, T)
        Of one worker, and of one PS.
    weight : pair of arrays of shape (T, R, H) and (T, R, K)
        Value of a free unit, by which a job chooses among machines.
    factors : sequence of float
        Multiples of the prices that `insert` may use.
    """

    def __init__(
        self,
        requests: Sequence[Request],
        capacity: tuple[Floats, Floats],
        prices: tuple[Floats, Floats],
        weight: tuple[Floats, Floats],
        factors: Sequence[float],
    ) -> None:
        self.requests = requests
        self.plans: dict[int, int] = {}  # completion slots
        self.value = 0.0
        slots, jobs = weight[0].shape[0], len(requests)
        most = np.array([(r.units.size - 1, int(r.ps_needed[-1])) for r in requests], np.int64)
        most = most.reshape(jobs, 2)
        self._kind = np.int16 if most.max(initial=1) < 2**15 else np.int32  # on a machine
        demands = [r.worker_demand for r in requests], [r.ps_demand for r in requests]
        workers, ps = (
            self._side(np.array(d).reshape(jobs, c.shape[1]), np.ascontiguousarray(m), c, w)
            for d, m, c, w in zip(demands, most.T, capacity, weight, strict=True)
        )
        self.sides = workers, ps
        self._max_units = [side.max_units[:, None, None] for side in self.sides]
        self._prices = [
            [np.ascontiguousarray(p * multiple)[:, :, None, None] for p in prices]
            for multiple in factors
        ]
        self.last = [_last_useful(r) for r in requests]
        self._one, self._count = np.ones(1), np.ones(1, np.int64)
        compile_kernels()
        # of an insertion in a slot, by machine and resource
        self._steps = sum(capacity[side].size for side in (0, 1)) * 4
        work = max((r.work for r in requests), default=1)
        self._scratch = new_scratch(slots, 1, int(most[:, 0].max(initial=1)), work)

    def _side(self, demand: Floats, most: Ints, capacity: Floats, weight: Floats) -> BoardSide:
        """Return one side of the empty cluster."""
        slots, machines, jobs = weight.shape[0], len(capacity), len(demand)
        return BoardSide(
            demand=demand,
            most=most,
            weight=weight,
            free=over_slots(capacity, slots),
            hosted=np.zeros((slots, machines, jobs), self._kind),
            max_units=np.zeros(slots),
            scratch=np.empty(machines),
        )

    def insert(self, i: int, factor: int) -> bool:
        """Insert job i by its best schedule at the prices times a factor, if it pays."""
        request, last = self.requests[i], self.last[i]
        # work units, in addition to the steps of kernels
        work_units.spend(0.03)
        work_units.steps(self._steps * (last - request.arrival + 1))
        for side in self.sides:
            count_slots(i, request.arrival, last, side)
        completion = self._best(i, factor)
        if completion < 0:
            return False
        self._place(i, completion)
        return True

    def _best(self, i: int, factor: int) -> int:
        """Leave the best schedule in the scratch memory; return its completion, or -1."""
        request, one = self.requests[i], self._one
        workers, ps = (
            PricedMachines(prices[i], max_units, self._count)
            for prices, max_units in zip(self._prices[factor], self._max_units, strict=True)
        )
        alone = request._replace(worker_demand=one, ps_demand=one)
        _, completion, _ = best_schedule(alone, workers, ps, 0.0, self._scratch)
        return int(completion)

    def _place(self, i: int, completion: int) -> None:
        request = self.requests[i]
        amount = self._scratch.amount
        for side, number in zip(self.sides, (amount, request.ps_needed[amount]), strict=True):
            put(i, number, side)
        self.plans[i] = completion
        self.value += float(request.utility[completion])

    def plan(self, i: int) -> JobPlan:
        """Return where job i runs at present."""
        request, completion = self.requests[i], self.plans[i]
        rows = []
        for k, side in enumerate(self.sides):
            mine = side.hosted[request.arrival : completion + 1, :, i]
            t, h = np.nonzero(mine)
            rows.append(np.stack([np.full_like(t, k), t + request.arrival, h, mine[t, h]], 1))
        value = float(request.utility[completion])
        return JobPlan(value, completion, np.concatenate(rows).astype(np.int64))

    def remove(self, i: int) -> JobPlan:
        """Take job i out and return its plan."""
        work_units.spend(0.03)
        plan = self.plan(i)
        del self.plans[i]
        self._book(i, plan, 1)
        self.value -= plan.value
        return plan

    def restore(self, i: int, plan: JobPlan) -> None:
        """Put job i where ``plan`` states; the place must be free."""
        self.plans[i] = plan.completion
        self._book(i, plan, -1)
        self.value += plan.value

    def _book(self, i: int, plan: JobPlan, sign: int) -> None:
        request = self.requests[i]
        demands, (workers, ps) = (request.worker_demand, request.ps_demand), self.sides
        book(plan.entries, *demands, workers.free, ps.free, float(sign))
        for k, side in enumerate(self.sides):
            _, t, h, n = plan.entries[plan.entries[:, 0] == k].T
            side.hosted[t, h, i] -= (sign * n).astype(self._kind)

    def keep(self) -> Callable[[], None]:
        """Return an operation that restores the present state."""
        arrays: list[NDArray[Any]] = [array for s in self.sides for array in (s.free, s.hosted)]
        kept, plans, value = [a.copy() for a in arrays], dict(self.plans), self.value

        def back() -> None:
            for array, former in zip(arrays, kept, strict=True):
                array[:] = former
            self.plans, self.value = dict(plans), value

        return back


def _last_useful(request: Request) -> int:
    # a completion that earns less than this share of the best is not sought, nor in the way
    useful: Ints = np.flatnonzero(request.utility > 1e-3 * request.utility.max())
    return int(useful[-1]) if useful.size else request.arrival
