"""Large neighborhood search of `completion`: jobs leave single servers and return at prices.

Jobs that run at about the same time, or on the same servers, are removed and reinserted one by one
(Shaw, 1998; Schrimpf et al., 2000), each where the oracle of one job finds the least weighted
completion plus rent; simulated annealing accepts or rejects the move (Kirkpatrick et al., 1983).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optsched.engine.params import Amount, Count, Factor, Share
from optsched.families.completion.instance import CompletionSchedule, Piece
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.families.completion.oracle.schedule import (
    best_schedule,
    load_of,
    piece_of,
    placement,
)
from optsched.families.completion.oracle.servers import PricedServers, ServerState
from optsched.numbers.arrays import Floats, Ints
from optsched.process import interrupts, work_units

FACTORS = (0.25, 0.5, 0.75, 1.0, 1.25)  # multiples of the prices


@dataclass(frozen=True)
class NeighborhoodParams:
    """Parameters of the search.

    Attributes
    ----------
    most_out : int
        Most jobs that one move removes.
    anywhere : float
        Share of moves that remove random jobs; the others remove jobs that run at about the same
        time.
    place : float
        Share of the latter moves whose jobs also share a server.
    common : float
        Share of insertions that use the price multiple of their move; the others draw one.
    cooling : pair of float
        Initial and final temperature of simulated annealing, relative to the weighted completion
        time.
    exponent : float
        Exponent of the elapsed share of time in the cooling schedule; above 1, the temperature
        falls slowly at first.
    """

    most_out: Count = 6
    anywhere: Share = 0.05
    place: Share = 0.5
    common: Share = 0.7
    cooling: tuple[Factor, Factor] = (1e-3, 1e-5)
    exponent: Amount = 2.0


class Plan(NamedTuple):
    """Start, mode and hosts of a job, and the load on each host."""

    piece: Piece
    hosts: Ints  # servers
    load: Ints  # (H, R) units


Plans = list[Plan | None]  # of all jobs; None: it is not in


def cost(jobs: JobTables, plans: Sequence[Plan | None]) -> float:
    """Return the weighted completion of plans; infinity unless all jobs are in."""
    if None in plans:
        return math.inf
    return float(jobs.weight @ [plan.piece.end for plan in plans if plan is not None])


def plans_of(jobs: JobTables, schedule: CompletionSchedule) -> Plans:
    """Return the plans of a schedule."""
    found: Plans = []
    for piece, *_ in schedule.jobs:
        load = jobs.load(piece)
        found.append(Plan(piece, np.flatnonzero(load.any(axis=1)), load))
    return found


def schedule_of(plans: Sequence[Plan | None]) -> CompletionSchedule:
    """Return the schedule of plans that hold all jobs."""
    return CompletionSchedule(jobs=tuple((plan.piece,) for plan in plans if plan is not None))


class Neighborhood:
    """A feasible state, and the search from it.

    ``value`` is the sum of w (slots - C): a job that is not in earns nothing.

    Parameters
    ----------
    jobs : JobTables
    prices : array of shape (L, C, R)
        On capacity of classes of servers.
    slots : int
        By this slot all jobs must have ended.
    """

    def __init__(
        self,
        jobs: JobTables,
        prices: Floats,
        slots: int,
        params: NeighborhoodParams = NeighborhoodParams(),
    ) -> None:
        self.jobs, self.slots, self.params = jobs, slots, params
        one = jobs.cluster.ones
        self.state = ServerState.of(jobs.types, jobs.capacity, one, slots)
        single = np.ascontiguousarray(prices[:, jobs.class_of])
        priced = PricedServers.of(jobs.types, single, jobs.capacity, one)
        self.servers = priced._replace(**self.state._asdict())
        self.plans: Plans = [None] * len(jobs.modes)
        shortest = np.array([modes.shortest or 0 for modes in jobs.modes])
        self.most = jobs.weight * (slots - jobs.arrival - shortest)  # (J,) that a job may earn
        self.value = 0.0

    def insert(self, i: int, factor: float, latest: int | None = None) -> bool:
        """Insert job i where weight * completion + cost is least, to end by ``latest``.

        The prices are taken ``factor`` times. Return whether it fits anywhere.
        """
        jobs = self.jobs
        interrupts.leave_if_abandoned()
        # of an insertion, and for every server
        usual = 50_000 + 2_000 * len(jobs.capacity)
        work_units.steps(usual)
        last = self.slots if latest is None else latest
        found = best_schedule(
            jobs.types,
            jobs.modes[i],
            self.servers,
            arrival=int(jobs.arrival[i]),
            weight=float(jobs.weight[i]) / factor,
            deadline=last,
        )
        looked = (last if found is None else found.completion) - int(jobs.arrival[i])
        work_units.spend(work_units.STEP * max(0, 5 * looked * len(jobs.capacity) - usual))
        if found is None:
            return False
        workers, ps = placement(jobs.types, self.servers, found)
        load = load_of(jobs.types, found, workers, ps)
        piece = piece_of(found, workers, ps, jobs.types.ring)
        self.put(i, Plan(piece, np.flatnonzero(workers + ps), load))
        return True

    def put(self, i: int, plan: Plan) -> None:
        """Let job i run so."""
        piece, hosts, load = plan
        self.state.occupy(self.jobs.types, piece.start, piece.end, hosts, load)
        self.plans[i] = plan
        self.value += self.earned(i, plan)

    def remove(self, i: int) -> None:
        """Take job i out, if it is in."""
        plan = self.plans[i]
        if plan is not None:
            piece, hosts, load = plan
            self.state.occupy(self.jobs.types, piece.start, piece.end, hosts, -load)
            self.plans[i] = None
            self.value -= self.earned(i, plan)

    def earned(self, i: int, plan: Plan) -> float:
        """Return what job i earns: its weight times the slots after its end."""
        return float(self.jobs.weight[i]) * (self.slots - plan.piece.end)

    def construct(self, order: Sequence[int], factor: float) -> None:
        """Insert the jobs one after the other into empty servers."""
        self.load([None] * len(self.plans))
        for i in order:
            self.insert(i, factor)

    def load(self, plans: Sequence[Plan | None]) -> None:
        """Replace the state by ``plans``."""
        for i, plan in enumerate(plans):
            if plan is not self.plans[i]:
                self.remove(i)
        for i, plan in enumerate(plans):
            if plan is not None and self.plans[i] is None:
                self.put(i, plan)

    def anneal(
        self,
        rng: np.random.Generator,
        done: Callable[[], float],
        report: Callable[[Plans], None] = lambda _: None,
    ) -> Plans:
        """Make moves until ``done``, the share of the time that has passed, is 1.

        Return the best plans; ``report`` receives each that is better.
        """
        best, most = list(self.plans), self.value
        scale = float(self.jobs.weight.sum()) * self.slots - self.value
        while (passed := done()) < 1.0:
            self.move(
                scale
                * self.params.cooling[0]
                * (self.params.cooling[1] / self.params.cooling[0]) ** passed**self.params.exponent,
                rng,
            )
            # relative: rounding
            if self.value > most * (1 + 1e-12):
                best, most = list(self.plans), self.value
                report(best)
        return best

    def move(self, heat: float, rng: np.random.Generator) -> None:
        """Take some jobs out and insert them again; undo that unless it is accepted."""
        need = self.value + heat * math.log(max(rng.random(), 1e-300))  # to be kept
        before = list(self.plans)
        out = self._sorted(self._choose(rng), rng)
        hope = float(self.most[out].sum())  # what jobs that are out may earn at most
        for i in out:
            self.remove(i)
        common = FACTORS[rng.integers(len(FACTORS))]
        for i in out:
            factor = (
                common if rng.random() < self.params.common else FACTORS[rng.integers(len(FACTORS))]
            )
            hope -= float(self.most[i])
            # a job that ends later makes the move too bad, whatever the others earn
            lost = max(0.0, need - self.value - hope) / float(self.jobs.weight[i])
            # slots
            latest = self.slots - math.ceil(lost - 1e-6)
            if not self.insert(i, factor, latest) and self.value + hope < need:
                break
        if self.value < need:
            self.load(before)

    def _choose(self, rng: np.random.Generator) -> list[int]:
        """Return jobs to take out, and all that are not in."""
        pivot, other = rng.integers(len(self.plans), size=2).tolist()
        first, second = self.plans[pivot], self.plans[other]
        if first is not None and second is not None and second.piece.start < first.piece.start:
            pivot, first = other, second  # what starts early decides on more
        kind, near, out = rng.random(), [], [pivot]
        hosts = set() if first is None else set(first.hosts.tolist())
        for i, plan in enumerate(self.plans):
            if plan is None or i == pivot:
                out += [i] if i != pivot else []
            elif first is None or kind < self.params.anywhere:
                near.append(i)
            elif plan.piece.start <= first.piece.end and plan.piece.end >= first.piece.start:
                meet = kind < 1 - self.params.place or not hosts.isdisjoint(plan.hosts.tolist())
                near += [i] if meet else []
        number = min(len(near), int(rng.integers(self.params.most_out)))
        out += rng.permutation(near)[:number].astype(int).tolist()
        return out

    def _sorted(self, out: list[int], rng: np.random.Generator) -> list[int]:
        """Sort jobs at random, roughly by density, or roughly as they started."""
        kind, noise = int(rng.integers(3)), rng.random(len(out))
        if kind == 0:
            keys = noise
        elif kind == 1:
            density = np.array([self.jobs.tasks[i].density for i in out])
            keys = -density * (0.7 + 0.6 * noise)
        else:
            plans = [self.plans[i] for i in out]
            starts = np.array([0 if plan is None else plan.piece.start for plan in plans])
            keys = starts * (0.9 + 0.2 * noise)
        return [out[k] for k in np.argsort(keys, kind="stable").tolist()]
