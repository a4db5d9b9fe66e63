"""OASiS, Algorithm 1: posted prices, and for every arriving job its best schedule at them.

Paper: Bao et al., Sec. IV. Known beforehand are ln U and ln L of (23)-(26). Two slips are mended:
the utility of the fastest completion is f(D - 1), D = ceil(W / N); and L uses the smallest positive
utility that a completion within the horizon can earn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from optsched.families.oasis.facts import fastest
from optsched.families.oasis.instance import OasisInstance, OasisJob, Platform, job_work, ps_table
from optsched.families.oasis.policies.estimate import Estimate
from optsched.numbers.resources import ceil_tol, exact, units_that_fit
from optsched.numbers.streams import Streams
from optsched.policies.knowledge import prior_name
from optsched.problem import Information, Prior
from optsched.scheduling.jobs import Arrivals, transfer_slots
from optsched.scheduling.online.competitive import PostedPrice, proved_ratio
from optsched.scheduling.online.separated import (
    ADMISSION,
    LnBounds,
    Prospect,
    SeparatedScheduler,
    ln_bounds,
)
from optsched.scheduling.oracle.schedule import Request
from optsched.scheduling.placement import Placement
from optsched.scheduling.platform import utility_table


class Oasis:
    """The online algorithm of the paper. Guarantee (Theorem 4): OPT / ALG <= 2 alpha.

    That is for demands that are negligible compared with the capacities; see `guarantee`.

    Parameters
    ----------
    L_floor : float
        Count only utilities f(d) >= L_floor f(D - 1) in L (0: all positive ones, as in the
        paper). Above 0 the guarantee is lost, and contended clusters earn far more.
    U_factor, L_factor : float
        Wrong estimates (Fig. 6): the true U and L are multiplied by these.
    estimate : Estimate, optional
        U and L as `learn` has them from earlier instances; without, the true ones. With it there
        is no guarantee, and the policy calls itself "oasis-estimated".
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
        estimate: Estimate | None = None,
    ) -> None:
        if not 0 <= L_floor <= 1:
            raise ValueError(f"L_floor is {L_floor}, expected a share in [0, 1]")
        if not (U_factor > 0 and L_factor > 0):
            raise ValueError(f"U_factor {U_factor}, L_factor {L_factor}: expected factors above 0")
        if granularity not in ("exact", "chunk"):
            raise ValueError(f"granularity is {granularity!r}, expected 'exact' or 'chunk'")
        if estimate is not None and L_floor > 0:
            raise ValueError("L_floor is about the true L, expected no estimate next to it")
        self.estimate = estimate
        if estimate is not None:
            self.name = "oasis-estimated"
        self.shift_upper = math.log(U_factor)
        self.shift_lower = math.log(L_factor)
        self.granularity = granularity
        floor = {"floor": L_floor} if L_floor > 0 else {}
        grain = {} if granularity == "exact" else {"granularity": granularity}
        bounds = {
            "ln_U1": "ln_U1",
            "ln_L1": prior_name("ln_L1", **floor),
            "ln_U2": "ln_U2",
            "ln_L2": prior_name("ln_L2", **floor),
        }
        self.prior_names = {
            **(bounds if estimate is None else {}),
            "most_workers": prior_name("most_workers", **grain),
            "most_work": prior_name("most_work", **grain),
        }
        exact = L_floor == 0 and U_factor == L_factor == 1 and granularity == "exact"
        if exact and estimate is None:
            self.prior_names["alpha"] = "alpha"  # else Theorem 4 is about other schedules

    @property
    def knows(self) -> tuple[str, ...]:
        """Ln U and ln L of (23)-(26), if not estimated, and how large jobs are at most."""
        return tuple(self.prior_names.values())

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Open the prices at L."""
        self.platform = public
        known = {name: prior[text] for name, text in self.prior_names.items()}
        workers, ps = self.estimate or (
            (known["ln_U1"], known["ln_L1"]),
            (known["ln_U2"], known["ln_L2"]),
        )
        self.scheduler = SeparatedScheduler(
            public.worker_capacity,
            public.ps_capacity,
            public.horizon,
            self._estimates(*workers),
            self._estimates(*ps),
            known["most_workers"],
            known["most_work"],
        )

    def _estimates(self, ln_upper: list[float | None], ln_lower: float | None) -> LnBounds:
        """Return the bounds times the factors of wrong estimates."""
        upper = [None if u is None else u + self.shift_upper for u in ln_upper]
        return upper, None if ln_lower is None else ln_lower + self.shift_lower

    def step(self, event: Arrivals) -> dict[int, Placement]:
        """Decide on the arrivals; run the plan for this slot."""
        for i, job in event.jobs.items():
            self.admit(i, job)  # type: ignore[arg-type]
        return self.scheduler.due(event.slot)

    def admit(self, i: int, job: OasisJob) -> float | None:
        """Plan job i if its best schedule pays; return its payoff, None if it is rejected."""
        return self.scheduler.admit(i, self.request(job))

    def request(self, job: OasisJob) -> Request:
        """Translate a job into the oracle's terms."""
        platform = self.platform
        (utility,) = utility_table([job], platform.horizon)
        return Request(
            arrival=job.arrival,
            work=_size(job, platform, self.granularity),
            units=_units(job, platform, self.granularity),
            worker_demand=self.scheduler.workers.units(job.worker_demand),
            ps_demand=self.scheduler.ps.units(job.ps_demand),
            ps_needed=np.array(ps_table(job), np.int64),
            utility=utility,
        )


def ratio_parameter(inst: OasisInstance) -> float:
    """Return alpha of Theorem 4 for the true U and L."""
    sides = [_ln_bounds(inst, side) for side in ("worker", "ps")]
    spans = [u - low for upper, low in sides if low is not None for u in upper if u is not None]
    return max([1.0, *spans])


def most_workers(inst: OasisInstance, granularity: str = "exact") -> int:
    """Return the most workers, or units of work if those are finer, of any job in a slot."""
    most = (max(job.chunks, len(_units(job, inst, granularity)) - 1) for job in inst.jobs)
    return max(most, default=1)


def most_work(inst: OasisInstance, granularity: str = "exact") -> int:
    """Return the most work of any job, in units of the dynamic program."""
    return max((_size(job, inst, granularity) for job in inst.jobs), default=1)


KNOWLEDGE: Mapping[str, Callable[..., Any]] = {
    "ln_U1": lambda inst: _ln_bounds(inst, "worker")[0],
    "ln_L1": lambda inst, floor=0.0: _ln_bounds(inst, "worker", floor)[1],
    "ln_U2": lambda inst: _ln_bounds(inst, "ps")[0],
    "ln_L2": lambda inst, floor=0.0: _ln_bounds(inst, "ps", floor)[1],
    "alpha": ratio_parameter,
    "most_workers": most_workers,
    "most_work": most_work,
    "jobs": lambda inst: len(inst.jobs),
}
"""ln U and ln L of (23)-(26) for workers (1) and PS (2), alpha of Theorem 4, sizes."""


def guarantee(inst: OasisInstance, policy: str, prior: Prior) -> float | None:
    """Return the guarantee of a run of OASiS with the true U and L; None if nothing is proved.

    That is 2 alpha of Theorem 4 where demands are small enough for its proof, and else what the
    proof states of demands as large as they are.
    """
    alpha = prior.get("alpha") if policy == Oasis.name else None
    if alpha is None:
        return None
    needed = fastest(inst)
    earned = [
        job.utility(d - 1)
        for job, d in zip(inst.jobs, needed, strict=True)
        if d is not None and job.arrival + d <= inst.horizon
    ]
    prices = [*_posted(inst, "worker"), *_posted(inst, "ps")]
    lost = 2 * ADMISSION * math.fsum(earned)
    return proved_ratio(2 * alpha, prices, max(earned, default=0.0), lost)


def _posted(inst: OasisInstance, side: str) -> Iterator[PostedPrice]:
    """Yield the prices of one side, for every resource that is demanded."""
    upper, lower = _ln_bounds(inst, side)
    machines = inst.worker_machines if side == "worker" else inst.ps_machines
    for r, u in enumerate(upper):
        if u is None or lower is None:
            continue
        demands = [(getattr(job, f"{side}_demand"), job.chunks) for job in inst.jobs]
        shares = (
            units_that_fit(c.capacity, demand, most) * demand[r] / c.capacity[r]
            for c in machines
            for demand, most in demands
            if c.capacity[r] > 0
        )
        whole = math.fsum(c.count * c.capacity[r] for c in machines)
        yield PostedPrice(u, lower, min(1.0, max(shares, default=0.0)), whole * inst.horizon)


def _size(job: OasisJob, platform: Platform, granularity: str) -> int:
    """Return the job's work in units of the dynamic program."""
    if granularity == "chunk":
        return job.epochs * job.chunks
    # a job that can never finish needs no table for all of its work
    most = job.chunks * (platform.horizon - job.arrival) + 1
    return min(job_work(job, platform.slot_seconds), most)


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


def _ln_bounds(inst: OasisInstance, side: str, floor: float = 0.0) -> LnBounds:
    """Return ln U^r of (23)/(24) for every resource, and ln L of (25)/(26)."""
    jobs = [
        Prospect(getattr(job, f"{side}_demand"), work, shortest, job.arrival, job.utility.log)
        for job, work, shortest in zip(inst.jobs, inst.work, inst.shortest, strict=True)
    ]
    capacity = inst.worker_capacity if side == "worker" else inst.ps_capacity
    return ln_bounds(jobs, capacity, inst.horizon, floor)
