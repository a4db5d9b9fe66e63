"""Prior knowledge and guarantee of PD-ORS: ln U^r of (3.13), ln L of (3.14), Theorem 3.

Mended, as in family `oasis`: the fastest completion is D - 1 slots after the arrival, D = ceil(E M
(tau + 2 g / b_in)); L uses the smallest positive utility that a completion within the horizon can
earn; a job without any demand is skipped in L; 1 / mu is the smallest of the stated fractions.

Where demands are not negligible, `scheduling.online.competitive` states what is left of the
theorem.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from optsched.families.dmlrs.instance import (
    IMPOSSIBLE,
    DmlrsInstance,
    DmlrsJob,
    Needs,
    batch_slots,
    usable_ps,
    worker_slots,
)
from optsched.numbers.resources import ceil_tol
from optsched.scheduling.online.competitive import PostedPrice, proved_ratio
from optsched.scheduling.online.posted_prices import ln_or_none

SAFE, PRINTED = "safe", "printed"


def ln_bounds(inst: DmlrsInstance, upper_price: str) -> tuple[list[float | None], float | None]:
    """Return ln U^r for every resource (None: no demand), and ln L (None: no job pays).

    Parameters
    ----------
    inst : DmlrsInstance
    upper_price : {"safe", "printed"}
        Whether U divides the utility by the smaller positive demand of a worker and a PS, so that
        no job can afford a machine that is full, or by their sum, as in (3.13).
    """
    upper = [-math.inf] * len(inst.resources)
    least, fraction = math.inf, math.inf
    for job in inst.jobs:
        inner = batch_slots(job, job.inner_bandwidth, inst.slot_seconds)
        shortest = max(1, ceil_tol(job.epochs * job.batches_per_chunk * inner))
        first = job.utility.log(shortest - 1)
        both = list(zip(job.worker_demand, job.ps_demand, strict=True))
        for r, demands in enumerate(both):
            some = [d for d in demands if d > 0]
            if some:
                divisor = min(some) if upper_price == SAFE else sum(demands)
                upper[r] = max(upper[r], first - math.log(divisor))
        total = math.fsum(map(math.fsum, both))
        if total == 0:
            continue
        size = math.log(worker_slots(job, job.outer_bandwidth, inst.slot_seconds) * total)
        fraction = min(fraction, size)
        longest = inst.horizon - 1 - job.arrival  # counts for a job that can never finish as well
        delays = range(min(shortest - 1, longest), longest + 1)
        earned = [x for x in map(job.utility.log, delays) if x > -math.inf]
        if earned:
            least = min(least, min(earned) - size)
    whole = math.fsum(c for row in inst.capacity for c in row)
    if not (math.isfinite(least) and whole > 0):
        return [None] * len(inst.resources), None
    inverse_mu = fraction - math.log(inst.horizon * whole)
    return [ln_or_none(u) for u in upper], inverse_mu + least - math.log(2)


def theorem_gain(delta: float) -> float:
    """Return G of Theorem 2 for W_1 = 1, which holds for every amount of work."""
    x = math.log(6 / delta)
    return 1 + x + math.sqrt(x * x + 2 * x)


def theorem_ratio(
    inst: DmlrsInstance, gain: float | None = None, delta: float | None = None
) -> float | None:
    """Return Theorem 3's ratio: 2 alpha, with rounding (6 G / delta) alpha.

    As printed alpha takes a minimum over the resources; the proof needs the maximum. None where the
    theorem does not hold: a gain below that of Theorem 2.
    """
    upper, lower = ln_bounds(inst, SAFE)
    spans = [u - lower for u in upper if u is not None and lower is not None]
    alpha = max([1.0, *spans])
    if gain is None or delta is None:
        return 2 * alpha
    return 6 * gain / delta * alpha if gain >= theorem_gain(delta) else None


ADMISSION = 1e-9  # a job is admitted if its payoff is more than this share of its utility


def proved(inst: DmlrsInstance, theorem: float) -> float | None:
    """Return the ratio of a run with exact oracles and the true U and L; None if none is proved."""
    most = [job.utility(0) for job in inst.jobs]
    least = max((alone(inst, i) for i in range(len(inst.jobs))), default=0.0)
    return proved_ratio(theorem, _posted(inst), least, 2 * ADMISSION * math.fsum(most))


def alone(inst: DmlrsInstance, i: int) -> float:
    """Return the value of a job alone with workers and PS on one machine; 0 if they cannot be.

    A lower bound on the optimum.
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
