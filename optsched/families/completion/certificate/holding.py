"""Kernels: whether running items contain a conflict, by bipartite matching.

Every run of the conflict must be matched to a running item that is at least as large: augmenting
paths (Berge, 1957). Results for sets of items are cached.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from optsched.numbers.arrays import Flags, Ints, Medium
from optsched.numbers.kernels import kernel

ZERO, ONE, END = (cast(int, np.int64(n)) for n in (0, 1, -1))  # no literals


class Conflicts(NamedTuple):
    """Runs that do not fit together: those of one slot, in whatever slot, and the others."""

    slot_first: Ints  # (Q + 1,) runs of every conflict of one slot
    slot_item: Ints  # (E,) which item, of those of conflicts
    first: Ints  # (Q' + 1,) runs of every other conflict
    item: Ints  # (E',)
    span: Ints  # (E', 2) first and last slot
    covers: Flags  # (X, I) whether an item of a conflict fits wherever one of a job does


class Memory(NamedTuple):
    """Lists of items that were looked at: whether they hold a conflict of one slot."""

    items: Medium  # (N, J)
    holds: NDArray[np.int8]  # (N,) -1: free place
    size: Ints  # (1,)
    work: Ints  # (1,) starts and conflicts that may still be looked at


@kernel
def mix(h: int, x: int) -> int:
    """Return a hash that also depends on ``x``."""
    mixed = np.int64(h ^ (h >> 29)) * np.int64(-4658895280553007687) + np.int64(x)
    return int(mixed ^ (mixed >> 32))


@kernel
def sort_in(out: Medium | Ints, length: int, x: int) -> None:
    """Insert x into ``out`` (J,), whose first ``length`` entries ascend."""
    while length > 0 and out[length - 1] > x:
        out[length] = out[length - 1]
        length -= 1
    out[length] = x


@kernel
def _assigned(allowed: Ints, number: int) -> bool:
    """Whether each of this many runs of a conflict finds one of its own.

    Which of these it may be states ``allowed`` (64,), as bits. Alternating paths, breadth first.
    """
    owner, match = np.full(64, -1, np.int64), np.full(64, -1, np.int64)
    via, queue = np.empty(64, np.int64), np.empty(64, np.int64)
    for x in range(number):
        queue[0] = x
        head, tail, seen, free = 0, 1, ZERO, END
        while head < tail and free < 0:
            bits = allowed[queue[head]] & ~seen
            r = ZERO
            while bits > 0:
                if bits & 1:
                    seen |= ONE << r
                    via[r] = queue[head]
                    if owner[r] < 0:
                        free = r
                        break
                    queue[tail] = owner[r]
                    tail += 1
                bits >>= 1
                r += 1
            head += 1
        if free < 0:
            return False
        while free >= 0:
            y = via[free]
            former = match[y]
            owner[free], match[y] = y, free
            free = former
    return True


@kernel
def _holds_slot(conflicts: Conflicts, which: Medium, n: int) -> bool:
    """Whether the first n items of a list, ``which`` (J,), hold a conflict of one slot."""
    allowed = np.empty(64, np.int64)
    for k in range(conflicts.slot_first.size - 1):
        a, b = conflicts.slot_first[k], conflicts.slot_first[k + 1]
        some = b - a <= n
        for x in range(a, b):
            if not some:
                break
            bits = ZERO
            for r in range(n):
                if conflicts.covers[conflicts.slot_item[x], which[r]]:
                    bits |= ONE << r
            allowed[x - a] = bits
            some = bits != 0
        if some and _assigned(allowed, b - a):
            return True
    return False


@kernel
def holds(conflicts: Conflicts, item: Ints, start: Ints, end: Ints, n: int) -> bool:
    """Whether the first n runs hold a conflict of several slots.

    These are of ``item``, from slot ``start`` to before ``end``: (J,) each.
    """
    allowed = np.empty(64, np.int64)
    for k in range(conflicts.first.size - 1):
        a, b = conflicts.first[k], conflicts.first[k + 1]
        some = b - a <= n
        for x in range(a, b):
            if not some:
                break
            bits = ZERO
            for r in range(n):
                within = start[r] <= conflicts.span[x, 0] and conflicts.span[x, 1] < end[r]
                if within and conflicts.covers[conflicts.item[x], item[r]]:
                    bits |= ONE << r
            allowed[x - a] = bits
            some = bits != 0
        if some and _assigned(allowed, b - a):
            return True
    return False


@kernel
def remembered(conflicts: Conflicts, memory: Memory, which: Medium, n: int) -> bool:
    """Return `_holds_slot` of an ascending list, ``which`` (J,), worked out once."""
    if conflicts.slot_first.size == 1:
        return False
    size = memory.holds.size
    h = n
    for i in range(n):
        h = mix(h, which[i] + ZERO)  # 64 bits
    k = h & (size - 1)
    while memory.holds[k] >= 0:
        same = n == memory.items.shape[1] or memory.items[k, n] < 0
        for i in range(n):
            same = same and memory.items[k, i] == which[i]
        if same:
            return bool(memory.holds[k] == 1)
        k = (k + 1) & (size - 1)
    held = _holds_slot(conflicts, which, n)
    memory.work[0] -= conflicts.slot_first.size
    if 2 * memory.size[0] < size:
        for i in range(n):
            memory.items[k, i] = which[i]
        if n < memory.items.shape[1]:
            memory.items[k, n] = -1
        memory.size[0] += 1
        memory.holds[k] = 1 if held else 0
    return held
