"""Interval arithmetic with outward rounding, compiled: results are never too small.

Rigorous enclosures after Moore (1966), for the bounds of `bipartite`. IEEE arithmetic returns the
number that is nearest to the true result of +, -, *, / and sqrt: it errs by at most half the
distance of two neighbors, or, where numbers are flushed to zero, by the smallest normal number.
`up` and `down` move by more than that. Logarithms come from a series whose remainder is bounded,
not from a library.

Nothing overflows: amounts and parameters are 0 or within 1e-15 .. 1e15, so slopes are below
2**100; weights are at most 2**53 and prices below 2**200. So a product of a weight, a slope or a
price, and an amount is below 2**260, and fewer than 2**60 are added up. What `up` adds, 2**-1000,
is negligible against the smallest product of data. Exact zeros stay zeros, so that "no job can
earn anything" can be proved.
"""

from __future__ import annotations

import math

import numpy as np

from optsched.families.bipartite.instance import RowArrays
from optsched.families.bipartite.instance_utilities import LOG, POLY, RECIPROCAL, gain
from optsched.numbers.arrays import Floats, Ints
from optsched.numbers.kernels import kernel

ULP = 2.0**-52  # at least the distance of two neighbours, relative to the number
TINY = 2.0**-1000
LN2_UP = math.nextafter(0.6931471805599453, 1.0)  # ln 2 = 0.69314718055994530941...
TERMS = 12  # of the series; the square of its argument is below 0.03
SMALL = 0.4  # up to which ln(1 + y) is not computed from 1 + y


@kernel(inline="always")
def best_amount(kind: int, alpha: float, n: float, u: float, price: float) -> float:
    """Return the y in [0, u] that maximizes n f(y) - price y, where price > 0.

    The concave conjugate of a channel in closed form (Rockafellar, 1970), not rounded.
    """
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


@kernel(inline="always")
def up(x: float) -> float:
    """Return a number above every real number that rounds to ``x``."""
    return x + (abs(x) * ULP + TINY)


@kernel(inline="always")
def down(x: float) -> float:
    """Return a number below every real number that rounds to ``x``."""
    return x - (abs(x) * ULP + TINY)


@kernel(error_model="numpy")
def series_above(s: float) -> float:
    """Return a number at least 2 atanh(s) = 2 s (1 + t / 3 + t^2 / 5 + ...), t = s^2 < 0.03."""
    t = up(s * s)
    total = up(up(1.0 / (2 * TERMS + 1)) / down(1.0 - t))  # this and all later terms
    for j in range(TERMS - 1, -1, -1):
        total = up(up(total * t) + up(1.0 / (2 * j + 1)))
    return up(2.0 * up(s * total))


@kernel(error_model="numpy")
def log_above(x: float) -> float:
    """Return a number at least ln x, for x >= 1, and above it by some 1e-15, relatively.

    x = m 2^e with m in [0.7, 1.42); ln m = 2 atanh(s), s = (m - 1) / (m + 1).
    """
    m, e = math.frexp(x)
    if m < 0.7071:
        m, e = 2.0 * m, e - 1
    if m >= 1.0:
        part = series_above(up((m - 1.0) / down(m + 1.0)))
    else:  # a lower bound of the same, with the sign turned round
        s = down((1.0 - m) / up(m + 1.0))
        t = down(s * s)
        total = 0.0
        for j in range(TERMS - 1, -1, -1):
            total = down(down(total * t) + down(1.0 / (2 * j + 1)))
        part = -down(2.0 * down(s * total))
    return up(up(e * LN2_UP) + part)


@kernel(error_model="numpy")
def log1p_above(y: float) -> float:
    """Return a number at least ln(1 + y), for y >= 0, and above it by some 1e-15, relatively."""
    if y > SMALL:
        return log_above(up(1.0 + y))
    return series_above(up(y / down(2.0 + y)))


@kernel(error_model="numpy")
def surplus_above(kind: int, alpha: float, n: float, u: float, price: float) -> float:
    """Return a number at least max over 0 <= y <= u of n f(y) - price y.

    f is concave, so it lies below its tangent in any point y0: with F(y) = n f(y) - price y and any
    y0 in [0, u], F <= F(y0) + max(0, F'(y0)) (u - y0) + max(0, -F'(y0)) y0. The closed form only
    has to come near the best y0. The other arguments are taken as they are.
    """
    if u == 0.0 or price >= up(n * steepest_above(kind, alpha)):
        return 0.0  # there is no y but 0, or F falls from 0 on
    y = u if price <= 0.0 else best_amount(kind, alpha, n, u, price)
    value, steep, flat = tangent(kind, alpha, y, y)
    value = up(up(n * value) - down(price * y))
    rising = up(up(n * steep) - price)
    falling = up(price - down(n * flat))
    if rising > 0.0:
        value = up(value + up(rising * up(u - y)))
    if falling > 0.0:
        value = up(value + up(falling * y))
    return value


@kernel(error_model="numpy")
def tangent(kind: int, alpha: float, least: float, most: float) -> tuple[float, float, float]:
    """Return numbers at least f(y), at least f'(y) and at most f'(y), for least <= y <= most."""
    if kind == LOG:
        value = up(alpha * log1p_above(most))
        steep, flat = up(alpha / down(1.0 + least)), down(alpha / up(1.0 + most))
    elif kind == RECIPROCAL:
        low, high = down(least + alpha), up(most + alpha)
        value = up(most / down(alpha * down(most + alpha)))
        steep, flat = up(1.0 / down(low * low)), down(1.0 / up(high * high))
    elif kind == POLY:
        low, high = down(math.sqrt(down(1.0 + least))), up(math.sqrt(up(1.0 + most)))
        value = up(up(alpha * most) / down(down(math.sqrt(down(1.0 + most))) + 1.0))
        half = 0.5 * alpha
        steep, flat = up(half / low), down(half / high)
    else:
        value = up(alpha * most)
        steep = flat = alpha
    return value, steep, flat


@kernel(inline="always", error_model="numpy")
def steepest_above(kind: int, alpha: float) -> float:
    """Return a number at least f'(0)."""
    if kind == RECIPROCAL:
        return up(1.0 / down(alpha * alpha))
    return 0.5 * alpha if kind == POLY else alpha


@kernel(nogil=True)
def bounds_above(n: Floats, share: Floats, nu: Floats, rows: RowArrays, rewards: Floats) -> float:
    """Return a number at least sum nu c; write the reward of a copy at prices to ``rewards`` (C,).

    That is at least sum over its channels of max over 0 <= y <= min(a, c) of n f(y) - (beta theta +
    nu) y. The two together bound the reward of any decision, sum_l n_l q_l(y).

    Parameters
    ----------
    n : shape (C,)
        Weights, whole numbers from 0 to 2**53.
    share : shape (C, K), nu : shape (R * K,)
        Prices, theta = n share; taken as they are.
    rows : Rows
        Rounded to the safe side: alpha such that no gain decreases, beta downwards; upper and
        capacity at least the most that a channel and a row may hold.
    """
    start, port, kind, alpha, beta, upper, capacity = rows
    resources = share.shape[1]
    rents = 0.0
    rewards[:] = 0.0
    for row in range(len(capacity)):
        k = row % resources
        rent = nu[row]
        if rent > 0.0 and capacity[row] > 0.0:
            rents = up(rents + up(rent * capacity[row]))
        for i in range(start[row], start[row + 1]):
            p = port[i]
            if n[p] > 0.0:
                theta = down(n[p] * share[p, k])
                price = down(max(0.0, down(beta[k] * theta)) + rent)
                u = min(upper[i], capacity[row])
                gained = surplus_above(kind[row], alpha[row], n[p], u, price)
                if gained > 0.0:
                    rewards[p] = up(rewards[p] + gained)
    return rents


@kernel(nogil=True)
def sums_above(
    n: Floats, share: Floats, nu: Floats, rows: RowArrays, order: Ints, group: Ints, rewards: Floats
) -> float:
    """Do as `bounds_above` where a job gains f_k of the sum over machines.

    The channels of copy p and resource k are ``order`` (N,), from ``group`` (C * K + 1,) on at
    p * K + k. Other arguments as in `bounds_above`.
    """
    start, port, kind, alpha, beta, upper, capacity = rows
    resources = share.shape[1]
    rents = 0.0
    limit, rent = np.empty(len(port)), np.empty(len(port))
    for row in range(len(capacity)):
        if nu[row] > 0.0 and capacity[row] > 0.0:
            rents = up(rents + up(nu[row] * capacity[row]))
        for i in range(start[row], start[row + 1]):
            limit[i], rent[i] = min(upper[i], capacity[row]), nu[row]
    for p in range(len(rewards)):
        rewards[p] = 0.0
        if n[p] > 0.0:
            for k in range(resources):
                here = order[group[p * resources + k] : group[p * resources + k + 1]]
                fee = max(0.0, down(beta[k] * down(n[p] * share[p, k])))
                price = rent[here]
                for i in range(len(price)):
                    price[i] = down(fee + price[i])
                gained = sum_surplus_above(kind[k], alpha[k], n[p], limit[here], price)
                if gained > 0.0:
                    rewards[p] = up(rewards[p] + gained)
    return rents


@kernel(error_model="numpy")
def sum_surplus_above(kind: int, alpha: float, n: float, u: Floats, price: Floats) -> float:
    """Return a number at least max over 0 <= y <= u of n f(sum y) - price y.

    ``u`` (N,) and ``price`` (N,) are those of the channels: units, and reward per unit.

    f lies below its tangent in the sum S0 of any y0. With that, each channel is the best on its
    own, as in `surplus_above`. Channels that cost more than f'(0) get nothing.
    """
    dear = up(n * steepest_above(kind, alpha))
    y, least, most = np.zeros(len(u)), 0.0, 0.0
    for i in np.argsort(price):  # the cheapest first, until f is as flat as the price
        if u[i] > 0.0 and price[i] < dear:
            best = np.inf
            if price[i] > 0.0:
                best = best_amount(kind, alpha, n, np.inf, price[i])
            y[i] = min(max(best - most, 0.0), u[i])
            least, most = max(0.0, down(least + y[i])), up(most + y[i])
    if most == 0.0:
        return 0.0  # no channel pays its price
    value, steep, flat = tangent(kind, alpha, least, most)
    value = up(n * value)
    for i in range(len(u)):
        if u[i] > 0.0 and price[i] < dear:
            value = up(value - down(price[i] * y[i]))
            rising = up(up(n * steep) - price[i])
            falling = up(price[i] - down(n * flat))
            if rising > 0.0:
                value = up(value + up(rising * up(u[i] - y[i])))
            if falling > 0.0:
                value = up(value + up(falling * y[i]))
    return value


def neighbours(values: Floats) -> tuple[Floats, Floats]:
    """Return floats below and above the decimals whose nearest floats are ``values``."""
    return np.nextafter(values, -np.inf), np.nextafter(values, np.inf)
