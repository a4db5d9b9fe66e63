"""Directed rounding of prices to certificates; arrays of an instance for the search kernels.

Prices are rounded to a grid of integers (Neumaier and Shcherbina, 2004): any prices prove a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from optsched.families.rigid.certificate.bound import Prices, Surcharges
from optsched.families.rigid.certificate.check import MOST_FILLED
from optsched.families.rigid.instance import Cost, RigidInstance, RigidSchedule
from optsched.families.rigid.optimum.params import AutoParams
from optsched.families.rigid.optimum.prices import PricedJobs, Room
from optsched.families.rigid.optimum.search import Load, listed, queue
from optsched.numbers.arrays import Floats, Ints
from optsched.problem import InputError
from optsched.process import work_units

NEVER = 2**61
SLICE = 2_000_000  # elementary steps of a turn: some milliseconds
MOST_BITS = 40
FEWEST = 2**10  # intervals of prices, or sizes get no surcharges
LARGEST = 2**27  # jobs times nodes: a schedule on the nodes is a table of them, 1 GB


class Sized(NamedTuple):
    """Jobs whose sizes have surcharges."""

    needs: dict[int, Ints]  # of a resource, ascending, shape (S,)
    jobs: PricedJobs
    room: Room
    steps: int  # of all knapsacks, in an interval


class RigidProblem:
    """Arrays of an instance, and cached values."""

    def __init__(self, inst: RigidInstance) -> None:
        self.inst, a = inst, inst.arrays
        self.n = len(inst.jobs)
        if self.n * len(a.bins) > LARGEST:
            raise InputError(
                f"{self.n} jobs are packed onto {len(a.bins)} nodes, expected at most {LARGEST} "
                "jobs times nodes; pool the capacity (packed: false), or take a window of the log"
            )
        costs = [Cost(inst.objective, job) for job in inst.jobs]
        self.jobs = PricedJobs(
            a.arrival.copy(),  # writable, as those of a node: one type, one compilation
            np.full(self.n, NEVER),
            a.arrival,
            a.run,
            a.demand.astype(float),
            np.array([c.weight / c.unit for c in costs]),
            np.array([c.floor for c in costs], np.int64),
            np.array([c.shift for c in costs], np.int64),
            np.full(self.n, -1),
        )
        self.load, self.bins = Load(a.tasks, a.need, a.bins), a.bins
        self.capacity = a.total.astype(float)
        nothing = np.zeros(0, np.int64)
        self.room = Room(self.capacity, nothing, nothing, nothing)
        self.late = 1.0 if inst.objective == "makespan" else 0.0
        # what flow time costs more than the objective: waiting times are no lower a temperature
        self.running = float((self.jobs.rate * (a.run - self.jobs.shift)).sum())
        share = (self.jobs.demand / np.maximum(1.0, self.capacity)).max(axis=1, initial=0.0)
        self.area = a.run * np.maximum(share, 1e-9)  # of all machines, seconds
        # the reciprocal of Smith's ratio; a slowdown counts a short job's seconds more
        rate = np.ones(self.n) if self.late else self.jobs.rate
        self.key = self.area / rate

    def listed(
        self,
        key: Floats | Ints,
        stop: Callable[[], bool],
        depth: int = AutoParams.depth,
        low: Ints | None = None,
    ) -> tuple[Ints, Ints] | None:
        """Return the list schedule of an order of priority: starts, and tasks on nodes.

        None if ``stop`` returns true before it is complete. No job starts before ``low``, by
        default its arrival.
        """
        start, allocation = np.zeros(self.n, np.int64), np.zeros((self.n, len(self.bins)), np.int64)
        jobs = self.jobs if low is None else self.windows(low, self.jobs.high)
        line = queue(np.argsort(key, kind="stable"), jobs, self.load)
        while True:
            steps = listed(line, jobs, self.load, depth, SLICE, start, allocation)
            work_units.steps(steps)
            if steps < SLICE:
                return start, allocation
            if stop():
                return None

    def schedule(self, start: Ints, allocation: Ints) -> RigidSchedule:
        """Return the schedule that arrays mean."""
        nodes: tuple[tuple[tuple[int, int], ...], ...] = ()
        if self.inst.packed:
            nodes = tuple(
                tuple((int(h), int(row[h])) for h in np.flatnonzero(row)) for row in allocation
            )
        return RigidSchedule(start=tuple(start.tolist()), nodes=nodes)

    def grid(self, end: int, intervals: int) -> Ints:
        """Return breakpoints from the first arrival until ``end``, evenly spaced."""
        first = int(self.jobs.arrival.min(initial=end))
        number = max(1, min(intervals, end - first))
        return np.unique(np.linspace(first, max(end, first + 1), number + 1).astype(np.int64))

    def sized(self) -> Sized | None:
        """Return jobs with their sizes, needs of the resources in most demand that share no job.

        A resource is left out if sizes fill it without a rest, or if that is too much work; None
        if all are.
        """
        jobs, size, steps = self.jobs, np.full(self.n, -1), 0
        used = (jobs.demand * jobs.run[:, None]).sum(axis=0) / np.maximum(1.0, self.capacity)
        needs = dict[int, Ints]()
        packed, parts, ends = list[Ints](), list[int](), [0]
        for k in np.argsort(-used, kind="stable").tolist():
            need = jobs.demand[:, k].astype(np.int64)
            sizes, chain = np.unique(need[need > 0]), int(self.capacity[k])
            if not sizes.size or np.any(size[need > 0] >= 0):
                continue
            part = int(np.gcd.reduce(sizes))
            work = len(sizes) * (chain // part)
            divides = not np.any(np.append(sizes[1:], chain) % sizes)
            if divides or steps + work > MOST_FILLED // FEWEST:
                continue
            size[need > 0] = ends[-1] + np.searchsorted(sizes, need[need > 0])
            needs[k], steps = sizes, steps + work
            packed.append(sizes // part)
            parts.append(chain // part)
            ends.append(ends[-1] + len(sizes))
        if not needs:
            return None
        room = Room(self.capacity, np.concatenate(packed), np.array(ends[1:]), np.array(parts))
        return Sized(needs, jobs._replace(size=size), room, steps)

    def windows(self, low: Ints, high: Ints) -> PricedJobs:
        """Return the jobs with other windows of their starts."""
        return self.jobs._replace(low=low, high=high)


def grid_bits(problem: RigidProblem, times: Ints, price: Floats) -> int:
    """Return how fine prices are written: as fine as a checker can count in 64 bits, or finer.

    The largest price has ten bits, even if the checker then counts in Python's integers.
    """
    jobs, arrays = problem.jobs, problem.inst.arrays
    latest = max(int(times[-1]), int(jobs.low.max(initial=0)))
    latest += int((jobs.shift + jobs.floor).max(initial=0))
    costs = 0.0 if problem.late else float(arrays.weight.max(initial=1)) * latest
    total = float(price[:, :-1].max(initial=0.0)) * float(times[-1] - times[0])
    charge = total * jobs.demand.max(initial=1.0) * 2 * (jobs.demand.shape[1] + 1)
    fit = 60 - math.ceil(math.log2(max(costs + charge, 1.0)))
    top = float(price.max(initial=0.0))
    need = 10 - math.floor(math.log2(top)) if top > 0 else 0
    return max(0, min(MOST_BITS, fit), min(100, need))


def written(times: Ints, price: Floats, bits: int, sized: Sized | None = None) -> Prices:
    """Return prices as integers; intervals of equal prices become one.

    ``sized`` are the sizes whose surcharges are the last rows of ``price``.
    """
    rows: Sequence[list[int]] = [
        [math.floor(math.ldexp(x, bits)) for x in row[:-1].tolist()] for row in price
    ]
    columns = list(zip(*rows, strict=True))
    kept = [j for j, c in enumerate(columns) if j == 0 or c != columns[j - 1]]
    last = kept.pop() if kept and not any(columns[kept[-1]]) else len(columns)
    taken = [tuple(row[j] for j in kept) for row in rows]
    surcharges, kinds = list[Surcharges](), len(rows)
    for k, needs in reversed(sized.needs.items()) if sized else ():
        more, kinds = tuple(taken[kinds - len(needs) : kinds]), kinds - len(needs)
        surcharges.insert(0, Surcharges(resource=k, needs=tuple(needs.tolist()), price=more))
    return Prices(
        times=(*(int(times[j]) for j in kept), int(times[last])) if kept else (),
        price=tuple(taken[:kinds]),
        surcharges=tuple(surcharges),
    )
