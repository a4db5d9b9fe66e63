"""Mixed-integer program: the compact formulation, solved as a whole by HiGHS.

Branch and cut by HiGHS (Huangfu and Hall, 2018) on the formulation in `models`: the method
`compact`, a cross-check of the others.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, JobSchedule
from optsched.scheduling.board import placed_jobs
from optsched.scheduling.declared import compact_method, rounded, sorted_entries


def variables(inst: DmlrsInstance) -> int:
    """Return about how many variables the programs have: workers with their PS, by machine."""
    most = sum(job.chunks * (inst.horizon - job.arrival) for job in inst.jobs)
    return most * len(inst.capacity)


def schedule_of(inst: DmlrsInstance, model: Any) -> DmlrsSchedule:
    """Read the schedule out of a solved model: the jobs that complete."""
    workers: Counter[tuple[int, int, int]] = Counter()
    ps: Counter[tuple[int, int, int]] = Counter()
    for where, variable in model.w.items():
        workers[where] += rounded(variable)
    for where, variable in model.s.items():
        ps[where] += rounded(variable)
    if inst.locality == "job":
        for (i, t, h, n), variable in model.inner.items():
            if rounded(variable):
                workers[i, t, h] += n
                ps[i, t, h] += inst.needs[i].ps_inner[n]
    placed, served = sorted_entries(workers), sorted_entries(ps)
    runs = {i for (i, _), v in model.v.items() if rounded(v)}
    sides = ((placed[i], served[i]) for i in range(len(inst.jobs)))
    return DmlrsSchedule(jobs=placed_jobs(sides, runs, JobSchedule))


compact = compact_method("optsched.models.dmlrs", "dmlrs_ilp", schedule_of, variables)
