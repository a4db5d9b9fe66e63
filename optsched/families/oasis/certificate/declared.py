"""Dual bound of the linear relaxation of (1)-(13) at given dual values, in Python's integers.

Weak duality with directed rounding (Neumaier and Shcherbina, 2004): with a price of capacity for
every slot, class and resource, and for every job a price m of a worker-slot of its work W, rows
(4), (5) and (2) of the relaxation leave every job alone. A worker in slot t and its share b / B of
a PS (6) cost p_t, each on the class where it is cheapest; so a unit of "completes in u" earns

    f(u) - m W + N sum_{t <= u} max(0, m - p_t),

as (8) allows N workers until then, and (11) one unit in all; f(u) is at most that of the earliest
completion on the empty machines. The greatest such sum bounds the relaxation, and so any schedule,
at these prices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from optsched.families.oasis.instance import OasisInstance
from optsched.numbers.arrays import Ints
from optsched.proofs.grid import capacity_cost


class SideArrays(NamedTuple):
    """Worker machines, or PS machines."""

    demand: Ints  # (I, R) units
    capacity: Ints  # (C, R) of one machine: whole multiples of the common measure of demands
    number: Ints  # (C,) machines of each class


def sides(inst: OasisInstance) -> tuple[SideArrays, SideArrays]:
    """Return both sides of the platform, by classes of equal machines."""
    a = inst.arrays
    return (
        _side(a.worker_demand, a.worker_capacity, a.worker_classes),
        _side(a.ps_demand, a.ps_capacity, a.ps_classes),
    )


def _side(demand: Ints, capacity: Ints, classes: list[list[int]]) -> SideArrays:
    measure = np.maximum(1, np.gcd.reduce(demand, axis=0, initial=0))
    one = capacity[[c[0] for c in classes]]
    return SideArrays(
        demand, one // measure * measure, np.array([len(c) for c in classes], np.int64)
    )


def ps_share(inst: OasisInstance, i: int) -> Fraction:
    """Return b / B in the smallest numbers that request the same PS, see the program (6)."""
    table = inst.ps_needed(i)
    return min((Fraction(ps, n) for n, ps in enumerate(table) if n), default=Fraction(0))


def relaxed_bound(
    inst: OasisInstance, prices: tuple[Ints, Ints], work: Sequence[int], grid_bits: int
) -> int:
    """Return the bound in units of 2**-grid_bits.

    Parameters
    ----------
    inst : OasisInstance
    prices : pair of arrays of shape (T, C, R)
        Of a demand unit on worker and PS machines, on the grid.
    work : sequence of int
        m of every job, on the grid.
    grid_bits : int
    """
    unit, total, cheapest = Fraction(2) ** grid_bits, 0, []
    for price, side in zip(prices, sides(inst), strict=True):
        total += capacity_cost(price, side.capacity, side.number)
        exact = price.astype(object) @ side.demand.T.astype(object)  # (T, C, I)
        cheapest.append(exact.min(axis=1))
    for i, (job, first) in enumerate(zip(inst.jobs, inst.earliest, strict=True)):
        if first is None:
            continue
        share = ps_share(inst, i)
        worker, ps = (c[job.arrival :, i].tolist() for c in cheapest)
        m, best = work[i], 0
        spared = accumulate(
            job.chunks * max(0, m - p - q * share.numerator // share.denominator)
            for p, q in zip(worker, ps, strict=True)
        )
        soonest = first - job.arrival  # no completion earns more
        dearest = math.ceil(job.utility.upper(soonest) * unit)
        for delay, most in enumerate(spared):
            beyond = most - m * inst.work[i]
            if beyond + dearest > best:  # a fraction takes long
                best = max(best, beyond + math.ceil(job.utility.upper(max(delay, soonest)) * unit))
        total += best
    return total
