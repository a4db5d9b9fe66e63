"""Which of two schedules counts: the lower value; of equal ones the earlier key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.kernels import kernel

Ints = NDArray[np.int64]

TIE = 1e-9  # relative: values are equal


@kernel
def key_before(a: Ints, b: Ints) -> bool:
    """Whether key a comes before key b."""
    for i in range(a.size):
        if a[i] != b[i]:
            return bool(a[i] < b[i])
    return False


@kernel
def is_better(value: float, best: float, key: Ints, best_key: Ints, parts: int) -> bool:
    """Whether a value is lower, or equal with an earlier key (of so many parts)."""
    if best == np.inf:
        return value < np.inf
    gap = TIE * max(abs(value), abs(best))
    if value < best - gap:
        return True
    return value <= best + gap and key_before(key[:parts], best_key[:parts])


@kernel
def loses(lower: float, best: float, key: Ints, best_key: Ints, parts: int) -> bool:
    """Whether no value from ``lower`` on can replace the best with these first parts of its key."""
    if best == np.inf:
        return False
    if lower > best * (1 + TIE):
        return True
    return lower >= best * (1 - TIE) and key_before(best_key[:parts], key[:parts])


@kernel
def is_equal(value: float, best: float, key: Ints, best_key: Ints) -> bool:
    """Whether values are equal, and the first seven parts of their keys."""
    if abs(value - best) > TIE * max(abs(value), abs(best)):
        return False
    same = True
    for i in range(7):
        same &= key[i] == best_key[i]
    return same


@kernel
def lower_first(a: Ints, b: Ints) -> int:
    """1 if ``a`` has more on low servers than ``b``, -1 if less, 0 if they are equal."""
    for h in range(a.size):
        if a[h] != b[h]:
            return 1 if a[h] > b[h] else -1
    return 0
