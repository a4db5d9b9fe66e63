"""Time limits and work limits of a solve: seconds on the clock, or deterministic time.

Methods compute with seconds. Under a work limit these are derived from the work done so far (see
`process.work_units`), so that every decision is the same on any machine, as with the deterministic
time of CP-SAT (Perron et al., 2023).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypedDict

from optsched.process import interrupts, timing, work_units

AFTER_LIMIT = 0.7  # seconds for the exact check of a bound, and for code that rarely checks time
AFTER_SIGNAL = 0.5  # seconds, of the 1.2 in which a command must have ended


class Limits(TypedDict):
    """Limits of a solver, see `solvers`: seconds on the clock, and work units."""

    time_limit: float
    effort: float


class Budget:
    """The limits of a solve, and their use so far.

    Parameters
    ----------
    time_limit : float
        Seconds on the clock.
    units : float, optional
        Work limit in work units. If given, methods measure work, not time; the time limit still
        ends the solve.
    ended : callable
        Returns whether the solve must end regardless of its limits; by default, whether a signal
        was received.
    """

    def __init__(
        self,
        time_limit: float = math.inf,
        units: float | None = None,
        ended: Callable[[], bool] = lambda: interrupts.received() is not None,
    ) -> None:
        self.units, self.ended = units, ended
        self.began = timing.now()
        self._deadline = self.began + time_limit
        self._signaled: float | None = None  # when a signal was first seen
        self._count = work_units.count()
        self._start = self._count.units

    def elapsed(self) -> float:
        """Return seconds on the clock since the start: to be shown, never to decide by."""
        return timing.now() - self.began

    def spent(self) -> float:
        """Return the work units since the start."""
        return self._count.units - self._start

    def seconds(self) -> float:
        """Return seconds since the start, of the clock or of effort."""
        return self.elapsed() if self.units is None else self.spent() * work_units.UNIT

    def late(self, soon: float = 0.0) -> bool:
        """Whether the time limit is over, or will be within this many seconds."""
        return timing.now() + soon >= self._deadline

    def overdue(self) -> bool:
        """Whether a limit or a signal was long enough ago that the solve is no longer awaited.

        To be called repeatedly, by another thread than the one that solves.
        """
        if self._signaled is None and interrupts.received() is not None:
            self._signaled = time.perf_counter()  # a signal does not wait for kernels to compile
        signalled = (
            self._signaled is not None and time.perf_counter() > self._signaled + AFTER_SIGNAL
        )
        return signalled or self.late(-AFTER_LIMIT)

    def left(self) -> float:
        """Return seconds that are left, of the clock or of effort."""
        if self.ended():
            return 0.0
        if self.units is None:
            return max(0.0, self._deadline - timing.now())
        return 0.0 if self.late() else max(0.0, (self.units - self.spent()) * work_units.UNIT)

    def span(self, seconds: float = math.inf) -> Span:
        """Return a part of the remaining time: at most this many seconds."""
        return Span(self, seconds)

    def limits(self, seconds: float = math.inf) -> Limits:
        """Return limits for a solver: this many seconds, and the remaining time, at most."""
        seconds = min(seconds, self.left())
        if self.units is None:
            return Limits(time_limit=seconds, effort=math.inf)
        on_clock = max(0.0, self._deadline - timing.now())
        return Limits(time_limit=on_clock, effort=seconds / work_units.UNIT)


class Span:
    """A part of the remaining time, from now on.

    Attributes
    ----------
    whole : float
        Its seconds.
    """

    def __init__(self, budget: Budget, seconds: float) -> None:
        self.budget = budget
        self.began = budget.seconds()
        self.whole = min(seconds, budget.left())

    def passed(self) -> float:
        """Return how many of the seconds have passed."""
        return self.budget.seconds() - self.began

    def left(self) -> float:
        """Return how many are left; none after a signal."""
        return max(0.0, min(self.whole - self.passed(), self.budget.left()))

    def over(self) -> bool:
        """Whether none are left."""
        return self.left() <= 0

    def share(self) -> float:
        """Return the part that has passed, 1 when it is over; a closed gap does not end it."""
        return 1.0 if self.over() else self.passed() / self.whole

    def limits(self, seconds: float = math.inf) -> Limits:
        """Return limits for a solver: this many seconds, and the remaining time, at most."""
        return self.budget.limits(min(seconds, self.left()))
