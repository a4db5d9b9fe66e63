"""Incumbent and dual bound of a running method, its parameters, limits and stopping criteria.

Methods report schedules and certificates as they find them; the best of both sides give the gap at
which a search stops, as in branch and bound (Land and Doig, 1960).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial, wraps
from inspect import unwrap
from typing import Any, Self, TypeAlias

from optsched.engine.budget import Budget, Limits, Span
from optsched.engine.interval import Interval
from optsched.problem import Family, Frozen, Implementation, Instance, Level, Schedule, Verdict
from optsched.process import interrupts, work_units


def _itself(certificate: Frozen) -> Frozen:
    return certificate


class HistoryPoint(Frozen):
    """One step of the history: value and bound after ``seconds``."""

    seconds: float
    value: float | None
    bound: float | None


Maker: TypeAlias = Callable[[], Frozen]
"""Makes the certificate of a bound."""


def origin(maker: Maker) -> str:
    """Return the code that makes a certificate: where it errs once, it may err again."""
    inner = unwrap(maker)
    code: Any = inner.func if isinstance(inner, partial) else inner
    named = code if hasattr(code, "__qualname__") else type(code)
    return f"{named.__module__}.{named.__qualname__}"


class Progress:
    """Keeps the best of both sides while a method runs; decides when to stop.

    A method reports schedules and bounds as it finds them, so that a limit, a gap or Ctrl-C leaves
    the best so far. An incumbent counts only once the feasibility check has accepted it.

    Of bounds, the best one of every origin is kept. If its certificate cannot be made, the
    checker refuses it, or it proves less than the bound of another origin, that is a defect of this
    package: it is noted in ``defects``, and the best bound of the other origins takes its place.

    Seconds are those of the clock or, under a work limit, those that the work so far corresponds
    for: a method that reads `seconds`, `left` and `span`, and hands `limits` to solvers, repeats
    under a work limit. `elapsed` and `spent` are for display.
    """

    def __init__(
        self,
        family: Family,
        instance: Instance,
        *,
        gap: float,
        time_limit: float = math.inf,
        units: float | None = None,
        watch: Callable[[Progress], None] | None = None,
        params: Any = None,
    ) -> None:
        self.family = family
        self.instance = instance
        self.gap_limit = gap
        self.watch = watch
        self.params = family.params() if params is None and family.params is not None else params
        self.budget = Budget(time_limit, units, lambda: self.interrupted)
        self.tightened = 0.0  # seconds, when the bound last became better
        self.interval = Interval(family, instance, None)  # replaced as a whole
        self.certificate: Maker | None = None
        self.first: Maker | None = None  # of the best bound before any search
        self.defects: tuple[str, ...] = ()
        self.claimed: list[tuple[Implementation, float]] = []
        self.solver_claim: Any = None  # by the solver, of the whole program
        self.history: list[HistoryPoint] = []
        self.infeasible = False
        self._ended = False
        self._bounds: dict[str, tuple[float, Maker, Frozen | None]] = {}  # by origin
        self._checked: tuple[Frozen, float] | None = None  # the last one, and its bound
        self.checked: tuple[Frozen, float] | None = None  # the best one that was checked, likewise

    @cached_property
    def digest(self) -> str:
        """The digest of the instance; no policy runs during a search, so that it stays the same."""
        return self.instance.digest()

    @property
    def value(self) -> float | None:
        """The value of the incumbent."""
        return self.interval.value

    @property
    def schedule(self) -> Schedule | None:
        """The incumbent."""
        found: Schedule | None = self.interval.schedule
        return found

    @property
    def bound(self) -> float | None:
        """The best bound."""
        return self.interval.bound

    @property
    def sign(self) -> int:
        """1 if more is better, -1 if less is."""
        return self.family.sign

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C, another signal or an observer has requested an end."""
        return self._ended or interrupts.received() is not None

    def end(self) -> None:
        """Stop the method with its results so far, as a signal would."""
        self._ended = True

    def abandon(self) -> None:
        """Wait no longer for the method, which may run on for a while, unwatched."""
        self.end()
        self.watch = None

    def so_far(self) -> tuple[Self, Level]:
        """Return the current interval while the method runs, and the level of its bound.

        It may take long to make and check a certificate of the bound. So there is the best one that
        was checked, and a tighter bound is a claim; or else that of the best bound which was known
        before any search, and nothing was checked.
        """
        known, checked, bound = copy.copy(self), self.checked, self.bound
        known.claimed, known.history = list(self.claimed), list(self.history)
        known.interval = replace(known.interval, certificate=None)
        if checked is None:
            known.certificate = self.first
            return known, Level.CLAIMED
        known._checked, (made, proved) = checked, checked
        known._bounds = {}  # no other is proved
        known.interval = known.interval.at(proved)
        known.certificate = lambda: made
        if bound is not None:
            known.claimed.append((Implementation.PRICES, bound))
        return known, Level.CERTIFIED

    def incumbent(self, value: float, schedule: Schedule) -> None:
        """Keep ``schedule`` if it is better than the incumbent and feasible."""
        if self.value is not None and self._behind(value):
            return
        self.accept(schedule, self.family.verify(self.instance, schedule))

    def offer(self, schedule: Schedule | None, *, sure: bool = False) -> None:
        """Report a schedule, if there is one; if not ``sure``, it may be infeasible."""
        if schedule is not None:
            verdict = self.family.verify(self.instance, schedule)
            if sure or verdict.value is not None:
                self.accept(schedule, verdict)

    def accept(self, schedule: Schedule, verdict: Verdict) -> None:
        """Keep a schedule that was just checked, if it is better.

        Raises
        ------
        RuntimeError
            The feasibility check rejects it.
        """
        if verdict.value is None:
            raise RuntimeError(f"a method brought a schedule that breaks the model: {verdict}")
        if self.interval.is_improved_by(verdict.value, schedule):
            self.interval = replace(self.interval, value=verdict.value, schedule=schedule)
            self._record()

    def _behind(self, value: float) -> bool:
        """Return whether no schedule of this value is better, whatever it looks like."""
        assert self.value is not None  # the caller has seen to it
        ahead = self.sign * (value - self.value)
        return ahead <= 0 and not self.interval.alike(value, self.value)

    def tighten(self, bound: float, certificate: Maker) -> None:
        """Tighten the dual bound; the checker evaluates its certificate later.

        ``certificate`` makes the certificate of the bound, or of a better one.
        """
        ahead = math.inf if self.bound is None else self.sign * (self.bound - bound)
        if self.family.distance is None:
            if ahead > 0:
                self._keep(bound, certificate, None)
                self.tightened = self.seconds()
            return
        if ahead <= 0 and not self.interval.alike(bound, self.bound or 0.0):
            return
        try:
            proof = certificate()
        except Exception as err:
            self._note(bound, err)
            return
        now = self.gap()
        then = replace(self.interval, bound=bound, certificate=proof).gap
        if ahead > 0 or (now is not None and then is not None and then <= now):
            self._keep(bound, certificate, proof)

    def _keep(self, bound: float, certificate: Maker, proof: Frozen | None) -> None:
        self._bounds = {**self._bounds, origin(certificate): (bound, certificate, proof)}
        self.certificate = certificate
        self.interval = replace(self.interval, bound=bound, certificate=proof)
        self._record()

    def prove(self, certificate: Frozen) -> None:
        """Check a certificate, and keep it with the bound that it proves."""
        try:
            bound = self.check(certificate)
        except Exception as err:
            self._note(None, err)
        else:
            self.tighten(bound, partial(_itself, certificate))

    def proof(self, *, check: bool) -> tuple[Frozen | None, float | None]:
        """Return the certificate of the best bound, and, if it is to be checked, its bound.

        Where that fails, or proves less than another bound, the next best one takes its place.
        """
        while self.certificate is not None and self.bound is not None:
            if check and self.checked is not None and self._worse(self.bound, self.checked[1]):
                return self.checked
            try:
                made = self.certificate()
                proved = self.check(made) if check else None
                self._compare(proved)
            except Exception as err:
                self._note(self.bound, err)
                self._drop(origin(self.certificate))
            else:
                best = self.checked if check and self.family.distance is None else None
                return best or (made, proved)
        return self.checked or (None, None)

    def _worse(self, one: float, other: float) -> bool:
        """Return whether one bound is worse than another by more than rounding."""
        return self.sign * (one - other) > 0 and not self.interval.same(one, other)

    def _compare(self, proved: float | None) -> None:
        """Raise ValueError where another origin's bound is better than the one that was proved."""
        mine = self.certificate and origin(self.certificate)
        others = [b for name, (b, *_) in self._bounds.items() if name != mine]
        if proved is not None and any(self._worse(proved, other) for other in others):
            raise ValueError(f"it proves {proved:.9g}, another bound is better")

    def _note(self, bound: float | None, err: Exception) -> None:
        """Take down a defect."""
        of = "" if bound is None else f" of the bound {bound:.9g}"
        why = " ".join(str(err).split()) or "no message"
        self.defects += (f"the certificate{of} failed: {type(err).__name__}: {why}",)

    def _drop(self, source: str) -> None:
        """Go back to the best bound of another origin; the history is that of bounds that hold."""
        self._bounds = {name: b for name, b in self._bounds.items() if name != source}
        best = min(self._bounds.values(), key=lambda b: self.sign * b[0], default=None)
        bound, self.certificate, proof = best or (None, None, None)
        self.interval = replace(self.interval, bound=bound, certificate=proof)
        least = self.sign * math.inf if self.bound is None else self.bound
        self.history = [
            point
            if point.bound is None or self.sign * (least - point.bound) <= 0
            else point.model_copy(update={"bound": None})
            for point in self.history
        ]

    def check(self, certificate: Frozen) -> float:
        """Return the bound that a certificate proves: the checker's, cached for the last and best.

        Raises
        ------
        ValueError
            The checker refuses it.
        """
        for known in (self._checked, self.checked):
            if known is not None and known[0] is certificate:
                return known[1]
        self._checked = certificate, self.family.proved(self.instance, certificate)
        self.certified(*self._checked)
        return self._checked[1]

    def certified(self, certificate: Frozen, bound: float) -> None:
        """Keep a certificate that has been checked, and its bound, if that is the best."""
        if self.checked is None or self.sign * (self.checked[1] - bound) > 0:
            self.checked = certificate, bound

    def confirm(self) -> None:
        """Make and check the certificate now: so it is at hand where the end must be quick."""
        made, _ = self.proof(check=True)
        if made is not None and self.certificate is not None:
            self.certificate = wraps(self.certificate)(partial(_itself, made))
            self.tick()

    def claim(self, solver: Implementation, bound: float) -> None:
        """Record a bound that a solver claims."""
        self.claimed.append((solver, bound))
        self.tick()

    def left(self) -> float:
        """Seconds until the limit; none after a signal."""
        return self.budget.left()

    def seconds(self) -> float:
        """Seconds since the start, as limits count them."""
        return self.budget.seconds()

    def span(self, seconds: float = math.inf) -> Span:
        """Return a part of the remaining time: at most this many seconds."""
        return self.budget.span(seconds)

    def limits(self, seconds: float = math.inf) -> Limits:
        """Return limits for a solver: this many seconds, and the remaining time, at most."""
        return self.budget.limits(seconds)

    def spend(self, units: float) -> None:
        """Count work, in work units (see `process.work_units`): solvers count theirs."""
        work_units.spend(units)

    def called_off(self) -> bool:
        """Whether a signal, the clock or the callback ends it: may be called at any moment.

        To be called while waiting for a thread: `stop` counts its calls.
        """
        self.tick()
        return self.interrupted or self.budget.late()

    def gap(self) -> float | None:
        """Return the gap between the incumbent and the best bound so far."""
        return self.interval.gap

    def closed(self) -> bool:
        """Whether the gap is as small as was requested."""
        gap = self.gap()
        return gap is not None and gap <= self.gap_limit

    def stop(self) -> bool:
        """Whether the limit is reached, the gap closed, or a signal has come."""
        work_units.spend(work_units.QUESTION)
        self.tick()
        return self.interrupted or self.left() <= 0 or self.closed()

    def tick(self) -> None:
        """Call the observer."""
        watch = self.watch
        if watch is not None:
            watch(self)

    def _record(self) -> None:
        bound = self.bound if self.bound is not None and math.isfinite(self.bound) else None
        self.history.append(
            HistoryPoint(seconds=self.budget.elapsed(), value=self.value, bound=bound)
        )
        self.tick()
