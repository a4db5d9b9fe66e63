"""Modes of a job: worker type, PS types, locality, number of workers, duration.

For given types and locality only the smallest number of workers for each duration matters, since
prices are never negative. Parameter server (PS) types that lead to the same numbers share a mode
and are the bits of a mask. A mode that cannot be placed on the empty servers is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optsched.families.completion.instance import CompletionJob, Platform, needed_table
from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

NEVER = 2**60


class Modes(NamedTuple):
    """The modes of a job, by rising (duration, worker type, number, q)."""

    worker_type: Ints  # (G,) index
    together: Ints  # (G,) q, 0 or 1
    workers: Ints  # (G,) how many
    duration: Ints  # (G,) slots
    mask: Ints  # (G,) bit p: PS type p will do; ring: 1

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.duration.size)

    @property
    def shortest(self) -> int | None:
        """The least duration; None if the job cannot run."""
        return int(self.duration[0]) if self.size else None

    def at_most(self, duration: int) -> Modes:
        """Return the modes that are no longer than ``duration``."""
        return self.take(np.arange(int(np.searchsorted(self.duration, duration, side="right"))))

    def take(self, index: Ints) -> Modes:
        """Return some of the modes."""
        return Modes(*(column[index] for column in self))


class Types(NamedTuple):
    """Demands of all kinds of workers and PS, and how many PS workers elsewhere need."""

    worker_demand: Ints  # (M, R) units of each resource
    ps_demand: Ints  # (P, R) the same
    ps_needed: Ints  # (M, P, most + 1)
    ring: bool


def job_modes(platform: Platform, types: Types, job: CompletionJob) -> Modes:
    """Return every mode of ``job`` that some placement on the empty servers of ``platform`` has."""
    arrays = platform.arrays
    modes = _group(platform.durations(job), platform.ring)
    capacity = arrays.capacity[[c[0] for c in arrays.classes]]
    count = np.array([len(c) for c in arrays.classes], np.int64)
    possible = placeable(types, modes, capacity, count)
    return modes._replace(mask=possible).take(np.flatnonzero(possible))


def _group(durations: Ints, ring: bool) -> Modes:
    """Return the modes with the least number of workers for their duration, on whatever servers.

    PS types alike share a mode.
    """
    rows = np.empty((5, durations.size), np.int64)
    rows = rows[:, : _fewest(durations, ring, rows)]
    d, m, n, q, mask = rows.take(np.lexsort(rows[3::-1]), axis=1)
    return Modes(m, q, n, d, mask)


@kernel
def _fewest(durations: Ints, ring: bool, out: Ints) -> int:
    """Write (duration, worker type, number, q, mask) of modes to ``out`` (5, ...); return how many.

    ``durations`` (M, P, 2, D) are in slots, for all types, q and 1 to D workers.
    """
    types, kinds, _, most = durations.shape
    size = 0
    best = np.empty(kinds, np.int64)  # slots, with fewer workers
    for m in range(types):
        for q in range(2):
            best[:] = NEVER
            for n in range(2 if ring and q == 0 else 1, most + 1):  # two servers: two workers
                begin = size
                for p in range(kinds):
                    d = durations[m, p, q, n - 1]
                    if d >= best[p]:
                        continue
                    best[p] = d
                    k = begin
                    while k < size and out[0, k] != d:
                        k += 1
                    if k == size:
                        size += 1
                        out[0, k], out[1, k], out[2, k], out[3, k], out[4, k] = d, m, n, q, 0
                    out[4, k] |= 1 << p
    return size


@dataclass(frozen=True, eq=False)
class ArrivedJob:
    """A job that has arrived, and its modes."""

    job: CompletionJob
    modes: Modes
    density: float  # weight over the least share of the cluster that it takes, times its time


class Cluster:
    """The servers of a platform as the kernels see them, and the modes of jobs on them."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.arrays = platform.arrays
        self._extend(self.arrays.ps_needed.shape[2] - 1)
        self.ones = np.ones(len(self.arrays.capacity), np.int64)
        self.natural = np.array(platform.capacity, float) * self.arrays.scale  # (H, R)
        self.whole = np.maximum(self.arrays.capacity.sum(axis=0), 1)

    def _extend(self, most: int) -> None:
        a = self.arrays
        table = a.ps_needed
        if most >= table.shape[2]:
            table = needed_table(self.platform, most)
        # of its own: kernels are called more quickly with arrays that could be written
        arrays = (a.worker_demand.copy(), a.ps_demand.copy(), table.copy())
        self.types = Types(*arrays, self.platform.ring)

    def task(self, job: CompletionJob) -> ArrivedJob:
        """Work out the modes of ``job``; none if it fits nowhere."""
        if job.chunks >= self.types.ps_needed.shape[2]:
            self._extend(2 * job.chunks)
        modes = job_modes(self.platform, self.types, job)
        share = self.types.worker_demand[modes.worker_type] * modes.workers[:, None] / self.whole
        area = share.max(axis=1, initial=0.0) * modes.duration
        return ArrivedJob(job, modes, job.weight / max(float(area.min(initial=np.inf)), 1e-300))


@kernel
def placeable(types: Types, modes: Modes, capacity: Ints, count: Ints) -> Ints:
    """Return the masks (G,) without the PS types that fit nowhere on empty servers.

    One server of each class has ``capacity`` (C, R) units, and there are ``count`` (C,) of them.
    """
    e, z, needed, ring = types
    worker_type, together, workers, _, mask = modes
    classes, resources = capacity.shape
    out, max_units = np.empty(mask.size, np.int64), np.empty(classes, np.int64)
    for k in range(mask.size):
        out[k] = 0
        m, n = worker_type[k], workers[k]
        total = 0
        for c in range(classes):
            max_units[c] = n
            for r in range(resources):
                if e[m, r] > 0:
                    max_units[c] = min(max_units[c], capacity[c, r] // e[m, r])
            total += count[c] * max_units[c]
        if ring:
            for c in range(classes):
                if together[k] == 1 and max_units[c] >= n:
                    out[k] = 1
            spread = 0
            for c in range(classes):
                spread += count[c] * min(max_units[c], n - 1)
            if together[k] == 0 and n > 1 and spread >= n:
                out[k] = 1
            continue
        for p in range(z.shape[0]):
            if not (mask[k] >> p) & 1:
                continue
            possible = False
            for c in range(classes):
                low = n if together[k] == 1 else 0
                high = n if together[k] == 1 else min(max_units[c], n - 1)
                for g in range(low, high + 1):
                    if g > max_units[c] or total - max_units[c] < n - g:
                        continue
                    fits = True
                    s = needed[m, p, n - g]
                    for r in range(resources):
                        fits &= g * e[m, r] + s * z[p, r] <= capacity[c, r]
                    if fits:
                        possible = True
                        break
                if possible:
                    break
            if possible:
                out[k] |= 1 << p
    return out
