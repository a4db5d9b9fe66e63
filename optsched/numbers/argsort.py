"""Kernel: one sort for all."""

from __future__ import annotations

from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel


@kernel
def rank(key: Floats | Ints, order: Ints, n: int) -> None:
    """Sort ``order[:n]``, different numbers, by ``key[i]`` of them, in any unit; equals by number.

    A shell sort: it needs no memory, and compiles in a tenth of the time of NumPy's.
    """
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            i, at = order[k], k
            while at >= gap:
                j = order[at - gap]
                if key[j] < key[i] or (key[j] == key[i] and j < i):
                    break
                order[at] = j
                at -= gap
            order[at] = i
        gap //= 3
