"""Feasibility check of family `dmlrs`, from the definition (3.1)-(3.7), without solver code."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, job_work
from optsched.numbers.resources import exact, slack
from optsched.problem import Verdict
from optsched.proofs.placements import PlacementVerifier, shown, wrong_number

Placed = dict[int, dict[int, int]]  # slot -> machine -> number


def verify(inst: DmlrsInstance, schedule: DmlrsSchedule, *, unfinished: bool = False) -> Verdict:
    """Check ``schedule`` and recompute its objective.

    Parameters
    ----------
    inst : DmlrsInstance
        Its ``locality`` states in which reading.
    schedule : DmlrsSchedule
    unfinished : bool
        Whether a job may be left unfinished: it then earns nothing, and (3.1) is not required of
        it. For the runs of policies that admit all jobs.

    Returns
    -------
    Verdict
        Every violated equation with its place and amount, or the objective.
    """
    return wrong_number(inst, schedule, "3.1") or _Verifier(inst, schedule).verdict(unfinished)


class _Verifier(PlacementVerifier):
    def __init__(self, inst: DmlrsInstance, schedule: DmlrsSchedule) -> None:
        super().__init__(inst, schedule, {"machine": (inst.capacity, "3.3")})
        self.earned = 0.0

    def value(self) -> float:
        return self.earned

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
                self.earned += job.utility(max(workers) - job.arrival)
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
        """Check one job in one slot; return how many workers have the inner and the outer rate."""
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
            inner = sum(w for h, w in workers.items() if h in ps)
            near = inner if len(ps) == 1 else 0
            flow = inner * b_in + (n * len(ps) - inner) * b_ex
        needed = flow / exact(job.ps_bandwidth)
        if m and needed > m + slack(needed):
            self.broken(
                "3.4",
                f"{place}: {servers} for a flow of {shown(flow)} Gbit/s",
                flow - m * exact(job.ps_bandwidth),
            )
        return near, n - near

    def placed(self, i: int, what: str) -> Placed:
        """Add up a job's workers (or PS); note their load and misplaced ones."""
        job, entries = self.inst.jobs[i], getattr(self.schedule.jobs[i], what)
        demand = job.worker_demand if what == "workers" else job.ps_demand
        total: Placed = defaultdict(lambda: defaultdict(int))
        for t, h, n in self.place(i, entries, demand, "machine", ("3.3", "3.7")):
            total[t][h] += n
        return {t: dict(machines) for t, machines in total.items()}
