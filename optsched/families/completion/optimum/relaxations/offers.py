"""Dominance between modes: the ways to run of thousands of jobs that no other one makes redundant.

Mode elimination as in multi-mode project scheduling (Sprecher et al., 1997). A way to run is a
mode with one type of parameter server (PS) and the fewest PS that it may need, wherever its
workers are. It is dominated if another one with the same type of worker has no more workers, lasts
no longer, and needs no more of any resource for its PS, which fit wherever one of the others does:
at any prices it costs no less. The rest is enough for a lower bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.families.completion.instance import CompletionInstance
from optsched.families.completion.modes import Modes, Types, placeable
from optsched.families.completion.oracle.servers import units_that_fit
from optsched.numbers.arrays import Flags, Ints
from optsched.numbers.kernels import kernel


class JobRuns(NamedTuple):
    """Ways to run of all J jobs, one job after the other; of each by type of worker and duration.

    Those with the same type that last about as long are a group.
    """

    first: Ints  # (J + 1,) those of job j are first[j] .. first[j + 1] - 1
    duration: Ints  # (G,) slots
    worker_type: Ints  # (G,)
    workers: Ints  # (G,)
    together: Ints  # (G,) 1: all on one server
    kind: Ints  # (G,) type of the PS; 0 in a ring
    ps: Ints  # (G,) their number at least; 0 in a ring
    first_group: Ints  # (J + 1,) those of job j are first_group[j] .. first_group[j + 1] - 1
    group: Ints  # (Q + 1,) where they begin
    fewest: Ints  # (Q,) workers


class OfferTables(NamedTuple):
    """Tables common to all jobs: M types of workers, P of PS (1 in a ring), N numbers."""

    possible: Ints  # (M, 2, N) bits: the types of PS with which n = 1.. workers fit
    fewest: Ints  # (M, P, 2, N) PS that they need at least
    load: Ints  # (P, R) units of one PS
    within: Flags  # (P, P) whether one PS fits wherever one of the other type does
    ring: bool


def tables_of(inst: CompletionInstance, types: Types) -> OfferTables:
    """Return the tables that are common to all jobs."""
    a = inst.arrays
    capacity = a.capacity[[members[0] for members in a.classes]]  # (C, R)
    count = np.array([len(members) for members in a.classes], np.int64)
    kinds, most = max(1, len(inst.ps_types)), max((job.chunks for job in inst.jobs), default=1)
    shape = (len(a.worker_demand), 2, most)
    m, q, n = (index.ravel() for index in np.indices(shape))
    n += 1
    every = Modes(m, q, n, np.ones_like(n), np.full_like(n, 2**kinds - 1))
    possible = placeable(types, every, capacity, count).reshape(shape)
    units = [units_that_fit(capacity, demand).max(initial=0) for demand in a.worker_demand]
    top = np.minimum(most, np.array(units, np.int64))  # (M,) workers on one server
    fewest = np.zeros((shape[0], kinds, 2, most), np.int64)
    load = np.zeros((kinds, capacity.shape[1]), np.int64)
    fits: Flags = np.ones((kinds, len(capacity)), np.bool_)
    if not inst.ring:
        number = np.arange(1, most + 1)
        few = number - np.minimum(number - 1, top[:, None])  # (M, N) workers elsewhere, at least
        fewest[:, :, 1] = types.ps_needed[:, :, :1]
        fewest[:, :, 0] = np.take_along_axis(types.ps_needed, few[:, None, :], axis=2)
        load = a.ps_demand
        fits = np.asarray((load[:, None] <= capacity).all(axis=2))
    within = np.asarray(np.logical_or(fits[:, None], ~fits[None]).all(axis=2))
    return OfferTables(possible, fewest, load, within, inst.ring)


def offers_of_job(tables: OfferTables, durations: Ints) -> Ints:
    """Return the ways of a job (G, 6), sorted; its ``durations`` are (M, P, 2, N)."""
    # of a way: duration, type of worker, workers, together, type of PS, number of PS
    rows: Ints = np.empty((durations.size, 6), np.int64)
    rows = rows[: _offers(tables, durations, rows)]
    return rows[np.lexsort((*rows.T[::-1], rows[:, 1]))]


def joined(parts: list[Ints]) -> JobRuns:
    """Put the ways of all jobs one after the other."""
    first = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    every = np.concatenate([np.empty((0, 6), np.int64), *parts])
    duration, kind, workers, together, ps_kind, ps = np.ascontiguousarray(every.T)
    groups, begin = _groups(first, duration, kind)
    fewest = np.minimum.reduceat(workers, begin[:-1]) if len(every) else begin[:-1]
    return JobRuns(first, duration, kind, workers, together, ps_kind, ps, groups, begin, fewest)


@kernel
def _groups(first: Ints, duration: Ints, worker_type: Ints) -> tuple[Ints, Ints]:
    """Return where the groups of each job (J + 1,), and the ways of each group (Q + 1,) begin.

    ``first`` (J + 1,), ``duration`` (G,) in slots and ``worker_type`` (G,) are those of `JobRuns`.
    """
    of_job, group = np.zeros(first.size, np.int64), np.empty(duration.size + 1, np.int64)
    number = 0
    for j in range(first.size - 1):
        shortest = 0
        for k in range(first[j], first[j + 1]):
            other = k == first[j] or worker_type[k] != worker_type[k - 1]
            # durations that differ by less than 2**-4 of themselves are grouped
            if other or duration[k] > shortest + (shortest >> 4):
                group[number], shortest = k, duration[k]
                number += 1
        of_job[j + 1] = number
    group[number] = duration.size
    return of_job, group[: number + 1].copy()


@kernel
def _offers(tables: OfferTables, durations: Ints, rows: Ints) -> int:
    """Write the ways of a job into ``rows`` (G, 6); return how many there are.

    ``durations`` (M, P, 2, N) are slots.
    """
    types, kinds, _, most = durations.shape
    used = 0
    for m in range(types):
        begin = used
        for n in range(1, most + 1):
            for q in (1, 0):
                if tables.ring and q == 0 and n == 1:
                    continue  # two servers need two workers
                for p in range(kinds):
                    if not (tables.possible[m, q, n - 1] >> p) & 1:
                        continue
                    d, s = durations[m, p, q, n - 1], tables.fewest[m, p, q, n - 1]
                    better = False  # whether one that is known makes it superfluous
                    for k in range(begin, used):
                        if rows[k, 0] > d or not tables.within[rows[k, 4], p]:
                            continue
                        less = True
                        for r in range(tables.load.shape[1]):
                            mine = s * tables.load[p, r]
                            less &= rows[k, 5] * tables.load[rows[k, 4], r] <= mine
                        if less:
                            better = True
                            break
                    if not better:
                        rows[used, 0], rows[used, 1], rows[used, 2] = d, m, n
                        rows[used, 3], rows[used, 4], rows[used, 5] = q, p, s
                        used += 1
    return used
