"""The optimum by the compact integer program, solved whole by HiGHS or another solver."""

from __future__ import annotations

from collections import Counter
from typing import Any

from optsched.engine.progress import Progress
from optsched.families.dmlrs.instance import DmlrsInstance, DmlrsSchedule, JobSchedule
from optsched.scheduling.declared import rounded, solve_compact, sorted_entries, unless_stopped


def compact(
    inst: DmlrsInstance, progress: Progress, *, threads: int, seed: int, solver: str = "highs"
) -> None:
    """Solve the compact program of the instance's reading; report schedules and the bound.

    Parameters
    ----------
    inst : DmlrsInstance
    progress : Progress
    threads, seed : int
        Of the solver.
    solver : str
        "highs", or any solver that Pyomo has.
    """
    from optsched.models.dmlrs import dmlrs_ilp  # here, since Pyomo takes a while to import

    model = unless_stopped(lambda: dmlrs_ilp(inst), progress)
    if model is None:
        return
    solve_compact(
        model,
        progress,
        lambda: schedule_of(inst, model),
        threads=threads,
        seed=seed,
        solver=solver,
    )


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
    return DmlrsSchedule(
        jobs=tuple(
            JobSchedule(workers=tuple(placed[i]), ps=tuple(served[i])) if i in runs else None
            for i in range(len(inst.jobs))
        )
    )
