"""What a method has found so far: the best of both sides, the clock, and when to stop."""

from __future__ import annotations

import time
from collections.abc import Callable

from optsched.problem import Family, Frozen, Implementation, Instance, Schedule, Verdict

CLOSED = 1e-6  # a gap up to this is closed


class Point(Frozen):
    """One step of the history: what was known after ``seconds``."""

    seconds: float
    value: float | None
    bound: float | None


class Progress:
    """Keeps the best of both sides while a method runs; says when to stop.

    A method reports schedules and bounds as it finds them, so that a time limit, a gap or Ctrl-C
    leaves the best so far. An incumbent counts only once the judge has accepted it.
    """

    def __init__(
        self,
        family: Family,
        instance: Instance,
        *,
        time_limit: float,
        gap: float,
        watch: Callable[[Progress], None] | None = None,
    ) -> None:
        self.family = family
        self.instance = instance
        self.gap_limit = gap
        self.watch = watch
        self.began = time.perf_counter()
        self.deadline = self.began + time_limit
        self.value: float | None = None
        self.bound: float | None = None
        self.schedule: Schedule | None = None
        self.certificate: Callable[[], Frozen] | None = None
        self.claimed: list[tuple[Implementation, float]] = []
        self.history: list[Point] = []
        self.infeasible = False
        self.interrupted = False  # set from outside: a signal has come
        self._proof: Frozen | None = None  # the certificate, where the family's distance asks it

    @property
    def sign(self) -> int:
        """1 if more is better, -1 if less is."""
        return self.family.sign

    def incumbent(self, value: float, schedule: Schedule) -> None:
        """Keep ``schedule`` if it is better than what is known and the judge accepts it."""
        if self.value is not None and self.sign * (value - self.value) < 0:
            return
        several = self.family.distance is not None  # equal values need not be equally good
        if self.value is not None and value == self.value and not several:
            return
        verdict: Verdict = self.family.verify(self.instance, schedule)
        if verdict.value is None:
            raise RuntimeError(f"a method brought a schedule that breaks the model: {verdict}")
        better = self.value is None or self.sign * (verdict.value - self.value) > 0
        if better or (several and verdict.value == self.value and self._closer(schedule)):
            self.value, self.schedule = verdict.value, schedule
            self._record()

    def proved(self, bound: float, certificate: Callable[[], Frozen]) -> None:
        """Keep a bound; ``certificate`` makes the certificate of it, or of a better one."""
        worse = self.bound is not None and self.sign * (self.bound - bound) < 0
        if worse or (bound == self.bound and self.family.distance is None):
            return
        if self.family.distance is not None:
            proof = certificate()
            if bound == self.bound and not self._tighter(proof):
                return
            self._proof = proof
        self.bound, self.certificate = bound, certificate
        self._record()

    def _closer(self, schedule: Schedule) -> bool:
        """Return whether a schedule of the same value is nearer to the bound."""
        now = self.gap()
        then = self.family.gap(self.instance, self.value, self.bound, schedule, self._proof)
        return now is not None and then is not None and then < now

    def _tighter(self, proof: Frozen) -> bool:
        """Return whether a certificate of the same bound is nearer to the schedule."""
        now = self.gap()
        then = self.family.gap(self.instance, self.value, self.bound, self.schedule, proof)
        return now is not None and then is not None and then < now

    def claim(self, solver: Implementation, bound: float) -> None:
        """Note a bound for which there is only a solver's word."""
        self.claimed.append((solver, bound))
        self.tick()

    def left(self) -> float:
        """Seconds until the time limit; none after a signal."""
        return 0.0 if self.interrupted else max(0.0, self.deadline - time.perf_counter())

    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.began

    def gap(self) -> float | None:
        """Return the gap between the incumbent and the certified bound."""
        return self.family.gap(self.instance, self.value, self.bound, self.schedule, self._proof)

    def closed(self) -> bool:
        """Whether the gap is as small as was asked for."""
        gap = self.gap()
        return gap is not None and gap <= self.gap_limit

    def stop(self) -> bool:
        """Whether the time is up, the gap closed, or a signal has come."""
        self.tick()
        return self.interrupted or self.left() <= 0 or self.closed()

    def tick(self) -> None:
        """Let whoever watches look."""
        if self.watch is not None:
            self.watch(self)

    def _record(self) -> None:
        self.history.append(Point(seconds=self.seconds(), value=self.value, bound=self.bound))
        self.tick()
