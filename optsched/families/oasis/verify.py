"""Feasibility check of family `oasis`, from the definition (1)-(13), without solver code."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.numbers.resources import exact, slack
from optsched.problem import Verdict
from optsched.proofs.placements import PlacementVerifier, wrong_number
from optsched.proofs.tallies import rows_of, sum_beyond, sums, within

MANY = 5000  # entries of a schedule, above which its numbers are added up in arrays first


def verify(inst: OasisInstance, schedule: OasisSchedule, *, unfinished: bool = False) -> Verdict:
    """Check ``schedule`` and recompute its objective.

    Parameters
    ----------
    inst : OasisInstance
    schedule : OasisSchedule
    unfinished : bool
        Whether a job may be left unfinished: it then earns nothing, and (2) is not required of it.
        For the runs of policies that admit all jobs.

    Returns
    -------
    Verdict
        Every violated equation with its place and amount, or the objective (1).
    """
    wrong = wrong_number(inst, schedule, "1")
    if wrong is None and _entries(schedule) > MANY:
        wrong = _at_once(inst, schedule)
    return wrong or _Verifier(inst, schedule).verdict(unfinished)


def _entries(schedule: OasisSchedule) -> int:
    return sum(len(job.workers) + len(job.ps) for job in schedule.jobs if job is not None)


def _at_once(inst: OasisInstance, schedule: OasisSchedule) -> Verdict | None:
    """Check a schedule in which nothing is broken and every job completes; None: look closer."""
    a, slots = inst.arrays, inst.horizon
    workers, ps = (
        rows_of([() if job is None else getattr(job, side) for job in schedule.jobs])
        for side in ("workers", "ps")
    )
    if workers is None or ps is None:
        return None
    sides = (workers, a.worker_demand, a.worker_capacity), (ps, a.ps_demand, a.ps_capacity)
    for rows, demand, capacity in sides:
        job, slot, machine, number = rows.T
        if np.any(rows < 0) or np.any(number < 1) or sum_beyond(number, 1):
            return None
        if np.any(slot >= slots) or np.any(machine >= len(capacity)):  # (12), (13)
            return None
        if np.any(slot < a.arrival[job]):  # (9), (10)
            return None
        if not within(rows, demand, capacity, slots):  # (4), (5)
            return None
    place, number = sums(workers[:, 0] * slots + workers[:, 1], workers[:, 3])
    served, servers = sums(ps[:, 0] * slots + ps[:, 1], ps[:, 3])
    if np.any(number > a.chunks[place // slots]):  # (3)
        return None
    if not np.isin(served, place).all():  # (7)
        return None
    found = np.zeros(place.size, np.int64)
    found[np.searchsorted(place, served)] = servers
    needed = [inst.ps_needed(i)[n] for i, n in zip((place // slots).tolist(), number, strict=True)]
    if np.any(found < needed) or np.any(found > number):  # (6), (7)
        return None
    done = np.zeros(len(inst.jobs), np.int64)
    np.add.at(done, place // slots, number)
    runs = np.array([job is not None for job in schedule.jobs])
    if np.any(done[runs] < a.work[runs]):  # (2)
        return None
    last = np.full(len(inst.jobs), -1, np.int64)
    np.maximum.at(last, place // slots, place % slots)  # (8)
    completion = tuple(t if t >= 0 else None for t in last.tolist())
    earned = [
        job.utility(t - job.arrival)
        for job, t in zip(inst.jobs, completion, strict=True)
        if t is not None
    ]
    return Verdict(value=math.fsum(earned), completion=completion)


class _Verifier(PlacementVerifier):
    def __init__(self, inst: OasisInstance, schedule: OasisSchedule) -> None:
        machines = {
            "worker machine": (inst.worker_capacity, "4"),
            "ps machine": (inst.ps_capacity, "5"),
        }
        super().__init__(inst, schedule, machines)
        self.earned: list[float] = []

    def value(self) -> float:
        return math.fsum(self.earned)

    def job(self, i: int, unfinished: bool) -> None:
        plan, job, inst = self.schedule.jobs[i], self.inst.jobs[i], self.inst
        if plan is None:
            return
        workers, ps = Counter[int](), Counter[int]()  # by slot
        for t, _, n in self.place(
            i, plan.workers, job.worker_demand, "worker machine", ("12", "9")
        ):
            workers[t] += n
        for t, _, n in self.place(i, plan.ps, job.ps_demand, "ps machine", ("13", "10")):
            ps[t] += n
        if not workers and not ps and unfinished:
            return
        for t, n in sorted(workers.items()):
            if n > job.chunks:
                self.broken(
                    "3", f"job {i}, slot {t}: {n} workers, at most {job.chunks}", n - job.chunks
                )
        b, big_b = exact(job.worker_bandwidth), exact(job.ps_bandwidth)
        for t in sorted(workers.keys() | ps.keys()):
            n, m = workers[t], ps[t]
            place = f"job {i}, slot {t}: {m} parameter servers for {n} workers"
            if n * b / big_b > m + slack(n * b / big_b):
                self.broken("6", place, n * b - m * big_b)
            if m > n:
                self.broken("7", place, m - n)
        done = sum(workers.values())
        if done >= inst.work[i]:
            if max(workers) >= job.arrival:  # else (9) is broken already
                self.completion[i] = max(workers)  # (8)
                self.earned.append(job.utility(max(workers) - job.arrival))
        elif not unfinished:
            self.broken("2", f"job {i}: {done} of {inst.work[i]} worker-slots", inst.work[i] - done)
