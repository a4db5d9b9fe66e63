"""A cluster filled by hand: put a job in where its plan states, take it out again.

Serves the neighborhood search of families with workers and parameter servers (PS). Every state is
feasible on single machines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.problem import Schedule, Verdict
from optsched.process import work_units
from optsched.scheduling.oracle.schedule import PricedMachines, Request
from optsched.scheduling.oracle.slots import charge_leftovers, place, unit_prices, units_that_fit

Job = TypeVar("Job")

FACTORS = (  # multiples of the dual prices, and the share of leftovers that is charged
    (0.0, 0.0),
    (0.1, 0.0),
    (0.3, 0.0),
    (0.6, 0.0),
    (1.0, 0.0),
    (0.3, 1.0),
    (0.6, 1.0),
    (1.0, 1.0),
)


@dataclass(frozen=True)
class JobPlan:
    """Where one job runs: rows [side, slot, machine, number]; side 0 holds workers, 1 PS."""

    value: float
    completion: int
    entries: Ints  # (n, 4)


class PlanBoard:
    """Plans that share machines: the free capacity, and which job runs where.

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
        self.plans: dict[int, JobPlan] = {}
        self.value = 0.0

    def remove(self, i: int) -> JobPlan:
        """Take job i out and return its plan."""
        plan = self.plans.pop(i)
        self._use(i, plan, 1.0)
        self.value -= plan.value
        return plan

    def restore(self, i: int, plan: JobPlan) -> None:
        """Put job i where ``plan`` states; the place must be free."""
        self.plans[i] = plan
        self._use(i, plan, -1.0)
        self.value += plan.value

    def _use(self, i: int, plan: JobPlan, sign: float) -> None:
        # elementary steps of taking up an entry of a plan, or giving it back
        work_units.steps(10 * len(plan.entries))
        request = self.requests[i]
        demands = request.worker_demand, request.ps_demand
        book(plan.entries, *demands, *self.free, sign)


class PricedBoard(PlanBoard, ABC):
    """A board that inserts jobs by their pricing subproblems; parameters as of `PlanBoard`.

    Attributes
    ----------
    windows : list of (first slot, last slot)
        Slots in which each job can run; after them, its utility is negligible.
    """

    def __init__(self, requests: Sequence[Any], free: tuple[Floats, Floats]) -> None:
        super().__init__(requests, free)
        self.windows = [_window(request) for request in requests]

    @abstractmethod
    def best(self, i: int, factor: int) -> JobPlan | None:
        """Return the best plan of job i at the prices times ``FACTORS[factor]``, if it pays."""

    def insert(self, i: int, factor: int) -> bool:
        """Insert job i by its best plan, if it pays."""
        plan = self.best(i, factor)
        if plan is None:
            return False
        self.restore(i, plan)
        return True


def _window(request: Any) -> tuple[int, int]:
    # a completion that earns less than this share of the best is not sought, nor in the way
    useful = np.flatnonzero(request.utility > 1e-3 * request.utility.max())
    return request.arrival, int(useful[-1]) if useful.size else request.arrival


def at_factors(prices: Floats, free: Floats) -> list[PricedMachines]:
    """Return single machines, by factor: ``prices`` and units that are ``free``, (T, R, H)."""
    ones = np.ones(free.shape[2], np.int64)
    return [
        PricedMachines(np.ascontiguousarray(prices * x), free, ones, fragmentation_penalty)
        for x, fragmentation_penalty in FACTORS
    ]


def load(board: Any, plans: Mapping[int, JobPlan]) -> None:
    """Replace the state of a board by ``plans``."""
    for i in list(board.plans):
        board.remove(i)
    for i, plan in plans.items():
        board.restore(i, plan)


def plan_of(job: Any, utility: Floats) -> JobPlan:
    """Return the plan of a job's schedule; ``utility``, shape (T,), is by completion."""
    completion = max(t for t, _, _ in job.workers)
    number: Counter[tuple[int, int, int]] = Counter()  # a place may be named twice
    for side, part in enumerate((job.workers, job.ps)):
        for t, h, n in part:
            number[side, t, h] += n
    rows = [(*where, n) for where, n in sorted(number.items())]
    return JobPlan(float(utility[completion]), completion, np.array(rows, np.int64))


def planned_jobs(
    jobs: int, plans: Mapping[int, JobPlan], kind: Callable[..., Job]
) -> tuple[Job | None, ...]:
    """Return where every job runs, as ``kind`` (workers, ps); None for one without a plan."""
    found: list[Job | None] = [None] * jobs
    for i, plan in plans.items():
        rows = plan.entries.tolist()
        found[i] = kind(
            workers=tuple((t, h, n) for side, t, h, n in rows if side == 0),
            ps=tuple((t, h, n) for side, t, h, n in rows if side == 1),
        )
    return tuple(found)


def placed_jobs(
    placed: Iterable[tuple[Sequence[Any], Sequence[Any]]],
    runs: Container[int],
    kind: Callable[..., Job],
) -> tuple[Job | None, ...]:
    """Return where every job runs, as ``kind`` (workers, ps); None for one that is not in ``runs``.

    ``placed`` has the entries of its workers and of its PS.
    """
    return tuple(
        kind(workers=tuple(workers), ps=tuple(ps)) if i in runs else None
        for i, (workers, ps) in enumerate(placed)
    )


def empty(kind: Callable[..., Schedule], inst: Any) -> Schedule:
    """Return the schedule without any job."""
    return kind(jobs=(None,) * len(inst.jobs))


def trim(verify: Callable[..., Verdict], inst: Any, schedule: Any) -> Any:
    """Leave out the jobs that do not complete: they earn nothing, and use capacity of others."""
    completion = verify(inst, schedule, unfinished=True).completion
    kept = zip(schedule.jobs, completion, strict=False)
    return type(schedule)(jobs=tuple(plan if c is not None else None for plan, c in kept))


def over_slots(capacity: Floats, slots: int) -> Floats:
    """Repeat the capacities (H, R) over the horizon, in the kernels' layout (T, R, H)."""
    return np.broadcast_to(capacity.T, (slots, *capacity.T.shape)).copy()


def flat_prices(capacity: Ints, slots: int, columns: int | None = None) -> Floats:
    """Return prices that mean only "use little": before any dual prices are known.

    ``capacity`` has shape (H, R), the prices (T, R, H), or (T, R, ``columns``).
    """
    whole = np.maximum(capacity.sum(axis=0), 1).astype(float)  # (R,)
    price = 1.0 / (whole * capacity.shape[1] * slots)
    return np.tile(price[None, :, None], (slots, 1, len(capacity) if columns is None else columns))


@kernel
def book(
    entries: Ints,
    worker_demand: Floats,
    ps_demand: Floats,
    worker_free: Floats,
    ps_free: Floats,
    sign: float,
) -> None:
    """Add ``sign`` times the use of a plan to the free capacity.

    Parameters
    ----------
    entries : shape (N, 4)
        Side (0: workers), slot, machine, how many.
    worker_demand, ps_demand : shape (R,)
    worker_free, ps_free : shape (T, R, H)
        Units, as all demands.
    """
    for k in range(entries.shape[0]):
        side, t, h, n = entries[k]
        demand = worker_demand if side == 0 else ps_demand
        free = worker_free if side == 0 else ps_free
        for r in range(demand.size):
            free[t, r, h] += sign * n * demand[r]


@kernel
def plan_entries(
    job: Request, amount: Ints, completion: int, workers: PricedMachines, ps: PricedMachines
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
    unit_price, max_units = np.empty(size), np.empty(size)
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
            units_that_fit(free, demand, want, max_units[:h])
            if workers.fragmentation_penalty > 0.0:
                charge_leftovers(
                    price, free, max_units[:h], workers.fragmentation_penalty, unit_price[:h]
                )
            k = place(unit_price[:h], max_units[:h], count, want, heap, machine, number)
            for j in range(k):
                entries[used, 0] = side
                entries[used, 1] = t
                entries[used, 2] = machine[j]
                entries[used, 3] = number[j]
                used += 1
    return entries[:used].copy()
