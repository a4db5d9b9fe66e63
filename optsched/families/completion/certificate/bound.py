"""Lagrangian dual bound of family `completion` at prices, in integers only.

The bound is a sum of subproblems, one per job, minus the value of capacity (Geoffrion, 1974). All
that the kernel adds up is a cost in units of 2**-grid. The grid is not the certificate's: it is
the finest at which the largest number that the kernel can form fits into 64 bits. `_grid` is the
argument that it does. Prices on a coarser grid are different prices, equally valid; weights are
rounded down. So the bound is valid, and only its last digits depend on the grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from optsched.families.completion.certificate.kernels import (
    FAR,
    CumulativeCosts,
    KernelPlatform,
    least_value,
    placeable,
)
from optsched.families.completion.instance import CompletionInstance
from optsched.numbers.arrays import Flags, Ints
from optsched.numbers.overflow import INT64, Magnitude, TooLargeError, int64s
from optsched.numbers.resources import exact
from optsched.proofs.grid import LARGEST_PRICE, capacity_cost, dense

Entries = Sequence[tuple[int, int, int, int]]  # slot, class of servers, resource, price

MOST_KEPT = 2**20  # modes of jobs
MOST_CELLS = 2**25  # of a table of costs: slots times classes times types
FINE = 1024  # bits finer than any grid: so weights that are rounded up are hardly larger


class ScaledPrices(NamedTuple):
    """A price list, and the weights in its units."""

    grid: int  # all is in units of 2**-grid
    weights: Ints  # (J,) per slot
    costs: CumulativeCosts
    charge: int  # of all servers


class BoundEvaluator:
    """Evaluator of the bounds of an instance: their common arrays."""

    def __init__(self, inst: CompletionInstance) -> None:
        self.inst = inst
        a = inst.arrays
        self.platform = KernelPlatform(
            capacity=a.capacity[[c[0] for c in a.classes]],
            servers=int64s("servers", [len(c) for c in a.classes]),
            e=a.worker_demand,
            z=a.ps_demand,
            needed=a.ps_needed,
            ring=inst.ring,
        )
        self.modes = JobModes(inst, self.platform)
        self.weights = [exact(job.weight) for job in inst.jobs]
        self.dearest = np.concatenate([a.worker_demand, a.ps_demand]).max(axis=0).tolist()  # (R,)
        self.number = Magnitude.of("workers", [job.chunks for job in inst.jobs])
        self.ps = Magnitude.of("PS", a.ps_needed)
        self.duration = Magnitude("duration", self.modes.longest)
        nothing = np.zeros((0, *self.platform.capacity.shape), np.int64)
        self.free = self.costs(nothing)  # without prices
        self.first = Magnitude.of("first start", [job.arrival for job in inst.jobs])
        self.slots = self._slots()

    def _slots(self) -> int:
        """Return how many slots may have a price.

        All jobs fit one after the other into the time after the last arrival: twice as long is more
        than any search for prices looks at. Where that does not fit into memory, less.
        """
        classes = len(self.platform.capacity)
        types = len(self.platform.e) + len(self.platform.z)
        alone = [d for d in self.modes.shortest if d is not None]
        need = 2 * (self.inst.horizon + sum(alone)) + 16
        return int(min(need, MOST_CELLS // (classes * types)))

    def bound(self, priced: ScaledPrices) -> Fraction | None:
        """Return the bound; None where a job has no schedule."""
        total = -priced.charge  # Python's integers: there is no limit to the sum over all jobs
        deadline = FAR if self.inst.deadline is None else self.inst.deadline
        for j, job in enumerate(self.inst.jobs):
            weight = int(priced.weights[j])
            times = job.arrival, deadline, weight
            least = int(least_value(self.modes[j], *times, self.platform, priced.costs))
            if least < 0:
                return None
            total += least
        return total * Fraction(2) ** -priced.grid

    def priced(self, entries: Entries, grid_bits: int, place: str) -> ScaledPrices:
        """Read a price list whose prices are in units of 2**-grid_bits.

        Raises
        ------
        ValueError
            An entry is at a place that does not exist, or is given twice.
        """
        slots = max((t for t, *_ in entries), default=-1) + 1
        if slots > self.slots:
            raise TooLargeError(
                f"{place}: slot {slots - 1} is beyond what the instance needs, "
                f"expected slots 0..{self.slots - 1}"
            )
        classes, resources = self.platform.capacity.shape
        names = {"slot": slots, "class": classes, "resource": resources}
        given = dense(place, entries, names, LARGEST_PRICE, MOST_CELLS * resources)
        finer = self._finer(entries, grid_bits, slots)
        grid = grid_bits + finer
        prices = given << finer if finer >= 0 else given >> min(-finer, 63)
        charge = capacity_cost(prices, self.platform.capacity, self.platform.servers)
        weights = int64s("weights", (math.floor(w * Fraction(2) ** grid) for w in self.weights))
        return ScaledPrices(grid, weights, self.costs(prices), charge)

    def costs(self, prices: Ints) -> CumulativeCosts:
        """Return the costs up to each slot at prices (L, C, R).

        Of a kind that fits nowhere nothing is required.
        """
        platform = self.platform
        worker, ps = (
            np.einsum("tcr,kr->ktc", prices, demand) for demand in (platform.e, platform.z)
        )
        cheapest = np.zeros(ps.shape[:2], np.int64)
        for p, one in enumerate(platform.z):
            fits = np.flatnonzero((one <= platform.capacity).all(axis=1))
            if fits.size:
                cheapest[p] = ps[p][:, fits].min(axis=1)
        return CumulativeCosts(_up_to(worker), _up_to(ps), _up_to(cheapest), _later(prices))

    def _finer(self, entries: Entries, grid_bits: int, slots: int) -> int:
        """Return by how many bits the grid can be finer than the certificate's, or must be coarser.

        At a grid finer by b bits every number is at most 2**b times what it is at another one, and
        rounded down. These are the numbers of `least_value`; the greatest of them has to fit.

        - It looks at starts up to the arrival, or the last priced slot.
        - Prices themselves are read into 64 bits.
        - `CumulativeCosts.worker` and `CumulativeCosts.ps` are sums of prices * demand over slots
          of one class: none is negative, so each lies between 0 and the sum over all slots, and so
          do differences; ``cheapest_ps`` is no greater than these.
        - A placement has this many workers and PS at most, each at one such difference.
        - Loads and capacities, in units, are products of numbers and capacities, whatever the
          prices:
          see `instance`.
        """
        grid_bits += FINE
        rents = [0] * len(self.platform.servers)
        for _, c, r, price in entries:
            rents[c] += (price << FINE) * self.dearest[r]
        rent = Magnitude.of("cost of a worker or PS over all slots", rents)
        start = Magnitude("start", max(self.first.most, slots))
        dearest = max((math.ceil(w * Fraction(2) ** grid_bits) for w in self.weights), default=0)
        weight = Magnitude("weight", dearest)
        most = weight * (start + self.duration) + rent * (self.number + self.ps)
        most += Magnitude.of("price", (price << FINE for *_, price in entries))
        finer = INT64.bit_length() - most.most.bit_length()
        Magnitude("cost of a schedule", math.floor(most.most * Fraction(2) ** finer)).fits()
        return finer + FINE


def value_step(inst: CompletionInstance) -> Fraction:
    """Return the greatest number of which every weighted completion is a multiple, 0 without jobs.

    Weights are decimals, so they are whole multiples of their greatest common divisor.
    """
    weights = [exact(job.weight) for job in inst.jobs]
    whole = math.lcm(*(w.denominator for w in weights))
    return Fraction(math.gcd(*(int(w * whole) for w in weights)), whole)


class JobModes:
    """The modes of all jobs: rows [duration, worker type, PS type, q, workers], by duration.

    A number of workers counts if it fits on the empty servers, and no smaller one is as
    quick; in a ring, two servers need two workers. Of very many jobs they are not kept.

    Parameters
    ----------
    inst : CompletionInstance
    platform : Platform

    Attributes
    ----------
    longest : int
        Greatest duration, including modes that do not fit.
    shortest : list
        Least duration of each job; None where no mode fits.
    """

    def __init__(self, inst: CompletionInstance, platform: KernelPlatform) -> None:
        self.inst = inst
        self.possible = _possible(platform, max((job.chunks for job in inst.jobs), default=1))
        self.kept: dict[int, Ints] = {}
        self.free_rows = MOST_KEPT  # for rows
        self.longest, self.shortest = 0, list[int | None]()
        for job in inst.jobs:
            durations = inst.durations(job)
            few = 1 if inst.ring else 0
            for q, first in ((0, few), (1, 0)):
                self.longest = max(
                    self.longest, int(durations[:, :, q, first : first + 1].max(initial=0))
                )
            fits = durations[self.possible[..., : job.chunks]]
            self.shortest.append(int(fits.min()) if fits.size else None)

    def __iter__(self) -> Iterator[Ints]:
        return map(self.__getitem__, range(len(self.inst.jobs)))

    def __getitem__(self, j: int) -> Ints:
        if j not in self.kept:
            durations = self.inst.durations(self.inst.jobs[j])
            rows = _modes_of(durations, self.possible, self.inst.ring)
            if len(rows) > self.free_rows:
                return rows
            self.free_rows -= len(rows)
            self.kept[j] = rows
        return self.kept[j]


def _possible(platform: KernelPlatform, most: int) -> Flags:
    """Return in which ways 1..most workers fit on empty servers, shape (M, P, 2, most)."""
    shape = (len(platform.e), 1 if platform.ring else len(platform.z), 2, most)
    m, p, q, n = (index.ravel() for index in np.indices(shape))
    fits: Flags = placeable(platform, np.stack([np.zeros_like(n), m, p, q, n + 1], axis=1))
    return fits.reshape(shape)


def _modes_of(durations: Ints, possible: Flags, ring: bool) -> Ints:
    """Return the rows of a job, of its least ``durations`` (M, P, 2, N) for numbers of workers."""
    counts = possible[..., : durations.shape[3]].copy()
    if ring:
        counts[:, :, 0, 0] = False  # and no other one has to be quicker
        durations = durations.copy()
        durations[:, :, 0, 0] = FAR
    counts[..., 1:] &= durations[..., 1:] < np.minimum.accumulate(durations, axis=3)[..., :-1]
    m, p, q, n = np.nonzero(counts)
    rows = np.stack([durations[counts], m, p, q, n + 1], axis=1)
    return rows[np.argsort(rows[:, 0], kind="stable")]


def _later(prices: Ints) -> Ints:
    """Return for each slot, and the one after the last, the next slot before which prices change.

    Of prices (L, C, R); after the last slot all is free, and nothing changes any more.
    """
    later = np.full(len(prices) + 1, FAR)
    for t in range(len(prices) - 1, -1, -1):
        ends = t + 1 == len(prices) or (prices[t + 1] != prices[t]).any()
        later[t] = t + 1 if ends else later[t + 1]
    return later


def _up_to(unit: Ints) -> Ints:
    """Return the sums up to each slot, of axis 1."""
    sums = np.zeros((unit.shape[0], unit.shape[1] + 1, *unit.shape[2:]), np.int64)
    np.cumsum(unit, axis=1, out=sums[:, 1:])
    return sums
