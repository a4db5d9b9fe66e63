"""Warm start: known schedules and certificates enter a search after verification.

The feasibility check verifies every schedule and the checker every certificate, whatever their
origin, as in Cheung et al. (2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from optsched.engine.progress import Progress
from optsched.problem import (
    Family,
    Frozen,
    InputError,
    Instance,
    Schedule,
    Verdict,
    family_of,
)


@dataclass(frozen=True)
class Known:
    """Schedules with their values, and certificates with their bounds, of one instance."""

    instance_sha256: str
    schedules: tuple[tuple[float, Schedule], ...] = ()
    bounds: tuple[tuple[float, Frozen], ...] = ()

    @classmethod
    def of(
        cls,
        instance: Instance,
        schedules: Sequence[Schedule],
        certificates: Sequence[Frozen] = (),
    ) -> Self:
        """Check schedules and certificates.

        Raises
        ------
        InputError
            A schedule is of another family or breaks the model, or a certificate proves nothing.
        """
        family, found = family_of(instance), []
        for schedule in schedules:
            kept, verdict = check_schedule(family, instance, schedule)
            if verdict.obeys and verdict.value is not None and math.isfinite(verdict.value):
                found.append((verdict.value, kept))
        proofs = (_evaluated(family, instance, certificate) for certificate in certificates)
        return cls(instance.digest(), tuple(found), tuple(proofs))


def begin(progress: Progress, start: Known, method: str) -> None:
    """Report what is known before the search: the empty schedule, a first bound, and ``start``."""
    family, instance = progress.family, progress.instance
    question = scope_of(family, method)
    answers = family.scopes.get(question, lambda _instance, _schedule: True)
    nothing = None if family.empty is None else family.empty(instance)
    if nothing is not None and answers(instance, nothing):
        verdict = family.verify(instance, nothing)
        if verdict.value is None or math.isfinite(verdict.value):  # else no number states how bad
            progress.accept(nothing, verdict)
    for value, schedule in start.schedules:
        if answers(instance, schedule):
            progress.incumbent(value, schedule)
    at_hand = () if family.opening is None else (family.opening(instance),)
    checked = [(b, c) for b, c in start.bounds if family.scope(c) in ("", question)]
    for bound, proof in checked:
        progress.certified(proof, bound)
    given = ((b, partial(_itself, c)) for b, c in checked)
    for bound, certificate in (*at_hand, *given):
        progress.tighten(bound, certificate)
        progress.infeasible |= bound == -progress.sign * math.inf
    progress.first = progress.certificate


def _itself(certificate: Frozen) -> Frozen:
    return certificate


def scope_of(family: Family, method: str) -> str:
    """Return the question that a method answers, see `Family.scope`."""
    return next(
        (n for n, by in family.references.items() if by == method and n in family.scopes), ""
    )


def check_schedule(
    family: Family, instance: Instance, schedule: Schedule, what: str = "a schedule to start from"
) -> tuple[Schedule, Verdict]:
    """Check a schedule by the rules of the model, without the jobs that it leaves unfinished.

    Raises
    ------
    InputError
        ``what`` is of another family, or breaks the model.
    """
    if not isinstance(schedule, family.schedule):
        found, expected = type(schedule).__name__, family.schedule.__name__
        raise InputError(f"{what} is of type {found}, expected {expected}")
    verdict = family.verify(instance, schedule, unfinished=family.trim is not None)
    if verdict.value is not None and family.trim is not None:
        schedule = family.trim(instance, schedule)
        verdict = family.verify(instance, schedule)
    if verdict.value is None:
        reasons = "; ".join(line.strip() for line in str(verdict).splitlines())
        raise InputError(f"{what} breaks the model; {reasons}")
    return schedule, verdict


def _evaluated(family: Family, instance: Instance, certificate: Frozen) -> tuple[float, Frozen]:
    try:
        return family.proved(instance, certificate), certificate
    except ValueError as err:
        raise InputError(f"a certificate to start from proves nothing: {err}") from err
