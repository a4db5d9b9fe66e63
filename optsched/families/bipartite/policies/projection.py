"""One step of online gradient ascent, with the exact projection on Y; compiled.

The projection (32) splits over machines and resources: min ||y - z||^2 with 0 <= y <= a and
sum y <= c. Its solution is y = clip(z - rho, 0, a), with rho = 0 if that keeps the sum below c, and
else the rho > 0 for which the sum is c. That is found by fixing: as long as no number is fixed, rho
follows from the sum; then either those above their request or those below 0 are fixed there for
good, whichever side is further out. No more rounds than numbers, and the last one is exact.

Most accelerators are requested by few jobs and found on few machines. So gradient ascent keeps its
state on the `Live` channels only, those that can get something.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from optsched.families.bipartite.instance import BipartiteArrays
from optsched.families.bipartite.instance_utilities import LOG, POLY, RECIPROCAL, slope, steepest
from optsched.numbers.arrays import Flags, Floats, Ints, Unsigned
from optsched.numbers.kernels import kernel

TIE = 1e-9  # how far below the largest overhead a resource still counts as dominant
ROUNDING = 2e-16
CLOSE = 1e-10  # relative distance of a sum from its capacity, beyond which rho has too few digits
SUMS = {"reassoc", "nsz"}  # sums may be taken in any order, several numbers at once
LONG = 3  # numbers in a row up to which there is a formula


class Channels(NamedTuple):
    """The live channels, and the rows that have some.

    Indices are unsigned, so compiled code need not handle negative ones.
    """

    start: Unsigned  # (rows + 1,) first channel of each row
    port: Unsigned  # (n,) copy of each channel
    resource: Unsigned  # (rows,) index
    kind: Ints  # (rows,) index in KINDS
    alpha: Floats  # (rows,) the parameter of its utility
    beta: Floats  # (K,) overhead of a unit
    upper: Floats  # (n,) the most that a channel may hold
    capacity: Floats  # (rows,) units of the row's resource
    sum_kind: Ints  # (K,) f_k of the sums; (0,) where machines gain on their own
    sum_alpha: Floats  # (K,), (0,)


class ProjectedAscent(NamedTuple):
    """State of projected gradient ascent after its last decision."""

    totals: Floats  # (K, C) S_lk, units of each resource
    chosen: Ints  # (C,) k* of each copy
    step: Floats  # (C,) of each copy
    price: Floats  # (K, C) gradient of the overhead, less f_k' of a sum
    rho: Floats  # (rows,) multipliers of the projections of long rows: where to look first


def project(z: Floats, upper: Floats, capacity: float) -> Floats:
    """Return the point of {0 <= y <= upper, sum y <= capacity} that is nearest to ``z``."""
    out, limits = z.astype(np.float64), upper.astype(np.float64)
    if len(out) == 1:
        out[0] = clip(out[0], min(limits[0], capacity))
    elif len(out) == 2:
        out[0], out[1] = pair(out[0], out[1], limits[0], limits[1], capacity)
    elif len(out) == 3:
        found = triple(out[0], out[1], out[2], limits[0], limits[1], limits[2], capacity)
        out[0], out[1], out[2] = found
    else:
        first, last = np.array([0, len(out)], np.uint32)  # as in `ascend_long`: compiled once
        balance(out, first, last, limits, capacity, 0.0)
    return out


@kernel(error_model="numpy", fastmath=SUMS)
def balance(
    z: Floats, first: int, last: int, upper: Floats, capacity: float, guess: float
) -> float:
    """Project z[first:last] in place; return rho (0 where it is not needed).

    ``upper`` (N,) are the requests of the channels, as ``z`` (N,) in units of the row's resource.
    ``guess`` is where to look for rho first, 0 if nothing is known.
    """
    total = 0.0
    for i in range(first, last):
        total += min(max(z[i], 0.0), upper[i])
    rho = 0.0
    if total > capacity:
        rho = multiplier(z, first, last, upper, capacity, guess)
        if abs(taken(z, first, last, upper, rho) - capacity) > CLOSE * capacity:
            return bracket(z, first, last, upper, capacity)
    for i in range(first, last):
        z[i] = min(max(z[i] - rho, 0.0), upper[i])
    return rho


@kernel(error_model="numpy", fastmath=SUMS)
def taken(z: Floats, first: int, last: int, upper: Floats, rho: float) -> float:
    """Return sum clip(z - rho, 0, upper); arguments as in `balance`."""
    total = 0.0
    for i in range(first, last):
        total += min(max(z[i] - rho, 0.0), upper[i])
    return total


@kernel(error_model="numpy")
def bracket(z: Floats, first: int, last: int, upper: Floats, capacity: float) -> float:
    """Do as `balance` where z is so large compared with the capacity that rho has too few digits.

    Two neighbours among the floats bracket rho; the solution is between theirs. Arguments as in
    `balance`.
    """
    low, high = 0.0, 0.0
    for i in range(first, last):
        high = max(high, z[i])
    middle = 0.5 * high
    while low < middle < high:
        if taken(z, first, last, upper, middle) > capacity:
            low = middle
        else:
            high = middle
        middle = low + 0.5 * (high - low)
    at_low = taken(z, first, last, upper, low)
    at_high = taken(z, first, last, upper, high)
    part = (at_low - capacity) / (at_low - at_high)
    total = 0.0
    for i in range(first, last):
        z[i] = between(clip(z[i] - low, upper[i]), clip(z[i] - high, upper[i]), part)
        total += z[i]
    if total > capacity:  # by rounding
        for i in range(first, last):
            z[i] *= capacity / total
    return low


@kernel(inline="always")
def clip(x: float, upper: float) -> float:
    """Return x, or the nearer end of [0, upper]."""
    return min(max(x, 0.0), upper)


@kernel(inline="always")
def between(x: float, y: float, part: float) -> float:
    """Return the point on the way from x down to y, after this part of it."""
    return max(y, x - clip(part, 1.0) * (x - y))


@kernel(inline="always")
def pair(u: float, v: float, a: float, b: float, capacity: float) -> tuple[float, float]:
    """Project (u, v) on {0 <= x <= a, 0 <= y <= b, x + y <= c}."""
    x, y = clip(u, a), clip(v, b)
    if x + y > capacity:  # the solution is on the line x + y = c
        x = min(max(0.5 * (u - v + capacity), max(0.0, capacity - b)), min(a, capacity))
        y = clip(capacity - x, b)
    return x, y


@kernel(inline="always")
def triple(
    u: float, v: float, w: float, a: float, b: float, c: float, capacity: float
) -> tuple[float, float, float]:
    """Project (u, v, w) on 0 <= (x, y, z) <= (a, b, c), x + y + z <= capacity."""
    x, y, z = clip(u, a), clip(v, b), clip(w, c)
    if x + y + z > capacity:
        # Seen as a function of rho, the sum bends at u - a, u, v - b, ...; it is linear between
        # the last bend where it is above the capacity and the first where it is not.
        low, high = 0.0, max(u, max(v, w))
        at_low, at_high = x + y + z, 0.0
        for bend in (u - a, v - b, w - c, u, v, w):
            if low < bend < high:
                total = clip(u - bend, a) + clip(v - bend, b) + clip(w - bend, c)
                if total > capacity:
                    low, at_low = bend, total
                else:
                    high, at_high = bend, total
        rho = low + (at_low - capacity) * ((high - low) / (at_low - at_high))
        x, y, z = clip(u - rho, a), clip(v - rho, b), clip(w - rho, c)
        if abs(x + y + z - capacity) > CLOSE * capacity:  # rho has too few digits
            part = (at_low - capacity) / (at_low - at_high)
            x = between(clip(u - low, a), clip(u - high, a), part)
            y = between(clip(v - low, b), clip(v - high, b), part)
            z = between(clip(w - low, c), clip(w - high, c), part)
            total = x + y + z
            if total > capacity:  # by rounding
                x, y, z = x * (capacity / total), y * (capacity / total), z * (capacity / total)
    return x, y, z


@kernel(error_model="numpy", fastmath=SUMS)
def multiplier(
    z: Floats, first: int, last: int, upper: Floats, capacity: float, guess: float
) -> float:
    """Return the rho > 0 with sum clip(z - rho, 0, upper) = capacity; at 0 the sum is larger.

    Arguments as in `balance`.
    """
    low, high = 0.0, np.inf  # rho is between
    if guess > 0.0:
        total = 0.0
        for i in range(first, last):
            total += min(max(z[i] - guess, 0.0), upper[i])
        if total > capacity:
            low = guess
        else:
            high = guess
    fixed, summed, free = 0.0, 0.0, 0
    for i in range(first, last):
        if z[i] - upper[i] >= high:
            fixed += upper[i]
        elif z[i] > low:
            summed += z[i]
            free += 1
    while free > 0:
        rho = (summed + (fixed - capacity)) / free
        over, over_z, over_a, many = 0.0, 0.0, 0.0, 0
        under, under_z, few = 0.0, 0.0, 0
        for i in range(first, last):
            top = z[i] - upper[i]
            if top < high and z[i] > low:
                if top >= rho:
                    over += top - rho
                    over_z += z[i]
                    over_a += upper[i]
                    many += 1
                if z[i] <= rho:  # both, where the request is 0
                    under += rho - z[i]
                    under_z += z[i]
                    few += 1
        if abs(over - under) <= ROUNDING * capacity:
            return rho
        if over > under:  # the sum at rho is too small: amounts at their request stay there
            high = rho
            fixed += over_a
            summed -= over_z
            free -= many
        else:
            low = rho
            summed -= under_z
            free -= few
    return high if high < np.inf else low


@kernel(error_model="numpy")
def dominant(totals: Floats, beta: Floats, chosen: Ints) -> None:
    """Write k* (27) of each copy: the lowest k whose overhead is within 1e-9 of the largest.

    ``totals`` (K, C), ``chosen`` (C,): see `ProjectedAscent`; ``beta`` (K,): overhead of a unit.
    """
    for p in range(totals.shape[1]):
        worst = 0.0
        for k in range(len(beta)):
            worst = max(worst, beta[k] * totals[k, p])
        limit = worst - TIE * max(1.0, worst)
        for k in range(len(beta)):
            if beta[k] * totals[k, p] >= limit:
                chosen[p] = k
                break


class Live:
    """The channels that can get something: request and capacity are above 0.

    Attributes
    ----------
    where : shape (n,)
        Channel of each live one.
    order : shape (rows,)
        Row (of all) of each row that has live channels.
    row : shape (n,)
        Number of the row of each live one, in this order.
    channels : Channels
        Their data.
    has_long : bool
        Whether a row has more channels than there is a formula for.
    rest : shape (3, K, C)
        Of the channels that are not live, where y = 0: their number, and the sums of f'(0) and of
        its square. They belong to the gradient, though it moves nothing there.
    """

    def __init__(self, a: BipartiteArrays) -> None:
        rows = a.row
        alive = np.flatnonzero((a.upper > 0) & (a.capacity[rows] > 0))
        self.rest = np.zeros((3, a.resources, a.copies))
        still = np.delete(np.arange(a.channels), alive)
        there = (rows[still] % a.resources, a.port[still])
        # where f is of the sum, it is part of `ProjectedAscent.price`: rows have none of their own
        kind, alpha = (a.kind * 0, a.alpha * 0.0) if a.summed else (a.kind, a.alpha)
        steepness = np.zeros(len(still)) if a.summed else steepest(kind, alpha)[rows[still]]
        for sums, amount in zip(
            self.rest, (np.ones(len(still)), steepness, steepness**2), strict=True
        ):
            np.add.at(sums, there, amount)
        degrees = np.bincount(rows[alive], minlength=len(a.capacity))
        # rows of one kind and one length together: compiled branches go the same way again
        order = np.lexsort((degrees, kind))
        self.order = order = order[degrees[order] > 0]
        self.has_long = bool((degrees > LONG).any())
        rank = np.empty(len(a.capacity), np.int64)
        rank[order] = np.arange(len(order))
        self.where = alive[np.argsort(rank[rows[alive]], kind="stable")].astype(np.uint32)
        self.row = rank[rows[self.where]]
        self.channels = Channels(
            start=np.concatenate([[0], np.cumsum(degrees[order])]).astype(np.uint32),
            port=a.port[self.where].astype(np.uint32),
            resource=(order % a.resources).astype(np.uint32),
            kind=kind[order],
            alpha=alpha[order],
            beta=a.beta,
            upper=a.upper[self.where],
            capacity=a.capacity[order],
            sum_kind=a.of_sum[0],
            sum_alpha=a.of_sum[1],
        )
        self._all = a.channels

    def spread(self, y: Floats) -> Floats:
        """Return the decision whose live channels have the amounts ``y``."""
        out = np.zeros(self._all)
        scatter(out, self.where, y)
        return out

    def add_up(self, y: Floats) -> Floats:
        """Return S_lk = sum over machines of y, shape (K, C)."""
        totals = np.zeros(self.rest.shape[1:])
        np.add.at(totals, (self.channels.resource[self.row], self.channels.port), y)
        return totals


@kernel
def scatter(out: Floats, where: Unsigned, y: Floats) -> None:
    """Write ``y`` (n,) to the places ``where`` (n,) of ``out`` (N,), all in a resource's unit."""
    for i in range(len(y)):
        out[where[i]] = y[i]


@kernel(error_model="numpy")
def gradient_norm(
    y: Floats, jobs: Flags, totals: Floats, rest: Floats, chosen: Ints, channels: Channels
) -> float:
    """Return the Euclidean norm of the gradient (30) at ``y`` (n,) for ``jobs`` (C,).

    ``rest`` (3, K, C): `Live`; ``totals`` (K, C): `ProjectedAscent`; into ``chosen`` (C,) k* of
    each copy is written.
    """
    start, port, resource, kind, alpha, beta, _, _, sum_kind, sum_alpha = channels
    dominant(totals, beta, chosen)
    total = 0.0
    for p in range(len(jobs)):
        if jobs[p]:
            for k in range(len(beta)):
                b = beta[k] if chosen[p] == k else 0.0
                if len(sum_kind) > 0:
                    b -= slope(sum_kind[k], sum_alpha[k], totals[k, p])
                total += rest[2, k, p] - 2.0 * b * rest[1, k, p] + b * b * rest[0, k, p]
    for row in range(len(resource)):
        k = resource[row]
        for i in range(start[row], start[row + 1]):
            p = port[i]
            if jobs[p]:
                g = slope(kind[row], alpha[row], y[i])
                if len(sum_kind) > 0:
                    g = slope(sum_kind[k], sum_alpha[k], totals[k, p])
                if chosen[p] == k:
                    g -= beta[k]
                total += g * g
    return math.sqrt(total)


@kernel(error_model="numpy")
def ascend(
    y: Floats, out: Floats, jobs: Flags, eta: float, ascent: ProjectedAscent, channels: Channels
) -> None:
    """Write into ``out`` (n,) the next decision (31) after ``y`` (n,) and ``jobs`` (C,).

    That is, the rows that are not long; `ascend_long` goes on with the others. ``eta`` is the step
    size. The totals of ``y`` are replaced by those of ``out``; chosen, step and price are written.
    """
    totals, chosen, step, price, _ = ascent
    start, port, resource, kind, alpha, beta, upper, capacity, sum_kind, sum_alpha = channels
    dominant(totals, beta, chosen)
    for p in range(len(jobs)):
        step[p] = eta if jobs[p] else 0.0
        for k in range(len(beta)):
            price[k, p] = step[p] * beta[k] if chosen[p] == k else 0.0
            if len(sum_kind) > 0:
                price[k, p] -= step[p] * slope(sum_kind[k], sum_alpha[k], totals[k, p])
            totals[k, p] = 0.0
    for row in range(len(capacity)):
        first, last = start[row], start[row + 1]
        if last - first > LONG:
            continue
        here, due = totals[resource[row]], price[resource[row]]
        al, kd, limit = alpha[row], kind[row], capacity[row]
        p = port[first]
        u = y[first] + (step[p] * slope(kd, al, y[first]) - due[p])
        if last - first == 1:
            u = clip(u, min(upper[first], limit))
        else:
            q = port[first + 1]
            v = y[first + 1] + (step[q] * slope(kd, al, y[first + 1]) - due[q])
            if last - first == 2:
                u, v = pair(u, v, upper[first], upper[first + 1], limit)
            else:
                r = port[first + 2]
                w = y[first + 2] + (step[r] * slope(kd, al, y[first + 2]) - due[r])
                a, b, c = upper[first], upper[first + 1], upper[first + 2]
                u, v, w = triple(u, v, w, a, b, c, limit)
                out[first + 2] = w
                here[r] += w
            out[first + 1] = v
            here[q] += v
        out[first] = u
        here[p] += u


@kernel(error_model="numpy")
def ascend_long(y: Floats, out: Floats, ascent: ProjectedAscent, channels: Channels) -> None:
    """Do the same for the rows that are long, after `ascend`; rho is replaced as well.

    ``y`` and ``out`` (N,) are the amounts before and after.
    """
    totals, _, step, price, rho = ascent
    start, port, resource, kind, alpha, _, upper, capacity, _, _ = channels
    for row in range(len(capacity)):
        first, last = start[row], start[row + 1]
        if last - first <= LONG:
            continue
        here = totals[resource[row]]
        shape(y, out, first, last, port, step, price[resource[row]], kind[row], alpha[row])
        rho[row] = balance(out, first, last, upper, capacity[row], rho[row])
        for i in range(first, last):
            here[port[i]] += out[i]


@kernel(error_model="numpy")
def shape(
    y: Floats, out: Floats, first: int, last: int, port: Unsigned, step: Floats, due: Floats,
    kind: int, alpha: float,
) -> None:  # fmt: skip
    """Write y + eta * gradient of one long row; a loop per kind, so that it is vectorized.

    ``y``, ``out`` and the copies ``port`` (N,) are of channels. ``step`` and ``due`` (C,) are the
    step of each copy, and its gradient of the overhead.
    """
    if kind == LOG:
        for i in range(first, last):
            p = port[i]
            out[i] = y[i] + (step[p] * alpha / (y[i] + 1.0) - due[p])
    elif kind == RECIPROCAL:
        for i in range(first, last):
            p = port[i]
            shifted = y[i] + alpha
            out[i] = y[i] + (step[p] / (shifted * shifted) - due[p])
    elif kind == POLY:
        for i in range(first, last):
            p = port[i]
            out[i] = y[i] + (step[p] * (0.5 * alpha) / math.sqrt(y[i] + 1.0) - due[p])
    else:
        for i in range(first, last):
            p = port[i]
            out[i] = y[i] + (step[p] * alpha - due[p])
