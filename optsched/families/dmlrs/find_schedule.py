"""Find-Sch with Algorithm 4: the best schedule of one job when outer placements are rounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from optsched.families.dmlrs.labels import options_hull, slot_options, slot_surplus, spread
from optsched.families.dmlrs.oracle import Best, Oracle, Request
from optsched.families.dmlrs.oracle_kernels import open_slot, useful_workers
from optsched.families.dmlrs.rounding import (
    Relaxation,
    SlotProblem,
    Tally,
    round_until_feasible,
)
from optsched.scheduling.oracle import Machines
from optsched.scheduling.slots import Floats, Ints, unit_prices
from optsched.scheduling.workload import EQUAL, hull_costs, hull_insert


@dataclass(frozen=True)
class _Slot:
    """What one slot offers."""

    work: Ints
    cost: Floats
    kind: Ints
    rounded: dict[int, Ints]  # workers -> rows [machine, workers, PS]


class RandomizedOracle(Oracle):
    """`Oracle` whose outer placements come from the linear relaxation and randomized rounding.

    Attributes
    ----------
    tally : Tally
        How often was rounded, and how often the exact placement had to help.
    """

    def __init__(
        self, horizon: int, machines: int, most: int, *, gain: float, most_rounds: int
    ) -> None:
        super().__init__(horizon, machines, most)
        self.gain, self.most_rounds = gain, most_rounds
        self.tally = Tally()

    def find(
        self, job: Request, machines: Machines, rng: Generator, cutoff: float = 0.0
    ) -> tuple[Best, Ints] | None:
        """Return the best schedule that Algorithms 2-4 find, and its entries as `Oracle.places`."""
        most = (
            useful_workers(job.work, job.inner, job.ps_inner),
            useful_workers(job.work, job.outer, job.ps_outer),
        )
        width = most[0] + most[1]
        if width == 0:
            return None
        offered: list[_Slot] = []
        slopes, lengths = (
            np.empty(job.utility.size * width),
            np.empty(job.utility.size * width, np.int64),
        )
        slope, length = np.empty(width), np.empty(width, np.int64)
        promise, rate = [], []
        certain, held = cutoff, 0
        for t in range(job.arrival, job.utility.size):
            if job.utility[t] <= certain:
                break
            slot = self._open(job, machines, t, most, rng)
            offered.append(slot)
            used = options_hull(slot.work, slot.cost, slot.work.size, slope, length)
            held = hull_insert(slope, length, used, slopes, lengths, held, job.work)
            low, high = hull_costs(slopes, lengths, held, job.work)
            promise.append(job.utility[t] - low)
            rate.append(slopes[held - 1] if held else 0.0)
            certain = max(certain, job.utility[t] - high)
        ends = [
            k for k, p in enumerate(promise) if p > cutoff and p >= certain - EQUAL * abs(certain)
        ]
        if not ends:
            return None
        return self._spread(job, offered, ends, rate, certain, cutoff)

    def _spread(
        self,
        job: Request,
        offered: list[_Slot],
        ends: list[int],
        rate: list[float],
        certain: float,
        cutoff: float,
    ) -> tuple[Best, Ints] | None:
        n, width = len(offered), max(1, max(s.work.size for s in offered))
        work, kind = np.zeros((n, width), np.int64), np.zeros((n, width), np.int64)
        cost = np.zeros((n, width))
        size = np.array([s.work.size for s in offered])
        for t, slot in enumerate(offered):
            work[t, : size[t]], cost[t, : size[t]] = slot.work, slot.cost
            kind[t, : size[t]] = slot.kind
        rates = np.array([rate[e] for e in ends])
        surplus = np.zeros((len(ends), n + 1))
        for c, end in enumerate(ends):
            for t in range(end, -1, -1):
                least = slot_surplus(work[t], cost[t], size[t], rates[c])
                surplus[c, t] = surplus[c, t + 1] + least
        amount = np.zeros(job.utility.size, np.int64)
        payoff, completion = spread(
            0,
            ends[-1],
            job.work,
            np.ascontiguousarray(job.utility[job.arrival :]),
            work,
            cost,
            kind,
            size,
            np.array(ends),
            rates,
            surplus,
            certain,
            cutoff,
            amount[job.arrival :],
        )
        if completion < 0:
            return None
        best = Best(payoff, completion + job.arrival, amount)
        return best, self._entries(job, offered, best)

    def _entries(self, job: Request, offered: list[_Slot], best: Best) -> Ints:
        rows: list[tuple[int, int, int, int]] = []
        for t in np.flatnonzero(best.amount).tolist():
            n, outer = divmod(int(best.amount[t]), 2)
            slot = offered[t - job.arrival]
            for h, w, s in slot.rounded[2 * n + outer].tolist():
                rows += [(0, t, h, w)] if w else []
                rows += [(1, t, h, s)] if s else []
        return np.array(rows, np.int64).reshape(-1, 4)

    def _open(
        self, job: Request, machines: Machines, t: int, most: tuple[int, int], rng: Generator
    ) -> _Slot:
        """Price one slot: inner placements exactly, outer ones by rounding."""
        scratch = self.scratch
        price, free = machines.price[t], machines.free[t]
        inner_last, _, _ = open_slot(
            price,
            free,
            machines.count,
            job.worker_demand,
            job.ps_demand,
            job.ps_inner,
            job.ps_outer,
            most[0],
            0,
            0.0,
            *scratch[:6],
            False,
            *scratch[6:],
        )
        inner_cost = scratch[2][0, : inner_last + 1].copy()
        placed = {
            2 * n: np.array([[scratch[3][0, n], n, job.ps_inner[n]]])
            for n in range(1, inner_last + 1)
            if np.isfinite(inner_cost[n])
        }
        outer_cost = np.full(most[1] + 1, np.inf)
        outer_cost[0] = 0.0
        problem = self._problem(job, price, free)
        relaxation: Relaxation | None = None
        for n in range(1, most[1] + 1):
            least = n * problem.worker.min() + job.ps_outer[n] * problem.ps.min()
            enough = -(-min(job.work, n * job.outer) // job.inner)
            if enough <= inner_last and inner_cost[enough] <= least:
                continue  # whatever is found outside, the same work costs no more on one machine
            relaxation = relaxation or Relaxation(problem)
            found = self._round(job, problem, relaxation, machines, t, n, rng)
            if found is None:
                break
            outer_cost[n], placed[2 * n + 1] = found
        outer_last = int(np.flatnonzero(np.isfinite(outer_cost))[-1])
        work, kind = np.empty(sum(most), np.int64), np.empty(sum(most), np.int64)
        cost = np.empty(sum(most))
        size = slot_options(
            inner_cost,
            inner_last,
            job.inner,
            outer_cost,
            outer_last,
            job.outer,
            job.work,
            work,
            cost,
            kind,
        )
        return _Slot(work[:size], cost[:size], kind[:size], placed)

    @staticmethod
    def _problem(job: Request, price: Floats, free: Floats) -> SlotProblem:
        worker, ps = np.empty(price.shape[1]), np.empty(price.shape[1])
        unit_prices(price, job.worker_demand, worker)
        unit_prices(price, job.ps_demand, ps)
        return SlotProblem(
            worker, ps, free, job.worker_demand, job.ps_demand, job.ps_inner, job.ps_outer
        )

    def _round(
        self,
        job: Request,
        problem: SlotProblem,
        relaxation: Relaxation,
        machines: Machines,
        t: int,
        n: int,
        rng: Generator,
    ) -> tuple[float, Ints] | None:
        """Return cost and rows [machine, workers, PS] of n workers or more, None if none fits."""
        fractional = relaxation.solve(n)
        if fractional is None:
            return None
        found = round_until_feasible(problem, fractional, n, self.gain, self.most_rounds, rng)
        self.tally.add(found if isinstance(found, int) else found[2], not isinstance(found, int))
        if not isinstance(found, int):
            w, s, _ = found
            used = np.flatnonzero(w + s)
            rows = np.stack([used, w[used], s[used]], axis=1).astype(np.int64)
            return problem.cost(w, s), rows
        rows = self.slot(job, machines, t, 2 * n + 1)  # the exact placement, if there is one
        if not rows.size:
            return None
        return float(
            rows[:, 1] @ problem.worker[rows[:, 0]] + rows[:, 2] @ problem.ps[rows[:, 0]]
        ), rows
