"""The bound of a leaf of a certificate, in whole numbers that cannot leave their range.

All that the kernel adds up is a cost in units of 2**-grid. The grid is not the certificate's: it is
the finest at which the largest number that the kernel can form fits into 64 bits. `_grid` is the
argument that it does. Prices on a coarser grid are other prices, and as good; weights are rounded
down. So the bound is true, and only its last digits depend on the grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from optsched.families.completion.certificate.kernels import Costs, Platform, least_value
from optsched.families.completion.instance import CompletionInstance
from optsched.numbers.arrays import Ints
from optsched.numbers.magnitudes import INT64, Magnitude, TooLargeError, int64s
from optsched.numbers.resources import exact
from optsched.proofs.grid import LARGEST_PRICE, capacity_worth, dense

Entries = Sequence[tuple[int, int, int, int]]  # slot, class of servers, resource, price

MOST_CELLS = 2**25  # of a table of costs: slots times classes times types
FINE = 1024  # bits finer than any grid: so weights that are rounded up are hardly larger
UNLIMITED = 2**43  # beyond the first end of a job after any split, which is below 3 * LATEST


class Priced(NamedTuple):
    """A price list, and the weights in its units."""

    grid: int  # all is in units of 2**-grid
    weights: Ints  # (J,) per slot
    costs: Costs
    worth: int  # of all servers


class Evaluation:
    """What all leaves of a certificate have in common.

    Parameters
    ----------
    inst : CompletionInstance
    latest_split : int
        No limit that a split sets is greater.
    """

    def __init__(self, inst: CompletionInstance, latest_split: int = 0) -> None:
        self.inst = inst
        a = inst.arrays
        self.platform = Platform(
            capacity=a.capacity[[c[0] for c in a.classes]],
            servers=int64s("servers", [len(c) for c in a.classes]),
            e=a.worker_demand,
            z=a.ps_demand,
            needed=a.ps_needed,
            ring=inst.ring,
        )
        self.modes = [modes_of(inst.durations(job), inst.ring) for job in inst.jobs]
        self.weights = [exact(job.weight) for job in inst.jobs]
        self.dearest = np.concatenate([a.worker_demand, a.ps_demand]).max(axis=0).tolist()  # (R,)
        self.number = Magnitude.of("workers", [job.chunks for job in inst.jobs])
        self.ps = Magnitude.of("PS", a.ps_needed)
        self.duration = Magnitude.of("duration", [int(modes[-1, 0]) for modes in self.modes])
        nothing = np.zeros((0, *self.platform.capacity.shape), np.int64)
        self.free = self.costs(nothing)  # without prices
        arrivals = [job.arrival for job in inst.jobs]
        self.first = Magnitude("first start", max([latest_split, *arrivals]))
        self.slots = self._slots(arrivals)

    def _slots(self, arrivals: Sequence[int]) -> int:
        """Return how many slots may have a price.

        All jobs fit one after the other into the time after the last arrival: twice as long is more
        than any search for prices looks at. Where that does not fit into memory, less.
        """
        classes = len(self.platform.capacity)
        types = len(self.platform.e) + len(self.platform.z)
        priced = Priced(0, int64s("weights", [1] * len(arrivals)), self.free, 0)
        anything = np.tile(np.array([0, UNLIMITED], np.int64), (5, 1))
        ends = [self._least(j, anything, priced) for j in range(len(arrivals))]
        alone = [end - a for end, a in zip(ends, arrivals, strict=True) if end >= 0]
        need = 2 * (self.inst.horizon + sum(alone)) + 16
        return int(min(need, MOST_CELLS // (classes * types)))

    def bound(self, limits: Ints, priced: Priced) -> Fraction | None:
        """Return the bound within limits (J, 5, 2); None where no schedule is left."""
        total = -priced.worth  # Python's integers: there is no limit to the sum over all jobs
        for j in range(len(self.modes)):
            least = self._least(j, limits[j], priced)
            if least < 0:
                return None
            total += least
        return total * Fraction(2) ** -priced.grid

    def _least(self, j: int, limits: Ints, priced: Priced) -> int:
        """Return weight * completion + cost of job j at least; -1 if it has no schedule."""
        arrival, weight = self.inst.jobs[j].arrival, int(priced.weights[j])
        platform, costs = self.platform, priced.costs
        return int(least_value(self.modes[j], limits, arrival, weight, platform, costs))

    def priced(self, entries: Entries, grid_bits: int, place: str) -> Priced:
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
        worth = capacity_worth(prices, self.platform.capacity, self.platform.servers)
        weights = int64s("weights", (math.floor(w * Fraction(2) ** grid) for w in self.weights))
        return Priced(grid, weights, self.costs(prices), worth)

    def costs(self, prices: Ints) -> Costs:
        """Return the costs up to each slot at prices (L, C, R).

        Of a kind that fits nowhere nothing is asked.
        """
        found = []
        for demand in (self.platform.e, self.platform.z):
            unit = np.einsum("tcr,kr->ktc", prices, demand)
            least = np.zeros(unit.shape[:2], np.int64)
            for k, one in enumerate(demand):
                fits = np.flatnonzero((one <= self.platform.capacity).all(axis=1))
                if fits.size:
                    least[k] = unit[k][:, fits].min(axis=1)
            found += [_up_to(unit), _up_to(least)]
        return Costs(*found)

    def _finer(self, entries: Entries, grid_bits: int, slots: int) -> int:
        """Return by how many bits the grid can be finer than the certificate's, or must be coarser.

        At a grid finer by b bits every number is at most 2**b times what it is at another one, and
        rounded down. These are the numbers of `least_value`; the greatest of them has to fit.

        - It looks at starts up to the first that limits allow, or the last priced slot.
        - Prices themselves are read into 64 bits.
        - `Costs.worker` and `Costs.ps` are sums of prices * demand over slots of one class: none is
          negative, so each lies between 0 and the sum over all slots, and so do differences;
          ``cheapest`` and ``cheapest_ps`` are no greater than these.
        - A placement has so many workers and PS at most, each at one such difference.
        - Loads and rooms, in units, are products of numbers and capacities, whatever the prices:
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


def modes_of(durations: Ints, ring: bool) -> Ints:
    """Return the rows [duration, worker type, PS type, q, workers] of a job, by duration.

    ``durations`` (M, P, 2, N) holds the least duration for every number of workers. A number counts
    if no smaller one is as quick; in a ring, two servers need two workers.
    """
    parts = []
    for q in range(2):
        few = 1 if ring and q == 0 else 0  # numbers that are left out
        least = durations[:, :, q, few:]
        counts = np.ones(least.shape, np.bool_)
        counts[:, :, 1:] = least[:, :, 1:] < np.minimum.accumulate(least, axis=2)[:, :, :-1]
        m, p, n = np.nonzero(counts)
        parts.append(np.stack([least[counts], m, p, np.full_like(m, q), n + few + 1], axis=1))
    rows = np.concatenate(parts)
    return np.ascontiguousarray(rows[np.lexsort((*rows.T[:0:-1], rows[:, 0]))])


def _up_to(unit: Ints) -> Ints:
    """Return the sums up to each slot, of axis 1."""
    sums = np.zeros((unit.shape[0], unit.shape[1] + 1, *unit.shape[2:]), np.int64)
    np.cumsum(unit, axis=1, out=sums[:, 1:])
    return sums
