"""The front door to the optimum with hindsight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator

from optsched.problem import (
    Frozen,
    InputError,
    Instance,
    Level,
    Schedule,
    Sense,
    Status,
    family_of,
    get_family,
)
from optsched.progress import CLOSED, Point, Progress


class Optimum(Frozen):
    """The best with hindsight: what was found, and what was proven."""

    family: str
    sense: Sense
    instance_sha256: str
    method: str
    status: Status
    value: float | None = Field(description="of the schedule, as the judge computes it")
    bound: float | None = Field(
        description="no schedule is better; true whatever stopped the solver"
    )
    value_level: Level | None
    bound_level: Level | None
    schedule: SerializeAsAny[Schedule] | None
    certificate: SerializeAsAny[Frozen] | None = Field(
        description="prices from which anyone can recompute the bound"
    )
    seconds: float
    history: tuple[Point, ...] = ()
    shadow_prices: tuple[dict[str, Any], ...] = Field(
        default=(), description="what one more unit would be worth"
    )

    @field_validator("schedule", mode="before")
    @classmethod
    def _schedule_of_the_family(cls, value: Any, info: ValidationInfo) -> Any:
        known = value is None or isinstance(value, Schedule)
        return value if known else get_family(info.data["family"]).schedule.model_validate(value)

    @field_validator("certificate", mode="before")
    @classmethod
    def _certificate_of_the_family(cls, value: Any, info: ValidationInfo) -> Any:
        known = value is None or isinstance(value, Frozen)
        return value if known else get_family(info.data["family"]).certificate.model_validate(value)

    @property
    def gap(self) -> float | None:
        """|bound - value|, in most families / |value|; None without a value or a bound."""
        return get_family(self.family).gap(self.value, self.bound)

    def __str__(self) -> str:
        if self.status is Status.INFEASIBLE:
            found = "no schedule exists"
        elif self.value is None:
            found = "no schedule found"
            if self.bound is not None:
                found += f"; none is better than {self.bound:.6g} ({self.bound_level})"
        elif self.status is Status.OPTIMAL:
            found = f"{self.value:.6g} is optimal ({self.bound_level})"
        elif self.gap is None:
            found = f"{self.value:.6g} found, no bound"
        else:
            gap = shown_gap(self.family, self.gap)
            proven = f"bound {self.bound:.6g} ({self.bound_level}), gap {gap}"
            found = f"{self.value:.6g} found, {proven}"
        return f"{self.family}: {found}, after {self.seconds:.1f} s"


def shown_gap(family: str, gap: float | None) -> str:
    """Write a gap; a relative one beside a value of 0 says nothing, however large.

    >>> shown_gap("oasis", 0.012), shown_gap("oasis", None), shown_gap("oasis", 3e15)
    ('1.20%', 'unknown', 'above 1000%')
    """
    if gap is None:
        return "unknown"
    if get_family(family).absolute_gap:
        return f"{gap:.3g}"
    return f"{gap:.2%}" if gap <= 10 else "above 1000%"


def solve(
    instance: Instance,
    *,
    method: str = "auto",
    time_limit: float = 60.0,
    gap: float = CLOSED,
    threads: int = 1,
    seed: int = 0,
    check: Level | str = Level.CERTIFIED,
    watch: Callable[[Progress], None] | None = None,
) -> Optimum:
    """Find the best schedule with hindsight, or how good it can be at most.

    Parameters
    ----------
    instance : Instance
    method : str
        One of the family's methods; "auto" combines them.
    time_limit : float
        Seconds of search; what was found by then is returned. The exact check of the bound comes
        after them: a few seconds at a hundred jobs.
    gap : float
        Stop at this relative gap between value and bound.
    threads : int
        Threads of the solvers.
    seed : int
        Seed of randomized searches.
    check : Level
        How far to go with the bound: ``claimed`` takes a solver's word; ``cross-checked`` also runs
        a method that shares no solver, where the method brings no certificate, and both must agree;
        ``certified`` (default) re-evaluates the certificate in exact arithmetic.
    watch : callable, optional
        Called with the :class:`Progress` whenever something changes.

    Returns
    -------
    Optimum
        Ctrl-C ends the search early and also returns what was found.

    Raises
    ------
    InputError
        Unknown method or level, or a limit below zero.
    """
    family = family_of(instance)
    if method not in family.methods:
        raise InputError(f"unknown method {method!r}, expected one of: {', '.join(family.methods)}")
    try:
        level = Level(check)
    except ValueError as err:
        raise InputError(f"unknown level {check!r}, expected one of: {', '.join(Level)}") from err
    if not time_limit >= 0 or not gap >= 0 or threads < 1:
        raise InputError(
            f"time_limit {time_limit}, gap {gap}, threads {threads}: "
            "expected limits >= 0 and at least one thread"
        )
    progress = Progress(family, instance, time_limit=time_limit, gap=gap, watch=watch)
    with suppress(KeyboardInterrupt):  # the best so far is the answer
        family.methods[method](instance, progress, threads=threads, seed=seed)
        second = family.second.get(method)
        if level is Level.CROSS_CHECKED and progress.certificate is None and second is not None:
            family.methods[second](instance, progress, threads=threads, seed=seed)
    bound, bound_level, certificate = _checked_bound(progress, level)
    seconds = progress.seconds()
    closed = family.gap(progress.value, bound)
    if progress.infeasible:
        status = Status.INFEASIBLE
    elif progress.value is None:
        status = Status.NO_SCHEDULE
    else:
        status = Status.OPTIMAL if closed is not None and closed <= CLOSED else Status.FEASIBLE
    return Optimum(
        family=family.name,
        sense=family.sense,
        instance_sha256=instance.digest(),
        method=method,
        status=status,
        value=progress.value,
        bound=bound,
        value_level=None if progress.value is None else Level.CERTIFIED,
        bound_level=bound_level,
        schedule=progress.schedule,
        certificate=certificate,
        seconds=seconds,
        history=tuple(progress.history),
        shadow_prices=tuple(family.shadow_prices(instance, certificate))
        if certificate is not None
        else (),
    )


def _checked_bound(
    progress: Progress, level: Level
) -> tuple[float | None, Level | None, Frozen | None]:
    """Choose the bound to report, how far it can be trusted, and its certificate."""
    certificate = None if progress.certificate is None else progress.certificate()
    if level is Level.CERTIFIED and certificate is not None:
        return progress.family.check(progress.instance, certificate), level, certificate
    claims = list(progress.claimed)
    if progress.bound is not None:
        claims.append(("certificate", progress.bound))
    bound, reached = _claim(claims, progress.sign)
    if level is Level.CLAIMED and bound is not None:
        reached = level
    return bound, reached, certificate


def _claim(claims: Sequence[tuple[str, float]], sign: int) -> tuple[float | None, Level | None]:
    """Return the best claim, raised to cross-checked where a second solver agrees within 1e-6."""
    best: dict[str, float] = {}
    for solver, bound in claims:
        best[solver] = (
            bound if solver not in best else sign * min(sign * best[solver], sign * bound)
        )
    if not best:
        return None, None
    ranked = sorted(best.values(), key=lambda b: sign * b)
    for first, second in pairwise(ranked):
        if abs(first - second) <= 1e-6 * max(1.0, abs(first)):
            return second, Level.CROSS_CHECKED
    return ranked[0], Level.CLAIMED
