"""Estimates of U and L from past experience, as the paper has them.

Paper: Bao et al., Sec. IV: their "exact values are not known before all jobs have arrived. Instead,
we adopt their estimated values (based on past experience)". What experience is left open. Here it
is the jobs of earlier instances, by a rule that looks at no result: formulas (23)-(26) over these
jobs, in which only utilities count that are at least a share of what the job
would earn without any delay. So jobs that can earn next to nothing do not set L, though they are
there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from optsched.families.oasis.instance import OasisInstance
from optsched.scheduling.online.separated import LnBounds, Prospect, ln_bounds

MIN_SHARE = 0.01  # share of the utility without delay from which a utility counts


class Estimate(NamedTuple):
    """ln U^r and ln L for workers and for parameter servers."""

    workers: LnBounds
    ps: LnBounds


def learn(past: Sequence[OasisInstance], *, min_share: float = MIN_SHARE) -> Estimate:
    """Return U and L of the jobs of earlier instances: the largest and the smallest of them all.

    Parameters
    ----------
    past : sequence of OasisInstance
        With machines as now; other jobs.
    min_share : float
        Share of the utility without delay from which a utility counts, above 0.

    Raises
    ------
    ValueError
        There is no instance, or none of their jobs has a positive utility.
    """
    if not past or not 0 < min_share <= 1:
        raise ValueError(
            f"{len(past)} instances, min_share {min_share}: expected one, and a share above 0"
        )
    sides = [
        _merged([_bounds(inst, side, min_share) for inst in past]) for side in ("worker", "ps")
    ]
    if all(lower is None for _, lower in sides):
        raise ValueError(f"no job of the {len(past)} past instances has a positive utility")
    return Estimate(*sides)


def _bounds(inst: OasisInstance, side: str, min_share: float) -> LnBounds:
    jobs = [
        Prospect(
            getattr(job, f"{side}_demand"), work, shortest, job.arrival,
            _cut_off(job.utility.log, min_share),
        )
        for job, work, shortest in zip(inst.jobs, inst.work, inst.shortest, strict=True)
    ]  # fmt: skip
    capacity = inst.worker_capacity if side == "worker" else inst.ps_capacity
    return ln_bounds(jobs, capacity, inst.horizon)


def _cut_off(ln_utility: Callable[[int], float], min_share: float) -> Callable[[int], float]:
    """Return a utility that is nothing where it is below a share of that without delay."""
    least = ln_utility(0) + math.log(min_share)

    def counted(delay: int) -> float:
        value = ln_utility(delay)
        return value if value >= least else -math.inf

    return counted


def _merged(bounds: Sequence[LnBounds]) -> LnBounds:
    uppers = [
        max((u for u in column if u is not None), default=None)
        for column in zip(*(upper for upper, _ in bounds), strict=True)
    ]
    return uppers, min((low for _, low in bounds if low is not None), default=None)
