"""Constraint programming: the definition as a CP-SAT model.

See Perron et al. (2023). It shares neither code nor solver with the compact program, so that the
two can check each other. All data are integers: loads in ``resources.Units``, the parameter
servers that n workers need by table, utilities in a unit so fine that rounding them up is
invisible. The bound is that of the rounded utilities, so no schedule is better.
"""

from __future__ import annotations

from typing import Any

from optsched.engine.progress import Progress
from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisSchedule
from optsched.families.oasis.optimum.monolithic_mip import variables
from optsched.families.oasis.optimum.relaxations.capacity import units_that_fit
from optsched.numbers.arrays import Ints
from optsched.process.interrupts import leave_if_abandoned
from optsched.scheduling.declared import affordable, unless_stopped
from optsched.scheduling.definition import Places, UtilityProgram, solve_definition


def cpsat(inst: OasisInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the definition with CP-SAT; report every schedule that is found, and the bound.

    Parameters
    ----------
    inst : OasisInstance
    progress : Progress
    threads, seed : int
        Of the solver.
    """
    if not affordable(progress, variables(inst)):
        return
    program = unless_stopped(lambda: CpSatProgram(inst), progress)
    if program is not None:
        means = program.model, program.schedule, program.value
        solve_definition(*means, progress, threads=threads, seed=seed)


class CpSatProgram(UtilityProgram):
    """The definition as constraints between integers."""

    job_schedule, whole_schedule = JobSchedule, OasisSchedule

    def __init__(self, inst: OasisInstance) -> None:
        super().__init__(inst)
        a = inst.arrays
        workers = units_that_fit(a.worker_demand, a.worker_capacity, a.chunks)
        servers = units_that_fit(a.ps_demand, a.ps_capacity, a.chunks)
        for i, both in enumerate(zip(workers, servers, strict=True)):
            most, most_ps = (side.astype(int).tolist() for side in both)
            leave_if_abandoned()
            self._job(i, [self._slot(i, t, most, most_ps) for t in self._slots(i)])
        self._capacity(self.workers, a.worker_demand, a.worker_capacity)
        self._capacity(self.ps, a.ps_demand, a.ps_capacity)
        self.maximize_utility()

    def _slots(self, i: int) -> range:
        return range(self.inst.jobs[i].arrival, self.inst.horizon)

    def _slot(self, i: int, t: int, most: list[int], most_ps: list[int]) -> Any:
        """Make the workers and parameter servers of job i in slot t; return their number."""
        number = self.model.new_int_var(0, min(self.inst.jobs[i].chunks, sum(most)), f"n{i},{t}")
        needed = self.model.new_int_var(0, sum(most_ps), f"m{i},{t}")
        self.model.add_element(number, list(self.inst.ps_needed(i)), needed)
        for total, side, rows in ((number, self.workers, most), (needed, self.ps, most_ps)):
            here = {
                h: self.model.new_int_var(0, max_units, "")
                for h, max_units in enumerate(rows)
                if max_units
            }
            side.update({(i, t, h): (x,) for h, x in here.items()})
            self.model.add(sum(here.values()) == total)
        return number

    def _job(self, i: int, numbers: list[Any]) -> None:
        """State that a job that completes in a slot has its work done by then, no worker later."""
        slots, work, first = self._slots(i), self.inst.work[i], self.inst.earliest[i]
        possible = range(self.inst.horizon if first is None else first, self.inst.horizon)
        ends = {t: self.model.new_bool_var(f"v{i},{t}") for t in possible}
        self.completes.update({(i, t): v for t, v in ends.items()})
        self.model.add_at_most_one(ends.values())
        for k, t in enumerate(slots):
            if t in ends:
                self.model.add(sum(numbers[: k + 1]) >= work).only_enforce_if(ends[t])
            ahead = sum(v for u, v in ends.items() if u >= t)
            self.model.add(numbers[k] <= self.inst.jobs[i].chunks * ahead)
            # implied, and strengthens the bound of the linear relaxation
            done = sum(v for u, v in ends.items() if u <= t)
            self.model.add(sum(numbers[: k + 1]) >= work * done)

    def _capacity(
        self,
        side: Places,
        demand: Ints,
        capacity: Ints,
    ) -> None:
        users: dict[tuple[int, int], list[tuple[int, Any]]] = {}
        for (i, t, h), (x,) in side.items():
            users.setdefault((t, h), []).append((i, x))
        for (_, h), here in users.items():
            for r, limit in enumerate(capacity[h].tolist()):
                self.model.add(sum(int(demand[i, r]) * x for i, x in here) <= limit)
