"""Dual bound of the linear relaxations of `models.dmlrs` at given dual values, in integers.

Weak duality in Python's integers with directed rounding (Neumaier and Shcherbina, 2004).

Rows of capacity (3.3) have a price for every slot, class and resource; the work (3.1) of a job has
a price m; further rows have multipliers (`RelaxationRow`), the same for equal machines.
What remains is, for every job, the greatest over its completions u of

    utility(u) - m * enough + sum_{t <= u} g_t + sum_t h_t.

Reading "job": all rows of a slot are homogeneous in "not complete before t", and g_t is what one
unit of it earns at most, on one machine, on several, or at rest; h_t is 0. Reading "link": g_t is
K times the multiplier of (3.2), and h_t is what variables earn up to their upper bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from optsched.families.dmlrs.certificate.limits import demands
from optsched.families.dmlrs.instance import IMPOSSIBLE, DmlrsInstance
from optsched.numbers.arrays import Ints
from optsched.numbers.resources import exact
from optsched.proofs.grid import capacity_cost
from optsched.proofs.knapsack import units_that_fit


class RelaxationRow(IntEnum):
    """A row of the relaxation of one job in one slot, that may have a multiplier."""

    WORKERS = 0  # (3.2) at most K workers
    BANDWIDTH = 1  # (3.4)
    SERVERS = 2  # (3.5) no more PS than workers
    AWAY = 3  # (Fact 1) an outer placement leaves a machine of the class
    NEAR_CAPACITY = 4  # link: workers at the inner rate where all PS are
    NEAR_WORKERS = 5  # link: of the workers there are
    ALONE = 6  # link: all PS on a machine of the class: it has some
    NO_OTHER = 7  # link: no other machine has any
    LINK = 8  # link: workers on the class, PS on another machine of the second class
    LINK_HERE = 9  # link: workers and PS on the same machine
    SOME_SERVER = 10  # link: no workers without a PS
    HOLDS_SOME = 11  # link: PS where there are declared to be some
    HOLDS_NONE = 12  # link: no PS elsewhere


Multipliers = Mapping[tuple[int, int, int, int, int], int]
"""(row, job, slot, class, second class): on the grid; what a row does not need is 0."""


class ClassArrays(NamedTuple):
    """Classes of equal machines, and the variables of a job on them."""

    number: Ints  # (C,)
    capacity: Ints  # (C, R) units of one machine: whole multiples of the demands' common measure
    worker: Ints  # (I, R)
    ps: Ints  # (I, R)
    max_units: Ints  # (C, I) workers that an empty machine holds, at most K
    max_ps: Ints  # (C, I) the same for PS


def machines(inst: DmlrsInstance) -> ClassArrays:
    """Return the classes of machines."""
    a = inst.arrays
    measure = np.maximum(1, np.gcd.reduce(np.concatenate([a.worker_demand, a.ps_demand]), axis=0))
    one = a.capacity[[c[0] for c in a.classes]]
    worker, ps = demands(inst)
    return ClassArrays(
        np.array([len(c) for c in a.classes], np.int64),
        one // measure * measure,
        a.worker_demand,
        a.ps_demand,
        units_that_fit(worker, one, a.chunks),
        units_that_fit(ps, one, a.chunks),
    )


class SlotModes(NamedTuple):
    """How a job may run in a slot, reading "job"."""

    inner: list[tuple[int, int, int]]  # (class, workers, PS) on one machine
    outer: tuple[int, int] | None  # b and B of (3.4) in the smallest numbers; None: it may not


def modes(inst: DmlrsInstance, all_: ClassArrays, i: int) -> SlotModes:
    """Return how job ``i`` may run in a slot."""
    needs, job = inst.needs[i], inst.jobs[i]
    capacity = [inst.arrays.capacity[c[0]].tolist() for c in inst.arrays.classes]
    alpha, beta = all_.worker[i].tolist(), all_.ps[i].tolist()
    inner = [
        (c, n, m)
        for n, m in enumerate(needs.ps_inner[: job.chunks + 1])
        if n and m != IMPOSSIBLE
        for c, free in enumerate(capacity)
        if all(n * a + m * b <= f for a, b, f in zip(alpha, beta, free, strict=True))
    ]
    spreads = all_.number.sum() > 1 and all_.max_units[:, i].any() and all_.max_ps[:, i].any()
    if not spreads or IMPOSSIBLE in needs.ps_outer:
        return SlotModes(inner, None)
    table = enumerate(needs.ps_outer)
    ratio = min((Fraction(ps, n) for n, ps in table if n), default=Fraction(0))
    return SlotModes(inner, (ratio.numerator, ratio.denominator))


class SlotTerms(NamedTuple):
    """Work and prices of a job in one slot, on the grid."""

    inner: int  # value of the work of a worker at the inner rate
    outer: int
    worker: list[int]  # price of a worker on each class
    ps: list[int]


def relaxed_bound(
    inst: DmlrsInstance,
    prices: Ints,
    work: Sequence[int],
    multipliers: Multipliers,
    grid_bits: int,
) -> int:
    """Return the bound in units of 2**-grid_bits.

    Parameters
    ----------
    inst : DmlrsInstance
    prices : shape (T, C, R)
        Of a demand unit, on the grid.
    work : sequence of int
        m of every job: of a unit of the work of (3.1), on the grid.
    multipliers : mapping
    grid_bits : int
    """
    all_, unit = machines(inst), Fraction(2) ** grid_bits
    total: int = capacity_cost(prices, all_.capacity, all_.number)
    whole = prices.astype(object)
    linked = inst.locality == "link"
    for i, (job, first) in enumerate(zip(inst.jobs, inst.earliest, strict=True)):
        if first is None:
            continue
        slots = range(job.arrival, inst.horizon)
        needed, inner, outer = inst.needs[i].smallest(job.chunks * len(slots))
        m, ways = work[i], modes(inst, all_, i)
        beyond, always, best = -(m * (2 * needed - 1) // 2), 0, 0
        dearest = math.ceil(job.utility.upper(0) * unit)
        for t in slots:
            terms = SlotTerms(
                m * inner,
                m * outer,
                (whole[t] @ all_.worker[i].astype(object)).tolist(),
                (whole[t] @ all_.ps[i].astype(object)).tolist(),
            )
            here = _Slot(multipliers, i, t)
            beyond += job.chunks * here.of(RelaxationRow.WORKERS)
            if linked:
                always += _linked(inst, all_, i, here, terms)
            else:
                beyond += _by_job(all_, i, here, terms, ways)
            if t >= first and beyond + dearest > best:
                value = math.ceil(job.utility.upper(t - job.arrival) * unit)
                best = max(best, beyond + value)
        total += best + always
    return total


class _Slot(NamedTuple):
    """The multipliers of one job in one slot."""

    all: Multipliers
    job: int
    slot: int

    def of(self, row: RelaxationRow, c: int = 0, other: int = 0) -> int:
        """Return the multiplier of a row."""
        return self.all.get((row, self.job, self.slot, c, other), 0)


def _by_job(all_: ClassArrays, i: int, here: _Slot, terms: SlotTerms, ways: SlotModes) -> int:
    """Return the most that an incomplete job earns in the slot, reading "job"."""
    paid = here.of(RelaxationRow.WORKERS)
    best = 0
    for c, n, m in ways.inner:
        best = max(best, n * (terms.inner - paid - terms.worker[c]) - m * terms.ps[c])
    if ways.outer is None:
        return best
    count: list[int] = all_.number.tolist()
    away = [here.of(RelaxationRow.AWAY, c) for c in range(len(count))]
    apart = sum(k * x for k, x in zip(count, away, strict=True))
    b, big_b = (x * here.of(RelaxationRow.BANDWIDTH) for x in ways.outer)
    more = here.of(RelaxationRow.SERVERS)
    spread: int = -apart
    for c, k in enumerate(count):
        elsewhere = apart - away[c]
        worker = terms.outer - paid - terms.worker[c] - b + more + elsewhere
        server = big_b - terms.ps[c] - more + elsewhere
        spread += k * int(all_.max_units[c, i]) * max(0, worker)
        spread += k * int(all_.max_ps[c, i]) * max(0, server)
    return max(best, spread)


def _linked(inst: DmlrsInstance, all_: ClassArrays, i: int, here: _Slot, terms: SlotTerms) -> int:
    """Return the value of the variables of a slot up to their upper bounds, reading "link"."""
    job, of = inst.jobs[i], here.of
    count: list[int] = all_.number.tolist()
    classes, others = range(len(count)), sum(count) - 1
    near, far = (
        exact(b) / exact(job.ps_bandwidth) for b in (job.inner_bandwidth, job.outer_bandwidth)
    )
    flow, some, more = (
        of(RelaxationRow.BANDWIDTH),
        of(RelaxationRow.SOME_SERVER),
        of(RelaxationRow.SERVERS),
    )
    no_other = [of(RelaxationRow.NO_OTHER, c) for c in classes]
    nobody = sum(k * x for k, x in zip(count, no_other, strict=True))
    alone_units = all_.max_units[:, i].tolist()
    total: int = 0
    for c in classes:
        pairs = [k - (p == c) for p, k in enumerate(count)]  # machines of p but one of c
        links = [of(RelaxationRow.LINK, c, p) for p in classes]
        back = [alone_units[p] * of(RelaxationRow.LINK, p, c) for p in classes]
        linked, linked_back = (
            sum(k * x for k, x in zip(pairs, some_, strict=True)) for some_ in (links, back)
        )
        max_units, servers, own = (
            alone_units[c],
            int(all_.max_ps[c, i]),
            of(RelaxationRow.LINK_HERE, c),
        )
        near_capacity, near_workers = (
            of(RelaxationRow.NEAR_CAPACITY, c),
            of(RelaxationRow.NEAR_WORKERS, c),
        )
        alone, holds_some, holds_none = (
            of(row, c)
            for row in (RelaxationRow.ALONE, RelaxationRow.HOLDS_SOME, RelaxationRow.HOLDS_NONE)
        )
        worker = terms.outer - terms.worker[c] - of(RelaxationRow.WORKERS) + near_workers
        worker += more - linked - own - some
        server = flow - terms.ps[c] + job.chunks * some + holds_some - holds_none - more
        holds = alone - (nobody - no_other[c]) - linked_back - max_units * own
        holds += servers * holds_none - holds_some
        one = others * no_other[c] + max_units * (own + linked)  # limits of rows
        one += max_units * max(0, worker)
        one += max_units * max(0, terms.inner - terms.outer - near_capacity - near_workers)
        one += max(0, max_units * near_capacity - alone - others * no_other[c])
        one += max(0, holds) + servers * max(0, server)
        one += max_units * max(0, own - near.numerator * flow // near.denominator)
        each = far.numerator * flow // far.denominator
        one += max_units * sum(k * max(0, x - each) for k, x in zip(pairs, links, strict=True))
        total += count[c] * one
    return total
