"""Utilities of rates: alpha-fairness, and the one rate that is worth as much.

With weights g_k that add up to G, every utility has its mean M: if all applications had rate M,
the utility would be the same. M is the geometric mean for alpha = 1, the arithmetic one for
alpha = 0, the smallest rate for alpha = inf.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
LARGEST_EXPONENT = 700.0  # of what a float can hold


def utility(alpha: float | str, weights: ArrayLike, rates: ArrayLike) -> float:
    """Return sum_k g_k U(rho_k); for alpha = inf the smallest rate. -inf is possible.

    >>> utility(1, [1, 1], [1, 1]), utility(0, [1, 2], [3, 4]), utility("inf", [1, 1], [2, 3])
    (0.0, 11.0, 2.0)
    """
    g, rho = np.asarray(weights, float), np.asarray(rates, float)
    if alpha == "inf":
        return float(rho.min())
    power = 1.0 - float(alpha)
    if power <= 0 and rho.min() <= 0:
        return -math.inf
    terms = g * np.log(rho) if power == 0 else g * rho**power / power
    return math.fsum(terms.tolist())


def utilities(alpha: float | str, weights: ArrayLike, rates: ArrayLike) -> Floats:
    """Return the utility of every row of rates, shape (T, K)."""
    g, rho = np.asarray(weights, float), np.asarray(rates, float)
    if alpha == "inf":
        return np.asarray(rho.min(axis=1))
    power = 1.0 - float(alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = g * np.log(rho) if power == 0 else g * rho**power / power
    return np.asarray(terms.sum(axis=1))


def mean_rate(alpha: float | str, weights: ArrayLike, value: float) -> float:
    """Return the rate M that, given to everybody, has utility ``value``.

    >>> round(mean_rate(1, [1, 1], 2 * math.log(3)), 12), mean_rate(0, [1, 3], 8)
    (3.0, 2.0)
    """
    if alpha == "inf":
        return value
    power, total = 1.0 - float(alpha), float(np.sum(weights))
    if power == 0:
        return math.exp(value / total) if value < LARGEST_EXPONENT * total else math.inf
    base = power * value / total
    if power > 0:
        return float(max(base, 0.0) ** (1 / power))
    if base <= 0:
        return math.inf  # the utility is at its upper end, 0
    return 0.0 if math.isinf(base) else float(base ** (1 / power))


def measure(instance: Any, earned: float, reference: float) -> float:
    """Return the mean rate of the reference over that of a policy.

    For proportional fairness this is exp((OPT - ALG) / sum of weights); infinite if somebody gets
    nothing.
    """
    if earned == reference:
        return 1.0
    if instance.alpha == 1:
        short = (reference - earned) / float(instance.weights.sum())
        return math.exp(short) if short < LARGEST_EXPONENT else math.inf
    best = mean_rate(instance.alpha, instance.weights, reference)
    mine = mean_rate(instance.alpha, instance.weights, earned)
    return best / mine if mine > 0 else math.inf


def raised(alpha: float | str, weights: ArrayLike, value: float, log_gap: float) -> float:
    """Return the utility of a mean rate that is exp(``log_gap``) times that of ``value``."""
    if alpha == "inf":
        return value * math.exp(log_gap)
    power, total = 1.0 - float(alpha), float(np.sum(weights))
    if power == 0:
        return value + total * log_gap
    return value * math.exp(power * log_gap)
