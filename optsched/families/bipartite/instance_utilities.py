"""The four utilities (60), how they grow, and the same compiled.

    linear       f(y) = alpha y                        f'(y) = alpha
    log          f(y) = alpha ln(y + 1)                f'(y) = alpha / (y + 1)
    reciprocal   f(y) = 1 / alpha - 1 / (y + alpha)    f'(y) = 1 / (y + alpha)^2
    poly         f(y) = alpha sqrt(y + 1) - alpha      f'(y) = alpha / (2 sqrt(y + 1))

All are concave, never decrease and are 0 at 0. Written so that no digits are lost where y is small.

Amounts and parameters are 0 or within 1e-15 .. 1e15, in whatever unit: so wide that no unit is too
small, and so narrow that no product which is formed of them overflows or vanishes.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.problem import Frozen

SMALLEST, GREATEST = 1e-15, 1e15  # of what is not 0

KINDS = ("linear", "log", "reciprocal", "poly")
LINEAR, LOG, RECIPROCAL, POLY = range(len(KINDS))


def _not_too_small(x: float) -> float:
    if 0 < x < SMALLEST:
        raise ValueError(f"{x} is too small, expected 0 or {SMALLEST:g} .. {GREATEST:g}")
    return x + 0.0  # never -0


Quantity = Annotated[float, Field(ge=0, le=GREATEST), AfterValidator(_not_too_small)]
"""An amount of a resource: a real number, as decisions are."""


class Utility(Frozen):
    """f_r^k: gain of an amount of one resource on one machine."""

    kind: Literal["linear", "log", "reciprocal", "poly"]
    alpha: float = Field(ge=SMALLEST, le=GREATEST, description="parameter of (60)")

    def __call__(self, amount: float) -> float:
        """Return f(amount)."""
        return float(gain(KINDS.index(self.kind), self.alpha, amount))

    def slope(self, amount: float) -> float:
        """Return f'(amount); at 0 it is the varpi_r^k of (13)."""
        return float(slope(KINDS.index(self.kind), self.alpha, amount))


@kernel(inline="always")
def gain(kind: int, alpha: float, y: float) -> float:
    """Return f(y) of (60)."""
    if kind == LOG:
        return alpha * math.log1p(y)
    if kind == RECIPROCAL:
        return y / (alpha * (y + alpha))
    if kind == POLY:
        return alpha * y / (math.sqrt(y + 1.0) + 1.0)
    return alpha * y


@kernel(inline="always")
def slope(kind: int, alpha: float, y: float) -> float:
    """Return f'(y)."""
    if kind == LOG:
        return alpha / (y + 1.0)
    if kind == RECIPROCAL:
        return 1.0 / ((y + alpha) * (y + alpha))
    if kind == POLY:
        return 0.5 * alpha / math.sqrt(y + 1.0)
    return alpha


def steepest(kind: Ints, alpha: Floats) -> Floats:
    """Return f'(0) of many rows, as `slope` does."""
    slopes = np.where(kind == RECIPROCAL, 1.0 / (alpha * alpha), alpha)
    return np.where(kind == POLY, 0.5 * alpha, slopes)
