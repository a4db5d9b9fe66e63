"""The judge of family `dmlrs`, from the definition (3.1)-(3.7); it knows no model and no policy."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, job_work
from optsched.numbers.resources import exact, slack, usable
from optsched.problem import Verdict, Violation

Placed = dict[int, dict[int, int]]  # slot -> machine -> number

LARGEST = 10**300  # by which a constraint is broken, as far as it is told


def verify(inst: DmlrsInstance, schedule: DmlrsSchedule, *, unfinished: bool = False) -> Verdict:
    """Judge ``schedule`` and recompute its objective.

    Parameters
    ----------
    inst : DmlrsInstance
        Its ``locality`` says in which reading.
    schedule : DmlrsSchedule
    unfinished : bool
        Whether a job may be left unfinished: it then earns nothing, and (3.1) is not asked of it.
        For the runs of policies that admit everybody.

    Returns
    -------
    Verdict
        Every violated equation with its place and amount, or the objective.
    """
    if len(schedule.jobs) != len(inst.jobs):
        found = Violation(
            equation="3.1",
            place=f"schedule of {len(schedule.jobs)} jobs, expected {len(inst.jobs)}",
            amount=abs(len(schedule.jobs) - len(inst.jobs)),
        )
        return Verdict(violations=(found,), value=None, completion=(None,) * len(inst.jobs))
    judge = _Judge(inst, schedule)
    for i in range(len(inst.jobs)):
        judge.job(i, unfinished)
    judge.capacity()
    value = None if judge.violations else judge.value
    return Verdict(
        violations=tuple(judge.violations), value=value, completion=tuple(judge.completion)
    )


class _Judge:
    def __init__(self, inst: DmlrsInstance, schedule: DmlrsSchedule) -> None:
        self.inst = inst
        self.schedule = schedule
        self.violations: list[Violation] = []
        self.completion: list[int | None] = [None] * len(inst.jobs)
        self.value = 0.0
        # whole numbers of the finest decimal of any demand: exact, and faster than fractions
        self.scale = _finest_decimals(inst)
        self.load: dict[tuple[int, int], list[int]] = {}  # (slot, machine) -> by resource

    def broken(self, equation: str, place: str, amount: int | Fraction) -> None:
        found = float(min(amount, LARGEST))
        self.violations.append(Violation(equation=equation, place=place, amount=found))

    def job(self, i: int, unfinished: bool) -> None:
        plan, job = self.schedule.jobs[i], self.inst.jobs[i]
        if plan is None:
            return
        workers, ps = self.placed(i, "workers"), self.placed(i, "ps")
        if not workers and not ps and unfinished:
            return
        inner = outer = 0  # worker-slots at both rates
        for t in sorted(workers.keys() | ps.keys()):
            near, far = self.slot(i, t, workers.get(t, {}), ps.get(t, {}))
            inner, outer = inner + near, outer + far
        work = job_work(job, self.inst.slot_seconds)
        done = inner * work.inner + outer * work.outer
        if done >= work.total and workers:
            self.completion[i] = max(workers)  # (3.6)
            if max(workers) >= job.arrival:  # else (3.7) is broken, and there is no utility
                self.value += job.utility(max(workers) - job.arrival)
        elif not unfinished:
            batches = Fraction(job.epochs * job.chunks * job.batches_per_chunk)
            trained = (batches - slack(batches)) * Fraction(done, work.total)
            place = f"job {i}: {shown(trained)} of {shown(batches)} mini-batches"
            self.broken("3.1", place, max(Fraction(0), batches - trained))

    def slot(
        self,
        i: int,
        t: int,
        workers: dict[int, int],
        ps: dict[int, int],
    ) -> tuple[int, int]:
        """Judge one job in one slot; return how many workers have the inner and the outer rate."""
        job = self.inst.jobs[i]
        n, m = sum(workers.values()), sum(ps.values())
        place = f"job {i}, slot {t}"
        crowd, servers = f"{shown(n)} workers", f"{shown(m)} parameter servers"
        if n > job.chunks:
            self.broken("3.2", f"{place}: {crowd}, at most {job.chunks}", n - job.chunks)
        if n and not m:
            self.broken("3.4", f"{place}: {crowd} without a parameter server", n)
        if m > n:
            self.broken("3.5", f"{place}: {servers} for {crowd}", m - n)
        b_in, b_ex = exact(job.inner_bandwidth), exact(job.outer_bandwidth)
        if self.inst.locality == "job":
            near = n if len(workers.keys() | ps.keys()) == 1 else 0
            flow = near * b_in + (n - near) * b_ex
        else:  # a link for every worker and machine with PS
            beside = sum(w for h, w in workers.items() if h in ps)
            near = beside if len(ps) == 1 else 0
            flow = beside * b_in + (n * len(ps) - beside) * b_ex
        needed = flow / exact(job.ps_bandwidth)
        if m and needed > m + slack(needed):
            self.broken(
                "3.4",
                f"{place}: {servers} for a flow of {shown(flow)} Gbit/s",
                flow - m * exact(job.ps_bandwidth),
            )
        return near, n - near

    def placed(self, i: int, what: str) -> Placed:
        """Add up a job's workers (or PS); note what they load and what is out of place."""
        plan, job, inst = self.schedule.jobs[i], self.inst.jobs[i], self.inst
        entries, machines = getattr(plan, what), len(inst.capacity)
        demand = job.worker_demand if what == "workers" else job.ps_demand
        needs = [int(exact(d) * s) for d, s in zip(demand, self.scale, strict=True)]
        total: Placed = defaultdict(lambda: defaultdict(int))
        for t, h, n in entries:
            if t >= inst.horizon or h >= machines:
                where = f"slot {shown(t)} of {inst.horizon}, machine {shown(h)} of {machines}"
                self.broken("3.3", f"job {i}: {where} does not exist", n)
                continue
            if t < job.arrival:
                self.broken("3.7", f"job {i}, slot {t}: before its arrival {job.arrival}", n)
            total[t][h] += n
            load = self.load.setdefault((t, h), [0] * len(needs))
            for r, need in enumerate(needs):
                load[r] += n * need
        return {t: dict(machines) for t, machines in total.items()}

    def capacity(self) -> None:
        known: dict[tuple[int, float], int] = {}
        for (t, h), load in sorted(self.load.items()):
            capacity = self.inst.capacity[h]
            for r, used in enumerate(load):
                if (r, capacity[r]) not in known:
                    known[r, capacity[r]] = math.floor(usable(capacity[r]) * self.scale[r])
                if used > known[r, capacity[r]]:
                    place = f"machine {h}, {self.inst.resources[r]}, slot {t}"
                    over = Fraction(used, self.scale[r]) - exact(capacity[r])
                    self.broken("3.3", place, over)


def shown(x: int | Fraction) -> str:
    """Write a number of a schedule, however large.

    >>> shown(7), shown(Fraction(3, 2)), shown(10**5000)
    ('7', '1.5', 'over 1e+300')
    """
    return f"over {LARGEST:g}" if x > LARGEST else f"{float(x):.12g}"


def _finest_decimals(inst: DmlrsInstance) -> list[int]:
    """Return, for every resource, the least power of ten that makes all demands whole."""
    scale = [1] * len(inst.resources)
    for job in inst.jobs:
        for demand in (job.worker_demand, job.ps_demand):
            for r, amount in enumerate(demand):
                while scale[r] % exact(amount).denominator:
                    scale[r] *= 10
    return scale
