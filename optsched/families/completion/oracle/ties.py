"""Tie-breaking between two schedules: the lower value; of equal ones the earlier key.

The key (8,) is completion, workers, 1 - q, worker type, PS type | duration | PS | server of the PS.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from optsched.numbers.arrays import Ints
from optsched.numbers.kernels import kernel

TIE = 1e-9  # relative: values are equal

# how many parts of a key are known; no literals, for each of which a kernel is compiled anew
UP_TO_TYPES, UP_TO_DURATION, UP_TO_PS, WHOLE = (cast(int, np.int64(n)) for n in (5, 6, 7, 8))


@kernel
def _before(a: Ints, b: Ints, parts: int) -> int:
    """Return -1 if key ``a`` (8,) is before ``b`` (8,), 1 if after it, 0 if the parts are equal."""
    for i in range(parts):
        if a[i] != b[i]:
            return -1 if a[i] < b[i] else 1
    return 0


@kernel
def rank(value: float, best: float, key: Ints, best_key: Ints, parts: int) -> int:
    """Return -1 if a value is lower, or equal with an earlier key; 0 if both are equal; else 1.

    The two are ``key`` (8,) and ``best_key`` (8,).
    """
    if best == np.inf:
        return -1 if value < np.inf else 1
    gap = TIE * max(abs(value), abs(best))
    if value < best - gap:
        return -1
    order = _before(key, best_key, parts)
    if order < 0:
        return -1 if value <= best + gap else 1
    return 1 if order > 0 or abs(value - best) > gap else 0


@kernel
def loses(lower: float, best: float, key: Ints, best_key: Ints, parts: int) -> bool:
    """Whether no value from ``lower`` on can replace the best with these first parts of its key.

    ``key`` and ``best_key`` (8,) as in `rank`.
    """
    if best == np.inf or lower < best * (1 - TIE):
        return False
    return lower > best * (1 + TIE) or _before(best_key, key, parts) < 0
