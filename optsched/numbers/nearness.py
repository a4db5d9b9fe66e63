"""How near two numbers are, whatever their unit."""

from __future__ import annotations

import math


def relative(value: float, other: float) -> float:
    """Return |other - value| / |value|: 0 if they are equal, infinite beside a value of 0.

    >>> relative(4.0, 5.0), relative(0.0, 0.0), relative(0.0, 1e-300)
    (0.25, 0.0, inf)
    """
    if value == other:
        return 0.0
    if value == 0 or math.isinf(value) or math.isinf(other):
        return math.inf
    return abs(other / value - 1)


def agree(a: float, b: float, within: float) -> bool:
    """Return whether two numbers are equal but for a share of the larger one.

    >>> agree(1e-12, 1.0000001e-12, 1e-6), agree(0.0, 1e-300, 1e-6)
    (True, False)
    """
    return a == b or abs(a - b) <= within * max(abs(a), abs(b)) < math.inf
