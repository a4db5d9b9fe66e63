"""Time-indexed integer program (2), (15), solved as a whole by HiGHS.

A time-indexed formulation with a binary variable per mode and start (Pritsker et al., 1969),
solved by branch and cut (Huangfu and Hall, 2018): the method `compact`, a cross-check of the
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optsched.engine.progress import Progress
from optsched.families.completion.instance import CompletionInstance, CompletionSchedule, Piece
from optsched.families.completion.optimum.horizon import latest_ends
from optsched.families.completion.optimum.relaxations.capacity import JobTables
from optsched.process import work_units
from optsched.scheduling.declared import solve_compact, unless_stopped
from optsched.solvers import Written, silent_pyomo, written


class _OutOfTimeError(Exception):
    """The time was up before the program was built."""


def compact(inst: CompletionInstance, progress: Progress, *, threads: int, seed: int) -> None:
    """Solve the time-indexed program; report every schedule that is found, and the solver's bound.

    Where jobs may run on after T, the program reaches as far as any job of a schedule can that is
    better than the one that is known: see `horizon`. Building it counts: where that alone takes the
    time, there is only the greedy schedule.

    Parameters
    ----------
    inst : CompletionInstance
    progress : Progress
    threads, seed : int
        Of the solver.
    """
    from optsched.models.completion import completion_ilp, modes_by_job  # Pyomo loads slowly

    jobs = unless_stopped(lambda: JobTables(inst), progress)
    if jobs is None:
        return
    if jobs.impossible() is not None:
        progress.infeasible = True
        return

    def watch() -> None:
        # numbers that Pyomo handles between two checks of the remaining time
        work_units.spend(work_units.HANDLED * 1500)
        if progress.left() <= 0:
            raise _OutOfTimeError

    ends, modes = latest_ends(jobs, progress), modes_by_job(inst)

    def build() -> tuple[Any, Written]:
        with silent_pyomo():
            model = completion_ilp(inst, ends, watch)
            return model, written(model)

    rows = starts(inst, ends, modes) * (1 if inst.ring else len(inst.capacity))
    if work_units.HANDLED * 1500 * rows > progress.limits()["effort"]:
        return
    try:
        built = unless_stopped(build, progress)
    except _OutOfTimeError:
        return
    if built is None:
        return
    model, program = built
    solve_compact(
        program, progress, lambda: schedule_of(inst, model, modes), threads=threads, seed=seed
    )


def starts(inst: CompletionInstance, ends: Sequence[int], modes: Any) -> int:
    """Return how many modes and starts jobs can choose among that end in time."""
    return sum(
        max(0, end - job.arrival - mode.d + 1)
        for job, end, mine in zip(inst.jobs, ends, modes, strict=True)
        for mode in mine
    )


def variables(inst: CompletionInstance, ends: Sequence[int]) -> int:
    """Return about how many variables the program has: per mode and start, and on every server."""
    from optsched.models.completion import modes_by_job

    each = 1 + (2 if inst.ring else 3) * len(inst.capacity)
    return starts(inst, ends, modes_by_job(inst)) * each


def schedule_of(inst: CompletionInstance, model: Any, modes: Any = None) -> CompletionSchedule:
    """Read the schedule out of a solved model; PS that (2i) does not need are left out."""
    from optsched.models.completion import modes_by_job

    modes = modes_by_job(inst) if modes is None else modes
    pieces: list[tuple[Piece, ...]] = [()] * len(inst.jobs)
    servers = range(len(inst.capacity))
    for (j, k, t), x in model.x.items():
        if x.value is None or x.value < 0.5:
            continue
        mode = modes[j][k]

        def counts(variables: Any, key: tuple[int, int, int]) -> tuple[tuple[int, int], ...]:
            found = ((h, round(variables[(*key, h)].value or 0)) for h in servers)
            return tuple((h, n) for h, n in found if n)

        pieces[j] = (
            Piece(
                start=t,
                duration=mode.d,
                worker_type=mode.m,
                ps_type=None if inst.ring else mode.p,
                workers=counts(model.y, (j, k, t)),
                ps=() if inst.ring else counts(model.s, (j, k, t)),
            ),
        )
    return CompletionSchedule(jobs=tuple(pieces))
