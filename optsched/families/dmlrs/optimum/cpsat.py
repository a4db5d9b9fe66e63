"""Constraint programming: the definition as a CP-SAT model.

See Perron et al. (2023). It shares neither code nor solver with the compact program, so that the
two can check each other. All data are integers: loads in ``resources.Units``, parameter servers
(PS) by table, utilities in a unit so fine that rounding them up is invisible, work in the smallest
integers that agree with the feasibility check. The bound is that of the rounded utilities, so no
schedule is better. Link by link, all PS of a job sit on one machine in a slot: `certificate/links`
states why that is enough.
"""

from __future__ import annotations

from typing import Any

from optsched.engine.progress import Progress
from optsched.families.dmlrs.instance import (
    IMPOSSIBLE,
    DmlrsInstance,
    DmlrsSchedule,
    JobSchedule,
    linked_table,
)
from optsched.numbers.resources import units_that_fit
from optsched.process.interrupts import leave_if_abandoned
from optsched.scheduling.declared import affordable, unless_stopped
from optsched.scheduling.definition import UtilityProgram, solve_definition


def cpsat(inst: DmlrsInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the definition with CP-SAT; report every schedule that is found, and the bound.

    Parameters
    ----------
    inst : DmlrsInstance
    progress : Progress
    threads, seed : int
        Of the solver.
    """
    if not affordable(progress, 2 * len(inst.jobs) * inst.horizon * len(inst.capacity)):
        return
    program = unless_stopped(lambda: CpSatProgram(inst), progress)
    if program is not None:
        means = program.model, program.schedule, program.value
        solve_definition(*means, progress, threads=threads, seed=seed)


class CpSatProgram(UtilityProgram):
    """The definition as constraints between integers."""

    job_schedule, whole_schedule = JobSchedule, DmlrsSchedule

    def __init__(self, inst: DmlrsInstance) -> None:
        super().__init__(inst)
        self.by_job = inst.locality == "job"
        for i, first in enumerate(inst.earliest):
            if first is not None:
                leave_if_abandoned()
                self._job(i, first)
        self._capacity()
        self.maximize_utility()

    def _job(self, i: int, first: int) -> None:
        """State that a job that completes in a slot is trained by then, and has no worker later."""
        model, job, needs = self.model, self.inst.jobs[i], self.inst.needs[i]
        ends = {t: model.new_bool_var(f"v{i},{t}") for t in range(first, self.inst.horizon)}
        self.completes.update({(i, t): v for t, v in ends.items()})
        model.add_at_most_one(ends.values())
        inner_total, outer_total = [], []
        for t in range(job.arrival, self.inst.horizon):
            ahead = sum(v for u, v in ends.items() if u >= t)
            inside, outside = self._slot(i, t) if self.by_job else self._linked_slot(i, t)
            inner_total.append(inside)
            outer_total.append(outside)
            model.add(inside + outside <= job.chunks * ahead)
        least, inner, outer = needs.smallest(job.chunks * len(inner_total))
        done = sum(ends.values())
        trained = inner * sum(inner_total) + outer * sum(outer_total)
        model.add(trained >= least * done)

    def _slot(self, i: int, t: int) -> tuple[Any, Any]:
        """Build the variables of job i in slot t; return its workers on one machine, on more."""
        model, inst = self.model, self.inst
        job, needs = inst.jobs[i], inst.needs[i]
        machines = range(len(inst.capacity))
        outer = model.new_bool_var("")
        here = []  # per machine: whether all sits on it
        inside, outside, servers_out, some = [], [], [], []
        for h in machines:
            c = inst.capacity[h]
            most = (
                units_that_fit(c, job.worker_demand, job.chunks),
                units_that_fit(c, job.ps_demand, job.chunks),
            )
            w, s = (model.new_int_var(0, n, "") for n in most)
            n, m = (model.new_int_var(0, k, "") for k in most)  # all of it, if it is the only one
            only = model.new_bool_var("")
            model.add(n == 0).only_enforce_if(~only)
            model.add(m == 0).only_enforce_if(~only)
            model.add(w == 0).only_enforce_if(~outer)
            model.add(s == 0).only_enforce_if(~outer)
            self._serve(needs.ps_inner, n, m)
            here.append(only)
            inside.append(n)
            outside.append(w)
            servers_out.append(s)
            some.append((w, s))
            self.workers[i, t, h], self.ps[i, t, h] = (n, w), (m, s)
        model.add_at_most_one([*here, outer])
        total = model.new_int_var(0, job.chunks, "")
        model.add(total == sum(outside))
        self._serve(needs.ps_outer, total, sum(servers_out))
        for h in machines:
            elsewhere = sum(w + s for p, (w, s) in enumerate(some) if p != h)
            model.add(elsewhere >= 1).only_enforce_if(outer)
        return sum(inside), total

    def _linked_slot(self, i: int, t: int) -> tuple[Any, Any]:
        """Build the variables of job i in slot t; return its workers with its PS, and elsewhere."""
        model, job = self.model, self.inst.jobs[i]
        hosts, inner, elsewhere, servers = [], [], [], []
        for h, c in enumerate(self.inst.capacity):
            workers = units_that_fit(c, job.worker_demand, job.chunks)
            near, far = (model.new_int_var(0, workers, "") for _ in range(2))
            m = model.new_int_var(0, units_that_fit(c, job.ps_demand, job.chunks), "")
            host = model.new_bool_var("")  # of all PS
            model.add(near == 0).only_enforce_if(~host)
            model.add(m == 0).only_enforce_if(~host)
            model.add(far == 0).only_enforce_if(host)
            hosts.append(host)
            inner.append(near)
            elsewhere.append(far)
            servers.append(m)
            self.workers[i, t, h], self.ps[i, t, h] = (near, far), (m,)
        model.add_at_most_one(hosts)
        most = job.chunks
        near, far, needed = (model.new_int_var(0, n, "") for n in (most, most, most + 1))
        model.add(near == sum(inner))
        model.add(far == sum(elsewhere))
        model.add(near + far <= most)
        table = [most + 1 if m == IMPOSSIBLE else m for row in linked_table(job) for m in row]
        table[0] = 0
        row = model.new_int_var(0, len(table) - 1, "")
        model.add(row == near * (most + 1) + far)
        model.add_element(row, table, needed)
        model.add(needed <= sum(servers))
        model.add(sum(servers) <= near + far)
        return near, far

    def _serve(self, table: tuple[int, ...], workers: Any, ps: Any) -> None:
        """State that there are as many PS as the workers need, and no more PS than workers."""
        most = len(table) - 1
        needed = self.model.new_int_var(0, most + 1, "")
        numbers = [most + 1 if m == IMPOSSIBLE else m for m in table]
        self.model.add_element(workers, numbers, needed)
        self.model.add(needed <= ps)
        self.model.add(ps <= workers)

    def _capacity(self) -> None:
        a = self.inst.arrays
        users: dict[tuple[int, int], list[tuple[int, Any, Any]]] = {}
        for (i, t, h), n in self.workers.items():
            users.setdefault((t, h), []).append((i, n, self.ps[i, t, h]))
        for (_, h), here in users.items():
            for r, limit in enumerate(a.capacity[h].tolist()):
                workers = sum(int(a.worker_demand[i, r]) * sum(n) for i, n, _ in here)
                servers = sum(int(a.ps_demand[i, r]) * sum(m) for i, _, m in here)
                self.model.add(workers + servers <= limit)
