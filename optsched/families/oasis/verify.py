"""The judge of family `oasis`, from the definition (1)-(13); it knows no model and no policy."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from fractions import Fraction

from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.numbers.resources import exact, slack, usable
from optsched.problem import Verdict, Violation

LARGEST_AMOUNT = Fraction(sys.float_info.max)


def verify(inst: OasisInstance, schedule: OasisSchedule, *, unfinished: bool = False) -> Verdict:
    """Judge ``schedule`` and recompute its objective.

    Parameters
    ----------
    inst : OasisInstance
    schedule : OasisSchedule
    unfinished : bool
        Whether a job may be left unfinished: it then earns nothing, and (2) is not asked of it. For
        the runs of policies that admit everybody.

    Returns
    -------
    Verdict
        Every violated equation with its place and amount, or the objective (1).
    """
    if len(schedule.jobs) != len(inst.jobs):
        found = Violation(
            equation="1",
            place=f"schedule of {len(schedule.jobs)} jobs, expected {len(inst.jobs)}",
            amount=abs(len(schedule.jobs) - len(inst.jobs)),
        )
        return Verdict(violations=(found,), value=None, completion=(None,) * len(inst.jobs))
    judge = _Judge(inst, schedule)
    for i in range(len(inst.jobs)):
        judge.job(i, unfinished)
    judge.capacity()
    value = None if judge.violations else math.fsum(judge.earned)
    return Verdict(
        violations=tuple(judge.violations), value=value, completion=tuple(judge.completion)
    )


class _Judge:
    def __init__(self, inst: OasisInstance, schedule: OasisSchedule) -> None:
        self.inst = inst
        self.schedule = schedule
        self.violations: list[Violation] = []
        self.completion: list[int | None] = [None] * len(inst.jobs)
        self.earned: list[float] = []
        # whole numbers of the finest decimal of any demand: exact, and faster than fractions
        self.scale = _finest_decimals(inst)
        # what is placed on (side, slot, machine), by resource
        self.load: dict[tuple[str, int, int], list[int]] = {}

    def broken(self, equation: str, place: str, amount: float | Fraction) -> None:
        amount = float(min(amount, LARGEST_AMOUNT))
        self.violations.append(Violation(equation=equation, place=place, amount=amount))

    def job(self, i: int, unfinished: bool) -> None:
        plan, job, inst = self.schedule.jobs[i], self.inst.jobs[i], self.inst
        if plan is None:
            return
        workers, ps = self.totals(i, "worker"), self.totals(i, "ps")
        if not workers and not ps and unfinished:
            return
        for t, n in sorted(workers.items()):
            if n > job.chunks:
                self.broken(
                    "3", f"job {i}, slot {t}: {n} workers, at most {job.chunks}", n - job.chunks
                )
        b, big_b = exact(job.worker_bandwidth), exact(job.ps_bandwidth)
        for t in sorted(workers.keys() | ps.keys()):
            n, m = workers.get(t, 0), ps.get(t, 0)
            if n * b / big_b > m + slack(n * b / big_b):
                self.broken(
                    "6",
                    f"job {i}, slot {t}: {m} parameter servers for {n} workers",
                    n * b - m * big_b,
                )
            if m > n:
                self.broken("7", f"job {i}, slot {t}: {m} parameter servers for {n} workers", m - n)
        done = sum(workers.values())
        if done >= inst.work[i]:
            if max(workers) >= job.arrival:  # else (9) is broken already
                self.completion[i] = max(workers)  # (8)
                self.earned.append(job.utility(max(workers) - job.arrival))
        elif not unfinished:
            self.broken("2", f"job {i}: {done} of {inst.work[i]} worker-slots", inst.work[i] - done)

    def totals(self, i: int, side: str) -> dict[int, int]:
        """Add up a job's workers (or PS) per slot; note what they load and what is out of place."""
        plan, job, inst = self.schedule.jobs[i], self.inst.jobs[i], self.inst
        assert plan is not None
        entries, demand, machines, equation = (
            (plan.workers, job.worker_demand, inst.worker_capacity, "9")
            if side == "worker"
            else (plan.ps, job.ps_demand, inst.ps_capacity, "10")
        )
        needs = [int(exact(d) * s) for d, s in zip(demand, self.scale, strict=True)]
        total: dict[int, int] = defaultdict(int)
        for t, h, n in entries:
            if t >= inst.horizon or h >= len(machines):
                where = f"slot {t} of {inst.horizon}, {side} machine {h} of {len(machines)}"
                self.broken(
                    "12" if side == "worker" else "13", f"job {i}: {where} does not exist", n
                )
                continue
            if t < job.arrival:
                self.broken(equation, f"job {i}, slot {t}: before its arrival {job.arrival}", n)
            total[t] += n
            load = self.load.setdefault((side, t, h), [0] * len(needs))
            for r, need in enumerate(needs):
                load[r] += n * need
        return total

    def capacity(self) -> None:
        known: dict[tuple[int, float], int] = {}
        for (side, t, h), load in sorted(self.load.items()):
            capacity = (self.inst.worker_capacity if side == "worker" else self.inst.ps_capacity)[h]
            for r, used in enumerate(load):
                if (r, capacity[r]) not in known:
                    known[r, capacity[r]] = math.floor(usable(capacity[r]) * self.scale[r])
                if used > known[r, capacity[r]]:
                    place = f"{side} machine {h}, {self.inst.resources[r]}, slot {t}"
                    over = Fraction(used, self.scale[r]) - exact(capacity[r])
                    self.broken("4" if side == "worker" else "5", place, over)


def _finest_decimals(inst: OasisInstance) -> list[int]:
    """Return, for every resource, the least power of ten that makes all demands whole."""
    scale = [1] * len(inst.resources)
    for job in inst.jobs:
        for demand in (job.worker_demand, job.ps_demand):
            for r, amount in enumerate(demand):
                while scale[r] % exact(amount).denominator:
                    scale[r] *= 10
    return scale
