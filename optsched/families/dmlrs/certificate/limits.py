"""Overflow analysis of the checker's integers: prices, and the grid of values.

The kernels of the checker are compiled, and count in 64 bits. Bounds on the magnitude of every sum
(Moore, 1966) prove that nothing leaves that range: `ValueGrid` chooses the grid of values
accordingly, for any instance and prices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optsched.families.dmlrs.certificate.kernels import COARSE, NONE, STEEPEST, SURROGATE
from optsched.families.dmlrs.instance import LARGEST_UNITS, DmlrsInstance
from optsched.numbers.arrays import Ints
from optsched.numbers.overflow import Magnitude
from optsched.proofs.grid import ceil_log2
from optsched.proofs.limits import richest_end

MOST_PRICES = 2**26  # of a price set, the zeros that are not written included
WORK = 2**56  # of a job, at most: `instance_work`
MOST_PRODUCT = 2**58  # of the greatest utility, times the workers of a job in all slots


@dataclass(frozen=True)
class CapacityPriced:
    """Prices of capacity, shape (T, C, R); ``key`` distinguishes price sets."""

    key: int
    prices: Ints


@dataclass(frozen=True)
class PackingPriced:
    """Marginal prices of workers that sit together (I, T, N); of capacity (T, C, R)."""

    key: int
    together: Ints
    prices: Ints


Priced = CapacityPriced | PackingPriced


class ValueGrid:
    """The grid on which values and costs are added up, and how large they are on it.

    Attributes
    ----------
    grid : int
        Values are counted in units of 2**-grid: ``shift`` binary digits coarser than the
        certificate's prices, more where 64 bits require it. Costs are rounded down to it, utilities
        up; both are valid.
    shift : int
        Binary digits of the certificate's prices that the grid leaves out.
    most_utility : int
        The greatest utility that can be earned, on the grid, at most; a greater one counts as that.
    dearest : int
        Of a worker or PS; higher ones are capped at this, which no job can pay.
    """

    def __init__(self, inst: DmlrsInstance, grid_bits: int, shift: int = 0) -> None:
        self.inst = inst
        self.most = max((job.chunks for job in inst.jobs), default=1)
        workers = Magnitude("workers of a job in all slots", inst.horizon * self.most)
        self.most_utility = most_utility = MOST_PRODUCT // workers.most  # at least 2**31
        richest = richest_end(inst)
        self.grid = grid_bits - shift
        if richest:
            self.grid = min(self.grid, -ceil_log2(richest / most_utility))
        self.shift = grid_bits - self.grid
        self.dearest = 2 * most_utility
        utility = Magnitude("utility", most_utility)
        self.price = Magnitude("price of a worker or PS", self.dearest)
        # never more PS than workers
        paid = (workers * (self.price + self.price)).named("cost of a schedule")
        (Magnitude("the cost of what does not exist", NONE) + paid).fits()
        # work that is done, and that of one slot more: each option does at most the whole, and that
        # of one worker more
        work = Magnitude("work of a job", WORK)
        (work + work + work).fits()
        # best_payoff: a price of missing work, and what it brings below 0 in all slots
        slope = Magnitude("price of missing work", STEEPEST)
        missing = slope * Magnitude("missing work", (2 * WORK >> COARSE) + 1)
        (utility + paid + paid + missing + missing).named("payoff of a job").fits(NONE)

    def packings(self, together: Ints) -> Magnitude:
        """Refuse prices of workers that sit together, shape (I, T, N + 1), that are too large.

        Each job counts that once, and once more where a density is rounded up; less what it pays
        for capacity, which is cut off at the magnitude that is returned.
        """
        jobs = max(1, len(together))
        each = Magnitude.of("price of workers that sit together", together)
        each.total(jobs).named("prices of workers that sit together").fits(NONE // 4 - 1)
        charged = Magnitude("price of capacity", NONE // (4 * jobs))
        one = Magnitude("1", 1)
        utility = (each + each + one + charged).total(jobs)
        size = Magnitude("size of a machine", SURROGATE * len(self.inst.resources))
        (utility + size).named("value of a packing").fits(NONE - 1)
        return charged


def demands(inst: DmlrsInstance) -> tuple[Ints, Ints]:
    """Return demands of workers and PS (I, R), those above every capacity lowered to 2**50."""
    a = inst.arrays
    Magnitude.of("capacity of a machine in units", a.capacity).fits(LARGEST_UNITS - 1)
    return np.minimum(a.worker_demand, LARGEST_UNITS), np.minimum(a.ps_demand, LARGEST_UNITS)
