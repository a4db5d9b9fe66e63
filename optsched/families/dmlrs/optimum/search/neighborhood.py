"""Large neighborhood search of `dmlrs`: jobs are removed and reinserted at dual prices.

See `engine.neighborhood` (Shaw, 1998). The board holds jobs on single machines that workers and
parameter servers share; an insertion solves the job's pricing subproblem in the free capacity.
"""

from __future__ import annotations

import numpy as np

from optsched.engine.colgen import Column
from optsched.engine.neighborhood import Neighborhood
from optsched.engine.search import LnsParams
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, JobSchedule
from optsched.families.dmlrs.optimum.relaxations.capacity import (
    NEGLIGIBLE,
    CapacityRelaxation,
    oracle_steps,
)
from optsched.families.dmlrs.oracle.linked import oracle_for
from optsched.families.dmlrs.oracle.request import requests
from optsched.numbers.arrays import Floats, Ints
from optsched.process import work_units
from optsched.scheduling.board import JobPlan, PricedBoard, at_factors, over_slots

COVERED = 100_000  # numbers of a board whose making is counted with the search


class SharedBoard(PricedBoard):
    """Jobs on machines that workers and parameter servers share.

    Parameters
    ----------
    inst : DmlrsInstance
    free : array of shape (T, R, H)
        The empty cluster; the board works on a copy.
    prices : array of the same shape
        Prices per unit, by which inserted jobs choose among slots and machines.
    """

    def __init__(self, inst: DmlrsInstance, free: Floats, prices: Floats) -> None:
        work_units.begin(board_units(free.size))
        shared = free.copy()
        super().__init__(requests(inst), (shared, shared))
        self.machines = at_factors(prices, shared)
        self.oracle = oracle_for(inst, free.shape[2])

    def best(self, i: int, factor: int) -> JobPlan | None:
        """Return the best plan of job i at the prices times ``FACTORS[factor]``, if it pays."""
        request, machines = self.requests[i], self.machines[factor]
        best = self.oracle.best(request, machines)
        # work units, in addition to the oracle's
        work_units.spend(0.02)
        work_units.steps(oracle_steps(request, machines.free.shape))
        if best is None:
            return None
        value = float(request.utility[best.completion])
        return JobPlan(value, best.completion, self.oracle.places(request, machines, best))


def board_units(size: int) -> float:
    """Return the work units of making a board of this many numbers, with its prices."""
    return work_units.HANDLED * max(0, size - COVERED)


def neighborhood_at(inst: DmlrsInstance, prices: Floats, params: LnsParams) -> Neighborhood:
    """Return an empty board at prices per unit of demand, (T, R, H), and the search on it."""
    arrays = inst.arrays
    board = SharedBoard(inst, over_slots(arrays.capacity.astype(float), inst.horizon), prices)
    best = arrays.utility.max(axis=1, initial=0.0)
    payoff = np.where(best > NEGLIGIBLE * best.max(initial=0.0), best, 0.0)
    return Neighborhood(board, payoff, (JobSchedule, DmlrsSchedule), params)


def plan_column(problem: CapacityRelaxation, i: int, plan: JobPlan) -> Column:
    """Return the column of a plan on single machines."""
    entries = plan.entries.copy()
    entries[:, 2] = problem.group[entries[:, 2]]
    return problem.placed_column(i, plan.completion, kinds(plan.entries, problem.slots), entries)


def kinds(entries: Ints, slots: int) -> Ints:
    """Return the workers of a plan in each slot: 2 workers + (0 one machine | 1 more), 0: none."""
    amount = np.zeros(slots, np.int64)
    machines: dict[int, set[int]] = {}
    for side, t, h, n in entries.tolist():
        amount[t] += 2 * n if side == 0 else 0
        machines.setdefault(t, set()).add(h)
    for t, used in machines.items():
        amount[t] += len(used) > 1
    return amount
