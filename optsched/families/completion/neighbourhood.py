"""Neighbourhood search of family `completion`: jobs go in and out of single servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from optsched.colgen import Floats
from optsched.families.completion.blocks import Jobs
from optsched.families.completion.instance import CompletionSchedule, Ints, Piece
from optsched.families.completion.oracle import (
    Found,
    PricedServers,
    State,
    best_schedule,
    piece_of,
    placement,
)
from optsched.progress import Progress
from optsched.search import construct, improve
from optsched.streams import Streams

FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)  # multiples of the prices
MOST_OUT = 6  # jobs that are taken out at once
ANYWHERE = 0.3  # share of moves that take out any jobs, else those of about the same time
HEAT = 0.1  # of the weighted completion: what temperatures are relative to
REPORT_SECONDS = 2.0  # judging a schedule takes a while: not every step is reported at once


@dataclass(frozen=True, eq=False)
class Plan:
    """Where a job runs on the board."""

    found: Found
    workers: Ints  # (H,)
    ps: Ints
    load: Ints  # (H, R)
    hosts: Ints


class Board:
    """A feasible state: what is free on every server, and the jobs that run.

    ``value`` is the sum of w (horizon - C): a job that is not in earns nothing.

    Parameters
    ----------
    jobs : Jobs
    prices : array of shape (L, C, R)
    slots : int
        By this slot all jobs must have ended.
    """

    def __init__(self, jobs: Jobs, prices: Floats, slots: int) -> None:
        self.jobs, self.slots = jobs, slots
        self.value = 0.0
        self.plans: dict[int, Plan] = {}
        self.state = State.of(jobs.types, jobs.capacity, jobs.cluster.ones, slots)
        single = np.ascontiguousarray(prices[:, jobs.class_of, :])  # (L, H, R)
        whole = PricedServers.of(jobs.types, single, jobs.capacity, jobs.cluster.ones)
        self.servers = [
            PricedServers(
                whole.worker_cost * f, whole.ps_cost * f, whole.least * f, self.state, whole.count
            )
            for f in FACTORS
        ]

    def insert(self, i: int, factor: int) -> bool:
        """Insert job i where weight * completion + cost is least at a multiple of the prices."""
        jobs, servers = self.jobs, self.servers[factor]
        found = best_schedule(
            jobs.types,
            jobs.modes[i],
            servers,
            arrival=int(jobs.arrival[i]),
            weight=float(jobs.weight[i]),
            deadline=self.slots,
        )
        if found is None:
            return False
        workers, ps = placement(jobs.types, servers, found)
        load = jobs.column_load(found, workers, ps)
        self.restore(i, Plan(found, workers, ps, load, np.flatnonzero(workers + ps)))
        return True

    def remove(self, i: int) -> Plan:
        """Take job i out and return its plan."""
        plan = self.plans.pop(i)
        self._occupy(plan, -1)
        self.value -= self.worth(i, plan)
        return plan

    def restore(self, i: int, plan: Plan) -> None:
        """Put job i back where it was."""
        self.plans[i] = plan
        self._occupy(plan, 1)
        self.value += self.worth(i, plan)

    def worth(self, i: int, plan: Plan) -> float:
        """Return what job i earns."""
        return float(self.jobs.weight[i]) * (self.slots - plan.found.completion)

    def _occupy(self, plan: Plan, sign: int) -> None:
        found = plan.found
        self.state.occupy(
            self.jobs.types, found.start, found.completion, plan.hosts, sign * plan.load
        )


class Neighbourhood:
    """A board at given prices, and the search on it."""

    def __init__(self, jobs: Jobs, prices: Floats, slots: int) -> None:
        self.jobs = jobs
        self.board = Board(jobs, prices, slots)
        self.density = np.array([t.density for t in jobs.tasks])
        self.windows = [(int(a), slots) for a in jobs.arrival]

    def start(self, factor: int = len(FACTORS) - 2) -> None:
        """Insert all jobs, the most weight per share of the cluster first."""
        construct(self.board, np.argsort(-self.density, kind="stable").tolist(), factor)

    def load(self, plans: Mapping[int, Plan]) -> None:
        """Replace the state by ``plans``."""
        for i in list(self.board.plans):
            self.board.remove(i)
        for i, plan in plans.items():
            self.board.restore(i, plan)

    def worth(self, plans: Mapping[int, Plan]) -> float:
        """Return the board's value of ``plans``."""
        return sum(self.board.worth(i, plan) for i, plan in plans.items())

    def complete(self) -> bool:
        """Whether all jobs are in."""
        return len(self.board.plans) == len(self.jobs.modes)

    def search(
        self, monitor: Progress, *, seed: int, start: int, done: Callable[[], float]
    ) -> dict[int, Plan]:
        """Search from the present state; report every better schedule; return the best plans."""
        best, value, reported = dict(self.board.plans), self.board.value, monitor.seconds()
        self.report(monitor, best)

        def found() -> None:
            nonlocal best, value, reported
            best, value = dict(self.board.plans), self.board.value
            if monitor.seconds() > reported + REPORT_SECONDS:
                self.report(monitor, best)
                reported = monitor.seconds()

        rng = Streams(seed)("neighbourhood", start)
        whole = float(self.jobs.weight.sum()) * self.board.slots
        improve(
            self.board,
            self.density.tolist(),
            self.windows,
            len(FACTORS),
            rng,
            done=done,
            found=found,
            choose=lambda: self._together(rng),
            scale=HEAT * (whole - value),
        )
        self.report(monitor, best)
        return best

    def _together(self, rng: Generator) -> list[int]:
        """Choose jobs that run about the same time, or any."""
        plans = self.board.plans
        accepted = list(plans)
        if not accepted:
            return []
        size = min(len(accepted), 1 + int(rng.integers(MOST_OUT)))
        if rng.random() < ANYWHERE:
            return [int(i) for i in rng.choice(accepted, size=size, replace=False)]
        pivot = plans[accepted[int(rng.integers(len(accepted)))]].found
        first, last = pivot.start, pivot.completion
        near = [
            i
            for i in accepted
            if plans[i].found.start <= last and plans[i].found.completion >= first
        ]
        chosen = rng.choice(near, size=min(size, len(near)), replace=False)
        return [int(i) for i in chosen]

    def report(self, monitor: Progress, plans: Mapping[int, Plan]) -> None:
        """Report a state that holds all jobs."""
        if len(plans) == len(self.jobs.modes):
            value = sum(float(self.jobs.weight[i]) * p.found.completion for i, p in plans.items())
            monitor.incumbent(value, schedule_of(self.pieces(plans)))

    def pieces(self, plans: Mapping[int, Plan]) -> list[Piece]:
        """Return how every job runs."""
        ring = self.jobs.types.ring
        return [
            piece_of(plans[i].found, plans[i].workers, plans[i].ps, ring)
            for i in range(len(self.jobs.modes))
        ]


def schedule_of(pieces: Sequence[Piece]) -> CompletionSchedule:
    """Return the schedule in which every job runs in one piece."""
    return CompletionSchedule(jobs=tuple((piece,) for piece in pieces))
