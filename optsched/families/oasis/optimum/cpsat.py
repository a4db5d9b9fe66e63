"""The optimum by constraint programming: CP-SAT on the definition itself.

A second way to the optimum that shares neither code nor solver with the compact program, so that
the two can check each other. All data are integers: loads in ``resources.Units``, the parameter
servers that n workers need by table, utilities in a unit so fine that rounding them up does not
show. The bound is that of the rounded utilities, so no schedule is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.engine.progress import Progress
from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisSchedule
from optsched.families.oasis.verify import verify
from optsched.numbers.arrays import Ints
from optsched.problem import Implementation
from optsched.solvers import cp_bound, cp_dot, cp_program, cp_solver, run_cp

UNITS = 10**10  # of the largest utility


def cpsat(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the definition with CP-SAT; report every schedule that is found, and the bound.

    Parameters
    ----------
    inst : OasisInstance
    progress : Progress
    threads, seed : int
        Of the solver.
    """
    program = Program(inst)

    def report(value_of: Callable[[Any], int]) -> None:
        schedule = program.schedule(value_of)
        verdict = verify(inst, schedule)
        if verdict.value is None:
            raise RuntimeError(f"CP-SAT brought a schedule that breaks the model: {verdict}")
        progress.incumbent(verdict.value, schedule)

    solver = cp_solver(
        time_limit=progress.left(), threads=threads, seed=seed, gap=progress.gap_limit
    )
    try:
        run_cp(solver, program.model, on_improve=report)
    finally:  # also after Ctrl-C
        bound = cp_bound(solver)
        if bound is not None:
            progress.claim(Implementation.CP_SAT, upwards(Fraction(bound) * program.unit))


def upwards(x: Fraction) -> float:
    """Return the smallest float that is not below ``x``, or its neighbour."""
    nearest = float(x)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


class Program:
    """The definition as constraints between integers.

    Attributes
    ----------
    model : ortools.sat.python.cp_model.CpModel
    unit : Fraction
        What one unit of its objective is worth.
    """

    def __init__(self, inst: OasisInstance) -> None:
        self.inst = inst
        self.model = cp_program()
        self.completes: dict[tuple[int, int], Any] = {}  # by job and slot
        self.workers: dict[tuple[int, int, int], Any] = {}  # by job, slot and machine
        self.ps: dict[tuple[int, int, int], Any] = {}
        a = inst.arrays
        for i in range(len(inst.jobs)):
            most = rooms(a.worker_demand[i], a.worker_capacity, inst.jobs[i].chunks)
            most_ps = rooms(a.ps_demand[i], a.ps_capacity, inst.jobs[i].chunks)
            self._job(i, [self._slot(i, t, most, most_ps) for t in self._slots(i)])
        self._capacity(self.workers, a.worker_demand, a.worker_capacity)
        self._capacity(self.ps, a.ps_demand, a.ps_capacity)
        self.unit = self._objective()

    def _slots(self, i: int) -> range:
        return range(self.inst.jobs[i].arrival, self.inst.horizon)

    def _slot(self, i: int, t: int, most: list[int], most_ps: list[int]) -> Any:
        """Make the workers and parameter servers of job i in slot t; return their number."""
        number = self.model.new_int_var(0, min(self.inst.jobs[i].chunks, sum(most)), f"n{i},{t}")
        needed = self.model.new_int_var(0, sum(most_ps), f"m{i},{t}")
        self.model.add_element(number, list(self.inst.ps_needed(i)), needed)
        for total, side, rows in ((number, self.workers, most), (needed, self.ps, most_ps)):
            here = {h: self.model.new_int_var(0, room, "") for h, room in enumerate(rows) if room}
            side.update({(i, t, h): x for h, x in here.items()})
            self.model.add(sum(here.values()) == total)
        return number

    def _job(self, i: int, numbers: list[Any]) -> None:
        """Say that a job that completes in a slot has its work done by then, no worker later."""
        slots, work = self._slots(i), self.inst.work[i]
        ends = {t: self.model.new_bool_var(f"v{i},{t}") for t in slots}
        self.completes.update({(i, t): v for t, v in ends.items()})
        self.model.add_at_most_one(ends.values())
        for k, t in enumerate(slots):
            self.model.add(sum(numbers[: k + 1]) >= work).only_enforce_if(ends[t])
            ahead = sum(ends[u] for u in slots if u >= t)
            self.model.add(numbers[k] <= self.inst.jobs[i].chunks * ahead)
            # implied, and what makes the bound of the linear relaxation strong
            self.model.add(sum(numbers[: k + 1]) >= work * sum(ends[u] for u in slots if u <= t))

    def _capacity(
        self,
        side: Mapping[tuple[int, int, int], Any],
        demand: Ints,
        capacity: Ints,
    ) -> None:
        users: dict[tuple[int, int], list[tuple[int, Any]]] = {}
        for (i, t, h), x in side.items():
            users.setdefault((t, h), []).append((i, x))
        for (_, h), here in users.items():
            for r, limit in enumerate(capacity[h].tolist()):
                self.model.add(cp_dot((demand[i, r], x) for i, x in here) <= limit)

    def _objective(self) -> Fraction:
        """Maximize the utilities, rounded up to whole units; return the unit."""
        worth = {
            (i, t): self.inst.jobs[i].utility.upper(t - self.inst.jobs[i].arrival)
            for i, t in self.completes
        }
        unit = (max(worth.values(), default=Fraction(0)) or Fraction(1)) / UNITS
        self.model.maximize(sum(math.ceil(worth[k] / unit) * v for k, v in self.completes.items()))
        return unit

    def schedule(self, value_of: Callable[[Any], int]) -> OasisSchedule:
        """Return the schedule that a solution means."""
        jobs: list[JobSchedule | None] = [None] * len(self.inst.jobs)
        for (i, _), v in self.completes.items():
            if value_of(v):
                workers, ps = (
                    tuple((t, h, value_of(x)) for (j, t, h), x in side.items() if j == i)
                    for side in (self.workers, self.ps)
                )
                jobs[i] = JobSchedule(
                    workers=tuple(e for e in workers if e[2]), ps=tuple(e for e in ps if e[2])
                )
        return OasisSchedule(jobs=tuple(jobs))


def rooms(demand: Ints, capacity: Ints, most: int) -> list[int]:
    """Return how many of one ``demand`` (R,) each empty machine of ``capacity`` (H, R) holds.

    >>> rooms(np.array([2, 0]), np.array([[7, 5], [99, 0]]), 10)
    [3, 10]
    """
    needs = demand > 0
    if not needs.any():
        return [most] * len(capacity)
    room = (capacity[:, needs] // demand[needs]).min(axis=1)
    return [int(n) for n in np.minimum(room, most)]
