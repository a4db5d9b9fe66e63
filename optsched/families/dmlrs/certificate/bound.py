"""Lagrangian dual bound of one leaf of a certificate of family `dmlrs`, in integers only.

The bound is a sum of subproblems (Geoffrion, 1974): the best payoff of every job alone, and the
value of the machines at the prices.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from optsched.families.dmlrs.certificate.kernels import (
    NONE,
    SlotChoices,
    best_payoff,
    inner_costs,
    outer_costs,
    slot_options,
)
from optsched.families.dmlrs.certificate.limits import (
    PackingPriced,
    Priced,
    ValueGrid,
    demands,
)
from optsched.families.dmlrs.certificate.links import linked_costs, linked_options
from optsched.families.dmlrs.certificate.packings import Packings
from optsched.families.dmlrs.instance import IMPOSSIBLE, DmlrsInstance, Needs, linked_needs
from optsched.numbers.arrays import Ints
from optsched.process import interrupts, work_units
from optsched.proofs.branching import JobLimits
from optsched.proofs.grid import capacity_cost, charged

SORTED = 10.0  # elementary steps of a number of a table, of which the options are sorted
MEMORY = 2**28  # bytes of results that are kept for leaves to come
FEW = 15  # slots beyond the first completion that are looked at first


class LimitsOfJob(NamedTuple):
    """Branching restrictions of a leaf on one job, in the S slots from its arrival on."""

    first: int  # earliest and
    last: int  # latest slot in which it may complete
    never: bool  # whether it may stay out
    low: Ints  # (S,) numbers of workers
    high: Ints  # (S,)


class WorkerCosts(NamedTuple):
    """Costs of a job's workers at one set of prices, in units of 2**-grid."""

    by_slot: list[tuple[Ints, ...]]  # for slots from its arrival on, as far as was requested
    by_price: dict[tuple[bytes, bytes], tuple[Ints, ...]]  # of a worker and a PS


class LeafBounds:
    """Computes the bounds of leaves of one instance.

    Prices are integers, in value units times 2**grid_bits. Costs are added up on the grid of
    `ValueGrid`, which is coarser by ``shift`` binary digits, or more if need be, so that nothing
    leaves 64 bits; they only fall by that.
    """

    def __init__(self, inst: DmlrsInstance, grid_bits: int, shift: int = 0) -> None:
        self.inst = inst
        a = inst.arrays
        self.scale = ValueGrid(inst, grid_bits, shift)
        self.linked = inst.locality == "link"
        self.alpha, self.beta = demands(inst)  # (I, R)
        self.capacity = a.capacity[[c[0] for c in a.classes]]  # (C, R)
        self.count = np.array([len(c) for c in a.classes], np.int64)
        self.tables = [
            (np.array(n.ps_inner, np.int64), np.array(n.ps_outer, np.int64)) for n in inst.needs
        ]
        # (I,) workers in a slot: more than do the whole work change nothing on one machine, or more
        self.cap = a.chunks.copy()
        if not self.linked:
            pairs = [(self._most(i, 0), self._most(i, 1)) for i in range(len(inst.jobs))]
            self.cap = np.array([max(p) for p in pairs], np.int64)
        # results that are kept: their names have a few numbers per slot
        self.memory = max(100, MEMORY // (64 + 32 * max(inst.horizon, len(inst.jobs))))
        self._payoffs: dict[tuple[object, ...], int | None] = {}
        self._costs: dict[tuple[int, int], WorkerCosts] = {}
        self._utilities: dict[int, list[int]] = {}

    def _utility(self, i: int, slots: int) -> list[int]:
        """Return the value of job ``i``, rounded up to the grid, by its first ``slots`` slots."""
        if i not in self._utilities:
            if len(self._utilities) >= self.memory:
                self._utilities.clear()
            self._utilities[i] = []
        unit, utility, known = (
            Fraction(2) ** self.scale.grid,
            self.inst.jobs[i].utility,
            self._utilities[i],
        )
        known += [
            min(math.ceil(utility.upper(d) * unit), self.scale.most_utility)
            for d in range(len(known), slots)
        ]
        return known

    def unpriced(self) -> int:
        """Return a bound where all prices are 0 and nothing is restricted, without kernels.

        `bound` may be tighter: here workers on several machines have all of the capacity, and so
        have their PS.
        """
        unit = Fraction(2) ** self.scale.grid
        ends = zip(self.inst.jobs, self.inst.earliest, strict=True)
        earned = (job.utility.upper(end - job.arrival) for job, end in ends if end is not None)
        return sum(math.ceil(x * unit) for x in earned) << self.scale.shift

    def unrestricted(self) -> JobLimits:
        """Return the limits at the root of a tree."""
        slots = self.inst.horizon
        last = np.full(len(self.inst.jobs), slots - 1, np.int64)
        return JobLimits.at_root(self.inst.arrays.arrival, last, self.cap, slots)

    def bound(self, limits: JobLimits, priced: Priced) -> int | None:
        """Return the bound of a leaf, times 2**grid_bits; None if no schedule meets its limits."""
        never = limits.never & ~limits.low.any(axis=1)  # a job with workers completes
        limits = replace(limits, never=never)
        if np.any(limits.low > limits.high):
            return None
        total = 0
        for i in range(len(self.inst.jobs)):
            interrupts.leave_if_abandoned()
            payoff = self.payoff(i, limits, priced)
            if payoff is None:
                return None
            total += payoff
        if isinstance(priced, PackingPriced):
            total += self.packings.value(limits, priced)
        unit_value = capacity_cost(priced.prices, self.capacity, self.count)
        return (total << self.scale.shift) + unit_value

    @cached_property
    def packings(self) -> Packings:
        """Value of slots at prices of packings."""
        return Packings(self.scale, self.capacity, self.count, self.tables)

    def payoff(self, i: int, limits: JobLimits, priced: Priced) -> int | None:
        """Return an upper bound on the value of job ``i``; None if it must complete and cannot."""
        arrival, last = self.inst.jobs[i].arrival, int(limits.last[i])
        first, never = int(limits.first[i]), bool(limits.never[i])
        if first > last:
            return 0 if never else None
        low, high = limits.low[i, arrival:], limits.high[i, arrival:]
        name = (priced.key, i, first, last, never, low.tobytes(), high.tobytes())
        if name not in self._payoffs:
            if len(self._payoffs) >= self.memory:
                self._payoffs.clear()
            what = LimitsOfJob(first - arrival, last - arrival, never, low, high)
            self._payoffs[name] = self._best(i, priced, what)
        return self._payoffs[name]

    def _best(self, i: int, priced: Priced, what: LimitsOfJob) -> int | None:
        """Return the payoff of job ``i``.

        Utilities never rise, so nothing is better later than a slot with a value of at most the
        best before it. So more and more slots are looked at, until that is seen.
        """
        if what.low[what.last + 1 :].any():
            return None  # workers are forced after the last slot allowed
        forced = int(np.flatnonzero(what.low).max(initial=0))
        slots = min(what.last, max(what.first, forced) + FEW) + 1
        floor = 0 if what.never else -NONE
        while True:
            best = self._best_by(i, priced, what, slots, floor)
            if slots > what.last or self._utility(i, slots + 1)[slots] <= best:
                return None if best == -NONE else best
            slots = min(what.last + 1, 2 * slots)

    def _best_by(self, i: int, priced: Priced, what: LimitsOfJob, slots: int, floor: int) -> int:
        """Return the payoff above ``floor`` of job ``i`` in its first ``slots``, or the floor."""
        needs, costs = self.inst.needs[i], self._slots(i, priced, slots)
        limits = zip(what.low.tolist(), what.high.tolist(), strict=True)
        known: dict[tuple[int, ...], tuple[Ints, Ints]] = {}  # slots of equal costs and limits
        found = []
        for cost, (low, high) in zip(costs[:slots], limits, strict=False):
            name = (id(cost), low, high)
            if name not in known:
                known[name] = self._options(needs, cost, low, high)
            found.append(known[name])
        width = max(1, max(len(w) for w, _ in found))
        options = SlotChoices(
            work=np.zeros((slots, width), np.int64),
            cost=np.zeros((slots, width), np.int64),
            size=np.array([len(w) for w, _ in found], np.int64),
            forced=(what.low[:slots] > 0).astype(np.int64),
        )
        for t, (w, c) in enumerate(found):
            options.work[t, : len(w)], options.cost[t, : len(c)] = w, c
        unit_value = np.array(self._utility(i, slots)[:slots], np.int64)
        return int(best_payoff(options, needs.work, unit_value, what.first, slots - 1, floor))

    def _options(
        self, needs: Needs, costs: tuple[Ints, ...], low: int, high: int
    ) -> tuple[Ints, Ints]:
        """Return the work and cost of the options of a job in a slot within its limits."""
        rates = np.array([needs.inner, needs.outer], np.int64)
        if self.linked:
            work_units.steps(SORTED * costs[0].size)
            work, cost = linked_options(costs[0], rates, needs.work, low, high)
        else:
            inner, outer = costs
            work, cost = slot_options(inner, outer, rates, needs.work, low, high)
        return work, cost

    def _slots(self, i: int, priced: Priced, slots: int) -> list[tuple[Ints, ...]]:
        """Return the costs of workers in each of at least the first ``slots`` from arrival.

        In the reading "job" n workers on one machine and on more; link by link, workers on
        the machine of their PS and elsewhere.
        """
        key = (priced.key, i)
        if key not in self._costs:
            if len(self._costs) >= self.memory:
                self._costs.clear()  # price sets come one after the other
            self._costs[key] = WorkerCosts([], {})
        costs, known = self._costs[key]
        begin = self.inst.jobs[i].arrival + len(costs)
        part = slice(begin, begin + max(0, slots - len(costs)))
        worker, ps = (
            charged(priced.prices[part], d, self.scale.shift, self.scale.dearest)
            for d in (self.alpha[i], self.beta[i])
        )
        slot = self._linked(i) if self.linked else self._placed(i)
        more = []
        for w, s in zip(worker, ps, strict=True):
            name = (w.tobytes(), s.tobytes())
            if name not in known:
                interrupts.leave_if_abandoned()
                known[name] = slot(w, s)
            more.append(known[name])
        if isinstance(priced, PackingPriced):
            own = self.packings.together(priced)[i, part, : self._most(i, 0) + 1]
            more = [
                (np.where(inner < NONE, o, NONE), outer)
                for (inner, outer), o in zip(more, own, strict=True)
            ]
        costs += more
        return costs

    def _placed(self, i: int) -> Callable[[Ints, Ints], tuple[Ints, ...]]:
        """Return the pricing of a job's workers in a slot, at prices (C,) of a worker and a PS."""
        inner, outer = self.tables[i]
        most = [self._most(i, 0), self._most(i, 1)]
        demand = (self.alpha[i], self.beta[i])
        outside = (*demand, outer, most[1], interrupts.abandoned())

        def spread(worker: Ints, ps: Ints) -> Ints:
            steps = np.array([0.0, work_units.most_steps()])
            found: Ints = outer_costs(worker, ps, self.capacity, self.count, *outside, steps)
            work_units.counted(*steps.tolist())
            return found

        def costs(worker: Ints, ps: Ints) -> tuple[Ints, ...]:
            near = inner_costs(worker, ps, self.capacity, *demand, inner, most[0])
            return near, spread(worker, ps)

        return costs

    def _linked(self, i: int) -> Callable[[Ints, Ints], tuple[Ints, ...]]:
        """Return the same in the reading "link"."""
        needed = linked_needs(self.inst.jobs[i])
        demand = (self.alpha[i], self.beta[i])

        def costs(worker: Ints, ps: Ints) -> tuple[Ints]:
            steps = np.array([0.0, work_units.most_steps()])
            found: Ints = linked_costs(
                worker, ps, self.capacity, self.count, *demand, needed, steps
            )
            work_units.counted(float(steps[0]), float(steps[1]), usual=0.0)
            return (found,)

        return costs

    def _most(self, i: int, side: int) -> int:
        """Return the most workers of a placement; more than do the whole work change nothing."""
        needs, table = self.inst.needs[i], self.tables[i][side]
        rate = needs.outer if side else needs.inner
        possible = np.flatnonzero(table != IMPOSSIBLE)
        return min(int(possible[-1]), -(-needs.work // rate))
