"""Kernels: label-setting dynamic program that spreads a job's work over slots, exactly.

See Desrochers and Soumis (1988). Every slot offers *options* (work, cost); dominated ones (no more
work at no less cost) are dropped. A *label* is the work done so far and its least cost; labels are
dropped if they are dominated, or if no completion from them can still pay: the missing work costs
at least its hull price, the linear relaxation of Sinha and Zoltners (1979).

Work is counted in whole units (``Needs.work``); a state with at least the job's work is done.
"""

from __future__ import annotations

import numpy as np

from optsched.families.dmlrs.oracle.request import CompletionWindow, Labels, Request, SlotOffers
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel
from optsched.scheduling.oracle.slots import plain_int
from optsched.scheduling.oracle.workload import EQUAL, hull_insert


@kernel
def slot_options(
    t: int, job: Request, costs: Floats, inner_last: int, outer_last: int, offers: SlotOffers
) -> None:
    """Merge the two ways to work in a slot into its options, with rising work and rising cost.

    Parameters
    ----------
    t : int
        The slot, counted from the arrival on.
    costs : array of at least (2, N + 1)
        Of n workers at the inner rate, up to ``inner_last``, and at the outer one.

    Of equal options the inner one is taken; more work than the job's counts as that.
    """
    inner_cost, outer_cost = costs[0], costs[1]
    work, cost, kind = offers.work[t], offers.cost[t], offers.kind[t]
    inner, outer, total = job.inner, job.outer, job.work
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
    offers.size[t] = size


@kernel(error_model="numpy")
def join_hull(
    t: int, job: Request, offers: SlotOffers, held: int, certain: float
) -> tuple[int, float]:
    """Join the lower convex hull of a slot's options, and (0, 0), with that of the slots before it.

    So ``offers.promise`` of a completion in the slot is known. Returns how many segments there are,
    and the greater of ``certain`` and a payoff that is possible.
    """
    work, cost = offers.work[t], offers.cost[t]
    slope, length = offers.slopes[1], offers.lengths[1]
    used = plain_int(0)
    at, height = 0, 0.0
    for k in range(offers.size[t]):
        width, rise = work[k] - at, cost[k] - height
        while used > 0 and rise <= slope[used - 1] * width:
            rise += slope[used - 1] * length[used - 1]
            width += length[used - 1]
            used -= 1
        slope[used] = rise / width
        length[used] = width
        used += 1
        at, height = work[k], cost[k]
    slopes, lengths, utility = offers.slopes[0], offers.lengths[0], job.utility[job.arrival + t]
    held, low, high = hull_insert(slope, length, used, slopes, lengths, held, job.work)
    offers.promise[0, t] = utility - low
    offers.promise[1, t] = slopes[held - 1] if held > 0 else 0.0
    return held, max(certain, utility - high)


@kernel
def possible_ends(opened: int, cutoff: float, certain: float, offers: SlotOffers) -> int:
    """Fill ``offers.ends`` with the slots in which a completion may be best; return how many."""
    promise, found = offers.promise[0], 0
    for t in range(opened):
        if promise[t] > cutoff and promise[t] >= certain - EQUAL * abs(certain):
            offers.ends[found] = t
            found += 1
    return found


TOO_MANY_LABELS = -2  # instead of a completion slot: more space for labels is needed


@kernel
def search(
    job: Request,
    window: CompletionWindow,
    found: int,
    certain: float,
    cutoff: float,
    offers: SlotOffers,
    labels: Labels,
    amount: Ints,
) -> tuple[float, int]:
    """Find the completion slot and the options of greatest payoff; return (payoff, completion).

    Parameters
    ----------
    window : Window
        Called if ``found`` is 0. Where a lower limit is above 0, an option must be used.
    found : int
        If above 0: in how many slots, ``offers.ends``, a completion may be best. Labels from which
        none of them can pay are left out, and payoffs within 1e-9, relative, are equal: the
        earliest counts. Any price of work in ``offers.promise[1]`` will do, the hull's is the best.
    certain : float
        A payoff that is known to be possible, or the cutoff.
    cutoff : float
        Only a greater payoff is of interest, if ``found`` is above 0.
    amount : array of shape (T,)
        Receives the kinds of the options that are used, 0 where there is none.

    Returns
    -------
    payoff, completion : float, int
        Completion -1 if there is no such schedule, `TOO_MANY_LABELS` if not all fit.
    """
    arrival, total, utility, limits = job.arrival, job.work, job.utility, window.limits
    steps, cost, size, ends, promise = (
        offers.work, offers.cost, offers.size, offers.ends, offers.promise
    )  # fmt: skip
    start, label, paid, surplus = labels
    first, last = max(0, window.first - arrival), window.last - arrival
    pruning = found > 0
    best = cutoff if pruning else -np.inf
    completion, best_label, best_option = -1, -1, -1
    for e in range(found):  # the least cost - price * work of the slots from t on, at most 0
        surplus[e, ends[e] + 1] = 0.0
        for t in range(ends[e], -1, -1):
            spared = 0.0
            for k in range(size[t]):
                spared = min(spared, cost[t, k] - promise[1, ends[e]] * steps[t, k])
            surplus[e, t] = surplus[e, t + 1] + spared
    until = 0  # no completion before the last slot that is forced
    for t in range(arrival, limits.shape[1]):
        if limits[0, t] > 0:
            until = t - arrival
    if pruning:
        last = ends[found - 1]
    if until > last:
        return -np.inf, -1
    label[0, 0], label[0, 1], label[0, 2], paid[0] = 0, -1, -1, 0.0  # work, label before, option
    start[0], start[1] = 0, 1
    later = 0
    for t in range(last + 1):
        low, high = start[t], start[t + 1]  # labels before this slot, work falling
        gain = utility[arrival + t]
        enough = certain - EQUAL * abs(certain)
        forced = limits.shape[1] > 0 and limits[0, arrival + t] > 0
        while later < found and ends[later] <= t:
            later += 1
        at, n = high, 0  # labels after it, so far
        for o in range(0 if forced else -1, size[t]):  # -1: nothing is done
            step, price = (steps[t, o], cost[t, o]) if o >= 0 else (0, 0.0)
            to = high if at - high >= n + high - low else at + n  # those with option o merged in
            if to + n + high - low > paid.size:
                return -np.inf, TOO_MANY_LABELS
            i, k, m, least = at, low, 0, np.inf
            w, c, before = 0, 0.0, -1  # the next label of option o, if there is one
            while True:
                while k < high:
                    if before >= 0 and label[k, 0] + step < total:
                        break
                    x, y = min(total, label[k, 0] + step), paid[k] + price
                    good = True
                    if pruning and x >= total:
                        good = o < 0 or (label[k, 0] < total and gain - y >= enough)
                    elif pruning:
                        good = False
                        for e in range(later, found):
                            end = utility[arrival + ends[e]]
                            missing = promise[1, ends[e]] * (total - x) + surplus[e, t + 1]
                            if end - y - max(0.0, missing) >= certain - EQUAL * max(
                                abs(certain), end
                            ):
                                good = True
                                break
                    elif o >= 0 and x >= total and t >= first and t >= until and gain - y > best:
                        best, completion, best_label, best_option = gain - y, t, k, o
                    if good and (before < 0 or y < c):  # of those that complete, the cheapest
                        w, c, before = x, y, k
                    k += 1
                    if before >= 0 and w < total:
                        break
                if before < 0 and i == at + n:
                    break
                old = before < 0 or (
                    i < at + n
                    and (label[i, 0] > w or (label[i, 0] == w and paid[i] * (1.0 - EQUAL) <= c))
                )
                work, y = (label[i, 0], paid[i]) if old else (w, c)
                same = m > 0 and label[to + m - 1, 0] == work
                if y < (least * (1.0 - EQUAL) if same else least):
                    m += 0 if same else 1
                    least = y
                    new = to + m - 1
                    paid[new], label[new, 0] = y, work
                    label[new, 1] = label[i, 1] if old else before
                    label[new, 2] = label[i, 2] if old else o
                if old:
                    i += 1
                else:
                    before = -1
            at, n = to, m
        if at > high:
            for k in range(n):
                paid[high + k] = paid[at + k]
                for j in range(3):
                    label[high + k, j] = label[at + k, j]
        start[t + 2] = high + n
        if n == 0:
            break
        if pruning and label[high, 0] >= total and label[high, 2] >= 0:
            payoff = gain - paid[high]
            if payoff > best + (EQUAL * abs(best) if completion >= 0 else 0.0):
                best, completion = payoff, t
                best_label, best_option = label[high, 1], label[high, 2]
                certain = max(certain, payoff)
    if completion < 0:
        return -np.inf, -1
    for t in range(amount.size):
        amount[t] = 0
    amount[arrival + completion] = offers.kind[completion, best_option]
    for t in range(completion - 1, -1, -1):
        if label[best_label, 2] >= 0:
            amount[arrival + t] = offers.kind[t, label[best_label, 2]]
        best_label = label[best_label, 1]
    return best, arrival + completion
