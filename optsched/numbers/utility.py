"""Utility of a completed job as a function of its delay, d = completion slot - arrival.

Every utility is >= 0 and never increases. ``upper`` and ``log`` exist because prices and
certificates need more than a float: the first encloses the value from above in exact arithmetic,
the second does not underflow. ``shifted`` changes the unit by a power of two, so without rounding.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from optsched.base import Frozen
from optsched.numbers.resources import exact

_DIGITS = Context(prec=50, Emax=10**9, Emin=-(10**9))
_MARGIN = 1 + Fraction(1, 10**45)  # above the rounding of 50 digits
_LEAST_LOG = -4000.0  # smaller values may be rounded up to more: see `_FAR`
_DOUBT = 1e-13  # of all that a logarithm is made of, far more than its rounding
_FAR = 5000  # exp of it, times the smallest float, is more than the largest


class Sigmoid(Frozen):
    """f(d) = scale / (1 + exp(decay (d - target))): OASiS, Sec. V-A."""

    kind: Literal["sigmoid"] = "sigmoid"
    scale: PositiveFloat = Field(description="gamma_1: priority")
    decay: NonNegativeFloat = Field(
        description="gamma_2: 0 does not depend on time, above 4 is critical"
    )
    target: float = Field(description="gamma_3: target delay, slots")

    def __call__(self, delay: int) -> float:
        """Return the utility."""
        return math.exp(self.log(delay))

    def log(self, delay: int) -> float:
        """Return the natural logarithm of the utility."""
        z = self.decay * (delay - self.target)
        return math.log(self.scale) - (
            z + math.log1p(math.exp(-z)) if z > 0 else math.log1p(math.exp(z))
        )

    def of_first(self, slots: int) -> list[float]:
        """Return the utilities of delays 0..slots - 1, as calls do, but faster."""
        log_scale, exp, log1p = math.log(self.scale), math.exp, math.log1p
        steep = [self.decay * (delay - self.target) for delay in range(slots)]
        return [exp(log_scale - (z + log1p(exp(-z)) if z > 0 else log1p(exp(z)))) for z in steep]

    def upper(self, delay: int) -> Fraction:
        """Return a fraction at least the utility, and above it by at most 1e-44, relatively.

        Utilities below exp(-5000) times the scale, which no float holds, are rounded up to that.
        """
        z = min(exact(self.decay) * (delay - exact(self.target)), Fraction(_FAR))
        if z < -_FAR:
            return exact(self.scale)
        with localcontext(_DIGITS):
            lowered = (Decimal(z.numerator) / Decimal(z.denominator)).next_minus()
            growth = Fraction(lowered.exp()) / _MARGIN
        return exact(self.scale) / (1 + growth)

    def shifted(self, exponent: int) -> Self:
        """Return 2**exponent times the utility."""
        return self.model_copy(update={"scale": _positive(self.scale, exponent)})


class Inverse(Frozen):
    """f(d) = scale / (1 + d): PD-ORS, Sec. 4.1."""

    kind: Literal["inverse"] = "inverse"
    scale: PositiveFloat = 1.0

    def __call__(self, delay: int) -> float:
        """Return the utility."""
        return self.scale / (1 + delay)

    def log(self, delay: int) -> float:
        """Return the natural logarithm of the utility."""
        return math.log(self.scale) - math.log1p(delay)

    def of_first(self, slots: int) -> list[float]:
        """Return the utilities of delays 0..slots - 1."""
        return [self.scale / delay for delay in range(1, slots + 1)]

    def upper(self, delay: int) -> Fraction:
        """Return the utility as a fraction."""
        return exact(self.scale) / (1 + delay)

    def shifted(self, exponent: int) -> Self:
        """Return 2**exponent times the utility."""
        return self.model_copy(update={"scale": _positive(self.scale, exponent)})


class Constant(Frozen):
    """f(d) = value, whenever the job completes."""

    kind: Literal["constant"] = "constant"
    value: NonNegativeFloat

    def __call__(self, _delay: int) -> float:
        """Return the utility."""
        return self.value

    def log(self, _delay: int) -> float:
        """Return the natural logarithm of the utility (-inf for 0)."""
        return math.log(self.value) if self.value > 0 else -math.inf

    def of_first(self, slots: int) -> list[float]:
        """Return the utilities of delays 0..slots - 1."""
        return [self.value] * slots

    def upper(self, _delay: int) -> Fraction:
        """Return the utility as a fraction."""
        return exact(self.value)

    def shifted(self, exponent: int) -> Self:
        """Return 2**exponent times the utility."""
        return self.model_copy(update={"value": math.ldexp(self.value, exponent)})


class Table(Frozen):
    """f(d) = values[d], 0 beyond the end."""

    kind: Literal["table"] = "table"
    values: tuple[NonNegativeFloat, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _never_increases(self) -> Self:
        for d, (a, b) in enumerate(zip(self.values, self.values[1:], strict=False)):
            if b > a:
                raise ValueError(
                    f"utility increases from {a} at delay {d} to {b} at delay {d + 1}, "
                    "expected it never to increase"
                )
        return self

    def __call__(self, delay: int) -> float:
        """Return the utility."""
        return self.values[delay] if delay < len(self.values) else 0.0

    def log(self, delay: int) -> float:
        """Return the natural logarithm of the utility (-inf for 0)."""
        value = self(delay)
        return math.log(value) if value > 0 else -math.inf

    def of_first(self, slots: int) -> list[float]:
        """Return the utilities of delays 0..slots - 1."""
        some = self.values[:slots]
        return [*some, *[0.0] * (slots - len(some))]

    def upper(self, delay: int) -> Fraction:
        """Return the utility as a fraction."""
        return exact(self(delay))

    def shifted(self, exponent: int) -> Self:
        """Return 2**exponent times the utility."""
        return self.model_copy(
            update={"values": tuple(math.ldexp(x, exponent) for x in self.values)}
        )


def _positive(x: float, exponent: int) -> float:
    """Return x * 2**exponent; values too small for that stay above 0."""
    return max(math.ldexp(x, exponent), sys.float_info.min)


Utility = Annotated[Sigmoid | Inverse | Constant | Table, Field(discriminator="kind")]


def compare(utility: Utility, delay: int, log: float) -> int:
    """Return whether ``upper`` is surely greater (1) than a number or less (-1), by logarithms.

    0: they are too near to decide.
    """
    mine = utility.log(delay)
    parts = 1.0 + abs(mine) + abs(log)
    if isinstance(utility, Sigmoid):
        parts += utility.decay * (delay + abs(utility.target))
    if mine > log + _DOUBT * parts:
        return 1
    return -1 if mine < log - _DOUBT * parts and log > _LEAST_LOG else 0


def richest(earned: Iterable[tuple[Utility, int]]) -> Fraction:
    """Return the greatest of utilities at delays, as `upper` has them; 0 if there is none."""
    every = list(earned)
    best = max(every, key=lambda pair: pair[0].log(pair[1]), default=None)
    most = Fraction(0) if best is None else best[0].upper(best[1])
    if most == 0:
        return max((utility.upper(delay) for utility, delay in every), default=Fraction(0))
    log = log_of(most)
    near = (u.upper(d) for u, d in every if (u, d) != best and compare(u, d, log) >= 0)
    return max(most, max(near, default=most))


def log_of(x: Fraction) -> float:
    """Return the natural logarithm of a positive fraction, however large or small."""
    return math.log(x.numerator) - math.log(x.denominator)
