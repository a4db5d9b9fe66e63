"""Find-Sch with Algorithm 4: the best schedule of one job when outer placements are rounded."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from optsched.families.dmlrs.oracle.request import NOTHING_KEPT, Request
from optsched.families.dmlrs.oracle.schedule import Best, Oracle
from optsched.families.dmlrs.oracle.slot_placements import open_slot
from optsched.families.dmlrs.oracle.work_over_slots import join_hull, possible_ends, slot_options
from optsched.families.dmlrs.policies.rounding import (
    PlacementRelaxation,
    SlotProblem,
    Tally,
    round_until_feasible,
)
from optsched.numbers.arrays import Ints
from optsched.scheduling.oracle.schedule import PricedMachines

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
        self, job: Request, machines: PricedMachines, rng: Generator, cutoff: float = 0.0
    ) -> tuple[Best, Ints] | None:
        """Return the best schedule that Algorithms 2-4 find, and its entries as `Oracle.places`."""
        if not job.most:
            return None
        rounded: list[Rows] = []
        certain, held = cutoff, 0
        for t in range(job.arrival, job.utility.size):
            if job.utility[t] <= certain:
                break
            rounded.append(self._open(job, machines, t, rng))
            held, certain = join_hull(t - job.arrival, job, self.offers, held, certain)
        found = possible_ends(len(rounded), cutoff, certain, self.offers)
        best = self.among(job, found, certain, cutoff) if found else None
        return None if best is None else (best, self._entries(job, rounded, best))

    def _entries(self, job: Request, rounded: list[Rows], best: Best) -> Ints:
        rows: list[tuple[int, int, int, int]] = []
        for t in np.flatnonzero(best.amount).tolist():
            for h, w, s in rounded[t - job.arrival][int(best.amount[t])].tolist():
                rows += [(0, t, h, w)] if w else []
                rows += [(1, t, h, s)] if s else []
        return np.array(rows, np.int64).reshape(-1, 4)

    def _open(self, job: Request, machines: PricedMachines, t: int, rng: Generator) -> Rows:
        """Price one slot: inner placements exactly, outer ones by rounding."""
        scratch = self.scratch
        inner_last, _, _ = open_slot(t, job, machines, job.most_inner, 0, scratch, NOTHING_KEPT)
        cost = np.full((2, self.most + 1), np.inf)  # of n workers, inner and outer
        cost[:, 0] = 0.0
        cost[0, : inner_last + 1] = scratch.parts[0, : inner_last + 1]
        placed = {
            2 * n: np.array([[scratch.numbers[0, n], n, job.ps_inner[n]]])
            for n in range(1, inner_last + 1)
            if np.isfinite(cost[0, n])
        }
        problem = SlotProblem.of(job, machines.price[t], machines.free[t])
        relaxation: PlacementRelaxation | None = None
        for n in range(1, job.most_outer + 1):
            least = n * problem.worker.min() + job.ps_outer[n] * problem.ps.min()
            enough = -(-min(job.work, n * job.outer) // job.inner)
            if enough <= inner_last and cost[0, enough] <= least:
                continue  # whatever is found outside, the same work costs no more on one machine
            relaxation = relaxation or PlacementRelaxation(problem)
            found = self._round(job, problem, relaxation, machines, t, n, rng)
            if found is None:
                break
            cost[1, n], placed[2 * n + 1] = found
        outer_last = int(np.flatnonzero(np.isfinite(cost[1]))[-1])
        slot_options(t - job.arrival, job, cost, inner_last, outer_last, self.offers)
        return placed

    def _round(
        self,
        job: Request,
        problem: SlotProblem,
        relaxation: PlacementRelaxation,
        machines: PricedMachines,
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
