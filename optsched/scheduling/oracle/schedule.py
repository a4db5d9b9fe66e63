"""Pricing subproblem of one job: a multiple-choice knapsack over slots, solved exactly.

Every slot is a class of choices, the number of workers; the job's work must be done (Sinha and
Zoltners, 1979). Workers and parameter servers (PS) use separate machines.

Slots are opened one by one from the job's arrival. The lower convex hulls of their costs, merged,
bound the cost of every completion from below; once the utility of a later completion does not
exceed a payoff that is already certain, no later slot can be better. The exact dynamic program
then runs only up to the last completion slot that the bound leaves open, or not at all if no
payoff above the cutoff is possible.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.numbers.resources import close
from optsched.problem import InputError
from optsched.scheduling.oracle.slots import (
    charge_leftovers,
    cheapest,
    plain_int,
    slot_cost,
    unit_prices,
    units_that_fit,
)
from optsched.scheduling.oracle.workload import (
    EQUAL,
    backtrack,
    hull,
    hull_insert,
    prefix_costs,
)

MOST_CELLS = 2**28  # of a table: 2 GB


class PricedMachines(NamedTuple):
    """One side of the cluster as the oracle sees it: prices and the free capacity."""

    price: Floats  # (T, R, H) per unit of demand
    free: Floats  # (T, R, H) units of demand, of one machine
    count: Ints  # type: ignore[assignment]  # (H,) equal machines that each entry stands for
    fragmentation_penalty: float = (
        0.0  # how much of what a filled machine leaves over is charged, 0 to 1
    )


class Request(NamedTuple):
    """One job as the oracle sees it."""

    arrival: int
    work: int  # units of work; worker-slots, or chunks
    units: Ints  # (N' + 1,) workers that 0, 1, ... units of work in one slot need
    worker_demand: Floats  # (R,)
    ps_demand: Floats  # (R,)
    ps_needed: Ints  # (N + 1,) PS that 0, 1, ... workers need
    utility: Floats  # (T,) if it completes in slot t; read-only, as that of an instance


class Best(NamedTuple):
    """The best schedule found: ``payoff`` = utility - cost; ``amount`` = units of work by slot."""

    payoff: float
    completion: int
    cost: float
    amount: Ints  # (T,)


class Oracle:
    """Finds best schedules; holds the scratch memory of the kernels.

    Parameters
    ----------
    horizon : int
    machines : int
        The most entries on either side.
    most : int
        The most workers of a job in one slot (or units of work, if those are finer).
    work : int
        The most work of a job.
    """

    def __init__(self, horizon: int, machines: int, most: int, work: int) -> None:
        compile_kernels()
        self.scratch = new_scratch(horizon, machines, most, work)

    def best(
        self, job: Request, workers: PricedMachines, ps: PricedMachines, cutoff: float = 0.0
    ) -> Best | None:
        """Return the schedule of the greatest payoff above ``cutoff``, None if there is none.

        Ties: payoffs within 1e-9 relative are equal, and the earliest completion wins; then the
        least work in the last slot, then in the slot before it, and so on.
        """
        if job.utility.flags.writeable:
            close(job.utility)
        payoff, completion, cost = best_schedule(job, workers, ps, cutoff, self.scratch)
        if completion < 0:
            return None
        return Best(payoff, completion, cost, self.scratch.amount.copy())


@cache
def compile_kernels() -> None:
    """Compile what an oracle runs, so that no decision is timed with it."""
    one, units = np.ones((1, 1, 1)), np.arange(2)
    side = PricedMachines(one, one, np.ones(1, np.int64))
    job = Request(0, 1, units, np.ones(1), np.ones(1), units, np.full(1, 9.0))
    close(job.utility)
    best_schedule(job, side, side, 0.0, new_scratch(1, 1, 1, 1))


def new_table(rows: int, columns: int) -> Floats:
    """Return the table of a dynamic program, rows by slot and columns by work, all infinite.

    Raises
    ------
    InputError
        It would take too much memory.
    """
    if rows * columns > MOST_CELLS:
        raise InputError(
            f"a job of {columns - 1} units of work in {rows - 1} slots is too large for the "
            f"dynamic program, expected at most {MOST_CELLS} for one times the other"
        )
    return np.full((rows, columns), np.inf)


class Scratch(NamedTuple):
    """Working arrays of `best_schedule`."""

    table: Floats  # (T + 1, N + W + 1) least cost by slot and work done, see `prefix_costs`
    cost: Floats  # (T, N + 1) of 0, 1, ... units of work in a slot
    most: Ints  # (T,) units of work that a slot holds
    slopes: Floats  # (T (N + 1),) cheapest segments of all slots, see `hull_insert`
    lengths: Ints  # (T (N + 1),) units of work of each
    unit_price: Floats  # (H,) of one worker, or PS
    max_units: Floats  # (H,) workers, or PS, that a machine holds
    heap: Ints  # (H,)
    parts: Floats  # (3, N + 1) cost of workers, of PS, and of both
    promise: Floats  # (T,) the most that a completion in a slot may pay
    amount: Ints  # (T,) units of work by slot, of the schedule that was found


def new_scratch(horizon: int, machines: int, most: int, work: int) -> Scratch:
    """Return the scratch arrays of `best_schedule`."""
    corners = horizon * (most + 1)
    return Scratch(
        table=new_table(horizon + 1, most + work + 1),
        cost=np.zeros((horizon, most + 1)),
        most=np.zeros(horizon, np.int64),
        slopes=np.empty(corners),
        lengths=np.empty(corners, np.int64),
        unit_price=np.empty(machines),
        max_units=np.empty(machines),
        heap=np.empty(machines, np.int64),
        parts=np.empty((3, most + 1)),
        promise=np.empty(horizon),
        amount=np.zeros(horizon, np.int64),
    )


@kernel(inline="always")
def _side(
    t: int,
    machines: PricedMachines,
    demand: Floats,
    most: int,
    fragmentation_penalty: float,
    scratch: Scratch,
    cost: Floats,
) -> int:
    """Fill ``cost`` with that of up to ``most`` workers, or PS, in slot t; return how many fit.

    ``demand`` of one, in units of each resource, is (R,), ``cost``, money, (N + 1,).
    """
    price, free, count = machines.price[t], machines.free[t], machines.count
    unit, fits = scratch.unit_price[: count.size], scratch.max_units[: count.size]
    unit_prices(price, demand, unit)
    units_that_fit(free, demand, most, fits)
    if fragmentation_penalty > 0.0:
        charge_leftovers(price, free, fits, fragmentation_penalty, unit)
    return cheapest(unit, fits, count, most, scratch.heap, cost)


@kernel(inline="always")
def open_slot(
    t: int, job: Request, workers: PricedMachines, ps: PricedMachines, scratch: Scratch
) -> int:
    """Fill ``scratch.cost[t]`` with the least cost of 0, 1, ... units of work; return the most."""
    units, needed, parts, cost = job.units, job.ps_needed, scratch.parts, scratch.cost[t]
    n = _side(
        t, workers, job.worker_demand, units[-1], workers.fragmentation_penalty, scratch, parts[0]
    )
    if n == 0:
        return 0
    held = _side(t, ps, job.ps_demand, needed[n], workers.fragmentation_penalty, scratch, parts[1])
    n = slot_cost(parts[0], n, parts[1], held, needed, parts[2])
    d = 0
    while d < units.size and units[d] <= n:
        cost[d] = parts[2, units[d]]
        d += 1
    return d - 1


def best_schedule(
    job: Request, workers: PricedMachines, ps: PricedMachines, cutoff: float, scratch: Scratch
) -> tuple[float, int, float]:
    """Return (payoff, completion, cost) of the best schedule; completion -1: none beats ``cutoff``.

    ``scratch.amount`` receives the units of work by slot.
    """
    found: tuple[float, int, float] = _best((*job, *workers, *ps, float(cutoff), *scratch))
    return found


@kernel(nogil=True)
def _best(arguments: tuple[Any, ...]) -> tuple[float, int, float]:
    """Implement `best_schedule`; ``arguments`` is all of its input, in one plain tuple.

    Numba looks at one plain tuple in less than half the time that five others take.
    """
    job, workers, ps = (
        Request(*arguments[:7]),
        PricedMachines(*arguments[7:11]),
        PricedMachines(*arguments[11:15]),
    )
    cutoff, scratch = arguments[15], Scratch(*arguments[16:])
    arrival, work, units, utility = job.arrival, job.work, job.units, job.utility
    table, cost, most, amount = scratch.table, scratch.cost, scratch.most, scratch.amount
    slopes, lengths, promise = scratch.slopes, scratch.lengths, scratch.promise
    horizon = utility.size
    slope, length = scratch.parts[0], np.empty(units.size, np.int64)
    certain = cutoff  # a payoff that is known to be possible, or uninteresting
    held = plain_int(0)
    opened = arrival
    for t in range(arrival, horizon):
        if utility[t] <= certain:
            break
        most[t] = open_slot(t, job, workers, ps, scratch)
        used = hull(cost[t], most[t], slope, length)
        held, low, high = hull_insert(slope, length, used, slopes, lengths, held, work)
        promise[t] = utility[t] - low
        certain = max(certain, utility[t] - high)
        opened = t + 1
    last = plain_int(-1)
    for t in range(arrival, opened):
        if promise[t] > cutoff and promise[t] >= certain - EQUAL * abs(certain):
            last = t
    if last < 0:
        return -np.inf, -1, np.inf
    pad = scratch.parts.shape[1] - 1
    prefix_costs(cost, most, arrival, last, work, pad, table)
    best, completion = cutoff, -1
    for t in range(arrival, last + 1):
        payoff = utility[t] - table[t - arrival + 1, pad + work]
        margin = EQUAL * abs(best) if completion >= 0 else 0.0
        if payoff > best + margin:
            best, completion = payoff, t
    if completion < 0:
        return -np.inf, -1, np.inf
    amount[:] = 0
    backtrack(cost, most, arrival, completion, work, pad, table, amount)
    while amount[completion] == 0:  # utility does not increase: an earlier end at the same cost
        completion -= 1
    total = 0.0
    for t in range(arrival, completion + 1):
        total += cost[t, amount[t]]
    # the table's payoff is exact; the distribution may be off by the tolerance of ties
    return max(best, utility[completion] - total), completion, total
