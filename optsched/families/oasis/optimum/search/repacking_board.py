"""A cluster filled by hand that packs whole slots anew where a job finds no room.

Jobs choose among slots at prices per worker; on which machines their workers and parameter servers
(PS) sit is decided slot by slot, and may change when other jobs come. Every state is feasible on
single machines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.families.oasis.optimum.prices.capacity import over_slots
from optsched.families.oasis.optimum.search.repacking import (
    hoped,
    make_room,
    put_best_fit,
    put_repacked,
    slot_rooms,
)
from optsched.numbers.arrays import Floats, Ints
from optsched.scheduling.board import Plan, book
from optsched.scheduling.oracle.schedule import (
    Machines,
    Request,
    best_schedule,
    compile_kernels,
    new_scratch,
)

SIDES = (0, 1)  # workers, PS
USEFUL = 1e-3  # a completion that earns less than this share of the best is not sought
CONTENT = 0.995  # share of the most it can earn with which a job is content without repacking
TRIES = 2  # to pack a slot
LITTLE = 0.02  # of the highest price: what the largest worker counts for on top of its price


class PackedBoard:
    """The state of a neighbourhood search.

    Parameters
    ----------
    requests : sequence of Request
        Units of work are workers.
    capacity : pair of arrays of shape (H, R) and (K, R)
        Equal machines next to each other.
    prices : pair of arrays of shape (I, T)
        Of one worker, and of one PS.
    weight : pair of arrays of shape (T, R, H) and (T, R, K)
        Worth of a free unit, by which a job chooses among machines.
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
        self.requests, self.capacity, self.weight = requests, capacity, weight
        self.factors = factors
        self.plans: dict[int, int] = {}  # completion slots
        self.value = 0.0
        self.hopeful = np.ones(len(requests), bool)
        """The jobs for which slots are packed anew; the search may narrow it down."""
        slots, jobs = weight[0].shape[0], len(requests)
        self.demand = (
            np.array([r.worker_demand for r in requests]).reshape(jobs, capacity[0].shape[1]),
            np.array([r.ps_demand for r in requests]).reshape(jobs, capacity[1].shape[1]),
        )
        self.free = over_slots(capacity[0], slots), over_slots(capacity[1], slots)
        self.number = [np.zeros((slots, jobs), np.int64) for _ in SIDES]
        self._most = [(r.units.size - 1, int(r.ps_needed[-1])) for r in requests]
        largest = max((max(pair) for pair in self._most), default=1)
        self._kind = np.int16 if largest < 2**15 else np.int32  # of numbers on a machine
        self.hosted = [np.zeros((slots, len(c), jobs), self._kind) for c in capacity]
        self._fresh = [np.zeros_like(hosted) for hosted in self.hosted]
        self._worth = [
            _worth(p, d, c) for p, d, c in zip(prices, self.demand, capacity, strict=True)
        ]
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
        self._room = [np.zeros((slots, 1, 1)) for _ in SIDES]
        self._repacked = [np.zeros(slots, np.bool_) for _ in SIDES]
        self._machines = [np.empty(len(c)) for c in capacity]
        self._one, self._count = np.ones(1), np.ones(1, np.int64)
        compile_kernels()
        most = max((n for n, _ in self._most), default=1)
        work = max((r.work for r in requests), default=1)
        self._scratch = new_scratch(slots, 1, most, work)

    def insert(self, i: int, factor: int) -> bool:
        """Insert job i by its best schedule at the prices times a factor, if it pays."""
        request, last = self.requests[i], self._last[i]
        for side in SIDES:
            room = self._room[side][:, 0, 0]
            room[:] = 0.0
            slot_rooms(
                self.free[side],
                self.demand[side][i],
                self._most[i][side],
                request.arrival,
                last,
                self._machines[side],
                room,
            )
            self._repacked[side][:] = False
        completion = self._best(i, factor)
        if self.factors[factor][1] and self.hopeful[i] and not self._content(i, completion):
            until = last if completion < 0 else completion
            if completion >= 0 or self._hope(i, until):
                self._make_room(i, until)
                completion = self._best(i, factor)
        if completion < 0:
            return False
        self._place(i, completion)
        return True

    def _best(self, i: int, factor: int) -> int:
        """Leave the best schedule in the scratch memory; return its completion, or -1."""
        request = self.requests[i]
        one = self._one
        workers, ps = (
            Machines(prices[i], room, self._count)
            for prices, room in zip(self._prices[factor], self._room, strict=True)
        )
        alone = request._replace(worker_demand=one, ps_demand=one)
        _, completion, _ = best_schedule(alone, workers, ps, 0.0, self._scratch)
        return int(completion)

    def _content(self, i: int, completion: int) -> bool:
        request = self.requests[i]
        first = min(request.arrival - (-request.work // self._most[i][0]) - 1, self._last[i])
        return completion >= 0 and bool(
            request.utility[completion] >= CONTENT * request.utility[max(first, request.arrival)]
        )

    def _hope(self, i: int, last: int) -> bool:
        """Whether the free amounts of all machines together would hold the work of job i."""
        request = self.requests[i]
        for side, need in zip(SIDES, (request.work, request.work * self._least_ps[i]), strict=True):
            held = hoped(
                i,
                self._most[i][side],
                request.arrival,
                last,
                self.number[side],
                self.demand[side],
                self.capacity[side],
                self._room[side][:, 0, 0],
            )
            if held < need * (1 - 1e-9):
                return False
        return True

    def _make_room(self, i: int, last: int) -> None:
        for side in SIDES:
            make_room(
                i,
                self._most[i][side],
                self.requests[i].arrival,
                last,
                self.number[side],
                self._worth[side],
                self.demand[side],
                self.capacity[side],
                TRIES,
                self._fresh[side],
                self._room[side][:, 0, 0],
                self._repacked[side],
            )

    def _place(self, i: int, completion: int) -> None:
        request, amount = self.requests[i], self._scratch.amount
        for t in (request.arrival + np.flatnonzero(amount[request.arrival :])).tolist():
            n = int(amount[t])
            for side, want in zip(SIDES, (n, int(request.ps_needed[n])), strict=True):
                self.number[side][t, i] = want
                where = (self.demand[side], self.hosted[side], self.free[side])
                if self._repacked[side][t]:
                    put_repacked(
                        t, i, want, where[0], self.capacity[side], self._fresh[side], *where[1:]
                    )
                else:
                    put_best_fit(
                        t, i, want, where[0], self.weight[side], *where[1:], self._machines[side]
                    )
        self.plans[i] = completion
        self.value += float(request.utility[completion])

    def plan(self, i: int) -> Plan:
        """Return where job i runs at present."""
        request, completion = self.requests[i], self.plans[i]
        rows = []
        for side in SIDES:
            mine = self.hosted[side][request.arrival : completion + 1, :, i]
            t, h = np.nonzero(mine)
            rows.append(np.stack([np.full_like(t, side), t + request.arrival, h, mine[t, h]], 1))
        value = float(request.utility[completion])
        return Plan(value, completion, np.concatenate(rows).astype(np.int64))

    def remove(self, i: int) -> Plan:
        """Take job i out and return its plan."""
        plan = self.plan(i)
        del self.plans[i]
        self._book(i, plan, 1)
        self.value -= plan.value
        return plan

    def restore(self, i: int, plan: Plan) -> None:
        """Put job i where ``plan`` says; the place must be free."""
        self.plans[i] = plan.completion
        self._book(i, plan, -1)
        self.value += plan.value

    def _book(self, i: int, plan: Plan, sign: int) -> None:
        request = self.requests[i]
        demands = request.worker_demand, request.ps_demand
        book(plan.entries, *demands, *self.free, float(sign))
        for side in SIDES:
            _, t, h, n = plan.entries[plan.entries[:, 0] == side].T
            self.hosted[side][t, h, i] -= (sign * n).astype(self._kind)
            np.subtract.at(self.number[side], (t, i), sign * n)

    def keep(self) -> Callable[[], None]:
        """Return what brings the present state back."""
        arrays: list[NDArray[Any]] = [*self.free, *self.number, *self.hosted]
        kept, plans, value = [a.copy() for a in arrays], dict(self.plans), self.value

        def back() -> None:
            for array, former in zip(arrays, kept, strict=True):
                array[:] = former
            self.plans, self.value = dict(plans), value

        return back


def _worth(prices: Floats, demand: Floats, capacity: Floats) -> Floats:
    """Return what a worker counts for when a slot is packed: its price, and a little for its size.

    Shapes (I, T), (I, R), (H, R).
    """
    size = (demand / np.maximum(capacity.max(axis=0), 1.0)).sum(axis=1)
    little = (
        LITTLE * max(float(prices.max(initial=0.0)), 1e-9) / max(float(size.max(initial=0.0)), 1e-9)
    )
    worth: Floats = np.ascontiguousarray(prices + little * size[:, None])
    return worth


def _last_useful(request: Request) -> int:
    useful: Ints = np.flatnonzero(request.utility > USEFUL * request.utility.max())
    return int(useful[-1]) if useful.size else request.arrival
