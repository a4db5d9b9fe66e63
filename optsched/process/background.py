"""Long compiled work that can be stopped: it runs beside the thread that listens."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any, TypeVar

import numpy as np

from optsched.numbers.arrays import Ints
from optsched.process import effort

POLL = 0.05  # seconds between two questions whether to stop
NEVER = 2**62
PATIENCE = 1.0  # seconds, longer than compiled work goes on without looking whether to stop

Result = TypeVar("Result")


def supervised(
    work: Callable[[Ints], Result],
    stop: Callable[[], bool],
    *,
    patience: float = PATIENCE,
    most: int = NEVER,
) -> Result | None:
    """Run ``work`` in a thread of its own until it ends, or ``stop`` says so.

    Parameters
    ----------
    work : callable
        Gets an array [told, most] and ends soon after ``told`` has become 1, with the best so far.
        It must give up the interpreter's lock. What effort it counts is the caller's.
    stop : callable
        Asked in the thread of the caller, where signals arrive too, as often as time permits.
    patience : float
        Seconds in which work that was told to stop must end.
    most : int
        Iterations after which the work ends by itself.

    Returns
    -------
    object or None
        What ``work`` returns; None if it would not end: compilers and other solvers cannot be
        stopped.
    """
    stopped = np.array([0, most], np.int64)
    spent = [0.0]
    done = Event()
    found: list[Any] = []
    failed: list[BaseException] = []

    def body() -> None:
        try:
            found.append(work(stopped))
        except BaseException as err:
            failed.append(err)
        finally:
            spent[0] = effort.done()
            done.set()

    Thread(target=body, daemon=True).start()
    try:
        while not done.wait(POLL):
            if stop():
                stopped[0] = 1
                done.wait(patience)
                break
    finally:  # after Ctrl-C, too
        stopped[0] = 1
    effort.spend(spent[0])
    if failed:
        raise failed[0]
    return found[0] if found else None
