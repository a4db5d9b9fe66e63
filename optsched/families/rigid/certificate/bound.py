"""Lagrangian dual bound at prices of capacity, in integers: the cheapest start of every job.

At prices >= 0 that are constant between breakpoints, cost plus charge of a job (Geoffrion, 1974)
is linear in its start between those at which its start or its end meets a breakpoint, at which its
bounded slowdown leaves 1, and the ends of its window. So only these starts are looked at, in
whole seconds, whatever the breakpoints: the bound holds for all starts. Once the cost alone is no
less than the best, no later start is better, for charges are not negative. On nodes the bound is
that of all capacity in one pool, which no schedule exceeds.

A surcharge is paid by jobs of one size, their need of a resource. What those that pay surcharges of
one resource pay in a second is at most the best value of an integer knapsack (Gilmore and Gomory,
1961): of jobs that fit. A job pays the first surcharge that is listed for one of its sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, NonNegativeInt

from optsched.families.rigid.instance import LARGEST, LATEST, Cost, RigidInstance
from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel
from optsched.numbers.overflow import Magnitude
from optsched.problem import Frozen

NEVER = 2**61  # the end of a window that has none
Second = Annotated[int, Field(ge=0, le=2 * LATEST)]
Price = Annotated[int, Field(ge=0, lt=2**200)]


def _listed(given: Any) -> Any:
    """Return a list; earlier versions have one entry or null."""
    return given if isinstance(given, list | tuple) else () if given is None else (given,)


class Surcharges(Frozen):
    """Surcharges on jobs of some sizes of a resource, in addition to the prices of resources."""

    resource: NonNegativeInt = Field(description="index of the resource that is filled with them")
    needs: tuple[Annotated[int, Field(ge=1, le=LARGEST)], ...] = Field(
        description="sizes, ascending: units of that resource that a job needs, of all its tasks"
    )
    price: tuple[tuple[Price, ...], ...] = Field(
        description="of one job for one second, by size: from each breakpoint until the next"
    )


class Prices(Frozen):
    """Price of capacity over time."""

    times: tuple[Second, ...] = Field(description="breakpoints, ascending, s")
    price: tuple[tuple[Price, ...], ...] = Field(
        description="of one unit for one second, by resource: from each breakpoint until the next"
    )
    surcharges: Annotated[tuple[Surcharges, ...], BeforeValidator(_listed)] = ()


class StartCosts(NamedTuple):
    """Jobs as the kernel takes them: a start costs weight * max(floor, s - arrival + shift) / unit.

    Where numbers are too large for 64 bits, arrays hold Python's integers.
    """

    low: Ints  # (n,) earliest start, in seconds
    high: Ints  # (n,) latest start, in seconds
    arrival: Ints  # (n,) in seconds
    run: Ints  # (n,) in seconds
    demand: Ints  # (n, K) units, of all tasks
    size: Ints  # (n,) whose surcharge it pays; -1: none
    weight: Ints  # (n,)
    floor: Ints  # (n,)
    shift: Ints  # (n,)
    unit: Ints  # (n,)


class BoundEvaluator:
    """All that the bound needs of an instance, whatever the prices."""

    def __init__(self, inst: RigidInstance) -> None:
        self.inst = inst
        self.costs = [Cost(inst.objective, job) for job in inst.jobs]
        self.low = [job.arrival for job in inst.jobs]
        self.high = [NEVER] * len(inst.jobs)
        self.demand = [tuple(job.tasks * d for d in job.need) for job in inst.jobs]

    def sum(self, pricing: Prices, bits: int, filled: Sequence[int]) -> int | None:
        """Return the bound on the summed objective times 2**bits, rounded down; None: no start.

        ``low`` and ``high`` are the windows of the starts, ``filled`` the :func:`values`.
        Prices are in units of 2**-bits of the summed objective.
        """
        if any(a > b for a, b in zip(self.low, self.high, strict=True)):
            return None
        times = pricing.times or (0,)
        sizes = [(more.resource, need) for more in pricing.surcharges for need in more.needs]
        rows = (*pricing.price, *(row for more in pricing.surcharges for row in more.price))
        kinds = len(pricing.price)
        cumulative = [[0] for _ in rows]
        for sums, row in zip(cumulative, rows, strict=True):
            for j, each in enumerate(row):
                sums.append(sums[-1] + each * (times[j + 1] - times[j]))
        rent = sum(w[-1] * c for w, c in zip(cumulative, self.inst.total, strict=False))
        for j, value in enumerate(filled):
            rent += value * (times[j + 1] - times[j])
        index = {size: k for k, size in reversed([*enumerate(sizes)])}
        known = [more.resource for more in pricing.surcharges]
        paid = [
            min((index.get((r, d[r]), NEVER) for r in known), default=NEVER) for d in self.demand
        ]
        weight = [c.weight << bits for c in self.costs]
        latest = max([times[-1], *self.low])
        latest += max((c.shift + c.floor for c in self.costs), default=0)
        dearest = Magnitude.of("capacity value", [w[-1] for w in cumulative])
        largest = Magnitude.of("demand", [d for row in self.demand for d in row])
        heaviest = Magnitude.of("weight", weight)
        most = heaviest * Magnitude("seconds", latest) + (dearest * largest).total(2 * kinds + 2)
        small = (most + heaviest + dearest).inside(2**62)

        def array(values: Sequence[Any], width: int | None = None) -> Any:
            made = np.array(values, np.int64 if small else object)
            return made if width is None else made.reshape(-1, width)

        jobs = StartCosts(
            low=array(self.low),
            high=array(self.high),
            arrival=array([c.arrival for c in self.costs]),
            run=array([job.run for job in self.inst.jobs]),
            demand=array(self.demand, kinds),
            size=np.array([-1 if k == NEVER else k for k in paid], np.int64),
            weight=array(weight),
            floor=array([c.floor for c in self.costs]),
            shift=array([c.shift for c in self.costs]),
            unit=array([c.unit for c in self.costs]),
        )
        price = array([[*row, 0] for row in rows])
        found = array([0] * len(self.costs))
        (minima if small else minima.py_func)(jobs, array(times), price, array(cumulative), found)
        return int(sum(found.tolist())) - rent


def values(inst: RigidInstance, pricing: Prices, more: Sequence[int] = ()) -> list[int]:
    """Return the most that jobs which fit together pay in a second, for every interval.

    ``more`` units of each resource are added to the capacity.
    """
    total = [0] * max(0, len(pricing.times) - 1)
    for sized in pricing.surcharges if total else ():
        part, k = math.gcd(*sized.needs), sized.resource
        units = (inst.total[k] + (more[k] if more else 0)) // part if sized.needs else 0
        each = Magnitude.of("surcharge", [x for row in sized.price for x in row])
        value, sizes = [*zip(*sized.price, strict=True)], [need // part for need in sized.needs]
        found, best = [0] * len(value), [0] * (units + 1)
        if each.total(units).inside(2**62):
            numbers = np.array(found)
            filled(np.array(value), np.array(sizes), np.array(best), numbers)
            found = numbers.tolist()
        else:
            lists: Any = (value, sizes, best, found)
            filled.py_func(*lists)
        total = [a + b for a, b in zip(total, found, strict=True)] if found else total
    return total


@kernel
def filled(value: Ints, sizes: Ints, best: Ints, found: Ints) -> None:
    """Write into ``found`` the best value of an integer knapsack, for every interval.

    The arguments may be lists of Python's integers.

    Parameters
    ----------
    value : shape (B, S)
        Of a piece of each size.
    sizes : shape (S,)
        Ascending.
    best : shape (C + 1,)
        Receives the best value of each capacity; the first stays 0, the last is the knapsack's.
    found : shape (B,)
    """
    for j in range(len(found)):
        paid = value[j]
        for c in range(1, len(best)):
            most = best[c - 1]
            for k in range(len(sizes)):
                if sizes[k] > c:
                    break
                most = max(most, best[c - sizes[k]] + paid[k])
            best[c] = most
        found[j] = best[len(best) - 1]


@kernel
def minima(jobs: StartCosts, times: Ints, price: Ints, cumulative: Ints, found: Ints) -> None:
    """Write into ``found`` the least cost with charge of every job, rounded down.

    Parameters
    ----------
    jobs : StartCosts
    times : shape (B + 1,)
        Breakpoints.
    price, cumulative : shape (K + S, B + 1)
        Of a unit and second, from each breakpoint on, and summed until each; then surcharges.
    found : shape (n,)
    """
    low, high, arrival, run, demand, size, weight, floor, shift, unit = jobs
    last, kinds = times.size - 1, demand.shape[1]
    for i in range(low.size):
        s, p = low[i], run[i]
        kink = arrival[i] + floor[i] - shift[i]
        x = np.searchsorted(times, s, side="right") - 1
        y = np.searchsorted(times, s + p, side="right") - 1
        first = True
        while True:
            cost = weight[i] * max(floor[i], s - arrival[i] + shift[i]) // unit[i]
            if not first and cost >= found[i]:
                break
            for k in range(kinds + (size[i] >= 0)):
                row = k if k < kinds else kinds + size[i]
                charge = price[row, 0] * 0
                if y >= 0:
                    charge += cumulative[row, y] + price[row, y] * (s + p - times[y])
                if x >= 0:
                    charge -= cumulative[row, x] + price[row, x] * (s - times[x])
                cost += charge * demand[i, k] if k < kinds else charge
            if first or cost < found[i]:
                found[i] = cost
            first = False
            if s >= high[i] or x == last:
                break
            step = times[x + 1]
            if y < last:
                step = min(step, times[y + 1] - p)
            if s < kink:
                step = min(step, kink)
            s = min(step, high[i])
            while x < last and times[x + 1] <= s:
                x += 1
            while y < last and times[y + 1] <= s + p:
                y += 1
