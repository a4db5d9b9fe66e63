"""Long work that can be stopped, or left alone: it runs parallel to the thread that listens.

No exception is ever raised in a thread from outside: it may be importing a module, of which half
would stay. A thread that is left alone ends by itself, when it next looks whether it should. The
interpreter waits for that before it ends: a daemon thread that returns from C++ (a solver) to an
interpreter that has ended aborts the process.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from threading import Event, Thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from optsched.process import interrupts, work_units

POLL = 0.05  # seconds between two questions whether to stop
NEVER = 2**62
PATIENCE = 1.0  # seconds, longer than compiled work goes on without looking whether to stop

Result = TypeVar("Result")


def supervised(
    work: Callable[[NDArray[np.int64]], Result],
    stop: Callable[[], bool],
    *,
    patience: float = PATIENCE,
    most: int = NEVER,
) -> Result | None:
    """Run ``work`` in a thread of its own until it ends, or ``stop`` states it.

    Parameters
    ----------
    work : callable
        Receives an array [stop, most] and ends soon after its first entry has become 1, with the
        best so far. It must give up the interpreter's lock. What effort it counts is the caller's.
        When it is no longer awaited, :func:`optsched.process.interrupts.received` states it in
        its thread.
    stop : callable
        Called in the thread of the caller, where signals arrive too, as often as time permits.
    patience : float
        Seconds in which work that was stopped must end.
    most : int
        Iterations after which the work ends by itself.

    Returns
    -------
    object or None
        What ``work`` returns; None if it would not end: compilers and other solvers cannot be
        stopped.
    """
    stopped = np.array([0, most], np.int64)
    done, abandoned, count = Event(), array("q", [0]), work_units.count()
    found: list[Any] = []
    failed: list[BaseException] = []

    def body() -> None:
        work_units.share(count)
        interrupts.end_when(abandoned)
        try:
            found.append(work(stopped))
        except BaseException as err:
            failed.append(err)
        finally:
            done.set()

    Thread(target=body, daemon=False).start()
    try:
        while not done.wait(POLL):
            if stop():
                stopped[0] = 1
                done.wait(patience)
                break
    finally:  # after Ctrl-C as well
        stopped[0] = 1
        if not done.is_set():
            abandoned[0] = 1
            work_units.part()
    if failed:
        raise failed[0]
    return found[0] if found else None
