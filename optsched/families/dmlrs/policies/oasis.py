"""OASiS on the same jobs: workers and parameter servers on separate machines (Fig. 3.11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from optsched.families.dmlrs.instance import (
    IMPOSSIBLE,
    DmlrsInstance,
    DmlrsJob,
    Platform,
    ps_table,
    worker_slots,
)
from optsched.numbers.streams import Streams
from optsched.problem import Information, Prior
from optsched.scheduling.jobs import Arrivals
from optsched.scheduling.online.separated import LnBounds, Prospect, SeparatedScheduler, ln_bounds
from optsched.scheduling.oracle.schedule import Request
from optsched.scheduling.placement import Placement
from optsched.scheduling.platform import utility_table


class Oasis:
    """OASiS: every other machine hosts workers, the rest parameter servers (PS). Guarantee: none.

    Machines 0, 2, 4, ... host workers (one more if their number is odd), so that both halves get
    alike shares of every class. All runs at the outer rate. Against the optimum on shared machines
    its theorem gives no bound.
    """

    name = "oasis"
    information: Information = "after"
    knows: tuple[str, ...] = (
        "halves_ln_U1",
        "halves_ln_L1",
        "halves_ln_U2",
        "halves_ln_L2",
        "most_workers",
        "most_work",
    )

    def start(self, public: Platform, prior: Prior, streams: Streams) -> None:  # noqa: ARG002
        """Open the prices at L."""
        self.platform = public
        workers, ps = _halves(public)
        self.scheduler: SeparatedScheduler | None = None
        if ps:  # one machine alone cannot be split
            self.scheduler = SeparatedScheduler(
                workers,
                ps,
                public.horizon,
                (prior["halves_ln_U1"], prior["halves_ln_L1"]),
                (prior["halves_ln_U2"], prior["halves_ln_L2"]),
                prior["most_workers"],
                prior["most_work"],
            )

    def step(self, event: Arrivals) -> dict[int, Placement]:
        """Decide on the arrivals; run the plan for this slot."""
        if self.scheduler is None:
            return {}
        for i, job in event.jobs.items():
            request = self.request(cast(DmlrsJob, job))
            if request is not None:
                self.scheduler.admit(i, request)
        return {i: _on_shared(placed) for i, placed in self.scheduler.due(event.slot).items()}

    def request(self, job: DmlrsJob) -> Request | None:
        """Translate a job into the oracle's terms; None if it cannot run spread out."""
        platform, table = self.platform, ps_table(job.outer_bandwidth, job)
        if IMPOSSIBLE in table:
            return None
        assert self.scheduler is not None
        (utility,) = utility_table([job], platform.horizon)
        return Request(
            arrival=job.arrival,
            work=worker_slots(job, job.outer_bandwidth, platform.slot_seconds),
            units=np.arange(job.chunks + 1),
            worker_demand=self.scheduler.workers.units(job.worker_demand),
            ps_demand=self.scheduler.ps.units(job.ps_demand),
            ps_needed=np.array(table, np.int64),
            utility=utility,
        )


def _halves_ln_bounds(inst: DmlrsInstance, side: int) -> LnBounds:
    """Return ln U^r and ln L of OASiS's (23)-(26) for the half of the workers (0) or PS (1)."""
    prospects = []
    for job in inst.jobs:
        work = worker_slots(job, job.outer_bandwidth, inst.slot_seconds)
        demand = (job.worker_demand, job.ps_demand)[side]
        prospects.append(
            Prospect(demand, work, -(-work // job.chunks), job.arrival, job.utility.log)
        )
    half = _halves(inst)[side]
    return ln_bounds(prospects, half, inst.horizon) if half else ([], None)


def _most_work(inst: DmlrsInstance) -> int:
    """Return the most worker-slots of any job at the outer rate."""
    needs = (worker_slots(job, job.outer_bandwidth, inst.slot_seconds) for job in inst.jobs)
    return max(needs, default=1)


KNOWLEDGE: Mapping[str, Callable[..., Any]] = {
    "halves_ln_U1": lambda inst: _halves_ln_bounds(inst, 0)[0],
    "halves_ln_L1": lambda inst: _halves_ln_bounds(inst, 0)[1],
    "halves_ln_U2": lambda inst: _halves_ln_bounds(inst, 1)[0],
    "halves_ln_L2": lambda inst: _halves_ln_bounds(inst, 1)[1],
    "most_work": _most_work,
}
"""ln U and ln L of OASiS where every other machine hosts workers (1) or PS (2)."""

Capacity = tuple[tuple[float, ...], ...]


def _halves(platform: Platform) -> tuple[Capacity, Capacity]:
    """Return the machines of workers and of PS: every other one."""
    return platform.capacity[0::2], platform.capacity[1::2]


def _on_shared(placed: Placement) -> Placement:
    """Return a placement with the machines of both halves numbered as in the whole cluster."""
    return Placement(
        {2 * h: n for h, n in placed.workers.items()}, {2 * k + 1: m for k, m in placed.ps.items()}
    )
