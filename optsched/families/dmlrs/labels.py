"""Kernels: how a job spreads its work over slots, exactly, by labels.

Every slot offers *options* (work, cost), of which only those matter that no other dominates (at
least as much work for at most the cost). A *label* is the work done so far and its least cost;
only labels that no other dominates are kept, and only those from which a completion can still pay:
what is missing costs at least its hull price (see `Candidates`).

Work is counted in whole units (``Needs.work``); whoever has at least the job's work is done.
"""

from __future__ import annotations

import numpy as np

from optsched.kernels import kernel
from optsched.scheduling.slots import Floats, Ints
from optsched.scheduling.workload import EQUAL

INNER, OUTER = 0, 1


@kernel
def slot_options(
    inner_cost: Floats,
    inner_last: int,
    inner: int,
    outer_cost: Floats,
    outer_last: int,
    outer: int,
    total: int,
    work: Ints,
    cost: Floats,
    kind: Ints,
) -> int:
    """Merge the two ways to work in a slot into options with rising work and rising cost.

    Parameters
    ----------
    inner_cost, outer_cost : arrays
        Cost of n workers; up to ``inner_last`` and ``outer_last``.
    inner, outer : int
        Work of one worker.
    total : int
        The job's whole work; more counts as this.
    work, cost, kind : arrays
        Receive the options; ``kind`` is 2 n + (0 inner | 1 outer).

    Returns
    -------
    int
        How many; equal options: the inner one.
    """
    size = 0
    i, j = inner_last, outer_last
    least = np.inf
    while i > 0 or j > 0:  # from the most work to the least
        a = min(total, i * inner) if i > 0 else -1
        b = min(total, j * outer) if j > 0 else -1
        take_inner = a > b or (a == b and inner_cost[i] <= outer_cost[j])
        c = inner_cost[i] if take_inner else outer_cost[j]
        w = a if take_inner else b
        if size > 0 and w == work[size - 1] and c < least:  # as much work for less
            size -= 1
            least = np.inf
        if c < least:
            least = c
            work[size], cost[size] = w, c
            kind[size] = 2 * i if take_inner else 2 * j + 1
            size += 1
        if take_inner:
            i -= 1
        else:
            j -= 1
    for k in range(size // 2):
        o = size - 1 - k
        work[k], work[o] = work[o], work[k]
        cost[k], cost[o] = cost[o], cost[k]
        kind[k], kind[o] = kind[o], kind[k]
    return size


@kernel
def options_hull(work: Ints, cost: Floats, size: int, slope: Floats, length: Ints) -> int:
    """Return the number of segments of the lower convex hull of (0, 0) and the options."""
    used = 0
    at, height = 0, 0.0
    for k in range(size):
        width, rise = work[k] - at, cost[k] - height
        while used > 0 and rise <= slope[used - 1] * width:
            rise += slope[used - 1] * length[used - 1]
            width += length[used - 1]
            used -= 1
        slope[used] = rise / width
        length[used] = width
        used += 1
        at, height = work[k], cost[k]
    return used


@kernel
def slot_surplus(work: Ints, cost: Floats, size: int, rate: float) -> float:
    """Return the least cost - rate * work in a slot, at most 0."""
    least = 0.0
    for k in range(size):
        x = cost[k] - rate * work[k]
        least = x if x < least else least
    return least


@kernel
def spread(
    arrival: int,
    last: int,
    total: int,
    utility: Floats,
    work: Ints,
    cost: Floats,
    kind: Ints,
    size: Ints,
    ends: Ints,
    rates: Floats,
    surplus: Floats,
    certain: float,
    cutoff: float,
    amount: Ints,
) -> tuple[float, int]:
    """Find the completion slot and the options of greatest payoff; return (payoff, completion).

    Parameters
    ----------
    arrival, last : int
        First and last slot that matter.
    total : int
        The job's work.
    utility : array of shape (T,)
    work, cost, kind : arrays of shape (T, options)
    size : array of shape (T,)
    ends : array of shape (C,)
        Slots in which a completion may be best, ascending.
    rates : array of shape (C,)
        For every such slot a price of work: any will do, the hull's is the best.
    surplus : array of shape (C, T + 1)
        ``surplus[c, t]``: sum of `slot_surplus` at ``rates[c]`` over slots t..ends[c].
    certain : float
        A payoff that is known to be possible, or the cutoff.
    cutoff : float
        Only a greater payoff is of interest.
    amount : array of shape (T,)
        Receives the kinds of the options that are used, 0 where there is none.

    Returns
    -------
    payoff, completion : float, int
        Completion -1 if nothing is above ``cutoff``.
    """
    done = np.zeros(1024, np.int64)  # labels of all slots, one after the other, work falling
    paid = np.zeros(1024)
    origin = np.empty((1024, 2), np.int64)  # label before, option (-1: none)
    origin[0, 0], origin[0, 1] = -1, -1
    start = np.empty(last - arrival + 3, np.int64)
    start[0], start[1] = 0, 1
    lists = new_lists(64)
    best, completion, best_label = cutoff, -1, -1
    for t in range(arrival, last + 1):
        lo, hi = start[t - arrival], start[t - arrival + 1]
        later = 0
        while later < ends.size and ends[later] <= t:
            later += 1
        lists = wider(lists, hi - lo)
        n = 0
        for k in range(lo, hi):  # nothing is done in this slot
            if done[k] >= total or _pays(
                done[k], paid[k], t, total, utility, ends, later, rates, surplus, certain
            ):
                put(lists, 0, n, done[k], paid[k], k, -1)
                n += 1
        now = 0
        for o in range(size[t]):
            lists = wider(lists, n + hi - lo)
            m = 0
            for k in range(lo, hi):
                if done[k] >= total:
                    continue
                w, c = min(total, done[k] + work[t, o]), paid[k] + cost[t, o]
                if w >= total:
                    good = utility[t] - c >= certain - EQUAL * abs(certain)
                else:
                    good = _pays(w, c, t, total, utility, ends, later, rates, surplus, certain)
                if good:
                    m = append(lists, m, w, c, k, o)
            n = merge(lists, now, n, m)
            now = 1 - now
        if hi + n > done.size:
            done, paid, origin = longer(done, paid, origin, 2 * (hi + n))
        for i in range(n):
            done[hi + i], paid[hi + i] = lists[0][now, i], lists[1][now, i]
            origin[hi + i, 0], origin[hi + i, 1] = lists[2][now, i, 0], lists[2][now, i, 1]
        start[t - arrival + 2] = hi + n
        if n == 0:
            break
        if done[hi] >= total and origin[hi, 1] >= 0:
            payoff = utility[t] - paid[hi]
            margin = EQUAL * abs(best) if completion >= 0 else 0.0
            if payoff > best + margin:
                best, completion, best_label = payoff, t, hi
                certain = max(certain, payoff)
    if completion < 0:
        return -np.inf, -1
    trace(arrival, completion, best_label, origin, kind, amount)
    return best, completion


@kernel
def _pays(
    done: int,
    paid: float,
    slot: int,
    total: int,
    utility: Floats,
    ends: Ints,
    later: int,
    rates: Floats,
    surplus: Floats,
    certain: float,
) -> bool:
    """Whether a label after ``slot`` can still end in a payoff of ``certain``."""
    for c in range(later, ends.size):
        missing = rates[c] * (total - done) + surplus[c, slot + 1]
        promise = utility[ends[c]] - paid - max(0.0, missing)
        if promise >= certain - EQUAL * max(abs(certain), utility[ends[c]]):
            return True
    return False


@kernel
def windowed(
    first: int,
    last: int,
    total: int,
    utility: Floats,
    work: Ints,
    cost: Floats,
    kind: Ints,
    size: Ints,
    forced: Ints,
    amount: Ints,
) -> tuple[float, int]:
    """Find the best payoff and completion slot in first..last, where slots may be forced to run.

    Arrays as in `spread`; ``forced[t]`` is 1 where one of the options must be used. A job may do
    more than its work. Returns (-inf, -1) if there is no such schedule; ``amount`` is filled
    otherwise.
    """
    done = np.zeros(1024, np.int64)
    paid = np.zeros(1024)
    origin = np.empty((1024, 2), np.int64)
    origin[0, 0], origin[0, 1] = -1, -1
    start = np.empty(last + 3, np.int64)
    start[0], start[1] = 0, 1
    lists = new_lists(64)
    best, completion, best_label, best_option = -np.inf, -1, -1, -1
    until = 0  # no completion before the last slot that is forced
    for t in range(forced.size):
        if forced[t] == 1:
            until = t
    if until > last:
        return -np.inf, -1
    for t in range(last + 1):
        lo, hi = start[t], start[t + 1]
        n, now = 0, 0
        lists = wider(lists, hi - lo)
        if forced[t] == 0:
            for k in range(lo, hi):
                put(lists, 0, n, done[k], paid[k], k, -1)
                n += 1
        for o in range(size[t]):
            lists = wider(lists, n + hi - lo)
            m = 0
            for k in range(lo, hi):
                w, c = min(total, done[k] + work[t, o]), paid[k] + cost[t, o]
                if w >= total and t >= first and t >= until and utility[t] - c > best:
                    best, completion = utility[t] - c, t
                    best_label, best_option = k, o
                m = append(lists, m, w, c, k, o)
            n = merge(lists, now, n, m)
            now = 1 - now
        if hi + n > done.size:
            done, paid, origin = longer(done, paid, origin, 2 * (hi + n))
        for i in range(n):
            done[hi + i], paid[hi + i] = lists[0][now, i], lists[1][now, i]
            origin[hi + i, 0], origin[hi + i, 1] = lists[2][now, i, 0], lists[2][now, i, 1]
        start[t + 2] = hi + n
        if n == 0:
            break
    if completion < 0:
        return -np.inf, -1
    trace(0, completion - 1, best_label, origin, kind, amount)
    amount[completion] = kind[completion, best_option]
    return best, completion


@kernel
def trace(first: int, last: int, label: int, origin: Ints, kind: Ints, amount: Ints) -> None:
    """Read the options of slots first..last, that end in ``label``, into ``amount``."""
    for t in range(amount.size):
        amount[t] = 0
    for t in range(last, first - 1, -1):
        if origin[label, 1] >= 0:
            amount[t] = kind[t, origin[label, 1]]
        label = origin[label, 0]


Lists = tuple[Ints, Floats, Ints]
"""Three lists of labels with falling work: (3, n) work, cost; (3, n, 2) label before, option.

Two take turns as the result of a merge; the third, of index 2, holds what is to be merged in.
"""


@kernel
def new_lists(width: int) -> Lists:
    """Return lists with room for ``width`` labels."""
    return (
        np.empty((3, width), np.int64),
        np.empty((3, width)),
        np.empty((3, width, 2), np.int64),
    )


@kernel
def wider(lists: Lists, width: int) -> Lists:
    """Return the lists, with room for ``width`` labels."""
    work, paid, origin = lists
    old = work.shape[1]
    if old >= width:
        return lists
    w, p, o = new_lists(2 * width)
    for side in range(3):
        for k in range(old):
            w[side, k], p[side, k] = work[side, k], paid[side, k]
            o[side, k, 0], o[side, k, 1] = origin[side, k, 0], origin[side, k, 1]
    return w, p, o


@kernel
def longer(work: Ints, paid: Floats, origin: Ints, size: int) -> tuple[Ints, Floats, Ints]:
    """Return the labels of all slots, with room for ``size``."""
    w, p, o = np.empty(size, np.int64), np.empty(size), np.empty((size, 2), np.int64)
    for k in range(work.size):
        w[k], p[k], o[k, 0], o[k, 1] = work[k], paid[k], origin[k, 0], origin[k, 1]
    return w, p, o


@kernel
def put(lists: Lists, side: int, at: int, work: int, paid: float, label: int, option: int) -> None:
    """Write one label."""
    lists[0][side, at], lists[1][side, at] = work, paid
    lists[2][side, at, 0], lists[2][side, at, 1] = label, option


@kernel
def append(lists: Lists, size: int, work: int, paid: float, label: int, option: int) -> int:
    """Add a label to the list that is to be merged in, work falling; return its new size."""
    if size > 0 and lists[0][2, size - 1] == work:
        if lists[1][2, size - 1] <= paid:
            return size
        size -= 1
    put(lists, 2, size, work, paid, label, option)
    return size + 1


@kernel
def merge(lists: Lists, now: int, n: int, m: int) -> int:
    """Merge list 2 (``m`` labels) into list ``now`` (``n``), as list 1 - now; return its size.

    Labels that another dominates are left out. At equal work and cost the one of ``now`` stays.
    """
    work, paid, origin = lists
    other = 1 - now
    i, k, size = 0, 0, 0
    least = np.inf
    while i < n or k < m:
        old = k >= m or (
            i < n
            and (
                work[now, i] > work[2, k]
                or (work[now, i] == work[2, k] and paid[now, i] * (1.0 - EQUAL) <= paid[2, k])
            )
        )
        side, at = (now, i) if old else (2, k)
        same = size > 0 and work[other, size - 1] == work[side, at]
        if paid[side, at] < (least * (1.0 - EQUAL) if same else least):
            if same:
                size -= 1
            least = paid[side, at]
            work[other, size], paid[other, size] = work[side, at], least
            origin[other, size, 0], origin[other, size, 1] = (
                origin[side, at, 0],
                origin[side, at, 1],
            )
            size += 1
        if old:
            i += 1
        else:
            k += 1
    return size
