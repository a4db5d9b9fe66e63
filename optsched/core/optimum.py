"""The front door to the optimum with hindsight."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import Any, TypeAlias, TypedDict

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator

from optsched.base import renamed_arguments, renamed_names, short
from optsched.core.display import Ticker
from optsched.engine.budget import AFTER_LIMIT
from optsched.engine.interval import CLOSED, Interval, shown_gap
from optsched.engine.params import changes, read_params
from optsched.engine.progress import HistoryPoint, Progress
from optsched.engine.warm_start import Known, begin, scope_of
from optsched.files.format import of_family
from optsched.numbers.arrays import Ints
from optsched.numbers.json_float import Extended
from optsched.problem import (
    OLD_METHODS,
    RELAXATION,
    Family,
    Frozen,
    Implementation,
    InputError,
    Instance,
    Level,
    Schedule,
    Sense,
    Status,
    family_of,
    get_family,
)
from optsched.process import blas, interrupts, work_units
from optsched.process.background import supervised
from optsched.process.messages import notify

TIME_LIMIT = 60.0  # seconds of a search, where nothing else is requested


class Optimum(Frozen):
    """The best with hindsight: value and bound."""

    family: str
    sense: Sense
    instance_sha256: str
    method: str
    status: Status
    value: float | None = Field(description="of the schedule, as the feasibility check computes it")
    bound: float | None = Field(
        description="no schedule is better, as far as `bound_level` goes: the tightest one known"
    )
    gap: Extended | None = Field(
        default=None, description="how far value and bound are apart, relative; None: unknown"
    )
    value_level: Level | None
    bound_level: Level | None = Field(
        description="how far the bound was checked, or that no schedule exists"
    )
    certified_bound: float | None = Field(
        default=None, description="bound that the certificate proves; no tighter than the bound"
    )
    certified_gap: Extended | None = Field(
        default=None, description="how far the value is from the certified bound"
    )
    scope: str = Field(
        default="", description="of which schedules this is the best: 'stationary', ...; '': of all"
    )
    schedule: SerializeAsAny[Schedule] | None
    certificate: SerializeAsAny[Frozen] | None = Field(
        description="prices from which anyone can recompute the bound"
    )
    seconds: float = Field(ge=0)
    effort: float | None = Field(
        default=None, ge=0, description="units of work that were counted, about a millisecond each"
    )
    history: tuple[HistoryPoint, ...] = ()
    params: dict[str, Any] = Field(
        default={},
        exclude_if=lambda params: not params,
        description="parameters of the methods that differ from the defaults, by component",
    )
    shadow_prices: tuple[dict[str, Any], ...] = Field(
        default=(), description="value of one more unit of capacity"
    )
    defects: tuple[str, ...] = Field(
        default=(),
        description="faults of this package that the search met: certificates that failed; their "
        "bounds do not count",
    )

    _of_family = field_validator("schedule", "certificate", mode="before")(of_family)

    @field_validator("method")
    @classmethod
    def _is_one(cls, method: str, info: ValidationInfo) -> str:
        return method_of(get_family(info.data["family"]), OLD_METHODS.get(method, method))

    def summary(self) -> dict[str, Any]:
        """Return the fields of ``--json``: all but the data, and the instance."""
        data = {"schedule", "certificate", "history", "shadow_prices"}
        return self.model_dump(exclude=data | {"family", "sense", "instance_sha256"})

    @property
    def proved(self) -> float | None:
        """The certified bound, None without one."""
        if self.bound_level is Level.CERTIFIED:
            return self.bound
        return self.certified_bound

    def interval(self, instance: Instance) -> Interval:
        """Return value and bound as an interval on the scale of the instance."""
        return Interval(
            family_of(instance),
            instance,
            self.value,
            self.bound,
            self.schedule,
            self.certificate,
        )

    def __repr__(self) -> str:
        return f"<Optimum {self}>"

    def _repr_html_(self) -> str:
        """Return the sentence as a notebook shows it."""
        return f"<p>{escape(str(self))}</p>"

    def __str__(self) -> str:
        best = f"the best {self.scope} schedule: " if self.scope else ""
        found = f"{self.family}: {best}{self._found()}, after {self.seconds:.1f} s"
        return "; ".join([found, *(f"defect, please report: {what}" for what in self.defects)])

    def _found(self) -> str:
        """Return value and bound in words, with the level of the check."""
        if self.status is Status.INFEASIBLE:
            return f"no schedule exists ({self.bound_level})"
        if self.status is Status.BOUND_ONLY:
            return f"the relaxation gives the bound {self.bound:.6g} ({self.bound_level})"
        if self.value is None:
            none = "no schedule found (one may exist)"
            if self.method == RELAXATION:
                none = "the relaxation gives a bound only, and it was not reached"
            if self.bound is None:
                return none
            return f"{none}; no schedule is better than {self.bound:.6g} ({self.bound_level})"
        if self.bound is None:
            return f"{self.value:.6g} found, no bound"
        if self.status.closed:
            claimed = "claimed, " if self.bound_level is Level.CROSS_CHECKED else ""
            found = f"{self.value:.6g} is optimal ({claimed}{self.bound_level})"
        else:
            found = f"{self.value:.6g} found, bound {self.bound:.6g} ({self.bound_level}), gap "
            found += shown_gap(self.gap)
        if self.bound_level is not Level.CERTIFIED and self.certified_bound is not None:
            proved = f"{self.certified_bound:.6g}, gap {shown_gap(self.certified_gap)}"
            found += f"; the certified bound is {proved}"
        return found


Start: TypeAlias = Schedule | Optimum | Known
"""Warm start of a search; an optimum brings its schedule and its certificate."""


class SolveOptions(TypedDict, total=False):
    """Options of :func:`optsched.solve` that others hand on to it."""

    start: Start | Sequence[Start]

    method: str
    time_limit: float | None
    work_limit: float | None
    gap: float
    threads: int
    params: Any
    watch: Callable[[Progress], None] | None
    display: bool


__getattr__ = renamed_names(__name__, Search="SolveOptions")


def method_of(family: Family, method: str) -> str:
    """Return the method of a family that a name, maybe a deprecated one, means.

    Raises
    ------
    InputError
        No such method.
    """
    if method in OLD_METHODS:
        notify(f"warning: method {method} is deprecated, use {OLD_METHODS[method]}")
        method = OLD_METHODS[method]
    if method not in family.methods:
        raise InputError(
            f"unknown method {short(method)}, expected one of: {', '.join(family.methods)}"
        )
    return method


@renamed_arguments(effort="work_limit")
@interrupts.remembered()
def solve(  # noqa: PLR0913 - one option each
    instance: Instance,
    *,
    method: str = "auto",
    time_limit: float | None = None,
    work_limit: float | None = None,
    gap: float = CLOSED,
    threads: int = 1,
    seed: int = 0,
    check: Level | str = Level.CERTIFIED,
    start: Start | Sequence[Start] = (),
    params: Any = None,
    watch: Callable[[Progress], None] | None = None,
    display: bool = False,
) -> Optimum:
    """Compute the offline optimum, or bounds on it.

    Parameters
    ----------
    instance : Instance
    method : str
        One of the family's methods; "auto" combines them.
    time_limit : float, optional
        Seconds of search, without those for compiling kernels. About a second later at most, the
        best so far is returned; a bound whose exact check has not ended by then is claimed. By
        default 60, or none with a ``work_limit``.
    work_limit : float, optional
        Units of search, about a millisecond of a typical core each. The work is counted and the
        clock not read: the result repeats, whatever the machine's speed or load. One thread works.
        A bound whose exact check takes much more work than the limit may be claimed.
        With a time limit, the first limit reached ends the search; a run ended by the clock does
        not repeat.
    gap : float
        Stop at this relative gap between value and bound.
    threads : int
        Threads of the solvers; linear algebra uses one, whatever else there is.
    seed : int
        Seed of randomized searches.
    check : Level
        How far to check the bound: ``claimed`` takes a solver's claim; ``cross-checked`` also runs
        a method that shares no solver, where the method brings no certificate, and both must agree;
        ``certified`` (default) re-evaluates the certificate in exact arithmetic, as
        ``cross-checked`` does where there is one.
    start : Schedule, Optimum or sequence
        Warm start: schedules, and optima with their certificates. All are checked again; the
        search begins with the best schedule and the best bound, and tries to improve both.
    params : mapping or path, optional
        Of the family's methods, ``{"COMPONENT": {"FIELD": VALUE}}``, or the path of a TOML file
        with a section per component; ``optsched info --params`` lists them.
    watch : callable, optional
        Called with the :class:`optsched.engine.progress.Progress` whenever something changes.
    display : bool
        Show incumbent, bound, gap and time on stderr, as the command does: a live line on a
        terminal, in a notebook or file a line every ten seconds; at the end, the result.

    Returns
    -------
    Optimum
        Ctrl-C ends the search early and returns the results so far, within a second. The method
        may then run on in a thread for a while, and its outcome is ignored. Where a certificate
        cannot be made, is refused or proves less than another bound, the next best bound is
        returned, and ``defects`` states why.

    Raises
    ------
    InputError
        Unknown method or level, a limit below zero; a known schedule that breaks the model, a
        certificate that proves nothing, an optimum of another instance; parameters that the family
        does not have.
    RuntimeError
        A schedule beats a certified bound: a defect of this package.
    """
    family = family_of(instance)
    family.current(instance)
    method = method_of(family, method)
    try:
        level = Level(check)
    except ValueError as err:
        raise InputError(f"unknown level {check!r}, expected one of: {', '.join(Level)}") from err
    if time_limit is None:
        time_limit = TIME_LIMIT if work_limit is None else math.inf
    if work_limit is not None and not 0 <= work_limit < math.inf:
        raise InputError(f"work_limit {work_limit}: expected a number of units >= 0")
    if not time_limit >= 0 or not gap >= 0 or threads < 1:
        raise InputError(
            f"time_limit {time_limit}, gap {gap}, threads {threads}: "
            "expected limits >= 0 and at least one thread"
        )
    if work_limit is not None:
        threads = 1  # the order of several threads depends on the load
    ticker = Ticker(f"solving {family.name}", watch) if display else None
    watch = watch if ticker is None else ticker.watch
    progress = Progress(
        family,
        instance,
        gap=gap,
        time_limit=time_limit,
        units=work_limit,
        watch=watch,
        params=read_params(family, params),
    )

    limit, after = math.inf if work_limit is None else work_limit, AFTER_LIMIT / work_units.UNIT

    def search(_stopped: Ints) -> Optimum:
        with suppress(KeyboardInterrupt), work_units.at_most(limit, after):
            # the best so far is the answer
            there = known(instance, start)
            progress.digest = there.instance_sha256
            if method != RELAXATION:  # the known bounds do not cover the relaxation
                begin(progress, there, method)
            none = progress.bound == -progress.sign * math.inf  # it is known: no schedule exists
            if not (progress.interrupted or progress.closed() or none):
                family.methods[method](instance, progress, threads=threads, seed=seed)
            second = family.second.get(method)
            ended = progress.closed() or progress.interrupted
            if level is Level.CROSS_CHECKED and second is not None and not ended:
                family.methods[second](instance, progress, threads=threads, seed=seed)
        with suppress(KeyboardInterrupt):
            progress.tick()  # the callback sees how it ended
        with work_units.at_most(max(limit, after)):  # else the bound is claimed
            return settle(progress, level, method)

    found = None
    # Linear algebra with several threads waits for cores that others use, and sums depend on their
    # number. Some builds of OpenBLAS ignore a limit that is set outside of the calling thread.
    with blas.one_thread(), suppress(KeyboardInterrupt), ticker or nullcontext():
        found = supervised(search, progress.budget.overdue, patience=0.0)
    if found is None:
        progress.abandon()
        so_far, proved = progress.so_far()
        found = settle(so_far, level if proved is Level.CERTIFIED else proved, method)
    found = found.model_copy(update={"seconds": progress.budget.elapsed()})
    if ticker is not None:
        ticker.print(str(found))
    return found


def relax(instance: Instance, *, time_limit: float | None = None, threads: int = 1) -> Optimum:
    """Find the value of the relaxation: ``solve(instance, method="relaxation")``.

    That is how good schedules are at most whose parts may be split: the linear relaxation of the
    family's program. Convex programs are their own.

    Returns
    -------
    Optimum
        Its ``bound`` is the value; there is no schedule. If the time (60 s unless given) is too
        short, the status is ``no_schedule``.
    """
    return solve(instance, method=RELAXATION, time_limit=time_limit, threads=threads)


def known(instance: Instance, start: Start | Sequence[Start]) -> Known:
    """Check known schedules and bounds of an instance.

    Raises
    ------
    InputError
        A schedule breaks the model, a certificate proves nothing, or it is of another instance.
    """
    parts = [start] if isinstance(start, Schedule | Optimum | Known) else list(start)
    digest = instance.digest()
    schedules: list[tuple[float, Schedule]] = []
    bounds: list[tuple[float, Frozen]] = []
    for part in parts:
        interrupts.leave_if_abandoned()
        other = isinstance(part, Optimum) and part.sense != family_of(instance).sense
        if other or (isinstance(part, Optimum | Known) and part.instance_sha256 != digest):
            raise InputError(f"the warm start is for another instance, expected {digest}")
        if isinstance(part, Optimum):
            mine = () if part.schedule is None else (part.schedule,)
            proofs = () if part.certificate is None else (part.certificate,)
            part = Known.of(instance, mine, proofs)
        elif not isinstance(part, Known):
            part = Known.of(instance, (part,))
        schedules += part.schedules
        bounds += part.bounds
    return Known(digest, tuple(schedules), tuple(bounds))


def settle(progress: Progress, level: Level, method: str) -> Optimum:
    """Return the results of ``progress``, checked as far as ``level`` requires."""
    family, instance = progress.family, progress.instance
    sides = _Sides.of(progress, level)
    value, schedule = progress.value, progress.schedule
    certificate = sides.certificate
    known = Interval(family, instance, value, sides.bound, schedule, certificate)
    impossible = sides.certified is not None and math.isinf(sides.certified)
    if sides.bound is not None and math.isinf(sides.bound):  # there is no schedule at all
        sides = replace(sides, bound=None, certified=None)
    gap = known.at(sides.bound).gap
    solved = sides.bound is not None
    if family.methods[method] is family.methods["auto"]:  # which a limit may have left open
        solved = gap is not None and gap <= CLOSED
    if method == RELAXATION:
        value = schedule = gap = None
        known = replace(known, value=None, schedule=None)
    if value is not None:
        status = Status.of(gap, CLOSED, sides.level)
    else:
        none = progress.infeasible or impossible
        less = Status.BOUND_ONLY if method == RELAXATION and solved else Status.NO_SCHEDULE
        status = Status.INFEASIBLE if none else less
    reached = sides.level
    if status is Status.INFEASIBLE:  # the level is that of this statement
        reached = Level.CERTIFIED if impossible else Level.CLAIMED
    return Optimum(
        family=family.name,
        sense=family.sense,
        instance_sha256=progress.digest,
        method=method,
        scope=scope_of(family, method),
        status=status,
        value=value,
        bound=sides.bound,
        gap=gap,
        value_level=None if value is None else Level.CERTIFIED,
        bound_level=reached,
        certified_bound=sides.certified,
        certified_gap=known.at(sides.certified).gap,
        schedule=schedule,
        certificate=certificate,
        seconds=progress.budget.elapsed(),
        effort=round(progress.budget.spent(), 3),
        history=tuple(progress.history),
        params=changes(progress.params),
        defects=progress.defects,
        shadow_prices=tuple(family.shadow_prices(instance, certificate))
        if certificate is not None
        else (),
    )


@dataclass(frozen=True)
class _Sides:
    """The bounds to report: the tightest, and the proved one."""

    bound: float | None
    level: Level | None
    certified: float | None
    certificate: Frozen | None

    @classmethod
    def of(cls, progress: Progress, level: Level) -> _Sides:
        known = progress.interval
        certificate, certified = progress.proof(check=level is not Level.CLAIMED)
        claims = list(progress.claimed)
        if certified is not None:
            certified = known.at(certified).certified()
        elif progress.bound is not None:
            claims.append((Implementation.PRICES, progress.bound))
        bound, reached = best_claim(known, claims)
        if level is Level.CLAIMED and bound is not None:
            reached = level
        # the proved bound equals the printed one, up to a gap that counts as closed, or suffices
        gap = known.at(certified).gap
        if certified is not None and (
            bound is None
            or (gap is not None and gap <= progress.gap_limit)
            or progress.sign * (certified - bound) <= 0
            or known.same(bound, certified)
        ):
            bound, reached = certified, Level.CERTIFIED
        return cls(bound, reached, certified, certificate)


def best_claim(
    known: Interval, claims: Sequence[tuple[Implementation, float]]
) -> tuple[float | None, Level | None]:
    """Return the best claim, cross-checked where another implementation agrees.

    A claim that a schedule refutes does not count, and none is reported beyond the value.
    """
    sign = known.family.sign
    best: dict[Implementation, float] = {}
    for solver, claim in claims:
        if not known.at(claim).refuted:
            bounds = [known.at(claim).outer(), *([best[solver]] if solver in best else [])]
            best[solver] = min(bounds, key=lambda b: sign * b)
    if not best:
        return None, None
    ranked = sorted(best.values(), key=lambda b: sign * b)
    for first, second in pairwise(ranked):
        if known.same(first, second):
            return second, Level.CROSS_CHECKED
    return ranked[0], Level.CLAIMED
