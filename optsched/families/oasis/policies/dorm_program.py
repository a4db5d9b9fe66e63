"""Dorm's integer program: how many workers and PS every job gets on every class of equal machines.

    max   sum_i (u_i n_i + v_i m_i)                     utilization
    s.t.  sum_i w_i^r y_ic <= C_c^r                     capacity of a class of worker machines
          sum_i s_i^r z_ik <= C_k^r                     capacity of a class of PS machines
          n_i = sum_c y_ic <= N_i                       workers
          m_i = sum_k z_ik, 0 <= m_i - n_i b_i/B_i < 1  the PS that n_i workers need
          l_i >= d_i |n_i - fair_i|                     fairness loss of a job
          sum_i l_i <= theta1 sum_i d_i fair_i
          |y_ic - held_ic| <= room_ic r_i               r_i: the allocation of a running job changes
          |z_ik - held_ik| <= room_ik r_i
          sum_i r_i <= ceil(theta2 R)                   adjustment overhead; R jobs are running

y, z are integers, r is binary. The capacity of a class is that of all its machines together, so
where the single machines cannot hold an allocation, the policy changes it. u_i, v_i: part of all
machines that one worker, one PS takes, added up over resources; d_i: dominant share of one worker
with its part b_i/B_i of a PS; fair_i: the workers that dominant resource fairness gives the job;
N_i: at most the worker-slots that are missing; capacity: what the empty machines of a class hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from optsched.numbers.arrays import Flags, Floats
from optsched.scheduling.online.pool import Counts
from optsched.solvers import solve_mip

ROUNDING = 1e-6  # "< 1" is "<= 1 - ROUNDING"; the policy takes m_i from the exact table


@dataclass(frozen=True, eq=False)
class DormSide:
    """The worker machines, or the PS machines, by class: C classes."""

    demand: Floats  # (J, R) of one worker (or PS)
    capacity: Floats  # (C, R) of all machines of a class, in the same units
    max_units: Counts  # (J, C)
    held: Counts  # (J, C) what the jobs hold now
    utilization: Floats  # (J,) u or v


@dataclass(frozen=True, eq=False)
class Resizing:
    """One decision on J unfinished jobs."""

    workers: DormSide
    servers: DormSide
    most: Counts  # (J,) N
    ps_per_worker: Floats  # (J,) b / B
    share: Floats  # (J,) d
    fair: Counts  # (J,)


@dataclass(frozen=True, eq=False)
class Allocation:
    """Allocation of every job."""

    number: Counts  # (J,) n
    workers: Counts  # (J, C) y
    servers: Counts  # (J, K) z
    changed: Flags  # (J,) False: a running job keeps its machines


def resize(data: Resizing, theta1: float, theta2: float, gap: float) -> Allocation:
    """Solve the program until the utilization is within the relative ``gap`` of the best.

    If no allocation keeps both bounds, the running jobs keep what they hold, and the others get
    what is free without a bound on the fairness loss.
    """
    running = int(np.count_nonzero(data.workers.held.any(axis=1)))
    fairness = theta1 * float(data.share @ data.fair)
    found = _solve(data, fairness, math.ceil(theta2 * running), gap)
    if found is None:
        found = _solve(data, math.inf, 0, gap)
    if found is None:
        raise RuntimeError("dorm: the integer program has no solution though no change is one")
    return found


def _solve(data: Resizing, fairness: float, changes: int, gap: float) -> Allocation | None:
    jobs = len(data.most)
    run = np.flatnonzero(data.workers.held.any(axis=1))
    columns = _Columns(jobs, data.workers.max_units.shape[1], data.servers.max_units.shape[1])
    n, m, l, r = (x[:, None] for x in (columns.n, columns.m, columns.l, columns.r))  # noqa: E741
    program, one = _Rows(), np.ones((jobs, 1))
    share, ratio = data.share[:, None], data.ps_per_worker[:, None]
    fair = data.share * data.fair
    for side, x, total in ((data.workers, columns.y, n), (data.servers, columns.z, m)):
        for resource in np.flatnonzero(side.demand.any(axis=0)):
            program.add(x.T, side.demand[:, resource], -np.inf, side.capacity[:, resource])
        program.add(np.hstack((x, total)), np.hstack((np.ones_like(x), -one)), 0.0, 0.0)
        held, max_units = side.held[run].ravel(), side.max_units[run].ravel()
        pairs = np.stack((x[run].ravel(), np.repeat(r[run, 0], x.shape[1])), axis=1)
        program.add(pairs, np.stack((np.ones_like(held), -max_units), axis=1), -np.inf, held)
        program.add(pairs, np.stack((np.ones_like(held), max_units), axis=1), held, np.inf)
    program.add(np.hstack((m, n)), np.hstack((one, -ratio)), 0.0, 1 - ROUNDING)
    program.add(np.hstack((l, n)), np.hstack((one, -share)), -fair, np.inf)
    program.add(np.hstack((l, n)), np.hstack((one, share)), fair, np.inf)
    program.add(l.T, 1.0, -np.inf, fairness)
    program.add(r.T, 1.0, -np.inf, changes)

    cost, most, integer = np.zeros((3, columns.number))
    cost[columns.n], cost[columns.m] = -data.workers.utilization, -data.servers.utilization
    most[columns.y], most[columns.z] = data.workers.max_units, data.servers.max_units
    most[columns.n], most[columns.m], most[columns.l] = data.most, np.inf, np.inf
    most[columns.r[run]] = 1.0
    integer[columns.y] = integer[columns.z] = integer[columns.r] = 1
    least = np.zeros(columns.number)
    found = solve_mip(cost, *program.rows(columns.number), least, most, integer, gap=gap)
    if found.x is None:
        return None
    whole = np.rint(found.x).astype(np.int64)
    changed = (whole[columns.r] == 1) | ~data.workers.held.any(axis=1)
    return Allocation(whole[columns.n], whole[columns.y], whole[columns.z], changed)


class _Columns:
    """Indices of the variables."""

    def __init__(self, jobs: int, classes: int, kinds: int) -> None:
        self.number = jobs * (classes + kinds + 4)
        ends = np.cumsum([jobs * classes, jobs * kinds, jobs, jobs, jobs])
        y, z, self.n, self.m, self.l, self.r = np.split(np.arange(self.number), ends)
        self.y, self.z = y.reshape(jobs, classes), z.reshape(jobs, kinds)


class _Rows:
    """Collects blocks of rows that have the same number of entries each."""

    def __init__(self) -> None:
        self.blocks: list[tuple[Floats, Counts, Floats, Floats]] = []

    def add(self, columns: Counts, entries: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Add rows: ``columns`` of shape (rows, entries); the others are broadcast to it."""
        height = len(columns)
        full = np.broadcast_to(np.asarray(entries, float), columns.shape)
        low = np.broadcast_to(np.asarray(lower, float), height)
        high = np.broadcast_to(np.asarray(upper, float), height)
        self.blocks.append((full, columns, low, high))

    def rows(self, width: int) -> tuple[csr_array, Floats, Floats]:
        """Return the matrix, and the lower and upper limits of its rows."""
        lengths = np.concatenate([np.full(len(c), c.shape[1]) for _, c, _, _ in self.blocks])
        starts = np.concatenate(([0], np.cumsum(lengths)))
        entries, columns, lower, upper = (
            np.concatenate([block[part].ravel() for block in self.blocks]) for part in range(4)
        )
        shape = (len(lengths), width)
        matrix = csr_array((entries, columns, starts), shape=shape)
        matrix.eliminate_zeros()
        return matrix, lower, upper
