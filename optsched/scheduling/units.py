"""Methods search in a unit of utility of their own: small means small compared with the best.

Linear programs, searches and tolerances do not treat alike utilities near 1e-9 as those near 1. So
a method may be handed a twin of the instance, whose utilities are those of the instance divided by
a power of two, and a progress that translates back. Nothing depends on the twin: values are the
feasibility check's, and certificates are checked against the instance itself. A certificate that
states a value to the last digit must be made of the instance itself (`original`): the decimals of
the twin are others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from optsched.problem import Method


def unit_of(richest: float) -> int:
    """Return the exponent of the unit in which ``richest`` is a number from 64 to 128.

    >>> unit_of(100.0), unit_of(1e-9), unit_of(0.0)
    (0, -36, 0)
    """
    # bits of the best utility in the unit of a method: near 100, as papers have it
    return math.frexp(richest)[1] - 7 if 0 < richest < math.inf else 0


class InUnits:
    """The progress of a method that works on a twin of the instance; the clock is the same.

    Parameters
    ----------
    progress : optsched.engine.progress.Progress
    twin : Instance
        Its utilities are those of the instance of ``progress`` in units of 2**exponent.
    exponent : int
    back : callable
        Makes a certificate of the instance of one of the twin.
    """

    def __init__(self, progress: Any, twin: Any, exponent: int, back: Callable[[Any], Any]) -> None:
        self.progress, self.instance = progress, twin
        self.exponent, self.back = exponent, back

    def __getattr__(self, name: str) -> Any:
        return getattr(self.progress, name)

    def times(self, x: float, exponent: int) -> float:
        """Return x * 2**exponent."""
        return times_two_to(x, exponent)

    @property
    def infeasible(self) -> bool:
        """Whether there is no schedule."""
        return bool(self.progress.infeasible)

    @infeasible.setter
    def infeasible(self, found: bool) -> None:
        self.progress.infeasible = found

    @property
    def value(self) -> float | None:
        """The value of the best schedule."""
        found = self.progress.value
        return None if found is None else self.times(found, -self.exponent)

    @property
    def bound(self) -> float | None:
        """The bound that was proved."""
        found = self.progress.bound
        return None if found is None else self.times(found, -self.exponent)

    def incumbent(self, value: float, schedule: Any) -> None:
        """Report a schedule."""
        self.progress.incumbent(self.times(value, self.exponent), schedule)

    def tighten(self, bound: float, certificate: Callable[[], Any]) -> None:
        """Report a bound."""

        @wraps(certificate)
        def translated() -> Any:
            return self.back(certificate())

        self.progress.tighten(self.times(bound, self.exponent), translated)

    def claim(self, solver: Any, bound: float) -> None:
        """Report a bound that a solver claims."""
        self.progress.claim(solver, self.times(bound, self.exponent))


def original(progress: Any) -> tuple[Any, int]:
    """Return the progress of the instance itself, and the exponent of the unit of its twin."""
    if isinstance(progress, InUnits):
        return progress.progress, progress.exponent
    return progress, 0


def in_units(method: Method) -> Method:
    """Return the method for instances whose utilities are in any unit."""

    def run(inst: Any, progress: Any, *, threads: int, seed: int) -> None:
        richest = max((job.utility(0) for job in inst.jobs), default=0.0)
        ends = zip(inst.jobs, inst.earliest, strict=True)  # on the empty machines
        earned = (job.utility(end - job.arrival) for job, end in ends if end is not None)
        best = unit_of(max(earned, default=0.0) or richest)
        # bits that a utility may be above the best that can be earned, where it is scaled
        exponent = max(best, unit_of(richest) - 900)
        if exponent == 0:
            method(inst, progress, threads=threads, seed=seed)
            return
        twin = inst.shifted(-exponent)

        def back(certificate: Any) -> Any:
            bits = certificate.grid_bits - exponent
            return certificate.model_copy(
                update={"instance_sha256": inst.digest(), "grid_bits": bits}
            )

        method(twin, InUnits(progress, twin, exponent, back), threads=threads, seed=seed)

    return run


def times_two_to(x: float, exponent: int) -> float:
    """Return x * 2**exponent; beyond the largest float, infinity.

    >>> times_two_to(3.0, 2), times_two_to(-1e300, 100)
    (12.0, -inf)
    """
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.copysign(math.inf, x)
