"""Whether jobs waited although the recorded schedule left enough free: what a partial log shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.families.rigid.instance import RigidInstance
from optsched.numbers.arrays import Flags, Ints

MOST = 1000  # jobs that are looked at
CYCLE = 60  # s: shorter waits may only be due to when the scheduler runs


def free_while_waiting(inst: RigidInstance, starts: Sequence[int]) -> tuple[float, float, int]:
    """Return for which share of waiting times there was enough free, their hours, and of how many.

    These are at most `MOST` jobs that waited longer than `CYCLE` and started before the last one
    arrived: all that could run while they waited is then in the window. Nodes count as one pool,
    or as one per partition.
    """
    start = np.array(starts, np.int64)
    arrival = np.array([job.arrival for job in inst.jobs], np.int64)
    need = np.array([[job.tasks * d for d in job.need] for job in inst.jobs], np.int64)
    ends = start + [job.run for job in inst.jobs]
    times, which = np.unique(np.concatenate([[0], start, ends]), return_inverse=True)
    used = np.zeros((len(times), len(inst.resources)), np.int64)
    np.add.at(used, which.ravel(), np.concatenate([0 * need[:1], need, -need]))
    free: Ints = np.array(inst.total) - np.cumsum(used, axis=0)  # from each of the times on
    waited = np.flatnonzero((start > arrival + CYCLE) & (start <= arrival.max()))
    waited = waited[:: 1 + len(waited) // MOST]
    idle = whole = 0
    for i in waited:
        first = int(np.searchsorted(times, arrival[i], "right")) - 1
        last = int(np.searchsorted(times, start[i]))
        spans = np.diff(np.clip(times[first : last + 1], arrival[i], start[i]))
        enough: Flags = np.all((free[first:last] >= need[i]) | (need[i] == 0), axis=1)
        idle += int(spans[enough].sum())
        whole += int(start[i] - arrival[i])
    return idle / max(1, whole), whole / 3600, len(waited)
