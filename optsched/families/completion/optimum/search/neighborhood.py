"""Large neighborhood search of `completion`: state and insertion of jobs on single servers.

Jobs are removed and reinserted (Shaw, 1998); `annealing` makes the moves,
`parallel_annealing` runs them in threads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.completion.instance import CompletionSchedule, Piece
from optsched.families.completion.optimum.board.insertion import insert
from optsched.families.completion.optimum.board.plans import (
    Plans,
    no_plans,
    pieces_of,
    schedule_of,
    sums_of,
    tables_of,
    value_of,
)
from optsched.families.completion.optimum.board.scratch import new_workspace
from optsched.families.completion.optimum.board.servers import (
    GIVE,
    TAKE,
    empty_servers,
    occupy,
    unit_of,
)
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.numbers.arrays import Floats
from optsched.process import interrupts, work_units

SERVER_STEPS, MODE_STEPS = 125, 50  # of an insertion, for every server and every mode
CALLING = 5000  # steps that cost as much as calling a kernel


class Neighborhood:
    """A feasible state, and the search from it.

    ``value`` is the sum of w (slots - C): a job that is not in earns nothing.

    Parameters
    ----------
    jobs : Jobs
    prices : array of shape (L, C, R)
        On capacity of classes of servers.
    slots : int
        By this slot all jobs must have ended.
    """

    def __init__(self, jobs: JobTables, prices: Floats, slots: int) -> None:
        self.jobs, self.slots = jobs, slots
        self.tables = tables_of(jobs, prices)
        self.servers = empty_servers(jobs, slots)
        self.plans = no_plans(self.tables)
        self.workspace = new_workspace(self.tables, unit_of(jobs.capacity), slots)
        self.value = 0.0
        modes = self.tables.duration.size / max(1, len(jobs.modes))
        self.steps = SERVER_STEPS * len(jobs.capacity) + MODE_STEPS * modes
        """About how many elementary steps an insertion takes."""

    def insert(self, i: int, factor: float) -> bool:
        """Insert job i where weight * completion + cost is least at a multiple of the prices."""
        work_units.steps(self.steps)
        fits = bool(self._insert(i, factor))
        self.value += value_of(self.tables, self.plans, i, self.slots)
        return fits

    def _insert(self, i: int, factor: float) -> bool:
        interrupts.leave_if_abandoned()
        state = self.tables, self.servers, self.plans, self.workspace
        return bool(insert(*state, i, factor, self.slots))

    def remove(self, i: int) -> None:
        """Take job i out."""
        self.value -= value_of(self.tables, self.plans, i, self.slots)
        occupy(self.tables, self.servers, self.plans, self.workspace, i, GIVE)
        self.plans.mode[i] = -1

    def construct(self, order: Sequence[int], factor: float) -> None:
        """Insert the jobs one after the other into empty servers."""
        self.load(no_plans(self.tables))
        work_units.steps((CALLING + self.steps) * len(order))
        for i in order:
            self._insert(i, factor)
        self.value = sum(self._earned()[order].tolist(), 0.0)

    def load(self, plans: Plans) -> None:
        """Replace the state by ``plans``."""
        for i in np.flatnonzero(self.plans.mode >= 0).tolist():
            self.remove(i)
        there = plans.mode >= 0
        for mine, other in zip(self.plans, plans, strict=True):
            mine[there] = other[there]
        for i in np.flatnonzero(there).tolist():
            occupy(self.tables, self.servers, self.plans, self.workspace, i, TAKE)
        self.value = sum(self._earned().tolist(), 0.0)

    def _earned(self) -> Floats:
        """Return what every job earns, shape (J,): as `value_of`, of all at once."""
        value: Floats = self.tables.weight * np.maximum(self.slots - self.ends(self.plans), 0.0)
        return value

    def snapshot(self) -> Plans:
        """Return a copy of the present plans."""
        return Plans(*(array.copy() for array in self.plans))

    def complete(self) -> bool:
        """Whether all jobs are in."""
        return bool((self.plans.mode >= 0).all())

    def ends(self, plans: Plans) -> Floats:
        """Return when jobs end, shape (J,); infinity for those that are not in."""
        ends = plans.start + self.tables.duration[plans.mode]
        return np.where(plans.mode >= 0, ends, np.inf)

    def cost(self, plans: Plans) -> float:
        """Return the weighted completion of ``plans``; infinity unless all jobs are in."""
        if not (plans.mode >= 0).all():
            return float(np.inf)
        return float(self.jobs.weight @ self.ends(plans))

    def reprice(self, prices: Floats) -> None:
        """Go on at other prices on capacity, (L, C, R)."""
        worker_cost, ps_cost, least = sums_of(self.jobs, prices)
        self.tables = self.tables._replace(worker_cost=worker_cost, ps_cost=ps_cost, least=least)

    def report(self, progress: Progress, plans: Plans) -> None:
        """Report a state that holds all jobs."""
        if (plans.mode >= 0).all():
            progress.incumbent(self.cost(plans), schedule_of(self.pieces(plans)))

    def pieces(self, plans: Plans) -> list[Piece]:
        """Return how every job runs."""
        t, (mode, start, kind, *places) = self.tables, plans
        ring = self.jobs.types.ring
        return pieces_of(ring, t.duration[mode], t.type_of[mode], kind, start, *places)

    def plans_of(self, schedule: CompletionSchedule) -> Plans | None:
        """Return the plans of a schedule; None where a job has no mode that is known here.

        PS are on one server, no more of them than are needed, and a job lasts as long as its mode.
        """
        plans, tables = no_plans(self.tables), self.tables
        for i, (piece, *_) in enumerate(schedule.jobs):
            m, kind = piece.worker_type, piece.ps_type or 0
            first, end = tables.first[i, m : m + 2].tolist()
            modes = [
                k
                for k in range(first, end)
                if tables.together[k] == piece.together
                and tables.workers[k] == piece.number
                and tables.duration[k] <= piece.duration
                and tables.mask[k] >> kind & 1
            ]
            if not modes:
                return None
            here = dict(piece.workers)
            host, ps = -1, 0
            for h, number in piece.ps:
                needed = int(tables.needed[m, kind, piece.number - here.get(h, 0)])
                if number >= needed:
                    host, ps = h, needed
            plans.mode[i], plans.start[i], plans.kind[i] = modes[0], piece.start, kind
            plans.host[i], plans.ps[i], plans.parts[i] = host, ps, len(here)
            plans.where[i, : len(here)] = list(here)
            plans.number[i, : len(here)] = list(here.values())
        return plans
