"""The judge of family `oasis`, from the definition (1)-(13); it knows no model and no policy."""

from __future__ import annotations

import math
from collections import Counter

from optsched.families.oasis.instance import OasisInstance, OasisSchedule
from optsched.numbers.resources import exact, slack
from optsched.problem import Verdict
from optsched.proofs.placements import PlacementJudge, wrong_number


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
    return wrong_number(inst, schedule, "1") or _Judge(inst, schedule).verdict(unfinished)


class _Judge(PlacementJudge):
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
