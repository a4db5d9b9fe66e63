"""Primal-dual gap: an optimum lies between incumbent and dual bound (Land and Doig, 1960)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from optsched.problem import Family

CLOSED = 1e-6  # a gap up to this is closed


@dataclass(frozen=True)
class Interval:
    """A value and a bound, on the scale of a family: the optimum lies between them.

    Parameters
    ----------
    family : optsched.problem.Family
    instance : Instance
    value : float or None
        A schedule reaches it.
    bound : float or None
        No schedule is better.
    schedule, certificate : optional
        A schedule of the value, and the proof of the bound: a family whose objective is more than
        one number (see ``Family.distance``) looks at them.
    """

    family: Family
    instance: Any
    value: float | None
    bound: float | None = None
    schedule: Any = None
    certificate: Any = None

    @cached_property
    def gap(self) -> float | None:
        """Relative distance of value and bound, which no unit changes.

        ``|bound - value| / |value|``, or the family's ``distance``; infinite where the
        value is 0 and the bound is not; None where one of the two is missing.
        """
        if self.value is None or self.bound is None:
            return None
        distance = self.family.distance
        if distance is None:
            return relative(self.value, self.bound)
        return distance(self.instance, self.schedule, self.value, self.certificate, self.bound)

    @property
    def closed(self) -> bool:
        """Whether the gap is so small that it counts as none."""
        return self.gap is not None and self.gap <= CLOSED

    def same(self, one: float, other: float) -> bool:
        """Return whether a gap between two numbers would be closed, whatever the numbers are."""
        return Interval(self.family, self.instance, one, other).closed

    def alike(self, one: float, other: float) -> bool:
        """Return whether only the schedules can tell which of two values is better.

        So it is where a family's objective is more than one number, which is all that is compared
        else.
        """
        return self.family.distance is not None and self.same(one, other)

    @property
    def refuted(self) -> bool:
        """Whether the schedule beats the bound by more than rounding, which disproves the bound."""
        if self.value is None or self.bound is None:
            return False
        beyond = self.family.sign * (self.value - self.bound) > 0
        return beyond and not self.same(self.value, self.bound)

    def at(self, bound: float | None) -> Interval:
        """Return the interval to another bound."""
        return self if bound is self.bound else replace(self, bound=bound)

    def outer(self) -> float:
        """Return the bound; the value instead, where that is ahead of it by rounding alone."""
        assert self.bound is not None  # the caller has seen to it
        sign = self.family.sign
        return (
            self.bound if self.value is None else sign * max(sign * self.value, sign * self.bound)
        )

    def certified(self, source: str = "a schedule") -> float:
        """Return the bound, of which a certificate is known, never beyond the value.

        Raises
        ------
        RuntimeError
            A schedule refutes the bound: one of the two checks is wrong.
        """
        if self.refuted:
            raise RuntimeError(f"{source} reaches {self.value}, beyond the certified {self.bound}")
        return self.outer()

    def is_improved_by(self, value: float, schedule: Any) -> bool:
        """Return whether a schedule is better than the one at hand.

        Where the values are alike, the one is that is nearer to the bound.
        """
        if self.value is None:
            return True
        if self.bound is None or not self.alike(value, self.value):
            return self.family.sign * (value - self.value) > 0
        then, now = replace(self, value=value, schedule=schedule).gap, self.gap
        return then is not None and now is not None and then < now


def relative(value: float, other: float) -> float:
    """Return |other - value| / |value|: 0 if they are equal, infinite at a value of 0.

    >>> relative(4.0, 5.0), relative(0.0, 0.0), relative(0.0, 1e-300)
    (0.25, 0.0, inf)
    """
    if value == other:
        return 0.0
    if value == 0 or math.isinf(value) or math.isinf(other):
        return math.inf
    return abs(other / value - 1)


def shown_gap(gap: float | None) -> str:
    """Write a gap; a relative one has no meaning at a value of 0.

    >>> shown_gap(0.012), shown_gap(3.6e-6), shown_gap(None), shown_gap(3e15), shown_gap(math.inf)
    ('1.20%', '0.00036%', 'unknown', 'above 1000%', 'infinite')
    """
    if gap is None:
        return "unknown"
    if math.isinf(gap):
        return "infinite"
    if CLOSED < gap < 5e-5:  # 0.00% is a gap that counts as closed
        return f"{100 * gap:.2g}%"
    return f"{gap:.2%}" if gap <= 10 else "above 1000%"
