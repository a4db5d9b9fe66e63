"""Constraint programming: the definition as a CP-SAT model with one interval per job.

See Perron et al. (2023). A job has a mode, a start, workers and PS on every server; each server
and resource is a cumulative constraint (Aggoun and Beldiceanu, 1993) over an interval of every
job, whose demand is what the job has there. One host of parameter servers (PS) is enough, see
`oracle`. All data are integers: loads in ``resources.Units``, the PS that workers elsewhere need
by table, weights in a unit so fine that rounding them down is invisible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.completion.instance import (
    CompletionInstance,
    CompletionSchedule,
    Piece,
)
from optsched.families.completion.optimum.horizon import latest_ends
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.numbers.arrays import Ints
from optsched.numbers.resources import exact
from optsched.process.interrupts import leave_if_abandoned
from optsched.proofs.grid import float_below
from optsched.scheduling.declared import affordable, unless_stopped
from optsched.scheduling.definition import solve_definition
from optsched.solvers import cp_domain, cp_program


@dataclass(frozen=True)
class Choices:
    """Modes of a job, rows [worker type, PS type, q, workers, duration], and their starts."""

    modes: Ints  # (K, 5)
    starts: Sequence[Sequence[int]]  # allowed starts of each mode


def all_choices(jobs: JobTables, ends: Sequence[int]) -> list[Choices]:
    """Return all modes and starts of every job that end by its slot of ``ends``."""
    out = []
    for j, (modes, end) in enumerate(zip(jobs.modes, ends, strict=True)):
        arrival = int(jobs.arrival[j])
        rows = unmasked(jobs, j)
        rows = rows[arrival + rows[:, 4] <= end]
        out.append(Choices(rows, [range(arrival, end - int(d) + 1) for d in rows[:, 4]]))
        assert modes.size
    return out


def unmasked(jobs: JobTables, j: int) -> Ints:
    """Return the rows [worker type, PS type, q, workers, duration] of all modes of job j."""
    modes, kinds = jobs.modes[j], max(1, len(jobs.types.ps_demand))
    parts = []
    for p in range(kinds):
        mine = modes.take(np.flatnonzero((modes.mask >> p) & 1))
        kind = np.full(mine.size, p)
        columns = (mine.worker_type, kind, mine.together, mine.workers, mine.duration)
        parts.append(np.stack(columns, axis=1))
    return np.concatenate(parts)


def cpsat(inst: CompletionInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the definition with CP-SAT; report every schedule that is found, and the bound.

    Parameters
    ----------
    inst : CompletionInstance
    progress : Progress
    threads, seed : int
        Of the solver.
    """
    jobs = unless_stopped(lambda: JobTables(inst), progress)
    if jobs is None:
        return
    if jobs.impossible() is not None:
        progress.infeasible = True
        return
    choices = all_choices(jobs, latest_ends(jobs, progress))
    pairs = sum(len(choice.modes) for choice in choices) * len(jobs.capacity)
    # variables that a mode takes as long as, on each server
    if not affordable(progress, 0.15 * pairs):
        return
    program = unless_stopped(lambda: CpSatProgram(jobs, choices), progress)
    if program is not None:
        program.solve(progress, threads=threads, seed=seed)


class CpSatProgram:
    """The definition as constraints between integers.

    Parameters
    ----------
    jobs : Jobs
    choices : sequence of Choices
        Modes and starts of every job.
    """

    def __init__(self, jobs: JobTables, choices: Sequence[Choices]) -> None:
        self.jobs, self.choices = jobs, choices
        self.model = cp_program()
        self.servers = range(len(jobs.capacity))
        self.mode: list[list[Any]] = []
        self.start: list[Any] = []
        self.end: list[Any] = []
        self.workers: list[list[list[Any]]] = []  # [job][server][type]
        self.ps: list[list[list[Any]]] = []
        self.host: list[list[Any]] = []
        intervals = []
        for j, choice in enumerate(choices):
            leave_if_abandoned()
            intervals.append(self._time(choice))
            self._place(j, choice)
        self._capacity(intervals)
        # of the largest weight
        self.unit = max((exact(job.weight) for job in jobs.inst.jobs), default=Fraction(1)) / (
            10**7
        )
        weights = [math.floor(exact(job.weight) / self.unit) for job in jobs.inst.jobs]
        if all(exact(job.weight).denominator == 1 for job in jobs.inst.jobs):
            self.unit = Fraction(1)
            weights = [int(job.weight) for job in jobs.inst.jobs]
        self.objective = sum(w * end for w, end in zip(weights, self.end, strict=True))
        self.model.minimize(self.objective)

    def _time(self, choice: Choices) -> Any:
        """Make mode, start and end of a job; return its interval."""
        m = self.model
        latest = max((max(s) for s in choice.starts if len(s)), default=0)
        longest = int(choice.modes[:, 4].max(initial=1))
        start = m.new_int_var(0, latest, "")
        size = m.new_int_var(1, longest, "")
        end = m.new_int_var(0, latest + longest, "")
        picks = [m.new_bool_var("") for _ in choice.modes]
        m.add_exactly_one(picks)
        m.add(size == sum(int(d) * x for d, x in zip(choice.modes[:, 4], picks, strict=True)))
        for x, starts in zip(picks, choice.starts, strict=True):
            domain = cp_domain(starts)
            m.add_linear_expression_in_domain(start, domain).only_enforce_if(x)
        self.mode.append(picks)
        self.start.append(start)
        self.end.append(end)
        return m.new_interval_var(start, size, end, "")

    def _place(self, j: int, choice: Choices) -> None:
        """Make workers and PS of a job on every server."""
        m, types, picks = self.model, self.jobs.types, self.mode[-1]
        rows = choice.modes
        most = int(rows[:, 3].max(initial=1))
        used = sorted(set(rows[:, 0].tolist()))
        kind = {w: sum(x for x, row in zip(picks, rows, strict=True) if row[0] == w) for w in used}
        workers = [self._numbers(h, types.worker_demand, kind, most) for h in self.servers]
        number = sum(int(n) * x for n, x in zip(rows[:, 3], picks, strict=True))
        m.add(sum(sum(here) for here in workers) == number)
        self.workers.append(workers)
        together = sum(x for x, row in zip(picks, rows, strict=True) if row[2])
        host = [m.new_bool_var("") for _ in self.servers]
        self.host.append(host)
        if types.ring:
            m.add(sum(host) == together)
            for h in self.servers:
                m.add(sum(workers[h]) <= most * host[h] + most * (1 - together))
                # apart: no server has all workers
                m.add(sum(workers[h]) <= number - 1 + together)
            self.ps.append([])
            return
        m.add_exactly_one(host)
        self._servers(j, choice, number, together)

    def _servers(self, j: int, choice: Choices, number: Any, together: Any) -> None:
        """Make the PS of a job on its host: (2d), (2e), (2i)."""
        m, types, picks, rows = self.model, self.jobs.types, self.mode[j], choice.modes
        most, host, workers = int(rows[:, 3].max(initial=1)), self.host[j], self.workers[j]
        at_host = m.new_int_var(0, most, "")
        outside = m.new_int_var(0, most, "")
        m.add(outside == number - at_host)
        m.add(outside <= most * (1 - together))
        m.add(outside >= 1 - together)
        for h in self.servers:
            m.add(at_host == sum(workers[h])).only_enforce_if(host[h])
        pairs = sorted({(int(a), int(b)) for a, b in rows[:, :2]})
        table = [int(types.ps_needed[a, b, k]) for a, b in pairs for k in range(most + 1)]
        pair = sum(
            pairs.index((int(row[0]), int(row[1]))) * x for x, row in zip(picks, rows, strict=True)
        )
        needed = m.new_int_var(1, max(table), "")
        index = m.new_int_var(0, len(table) - 1, "")
        m.add(index == (most + 1) * pair + outside)
        m.add_element(index, table, needed)
        kinds = sorted({b for _, b in pairs})
        kind = {p: sum(x for x, row in zip(picks, rows, strict=True) if row[1] == p) for p in kinds}
        ps: list[list[Any]] = []
        for h in self.servers:
            here = self._numbers(h, types.ps_demand, kind, max(table))
            m.add(sum(here) <= max(table) * host[h])
            m.add(sum(here) >= needed).only_enforce_if(host[h])
            ps.append(here)
        self.ps.append(ps)

    def _numbers(self, h: int, demands: Ints, kind: Mapping[int, Any], most: int) -> list[Any]:
        """Make numbers of each type on server h, at most ``most`` of those of the mode.

        ``kind`` states of a type whether it is that of the mode; 0 where none fits.
        """
        numbers: list[Any] = [0] * len(demands)
        for k in sorted(kind):
            max_units = _units_that_fit(self.jobs.capacity[h], demands[k], most)
            if max_units:
                numbers[k] = self.model.new_int_var(0, max_units, "")
                self.model.add(numbers[k] <= max_units * kind[k])
        return numbers

    def _capacity(self, intervals: Sequence[Any]) -> None:
        """Make every server and resource cumulative: (2h), (15b)."""
        m, types = self.model, self.jobs.types
        for h in self.servers:
            for r, limit in enumerate(self.jobs.capacity[h].tolist()):
                demands, busy = [], []
                for j, interval in enumerate(intervals):
                    load = sum(
                        int(e[r]) * y
                        for e, y in zip(types.worker_demand, self.workers[j][h], strict=True)
                        if not isinstance(y, int) and e[r]
                    )
                    if self.ps[j]:
                        load = load + sum(
                            int(z[r]) * s
                            for z, s in zip(types.ps_demand, self.ps[j][h], strict=True)
                            if not isinstance(s, int) and z[r]
                        )
                    if isinstance(load, int):
                        continue
                    demand = m.new_int_var(0, limit, "")
                    m.add(demand == load)
                    demands.append(demand)
                    busy.append(interval)
                if busy:
                    m.add_cumulative(busy, demands, limit)

    def solve(self, progress: Progress, *, claim: bool = True, **settings: Any) -> str:
        """Run CP-SAT; report what it finds, and its bound, unless not all choices are there.

        Returns how it ended; ``settings`` as in `solve_definition`.
        """
        value = self.value if claim else None
        return solve_definition(self.model, self.schedule, value, progress, **settings)

    def value(self, objective: float) -> float:
        """Return a bound of the solver in units of the instance's objective."""
        return float_below(Fraction(math.ceil(objective - 1e-6)) * self.unit)

    def schedule(self, value_of: Callable[[Any], int]) -> CompletionSchedule:
        """Return the schedule that a solution means; needless PS are left out."""
        jobs: list[tuple[Piece, ...]] = []
        for j, choice in enumerate(self.choices):
            k = next(k for k, x in enumerate(self.mode[j]) if value_of(x))
            m, p, _, _, d = (int(x) for x in choice.modes[k])
            counts = [
                tuple(
                    (h, number)
                    for h in self.servers
                    if side and not isinstance(side[h][kind], int)
                    for number in [value_of(side[h][kind])]
                    if number
                )
                for side, kind in ((self.workers[j], m), (self.ps[j], p))
            ]
            piece = Piece(
                start=value_of(self.start[j]),
                duration=d,
                worker_type=m,
                ps_type=None if self.jobs.types.ring else p,
                workers=counts[0],
                ps=counts[1],
            )
            jobs.append((piece,))
        return CompletionSchedule(jobs=tuple(jobs))


def _units_that_fit(capacity: Ints, demand: Ints, most: int) -> int:
    used = demand > 0
    return int(min([most, *(capacity[used] // demand[used]).tolist()]))
