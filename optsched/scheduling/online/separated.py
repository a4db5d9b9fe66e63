"""OASiS's way of admitting jobs: posted prices on two separate sets of machines.

Bao, Peng, Wu, Li: Online Job Scheduling in Distributed Machine Learning Clusters. INFOCOM 2018,
Algorithm 1 and (22)-(26). Families whose jobs can run with workers and parameter servers (PS) apart
use it, whatever else they can do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from optsched.numbers.arrays import Ints
from optsched.scheduling.board import plan_entries
from optsched.scheduling.online.ledger import Ledger
from optsched.scheduling.online.posted_prices import PostedPrices, ln_or_none
from optsched.scheduling.oracle.schedule import Oracle, PricedMachines, Request
from optsched.scheduling.placement import Placement, by_slot

ADMISSION = 1e-9  # a job is admitted if its payoff is more than this share of its utility

Capacity = Sequence[Sequence[float]]
LnBounds = tuple[list[float | None], float | None]


@dataclass(frozen=True)
class Prospect:
    """Data of (23)-(26) for one job, on one side."""

    demand: Sequence[float]  # (R,) of one worker, or of one PS
    work: int  # worker-slots
    shortest: int  # slots at full speed
    arrival: int
    ln_utility: Callable[[int], float]  # of a delay


def ln_bounds(
    jobs: Sequence[Prospect], capacity: Capacity, horizon: int, floor: float = 0.0
) -> LnBounds:
    """Return ln U^r of (23)/(24) for every resource, and ln L of (25)/(26).

    Two slips are mended: the utility of the fastest completion is f(D - 1), D = ceil(W / N); and L
    uses the smallest positive utility that a completion within the horizon can earn; with ``floor``
    only utilities of at least that share of the fastest completion's.
    """
    resources = len(capacity[0])
    upper = [-math.inf] * resources
    least, fraction = math.inf, math.inf
    for job in jobs:
        first = job.ln_utility(job.shortest - 1)
        for r, d in enumerate(job.demand):
            if d > 0:
                upper[r] = max(upper[r], first - math.log(d))
        total = sum(job.demand)
        if total == 0:
            continue
        fraction = min(fraction, math.log(job.work * total))
        longest = horizon - 1 - job.arrival  # counts for a job that can never finish as well
        delays = range(min(job.shortest - 1, longest), longest + 1)
        enough = first + math.log(floor) if floor > 0 else -math.inf
        earned = [x for x in map(job.ln_utility, delays) if x > -math.inf and x >= enough]
        if earned:
            least = min(least, min(earned) - math.log(job.work * total))
    whole = math.fsum(c for row in capacity for c in row)
    if not (math.isfinite(least) and whole > 0):
        return [None] * resources, None
    inverse_eta = fraction - math.log(horizon * whole)
    return [ln_or_none(u) for u in upper], inverse_eta + least - math.log(4)


class SeparatedScheduler:
    """Prices and plans of one online run.

    Parameters
    ----------
    worker_capacity, ps_capacity : sequence of shape (H, R), (K, R)
        Capacity of every single machine of both sides.
    horizon : int
    workers, ps : LnBounds
        ln U^r and ln L of both sides.
    most_workers, most_work : int
        The most of any job that may arrive: in a slot, and in all.
    """

    def __init__(
        self,
        worker_capacity: Capacity,
        ps_capacity: Capacity,
        horizon: int,
        workers: LnBounds,
        ps: LnBounds,
        most_workers: int,
        most_work: int,
    ) -> None:
        self.workers = Ledger(worker_capacity, horizon)
        self.ps = Ledger(ps_capacity, horizon)
        self.worker_prices = PostedPrices(self.workers, *workers)
        self.ps_prices = PostedPrices(self.ps, *ps)
        machines = max(len(worker_capacity), len(ps_capacity))
        self.oracle = Oracle(horizon, machines, most_workers, most_work)
        self.plans: dict[int, dict[int, Placement]] = {}  # slot -> job -> placement

    def due(self, slot: int) -> dict[int, Placement]:
        """Return what was planned for ``slot``."""
        return self.plans.pop(slot, {})

    def admit(self, i: int, request: Request) -> float | None:
        """Plan job i if its best schedule pays; return its payoff, None if it is rejected."""
        workers, ps = (
            PricedMachines(prices.per_unit(), side.free, np.ones(len(side.capacity), np.int64))
            for prices, side in ((self.worker_prices, self.workers), (self.ps_prices, self.ps))
        )
        best = self.oracle.best(request, workers, ps)
        if best is None or best.payoff <= ADMISSION * request.utility[best.completion]:
            return None
        entries = plan_entries(request, best.amount, best.completion, workers, ps)
        self._book(i, entries, request)
        return best.payoff

    def _book(self, i: int, entries: Ints, request: Request) -> None:
        """Take what a plan uses, raise the prices, and note its placements."""
        sides = (
            (self.workers, self.worker_prices, request.worker_demand),
            (self.ps, self.ps_prices, request.ps_demand),
        )
        for side, (ledger, prices, demand) in enumerate(sides):
            mine = entries[entries[:, 0] == side]
            ledger.take(mine[:, 1], mine[:, 2], mine[:, 3, None] * demand[None, :])
            prices.refresh_at(mine[:, 1:3])
        for t, placement in by_slot(entries).items():
            self.plans.setdefault(t, {})[i] = placement
