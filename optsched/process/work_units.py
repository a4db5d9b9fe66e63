"""Work limit: work that is counted, for limits that repeat on any machine and under any load.

A second on the clock holds as much work as the machine and its load allow; a unit of work always
holds the same work. One unit is about what a core of a typical laptop does in a millisecond, so
that 10 000 of them take about ten seconds. The constants below are the units charged per
operation. They were measured once, on a core of an AMD EPYC at 2.7 GHz, and are part of what makes
results repeat: changing one of them changes what a given work limit finds.

Code that works reports it with :func:`spend`, from estimates that depend on the work alone: sizes,
iterations, nodes, moves. The count belongs to the thread, as solves in different threads are
different solves.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from optsched.process.interrupts import leave_if_abandoned

UNIT = 1e-3  # seconds of a typical core
QUESTION = 1e-3  # of one check whether to stop, so that every loop that checks ends
CALL = 0.01  # of calling a compiled kernel from Python, with what is done around it: 10 us
STEP = 2e-6  # of an elementary step of a compiled kernel: 2 ns
COVERED = 1e6  # elementary steps of a kernel that counts its own, but not those of usual sizes
SMALL = 10.0  # units by which a piece of work may pass a limit
HANDLED = 1e-4  # of a number that Python and numpy put into a program or an array: 100 ns

# Solvers count what they do themselves, in units of their own.
SIMPLEX_ITERATION = 0.01, 4e-6  # of HiGHS: for each, and for each nonzero of the matrix
INTERIOR_ITERATION = 0.05, 3e-4  # of HiGHS and Clarabel, the same
LINEAR_PROGRAM = 0.3  # of a small one in HiGHS, besides its iterations
EXACT = 2e-3  # of a number in the exact evaluation of a bound: 2 us
MIP_LOOK = 0.1, 4e-4  # of HiGHS, between two calls of the stop callback: constant, and per nonzero
DETERMINISTIC_SECOND = 1000.0  # of CP-SAT, whose unit of work is about a second


class Count:
    """The units that one thread has spent, with the threads that work for it."""

    def __init__(self, units: float = 0.0) -> None:
        self.units = units
        self.limit = math.inf  # of its units: no large piece of work is to go beyond it
        self.end = math.inf  # of its units: what is under way then is given up


class _Mine(threading.local):
    def __init__(self) -> None:
        self.count = Count()


_mine = _Mine()


def count() -> Count:
    """Return the count of this thread."""
    return _mine.count


def share(other: Count) -> None:
    """Let this thread spend for another one, which waits for it."""
    _mine.count = other


def part() -> None:
    """Detach the threads that share the count of this thread from now on."""
    _mine.count = Count(_mine.count.units)


def spend(units: float) -> None:
    """Count work that has been done; a thread that is no longer awaited ends here."""
    _mine.count.units += units
    leave_if_abandoned()


def steps(number: float) -> None:
    """Count a call of a compiled kernel that takes this many elementary steps."""
    spend(CALL + STEP * number)


@contextmanager
def at_most(units: float, more: float = 0.0) -> Iterator[None]:
    """Limit the work inside; what is under way ``more`` units later is given up."""
    mine = _mine.count
    before = mine.limit, mine.end
    mine.limit = min(mine.limit, mine.units + units)
    mine.end = min(mine.end, mine.units + units + more)
    try:
        yield
    finally:
        mine.limit, mine.end = before


def fits(units: float) -> bool:
    """Return whether a piece of work is small, or does not go beyond the limit."""
    return units <= SMALL or _mine.count.units + units <= _mine.count.limit


def begin(units: float) -> None:
    """Count work that is about to be done; raise KeyboardInterrupt if it is given up."""
    if _mine.count.units + units > _mine.count.end:
        raise KeyboardInterrupt
    spend(units)


def most_steps() -> float:
    """Return at how many elementary steps a kernel that counts its own returns at once."""
    return COVERED + max(0.0, _mine.count.end - _mine.count.units) / STEP


def counted(number: float, most: float, usual: float = COVERED) -> None:
    """Count the steps of such a kernel; raise KeyboardInterrupt if it returned at once.

    Those that kernels take for ``usual`` sizes are not counted here, but with their calls.
    """
    spend(STEP * max(0.0, number - usual))
    if number > most:
        raise KeyboardInterrupt


def done() -> float:
    """Return the units that this thread has spent so far."""
    return _mine.count.units
