"""The judge of family `dmlrs`, from the definition (3.1)-(3.7); it knows no model and no policy."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, batch_slots
from optsched.problem import Verdict, Violation
from optsched.resources import exact, slack, usable

Placed = dict[int, dict[int, int]]  # slot -> machine -> number


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

    def broken(self, equation: str, place: str, amount: float | Fraction) -> None:
        self.violations.append(Violation(equation=equation, place=place, amount=float(amount)))

    def job(self, i: int, unfinished: bool) -> None:
        plan, job = self.schedule.jobs[i], self.inst.jobs[i]
        if plan is None:
            return
        workers, ps = self.placed(i, "workers"), self.placed(i, "ps")
        if not workers and not ps and unfinished:
            return
        done = Fraction(0)  # mini-batches
        speed = {
            rate: 1 / max(batch_slots(job, rate, self.inst.slot_seconds), Fraction(1, 10**12))
            for rate in (job.inner_bandwidth, job.outer_bandwidth)
        }
        for t in sorted(workers.keys() | ps.keys()):
            done += self.slot(i, t, workers.get(t, {}), ps.get(t, {}), speed)
        batches = Fraction(job.epochs * job.chunks * job.batches_per_chunk)
        if done >= batches - slack(batches) and workers:
            self.completion[i] = max(workers)  # (3.6)
            self.value += job.utility(max(workers) - job.arrival)
        elif not unfinished:
            self.broken(
                "3.1", f"job {i}: {float(done):g} of {batches} mini-batches", batches - done
            )

    def slot(
        self,
        i: int,
        t: int,
        workers: dict[int, int],
        ps: dict[int, int],
        speed: dict[float, Fraction],
    ) -> Fraction:
        """Judge one job in one slot; return the mini-batches that it trains."""
        job = self.inst.jobs[i]
        n, m = sum(workers.values()), sum(ps.values())
        place = f"job {i}, slot {t}"
        if n > job.chunks:
            self.broken("3.2", f"{place}: {n} workers, at most {job.chunks}", n - job.chunks)
        if n and not m:
            self.broken("3.4", f"{place}: {n} workers without a parameter server", n)
        if m > n:
            self.broken("3.5", f"{place}: {m} parameter servers for {n} workers", m - n)
        b_in, b_ex = exact(job.inner_bandwidth), exact(job.outer_bandwidth)
        inner = job.inner_bandwidth
        trained = flow = Fraction(0)
        for h, w in workers.items():
            if self.inst.locality == "job":
                inside = set(workers) == set(ps) == {h}
                flow += w * (b_in if inside else b_ex)
            else:
                inside = set(ps) == {h}
                flow += w * sum(b_in if p == h else b_ex for p in ps)
            trained += w * speed[inner if inside else job.outer_bandwidth]
        needed = flow / exact(job.ps_bandwidth)
        if m and needed > m + slack(needed):
            self.broken(
                "3.4",
                f"{place}: {m} parameter servers for a flow of {float(flow):g} Gbit/s",
                flow - m * exact(job.ps_bandwidth),
            )
        return trained

    def placed(self, i: int, what: str) -> Placed:
        """Add up a job's workers (or PS); note what they load and what is out of place."""
        plan, job, inst = self.schedule.jobs[i], self.inst.jobs[i], self.inst
        entries = getattr(plan, what)
        demand = job.worker_demand if what == "workers" else job.ps_demand
        needs = [int(exact(d) * s) for d, s in zip(demand, self.scale, strict=True)]
        total: Placed = defaultdict(lambda: defaultdict(int))
        for t, h, n in entries:
            if t >= inst.horizon or h >= len(inst.capacity):
                where = f"slot {t} of {inst.horizon}, machine {h} of {len(inst.capacity)}"
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


def _finest_decimals(inst: DmlrsInstance) -> list[int]:
    """Return, for every resource, the least power of ten that makes all demands whole."""
    scale = [1] * len(inst.resources)
    for job in inst.jobs:
        for demand in (job.worker_demand, job.ps_demand):
            for r, amount in enumerate(demand):
                while scale[r] % exact(amount).denominator:
                    scale[r] *= 10
    return scale
