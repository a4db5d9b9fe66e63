"""What PD-ORS guarantees where demands are not negligible: see `scheduling.competitive`."""

from __future__ import annotations

import math
from collections.abc import Iterator

from optsched.families.dmlrs.instance import IMPOSSIBLE, DmlrsInstance, DmlrsJob, Needs, usable_ps
from optsched.families.dmlrs.policies.prior import SAFE, ln_bounds
from optsched.scheduling.online.competitive import PostedPrice, proved_ratio

ADMISSION = 1e-9  # a job is admitted if its payoff is more than this share of its utility


def proved(inst: DmlrsInstance, theorem: float) -> float | None:
    """Return the ratio of a run with exact oracles and the true U and L; None if none is proved."""
    most = [job.utility(0) for job in inst.jobs]
    least = max((alone(inst, i) for i in range(len(inst.jobs))), default=0.0)
    return proved_ratio(theorem, _posted(inst), least, 2 * ADMISSION * math.fsum(most))


def alone(inst: DmlrsInstance, i: int) -> float:
    """Return what a job earns alone with workers and PS on one machine; 0 if they cannot be.

    So much the optimum is worth at least.
    """
    job, needs = inst.jobs[i], inst.needs[i]
    for n in range(job.chunks, 0, -1):
        m = needs.ps_inner[n]
        fits = m != IMPOSSIBLE and any(usable_ps(c.capacity, job, n, m) >= m for c in inst.machines)
        if fits:
            delay = -(-needs.work // (n * needs.inner)) - 1
            return job.utility(delay) if job.arrival + delay < inst.horizon else 0.0
    return 0.0


def _posted(inst: DmlrsInstance) -> Iterator[PostedPrice]:
    upper, lower = ln_bounds(inst, SAFE)
    for r, u in enumerate(upper):
        if u is None or lower is None:
            continue
        share = max(
            (
                min(1.0, _used(job, needs, r) / c.capacity[r])
                for c in inst.machines
                if c.capacity[r] > 0
                for job, needs in zip(inst.jobs, inst.needs, strict=True)
            ),
            default=0.0,
        )
        whole = math.fsum(c.count * c.capacity[r] for c in inst.machines)
        yield PostedPrice(u, lower, share, whole * inst.horizon)


def _used(job: DmlrsJob, needs: Needs, r: int) -> float:
    """Return how much of a resource a job can use in a slot at most."""
    servers = max(m for m in (*needs.ps_inner, *needs.ps_outer) if m != IMPOSSIBLE)
    return job.chunks * job.worker_demand[r] + servers * job.ps_demand[r]
