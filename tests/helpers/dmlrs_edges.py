"""Tiny instances of family `dmlrs` in which whole worker-slots just train a job, or just do not."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
from dmlrs_brute import EPS, tiny

from optsched.families.dmlrs.instance import DmlrsInstance, batch_slots


def crossing(inst: DmlrsInstance, inner: int, outer: int) -> float:
    """Return the time of a mini-batch at which so many worker-slots just train job 0."""
    job = inst.jobs[0]
    times = [
        batch_slots(job, b, inst.slot_seconds) for b in (job.inner_bandwidth, job.outer_bandwidth)
    ]
    sent = [x - Fraction(str(job.batch_time)) for x in times]
    batches = job.epochs * job.chunks * job.batches_per_chunk
    low, high = 0.0, 1e6
    while math.nextafter(low, high) < high:
        mid = (low + high) / 2
        at = [Fraction(str(mid)) + x for x in sent]
        done = inner / at[0] + outer / at[1]
        low, high = (mid, high) if done >= batches * (1 - EPS) else (low, mid)
    return low


@cache
def on_the_edge(seed: int) -> DmlrsInstance:
    """Return an instance whose first job is trained, or just not, by whole worker-slots."""
    rng = np.random.default_rng([20262, seed])
    inst = tiny(int(rng.integers(10_000)))
    slots = (inst.horizon - inst.jobs[0].arrival) * inst.jobs[0].chunks
    inner = int(rng.integers(slots + 1))
    outer = int(rng.integers(slots + 1 - inner))
    time = crossing(inst, inner, outer) if inner + outer else 0.1
    for _ in range(int(rng.integers(3))):
        time = math.nextafter(time, math.inf)
    if time < 1e-3:
        return on_the_edge(seed + 10**6)
    data = inst.model_dump()
    data["jobs"] = [dict(job) for job in data["jobs"]]
    data["jobs"][0]["batch_time"] = time
    return DmlrsInstance.model_validate(data)
