"""The optimum by a compact program: a Pyomo model, solved whole, reporting as it improves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from optsched.problem import Implementation
from optsched.process import timing, work_units
from optsched.process.background import supervised
from optsched.solvers import (
    Interrupted,
    PyomoOutcome,
    Written,
    silent_pyomo,
    solve_written,
    written,
)

Entries = list[tuple[int, int, int]]
Program = TypeVar("Program")
READING = 0.2  # of the time that a program took, a solver takes to read it: nothing stops that


def solve_compact(
    program: Written,
    progress: Any,
    read: Callable[[], Any],
    *,
    threads: int,
    seed: int,
) -> None:
    """Solve a written model; report every schedule that is found, and the solver's bound.

    Parameters
    ----------
    program : Written
    progress : optsched.engine.progress.Progress
    read : callable
        Reads the schedule out of the model's present values.
    threads, seed : int
        Of the solver.
    """
    # of the largest coefficient: HiGHS, with absolute tolerances, looks at no less
    unseen = 2e-9 * float(abs(program.cost).max(initial=0.0))

    def report(_objective: float) -> None:
        progress.offer(read())  # the solver's tolerance is wider than that of the feasibility check

    def close(outcome: PyomoOutcome) -> None:
        if outcome.objective is not None:
            report(outcome.objective)
        if outcome.status == "infeasible":
            progress.infeasible = True
        elif outcome.bound is not None:
            progress.claim(Implementation.HIGHS, outcome.bound + progress.sign * unseen)

    try:
        found = solve_written(
            program,
            gap=progress.gap_limit,
            threads=threads,
            seed=seed,
            on_improve=report,
            **progress.limits(),
        )
    except Interrupted as stopped:
        close(stopped.result)
        raise
    close(found)


def compact_method(
    module: str,
    name: str,
    schedule_of: Callable[[Any, Any], Any],
    variables: Callable[[Any], float],
) -> Callable[..., None]:
    """Return the method that solves a declared program whole.

    Parameters
    ----------
    module, name : str
        Where the function is that makes a model of an instance. It is imported on first use,
        for Pyomo loads slowly.
    schedule_of : callable
        (instance, model) -> the schedule that its present values mean.
    variables : callable
        About how many a model of an instance has.
    """

    def compact(inst: Any, progress: Any, *, threads: int, seed: int) -> None:
        """Solve the compact program by HiGHS."""
        if not affordable(progress, variables(inst)):
            return
        declare = getattr(import_module(module), name)

        def build() -> tuple[Any, Written]:
            with silent_pyomo():  # which complains when it is interrupted
                model = declare(inst)
                return model, written(model)

        built = unless_stopped(build, progress)
        if built is not None:
            model, program = built
            read = partial(schedule_of, inst, model)
            solve_compact(program, progress, read, threads=threads, seed=seed)

    return compact


def affordable(progress: Any, variables: float) -> bool:
    """Whether the budget suffices to write a program of this many variables; the work counts.

    A program that is larger is not begun, whatever the limit is of: seconds or effort.
    """
    # work units to write a variable down, with its share of the rows
    if 0.06 * work_units.UNIT * variables > progress.left():
        return False
    work_units.spend(0.06 * variables)
    return True


def unless_stopped(build: Callable[[], Program], progress: Any) -> Program | None:
    """Return the result of ``build``; None if the time is up before a solver has read it.

    Writing a large program down takes longer than anyone waits for an answer to a signal, so it is
    done in a thread. If the program is no longer needed, the thread is left alone: ``build`` ends
    by itself, where it looks whether it should (`interrupts.raise_if_interrupted`).
    """
    began = timing.now()
    built = supervised(lambda _stopped: build(), progress.called_off, patience=0.0)
    return None if progress.budget.late(READING * (timing.now() - began)) else built


def rounded(variable: Any) -> int:
    """Return the whole number that a variable holds, 0 if none."""
    return 0 if variable.value is None else round(variable.value)


def sorted_entries(numbers: dict[tuple[int, int, int], int]) -> dict[int, Entries]:
    """Turn {(job, slot, machine): number} into the entries [slot, machine, number] of every job."""
    entries: dict[int, Entries] = defaultdict(list)
    for (i, t, h), number in sorted(numbers.items()):
        if number > 0:
            entries[i].append((t, h, number))
    return entries
