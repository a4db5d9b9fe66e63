"""Modes and starts: plans of jobs on single servers, with mode, start and places of each job.

The modes of a job are those of multi-mode project scheduling (Sprecher et al., 1997).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optsched.families.completion.instance import CompletionSchedule, Piece
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.families.completion.oracle.servers import prefix_sums
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)  # multiples of the prices


class BoardTables(NamedTuple):
    """What no move changes: jobs, their modes sorted by (worker type, duration), demands, costs."""

    arrival: Ints  # (J,)
    soonest: Ints  # (J,) its first possible completion
    weight: Floats  # (J,)
    density: Floats  # (J,) over the least share of the cluster that it takes, times its time
    factors: Floats  # (F,) multiples of the prices that are tried
    first: Ints  # (J, M + 1) where the modes of a job with a worker type begin
    type_of: Ints  # (G,)
    together: Ints  # (G,) q
    workers: Ints  # (G,)
    duration: Ints  # (G,)
    mask: Ints  # (G,) bit p: PS type p will do
    class_of: Ints  # (H,)
    by_class: Ints  # (H,) servers sorted by class
    bounds: Ints  # (C + 1,) where there each class begins
    e: Ints  # (M, R) of a worker
    each: Floats  # (R, M) reciprocal: workers for a unit; infinite where they take nothing
    z: Ints  # (P, R) of a PS
    needed: Ints  # (M, P, N) PS for workers elsewhere
    worker_cost: Floats  # (M, L + 1, C) prefix sums
    ps_cost: Floats  # (P, L + 1, C)
    least: Floats  # (M, L + 1) of the cheapest class in every slot
    ring: bool


class Plans(NamedTuple):
    """How jobs run; a job that is not in has mode -1."""

    mode: Ints  # (J,)
    start: Ints  # (J,)
    kind: Ints  # (J,) PS type
    host: Ints  # (J,) server of the PS; ring: -1
    ps: Ints  # (J,) how many
    parts: Ints  # (J,) how many servers hold workers
    where: Ints  # (J, N) these
    number: Ints  # (J, N) workers there


def pieces_of(ring: bool, *columns: Ints) -> list[Piece]:
    """Return how all jobs run, each in one piece.

    ``columns`` have a row per job: duration, types of its workers and its PS, start, and then as in
    `Plans` from ``host`` on.
    """
    return [
        Piece(
            start=start,
            duration=duration,
            worker_type=worker_type,
            ps_type=None if ring else kind,
            workers=tuple(zip(where[:parts], number[:parts], strict=True)),
            ps=() if ring else ((host, ps),),
        )
        for duration, worker_type, kind, start, host, ps, parts, where, number in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def schedule_of(pieces: Sequence[Piece]) -> CompletionSchedule:
    """Return the schedule in which every job runs in one piece."""
    return CompletionSchedule(jobs=tuple((piece,) for piece in pieces))


class Copies(NamedTuple):
    """The plans of a search."""

    now: Plans
    best: Plans
    spare: Plans  # space for those of a move


def tables_of(jobs: JobTables, prices: Floats) -> BoardTables:
    """Sort the modes of ``jobs``, and sum up prices of classes of servers (L, C, R)."""
    types, demand = jobs.types, jobs.types.worker_demand.T
    kinds = np.arange(len(types.worker_demand) + 1)
    first = np.zeros((len(jobs.modes), kinds.size), np.int64)
    rows: list[Ints] = [np.empty((5, 0), np.int64)]
    begin = 0
    for i, modes in enumerate(jobs.modes):
        order = np.lexsort((modes.duration, modes.worker_type))
        sorted_types = modes.worker_type[order]
        first[i] = begin + np.searchsorted(sorted_types, kinds)
        begin += order.size
        columns = (modes.together, modes.workers, modes.duration, modes.mask)
        rows.append(np.array([sorted_types, *(column[order] for column in columns)]))
    worker_cost, ps_cost, least = sums_of(jobs, prices)
    kind, together, workers, duration, mask = np.ascontiguousarray(np.concatenate(rows, axis=1))
    return BoardTables(
        arrival=jobs.arrival,
        soonest=jobs.arrival + np.array([modes.shortest or 0 for modes in jobs.modes], np.int64),
        weight=jobs.weight.astype(np.float64),
        density=np.array([task.density for task in jobs.tasks]),
        factors=np.array(FACTORS),
        first=first,
        type_of=kind,
        together=together,
        workers=workers,
        duration=duration,
        mask=mask,
        class_of=jobs.class_of,
        by_class=np.argsort(jobs.class_of, kind="stable"),
        bounds=np.searchsorted(np.sort(jobs.class_of), np.arange(prices.shape[1] + 1)),
        e=types.worker_demand,
        each=np.ascontiguousarray(np.where(demand > 0, 1.0 / np.maximum(demand, 1), np.inf)),
        z=types.ps_demand,
        needed=types.ps_needed,
        worker_cost=worker_cost,
        ps_cost=ps_cost,
        least=least,
        ring=types.ring,
    )


def sums_of(jobs: JobTables, prices: Floats) -> tuple[Floats, Floats, Floats]:
    """Return ``worker_cost``, ``ps_cost`` and ``least`` of `BoardTables` at prices (L, C, R)."""
    worker_cost, least = prefix_sums(prices, jobs.types.worker_demand)
    return worker_cost, prefix_sums(prices, jobs.types.ps_demand)[0], least


def no_plans(tables: BoardTables) -> Plans:
    """Return plans in which no job is in."""
    jobs = tables.arrival.size
    parts = min(tables.class_of.size, int(tables.workers.max(initial=1)))
    number = [np.zeros(jobs, np.int64) for _ in range(6)]
    number[0] -= 1
    return Plans(*number, *(np.zeros((jobs, parts), np.int64) for _ in range(2)))


@kernel(nogil=True)
def copy_plan(source: Plans, target: Plans, i: int) -> None:
    """Copy how job i runs."""
    target.mode[i], target.start[i] = source.mode[i], source.start[i]
    target.kind[i], target.host[i], target.ps[i] = (source.kind[i], source.host[i], source.ps[i])
    target.parts[i] = source.parts[i]
    for x in range(source.parts[i]):
        target.where[i, x], target.number[i, x] = source.where[i, x], source.number[i, x]


@kernel(nogil=True)
def value_of(tables: BoardTables, plans: Plans, i: int, slots: int) -> float:
    """Return what job i earns: its weight times the slots after its end; 0 if it is not in."""
    k = plans.mode[i]
    if k < 0:
        return 0.0
    return float(tables.weight[i] * (slots - plans.start[i] - tables.duration[k]))


@kernel(nogil=True)
def most_value(tables: BoardTables, i: int, slots: int) -> float:
    """Return what job i earns at most."""
    return float(tables.weight[i] * (slots - tables.soonest[i]))
