"""Overflow analysis of the checker's integers, and the grid on which its kernels add up.

Bounds on the magnitude of every sum (Moore, 1966) are computed in Python's integers, before a
kernel with 64 bits runs: prices of workers that would leave its range count as the highest that
stays inside (different prices, equally valid), utilities and prices are put on a coarse enough
grid, and certificates that need too much memory are refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from optsched.families.oasis.certificate.kernels import NONE
from optsched.families.oasis.instance import LARGEST_UNITS, OasisInstance
from optsched.numbers.overflow import Magnitude
from optsched.proofs.grid import ceil_log2
from optsched.proofs.knapsack import SCALE

CELLS = 2**25  # of one array, at most: 256 MB
LARGE = 400_000  # jobs times slots, above which costs at prices of capacity are bounded by hulls


def large(inst: OasisInstance) -> bool:
    """Whether prices of capacity, without a tree, are checked by hulls: see `convexified`."""
    return len(inst.jobs) * inst.horizon > LARGE


@dataclass(frozen=True)
class GridRange:
    """The kernels' grid: one unit is the utility times 2**-grid, a price is at most `dearest`."""

    grid: int
    shift: int  # bits that prices lose on the way there, >= 0
    dearest: int

    @classmethod
    def of(cls, inst: OasisInstance, grid_bits: int, most_earned: Fraction) -> Self:
        """Choose the grid for prices in utility times 2**-grid_bits; see `limits.richest_end`.

        Raises
        ------
        TooLargeError
            A sum would leave 64 bits; with the limits of an instance, none does.
        """
        jobs, slots = max(1, len(inst.jobs)), Magnitude("slots", inst.horizon)
        chunks = [job.chunks for job in inst.jobs]
        most = Magnitude("workers of a job in a slot", max(chunks, default=1))
        every = Magnitude("workers of all jobs", max(1, sum(chunks)))
        # a schedule pays for at most `most` workers and as many PS in every slot; a machine holds
        # at most `every` worker; both stay at half of NONE or below
        dearest = min(NONE // 2 // (2 * slots.most * most.most), NONE // 2 // every.most)
        price = Magnitude("price of a worker or PS", dearest)
        rent = (price * most + price * most).named("cost of a job in a slot").total(slots.most)
        none = Magnitude("cost of a schedule that does not exist", NONE)
        rent.fits(NONE - 1)
        (none + rent).fits()  # a state that cannot be reached, plus the costs of a slot
        (price * every).named("value of what a machine holds").fits(NONE - 1)
        (slots * most).named("worker-slots of a job").fits()
        Magnitude("units of a resource", LARGEST_UNITS).fits()
        counts = Magnitude("what a resource counts", SCALE // len(inst.resources))
        counts.total(len(inst.resources)).fits()
        # no utility is more than half of the cost of the most expensive worker
        bits_left = NONE.bit_length() - 4 - (max(slots.most, jobs) * most.most).bit_length()
        grid = min(grid_bits, bits_left - ceil_log2(most_earned))
        utility = Magnitude("utility", math.ceil(most_earned * Fraction(2) ** grid))
        (utility + rent).fits()
        return cls(grid, grid_bits - grid, dearest)


def cells(what: str, *shape: int) -> None:
    """Refuse an array that would take too much memory.

    Raises
    ------
    TooLargeError
        Its shape has more than `CELLS` places.
    """
    size = Magnitude("one", 1)
    for n in shape:
        size = size * Magnitude("places", n)
    size.named(f"number of places for {what}").fits(CELLS)
