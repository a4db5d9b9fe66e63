"""Concave conjugate in closed form, compiled: max over 0 <= y <= u of n f(y) - price y.

The term of one channel in the dual bound (Rockafellar, 1970).
"""

from __future__ import annotations

import math

from optsched.families.bipartite.instance_utilities import LOG, POLY, RECIPROCAL, gain
from optsched.numbers.kernels import kernel


@kernel(inline="always")
def best_amount(kind: int, alpha: float, n: float, u: float, price: float) -> float:
    """Return the y in [0, u] that maximizes n f(y) - price y, where price > 0."""
    if kind == LOG:
        y = n * alpha / price - 1.0
    elif kind == RECIPROCAL:
        y = math.sqrt(n / price) - alpha
    elif kind == POLY:
        root = 0.5 * n * alpha / price
        y = root * root - 1.0
    else:
        y = u if n * alpha > price else 0.0
    return min(max(y, 0.0), u)


@kernel(inline="always")
def surplus(kind: int, alpha: float, n: float, u: float, price: float) -> float:
    """Return the most that a channel gains at a price."""
    y = u if price <= 0.0 else best_amount(kind, alpha, n, u, price)
    return max(0.0, n * gain(kind, alpha, y) - price * y)
