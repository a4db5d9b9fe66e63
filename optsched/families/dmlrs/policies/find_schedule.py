"""Find-Sch with Algorithm 4: the best schedule of one job when outer placements are rounded."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from optsched.families.dmlrs.oracle.schedule import Best, Oracle, Request
from optsched.families.dmlrs.oracle.slot_placements import open_slot
from optsched.families.dmlrs.oracle.work_over_slots import options_hull, slot_options
from optsched.families.dmlrs.policies.rounding import (
    Relaxation,
    SlotProblem,
    Tally,
    round_until_feasible,
)
from optsched.numbers.arrays import Floats, Ints
from optsched.scheduling.oracle.schedule import Machines
from optsched.scheduling.oracle.slots import unit_prices
from optsched.scheduling.oracle.workload import EQUAL, hull_costs, hull_insert

Rows = dict[int, Ints]  # kind of option -> rows [machine, workers, PS]


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
        if not any(job.most):
            return None
        offers, promise, ends = self.offers, self.offers.promise, self.offers.ends
        rounded: list[Rows] = []
        certain, held, found = cutoff, 0, 0
        for t in range(job.arrival, job.utility.size):
            if job.utility[t] <= certain:
                break
            k = t - job.arrival
            rounded.append(self._open(job, machines, t, rng))
            work, cost, size = offers.options[0, k], offers.cost[k], int(offers.size[k])
            used = options_hull(work, cost, size, offers.slopes[1], offers.lengths[1])
            slot = (offers.slopes[1], offers.lengths[1], used)
            held = hull_insert(*slot, offers.slopes[0], offers.lengths[0], held, job.work)
            low, high = hull_costs(offers.slopes[0], offers.lengths[0], held, job.work)
            promise[0, k] = job.utility[t] - low
            promise[1, k] = offers.slopes[0, held - 1] if held else 0.0
            certain = max(certain, float(job.utility[t]) - high)
        for k in range(len(rounded)):
            if promise[0, k] > cutoff and promise[0, k] >= certain - EQUAL * abs(certain):
                ends[found] = k
                found += 1
        best = self.among(job, found, certain, cutoff) if found else None
        return None if best is None else (best, self._entries(job, rounded, best))

    def _entries(self, job: Request, rounded: list[Rows], best: Best) -> Ints:
        rows: list[tuple[int, int, int, int]] = []
        for t in np.flatnonzero(best.amount).tolist():
            for h, w, s in rounded[t - job.arrival][int(best.amount[t])].tolist():
                rows += [(0, t, h, w)] if w else []
                rows += [(1, t, h, s)] if s else []
        return np.array(rows, np.int64).reshape(-1, 4)

    def _open(self, job: Request, machines: Machines, t: int, rng: Generator) -> Rows:
        """Price one slot: inner placements exactly, outer ones by rounding."""
        _, _, parts, numbers, _, _ = self.scratch
        price, free, most = machines.price[t], machines.free[t], job.most
        nothing = np.empty((0, 2, 0, 0), np.int64), np.empty(0, np.int64)
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
            *self.scratch,
            False,
            *nothing,
        )
        inner_cost = parts[0, : inner_last + 1].copy()
        placed = {
            2 * n: np.array([[numbers[0, n], n, job.ps_inner[n]]])
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
        offers, k = self.offers, t - job.arrival
        offers.size[k] = slot_options(
            inner_cost,
            inner_last,
            job.inner,
            outer_cost,
            outer_last,
            job.outer,
            job.work,
            offers.options[0, k],
            offers.cost[k],
            offers.options[1, k],
        )
        return placed

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
