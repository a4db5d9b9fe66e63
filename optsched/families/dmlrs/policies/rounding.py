"""Algorithm 4, outer part: linear relaxation of (3.22), gain G, randomized rounding.

Rounding is repeated until the placement is feasible, at most a number of times; then the exact
placement takes its place. Both are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from scipy.sparse import coo_array

from optsched import solvers
from optsched.families.dmlrs.oracle.request import Request
from optsched.numbers.arrays import Flags, Floats, Ints
from optsched.scheduling.oracle.slots import unit_prices

BATCH = 64  # roundings that are drawn and tested at once
GRAIN = 1e-9  # a fractional number this close to a whole one is whole


@dataclass(frozen=True)
class SlotProblem:
    """One job in one slot: unit prices, free capacity, and the job's demand."""

    worker: Floats  # (H,) price of a worker
    ps: Floats  # (H,)
    free: Floats  # (R, H)
    worker_demand: Floats  # (R,)
    ps_demand: Floats  # (R,)
    ps_inner: Ints  # (K + 1,)
    ps_outer: Ints  # (K + 1,)

    @classmethod
    def of(cls, job: Request, price: Floats, free: Floats) -> Self:
        """Return the problem of a job at prices (R, H) per unit."""
        worker, ps = np.empty(price.shape[1]), np.empty(price.shape[1])
        unit_prices(price, job.worker_demand, worker)
        unit_prices(price, job.ps_demand, ps)
        return cls(worker, ps, free, job.worker_demand, job.ps_demand, job.ps_inner, job.ps_outer)

    def feasible(self, w: Floats, s: Floats, workers: int) -> Flags:
        """Return which of the placements (n, H) hold ``workers`` under (3.2)-(3.5) and (3.23)."""
        total, servers = w.sum(axis=-1), s.sum(axis=-1)
        most = len(self.ps_outer) - 1
        good: Flags = (total >= workers) & (total <= most) & (servers <= total)
        load = (
            w[:, None, :] * self.worker_demand[None, :, None]
            + s[:, None, :] * self.ps_demand[None, :, None]
        )
        good &= (load <= self.free[None]).all(axis=(1, 2))
        number = np.minimum(total, most).astype(np.int64)
        alone = ((w + s) > 0).sum(
            axis=-1
        ) == 1  # lands on one machine, so it runs at the inner rate
        needed = np.where(alone, self.ps_inner[number], self.ps_outer[number])
        good &= (needed >= 0) & (servers >= needed) & (servers >= self.ps_outer[workers])
        return good

    def cost(self, w: Floats, s: Floats) -> float:
        """Return the cost of a placement."""
        return float(w @ self.worker + s @ self.ps)


class PlacementRelaxation:
    """(3.22)-(3.25) without integrality, solved for one number of workers after the other."""

    def __init__(self, problem: SlotProblem) -> None:
        self.problem = problem
        r, h = problem.free.shape
        rows: list[Ints] = []
        cols: list[Ints] = []
        values: list[Floats] = []
        for side, demand in enumerate((problem.worker_demand, problem.ps_demand)):
            for k in np.flatnonzero(demand):
                rows.append(k * h + np.arange(h))
                cols.append(side * h + np.arange(h))
                values.append(np.full(h, demand[k] / max(1.0, problem.free[k].max())))
            rows.append(np.full(h, r * h + side))
            cols.append(side * h + np.arange(h))
            values.append(np.ones(h))
        matrix = coo_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))),
            shape=(r * h + 2, 2 * h),
        )
        scale = np.maximum(1.0, problem.free.max(axis=1, initial=0.0))[:, None]
        self.first = r * h
        self.unit = max(float(problem.worker.max()), float(problem.ps.max()), 1e-300)
        lower = np.concatenate([np.full(r * h, -np.inf), [0.0, 0.0]])
        upper = np.concatenate([np.maximum(problem.free / scale, 0.0).ravel(), [np.inf, np.inf]])
        self.h = solvers.highs()
        cost = np.concatenate([problem.worker, problem.ps]) / self.unit
        most = np.full(2 * h, float(len(problem.ps_outer)))
        solvers.load(self.h, cost, matrix, lower, upper, np.zeros(2 * h), most)

    def solve(self, workers: int) -> tuple[Floats, Floats] | None:
        """Return fractional numbers of workers and PS by machine, None if nothing fits."""
        for row, least in enumerate((workers, int(self.problem.ps_outer[workers]))):
            self.h.changeRowBounds(self.first + row, float(least), np.inf)
        self.h.run()
        if self.h.getModelStatus().name != "kOptimal":
            return None
        x = np.maximum(np.array(self.h.getSolution().col_value), 0.0)
        half = x.size // 2
        return x[:half], x[half:]


@dataclass
class Tally:
    """How often was rounded."""

    solved: int = 0  # relaxations with a solution
    rounds: int = 0
    failed: int = 0  # not feasible within the limit

    def add(self, rounds: int, success: bool) -> None:
        """Note one relaxation."""
        self.solved += 1
        self.rounds += rounds
        self.failed += not success


def round_until_feasible(
    problem: SlotProblem,
    fractional: tuple[Floats, Floats],
    workers: int,
    gain: float,
    most_rounds: int,
    rng: Generator,
) -> tuple[Floats, Floats, int] | int:
    """Round G times the fractional numbers up or down at random, (3.26)-(3.27).

    Returns
    -------
    (workers by machine, PS by machine, rounds) or rounds
        Just the number of rounds if none of ``most_rounds`` was feasible.
    """
    x = gain * np.concatenate(fractional)
    x = np.where(np.abs(x - np.rint(x)) < GRAIN, np.rint(x), x)
    low = np.floor(x)
    share = x - low
    half = x.size // 2
    if not share.any():  # nothing is random: once is enough
        most_rounds = min(most_rounds, 1)
    done = 0
    while done < most_rounds:
        batch = min(BATCH, most_rounds - done)
        drawn = low + (rng.random((batch, x.size)) < share)
        good = problem.feasible(drawn[:, :half], drawn[:, half:], workers)
        if good.any():
            k = int(good.argmax())
            return drawn[k, :half], drawn[k, half:], done + k + 1
        done += batch
    return done
