"""OASiS, Algorithm 1: posted prices, and for every arriving job its best schedule at them.

Paper: Bao et al., Sec. IV. The prior is ln U and ln L of (23)-(26). Two slips are mended: the
utility of the fastest completion is f(D - 1), D = ceil(W / N); and L uses the smallest positive
utility that a completion within the horizon can earn.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from optsched.families.oasis.instance import OasisInstance, OasisJob, Platform, job_work, ps_table
from optsched.problem import Information, Prior
from optsched.resources import ceil_tol, exact
from optsched.scheduling.board import plan_entries
from optsched.scheduling.jobs import Arrivals, transfer_slots
from optsched.scheduling.ledger import Ledger
from optsched.scheduling.oracle import Machines, Oracle, Request
from optsched.scheduling.placement import Placement
from optsched.scheduling.posted_prices import PostedPrices, ln_or_none
from optsched.scheduling.slots import Ints
from optsched.streams import Streams

ADMISSION = 1e-9  # a job is admitted if its payoff is more than this share of its utility


class Oasis:
    """The online algorithm of the paper. Guarantee (Theorem 4): OPT / ALG <= 2 alpha.

    Parameters
    ----------
    L_floor : float
        Count only utilities f(d) >= L_floor f(D - 1) in L (0: all positive ones, as in the
        paper). Above 0 the guarantee is lost, and contended clusters earn far more.
    U_factor, L_factor : float
        Wrong estimates (Fig. 6): the true U and L are multiplied by these.
    granularity : {"exact", "chunk"}
        Whether a slot does worker-slots (exact), or whole chunks as in the paper's Algorithm 2.
    """

    name = "oasis"
    information: Information = "after"

    def __init__(
        self,
        L_floor: float = 0.0,  # noqa: N803
        U_factor: float = 1.0,  # noqa: N803
        L_factor: float = 1.0,  # noqa: N803
        granularity: str = "exact",
    ) -> None:
        if not 0 <= L_floor <= 1:
            raise ValueError(f"L_floor is {L_floor}, expected a share in [0, 1]")
        if not (U_factor > 0 and L_factor > 0):
            raise ValueError(f"U_factor {U_factor}, L_factor {L_factor}: expected factors above 0")
        if granularity not in ("exact", "chunk"):
            raise ValueError(f"granularity is {granularity!r}, expected 'exact' or 'chunk'")
        self.floor = L_floor
        self.shift_upper = math.log(U_factor)
        self.shift_lower = math.log(L_factor)
        self.granularity = granularity
        self.true_prior = L_floor == 0 and U_factor == L_factor == 1

    def prior(self, instance: OasisInstance) -> Prior:
        """Compute ln U and ln L of (23)-(26); ``alpha`` where Theorem 4 holds for them."""
        upper1, lower1 = _ln_bounds(instance, "worker", self.floor)
        upper2, lower2 = _ln_bounds(instance, "ps", self.floor)
        spans = [
            u - low
            for upper, low in ((upper1, lower1), (upper2, lower2))
            if low is not None
            for u in upper
            if u is not None
        ]
        return {
            "ln_U1": [None if u is None else u + self.shift_upper for u in upper1],
            "ln_L1": None if lower1 is None else lower1 + self.shift_lower,
            "ln_U2": [None if u is None else u + self.shift_upper for u in upper2],
            "ln_L2": None if lower2 is None else lower2 + self.shift_lower,
            "alpha": max([1.0, *spans]) if self.true_prior else None,
            "most_workers": max(
                (_most(j, instance, self.granularity) for j in instance.jobs), default=1
            ),
            "most_work": max(
                (_size(j, instance, self.granularity) for j in instance.jobs), default=1
            ),
        }

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Open the prices at L."""
        self.platform = public
        self.workers = Ledger(public.worker_capacity, public.horizon)
        self.ps = Ledger(public.ps_capacity, public.horizon)
        self.worker_prices = PostedPrices(self.workers, prior["ln_U1"], prior["ln_L1"])
        self.ps_prices = PostedPrices(self.ps, prior["ln_U2"], prior["ln_L2"])
        machines = max(len(public.worker_capacity), len(public.ps_capacity))
        self.oracle = Oracle(public.horizon, machines, prior["most_workers"], prior["most_work"])
        self.plans: dict[int, dict[int, Placement]] = {}  # slot -> job -> placement

    def step(self, event: Arrivals) -> dict[int, Placement]:
        """Decide on the arrivals; run what was planned for this slot."""
        for i, job in event.jobs.items():
            self.admit(i, job)  # type: ignore[arg-type]
        return self.plans.pop(event.slot, {})

    def admit(self, i: int, job: OasisJob) -> float | None:
        """Plan job i if its best schedule pays; return its payoff, None if it is rejected."""
        request = self.request(job)
        workers = Machines(
            self.worker_prices.per_unit(), self.workers.free, self._ones(self.workers)
        )
        ps = Machines(self.ps_prices.per_unit(), self.ps.free, self._ones(self.ps))
        best = self.oracle.best(request, workers, ps)
        if best is None or best.payoff <= ADMISSION * request.utility[best.completion]:
            return None
        entries = plan_entries(request, best.amount, best.completion, workers, ps)
        self._book(i, entries, request)
        return best.payoff

    def _book(self, i: int, entries: Ints, request: Request) -> None:
        """Use what the rows [side, slot, machine, number] say; note the plan; raise the prices."""
        for side, (ledger, prices, demand) in enumerate(
            (
                (self.workers, self.worker_prices, request.worker_demand),
                (self.ps, self.ps_prices, request.ps_demand),
            )
        ):
            mine = entries[entries[:, 0] == side]
            ledger.take(mine[:, 1], mine[:, 2], mine[:, 3, None] * demand[None, :])
            prices.refresh_at(mine[:, 1:3])
        placed: dict[int, tuple[dict[int, int], dict[int, int]]] = {}
        for side, t, h, number in entries.tolist():
            placed.setdefault(t, ({}, {}))[side][h] = number
        for t, (workers, ps) in placed.items():
            self.plans.setdefault(t, {})[i] = Placement(workers, ps)

    def request(self, job: OasisJob) -> Request:
        """Translate a job into the oracle's terms."""
        platform = self.platform
        utility = np.zeros(platform.horizon)
        for t in range(job.arrival, platform.horizon):
            utility[t] = job.utility(t - job.arrival)
        return Request(
            arrival=job.arrival,
            work=_size(job, platform, self.granularity),
            units=_units(job, platform, self.granularity),
            worker_demand=self.workers.units(job.worker_demand),
            ps_demand=self.ps.units(job.ps_demand),
            ps_needed=np.array(ps_table(job), np.int64),
            utility=utility,
        )

    @staticmethod
    def _ones(side: Ledger) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.ones(len(side.capacity), np.int64)


def guarantee(inst: OasisInstance, policy: str, prior: Prior) -> float | None:  # noqa: ARG001
    """Return 2 alpha of Theorem 4 for a run of OASiS with the true U and L, else None."""
    alpha = prior.get("alpha") if policy == Oasis.name else None
    return None if alpha is None else 2 * alpha


def _size(job: OasisJob, platform: Platform, granularity: str) -> int:
    """Return the job's work in units of the dynamic program."""
    if granularity == "chunk":
        return job.epochs * job.chunks
    return job_work(job, platform.slot_seconds)


def _most(job: OasisJob, platform: Platform, granularity: str) -> int:
    """Return the most workers, or units of work if those are finer, that a slot can hold."""
    return max(job.chunks, len(_units(job, platform, granularity)) - 1)


def _units(
    job: OasisJob, platform: Platform, granularity: str
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the workers that 0, 1, ... units of work in one slot need, at most N."""
    if granularity == "exact":
        return np.arange(job.chunks + 1)
    sending = transfer_slots(job.gradient_mb, job.worker_bandwidth, platform.slot_seconds)
    per_chunk = job.batches_per_chunk * (exact(job.batch_time) + 2 * sending)
    units = [0]
    while len(units) <= job.epochs * job.chunks:
        workers = ceil_tol(len(units) * per_chunk)  # D(d) of Algorithm 2
        if workers > job.chunks:
            break
        units.append(workers)
    return np.array(units, np.int64)


def _ln_bounds(
    inst: OasisInstance, side: str, floor: float
) -> tuple[list[float | None], float | None]:
    """Return ln U^r of (23)/(24) for every resource, and ln L of (25)/(26)."""
    demands = [getattr(job, f"{side}_demand") for job in inst.jobs]
    capacity = inst.worker_capacity if side == "worker" else inst.ps_capacity
    upper = [-math.inf] * len(inst.resources)
    least, fraction = math.inf, math.inf
    for job, demand, work, shortest in zip(
        inst.jobs, demands, inst.work, inst.shortest, strict=True
    ):
        first = job.utility.log(shortest - 1)
        for r, d in enumerate(demand):
            if d > 0:
                upper[r] = max(upper[r], first - math.log(d))
        total = sum(demand)
        if total == 0:
            continue
        fraction = min(fraction, math.log(work * total))
        longest = inst.horizon - 1 - job.arrival  # counts for a job that can never finish, too
        delays = range(min(shortest - 1, longest), longest + 1)
        enough = first + math.log(floor) if floor > 0 else -math.inf
        earned = [x for x in map(job.utility.log, delays) if x > -math.inf and x >= enough]
        if earned:
            least = min(least, min(earned) - math.log(work * total))
    whole = math.fsum(c for row in capacity for c in row)
    if not (math.isfinite(least) and whole > 0):
        return [None] * len(inst.resources), None
    inverse_eta = fraction - math.log(inst.horizon * whole)
    return [ln_or_none(u) for u in upper], inverse_eta + least - math.log(4)
