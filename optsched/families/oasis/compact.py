"""The optimum by the compact integer program (1)-(13), solved whole by HiGHS or another solver."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from optsched.families.oasis.instance import JobSchedule, OasisInstance, OasisSchedule
from optsched.families.oasis.verify import verify
from optsched.progress import Progress
from optsched.solvers import Interrupted, PyomoOutcome, solve_pyomo


def compact(
    inst: OasisInstance, monitor: Progress, *, threads: int, seed: int, solver: str = "highs"
) -> None:
    """Solve the compact program; report every schedule that is found, and the solver's bound.

    Parameters
    ----------
    inst : OasisInstance
    monitor : Progress
    threads, seed : int
        Of the solver.
    solver : str
        "highs", or any solver that Pyomo has.
    """
    from optsched.models.oasis import oasis_ilp  # here, since Pyomo takes a while to import

    model = oasis_ilp(inst)

    def report(_objective: float) -> None:
        schedule = schedule_of(inst, model)
        verdict = verify(inst, schedule)
        # the solver's tolerance is wider than the judge's, who has the last word
        if verdict.value is not None:
            monitor.incumbent(verdict.value, schedule)

    def close(outcome: PyomoOutcome) -> None:
        if outcome.objective is not None:
            report(outcome.objective)
        if outcome.bound is not None:
            # HiGHS by another name is no second opinion
            monitor.claim("highs" if "highs" in solver else solver, outcome.bound)

    try:
        found = solve_pyomo(
            model,
            solver,
            time_limit=monitor.left(),
            gap=monitor.gap_limit,
            threads=threads,
            seed=seed,
            on_improve=report,
        )
    except Interrupted as stopped:
        close(stopped.result)
        raise
    close(found)


def schedule_of(inst: OasisInstance, model: Any) -> OasisSchedule:
    """Read the schedule out of a solved model: the jobs that complete, until their work is done."""
    workers, ps = placed(model.y), placed(model.z)
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


def placed(variables: Any) -> dict[int, list[tuple[int, int, int]]]:
    """Return the entries (slot, machine, number) of every job, sorted, of ``y`` or ``z``."""
    entries: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for (i, machine, t), variable in variables.items():
        number = 0 if variable.value is None else round(variable.value)
        if number > 0:
            entries[i].append((t, machine, number))
    for found in entries.values():
        found.sort()
    return entries
