"""Mixed-integer program: the compact formulation (1)-(13), solved as a whole by HiGHS.

Branch and cut by HiGHS (Huangfu and Hall, 2018) on the formulation in `models`: the method
`compact`, a cross-check of the others.
"""

from __future__ import annotations

from typing import Any

from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisSchedule
from optsched.scheduling.declared import Entries, compact_method, rounded, sorted_entries


def variables(inst: OasisInstance) -> int:
    """Return about how many variables the programs have: workers or PS on every machine."""
    machines = len(inst.arrays.worker_capacity) + len(inst.arrays.ps_capacity)
    return len(inst.jobs) * inst.horizon * machines


def schedule_of(inst: OasisInstance, model: Any) -> OasisSchedule:
    """Read the schedule out of a solved model: the jobs that complete, until their work is done."""
    workers, ps = _placed(model.y), _placed(model.z)
    jobs: list[JobSchedule | None] = [None] * len(inst.jobs)
    for i in sorted({i for (i, _), v in model.v.items() if v.value is not None and v.value > 0.5}):
        done, last = 0, inst.horizon
        for t, _, n in workers[i]:
            if done >= inst.work[i] and t > last:
                break
            done, last = done + n, t
        jobs[i] = JobSchedule(
            workers=tuple(e for e in workers[i] if e[0] <= last),
            ps=tuple(e for e in ps[i] if e[0] <= last),
        )
    return OasisSchedule(jobs=tuple(jobs))


def _placed(variables: Any) -> dict[int, Entries]:
    """Return the entries of every job, of ``y`` or ``z``, which are by job, machine and slot."""
    return sorted_entries({(i, t, h): rounded(x) for (i, h, t), x in variables.items()})


compact = compact_method("optsched.models.oasis", "oasis_ilp", schedule_of, variables)
