"""State of the large neighborhood search, with repacking of whole slots.

Insertion solves the pricing subproblem of one job at prices per worker (Shaw, 1998). The machines
of its workers and parameter servers (PS) are decided slot by slot, and may change when other jobs
arrive: where a job does not fit, a heuristic packs the slot again (`repacking`). Every state is
feasible on single machines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.families.oasis.optimum.search.repacking import (
    RepackingSide,
    count_slots,
    hoped,
    put,
    put_repacked,
    repack_slots,
)
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units
from optsched.scheduling.board import JobPlan, book, over_slots
from optsched.scheduling.oracle.schedule import (
    PricedMachines,
    Request,
    best_schedule,
    compile_kernels,
    new_scratch,
)


class PackedBoard:
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
    factors : sequence of (multiple, repacks)
        Multiples of the prices that `insert` may use, and whether it packs slots anew.
    """

    def __init__(
        self,
        requests: Sequence[Request],
        capacity: tuple[Floats, Floats],
        prices: tuple[Floats, Floats],
        weight: tuple[Floats, Floats],
        factors: Sequence[tuple[float, bool]],
    ) -> None:
        self.requests, self.factors = requests, factors
        self.plans: dict[int, int] = {}  # completion slots
        self.value = 0.0
        self.candidate = np.ones(len(requests), bool)
        """The jobs for which slots are packed anew; the search may narrow it down."""
        slots, jobs = weight[0].shape[0], len(requests)
        most = np.array([(r.units.size - 1, int(r.ps_needed[-1])) for r in requests], np.int64)
        most = most.reshape(jobs, 2)
        self._kind = np.int16 if most.max(initial=1) < 2**15 else np.int32  # on a machine
        demands = [r.worker_demand for r in requests], [r.ps_demand for r in requests]
        workers, ps = (
            self._side(np.array(d).reshape(jobs, c.shape[1]), np.ascontiguousarray(m), c, p, w)
            for d, m, c, p, w in zip(demands, most.T, capacity, prices, weight, strict=True)
        )
        self.sides = workers, ps
        self._max_units = [side.max_units[:, None, None] for side in self.sides]
        self._prices = [
            [np.ascontiguousarray(p * multiple)[:, :, None, None] for p in prices]
            for multiple, _ in factors
        ]
        self._least_ps = [  # PS that a worker needs, at the best number of workers
            float((r.ps_needed[1:] / np.arange(1, r.ps_needed.size)).min(initial=np.inf))
            if r.ps_needed.size > 1
            else 0.0
            for r in requests
        ]
        self._last = [_last_useful(r) for r in requests]
        self._one, self._count = np.ones(1), np.ones(1, np.int64)
        compile_kernels()
        # of an insertion in a slot, by machine and resource
        self._steps = sum(capacity[side].size for side in (0, 1)) * 4
        work = max((r.work for r in requests), default=1)
        self._scratch = new_scratch(slots, 1, int(most[:, 0].max(initial=1)), work)

    def _side(
        self, demand: Floats, most: Ints, capacity: Floats, prices: Floats, weight: Floats
    ) -> RepackingSide:
        """Return one side of the empty cluster."""
        slots, machines, jobs = weight.shape[0], len(capacity), len(demand)
        return RepackingSide(
            demand=demand,
            most=most,
            unit_value=_unit_value(prices, demand, capacity),
            capacity=capacity,
            weight=weight,
            free=over_slots(capacity, slots),
            number=np.zeros((slots, jobs), np.int64),
            hosted=np.zeros((slots, machines, jobs), self._kind),
            max_units=np.zeros(slots),
            repacked=np.zeros(slots, np.bool_),
            fresh=np.zeros((slots, machines, jobs), self._kind),
            scratch=np.empty(machines),
        )

    def insert(self, i: int, factor: int) -> bool:
        """Insert job i by its best schedule at the prices times a factor, if it pays."""
        request, last = self.requests[i], self._last[i]
        # units of effort, in addition to the steps of kernels
        work_units.spend(0.03)
        work_units.steps(self._steps * (last - request.arrival + 1))
        for side in self.sides:
            count_slots(i, request.arrival, last, side)
        completion = self._best(i, factor)
        if self.factors[factor][1] and self.candidate[i] and not self._content(i, completion):
            until = last if completion < 0 else completion
            if completion >= 0 or self._hope(i, until):
                # times as many where slots are packed anew
                work_units.steps(20 * self._steps * (until - request.arrival + 1))
                for side in self.sides:
                    # to pack a slot
                    repack_slots(i, request.arrival, until, side, 2)
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

    def _content(self, i: int, completion: int) -> bool:
        request = self.requests[i]
        first = min(
            request.arrival - (-request.work // int(self.sides[0].most[i])) - 1, self._last[i]
        )
        # share of the most it can earn with which a job is content without repacking
        return completion >= 0 and bool(
            request.utility[completion] >= 0.995 * request.utility[max(first, request.arrival)]
        )

    def _hope(self, i: int, last: int) -> bool:
        """Whether the free amounts of all machines together would hold the work of job i."""
        request = self.requests[i]
        needs = request.work, request.work * self._least_ps[i]
        return all(
            hoped(i, request.arrival, last, side) >= need * (1 - 1e-9)
            for side, need in zip(self.sides, needs, strict=True)
        )

    def _place(self, i: int, completion: int) -> None:
        request = self.requests[i]
        amount = self._scratch.amount
        for side, number in zip(self.sides, (amount, request.ps_needed[amount]), strict=True):
            put(i, number, side)
            if side.repacked.any():
                put_repacked(i, number, side)
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
            np.subtract.at(side.number, (t, i), sign * n)

    def keep(self) -> Callable[[], None]:
        """Return an operation that restores the present state."""
        arrays: list[NDArray[Any]] = [
            array for s in self.sides for array in (s.free, s.number, s.hosted)
        ]
        kept, plans, value = [a.copy() for a in arrays], dict(self.plans), self.value

        def back() -> None:
            for array, former in zip(arrays, kept, strict=True):
                array[:] = former
            self.plans, self.value = dict(plans), value

        return back


def _unit_value(prices: Floats, demand: Floats, capacity: Floats) -> Floats:
    """Return the value of a worker in a packing: its price, and a little for its size.

    Shapes (I, T), (I, R), (H, R).
    """
    size = (demand / np.maximum(capacity.max(axis=0), 1.0)).sum(axis=1)
    # of the highest price: what the largest worker counts for on top of its price
    little = (
        0.02 * max(float(prices.max(initial=0.0)), 1e-9) / max(float(size.max(initial=0.0)), 1e-9)
    )
    unit_value: Floats = np.ascontiguousarray(prices + little * size[:, None])
    return unit_value


def _last_useful(request: Request) -> int:
    # a completion that earns less than this share of the best is not sought
    useful: Ints = np.flatnonzero(request.utility > 1e-3 * request.utility.max())
    return int(useful[-1]) if useful.size else request.arrival
